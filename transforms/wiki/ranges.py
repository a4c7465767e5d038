"""The bytes of a dump: decompressed, in UTF-8, whole or by ranges.

A bz2 file of many streams is read by byte ranges: **a page belongs to the range that holds the
first byte of the stream in which its ``<page>`` tag begins**, so ranges partition the pages
wherever they are cut, also where a page runs over from one stream into the next.

Takes file objects and opens nothing. A file cut off inside a stream or between two raises DamagedDump.
"""

import bz2
import codecs
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO, Protocol

from kiltetl.schemas.errors import DamagedDump, DumpError

CHUNK = 1 << 20  # bytes read at once, and the most that one step of decompression returns

_STREAM = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")  # head of a bz2 stream: a block, or its end
_STREAM_HEAD = 10
_PADDING = b"\0\r\n"  # may stand after compressed streams
HEAD = 512  # bytes that tell how a file is packed
DECLARATION = 1024  # bytes in which an XML declaration ends


def compression_of(head: bytes) -> str:
    """plain, gz, bz2 or xz, told from the first bytes of a file."""
    for name, magic in (("gz", b"\x1f\x8b"), ("bz2", b"BZh"), ("xz", b"\xfd7zXZ\x00")):
        if head.startswith(magic):
            return name
    return "plain"


_ARCHIVES = (  # magic, where it stands, name, what unpacks it
    (b"7z\xbc\xaf\x27\x1c", 0, "7z", "7z x"),
    (b"PK\x03\x04", 0, "zip", "unzip"),
    (b"\x28\xb5\x2f\xfd", 0, "zstd", "zstd -d"),
    (b"\x04\x22\x4d\x18", 0, "lz4", "lz4 -d"),
    (b"Rar!\x1a\x07", 0, "rar", "unrar x"),
    (b"\x1f\x9d", 0, "compress", "uncompress"),
    (b"LZIP", 0, "lzip", "lzip -d"),
    (b"ustar", 257, "tar", "tar -xf"),
)


def archive_of(head: bytes) -> tuple[str, str] | None:
    """(kind, command that unpacks it) of a packed file that is not read, by its first bytes whatever its name."""
    return next((found[2:] for found in _ARCHIVES if head[found[1] :].startswith(found[0])), None)


def decompressed(stream: BinaryIO) -> Iterator[bytes]:
    """The whole of a file, decompressed, in chunks; DumpError for one that is packed otherwise."""
    head = _head(stream)
    archive = archive_of(head)
    if archive is not None:
        raise DumpError(f"packed as {archive[0]}, which is not read; unpack it first: {archive[1]}")
    compression = compression_of(head)
    if compression == "plain":
        while data := stream.read(CHUNK):
            yield data
        return
    for _, chunk in _streams(stream, compression, 0):
        yield chunk


def _head(stream: BinaryIO) -> bytes:
    stream.seek(0)
    head = stream.read(HEAD)
    stream.seek(0)
    return head


class _Decompressor(Protocol):
    """What the decompressors of bz2 and lzma have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes: ...


class _GzipDecompressor:
    """zlib's decompressor with the interface of the other two."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def _decompressor(compression: str) -> _Decompressor:
    if compression == "bz2":
        return bz2.BZ2Decompressor()
    return _GzipDecompressor() if compression == "gz" else lzma.LZMADecompressor(lzma.FORMAT_XZ)


