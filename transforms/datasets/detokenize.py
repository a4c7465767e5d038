"""What other people's tokenizers and extractors did to a sentence, undone.

Datasets publish their evidence as it left a tool: Penn Treebank brackets and quotes (FEVER, Natural
Questions), HTML tags as words (Natural Questions), links and character references (HotpotQA). Each
rule is one function from text to text and undoes one step: what was escaped twice is still escaped
once. An adapter names the rules it needs. Only evidence is repaired, so that it can be found in a
page; an answer is published as it was given.
"""

import html
import re
from typing import Final

BRACKETS: Final = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "-COLON-": ":",
}

_BRACKET = re.compile("|".join(BRACKETS))
_QUOTES = re.compile("``|''")
_SPACES = re.compile("[ \t\r\n\u00a0]+")
_REFERENCE = re.compile("&(?:[A-Za-z][A-Za-z0-9]*|#[0-9]+|#[xX][0-9A-Fa-f]+);")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?/?>")
# Natural Questions writes its tags with a capital and joins their attributes with underscores
_TAG_TOKEN = re.compile(r"</?[A-Z][A-Za-z0-9]*(?:[_ ].*)?>", re.DOTALL)


def brackets(text: str) -> str:
    """Penn Treebank's names of brackets, and FEVER's of the colon, as the characters they stand for.

    >>> brackets("Alien_-LRB-film-RRB-")
    'Alien_(film)'
    """
    return _BRACKET.sub(lambda found: BRACKETS[found[0]], text) if "-" in text else text


def quotes(text: str) -> str:
    """Penn Treebank's two-character quotes as the quotation mark they stand for.

    >>> quotes("`` The Locket ''")
    '" The Locket "'
    """
    return _QUOTES.sub('"', text)


def references(text: str) -> str:
    """Character references decoded, those that end in a semicolon (``R&B`` and ``&copy`` are text).

    >>> references("Etiquette &amp; Espionage")
    'Etiquette & Espionage'
    """
    return _REFERENCE.sub(lambda found: html.unescape(found[0]), text) if "&" in text else text


def tags(text: str) -> str:
    """HTML tags gone, what they enclose kept.

    >>> tags('a <a href="self-governance">self-governed</a> society, 1 < 2 > 0')
    'a self-governed society, 1 < 2 > 0'
    """
    return _TAG.sub("", text) if "<" in text else text


def is_tag_token(token: str) -> bool:
    """Whether a token of a simplified Natural Questions document is markup.

    >>> [is_tag_token(token) for token in ("<P>", '<Th_colspan="2">', "</Li>", "<", "<3", "<br>")]
    [True, True, True, False, False, False]
    """
    return token[:1] == "<" and _TAG_TOKEN.fullmatch(token) is not None


def spaces(text: str) -> str:
    """Runs of white space as one space, none at the ends."""
    return _SPACES.sub(" ", text).strip()


def treebank(text: str) -> str:
    """A sentence that went through a Penn Treebank tokenizer: brackets, quotes, spaces."""
    return spaces(quotes(brackets(text)))


def extracted(text: str) -> str:
    """A sentence out of an extractor's HTML: tags, character references, spaces."""
    return spaces(references(tags(text)))
