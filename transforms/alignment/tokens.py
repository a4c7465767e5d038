"""Tokens of a text, and of a page with the place of each.

Tokens are sacrebleu's (``13a``, or ``zh`` and ``char`` by language) of the lower-cased text with
typographic quotes, dashes and no-break spaces folded. A tokeniser only spreads text with white
space, so the tokens' visible characters are those of the text in the same order, and that gives
the offsets. Three rewrites of 13a and one letter change the length; they are tracked apart.

Offsets count code points of the raw paragraph, end exclusive.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

import numpy as np
import numpy.typing as npt

Tokenizer = Literal["13a", "zh", "char"]
Places = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


_FOLDED = {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "\u00a0": " "}

# What 13a rewrites before it splits, in its order. (It also turns a line break into a space.)
_REWRITTEN = (("<skipped>", ""), ("-\n", ""), ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))

# mteval-v13a. A point or comma is left alone only between digits; the two patterns consume what
# stands beside it, and that decides about runs of them.
_SYMBOLS = r"""!"#$%&()*+/:;<=>?@[\]^_`{|}~"""
_POINT_AFTER = re.compile(r"([^0-9])([.,])")
_FULL_STOP_BEFORE = re.compile(r"\.(?=[^0-9])")
_COMMA_BEFORE = re.compile(r",(?=[^0-9])")
_DASH = re.compile(r"(?<=[0-9])-")

# What sacrebleu's zh tokeniser takes for Chinese.
_CHINESE = re.compile(
    "[\u2001-\u2a6d\u2e80-\u2fdf\u2ff0-\u303f\u3100-\u312f\u31a0-\u31bf\u31c0-\u31ef\u3200-\u4db5"
    "\u4e00-\u9fbb\uf900-\ufa2d\ufa30-\ufa6a\ufa70-\ufad9\ufe10-\ufe1f\ufe30-\ufe4f\uff00-\uffef]"
)

_CHINESE_LANGUAGES = frozenset({"zh", "yue", "wuu", "gan", "lzh"})
_CHARACTER_LANGUAGES = frozenset({"ja", "th", "km", "lo", "my"})

# White space by code point; the last entry stands for all above.
_SPACE = np.array([chr(point).isspace() for point in range(0x3001)] + [False])


def tokenizer_for(language: str) -> Tokenizer:
    """sacrebleu's name of the tokens for a language code (``zh``, ``zh_cn``, ``zh-yue``, ``ja``, …)."""
    base = re.split("[-_]", language.lower(), maxsplit=1)[0]
    return "zh" if base in _CHINESE_LANGUAGES else "char" if base in _CHARACTER_LANGUAGES else "13a"


def fold(text: str) -> str:
    """The text as it is compared: lower case, plain quotes, dashes and spaces."""
    text = text.lower()
    if not text.isascii():
        for typographic, plain in _FOLDED.items():
            text = text.replace(typographic, plain)
    return text


def _spread(text: str, tokenizer: Tokenizer) -> str:
    """The text with white space between its tokens."""
    if tokenizer == "char":
        return " ".join(text)
    text = f" {text} " if tokenizer == "13a" else _CHINESE.sub(r" \g<0> ", text.strip())
    for symbol in _SYMBOLS:
        if symbol in text:
            text = text.replace(symbol, f" {symbol} ")
    text = _POINT_AFTER.sub(r"\1 \2 ", text)
    text = _FULL_STOP_BEFORE.sub(" . ", text)
    text = _COMMA_BEFORE.sub(" , ", text)
    return _DASH.sub(" - ", text)


def _rewrite(text: str, tokenizer: Tokenizer) -> str:
    for old, new in _REWRITTEN if tokenizer == "13a" else ():
        text = text.replace(old, new)
    return text


def _origins(raw: str, tokenizer: Tokenizer) -> tuple[Places, Places]:
    """Starts and ends in the raw text, one for each character that fold and rewrite leave."""
    starts = np.repeat(np.arange(len(raw)), [len(letter.lower()) for letter in raw])
    ends = starts + 1
    text = fold(raw)
    for old, new in _REWRITTEN if tokenizer == "13a" else ():
        found = np.array([match.start() for match in re.finditer(old, text)], np.int64)
        if len(found):
            text = text.replace(old, new)
            if new:
                ends[found] = ends[found + len(old) - 1]
            gone = (found[:, None] + np.arange(len(new), len(old))).ravel()
            starts, ends = np.delete(starts, gone), np.delete(ends, gone)
    return starts, ends


