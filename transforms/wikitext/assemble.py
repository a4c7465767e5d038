"""Lines of marked text to rows: paragraphs, items and headings; clean text, and offsets last."""

import html
import html.entities
import re
from typing import Final

from kiltetl.schemas.reasons import REMNANTS
from kiltetl.schemas.records import Anchor, Paragraph
from kiltetl.transforms.wikitext.inline import Linker
from kiltetl.transforms.wikitext.marks import EDGE, HEADING, HOLE, LABEL, LINK, LINK_END

# --------------------------------------------------------------------------------------------
# Clean text

_REFERENCE = re.compile("&(?:#[0-9]{1,16}|#[xX][0-9a-fA-F]{1,16}|[A-Za-z][A-Za-z0-9]{1,31});")
# soft hyphen, zero-width space, direction marks and embeddings, word joiner, isolates, byte order mark;
# the zero-width joiners U+200C and U+200D stay, Persian and Indic scripts are written with them
_INVISIBLE = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


_MANY: Final = 100
_OWN_REFERENCES: Final = [(f"&#{ord(character)};", character) for character in "{}[]'"]


def decoded(text: str) -> str:
    """The text with its character references decoded once; what is none stays as it is.

    >>> decoded("&ndash; &#x41; &bogus; &amp;nbsp; R&D")
    '– A &bogus; &nbsp; R&D'
    """
    if "&" not in text:
        return text
    if text.count("&#") > _MANY:
        # what this package writes itself, by the thousand where a page has unclosed brackets; quicker like this
        for reference, character in _OWN_REFERENCES:
            text = text.replace(reference, character)
    return _REFERENCE.sub(_character, text)


_LEGAL_CONTROLS: Final = (9, 10, 13)
_LEGAL_RANGES: Final = ((32, 126), (128, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF))


def _character(found: "re.Match[str]") -> str:
    reference = found[0]
    if reference[1] == "#":
        number = int(reference[3:-1], 16) if reference[2] in "xX" else int(reference[2:-1])
        legal = (
            number in (9, 10, 13) or 32 <= number < 0xD800 or 0xE000 <= number <= 0xFFFD or 0x10000 <= number < 0x110000
        )
        if not legal or number == 127:
            return reference
        return html.unescape(reference)
    return html.entities.html5.get(reference[1:], reference)


_SPACE_IN_FRONT = re.compile(f"({LINK}[0-9]+{LABEL})([ {HOLE}]+)")
_ANCHOR = re.compile(f"{LINK}([0-9]+){LABEL}([^{LINK_END}]*){LINK_END}")
_EMPTY_ANCHOR = re.compile(f"{LINK}[0-9]+{LABEL}{LINK_END}")
_SPACE_AT_END = re.compile(f"([ {HOLE}]+){LINK_END}")

_WORD = re.compile(r"[^\W_]")
_LONGEST_MENDED: Final = 20_000  # characters of a row; mending takes time beyond all measure on some longer ones
_CLOSING: Final = {"(": ")", "[": "]"}
_NEEDS_CARE: Final = " ([)],;:.!?"
_ENDS_MARK: Final = frozenset([*" \"'”’)]", "", LINK, LINK_END])


def _mended(text: str) -> str:
    """The text without holes, and without what only made sense with what stood there.

    ``(HOLE)`` goes, ``(HOLE; born`` loses its mark, ``word HOLE, word`` its space. Text that had no
    hole is left alone: a page on programming keeps its ``main()``.
    """
    if len(text) > _LONGEST_MENDED:
        return text.replace(HOLE, "")
    done: list[str] = []
    left, *pieces = text.split(HOLE)
    for right in pieces:
        if left and right and left[-1] not in " ([" and right[0] == " " and right[1:2] not in _NEEDS_CARE:
            # the common case: a reference behind a word or a full stop
            done.append(left)
            left = right
            continue
        while True:
            before, after = left.rstrip(" "), right.lstrip(" ")
            spaced = len(before) < len(left) or len(after) < len(right)
            if not before and done:
                left = done.pop() + left
                continue
            tail, head = before[-1:], after[:1]
            if not tail:
                after = after.lstrip(",;: ")
                spaced = False
            elif tail in _CLOSING:
                after = after.lstrip(",;: ")
                if after[:1] == _CLOSING[tail]:
                    # nothing is left between the brackets
                    left, right = before[:-1], after[1:]
                    continue
                if not after:
                    left = before
                    break
                spaced = False
            elif head and head in ")]":
                stripped = before.rstrip(",;: ")
                if stripped[-1:] in _CLOSING:
                    left, right = stripped, after
                    continue
                before, spaced = stripped, False
            elif head and head in ",;:.!?" and after[1:2] in _ENDS_MARK:
                if tail in ",;:" and head in ",;:.":
                    before = before[:-1].rstrip(" ")
                spaced = False
            if after:
                done.append(before + " " if spaced else before)
                left = after
            else:
                left = before + " " if spaced else before
            break
    done.append(left)
    return "".join(done)