def _streams(stream: BinaryIO, compression: str, start: int) -> Iterator[tuple[int, bytes]]:
    """(first byte of its stream, decompressed chunk) from the stream that begins at ``start`` on."""
    stream.seek(start)
    position, pending = start, b""
    while True:
        padding = 0
        while True:
            found = pending.lstrip(_PADDING)
            padding, pending = padding + len(pending) - len(found), found
            if len(pending) >= _STREAM_HEAD:
                break
            data = stream.read(CHUNK)
            if not data:
                break
            pending += data
        if not pending:
            return
        if padding and compression != "xz":  # what may stand after the last stream; only xz may have it in between
            raise DamagedDump(f"no {compression} stream at byte {position:,}: the file has a hole or is damaged")
        position += padding
        if compression_of(pending) != compression:
            raise DamagedDump(f"no {compression} stream at byte {position:,}: the file is cut off or damaged")
        decompressor, used = _decompressor(compression), 0
        try:
            while not decompressor.eof:
                if decompressor.needs_input and not pending:
                    pending = stream.read(CHUNK)
                at_end = decompressor.needs_input and not pending
                used += len(pending)
                chunk = decompressor.decompress(pending, CHUNK)
                pending = b""
                if chunk:
                    yield position, chunk
                elif at_end and not decompressor.eof:
                    raise DamagedDump(f"the {compression} stream at byte {position:,} is cut off")
        except (OSError, zlib.error, lzma.LZMAError):
            raise DamagedDump(f"the {compression} stream at byte {position:,} is damaged") from None
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
    for position, chunk in _streams(stream, "bz2", 0):
        if position:
            return True
        total += len(chunk)
        if total > probe:
            return False
    return False


def is_splittable(stream: BinaryIO) -> bool:
    """Whether ``range_chunks`` can read the file: plain or bz2 of many streams, and in UTF-8.

    In another encoding a range would not know which one, since only the head of the file says.
    """
    compression = compression_of(_head(stream))
    if compression not in ("plain", "bz2"):
        return False
    head = b""
    for chunk in decompressed(stream):
        head += chunk
        if len(head) >= DECLARATION:
            break
    return encoding_of(head) == "utf-8" and (compression == "plain" or is_multistream(stream))


def range_chunks(stream: BinaryIO, start: int, end: int) -> Iterator[tuple[bool, bytes]]:
    """(owned, bytes) of a plain or multistream bz2 file from the range [start, end) to its end.

    ``owned`` is true for bytes at or after ``start`` and before ``end``; for bz2 it is the position
    of the stream they come from that counts. The consumer stops as soon as it has its last page.
    """
    if compression_of(_head(stream)) == "bz2":
        first = stream_start(stream, start, end)
        if first is not None:
            for position, chunk in _streams(stream, "bz2", first):
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
    rest = iter(chunks)
    held: list[tuple[bool, bytes]] = []
    size = 0
    for owned, chunk in rest:
        held.append((owned, chunk))
        size += len(chunk)
        if size >= DECLARATION:
            break
    encoding = encoding_of(b"".join(chunk for _, chunk in held))
    if encoding == "utf-8":
        yield from chain(held, rest)
        return
    decoder = codecs.getincrementaldecoder(encoding)(errors="strict")
    try:
        for owned, chunk in chain(held, rest):
            yield owned, decoder.decode(chunk).encode()
        decoder.decode(b"", final=True)
    except UnicodeError as error:
        raise DamagedDump(f"the file is not in {encoding}, or is cut off: {error}") from None


_ASCII_LIKE = frozenset(("utf-8", "utf8", "ascii", "us-ascii", "utf-16", "utf-16le", "utf-16be", "utf16", "utf-32"))


def encoding_of(head: bytes) -> str:
    """utf-8 or utf-16, by the byte-order mark or the first bytes of an XML document; DumpError for another."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding, mark in (("utf-16-le", b"<\0"), ("utf-16-be", b"\0<")):
        if head.startswith(mark):
            return encoding
    declared = re.match(rb"(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)", head)
    if declared:
        name = declared[1].decode()
        # a declaration that can be read byte by byte is not in UTF-16, whatever it says
        if name.lower().replace("_", "-") not in _ASCII_LIKE:
            raise DumpError(
                f"the XML declaration says {name!r}: dumps are read in UTF-8 and UTF-16; convert it first: "
                "iconv -f FROM -t UTF-8, and take the declaration out"
            )
    return "utf-8"
