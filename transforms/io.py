"""Every file is opened here: dumps, dataset files, Parquet shards, markers.

Local paths and the schemes of Beam's filesystems (gs://, s3://, hdfs://) go through
``FileSystems``; http(s) through smart_open. Files are written under a temporary name and renamed,
so that what stands under its own name is whole.
"""

import bz2
import codecs
import contextlib
import errno
import fnmatch
import glob
import gzip
import hashlib
import importlib
import importlib.util
import io
import json
import lzma
import os
import posixpath
import re
import shutil
import sys
import tempfile
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, TypeVar, cast

import ijson
import pyarrow as pa
import pyarrow.parquet as pq
import smart_open
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from kiltetl.schemas.arrow import schema_of, table_of

fcntl: Any
try:
    fcntl = importlib.import_module("fcntl")
except ImportError:  # not on Windows: two runs into one folder are not told apart there
    fcntl = None

Record = TypeVar("Record")

ROW_GROUP = 10_000  # rows
ROW_GROUP_BYTES = 64 << 20  # of text, so that no column chunk comes near Arrow's 2 GiB
_PLAIN = "uncompressed"
_HTTP = ("http://", "https://")
_WEB_TIMEOUT = 60  # seconds without a byte


class InputError(Exception):
    """Something the user gave cannot be used; the message names it and says what to do."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file and its size in bytes."""

    path: str
    size: int


# --------------------------------------------------------------------------------------------
# names


def is_local(path: str) -> bool:
    return "://" not in path


def join(folder: str, *names: str) -> str:
    """A path below ``folder``, in the way of its filesystem."""
    return os.path.join(folder, *names) if is_local(folder) else posixpath.join(folder, *names)


def basename(path: str) -> str:
    return os.path.basename(path) if is_local(path) else posixpath.basename(path)


def is_same(one: str, other: str) -> bool:
    """Whether two paths name one place, however they are written; local links are followed."""
    if is_local(one) and is_local(other):
        return os.path.realpath(one) == os.path.realpath(other)
    return one.rstrip("/") == other.rstrip("/")


def folder_of(path: str) -> str:
    return os.path.dirname(path) if is_local(path) else posixpath.dirname(path)


def shard_name(table: str, number: int, count: int) -> str:
    """``paragraphs-00003-of-00042.parquet``."""
    return f"{table}-{number:05d}-of-{count:05d}.parquet"


_EXTRAS = {"gs": "kiltetl[gcp]", "s3": "kiltetl[aws]", "hdfs": "apache-beam[hadoop]"}


def _filesystem_error(path: str, error: Exception) -> InputError:
    text = str(error)
    scheme = "" if is_local(path) else path.partition("://")[0]
    if "Unable to get filesystem" in text or "install" in text or (scheme == "s3" and not _has_boto()):
        if scheme in _EXTRAS:
            return InputError(f"{path}: reading or writing it needs an extra: pip install '{_EXTRAS[scheme]}'")
        if scheme:
            return InputError(
                f"{path}: nothing here opens {scheme}:// addresses; give a local path, gs://, s3:// or hdfs://, "
                "or to read from https://"
            )
    if getattr(getattr(error, "response", None), "status_code", None) in (404, 410):
        text += "; servers keep a dump for some months only: give the address of a newer one, or a local path"
    return InputError(f"{path}: {(isinstance(error, OSError) and error.strerror) or text}")


def _has_boto() -> bool:
    return importlib.util.find_spec("boto3") is not None


def check_filesystem(path: str, write: bool = False) -> None:
    """InputError, before any work starts, if no filesystem for the path is installed.

    With ``write`` also if the path, an output folder, cannot be made or written to; nothing of it is left.
    """
    if is_local(path):
        if write:
            _check_writable(path)
        return
    if path.startswith(_HTTP) and not write:
        return
    try:
        FileSystems.get_filesystem(path)
    except (BeamIOError, ValueError, ImportError) as error:
        raise _filesystem_error(path, error) from None
    if path.startswith("s3://") and not _has_boto():
        raise _filesystem_error(path, ImportError("boto3"))


