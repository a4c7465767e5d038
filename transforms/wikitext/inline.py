"""What stands within a line: quotes for bold and italics, HTML tags, switches, links.

Quotes follow MediaWiki's ``doQuotes``. Links go through mwparserfromhell line by line; a line whose
only brackets are plain links takes a fast lane, a regular expression that a test proves equal.
"""

import html
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal, NamedTuple
from urllib.parse import unquote

from mwparserfromhell.nodes import ExternalLink, Node, Wikilink
from mwparserfromhell.parser import Parser

from kiltetl.schemas.records import Site
from kiltetl.transforms.wiki.titles import link_target, normal_title, split_namespace
from kiltetl.transforms.wikitext.languages import (
    ANY_CASE_SWITCHES,
    DEFAULT_LINK_TRAIL,
    DISAMBIGUATION_SWITCHES,
    INTERWIKI_PREFIXES,
    LANGUAGE_CODES,
    LINK_TRAILS,
    SWITCHES,
    VARIANT_LANGUAGES,
    words,
)
from kiltetl.transforms.wikitext.marks import AMPERSAND, EDGE, HEADING, HOLE, LABEL, LINK, LINK_END

# --------------------------------------------------------------------------------------------
# Bold and italics

_QUOTES = re.compile("''+")
_QUOTED_TARGET = re.compile(r"\[\[[^\[\]|\n']*(?:'[^\[\]|\n']+)*''[^\[\]|\n]*(?=\||\]\])")
_ITALIC: Final = "''"
_BOLD: Final = "'''"


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
    if "[[" in line:
        line = _QUOTED_TARGET.sub(lambda found: found[0].replace("''", "&#39;&#39;"), line)
    marks = _QUOTES.findall(line)
    twos, threes = marks.count(_ITALIC), marks.count(_BOLD)
    if twos + threes == len(marks) and not (twos % 2 and threes % 2):
        return _QUOTES.sub(EDGE, line)
    pieces = _QUOTES.split(line)
    runs = [len(mark) for mark in marks]
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
        out.append("'" * count + EDGE + piece if count else EDGE + piece)
    return "".join(out)


# --------------------------------------------------------------------------------------------
# Switches

_SWITCH = re.compile(r"__(\w{2,40}?)__")


def without_switches(text: str) -> tuple[str, bool]:
    """The text without words such as ``__NOTOC__``; whether one makes it a disambiguation page."""
    if "__" not in text:
        return text, False
    seen: set[str] = set()

    def shown(found: "re.Match[str]") -> str:
        if found[1] not in SWITCHES and found[1].upper() not in ANY_CASE_SWITCHES:
            return found[0]
        seen.add(found[1])
        return HOLE

    text = _SWITCH.sub(shown, text)
    return text, not seen.isdisjoint(DISAMBIGUATION_SWITCHES)


# --------------------------------------------------------------------------------------------
# Language variants

_VARIANTS = re.compile(r"-\{(?!\{)([^{}]{0,2000})\}-")
_VARIANT = re.compile(r"\s{0,9}[a-z]{2,3}(?:-[a-z]{2,5})?\s{0,9}:(?!//)")


def without_variants(text: str, language: str) -> str:
    """``-{zh-hans:a; zh-hant:b}-`` as a reader without a preference sees it: the first variant.

    Only on wikis that convert between scripts; elsewhere this is no markup.
    """
    if "-{" not in text or language.partition("-")[0] not in VARIANT_LANGUAGES:
        return text
    return _VARIANTS.sub(lambda found: _variant(found[1]), text)


def _variant(rule: str) -> str:
    flags, bar, rest = rule.partition("|")
    if bar and re.fullmatch(r"[A-Za-z\s;-]{0,40}", flags):
        if {"H", "T", "-"} & {flag.strip() for flag in flags.split(";")}:
            return HOLE
        rule = rest
    if not _VARIANT.match(rule):
        return rule
    shown = _VARIANT.sub("", rule.split(";")[0], count=1)
    return shown.partition("=>")[2].partition(":")[2] if "=>" in shown else shown.strip()


# --------------------------------------------------------------------------------------------
# HTML

