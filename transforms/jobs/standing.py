"""What a finished job left, held against its manifest: names, sizes, rows and columns of the files."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from kiltetl.schemas.arrow import schema_of
from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.paths import file_sizes, join
from kiltetl.transforms.files.shards import parquet_file
from kiltetl.transforms.files.stores import at_once


class Shard(NamedTuple):
    """A file that a manifest names: its path, what the manifest says of it, and the record of its rows."""

    path: str
    entry: Mapping[str, Any]
    cls: type


class Problem(NamedTuple):
    """What is wrong with a file."""

    path: str
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: {self.detail}"


def problems(folder: str, shards: Sequence[Shard], footers: bool = True) -> Iterator[Problem]:
    """What is wrong with the files of one folder by names and sizes, and with ``footers`` by rows and columns."""
    sizes = file_sizes(folder)
    there = []
    for shard in shards:
        name, size = shard.entry["name"], shard.entry["bytes"]
        if shard.entry["rows"] < 0 or join(folder, name) != shard.path or "/" in name or "\\" in name:
            yield Problem(shard.path, "is no file of the manifest's folder, or has less than no rows there")
        elif name not in sizes:
            yield Problem(shard.path, "not there, though its manifest names it")
        elif sizes[name] != size:
            yield Problem(shard.path, f"has {sizes[name]:,} bytes, and its manifest says {size:,}")
        else:
            there.append(shard)
    if footers:
        for found in at_once(_footer_problem, there):
            yield from found


def _footer_problem(shard: Shard) -> list[Problem]:
    try:
        with parquet_file(shard.path) as file:
            rows, schema = file.metadata.num_rows, file.schema_arrow
    except InputError as error:
        return [Problem(shard.path, str(error).removeprefix(f"{shard.path}: "))]
    if not schema.equals(schema_of(shard.cls)):
        return [Problem(shard.path, "has other columns than its table")]
    if rows != shard.entry["rows"]:
        return [Problem(shard.path, f"has {rows:,} rows, and its manifest says {shard.entry['rows']:,}")]
    return []


def check(folder: str, shards: Sequence[Shard], remedy: str) -> None:
    """InputError for the first file of a folder that is not as its manifest says."""
    found = next(problems(folder, shards), None)
    if found is not None:
        raise InputError(f"{found}; {remedy}")


def shards_of(folder: str, entries: Sequence[Mapping[str, Any]], cls: type) -> list[Shard]:
    """The files of a table that stand in a folder."""
    return list(map(partial(_shard, folder, cls), entries))


def _shard(folder: str, cls: type, entry: Mapping[str, Any]) -> Shard:
    return Shard(join(folder, str(entry["name"])), entry, cls)