def _check_writable(folder: str) -> None:
    """InputError if a local folder cannot be made or written to; tried there or in the nearest folder above."""
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".kiltetl-", dir=_nearest(folder)))
    except OSError as error:
        if error.errno in _FULL:
            raise _full(folder, error) from None
        raise _unwritable(folder, error) from None


_FULL = (errno.ENOSPC, errno.EDQUOT)


def _nearest(path: str) -> str:
    """The path, or the nearest above it that exists."""
    path = os.path.abspath(path)
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


def _unwritable(folder: str, error: OSError) -> InputError:
    place = _nearest(folder)
    if os.path.isdir(place):
        reason = error.strerror or str(error)
    else:
        reason = f"{'a file' if os.path.isfile(place) else 'something that is no folder'} is in the way"
        reason += "" if place == os.path.abspath(folder) else f", {place}"
    return InputError(f"{folder}: this folder cannot be made or written to ({reason}); name another one for the output")


def expand(patterns: Iterable[str]) -> list[FileInfo]:
    """The files that paths or glob patterns name, each once, in the order of the patterns, then by name.

    A path that exists is that file, whatever characters its name has.
    """
    files: dict[str, FileInfo] = {}
    for pattern in patterns:
        if pattern.startswith(_HTTP):
            with open_binary(pattern) as stream:
                files.setdefault(pattern, FileInfo(pattern, stream.seek(0, io.SEEK_END)))
        elif is_local(pattern):
            for info in _expand_local(pattern):
                files.setdefault(os.path.abspath(info.path), info)
        else:
            check_filesystem(pattern)
            try:
                matched = FileSystems.match([pattern])[0].metadata_list
            except (BeamIOError, OSError) as error:
                raise _filesystem_error(pattern, error) from None
            if not matched:
                raise InputError(f"{pattern}: no such file")
            for m in sorted(matched, key=lambda m: str(m.path)):
                files.setdefault(m.path, FileInfo(m.path, m.size_in_bytes))
    return list(files.values())


def _expand_local(pattern: str) -> list[FileInfo]:
    if os.path.isdir(pattern):
        raise InputError(f"{pattern}: a folder; name the files in it, for example {join(pattern, '*')}")
    if os.path.exists(pattern):
        paths = [pattern]
    else:
        paths = sorted(path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path))
    if not paths:
        raise InputError(f"{pattern}: no such file; give a local path, a pattern in quotes, gs://, s3:// or https://")
    for path in paths:
        if not os.path.isfile(path):
            raise InputError(f"{path}: not a regular file; it is read more than once and from any place")
    return [FileInfo(path, os.path.getsize(path)) for path in paths]


# --------------------------------------------------------------------------------------------
# reading and writing bytes


def open_binary(path: str) -> BinaryIO:
    """A seekable stream of the file's own bytes, never decompressed."""
    try:
        if path.startswith(_HTTP):
            return cast(BinaryIO, _WebStream(path))
        if is_local(path):
            return open(path, "rb")
        return cast(BinaryIO, FileSystems.open(path, compression_type=_PLAIN))
    except (BeamIOError, OSError, ValueError) as error:
        raise _filesystem_error(path, error) from None


