"""Wikipedia dumps: compressed bytes to pages.

MediaWiki XML export 0.3 to 0.11 (https://www.mediawiki.org/wiki/Help:Export), plain, gz, bz2 or xz.
A bz2 file of many streams is read by byte ranges: **a page belongs to the range that holds the
first byte of the stream in which its ``<page>`` tag begins**, so ranges partition the pages
wherever they are cut, also where a page runs over from one stream into the next.

Takes file objects and opens nothing. Nothing is lost in silence: a file cut off inside a stream,
between two streams or before ``</mediawiki>`` raises DumpError.
"""

import bz2
import codecs
import gzip
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, BinaryIO
from xml.parsers import expat

from kiltetl.schemas.records import Namespace, RawPage, Site
from kiltetl.transforms.sites import ENGLISH, REDIRECT_WORDS
from kiltetl.transforms.titles import link_target, split_namespace

CHUNK = 1 << 20  # bytes read at once, and the most that one step of decompression returns

_STREAM = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")  # head of a bz2 stream: a block, or its end
_STREAM_HEAD = 10
_PAGE = re.compile(rb"<page[\s>]")
_PAGE_END = b"</page>"
_ROOT_END = b"</mediawiki>"
_TAIL = 64  # bytes kept between chunks: more than any tag that is searched for
_LONGEST_HEAD = 16 << 20
_FIRST_LINK = re.compile(r"\[\[([^\[\]|\n]+)")


class DumpError(ValueError):
    """The input is not a complete dump."""


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before the first page. ``version`` is the export schema's, () where unknown."""

    site: Site
    version: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MalformedPage:
    """A ``<page>`` that lacks what makes it one."""

    ordinal: int
    title: str
    detail: str


# --------------------------------------------------------------------------------------------
# bytes


def compression_of(head: bytes) -> str:
    """plain, gz, bz2 or xz, told from the first bytes of a file."""
    for name, magic in (("gz", b"\x1f\x8b"), ("bz2", b"BZh"), ("xz", b"\xfd7zXZ\x00")):
        if head.startswith(magic):
            return name
    return "plain"


def decompressed(stream: BinaryIO) -> Iterator[bytes]:
    """The whole of a file, decompressed, in chunks."""
    compression = compression_of(_head(stream))
    if compression == "bz2":
        yield from (chunk for _, chunk in _bz2_streams(stream, 0))
        return
    reader: IO[bytes] = stream
    if compression == "gz":
        reader = gzip.GzipFile(fileobj=stream)
    elif compression == "xz":
        reader = lzma.LZMAFile(stream)  # noqa: SIM115
    try:
        while chunk := reader.read(CHUNK):
            yield chunk
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise DumpError(f"the {compression} data is cut off or damaged ({error})") from None


def _head(stream: BinaryIO) -> bytes:
    stream.seek(0)
    head = stream.read(8)
    stream.seek(0)
    return head


def _bz2_streams(stream: BinaryIO, start: int) -> Iterator[tuple[int, bytes]]:
    """(first byte of its stream, decompressed chunk) from the stream that begins at ``start`` on."""
    stream.seek(start)
    position, pending = start, b""
    while True:
        while len(pending) < _STREAM_HEAD and (data := stream.read(CHUNK)):
            pending += data
        if not pending.strip(b"\0\n"):
            return
        if not pending.startswith(b"BZh"):
            raise DumpError(f"no bz2 stream at byte {position:,}: the file is damaged")
        decompressor, used = bz2.BZ2Decompressor(), 0
        try:
            while not decompressor.eof:
                if decompressor.needs_input and not pending:
                    pending = stream.read(CHUNK)
                    if not pending:
                        raise DumpError(f"the bz2 stream at byte {position:,} is cut off")
                used += len(pending)
                chunk = decompressor.decompress(pending, CHUNK)
                pending = b""
                if chunk:
                    yield position, chunk
        except OSError:
            raise DumpError(f"the bz2 stream at byte {position:,} is damaged") from None
        pending = decompressor.unused_data
        position += used - len(pending)