def clean(marked: str, linker: Linker) -> tuple[str, tuple[Anchor, ...]]:
    """Text and anchors of a row. All cleaning is done before offsets are counted."""
    if "&" in marked:
        marked = decoded(marked)
    if EDGE in marked:
        marked = marked.replace(EDGE, "")
    if not marked.isascii():
        marked = _INVISIBLE.sub("", marked)
    marked = _single_spaced(marked)
    holed = HOLE in marked
    if LINK in marked and (
        f"{LABEL} " in marked or f" {LINK_END}" in marked or f"{LABEL}{HOLE}" in marked or f"{HOLE}{LINK_END}" in marked
    ):
        # space and holes at the ends of an anchor stand outside of it
        marked = _SPACE_AT_END.sub(rf"{LINK_END}\1", _SPACE_IN_FRONT.sub(r"\2\1", marked))
        marked = _single_spaced(marked)
    if f"{LABEL}{LINK_END}" in marked:
        marked = _single_spaced(_EMPTY_ANCHOR.sub("", marked))
    if holed:
        marked = _single_spaced(_mended(marked))
    text, anchors = _with_offsets(marked, linker) if LINK in marked else (marked, ())
    if holed and not _WORD.search(text):
        return "", ()
    return text, anchors


def remnants(text: str) -> list[str]:
    """What in the text of a row looks like a remnant of wikitext, be it the page's own: formulas have braces, too.

    ``markup`` is ``[[``, ``{{``, ``''`` or ``<ref``; a space before punctuation one before a comma or a full stop
    that ends a word.

    >>> remnants("Kite ( ) is a {{toy}} .")
    ['markup', 'empty parentheses', 'space before punctuation']
    """
    found = []
    if "[[" in text or "{{" in text or "''" in text or "<ref" in text:
        found.append(REMNANTS[0])
    if "()" in text or "( )" in text:
        found.append(REMNANTS[1])
    if " , " in text or " . " in text or text.endswith((" ,", " .")):
        found.append(REMNANTS[2])
    return found


def _single_spaced(text: str) -> str:
    """The text with single spaces as its only white space, and none at its ends."""
    if text.isascii() and "  " not in text and "\t" not in text and "\n" not in text:
        return text.strip(" ")
    return " ".join(text.split())


def _with_offsets(marked: str, linker: Linker) -> tuple[str, tuple[Anchor, ...]]:
    """Takes the marks of anchors out of clean text and counts where they stood."""
    parts = _ANCHOR.split(marked)  # text, then number, label and text of each anchor
    anchors: list[Anchor] = []
    targets = linker.targets
    start = len(parts[0])
    for number, label, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        href, fragment, title = targets[int(number)]
        end = start + len(label)
        anchors.append(Anchor(label, href, fragment, start, end, title))
        start = end + len(after)
    del parts[1::3]
    return "".join(parts), tuple(anchors)


# --------------------------------------------------------------------------------------------
# Rows

_PREFIX_CHARACTERS: Final = "*#:;"
_TERM_END = re.compile(
    rf"\b(?:https?|ftp|irc)://[^\s{HOLE}]*|\b(?:news|mailto|tel|urn):[^\s{HOLE}]+|{LINK}[^{LINK_END}]*{LINK_END}|(:)"
)


def rows(title: str, text: str, linker: Linker) -> tuple[Paragraph, ...]:
    """The rows of a page whose text has nothing left but lines and links."""
    builder = _Rows(title, linker)
    for line in text.split("\n"):
        builder.add(line)
    return builder.finished()


