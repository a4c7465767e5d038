"""Takes out of a page what is not running text: opaque regions, tables, files, categories.

Every function goes through the text once, from left to right, in time linear in its length, whatever
the text is. What is left has balanced links only; openers that the page never closes are written as
character references, so that no later stage looks for their end.
"""

import re
from collections.abc import Callable
from typing import Final

from kiltetl.schemas.records import Site
from kiltetl.transforms.wiki.sites import namespace_keys
from kiltetl.transforms.wikitext.languages import CATEGORY_NAMES, FILE_NAMES, LANGUAGE_CODES, words
from kiltetl.transforms.wikitext.marks import CONTROL_BYTES, CONTROLS, EDGE, GONE, HOLE, literal

# Tags whose inside is not wikitext of this page, or is no running text.
_DROPPED: Final = frozenset(
    words(
        """
        ref references gallery timeline score imagemap inputbox templatedata templatestyles graph chart mapframe maplink
        hiero section categorytree indicator includeonly dynamicpagelist ce rss listing html randomimage slippymap
        pagelist pages syntaxhighlight source phonos languages
        """
    )
)
# Tags whose inside is shown as it stands.
_LITERAL: Final = frozenset(["nowiki", "pre", "math", "chem"])
_VERSE: Final = frozenset(["poem", "lines"])

_OPENER = re.compile(r"<(?:!--|([A-Za-z]+)(?=[\s>]|/>))")
_CLOSERS = {tag: re.compile(rf"</{tag}\s{{0,99}}>", re.IGNORECASE) for tag in _DROPPED | _LITERAL | _VERSE}
_INCLUSION = re.compile(r"</?(?:noinclude|onlyinclude)\s{0,99}/?>", re.IGNORECASE)


