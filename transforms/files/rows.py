"""Rows of dataset files: JSON Lines, JSON documents and text, plain or compressed."""

import bz2
import codecs
import contextlib
import gzip
import io
import json
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, BinaryIO, Final, TypeVar, cast

import ijson

from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.streams import CountingStream, open_binary

Record = TypeVar("Record")


_BOM = b"\xef\xbb\xbf"
_DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error)  # what reading compressed data raises


@dataclass(frozen=True, slots=True)
class BadRow:
    """A record of a file that cannot be read."""

    detail: str


def _decompressed(stream: BinaryIO) -> BinaryIO:
    head = stream.read(6)
    stream.seek(0)
    for magic, opener in ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open)):
        if head.startswith(magic):
            return cast(BinaryIO, opener(stream, "rb"))
    return io.BufferedReader(cast(io.RawIOBase, stream), 1 << 18)  # a raw stream reads lines byte by byte


def read_rows(
    path: str, source: str = "jsonl", items: str = "item", report: Callable[[int], None] = lambda amount: None
) -> Iterator[tuple[int, Any]]:
    """Rows of a dataset file with their number from 1; a BadRow stands for one that is no JSON.

    Args:
        path: plain, gz, bz2 or xz.
        source: ``jsonl`` = one JSON value a line (empty lines are passed over, a byte-order mark is
            accepted); ``json`` = one document with a list at ``items``.
        items: where the list stands, in ijson's notation.
        report: is told the bytes read.

    Raises:
        InputError: a file of another encoding than UTF-8; a JSON document that is cut off or damaged, or has
            no such list.
    """
    with _text_stream(path, report) as stream:
        yield from _json_lines(stream) if source == "jsonl" else _json_items(path, stream, items)


def read_lines(path: str, report: Callable[[int], None] = lambda amount: None) -> Iterator[str]:
    """Lines of a UTF-8 text file (plain, gz, bz2 or xz), cut at line feeds alone and without them."""
    with _text_stream(path, report) as stream:
        try:
            for line in stream:
                yield line.rstrip(b"\n").decode("utf-8-sig" if line.startswith(_BOM) else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not UTF-8 text ({error.reason})") from None


@contextlib.contextmanager
def _text_stream(path: str, report: Callable[[int], None]) -> Iterator[BinaryIO]:
    """The bytes of a text file, decompressed; InputError if they are damaged, or of UTF-16 or UTF-32."""
    with open_binary(path) as raw, _decompressed(cast(BinaryIO, CountingStream(raw, report))) as stream:
        try:
            head = cast(Any, stream).peek(4)[:4]
            if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in head:
                raise InputError(f"{path}: not UTF-8 text (it starts as UTF-16 or UTF-32 does)")
            yield stream
        except _DAMAGE as error:
            raise InputError(f"{path}: the data is cut off or damaged ({error})") from None


def _json_lines(stream: BinaryIO) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(stream, 1):
        if number == 1:
            line = line.removeprefix(_BOM)
        if line.strip():
            yield number, _json_value(line)


def _json_value(line: bytes) -> Any:
    try:
        value = json.loads(line.decode("utf-8-sig"))
        if b"\\ud" in line.lower():  # half a surrogate pair would be no text
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        return BadRow(f"not JSON: {error}")
    return value


class _Halves:
    """Bytes of a JSON document for ijson, which reads half a surrogate pair as a question mark: here it is ``MARK``."""

    MARK: Final = "\uffff\ufdd0\uffff"  # of noncharacters, which no text holds
    _AFTER_ESCAPE: Final = (b" ", b"\n", b",", b":", b"]", b"}")
    _ESCAPE: Final = re.compile(
        rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
    )

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._rest = b""
        self.found = False

    def read(self, size: int = -1) -> bytes:
        """The next bytes, as many as ``size`` or so, that end within no escape."""
        data = self._rest
        while more := self._stream.read(size):
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


def _json_items(path: str, stream: BinaryIO, items: str) -> Iterator[tuple[int, Any]]:
    def start() -> None:
        stream.seek(0)
        if stream.read(len(_BOM)) != _BOM:
            stream.seek(0)

    number = 0
    halves = _Halves(stream)
    try:
        start()
        # not use_float: integers may exceed 64 bits
        for number, row in enumerate(_each(ijson.items(halves, items)), 1):
            try:
                row = _plain(row)
                if halves.among(row):
                    row = BadRow("not JSON: half a surrogate pair")
            except (ValueError, RecursionError) as error:  # a number too long, lists too deep
                row = BadRow(f"not JSON: {error}")
            yield number, row
        if not number:
            start()
            parent = items.removesuffix("item").removesuffix(".")
            if (parent, "start_array") not in ((prefix, event) for prefix, event, _ in _each(ijson.parse(stream))):
                raise InputError(f"{path}: the JSON document has no list at {parent or 'its top'!r}")
    except ArithmeticError:  # of ijson's decimals
        raise InputError(f"{path}, after record {number}: holds a number with too large an exponent") from None
    except (ijson.JSONError, UnicodeDecodeError) as error:
        said = error.args[0] if error.args and isinstance(error.args[0], bytes) else str(error).encode()
        detail = said.decode("utf-8", "replace").strip().partition("\n")[0].strip(" .")  # a drawing follows
        raise InputError(f"{path}, after record {number}: not a JSON document ({detail})") from None


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