def stream_start(stream: BinaryIO, start: int, end: int) -> int | None:
    """Byte of the first bz2 stream that begins in [start, end), None where none does."""
    stream.seek(start)
    position, pending = start, b""
    while position < end and (data := stream.read(CHUNK)):
        pending += data
        found = _STREAM.search(pending)
        if found:
            return position + found.start() if position + found.start() < end else None
        position += max(0, len(pending) - _STREAM_HEAD + 1)
        pending = pending[-_STREAM_HEAD + 1 :]
    return None


def is_multistream(stream: BinaryIO, probe: int = 8 << 20) -> bool:
    """Whether a bz2 file holds several streams, the first ending within ``probe`` decompressed bytes."""
    total = 0
    for position, chunk in _bz2_streams(stream, 0):
        if position:
            return True
        total += len(chunk)
        if total > probe:
            return False
    return False


def range_chunks(stream: BinaryIO, start: int, end: int) -> Iterator[tuple[bool, bytes]]:
    """(owned, bytes) of a plain or multistream bz2 file from the range [start, end) to its end.

    ``owned`` is true for bytes at or after ``start`` and before ``end``; for bz2 it is the position
    of the stream they come from that counts. The consumer stops as soon as it has its last page.
    """
    if compression_of(_head(stream)) == "bz2":
        first = stream_start(stream, start, end)
        if first is not None:
            for position, chunk in _bz2_streams(stream, first):
                yield position < end, chunk
        return
    stream.seek(start)
    while data := stream.read(CHUNK):
        inside = max(0, end - start)
        start += len(data)
        if inside:
            yield True, data[:inside]
        if inside < len(data):
            yield False, data[inside:]


def utf8(chunks: Iterable[tuple[bool, bytes]]) -> Iterator[tuple[bool, bytes]]:
    """The same chunks in UTF-8, whatever the document's encoding (byte-order mark or declaration)."""
    decoder: codecs.IncrementalDecoder | None = None
    for number, (owned, chunk) in enumerate(chunks):
        if number == 0:
            encoding = encoding_of(chunk)
            if encoding != "utf-8":
                decoder = codecs.getincrementaldecoder(encoding)(errors="strict")
        try:
            yield owned, chunk if decoder is None else decoder.decode(chunk).encode()
        except UnicodeDecodeError as error:
            raise DumpError(f"the file is not {error.encoding}: {error.reason}") from None