def tokens(text: str, tokenizer: Tokenizer = "13a") -> list[str]:
    """The tokens of a text, as they are compared."""
    return _spread(_rewrite(fold(text), tokenizer), tokenizer).split()


@dataclass(frozen=True, slots=True, eq=False)
class TokenizedPage:
    """A page's tokens, for any number of evidences.

    The paragraphs' tokens follow each other; behind each paragraph's last stands one *stop*, a
    token that equals nothing. Paragraph p has the tokens ``first[p]`` to ``stop[p]``, the latter
    excluded. The arrays of positions count code points of the raw paragraph.
    """

    tokenizer: Tokenizer
    vocabulary: dict[str, int]  # token -> id, from 1
    ids: Ints  # one a token, 0 for a stop
    paragraph: Ints  # one a token, a paragraph's stop included
    row: Ints  # one a token: the row of the page it stands in; the paragraph, unless rows are joined
    first: Ints  # one a paragraph
    stop: Ints
    starts: Ints  # one a token
    ends: Ints


def tokenize_page(paragraphs: Sequence[str], language: str = "en") -> TokenizedPage:
    """Tokens and offsets of the paragraphs of a page."""
    tokenizer = tokenizer_for(language)
    folded = [fold(paragraph) for paragraph in paragraphs]
    texts = [_rewrite(text, tokenizer) for text in folded]
    text = "\n".join(texts)
    words = "\n".join(_spread(text, tokenizer) for text in texts).split()

    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    visible = np.flatnonzero(~_SPACE.take(points, mode="clip"))
    behind = np.cumsum(np.fromiter(map(len, words), np.int64, len(words)))
    start = visible[np.concatenate(([0], behind[:-1]))] if words else visible
    end = visible[behind - 1] + 1

    offsets = np.cumsum([0, *(len(text) + 1 for text in texts)])
    bounds = np.searchsorted(start, offsets)  # tokens before each paragraph
    paragraph = np.repeat(np.arange(len(texts)), np.diff(bounds))
    start -= offsets[paragraph]
    end -= offsets[paragraph]
    for number, raw in enumerate(paragraphs):
        # lower case only lengthens a text (İ), and the rewrites only shorten it
        if not len(raw) == len(folded[number]) == len(texts[number]):
            origin_starts, origin_ends = _origins(raw, tokenizer)
            here = slice(bounds[number], bounds[number + 1])
            start[here] = origin_starts[start[here]]
            end[here] = origin_ends[end[here] - 1]

    vocabulary: defaultdict[str, int] = defaultdict(count(1).__next__)
    ids, starts, ends = np.zeros((3, len(words) + len(texts)), np.int32)
    place = np.arange(len(words)) + paragraph
    ids[place] = np.fromiter(map(vocabulary.__getitem__, words), np.int32, len(words))
    starts[place] = start
    ends[place] = end
    numbers = np.arange(len(texts), dtype=np.int32)
    first = (bounds[:-1] + numbers).astype(np.int32)
    stop = (bounds[1:] + numbers).astype(np.int32)
    owner = np.repeat(numbers, stop - first + 1).astype(np.int32)
    return TokenizedPage(tokenizer, dict(vocabulary), ids, owner, owner, first, stop, starts, ends)


def joined(page: TokenizedPage, rows: int) -> TokenizedPage:
    """The page with each run of ``rows`` consecutive rows as one paragraph, for spans that go on from
    one row into the next. Takes ``rows`` times the memory; a span is found where it first begins."""
    count = len(page.first)
    if rows < 2 or count < 2:
        return page
    runs = range(max(1, count - rows + 1))
    stop_token = len(page.ids)  # an index behind the last token: becomes a stop
    pieces, lengths = [], []
    for run in runs:
        members = range(run, min(run + rows, count))
        pieces += [np.arange(page.first[row], page.stop[row]) for row in members]
        pieces.append(np.array([stop_token]))
        lengths.append(sum(int(page.stop[row] - page.first[row]) for row in members))
    place = np.concatenate(pieces)
    behind = np.cumsum(np.array(lengths) + 1)

    def taken(values: Ints) -> Ints:
        found: Ints = np.append(values, np.int32(0))[place]
        return found

    return replace(
        page,
        ids=taken(page.ids),
        paragraph=np.repeat(np.arange(len(runs), dtype=np.int32), np.array(lengths) + 1),
        row=taken(page.row),
        first=(behind - np.array(lengths) - 1).astype(np.int32),
        stop=(behind - 1).astype(np.int32),
        starts=taken(page.starts),
        ends=taken(page.ends),
    )
