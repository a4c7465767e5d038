"""What WNED-WIKI and WNED-CWEB share: annotations in one XML file, texts in a file each; how a row is read."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from xml.parsers import expat

from kiltetl.schemas.reasons import NO_ENTITY
from kiltetl.schemas.records import Example
from kiltetl.transforms.datasets.detokenize import references
from kiltetl.transforms.datasets.hashing import stable_share
from kiltetl.transforms.datasets.mentions import mention_example
from kiltetl.transforms.datasets.spec import Row, SkipRow, Text
from kiltetl.transforms.wiki.titles import link_target

NEAR: Final = 20
"""How many characters a mention may stand away from the offset that is given for it."""

UNLINKED: Final = frozenset({"", "NIL", "*null*"})
"""What stands for a page where annotators found none."""


FIELDS: Final = ("mention", "wikiName", "offset", "length")


class _Collector:
    """Makes rows out of what expat meets."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._document: dict[str, str] = {}
        self._row: dict[str, Any] | None = None
        self._text: list[str] | None = None
        self._linked: Counter[str] = Counter()

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "document":
            self._document = {key: attributes[key] for key in ("docName",) if key in attributes}
        elif name == "annotation":
            self._row = dict(self._document)
        elif self._row is not None and name in FIELDS:
            self._text = []

    def data(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def end(self, name: str) -> None:
        if self._row is None:
            return
        if name == "annotation":
            document = self._row.get("docName", "")
            if entity(self._row.get("wikiName", "")):
                self._row["number"] = self._linked[document]
                self._linked[document] += 1
            self.rows.append(self._row)
            self._row = None
        elif self._text is not None and name in FIELDS:
            self._row[name] = "".join(self._text).strip()
            self._text = None


def annotation_rows(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The annotations of a WNED file as they come: docName, mention, wikiName, offset, length, and
    ``number``, the linked annotations of the document that stand before it, where it is linked.

    Raises:
        ValueError: the file is no well-formed XML, or it declares a document type, which these files
            do not and which could define entities.
    """
    collector = _Collector()
    parser = expat.ParserCreate("utf-8")  # what the lines are passed as, whatever the declaration says
    parser.buffer_text = True
    parser.StartElementHandler = collector.start
    parser.EndElementHandler = collector.end
    parser.CharacterDataHandler = collector.data
    parser.StartDoctypeDeclHandler = _refuse
    try:
        for line in lines:
            parser.Parse(f"{line}\n")
            yield from collector.rows
            collector.rows.clear()
        parser.Parse("", True)
    except expat.ExpatError as error:
        raise ValueError(f"not XML: {error}") from None


def _refuse(*declaration: object) -> None:
    raise ValueError("the file declares a document type")


def entity(name: str) -> str | None:
    """Title of the page that a WNED file names, in normal form; None where it names none.

    >>> [entity(name) for name in ("Simon &amp; Garfunkel", "new_York", "NIL", "")]
    ['Simon & Garfunkel', 'New York', None, None]
    """
    name = name.strip()
    return None if name in UNLINKED else link_target(name)[0] or None


def text_file(row: Row) -> str:
    """Where the text of an annotation's document stands, from the folder of its XML file."""
    name: str = row["docName"]
    if name in ("", ".", "..") or re.search(r"[/\\\0]", name):
        raise ValueError(f"docName is {name!r}, not the name of a file")
    return f"RawText/{name}"


SOURCE: Final = Text(annotation_rows, companion=text_file)


def read(row: Row) -> Iterator[Example]:
    """One mention that is linked to a page; the row has the text of its document as ``text``."""
    title = entity(row["wikiName"])
    if title is None:
        raise SkipRow(NO_ENTITY)
    name, number, offset, written = row["docName"], row["number"], int(row["offset"]), row.get("text")
    if offset < 0:
        raise ValueError(f"offset is {offset}")
    if not isinstance(written, str):
        raise ValueError(f"there is no text of the document {name!r}")
    text = references(written)
    # offsets were counted in the text as written or with its character references decoded
    offsets = (offset, len(references(written[:offset])))
    start, end = located(text, references(row["mention"]), *offsets)
    yield mention_example(f"{name}:{number}", text[:start], text[start:end], text[end:], title)


def located(text: str, mention: str, *offsets: int) -> tuple[int, int]:
    """Where a mention stands in a text: at the first offset it fits, else nearest to one of them.

    White space in the mention stands for any. ``ValueError`` if it is not within ``NEAR`` characters.
    """
    words = mention.split()
    if not words:
        raise ValueError("the mention is empty")
    pattern = re.compile(r"\s+".join(map(re.escape, words)))
    for offset in offsets:
        if found := pattern.match(text, offset):
            return found.span()
    near = {
        start: found.end()
        for offset in offsets
        for start in range(max(0, offset - NEAR), offset + NEAR + 1)
        if (found := pattern.match(text, start))
    }
    if not near:
        raise ValueError(f"the mention {mention!r} is not at offset {offsets[0]}, nor within {NEAR} characters of it")
    start = min(near, key=lambda place: (min(abs(place - offset) for offset in offsets), place))
    return start, near[start]


def split_of(example: Example) -> str:
    """Validation or test, each for half of the documents (seeded by ``hashing.SEED``).

    The mentions of a document stay together, as in the released records; the rule by which those were
    split was never published.
    """
    document = example.id.rpartition(":")[0]
    return "validation" if stable_share(document) < 0.5 else "test"