# Tags that MediaWiki knows (Sanitizer::getRecognizedTagData); all others are shown as they stand.
_INLINE: Final = frozenset(
    words(
        """
        abbr b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q rb rp rt rtc ruby s samp small span
        strike strong sub sup time tt u var wbr
        """
    )
)
_BLOCK: Final = frozenset(
    words(
        """
        blockquote caption center div dl dd dt hr p ol ul li table tr td th tbody thead tfoot poem lines
        """
    )
)
_TAG = re.compile(r"<(/?)([A-Za-z][^\s/<>\x00-\x1f]{0,40})(?:[\s/]([^<>]{0,5000}))?>")
_HIDDEN = re.compile(r"<(span|div)\s[^<>]{0,500}?display\s?:\s?none[^<>]{0,500}>[^<>]{0,2000}</\1\s?>", re.IGNORECASE)
_AROUND_ITEM = re.compile(r"\s{0,20}(</?li\b[^<>]{0,5000}>)\s{0,20}", re.IGNORECASE)


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
            return " "
        return f"\n\n{EDGE}"


_TERM_LINE = re.compile(r"(?:(?<=\n)|\A)[*#:]{0,9};[^\n<]*<[^\n]*")


def _without_inner_colons(found: "re.Match[str]") -> str:
    """A line with a term, the colons within its tags made literal: they end no term."""
    line = found[0]
    out: list[str] = []
    position = depth = 0
    for tag in _TAG.finditer(line):
        piece = line[position : tag.start()]
        out.append(piece.replace(":", "&#58;") if depth else piece)
        position = tag.start()
        if tag[2].lower() in _INLINE:
            depth = max(0, depth - 1) if tag[1] else depth + 1
    out.append(line[position:])
    return "".join(out)


def without_tags(text: str) -> str:
    """The text without HTML tags; blocks, items and headings on lines of their own, other ``<`` literal."""
    if "<" not in text:
        return text
    if "none" in text:
        text = _HIDDEN.sub(HOLE, text)
    if ";" in text:
        text = _TERM_LINE.sub(_without_inner_colons, text)
    if "<li" in text or "<LI" in text:
        text = _AROUND_ITEM.sub(r"\1", text)
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
_OTHER_WIKIS: Final = LANGUAGE_CODES | INTERWIKI_PREFIXES

_PROTOCOL: Final = (
    r"(?:(?:https?|ftps?|sftp|ircs?|gopher|telnet|nntp|worldwind|svn|git|mms|ssh|redis):)?//"
    r"|(?:mailto|news|tel|sip|sips|geo|magnet|urn|xmpp|bitcoin|sms):"
)
_AT_ADDRESS = re.compile(_PROTOCOL, re.IGNORECASE)
_LINK_TO_ADDRESS = re.compile(rf"\[\[(?:{_PROTOCOL})", re.IGNORECASE)
_EXTERNAL = re.compile(rf"\[((?:{_PROTOCOL})[^\s\[\]<>\"]+)(?:[ \t]+([^\[\]\n]*))?\]", re.IGNORECASE)
_ADDRESS_END = re.compile(f"{EDGE}|{HOLE}|{LINK}|{AMPERSAND}(?:lt|#9[13]);")
_PREFIX = re.compile(r"\s{0,9}:?\s{0,9}([A-Za-z0-9][\w.-]{0,30})\s{0,9}:")
_ANCHOR_MARKS = re.compile(f"{LINK}[0-9]+{LABEL}|{LINK_END}")
_SIMPLE_TARGET = re.compile(r"[A-Za-z][A-Za-z0-9(),'\-]*(?: [A-Za-z0-9(),'\-]+)*")
# what no title may hold once it is decoded (MediaWiki: $wgLegalTitleChars, percent-encoding, references, dots)
_ILLEGAL = re.compile(
    r"[\[\]{}<>|\n\x00-\x1f]|%[0-9A-Fa-f]{2}|&(?:#[0-9]+|#[xX][0-9A-Fa-f]+|[A-Za-z0-9]+);|~~~|(?:^|/)\.\.?(?:/|$)|^\s*:\s*:"
)