def scrub(text: str) -> str:
    """The text with ``\\n`` as its only line break and without control characters."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    # deleting bytes is ten times as fast as a regular expression over a text that has none of them
    data = text.encode("utf-8", "surrogatepass")
    return CONTROLS.sub("", text) if len(data.translate(None, CONTROL_BYTES)) < len(data) else text


def opaque(text: str, decode: Callable[[str], str], keep_math: bool = True) -> str:
    """The text without comments, references, galleries and the like; nowiki, pre and math as literal text.

    The first opener wins and its end is looked for without regard to anything between, as MediaWiki's
    preprocessor does. A tag that is never closed is left to the HTML stage (``<ref>``: dropped,
    what follows is kept).
    """
    if "<" not in text:
        return text
    out: list[str] = []
    position = 0
    never_closed: set[str] = set()
    opener = _OPENER.search
    found = opener(text)
    while found:
        start = found.start()
        tag = found[1]
        if tag is None:
            start, end = _comment(text, start, position)
            out.append(text[position:start])
            position = end
            found = opener(text, end)
            continue
        tag = tag.lower()
        if tag not in _CLOSERS:
            found = opener(text, found.end())
            continue
        out.append(text[position:start])
        bracket = -1 if ">" in never_closed else text.find(">", found.end())
        if bracket < 0:
            never_closed.add(">")
            out.append("&lt;")
            position = start + 1
        elif text[bracket - 1] == "/":
            out.append(EDGE if tag in _LITERAL else HOLE)
            position = bracket + 1
        else:
            closer = None if tag in never_closed else _CLOSERS[tag].search(text, bracket + 1)
            if closer is None:
                never_closed.add(tag)
                out.append(HOLE if tag in _DROPPED else "&lt;" + text[start + 1 : bracket + 1])
                position = bracket + 1
            else:
                if tag == "ref":
                    out.append(HOLE)
                else:
                    out.append(_shown(tag, text[bracket + 1 : closer.start()], decode, keep_math))
                position = closer.end()
        found = opener(text, position)
    out.append(text[position:])
    text = "".join(out)
    return _INCLUSION.sub("", text) if "include" in text.lower() else text


def _comment(text: str, start: int, floor: int) -> tuple[int, int]:
    """Where the comment at ``start``, or the run of comments there, begins and ends.

    Comments that stand alone on their line take the line with them.
    """
    end = start
    while True:
        closed = text.find("-->", end + 4)
        if closed < 0:
            return start, len(text)
        end = after = closed + 3
        while after < len(text) and text[after] in " \t":
            after += 1
        if not text.startswith("<!--", after):
            break
        end = after
    before = start
    while before > floor and text[before - 1] in " \t":
        before -= 1
    if before > 0 and text[before - 1] == "\n" and text[after : after + 1] == "\n":
        return before, after + 1
    return start, end


def _shown(tag: str, body: str, decode: Callable[[str], str], keep_math: bool) -> str:
    """Wikitext for an opaque region."""
    if tag in _VERSE:
        return "\n\n" + re.sub(r"\n[ \t:]+", "\n", body.strip()) + "\n\n"
    if tag in _DROPPED or not (keep_math or tag == "nowiki" or tag == "pre"):
        return "\n\n" if tag in ("syntaxhighlight", "source") and "\n" in body else HOLE
    shown = literal(decode(body.strip() if tag != "nowiki" else body))
    return f"\n\n{EDGE}{shown}\n\n" if tag == "pre" else f"{EDGE}{shown}{EDGE}"


# --------------------------------------------------------------------------------------------
# Tables

_TABLE_EDGE = re.compile(r"\{\||\|\}|</?[tT][aA][bB][lL][eE]\b[^<>]{0,5000}>?")
_BEFORE_TABLE: Final = f" \t:*#;{HOLE}"
_HEADING_LINE = re.compile(r"^==", re.MULTILINE)
_TABLE_LINE = ("|", "!")


def tables(text: str, cells: bool = False) -> tuple[str, int]:
    """The text without tables, and how many of them the page never closed.

    A table that is never closed ends at the next heading. With ``cells`` a table leaves a paragraph a
    row: its cells, without attributes, parted by ``" | "``.
    """
    if "{|" not in text and "|}" not in text and "<table" not in text.lower():
        return text, 0
    out: list[str] = []
    position = start = depth = 0
    for edge in _TABLE_EDGE.finditer(text):
        token = edge[0]
        is_tag = token[0] == "<"
        line_start = text.rfind("\n", max(0, edge.start() - 100), edge.start()) + 1 or max(0, edge.start() - 100)
        if not is_tag and text[line_start : edge.start()].strip(_BEFORE_TABLE):
            continue
        if token == "{|" or (is_tag and token[1] != "/"):
            if depth == 0:
                start = line_start if not is_tag else edge.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                out.append(text[position:start])
                out.append(_rows(text[start : edge.start()]) if cells else "\n\n")
                position = edge.end()
        elif token == "|}":
            # closes a table that a template opened: its lines stand right above
            out.append(_without_last_table_lines(text[position : edge.start()]))
            position = edge.end()
    if depth:
        heading = _HEADING_LINE.search(text, start)
        end = heading.start() if heading else len(text)
        out.append(text[position:start])
        out.append(_rows(text[start:end]) if cells else "\n\n")
        position = end
    out.append(text[position:])
    return "".join(out), 1 if depth else 0


def _without_last_table_lines(text: str) -> str:
    """The text without the unbroken run of table lines at its end."""
    end = len(text)
    while end:
        line_start = text.rfind("\n", 0, max(end - 1, 0)) + 1
        line = text[line_start:end].lstrip(f" \t{HOLE}")
        if not line.startswith(_TABLE_LINE):
            break
        end = line_start
    return text[:end]


_CELL_EDGE = re.compile(r"\|\||!!|</?t[dh]\b[^<>]*>", re.IGNORECASE)
_TABLE_TAG = re.compile(r"</?(?:table|tbody|thead|tfoot|caption)\b[^<>]*>", re.IGNORECASE)
_ROW_TAG = re.compile(r"</?tr\b[^<>]*>", re.IGNORECASE)


def _rows(table: str) -> str:
    """A paragraph for each row of a table (a table within a table gives rows of its own)."""
    rows: list[list[list[str]]] = [[]]  # of cells, of the lines of a cell
    table = _ROW_TAG.sub("\n|-\n", _TABLE_TAG.sub("\n{|\n", table))
    for line in table.split("\n"):
        line = line.strip().lstrip(HOLE)
        if line.lstrip(":*#; ").startswith("{|") or line.startswith(("|-", "|}")):
            rows.append([])
        elif line.startswith("|+"):
            rows += [[[_cell(line[2:])]], []]
        elif line.startswith(_TABLE_LINE):
            rows[-1] += [[_cell(part)] for part in _CELL_EDGE.split(line[1:])]
        elif "<td" in line.lower() or "<th" in line.lower():
            rows[-1] += [[_cell(part)] for part in _CELL_EDGE.split(line)]
        elif rows[-1]:
            rows[-1][-1].append(line.lstrip("*#:; "))
        elif line:
            rows[-1].append([line])
    texts = [[" ".join(cell).strip() for cell in row] for row in rows]
    filled = [[cell for cell in row if cell.strip(f" {HOLE}")] for row in texts]
    return "\n\n" + "".join(EDGE + " | ".join(row) + "\n\n" for row in filled if row)


def _cell(text: str) -> str:
    """A cell without the attributes that stand before a single bar."""
    attributes, bar, content = text.partition("|")
    return content if bar and "[[" not in attributes else text


# --------------------------------------------------------------------------------------------
# Links

_BRACKETS = re.compile(r"\[\[+|\]\]+")
_PREFIX = re.compile(r"[ _\t]*([^\s\[\]{}|<>#:][^\[\]{}|<>#:\n]{0,30}?)[ _\t]*:")
_FILE_NAME = re.compile(r"[^\[\]{}|<>\n]{1,250}\.[A-Za-z]{3,4}[ _\t\u200e\u200f]*(?:\||\]\])")
_GONE_LINE = re.compile(rf"\n(?:[ \t]*{GONE})+[ \t]*(?=\n|\Z)")
_LONGEST_TARGET: Final = 1000  # where the bounds hold, looking back from a closer is no work without end
_LONGEST_CAPTION: Final = 5000
_LONGEST_LABEL: Final = 2000  # of a link whose text runs over lines


class Prefixes:
    """What the prefix of a link means on one wiki."""

    def __init__(self, site: Site) -> None:
        local = namespace_keys(site)
        self._kinds: dict[str, str] = (
            dict.fromkeys(LANGUAGE_CODES, "language")
            | dict.fromkeys(FILE_NAMES - LANGUAGE_CODES, "file elsewhere")
            | dict.fromkeys(CATEGORY_NAMES, "category")
            | {name: {6: "file", -2: "file", 14: "category"}.get(key, "page") for name, key in local.items()}
        )

    def of(self, text: str, position: int) -> tuple[str, int]:
        """Kind of the target that starts here (file, category, language or page) and where its name starts."""
        found = _PREFIX.match(text, position)
        if not found:
            return "page", position
        kind = self._kinds.get(found[1].replace("_", " ").lower(), "page")
        if kind == "file elsewhere":
            # not a namespace of this wiki: a title may begin so, but it would not end like a file's name
            kind = "file" if _FILE_NAME.match(text, found.end()) else "page"
        return kind, found.end()


def links(text: str, prefixes: Prefixes, categories: list[str]) -> str:
    """The text without files, categories and links to other languages; the links left all balanced.

    Names of categories are appended to ``categories``. A label that runs over lines is joined to one
    line; an opener without closer becomes literal.
    """
    if "[[" not in text:
        return text
    special = _special_links(text, prefixes)
    if special is not None:
        plain = _edited(text, [(start, end, HOLE if name is None else GONE) for start, end, name in special])
        if all(line.count("[[") == line.count("]]") for line in plain.split("\n") if "[" in line or "]" in line):
            categories += [name for _, _, name in special if name]
            return plain
    return _balanced_links(text, prefixes, categories)


_SPECIAL = re.compile(r"\[\[[ _\t]*[^\s\[\]{}|<>#:][^\[\]{}|<>#:\n]{0,30}:")


def _special_links(text: str, prefixes: Prefixes) -> list[tuple[int, int, str | None]] | None:
    """Start, end and category of each link that is to go; None where one is not balanced.

    The common case, made fast: only links with a prefix are looked at. A file has None for a category, a
    link to another language an empty one.
    """
    special: list[tuple[int, int, str | None]] = []
    position = 0
    while found := _SPECIAL.search(text, position):
        start = found.start()
        kind, name = prefixes.of(text, start + 2)
        position = found.end()
        if kind == "page":
            continue
        depth = 0
        for brackets in _BRACKETS.finditer(text, start):
            pairs, single = divmod(brackets.end() - brackets.start(), 2)
            if single:
                return None
            depth += pairs if text[brackets.start()] == "[" else -pairs
            if depth <= 0:
                position = brackets.end() + 2 * depth
                break
        else:
            return None
        category = text[name : position - 2].partition("|")[0] if kind == "category" else None if kind == "file" else ""
        special.append((start, position, category))
    return special


def _balanced_links(text: str, prefixes: Prefixes, categories: list[str]) -> str:
    """What ``links`` says, for any text."""
    # edits are (start, end, replacement); a file's caption may hold links, so what an edit covers is dropped
    edits: list[tuple[int, int, str]] = []
    open_links: list[int] = []
    for brackets in _BRACKETS.finditer(text):
        start, end = brackets.span()
        if text[start] == "[":
            open_links.extend(range(start + (end - start) % 2, end, 2))
            continue
        while open_links and end - start >= 2:
            opened = open_links.pop()
            kind, name = prefixes.of(text, opened + 2)
            if kind == "page" or name > start:
                bar = text.find("|", opened, min(start, opened + _LONGEST_TARGET))
                if bar >= 0 and end - start > 2 and "[" in text[bar:start] and start - bar < _LONGEST_LABEL:
                    start += 1  # [[a|[b]]]: the first bracket is the label's own
                _join_label(text, start, bar, edits)
            else:
                while edits and edits[-1][0] >= opened:
                    edits.pop()
                if kind == "category":
                    categories.append(text[name:start].partition("|")[0])
                if end - start > 2 and start - opened < _LONGEST_CAPTION:
                    # [[File:a|b [c]]]: the first bracket is the caption's own
                    start += text.count("[", opened + 2, start) > text.count("]", opened, start)
                edits.append((opened, start + 2, HOLE if kind == "file" else GONE))
            start += 2
    for opened in open_links:
        edits.append((opened, opened + 2, "&#91;&#91;"))
    if not edits:
        return text
    if open_links:
        edits.sort()
    return _edited(text, edits)


def _join_label(text: str, end: int, bar: int, edits: list[tuple[int, int, str]]) -> None:
    """Brings a label that runs over lines to one line."""
    if bar >= 0 and end - bar < _LONGEST_LABEL and text.find("\n", bar, end) >= 0:
        while edits and edits[-1][0] >= bar:
            edits.pop()
        edits.append((bar, end, text[bar:end].replace("\n", " ")))


def _edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The text with the edits made; an edit that lies within another is left out.

    A line that holds nothing but links that are gone goes as a whole.
    """
    out: list[str] = []
    position = 0
    for start, end, replacement in edits:
        if start < position:
            continue
        out.append(text[position:start])
        out.append(replacement)
        position = end
    out.append(text[position:])
    text = "".join(out)
    return _GONE_LINE.sub("", text).replace(GONE, HOLE) if GONE in text else text