class _Rows:
    """Takes lines one by one; holds a paragraph until it ends, and headings until something follows."""

    def __init__(self, title: str, linker: Linker) -> None:
        self._linker = linker
        self._rows = [Paragraph(0, "title", None, (), title)]
        self._lines: list[str] = []
        self._preformatted = False
        self._path: list[tuple[int, str]] = []  # levels and headings that are open
        self._section: tuple[str, ...] = ()
        self._waiting: list[tuple[int, tuple[str, ...], str, tuple[Anchor, ...]]] = []
        self._list = ""  # prefix of the line before, if it was an item
        self._numbers: list[int] = []

    def finished(self) -> tuple[Paragraph, ...]:
        self._end_paragraph()
        return tuple(self._rows)

    def add(self, line: str) -> None:
        """One line of the page."""
        first = line[:1]
        if first == HOLE or (HOLE in line and line.lstrip(" \t")[:1] == HOLE):
            # what was taken out at the start of a line took the start with it
            line = line.lstrip(f"{HOLE} \t")
            first = line[:1]
            hole = HOLE
        else:
            hole = ""
        if not first or line.isspace():
            self._end_paragraph()
            self._list = ""
            return
        if first == HEADING:
            self._heading(int(line[1]), line[2:])
        elif first == "=" and self._is_heading(line):
            pass
        elif first in _PREFIX_CHARACTERS and not (hole and first in ":;"):
            self._item(line)
        else:
            self._list = ""
            if first == "-" and line.startswith("----"):
                self._end_paragraph()
                line = line.lstrip("-")
                if line.strip():
                    self._lines.append(self._linker.marked(line))
                return
            preformatted = first == " " and not hole
            if preformatted != self._preformatted:
                self._end_paragraph()
                self._preformatted = preformatted
            self._lines.append(hole + self._linker.marked(line))

    def _is_heading(self, line: str) -> bool:
        """Takes a line as a heading if it is one: ``== A ==``, of signs alone the middle is the text."""
        stripped = line.rstrip(f" \t{HOLE}{EDGE}")
        left = len(stripped) - len(stripped.lstrip("="))
        if left == len(stripped):
            if left < 3:
                return False
            level = min((left - 1) // 2, 6)
            self._heading(level, stripped[level : left - level])
            return True
        right = len(stripped) - len(stripped.rstrip("="))
        if not right:
            return False
        level = min(left, right, 6)
        self._heading(level, stripped[level : len(stripped) - level])
        return True

    def _heading(self, level: int, text: str) -> None:
        self._end_paragraph()
        self._list = ""
        shown, anchors = clean(self._linker.marked(text), self._linker)
        self._path = [(other, name) for other, name in self._path if other < level]
        self._waiting = [waiting for waiting in self._waiting if waiting[0] < level]
        if shown:
            self._path.append((level, shown))
        self._section = tuple(name for _, name in self._path)
        if shown:
            self._waiting.append((level, self._section, shown, anchors))

    def _item(self, line: str) -> None:
        self._end_paragraph()
        body = line.lstrip(_PREFIX_CHARACTERS)
        prefix = line[: len(line) - len(body)]
        marked = self._linker.marked(body)
        same = 0
        for one, other in zip(self._list.replace(";", ":"), prefix.replace(";", ":"), strict=False):
            if one != other:
                break
            same += 1
        numbers = self._numbers[:same] if self._list else []
        numbers += [1] * (len(prefix) - len(numbers) - 1) + [0] * (len(prefix) > len(numbers))
        numbers[-1] += 1
        self._numbers, self._list = numbers, prefix
        match prefix[-1]:
            case "#":
                self._row("list_item", f"{numbers[-1]}.", marked)
            case "*":
                self._row("list_item", "-", marked)
            case ";":
                for part in _term_and_definition(marked):
                    self._row("paragraph", None, part)
            case _:
                self._row("paragraph", None, marked)

    def _end_paragraph(self) -> None:
        if self._lines:
            self._row("paragraph", None, " ".join(self._lines))
            self._lines = []
        self._preformatted = False

    def _row(self, kind: str, marker: str | None, marked: str) -> None:
        text, anchors = clean(marked, self._linker)
        if not text:
            return
        for _, section, heading, heading_anchors in self._waiting:
            self._rows.append(Paragraph(len(self._rows), "section", None, section, heading, heading_anchors))
        self._waiting.clear()
        self._rows.append(Paragraph(len(self._rows), kind, marker, self._section, text, anchors))


def _term_and_definition(marked: str) -> list[str]:
    """Splits ``; term : definition`` at the first colon outside links and addresses."""
    for found in _TERM_END.finditer(marked):
        if found[1]:
            return [marked[: found.start()], marked[found.end() :]]
    return [marked]
