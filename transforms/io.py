"""Every file is opened here: dumps, dataset files, Parquet shards, markers.

Local paths and the schemes of Beam's filesystems (gs://, s3://, hdfs://) go through
``FileSystems``; http(s) through smart_open. Files are written under a temporary name and renamed,
so that what stands under its own name is whole.
"""

import bz2
import contextlib
import fnmatch
import gzip
import hashlib
import io
import json
import lzma
import os
import posixpath
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar, cast

import ijson
import pyarrow as pa
import pyarrow.parquet as pq
import smart_open
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from kiltetl.schemas.arrow import schema_of, table_of

Record = TypeVar("Record")

ROW_GROUP = 10_000  # rows
ROW_GROUP_BYTES = 64 << 20  # of text, so that no column chunk comes near Arrow's 2 GiB
_PLAIN = "uncompressed"
_HTTP = ("http://", "https://")


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


def folder_of(path: str) -> str:
    return os.path.dirname(path) if is_local(path) else posixpath.dirname(path)


def shard_name(table: str, number: int, count: int) -> str:
    """``paragraphs-00003-of-00042.parquet``."""
    return f"{table}-{number:05d}-of-{count:05d}.parquet"


def _filesystem_error(path: str, error: Exception) -> InputError:
    text = str(error)
    if "Unable to get filesystem" in text or "install" in text:
        extra = {"gs": "gcp", "s3": "aws"}.get(path.partition("://")[0])
        if extra:
            return InputError(f"{path}: reading or writing it needs an extra: pip install 'kiltetl[{extra}]'")
    return InputError(f"{path}: {text}")


def check_filesystem(path: str) -> None:
    """InputError, before any work starts, if no filesystem for the path is installed."""
    if is_local(path) or path.startswith(_HTTP):
        return
    try:
        FileSystems.get_filesystem(path)
    except (ValueError, ImportError) as error:
        raise _filesystem_error(path, error) from None


def expand(patterns: Iterable[str]) -> list[FileInfo]:
    """The files that paths or glob patterns name, each once, in the order of the patterns, then by name."""
    files: dict[str, FileInfo] = {}
    for pattern in patterns:
        if pattern.startswith(_HTTP):
            with open_binary(pattern) as stream:
                files[pattern] = FileInfo(pattern, stream.seek(0, io.SEEK_END))
            continue
        check_filesystem(pattern)
        try:
            matched = FileSystems.match([pattern])[0].metadata_list
        except (BeamIOError, OSError) as error:
            raise _filesystem_error(pattern, error) from None
        found = [FileInfo(m.path, m.size_in_bytes) for m in matched if not (is_local(m.path) and os.path.isdir(m.path))]
        if not found and is_local(pattern) and os.path.isdir(pattern):
            raise InputError(f"{pattern}: a folder; name the files in it, for example {join(pattern, '*')}")
        if not found:
            raise InputError(
                f"{pattern}: no such file; give a local path, a pattern in quotes, gs://, s3:// or https://"
            )
        files |= {info.path: info for info in sorted(found, key=lambda info: info.path)}
    return list(files.values())


# --------------------------------------------------------------------------------------------
# reading and writing bytes


def open_binary(path: str) -> BinaryIO:
    """A seekable stream of the file's own bytes, never decompressed."""
    try:
        if path.startswith(_HTTP):
            return cast(BinaryIO, smart_open.open(path, "rb", compression="disable"))
        if is_local(path):
            return open(path, "rb")
        return cast(BinaryIO, FileSystems.open(path, compression_type=_PLAIN))
    except (BeamIOError, OSError, ValueError) as error:
        raise _filesystem_error(path, error) from None


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
        os.makedirs(folder_of(path) or ".", exist_ok=True)
    stream = open(temporary, "wb") if is_local(path) else FileSystems.create(temporary, compression_type=_PLAIN)
    try:
        with stream:
            yield cast(BinaryIO, stream)
        move(temporary, path)
    except BaseException:
        with contextlib.suppress(Exception):
            FileSystems.delete([temporary])
        raise


def move(source: str, target: str) -> None:
    """Rename a file, replacing what stands there."""
    if is_local(target):
        os.replace(source, target)
        return
    if exists(target):
        FileSystems.delete([target])
    FileSystems.rename([source], [target])


def exists(path: str) -> bool:
    return bool(FileSystems.exists(path))


def make_folder(path: str) -> None:
    if is_local(path):
        os.makedirs(path, exist_ok=True)


def delete_folder(path: str) -> None:
    """Delete a folder with all that is in it, if it is there."""
    with contextlib.suppress(BeamIOError):
        if exists(path) or not is_local(path):
            FileSystems.delete([path])


def list_folder(path: str, pattern: str = "*") -> list[str]:
    """Names of the files directly in a folder that fit a pattern, sorted; [] if there is no folder."""
    if is_local(path):
        names = os.listdir(path) if os.path.isdir(path) else []
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


def digests(path: str, algorithms: Iterable[str]) -> dict[str, str]:
    """Hexadecimal digests of a file by algorithm name."""
    hashes = {name: hashlib.new(name) for name in algorithms}
    with open_binary(path) as stream:
        while data := stream.read(1 << 22):
            for digest in hashes.values():
                digest.update(data)
    return {name: digest.hexdigest() for name, digest in hashes.items()}