class _WebStream(io.RawIOBase):
    """A file on a web server. Whatever goes wrong is an InputError, and the end is where the server says it is."""

    def __init__(self, path: str) -> None:
        self._path = path
        parameters = {"timeout": _WEB_TIMEOUT}
        self._stream: Any = None  # until it is open
        self._stream = smart_open.open(path, "rb", compression="disable", transport_params=parameters)
        self._length = int(getattr(self._stream, "content_length", -1) or -1)

    def _try(self, action: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return action(*arguments)
        except Exception as error:  # of requests, urllib3, smart_open
            raise InputError(
                f"{self._path}: the server broke off or cannot send parts of a file ({error}); "
                "try again, or fetch the file and give its local path"
            ) from None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data: bytes = self._try(self._stream.read, size)
        if (size < 0 or (size and not data)) and self.tell() < self._length:
            raise InputError(f"{self._path}: the server sent {self.tell():,} of {self._length:,} bytes; try again")
        return data

    def readinto(self, buffer: Any, /) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return int(self._try(self._stream.seek, offset, whence))

    def tell(self) -> int:
        return int(self._stream.tell())

    def close(self) -> None:
        if not self.closed and self._stream is not None:
            self._stream.close()
        super().close()


class CountingStream(io.RawIOBase):
    """A stream that reports each number of bytes read, for progress."""

    def __init__(self, stream: BinaryIO, report: Callable[[int], None]) -> None:
        self._stream, self._report = stream, report

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(size)
        self._report(len(data))
        return data

    def readinto(self, buffer: Any, /) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A stream to write; the file appears under its name when the block ends without an error."""
    temporary = f"{path}.{uuid.uuid4().hex[:8]}.tmp"
    if is_local(path):
        make_folder(folder_of(path) or ".")
    else:
        check_filesystem(path, write=True)
    try:
        stream: Any = (
            open(temporary, "wb")  # noqa: SIM115
            if is_local(path)
            else FileSystems.create(temporary, compression_type=_PLAIN)
        )
    except (BeamIOError, OSError) as error:
        if getattr(error, "errno", None) in _FULL:
            raise _full(path, error) from None
        if is_local(path) and isinstance(error, OSError):
            raise _unwritable(folder_of(path) or ".", error) from None
        raise _filesystem_error(path, error) from None
    try:
        with stream:
            yield cast(BinaryIO, stream)
        move(temporary, path)
    except BaseException as error:
        with contextlib.suppress(Exception):
            delete_file(temporary)
        if isinstance(error, OSError) and error.errno in _FULL:
            raise _full(path, error) from None
        raise


def _full(path: str, error: Any) -> OSError:
    return OSError(error.errno, f"{path}: {error.strerror}; make room and give the same command again")


def move(source: str, target: str) -> None:
    """Rename a file, replacing what stands there."""
    if is_local(target):
        os.replace(source, target)
        return
    if exists(target):
        FileSystems.delete([target])
    FileSystems.rename([source], [target])


def exists(path: str) -> bool:
    return os.path.exists(path) if is_local(path) else bool(FileSystems.exists(path))


def delete_file(path: str) -> None:
    """Delete a file, if it is there."""
    if is_local(path):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
    elif exists(path):
        FileSystems.delete([path])


def make_folder(path: str) -> None:
    """Make a folder with those above it, where the filesystem has folders; InputError if it cannot be."""
    if is_local(path):
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            if error.errno in _FULL:
                raise _full(path, error) from None
            raise _unwritable(path, error) from None


@contextlib.contextmanager
def locked(folder: str, what: str) -> Iterator[None]:
    """While the block runs, no other run on this machine writes the same into a local folder.

    InputError if one does. The lock ends with its process, however that ends.
    """
    if not is_local(folder) or fcntl is None:
        yield
        return
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f".kiltetl-{what}.lock")
    with open(path, "a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{folder}: another run is writing {what} there; wait for it, or give another --output"
            ) from None
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.unlink(path)


def delete_folder(path: str) -> None:
    """Delete a folder with all that is in it, if it is there."""
    if is_local(path):
        shutil.rmtree(path, ignore_errors=True)
        return
    with contextlib.suppress(BeamIOError):
        FileSystems.delete([path])


def list_folder(path: str, pattern: str = "*") -> list[str]:
    """Names of the files directly in a folder that fit a pattern, sorted; [] if there is no folder."""
    if is_local(path):
        names = [name for name in os.listdir(path) if os.path.isfile(join(path, name))] if os.path.isdir(path) else []
    else:
        names = [basename(m.path) for m in FileSystems.match([join(path, "*")])[0].metadata_list]
    return sorted(name for name in names if fnmatch.fnmatch(name, pattern))


def write_text(path: str, text: str) -> None:
    with replacing(path) as stream:
        stream.write(text.encode())


def write_json(path: str, value: Any) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n")


def read_json(path: str) -> Any:
    with open_binary(path) as stream:
        try:
            return json.loads(stream.read())
        except ValueError as error:
            raise InputError(f"{path}: not JSON ({error})") from None


def local_copy(path: str, folder: str) -> str:
    """A local path with the file's content: the path itself, or a copy in ``folder``."""
    if is_local(path):
        return path
    target = os.path.join(folder, hashlib.sha1(path.encode()).hexdigest() + "-" + basename(path))
    if not os.path.exists(target):
        with open_binary(path) as source, replacing(target) as copy:
            while data := source.read(1 << 24):
                copy.write(data)
    return target


# --------------------------------------------------------------------------------------------
# checksums


def digests(
    path: str, algorithms: Iterable[str], report: Callable[[int], None] = lambda amount: None
) -> dict[str, str]:
    """Hexadecimal digests of a file by algorithm name; ``report`` is told the bytes read."""
    hashes = {name: hashlib.new(name) for name in algorithms}
    with open_binary(path) as stream:
        while data := stream.read(1 << 22):
            report(len(data))
            for digest in hashes.values():
                digest.update(data)
    return {name: digest.hexdigest() for name, digest in hashes.items()}


def changed(path: str) -> int | None:
    """When a local file was last changed, in nanoseconds; None for one that is not local."""
    return os.stat(path).st_mtime_ns if is_local(path) else None


def sample_digest(info: FileInfo, length: int = 1 << 16) -> str:
    """SHA-1 of the first and last bytes of a file: tells most changes, in no time."""
    with open_binary(info.path) as stream:
        head = stream.read(length)
        stream.seek(max(0, info.size - length))
        return hashlib.sha1(head + stream.read(length)).hexdigest()


def published_digest(path: str) -> tuple[str, str, str] | None:
    """(algorithm, digest, file that says so) from a checksum file beside the path, None without one.

    Known are SHA256SUMS, SHA1SUMS, MD5SUMS and Wikimedia's ``WIKI-DATE-sha1sums.txt`` and ``-md5sums.txt``,
    in the format of coreutils (``DIGEST  NAME``) or BSD (``SHA256 (NAME) = DIGEST``).
    """
    if path.startswith(_HTTP):
        return None
    folder, name = folder_of(path), basename(path)
    candidates = list_folder(folder or ".", "*[sS][uU][mM][sS]*")
    for algorithm, length in (("sha256", 64), ("sha1", 40), ("md5", 32)):
        for candidate in candidates:
            if algorithm not in candidate.lower():
                continue
            listing = join(folder, candidate)
            with open_binary(listing) as stream:
                for line in stream.read().decode("utf-8-sig", "replace").splitlines():
                    found = _CHECKSUM.match(line.strip())
                    if found:
                        digest, listed = found["digest"] or found["bsd"], found["name"] or found["file"]
                        if len(digest) == length and re.split(r"[/\\]", listed)[-1] == name:
                            return algorithm, digest.lower(), listing
    return None


_CHECKSUM = re.compile(
    r"(?P<digest>[0-9a-fA-F]{32,64})\s+\*?(?P<name>.+)|\w+ \((?P<file>.+)\) = (?P<bsd>[0-9a-fA-F]{32,64})$"
)


# --------------------------------------------------------------------------------------------
# rows of datasets


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


def read_text(path: str) -> str:
    """A UTF-8 text file, line ends as they are."""
    with open_binary(path) as stream:
        return stream.read().decode("utf-8", "replace")


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


# --------------------------------------------------------------------------------------------
# Parquet shards


class ShardWriter(Generic[Record]):
    """Writes records of one class to one Parquet file: zstd, groups of 10,000 rows, whole or not at all.

    A context manager; the file appears under its name when the block ends without an error.

    Args:
        weigh: size of a record in bytes, so that row groups stay small where records are large.
        metadata: added to the schema's own.
        temporary: the file is read once and deleted: compressed in less time, in smaller groups.
    """

    def __init__(
        self,
        path: str,
        cls: type[Record],
        weigh: Callable[[Record], int] | None = None,
        metadata: Mapping[str, str] | None = None,
        temporary: bool = False,
    ) -> None:
        self._path, self._cls, self._weigh, self._metadata = path, cls, weigh, dict(metadata or {})
        self._group_bytes = ROW_GROUP_BYTES >> 3 if temporary else ROW_GROUP_BYTES
        self._compression: dict[str, Any] = {"compression": "zstd", "compression_level": 1 if temporary else 3}
        self._compression["use_dictionary"] = not temporary
        self._rows: list[Record] = []
        self._weight = 0
        self.count = 0

    def __enter__(self) -> "ShardWriter[Record]":
        cls: type = self._cls
        with contextlib.ExitStack() as stack:
            stream = stack.enter_context(replacing(self._path))
            schema = schema_of(cls)
            schema = schema.with_metadata({**(schema.metadata or {}), **self._metadata})
            self._writer = stack.enter_context(pq.ParquetWriter(stream, schema, **self._compression))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> bool | None:
        if error[0] is None:
            try:
                self._flush()
            except BaseException:
                self._stack.__exit__(*sys.exc_info())
                raise
        return self._stack.__exit__(*error)

    def write(self, record: Record) -> None:
        self._rows.append(record)
        if self._weigh:
            self._weight += self._weigh(record)
        if len(self._rows) >= ROW_GROUP or self._weight >= self._group_bytes:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(table_of(self._cls, self._rows), row_group_size=len(self._rows))
            self.count += len(self._rows)
            self._rows, self._weight = [], 0


def write_arrow(path: str, table: pa.Table) -> None:
    """A table as one Arrow IPC file that can be memory-mapped."""
    with replacing(path) as stream, pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)