def encoding_of(head: bytes) -> str:
    """Encoding of an XML document by its byte-order mark or declaration; utf-8 where neither says."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding, mark in (("utf-16-le", b"<\0"), ("utf-16-be", b"\0<")):
        if head.startswith(mark):
            return encoding
    declared = re.match(rb"(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)", head)
    if declared:
        try:
            name = codecs.lookup(declared[1].decode()).name
        except LookupError:
            raise DumpError(f"unknown encoding {declared[1].decode()!r} in the XML declaration") from None
        return "utf-8" if name in ("utf-8", "ascii") else name
    return "utf-8"


def page_elements(chunks: Iterable[tuple[bool, bytes]], rooted: bool) -> Iterator[bytes]:
    """The ``<page>…</page>`` elements that begin in owned bytes, one at a time, as UTF-8.

    Args:
        chunks: as ``range_chunks`` gives them, in UTF-8.
        rooted: whether the document has a ``<mediawiki>`` root, whose end tag must then be there.

    Raises:
        DumpError: the document ends inside a page or before ``</mediawiki>``.
    """
    buffer, owned, searched, seen = b"", 0, 0, 0
    for mine, chunk in chunks:
        seen += len(chunk)
        buffer += chunk
        if mine:
            owned = len(buffer)
        position = 0
        while (tag := _PAGE.search(buffer, position)) and tag.start() < owned:
            stop = buffer.find(_PAGE_END, max(tag.start(), searched))
            if stop < 0:
                position = tag.start()
                break
            stop += len(_PAGE_END)
            yield buffer[tag.start() : stop]
            position = stop
        else:
            if not mine and not any(b"<page".startswith(buffer[i:]) for i in range(max(0, len(buffer) - 5), owned)):
                return
            position = max(position, len(buffer) - _TAIL)
        # what is left: a page still open, or the last bytes in case a tag runs on; searched once
        buffer = buffer[position:]
        owned = max(0, owned - position)
        searched = max(0, len(buffer) - len(_PAGE_END) + 1)
    if _PAGE.match(buffer):
        raise DumpError("the file ends inside a page: it is cut off")
    tail = buffer.rstrip()
    if rooted and seen and not tail.endswith(_ROOT_END) and not (seen < _TAIL and tail and _ROOT_END.endswith(tail)):
        raise DumpError("the file ends before </mediawiki>: it is cut off")


# --------------------------------------------------------------------------------------------
# XML


def read_header(chunks: Iterable[tuple[bool, bytes]]) -> tuple[Header, bool]:
    """Header of a dump, and whether it has a ``<mediawiki>`` root.

    Without ``<siteinfo>`` the English Wikipedia is assumed. DumpError if the file is no dump.
    """
    head = b""
    for _, chunk in chunks:
        head += chunk
        if _PAGE.search(head) or _ROOT_END in head or len(head) > _LONGEST_HEAD:
            break
    document = re.sub(rb"^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>)?\s*", b"", head)
    rooted = document.startswith(b"<mediawiki")
    if not rooted and not _PAGE.match(document):
        shown = document[:60].decode("utf-8", "replace")
        raise DumpError(f"not a MediaWiki XML export: it begins with {shown!r}, expected <mediawiki …>")
    if not rooted:
        return Header(ENGLISH), False
    root = document[: document.find(b">") + 1].decode("utf-8", "replace")
    version = re.search(r"\bversion=\"([\d.]+)\"", root)
    language = re.search(r"\bxml:lang=\"([^\"]+)\"", root)
    info = re.search(rb"<siteinfo>.*?</siteinfo>", document, re.DOTALL)
    site = _site(info[0], language[1] if language else "en") if info else ENGLISH
    return Header(site, tuple(int(part) for part in version[1].split(".") if part) if version else ()), True


def _site(siteinfo: bytes, language: str) -> Site:
    names: dict[int, list[str]] = {}
    first_letter: dict[int, bool] = {}
    values = {"sitename": "", "dbname": "", "base": "", "case": "first-letter"}
    text: list[str] = []
    attributes: dict[str, str] = {}

    def start(_: str, found: dict[str, str]) -> None:
        text.clear()
        attributes.clear()
        attributes.update(found)

    def end(name: str) -> None:
        if name in values:
            values[name] = "".join(text).strip()
        elif name in ("namespace", "namespacealias") and attributes.get("key", "").lstrip("-").isdigit():
            key = int(attributes["key"])
            names.setdefault(key, []).append("".join(text).strip())
            if name == "namespace":
                first_letter[key] = attributes.get("case", values["case"]) != "case-sensitive"

    parser = _parser()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text.append
    try:
        parser.Parse(siteinfo, True)
    except expat.ExpatError as error:
        raise DumpError(f"the <siteinfo> of the dump is damaged: {error}") from None
    return Site(
        language=language,
        dbname=values["dbname"],
        name=values["sitename"],
        base=values["base"],
        first_letter=values["case"] != "case-sensitive",
        namespaces=tuple(
            Namespace(key, tuple(dict.fromkeys(found)), first_letter.get(key, True)) for key, found in names.items()
        ),
    )


def _parser() -> expat.XMLParserType:
    """An expat parser that takes no document type, hence no entity of its own making."""
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.buffer_size = 1 << 16

    def refuse(*_: object) -> None:
        raise DumpError("the file declares a document type; dumps have none, and entities are not expanded")

    parser.StartDoctypeDeclHandler = refuse
    return parser


class _PageBuilder:
    """Expat handlers that gather one page; elements are told apart by their parents, by local name."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.values: dict[str, str] = {}
        self.revision: dict[str, str] = {}
        self.best: dict[str, str] | None = None
        self.redirect: str | None = None
        self.has_redirect = False
        self.text: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if "text" in self.path:  # a raw element inside <text>: third-party dumps; the reader is given its markup
            self.text.append(f"<{name} />" if name in ("br", "hr") else f"<{name}>")
        else:
            self.text = []
            if name == "redirect":
                self.has_redirect, self.redirect = True, attributes.get("title")
            elif name == "revision":
                self.revision = {}
        self.path.append(name)

    def end(self, name: str) -> None:
        name = self.path.pop()
        if "text" in self.path:
            if name not in ("br", "hr"):
                self.text.append(f"</{name}>")
            return
        parent = self.path[-1] if self.path else ""
        if parent == "page":
            if name == "revision":
                if self.best is None or int(self.revision.get("id") or 0) > int(self.best.get("id") or 0):
                    self.best = self.revision
            else:
                self.values[name] = "".join(self.text)
        elif parent == "revision":
            self.revision[name] = "".join(self.text)
        self.text = []


