"""What stands within a line: quotes for bold and italics, HTML tags, switches, links.

Quotes follow MediaWiki's ``doQuotes``. Links go through mwparserfromhell line by line; a line whose
only brackets are plain links takes a fast lane, a regular expression that a test proves equal.
"""

import re
from typing import Final, NamedTuple
from urllib.parse import unquote

import mwparserfromhell
from mwparserfromhell.nodes import ExternalLink, Node, Text, Wikilink

from kiltetl.schemas.records import Site
from kiltetl.transforms.titles import link_target, normal_title
from kiltetl.transforms.wikitext.languages import (
    DEFAULT_LINK_TRAIL,
    INTERWIKI_PREFIXES,
    LANGUAGE_CODES,
    LINK_TRAILS,
    SWITCHES,
)
from kiltetl.transforms.wikitext.marks import AMPERSAND, EDGE, HEADING, HOLE, LABEL, LINK, LINK_END

# --------------------------------------------------------------------------------------------
# Bold and italics

_QUOTES = re.compile("''+")


def without_quotes(text: str) -> str:
    """The text without the apostrophes that make bold and italics; each line stands for itself."""
    if "''" not in text:
        return text
    return "\n".join(_line_without_quotes(line) if "''" in line else line for line in text.split("\n"))


def _line_without_quotes(line: str) -> str:
    """Parser::doQuotes: two are italics, three bold, five both; of four and of more than five the rest is text.

    Where bold and italics are both odd, one bold was meant as an apostrophe before italics: the first after a
    word of one letter, else the first after a longer word, else the first after a space.
    """
    pieces = _QUOTES.split(line)
    runs = [len(run) for run in _QUOTES.findall(line)]
    kept = [1 if run == 4 else max(run - 5, 0) for run in runs]
    styles = [3 if run == 4 else min(run, 5) for run in runs]
    italic = sum(style in (2, 5) for style in styles)
    bold = sum(style in (3, 5) for style in styles)
    if italic % 2 and bold % 2:
        choice: dict[str, int] = {}
        for number, style in enumerate(styles):
            if style == 3:
                before = pieces[number] + "'" * kept[number]
                kind = "space" if before[-1:] == " " else "letter" if before[-2:-1] == " " else "word"
                choice.setdefault(kind, number)
        for kind in ("letter", "word", "space"):
            if kind in choice:
                kept[choice[kind]] += 1
                break
    out = [pieces[0]]
    for count, piece in zip(kept, pieces[1:], strict=True):
        out.append("'" * count + piece if count else piece)
    return "".join(out)


# --------------------------------------------------------------------------------------------
# Switches

_SWITCH = re.compile(r"__(\w{2,40}?)__")


def without_switches(text: str) -> tuple[str, bool]:
    """The text without words such as ``__NOTOC__``; whether one makes it a disambiguation page."""
    if "__" not in text:
        return text, False
    seen = {word.upper() for word in _SWITCH.findall(text)}
    if not seen & SWITCHES:
        return text, False
    shown = _SWITCH.sub(lambda found: HOLE if found[1].upper() in SWITCHES else found[0], text)
    return shown, bool(seen & {"DISAMBIG", "HOMONYMIE", "BEGRIFFSKLÄRUNG", "НЕОДНОЗНАЧНОСТЬ"})


# --------------------------------------------------------------------------------------------
# HTML

# Tags that MediaWiki knows (Sanitizer::getRecognizedTagData); all others are shown as they stand.
_INLINE: Final = frozenset(
    "b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q rb rp rt rtc ruby s samp small span strike strong "
    "sub sup time tt u var abbr a link meta wbr ce".split()
) - {"a", "link", "meta", "ce"}
_BLOCK: Final = frozenset(
    "blockquote caption center div dl dd dt hr p ol ul li table tr td th tbody thead tfoot poem lines section pre".split()
) - {"section", "pre"}
_TAG = re.compile(r"<(/?)([A-Za-z][^\s/<>\x00-\x1f]{0,40})(?:[\s/]([^<>]{0,5000}))?>")
_HIDDEN = re.compile(r"<(span|div)\s[^<>]{0,500}?display\s?:\s?none[^<>]{0,500}>[^<>]{0,2000}</\1\s?>", re.IGNORECASE)


class _Tags:
    """Turns HTML tags into line breaks and line prefixes; knows which list it is in."""

    def __init__(self) -> None:
        self.lists: list[str] = []

    def __call__(self, found: "re.Match[str]") -> str:
        closing, name = found[1], found[2].lower()
        if name in _INLINE:
            return EDGE
        if name == "br":
            return " "
        if name in _BLOCK:
            return self._block(name, bool(closing))
        if len(name) == 2 and name[0] == "h" and name[1] in "123456":
            return "\n\n" if closing else f"\n\n{HEADING}{name[1]}"
        if name in ("ref", "references", "gallery", "includeonly", "section"):
            return HOLE
        return "&lt;" + found[0][1:]

    def _block(self, name: str, closing: bool) -> str:
        if name in ("ol", "ul", "dl"):
            if not closing:
                self.lists.append(name)
            elif self.lists:
                self.lists.pop()
            return f"\n\n{EDGE}"
        if name == "li" and not closing:
            return "\n# " if self.lists and self.lists[-1] == "ol" else "\n* "
        if name == "li":
            return f"\n{EDGE}"
        return f"\n\n{EDGE}"