class Linker:
    """The links of one page: replaces them by marks and keeps where they lead, by number."""

    def __init__(self, title: str, site: Site, strict: bool = False) -> None:
        self.targets: list[Target] = []
        self.guards = 0
        self._site = site
        self._strict = strict
        self._own_title = normal_title(title, site)
        self._known: dict[str, Target | Literal["elsewhere", "illegal"]] = {}
        self._plain_link, self._trail = _patterns(LINK_TRAILS.get(site.language, DEFAULT_LINK_TRAIL) or "")

    def marked(self, line: str) -> str:
        """The line with its links replaced: marks around the text of an anchor, the text alone of others."""
        if "[" not in line:
            return line
        shown = None if self._strict else self._plain_links(line)
        if shown is not None:
            return shown
        line = with_literal_brackets(line)
        if "[" not in line:
            return line
        if not self._strict:
            line = self._plain_link.sub(self._plain, line)
        return self._parsed(line) if "[" in line else line

    def _plain_links(self, line: str) -> str | None:
        """The fast lane: the line with its links replaced if every bracket in it is one of a plain link."""
        if "//" in line and _LINK_TO_ADDRESS.search(line):
            return None
        first = len(self.targets)
        shown, count = self._plain_link.subn(self._plain, line)
        if count * 2 == line.count("[") and count * 2 == line.count("]"):
            return shown
        del self.targets[first:]
        return None

    def _plain(self, found: "re.Match[str]") -> str:
        target, label, trail = found.groups()
        known = self._known.get(target)
        if known is None:
            known = self._known[target] = self._target(target)
        if isinstance(known, Target) and (label or _SIMPLE_TARGET.fullmatch(target)):
            # what nearly all links are: to a page, with a label or shown as written
            self.targets.append(known)
            return f"{LINK}{len(self.targets) - 1}{LABEL}{label or target}{trail}{LINK_END}"
        return self._anchor(target, label, trail)

    def _anchor(self, target: str, label: str | None, trail: str = "") -> str:
        """An anchor with its marks; the text alone of a link that leads to no page of the wiki or to its own."""
        try:
            known = self._known[target]
        except KeyError:
            known = self._known[target] = self._target(target)
        if known == "illegal":
            inside = target if label is None else f"{target}|{label}"
            return f"&#91;&#91;{inside}&#93;&#93;{trail}"
        if not label:
            label = target.strip().removeprefix(":")
            if "%" in label:
                label = unquote(label).replace("<", "&lt;")
        if isinstance(known, str):
            return label + trail
        self.targets.append(known)
        return f"{LINK}{len(self.targets) - 1}{LABEL}{label}{trail}{LINK_END}"

    def _target(self, written: str) -> Target | Literal["elsewhere", "illegal"]:
        """Where a target leads, if to another page of the wiki."""
        if _SIMPLE_TARGET.fullmatch(written):
            # nothing to decode, to part or to fold but the first letter
            title = written[0].upper() + written[1:] if self._site.first_letter else written
            return Target(written, None, title) if title != self._own_title else "elsewhere"
        text = unquote(written) if "%" in written else written
        text = html.unescape(text) if "&" in text else text
        page, hash_mark, _ = text.partition("#")
        page = page.strip()
        if _ILLEGAL.search(page) or not (page.strip(" _:") or hash_mark):
            return "illegal"
        if ":" in page:
            prefix = _PREFIX.match(page)
            if prefix and prefix[1].lower() in _OTHER_WIKIS:
                return "elsewhere"
            if page.endswith(":") and split_namespace(page.removeprefix(":"), self._site)[0]:
                return "illegal"
        title, fragment = link_target(written, self._site)
        if not title or title == self._own_title:
            return "elsewhere"
        return Target(page.removeprefix(":").strip(), fragment, title)

    def _parsed(self, line: str) -> str:
        """A line with links that are not plain, by mwparserfromhell."""
        if len(line) > _LONGEST_LINE:
            self.guards += 1
            return self._plain_link.sub(self._plain, _EXTERNAL.sub(lambda found: found[2] or HOLE, line))
        # the tokenizer of 0.7.2 reads freed memory where an & opens no character reference, so it gets none
        code = Parser().parse(EDGE + line.replace("&", AMPERSAND), skip_style_tags=True)
        shown = self._text(code.nodes).replace(AMPERSAND, "&")
        if LINK_END in shown:
            shown = self._trail.sub(rf"\1{LINK_END}", shown)
        return shown

    def _text(self, nodes: Iterable[Node]) -> str:
        out: list[str] = []
        for node in nodes:
            if isinstance(node, Wikilink):
                out.append(self._wikilink(node))
            elif isinstance(node, ExternalLink):
                out.append(self._external_link(node))
            else:
                out.append(str(node))
        return "".join(out)

    def _wikilink(self, node: Wikilink) -> str:
        target = str(node.title).replace(AMPERSAND, "&").replace(HOLE, "")
        if node.text is None:
            return self._anchor(target, None)
        before = len(self.targets)
        label = self._text(node.text.nodes)
        if len(self.targets) > before:
            del self.targets[before:]
            label = _ANCHOR_MARKS.sub("", label)
        return self._anchor(target, label)

    def _external_link(self, node: ExternalLink) -> str:
        """The label of an external link; one without label is shown as a number only, so nothing is left of it."""
        if not node.brackets:
            return str(node)
        address = str(node.url)
        end = _ADDRESS_END.search(address)
        label = address[end.start() :] if end else ""
        if node.title is not None:
            label += ("" if node.suppress_space or not label else " ") + self._text(node.title.nodes)
        return label or HOLE


