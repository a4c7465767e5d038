"""What finished jobs left: a knowledge source, and tables of tasks."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kiltetl.schemas.arrow import record_of, records_of
from kiltetl.schemas.errors import InputError
from kiltetl.schemas.manifests import INDEX, MANIFEST
from kiltetl.schemas.records import Site, Task
from kiltetl.transforms.files.paths import FileInfo, check_filesystem, exists, file_size, join, list_folder
from kiltetl.transforms.files.shards import parquet_file, read_table, shard_name
from kiltetl.transforms.files.streams import read_json


@dataclass(frozen=True, slots=True)
class TaskTable:
    """The table of a dataset and split, as a pipeline of the tasks wrote it."""

    dataset: str
    split: str
    shards: tuple[FileInfo, ...]
    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.dataset}-{self.split}"

    def tasks(self) -> Iterator[Task]:
        for shard in self.shards:
            yield from records_of(Task, read_table(shard.path))


def open_table(folder: str, dataset: str, split: str) -> TaskTable | None:
    """The table of a dataset and split in a folder of tasks, None if there is none."""
    path = manifest_path(folder, dataset, split)
    names = list_folder(join(folder, dataset), f"{split}-*.parquet")
    if not names or not exists(path):
        return None
    paths = [join(folder, dataset, name) for name in names]
    return TaskTable(dataset, split, tuple(FileInfo(p, file_size(p)) for p in paths), read_json(path))


_ANEW = "give the command that built it again"


@dataclass(frozen=True, slots=True)
class KnowledgeSource:
    """A finished knowledge source: its folder, its shards and its wiki."""

    folder: str
    shards: int
    site: Site

    def path(self, table: str, part: int) -> str:
        return join(self.folder, shard_name(table, part, self.shards))


def open_knowledge_source(folder: str) -> tuple[KnowledgeSource, dict[str, Any]]:
    """A finished knowledge source, and what a task's manifest says of it."""
    path = join(folder, MANIFEST)
    check_filesystem(folder)
    if not exists(path):
        raise InputError(f"{folder}: no knowledge source, or an unfinished one: build it with kiltetl knowledge-source")
    manifest = read_json(path)
    if not isinstance(manifest, dict) or manifest.get("kind") != "knowledge-source":
        raise InputError(f"{path}: the manifest of something else")
    try:
        names = [str(file["name"]) for file in manifest["files"]]
        site = record_of(Site, manifest["site"])
        about = {"dump": manifest["dump"], "fingerprint": manifest["fingerprint"]}
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: a damaged manifest; {_ANEW}") from None
    there = set(list_folder(folder))
    for name in (*names, INDEX):
        if name not in there:
            raise InputError(f"{join(folder, name)}: not there, though the knowledge source has it; {_ANEW}")
    return KnowledgeSource(folder, sum(name.startswith("pages-") for name in names), site), about


def page_rows(path: str, wanted: Iterable[str]) -> Iterator[tuple[str, list[str], list[tuple[str, ...]]]]:
    """(page id, texts, sections) of the wanted pages of a shard of paragraphs, in file order."""
    ids = pc.SetLookupOptions(value_set=pa.array(sorted(wanted), pa.string()))
    current: str | None = None
    texts: list[str] = []
    sections: list[tuple[str, ...]] = []
    with parquet_file(path) as file:
        for group in range(file.num_row_groups):
            column = file.read_row_group(group, columns=["wikipedia_id"]).column(0)
            hits = pc.call_function("is_in", [column], ids)
            if not pc.any(hits).as_py():
                continue
            rows = file.read_row_group(group, columns=["wikipedia_id", "text", "section"]).filter(hits)
            for page, text, section in zip(*(rows.column(i).to_pylist() for i in range(3)), strict=True):
                if page != current:
                    if current is not None:
                        yield current, texts, sections
                    current, texts, sections = page, [], []
                texts.append(text)
                sections.append(tuple(section))
    if current is not None:
        yield current, texts, sections


def manifest_name(dataset: str, split: str) -> str:
    """Path of a table's manifest below the folder of tasks, with ``/``."""
    return f"manifests/{dataset}-{split}.json"


def manifest_path(output: str, dataset: str, split: str) -> str:
    return join(output, *manifest_name(dataset, split).split("/"))
