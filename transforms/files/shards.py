"""Parquet shards and Arrow files: written whole or not at all, read by row group."""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic

import pyarrow as pa
import pyarrow.parquet as pq

from kiltetl.schemas.arrow import schema_of, table_of
from kiltetl.schemas.errors import InputError
from kiltetl.schemas.manifests import Written
from kiltetl.transforms.files.rows import Record
from kiltetl.transforms.files.streams import open_binary, replacing

ROW_GROUP = 10_000  # rows
ROW_GROUP_BYTES = 64 << 20  # of text, so that no column chunk comes near Arrow's 2 GiB


def shard_name(table: str, number: int, count: int) -> str:
    """``paragraphs-00003-of-00042.parquet``."""
    return f"{table}-{number:05d}-of-{count:05d}.parquet"


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
            self._stream = stack.enter_context(replacing(self._path))
            schema = schema_of(cls)
            schema = schema.with_metadata({**(schema.metadata or {}), **self._metadata})
            self._writer = stack.enter_context(pq.ParquetWriter(self._stream, schema, **self._compression))
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

    @property
    def written(self) -> Written:
        """What is known of the finished file; the rows are its footer's."""
        return self._stream.written(self._writer.writer.metadata.num_rows)

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


def write_arrow(path: str, table: pa.Table) -> Written:
    """A table as one Arrow IPC file that can be memory-mapped."""
    with replacing(path) as stream, pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.written(table.num_rows)


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