@lru_cache(maxsize=64)
def _patterns(letters: str) -> tuple["re.Pattern[str]", "re.Pattern[str]"]:
    """A plain link with its trail, and a trail behind the marks of an anchor, for a wiki's trail letters."""
    trail = f"[{letters}]" if letters else "(?!)"
    marks = f"{LINK}-{HOLE}{HEADING}-{AMPERSAND}"
    target = rf"[^\[\]|<>{{}}\n{EDGE}{marks}]+"
    return (
        re.compile(rf"\[\[({target})(?:\|([^\[\]\n{marks}]*))?\]\]({trail}*)"),
        re.compile(f"{LINK_END}({trail}+)"),
    )


_BRACKETS = re.compile(r"\[+|\]+")


class _Frame:
    """A link that is open while brackets are matched: where it stands, and the single brackets within."""

    __slots__ = ("index", "literal", "singles")

    def __init__(self, index: int) -> None:
        self.index = index
        self.literal = False  # a link within has made the link itself text
        self.singles: list[tuple[int, bool]] = []  # place and whether an address follows


def with_literal_brackets(line: str) -> str:
    """The line with every bracket that opens or closes no link written as a reference.

    As MediaWiki reads it: the first ``]]`` closes a link, but of three the first is the label's own if a
    bracket is open in it; a link within a link makes the outer one text; the first ``]`` closes an
    external link.
    """
    pieces: list[str] = []
    frames = [_Frame(-1)]
    position = 0
    for found in _BRACKETS.finditer(line):
        start, end = found.span()
        pieces.append(line[position:start])
        position = end
        count = end - start
        if line[start] == "[":
            address = _AT_ADDRESS.match(line, end) is not None
            _open_brackets(pieces, frames, count, address)
        else:
            _close_brackets(pieces, frames, count)
    pieces.append(line[position:])
    for frame in frames:
        _give_up(pieces, frame)
    return "".join(pieces)


def _open_brackets(pieces: list[str], frames: list[_Frame], count: int, address: bool) -> None:
    """Opens a run of brackets: links by twos from its end, the last bracket alone where an address follows."""
    links, single = divmod(count - address, 2)
    if single:
        if not any(is_address for _, is_address in frames[-1].singles[-1:]):
            frames[-1].singles.append((len(pieces), False))
        pieces.append("&#91;")
    for _ in range(links):
        frames.append(_Frame(len(pieces)))
        pieces.append("[[")
    if address:
        frames[-1].singles.append((len(pieces), True))
        pieces.append("[")


def _close_brackets(pieces: list[str], frames: list[_Frame], count: int) -> None:
    """Closes what a run of brackets closes; the rest of it becomes literal."""
    while count:
        frame = frames[-1]
        is_link = frame.index >= 0
        if frame.singles and not (is_link and count == 2):
            _, is_address = frame.singles.pop()
            pieces.append("]" if is_address else "&#93;")
            count -= 1
        elif is_link and count >= 2:
            frames.pop()
            for index, is_address in frame.singles:
                if is_address:
                    pieces[index] = "&#91;"
            pieces.append("&#93;&#93;" if frame.literal else "]]")
            if not frame.literal:
                for outer in reversed(frames):
                    if outer.index < 0 or outer.literal:
                        break
                    outer.literal = True
                    pieces[outer.index] = "&#91;&#91;"
            count -= 2
        else:
            pieces.append("&#93;" * count)
            count = 0


def _give_up(pieces: list[str], frame: _Frame) -> None:
    """What is still open at the end of a line opens nothing."""
    if frame.index >= 0:
        pieces[frame.index] = "&#91;&#91;"
    for index, is_address in frame.singles:
        if is_address:
            pieces[index] = "&#91;"