def without_tags(text: str) -> str:
    """The text without HTML tags; blocks, items and headings on lines of their own, other ``<`` literal."""
    if "<" not in text:
        return text
    if "none" in text:
        text = _HIDDEN.sub(HOLE, text)
    text = _TAG.sub(_Tags(), text)
    return text.replace("<", "&lt;") if "<" in text else text


# --------------------------------------------------------------------------------------------
# Links


class Target(NamedTuple):
    """Where an anchor leads."""

    href: str
    fragment: str | None
    title: str


_LONGEST_LINE: Final = 8000  # characters that mwparserfromhell is given at once: it is quadratic in the worst case
_MOST_STRAY: Final = 40  # brackets without partner in such a line
_URL = r"(?:(?:https?|ftps?|sftp|ircs?|gopher|telnet|nntp|worldwind|svn|git|mms|ssh|redis):)?//|(?:mailto|news|tel|sip|sips|geo|magnet|urn|xmpp|bitcoin|sms):"
_STRAY = re.compile(r"\[(?!\[)(?<!\[\[)", re.IGNORECASE)
_EXTERNAL = re.compile(rf"\[((?:{_URL})[^\s\[\]<>\"]+)(?:[ \t]+([^\[\]\n]*))?\]", re.IGNORECASE)
_EXTERNAL_START = re.compile(_URL, re.IGNORECASE)
_PREFIX = re.compile(r"\s{0,9}:?\s{0,9}([A-Za-z0-9][\w.-]{0,30})\s{0,9}:")
_INVALID = re.compile(r"[\[\]{}<>|\n]|^\s{0,99}(?:https?|ftp)://|\A[\s:]{0,99}\Z")


class Linker:
    """The links of one page: replaces them by marks and keeps where they lead, by number."""

    def __init__(self, title: str, site: Site) -> None:
        self.targets: list[Target] = []
        self.guards = 0
        self._site = site
        self._own_title = normal_title(title, site)
        self._known: dict[str, Target | None] = {}
        trail = LINK_TRAILS.get(site.language, DEFAULT_LINK_TRAIL) or ""
        self._trail = _trail_pattern(trail)
        self._plain_link = _plain_link_pattern(trail)

    def marked(self, line: str) -> str:
        """The line with its links replaced: marks around the text of an anchor, the text alone of others."""
        if "[" not in line:
            return line
        first = len(self.targets)
        shown, count = self._plain_link.subn(self._plain, line)
        if count * 2 == line.count("[") and count * 2 == line.count("]"):
            return shown
        del self.targets[first:]
        return self._parsed(line)

    # the fast lane

    def _plain(self, found: "re.Match[str]") -> str:
        target, label, trail = found.groups()
        return self._anchor(target, label, trail)

    def _anchor(self, target: str, label: str | None, trail: str) -> str:
        """An anchor with its marks; the text alone of a link that leads to no page of the wiki or to its own."""
        try:
            known = self._known[target]
        except KeyError:
            known = self._known[target] = self._target(target)
        if label is None or not label:
            label = target.strip()
            if label[0] == ":":
                label = label[1:].lstrip()
            if "%" in label:
                label = unquote(label).replace("<", "&lt;")
        if known is None:
            return f"{label}{trail}"
        self.targets.append(known)
        return f"{LINK}{len(self.targets) - 1}{LABEL}{label}{trail}{LINK_END}"

    def _target(self, written: str) -> Target | None:
        """Where a target leads; None where that is another wiki or the page itself."""
        if ":" in written:
            prefix = _PREFIX.match(written)
            if prefix and prefix[1].lower() in _OTHER_WIKIS:
                return None
        title, fragment = link_target(written, self._site)
        if not title or title == self._own_title:
            return None
        href, _, _ = _decoded(written).partition("#")
        return Target(href.strip().removeprefix(":").strip(), fragment, title)

    # the lane through mwparserfromhell

    def _parsed(self, line: str) -> str:
        line = _literal_brackets(line)
        if "[" not in line:
            return line
        if len(line) > _LONGEST_LINE:
            self.guards += 1
            return self._long_line(line)
        # the tokenizer of 0.7.2 may read freed memory where an & opens no character reference
        code = mwparserfromhell.parse(EDGE + line.replace("&", AMPERSAND), skip_style_tags=True)
        return self._text(code.nodes).replace(AMPERSAND, "&")

    def _text(self, nodes: list[Node]) -> str:
        out: list[str] = []
        after_link = ""
        for node in nodes:
            if isinstance(node, Text):
                text = str(node)
                if after_link:
                    trail = self._trail.match(text)
                    end = trail.end() if trail else 0
                    out.append(after_link.replace(HOLE, text[:end], 1) if False else self._closed(after_link, text[:end]))
                    after_link = ""
                    text = text[end:]
                out.append(text)
                continue
            if after_link:
                out.append(self._closed(after_link, ""))
                after_link = ""
            if isinstance(node, Wikilink):
                after_link = self._wikilink(node)
                if not after_link.endswith(LINK_END):
                    out.append(after_link)
                    after_link = ""
            elif isinstance(node, ExternalLink):
                if not node.brackets:
                    out.append(str(node))
                elif node.title is None:
                    out.append(HOLE)
                else:
                    out.append(self._text(node.title.nodes))
            else:
                out.append(str(node).replace("[", "&#91;").replace("]", "&#93;"))
        if after_link:
            out.append(after_link)
        return "".join(out)

    @staticmethod
    def _closed(anchor: str, trail: str) -> str:
        return anchor[:-1] + trail + LINK_END

    def _wikilink(self, node: Wikilink) -> str:
        target = str(node.title).replace(AMPERSAND, "&").replace(HOLE, "").replace(EDGE, "")
        label = None if node.text is None else self._label(node.text.nodes)
        if _INVALID.search(target):
            inside = target if label is None else f"{target}|{label}"
            return f"&#91;&#91;{inside}&#93;&#93;".replace("[", "&#91;").replace("]", "&#93;")
        return self._anchor(target, label, "")

    def _label(self, nodes: list[Node]) -> str:
        """Text of a label: links within it are no links."""
        before = len(self.targets)
        text = self._text(nodes)
        if len(self.targets) > before:
            del self.targets[before:]
            text = _ANCHOR_MARKS.sub("", text)
        return text

    def _long_line(self, line: str) -> str:
        """A line that is too long to be parsed: plain links and simple external links only."""
        line = _EXTERNAL.sub(lambda found: found[2] or HOLE, line)
        return self._plain_link.sub(self._plain, line)