def map_arrow(path: str) -> pa.Table:
    """A local Arrow IPC file, memory-mapped: its pages are shared between processes."""
    try:
        return pa.ipc.open_file(pa.memory_map(path)).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: not a whole Arrow file ({error})") from None


def is_arrow(path: str) -> bool:
    """Whether a whole Arrow IPC file stands there, by its footer."""
    try:
        with open_binary(path) as stream, pa.ipc.open_file(stream):
            return True
    except (InputError, pa.ArrowInvalid, OSError):
        return False


@contextlib.contextmanager
def parquet_file(path: str) -> Iterator[pq.ParquetFile]:
    with open_binary(path) as stream:
        try:
            file = pq.ParquetFile(stream)
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(f"{path}: not a whole Parquet file ({error})") from None
        yield file


def read_table(path: str, columns: list[str] | None = None) -> pa.Table:
    with parquet_file(path) as file:
        return file.read(columns=columns)


def footer_rows(path: str) -> int:
    """Number of rows by the Parquet footer."""
    with parquet_file(path) as file:
        return int(file.metadata.num_rows)


def have_rows(shards: Iterable[tuple[str, int]]) -> bool:
    """Whether Parquet files stand under these paths, each with so many rows by its footer."""
    try:
        return all(footer_rows(path) == rows for path, rows in shards)
    except InputError:
        return False


def file_size(path: str) -> int:
    return os.path.getsize(path) if is_local(path) else FileSystems.match([path])[0].metadata_list[0].size_in_bytes


def absolute(path: str, base: Path) -> str:
    """A path of a configuration file, relative to the file's folder; addresses stay as they are."""
    if not is_local(path):
        return path
    path = os.path.normpath(os.path.join(base, path))
    return os.path.join(".", path) if path.startswith("-") else path