def read_page(element: bytes, ordinal: int, header: Header) -> RawPage | MalformedPage:
    """One ``<page>`` element with its newest revision (the highest id, where there are several)."""
    builder = _PageBuilder()
    parser = _parser()
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.CharacterDataHandler = lambda data: builder.text.append(data)
    try:
        parser.Parse(element, True)
        values, revision = builder.values, builder.best or {}
        title = values.get("title", "").replace("_", " ").strip()
        if not title or not values.get("id", "").strip().isdecimal():
            return MalformedPage(ordinal, title, "no <title>" if not title else "no <id> of the page")
        text = revision.get("text", "")
        parent = revision.get("parentid", "").strip()
        namespace = values.get("ns", "").strip()
        return RawPage(
            ordinal=ordinal,
            page_id=int(values["id"]),
            title=title,
            namespace=int(namespace) if namespace else split_namespace(title, header.site)[0],
            redirect=_redirect(builder, text, header),
            revision_id=int(revision.get("id") or 0),
            parent_id=int(parent) if parent else None,
            timestamp=revision.get("timestamp", "").strip(),
            model=revision.get("model", "").strip() or "wikitext",
            text=text,
        )
    except (expat.ExpatError, ValueError) as error:
        if isinstance(error, DumpError):
            raise
        return MalformedPage(ordinal, builder.values.get("title", ""), f"the page's XML: {error}")


def _redirect(builder: _PageBuilder, text: str, header: Header) -> str | None:
    """Target of a redirect. Exports before 0.5 lack the title, those before 0.4 the element."""
    if builder.redirect is not None:
        return builder.redirect
    if builder.has_redirect or (header.version and header.version < (0, 4)):
        words = re.match(r"\s*(#[^\s\[:]+)\s*:?\s*\[\[([^\[\]|\n]+)", text)
        if words and (builder.has_redirect or words[1].lower() in REDIRECT_WORDS):
            return link_target(words[2], header.site)[0]
    return None


def redirect_fragment(text: str, header: Header) -> str | None:
    """The section that a redirect's wikitext names, None where it names none."""
    found = _FIRST_LINK.search(text)
    return link_target(found[1], header.site)[1] if found else None


def pages(chunks: Iterable[tuple[bool, bytes]], header: Header, rooted: bool) -> Iterator[RawPage | MalformedPage]:
    """The pages that begin in owned bytes, numbered from 0 in input order."""
    for ordinal, element in enumerate(page_elements(utf8(chunks), rooted)):
        yield read_page(element, ordinal, header)