_ANCHOR_MARKS = re.compile(f"{LINK}[0-9]+{LABEL}|{LINK_END}")
_OTHER_WIKIS = LANGUAGE_CODES | INTERWIKI_PREFIXES
_PATTERNS: dict[tuple[str, str], "re.Pattern[str]"] = {}


def _trail_pattern(letters: str) -> "re.Pattern[str]":
    return _cached("trail", f"[{letters}]+" if letters else "(?!)")


def _plain_link_pattern(letters: str) -> "re.Pattern[str]":
    trail = f"[{letters}]*" if letters else ""
    target = r"[^\[\]|<>{}\n\x01-\x07]"
    return _cached("link", rf"\[\[(?=[^\]|]*[^\s:\]|])({target}+)(?:\|([^\[\]\n\x01-\x07]*))?\]\]({trail})")


def _cached(kind: str, pattern: str) -> "re.Pattern[str]":
    key = (kind, pattern)
    if key not in _PATTERNS:
        _PATTERNS[key] = re.compile(pattern)
    return _PATTERNS[key]


def _decoded(target: str) -> str:
    """A target with percent-encoding and character references decoded."""
    import html

    if "%" in target:
        target = unquote(target)
    return html.unescape(target) if "&" in target else target


_BRACKET = re.compile(r"\[+|\]+")


def _literal_brackets(line: str) -> str:
    """The line with every bracket that opens or closes no link written as a reference."""
    pieces: list[str] = []
    position = 0
    stack: list[tuple[str, int]] = []  # what is open, and where its piece stands
    for found in _BRACKET.finditer(line):
        start, end = found.span()
        pieces.append(line[position:start])
        position = end
        count = end - start
        if found[0][0] == "[":
            # of an odd run the first is single: [[[a]]] is a link in brackets, [[[http://… is not
            single_first = count % 2
            if single_first:
                if count == 1 and _EXTERNAL_START.match(line, end):
                    stack.append(("[", len(pieces)))
                    pieces.append("[")
                else:
                    stack.append(("(", len(pieces)))
                    pieces.append("&#91;")
            for number in range(count // 2):
                last = number == count // 2 - 1
                if last and _EXTERNAL_START.match(line, end):
                    pieces.append("&#91;")
                    stack.append(("(", len(pieces) - 1))
                    stack.append(("[", len(pieces)))
                    pieces.append("[")
                else:
                    stack.append(("[[", len(pieces)))
                    pieces.append("[[")
            continue
        while count:
            kind = stack[-1][0] if stack else ""
            if kind == "(":
                stack.pop()
                pieces.append("&#93;")
                count -= 1
            elif kind == "[":
                stack.pop()
                pieces.append("]")
                count -= 1
            elif kind == "[[" and count >= 2:
                stack.pop()
                pieces.append("]]")
                count -= 2
            elif kind == "[[":
                pieces.append("&#93;")
                count -= 1
            else:
                pieces.append("&#93;" * count)
                count = 0
    for kind, index in stack:
        if kind != "(":
            pieces[index] = "&#91;" * len(kind)
    pieces.append(line[position:])
    return "".join(pieces)