def published_digest(path: str) -> tuple[str, str, str] | None:
    """(algorithm, digest, file that says so) from a checksum file beside the path, None without one.

    Known are SHA256SUMS, SHA1SUMS, MD5SUMS and Wikimedia's ``WIKI-DATE-sha1sums.txt`` and ``-md5sums.txt``.
    """
    if path.startswith(_HTTP):
        return None
    folder, name = folder_of(path), basename(path)
    for algorithm in ("sha256", "sha1", "md5"):
        for candidate in list_folder(folder or ".", "*[sS][uU][mM][sS]*"):
            if algorithm not in candidate.lower():
                continue
            listing = join(folder, candidate)
            with open_binary(listing) as stream:
                for line in stream.read().decode("utf-8", "replace").splitlines():
                    found = re.match(r"([0-9a-fA-F]{32,64})\s+\*?(.+)", line.strip())
                    if found and posixpath.basename(found[2]) == name:
                        return algorithm, found[1].lower(), listing
    return None


# --------------------------------------------------------------------------------------------
# rows of datasets


@dataclass(frozen=True, slots=True)
class BadRow:
    """A record of a file that cannot be read."""

    detail: str


def _decompressed(path: str, stream: BinaryIO) -> BinaryIO:
    head = stream.read(6)
    stream.seek(0)
    for magic, opener in ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open)):
        if head.startswith(magic):
            return cast(BinaryIO, opener(stream, "rb"))
    return stream


def read_rows(path: str, source: str = "jsonl", items: str = "item") -> Iterator[tuple[int, Any]]:
    """Rows of a dataset file with their number from 1; a BadRow stands for one that is no JSON.

    Args:
        path: plain, gz, bz2 or xz.
        source: ``jsonl`` = one JSON value a line (empty lines are passed over, a byte-order mark is
            accepted); ``json`` = one document with a list at ``items``.
        items: where the list stands, in ijson's notation.

    Raises:
        InputError: a JSON document that is cut off or damaged, or has no such list.
    """
    with open_binary(path) as raw, _decompressed(path, raw) as stream:
        try:
            if source == "jsonl":
                yield from _json_lines(stream)
            else:
                yield from _json_items(path, stream, items)
        except (EOFError, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise InputError(f"{path}: the compressed data is cut off or damaged ({error})") from None


def _json_lines(stream: BinaryIO) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(stream, 1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as error:
                yield number, BadRow(f"not JSON: {error}")


def _json_items(path: str, stream: BinaryIO, items: str) -> Iterator[tuple[int, Any]]:
    number = 0
    try:
        for number, row in enumerate(ijson.items(stream, items, use_float=True), 1):
            yield number, row
    except (ijson.JSONError, UnicodeDecodeError) as error:
        raise InputError(f"{path}, after record {number}: not a JSON document ({error})") from None


# --------------------------------------------------------------------------------------------
# Parquet shards


class ShardWriter(Generic[Record]):
    """Writes records of one class to one Parquet file: zstd, groups of 10,000 rows, whole or not at all.

    A context manager; the file appears under its name when the block ends without an error.
    """

    def __init__(self, path: str, cls: type[Record], weigh: Callable[[Record], int] | None = None) -> None:
        self._path, self._cls, self._weigh = path, cls, weigh
        self._rows: list[Record] = []
        self._weight = 0
        self.count = 0

    def __enter__(self) -> "ShardWriter[Record]":
        self._stack = contextlib.ExitStack()
        stream = self._stack.enter_context(replacing(self._path))
        self._writer = self._stack.enter_context(
            pq.ParquetWriter(stream, schema_of(self._cls), compression="zstd", compression_level=3)
        )
        return self

    def __exit__(self, *error: Any) -> bool | None:
        if error[0] is None:
            self._flush()
        return self._stack.__exit__(*error)

    def write(self, record: Record) -> None:
        self._rows.append(record)
        if self._weigh:
            self._weight += self._weigh(record)
        if len(self._rows) >= ROW_GROUP or self._weight >= ROW_GROUP_BYTES:
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
    return pa.ipc.open_file(pa.memory_map(path)).read_all()


@contextlib.contextmanager
def parquet_file(path: str) -> Iterator[pq.ParquetFile]:
    with open_binary(path) as stream:
        yield pq.ParquetFile(stream)


def read_table(path: str, columns: list[str] | None = None) -> pa.Table:
    with parquet_file(path) as file:
        return file.read(columns=columns)


def footer_rows(path: str) -> int:
    """Number of rows by the Parquet footer."""
    with parquet_file(path) as file:
        return int(file.metadata.num_rows)


def file_size(path: str) -> int:
    return os.path.getsize(path) if is_local(path) else FileSystems.match([path])[0].metadata_list[0].size_in_bytes


def absolute(path: str, base: Path) -> str:
    """A path of a configuration file, relative to the file's folder; addresses stay as they are."""
    return path if not is_local(path) or os.path.isabs(path) else str(base / path)
