"""Rows of dataset files: JSON Lines, JSON documents and text, plain or compressed."""

import codecs
import contextlib
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, BinaryIO, Final, TypeVar, cast

import ijson
import numpy as np

from kiltetl.schemas.errors import DumpError, InputError
from kiltetl.schemas.reasons import MALFORMED_RECORD, RECORD_TOO_DEEP, RECORD_TOO_LARGE
from kiltetl.transforms.files.streams import CountingStream, open_binary
from kiltetl.transforms.wiki.ranges import HEAD, archive_of, compression_of, decompressed

Record = TypeVar("Record")


_BOM = b"\xef\xbb\xbf"


MAX_RECORD: Final = 64 << 20  # bytes of one record, unless it is said otherwise
DEPTH: Final = 500  # lists and objects within each other
_PIECE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class BadRow:
    """A record of a file that cannot be read."""

    detail: str
    reason: str = MALFORMED_RECORD


class _Unpacked(io.RawIOBase):
    """The bytes of a packed file, stream by stream, so that damage is never taken for an end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._rest = b""
        self._chunks = decompressed(stream)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """To the start alone."""
        if (offset, whence) != (0, io.SEEK_SET):
            raise io.UnsupportedOperation("a packed file is read from its start")
        self._rest, self._chunks = b"", decompressed(self._stream)
        return 0

    def readinto(self, buffer: Any, /) -> int:
        if not self._rest:
            self._rest = next(self._chunks, b"")
        piece, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(piece)] = piece
        return len(piece)


def _decompressed(path: str, raw: BinaryIO, report: Callable[[int], None]) -> BinaryIO:
    head = raw.read(HEAD)
    raw.seek(0)
    archive = archive_of(head)
    if archive is not None:
        raise InputError(f"{path}: packed as {archive[0]}, which is not read; unpack it first: {archive[1]}")
    counted = CountingStream(raw, report)
    plain = compression_of(head) == "plain"
    # buffered, as a raw stream reads lines byte by byte
    return io.BufferedReader(counted if plain else _Unpacked(cast(BinaryIO, counted)), 1 << 18)


def read_rows(
    path: str,
    source: str = "jsonl",
    items: str = "item",
    report: Callable[[int], None] = lambda amount: None,
    most: int = MAX_RECORD,
) -> Iterator[tuple[int, Any]]:
    """Rows of a dataset file with their number from 1; a BadRow stands for one that is no JSON.

    Args:
        path: plain, gz, bz2 or xz.
        source: ``jsonl`` = one JSON value a line (empty lines are passed over, a byte-order mark is
            accepted); ``json`` = one document with a list at ``items``.
        items: where the list stands, in ijson's notation.
        report: is told the bytes read.
        most: bytes that one record may have; a larger one is a BadRow, and never held.

    Raises:
        InputError: a file of another encoding than UTF-8; a JSON document that is cut off or damaged, or has
            no such list.
    """
    with _text_stream(path, report) as stream:
        yield from _json_lines(stream, most) if source == "jsonl" else _json_items(path, stream, items, most)


def read_lines(path: str, report: Callable[[int], None] = lambda amount: None) -> Iterator[str]:
    """Lines of a UTF-8 text file (plain, gz, bz2 or xz), cut at line feeds alone and without them."""
    with _text_stream(path, report) as stream:
        try:
            for number, line in enumerate(_lines(stream, MAX_RECORD), 1):
                if isinstance(line, BadRow):
                    raise InputError(f"{path}, line {number}: {line.detail}")
                yield line.rstrip(b"\n").decode("utf-8-sig" if line.startswith(_BOM) else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not UTF-8 text ({error.reason})") from None


@contextlib.contextmanager
def _text_stream(path: str, report: Callable[[int], None]) -> Iterator[BinaryIO]:
    """The bytes of a text file, decompressed; InputError if they are damaged, or of UTF-16 or UTF-32."""
    with open_binary(path) as raw, _decompressed(path, raw, report) as stream:
        try:
            head = cast(Any, stream).peek(4)[:4]
            if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in head:
                raise InputError(f"{path}: not UTF-8 text (it starts as UTF-16 or UTF-32 does)")
            yield stream
        except DumpError as error:
            raise InputError(f"{path}: the data is cut off or damaged ({error})") from None


def _lines(stream: BinaryIO, most: int) -> Iterator[bytes | BadRow]:
    """Lines with their ends; a BadRow stands for one of more than ``most`` bytes, which is not held."""
    while line := stream.readline(most + 1):
        if len(line) <= most or line.endswith(b"\n"):
            yield line
            continue
        size = len(line)
        while not line.endswith(b"\n") and (line := stream.readline(_PIECE)):
            size += len(line)
        yield _too_large(size, most)


def _too_large(size: int, most: int) -> BadRow:
    return BadRow(f"{size:,} bytes or more, and --max-record-mb allows {most:,}", RECORD_TOO_LARGE)


def _json_lines(stream: BinaryIO, most: int) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(_lines(stream, most), 1):
        if isinstance(line, BadRow):
            yield number, line
            continue
        if number == 1:
            line = line.removeprefix(_BOM)
        if line.strip():
            yield number, _json_value(line)


def _json_value(line: bytes) -> Any:
    try:
        value = json.loads(line.decode("utf-8-sig"))
        if b"\\ud" in line.lower():  # half a surrogate pair would be no text
            json.dumps(value, ensure_ascii=False).encode()
    except ValueError as error:
        return BadRow(f"not JSON: {error}")
    except RecursionError:
        return BadRow("lists and objects are nested too deep", RECORD_TOO_DEEP)
    return value


class _SuspectError(Exception):
    """A document may have a record that is too large or too deep."""


_NESTING: Final = np.zeros(256, np.int8)  # what each byte adds to the depth
_NESTING[list(b"[{")] = 1
_NESTING[list(b"]}")] = -1


class _Halves:
    """Bytes of a JSON document for ijson, which reads half a surrogate pair as a question mark: here it is ``MARK``."""

    MARK: Final = "\uffff\ufdd0\uffff"  # of noncharacters, which no text holds
    _AFTER_ESCAPE: Final = (b" ", b"\n", b",", b":", b"]", b"}")
    _ESCAPE: Final = re.compile(
        rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
    )

    def __init__(self, stream: BinaryIO, most: int = MAX_RECORD) -> None:
        self._stream, self._most = stream, most
        self._rest = b""
        self.found = False
        self.deep = False  # whether depth is seen to elsewhere
        self.since = 0  # bytes since the last record, or event, was there
        self._open = 0  # brackets that were opened and not closed: about the depth, as texts may hold some

    def read(self, size: int = -1) -> bytes:
        """The next bytes, as many as ``size`` or so, that end within no escape."""
        data = self._rest
        while more := self._stream.read(size):
            open_ = self._open + np.cumsum(_NESTING[np.frombuffer(more, np.uint8)], dtype=np.int64)
            self._open = int(open_[-1])
            self.since += len(more)
            if self.since > self._most or (open_.max() > DEPTH and not self.deep):
                raise _SuspectError
            data += more
            end = len(data)
            if b"\\" in data[-12:]:
                end = 1 + max(data.rfind(byte) for byte in self._AFTER_ESCAPE)
            if end:
                self._rest = data[end:]
                return self._marked(data[:end])
        self._rest = b""
        return self._marked(data)

    def _marked(self, data: bytes) -> bytes:
        return self._ESCAPE.sub(self._mark, data) if b"\\ud" in data or b"\\uD" in data else data

    def _mark(self, escape: re.Match[bytes]) -> bytes:
        if escape[1] is None:
            return escape[0]
        self.found = True
        return self.MARK.encode()

    def among(self, row: Any) -> bool:
        """Whether the row holds half a pair."""
        return self.found and self.MARK in json.dumps(row, ensure_ascii=False)


def _json_items(path: str, stream: BinaryIO, items: str, most: int) -> Iterator[tuple[int, Any]]:
    def start() -> None:
        stream.seek(0)
        if stream.read(len(_BOM)) != _BOM:
            stream.seek(0)

    number = 0
    try:
        start()
        halves = _Halves(stream, most)
        try:
            # not use_float: integers may exceed 64 bits
            for number, row in enumerate(_each(ijson.items(halves, items)), 1):
                halves.since = 0
                yield number, _item(row, halves)
        except _SuspectError:
            start()
            for later, row in enumerate(_items_by_events(stream, items, most), 1):
                if later > number:
                    number = later
                    yield number, row
        if not number:
            start()
            parent = items.removesuffix("item").removesuffix(".")
            if (parent, "start_array") not in ((prefix, event) for prefix, event, _ in _each(ijson.parse(stream))):
                raise InputError(f"{path}: the JSON document has no list at {parent or 'its top'!r}")
    except _SuspectError:
        raise InputError(f"{path}, after record {number}: a single text of more than --max-record-mb") from None
    except ArithmeticError:  # of ijson's decimals
        raise InputError(f"{path}, after record {number}: holds a number with too large an exponent") from None
    except (ijson.JSONError, UnicodeDecodeError) as error:
        said = error.args[0] if error.args and isinstance(error.args[0], bytes) else str(error).encode()
        detail = said.decode("utf-8", "replace").strip().partition("\n")[0].strip(" .")  # a drawing follows
        raise InputError(f"{path}, after record {number}: not a JSON document ({detail})") from None


def _item(row: Any, halves: _Halves) -> Any:
    """The record as ijson gives it, or why it is none."""
    try:
        row = _plain(row)
        return BadRow("not JSON: half a surrogate pair") if halves.among(row) else row
    except ValueError as error:  # a number too long
        return BadRow(f"not JSON: {error}")
    except RecursionError:
        return BadRow("lists and objects are nested too deep", RECORD_TOO_DEEP)


def _items_by_events(stream: BinaryIO, items: str, most: int) -> Iterator[Any]:
    """The records of a document one event after the other: slower, and none is held that is too large or too deep."""
    wanted = items.split(".")
    path: list[str] = []  # where the next value stands, in each open list or object
    halves = _Halves(stream, most)
    halves.deep = True
    builder: Any = None
    wrong: BadRow | None = None
    depth = size = 0  # of the record
    for event, value in _each(ijson.basic_parse(halves)):
        halves.since = 0
        starts, ends = event.startswith("start_"), event.startswith("end_")
        if builder is None and (ends or event == "map_key" or path != wanted):
            if ends:
                path.pop()
            elif event == "map_key":
                path[-1] = value
            elif starts:
                path.append("item" if event == "start_array" else "")
            continue
        if builder is None:
            builder, wrong, depth, size = ijson.ObjectBuilder(), None, 0, 0
        depth += starts - ends
        size += len(value) if isinstance(value, str) else 8
        if wrong is None and size > most:
            wrong = _too_large(size, most)
        elif wrong is None and depth > DEPTH:
            wrong = BadRow(f"lists and objects are nested deeper than {DEPTH}", RECORD_TOO_DEEP)
        if wrong is None:
            builder.event(event, value)
        if depth == 0:
            yield _item(builder.value, halves) if wrong is None else wrong
            builder = None


def _each(values: Iterable[Record]) -> Iterator[Record]:
    """What ijson reads, with Python's bound on the digits of a number off: ijson 3.6 dies of the bound's error."""
    values = iter(values)
    if not hasattr(sys, "set_int_max_str_digits"):  # Python before 3.10.7
        yield from values
        return
    while True:
        bound = sys.get_int_max_str_digits()
        sys.set_int_max_str_digits(0)
        try:
            value = next(values)
        except StopIteration:
            return
        finally:
            sys.set_int_max_str_digits(bound)
        yield value


_TOO_LONG: Final = 10**4300  # by Python's bound, which holds for JSON Lines
_LONG: Final = _TOO_LONG.bit_length()  # of all numbers that are, and of few that are not


def _plain(value: Any) -> Any:
    """The same with floats for ijson's decimals, in place; ValueError for a whole number of very many digits."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, (dict, list, Decimal)) or (type(inner) is int and inner.bit_length() >= _LONG):
                value[key] = _plain(inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if isinstance(inner, (dict, list, Decimal)) or (type(inner) is int and inner.bit_length() >= _LONG):
                value[index] = _plain(inner)
    elif isinstance(value, int) and not -_TOO_LONG < value < _TOO_LONG:
        raise ValueError("a whole number of more than 4,300 digits")
    return float(value) if isinstance(value, Decimal) else value
