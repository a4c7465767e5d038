"""What finished jobs left: a knowledge source, and tables of tasks."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kiltetl.schemas.arrow import record_of, records_of
from kiltetl.schemas.errors import DamagedDump, DumpError, InputError
from kiltetl.schemas.manifests import (
    INDEX,
    MANIFEST,
    TABLES,
    KnowledgeSourceManifest,
    SourceEntry,
    TaskManifest,
    fits,
)
from kiltetl.schemas.records import PageRow, Site, Task, TitleRow
from kiltetl.transforms.files.paths import FileInfo, check_filesystem, exists, file_size, file_sizes, join, list_folder
from kiltetl.transforms.files.shards import map_arrow, parquet_file, read_table, shard_name
from kiltetl.transforms.files.streams import open_binary, read_json
from kiltetl.transforms.jobs.standing import Shard, check, shards_of
from kiltetl.transforms.wiki.dump import Header, read_header
from kiltetl.transforms.wiki.ranges import decompressed, utf8
from kiltetl.transforms.wiki.redirects import TitleIndex

_ANEW = "give the command that built it again"


@dataclass(frozen=True, slots=True)
class KnowledgeSource:
    """A finished knowledge source: its folder, its shards and its wiki.

    >>> source = open_knowledge_source("out/knowledge_source")
    >>> source.path("pages", 0)
    'out/knowledge_source/pages-00000-of-00001.parquet'
    """

    folder: str
    shards: int
    site: Site
    about: SourceEntry  # what the manifests of tables say of it
    titles: int  # that lead to a page

    def path(self, table: str, part: int) -> str:
        return join(self.folder, shard_name(table, part, self.shards))

    @property
    def size(self) -> int:
        """Bytes of its paragraphs."""
        return sum(file_size(self.path("paragraphs", part)) for part in range(self.shards))

    def index(self, path: str) -> TitleIndex:
        """The look-up of its titles, out of a local copy of it; InputError for a damaged one."""
        index = TitleIndex(map_arrow(path))
        if len(index) != self.titles:
            raise InputError(
                f"{join(self.folder, INDEX)}: has {len(index):,} titles, and the tables {self.titles:,}; {_ANEW}"
            )
        return index


def open_knowledge_source(folder: str | os.PathLike[str]) -> KnowledgeSource:
    """A finished knowledge source; InputError for a folder that holds none, or a damaged one.

    >>> source = open_knowledge_source("out/knowledge_source")
    >>> source.site.language, source.shards, source.about["dump"]["date"]
    ('en', 1, '2019-08-01')
    """
    folder = os.fspath(folder)
    path = join(folder, MANIFEST)
    check_filesystem(folder)
    if not exists(path):
        raise InputError(f"{folder}: no knowledge source, or an unfinished one: build it with kiltetl knowledge-source")
    manifest = read_json(path)
    if not isinstance(manifest, dict) or manifest.get("kind") != "knowledge-source":
        raise InputError(f"{path}: the manifest of something else")
    try:
        if not fits(manifest, KnowledgeSourceManifest):
            raise TypeError("a key is missing or of another type")
        site = record_of(Site, manifest["site"])
    except (KeyError, TypeError):
        raise InputError(f"{path}: a damaged manifest; {_ANEW}") from None
    about: SourceEntry = {"dump": manifest["dump"], "fingerprint": manifest["fingerprint"]}
    shards = source_shards(folder, manifest)
    check(folder, shards, _ANEW)
    index = manifest.get("index")
    size = file_sizes(folder).get(INDEX)
    if size is None or (index is not None and size != index["bytes"]):
        detail = "not there" if size is None or index is None else f"has {size:,} bytes, not {index['bytes']:,}"
        raise InputError(f"{join(folder, INDEX)}: {detail}, though the knowledge source has it; {_ANEW}")
    count = sum(shard.cls is PageRow for shard in shards)
    titles = sum(shard.entry["rows"] for shard in shards if shard.cls is TitleRow)
    return KnowledgeSource(folder, count, site, about, titles)


def source_shards(folder: str, manifest: KnowledgeSourceManifest) -> list[Shard]:
    """The files of a knowledge source's tables, by its manifest; InputError for a name that is none of theirs."""
    count = sum(entry["name"].startswith("pages-") for entry in manifest["files"])
    named = {shard_name(table, part, count): cls for table, cls in TABLES.items() for part in range(count)}
    if not count or sorted(named) != sorted(entry["name"] for entry in manifest["files"]):
        raise InputError(f"{join(folder, MANIFEST)}: a damaged manifest; {_ANEW}")
    return [shard for entry in manifest["files"] for shard in shards_of(folder, [entry], named[entry["name"]])]


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


def read_siteinfo(path: str | os.PathLike[str]) -> Site:
    """What a wiki says of itself, out of a dump or a file with its ``<siteinfo>`` alone; plain, gz, bz2 or xz.

    InputError for a file that is neither. A dump without ``<siteinfo>`` is taken for the English Wikipedia's.

    >>> site = read_siteinfo("examples/miniwiki.xml")
    >>> site.dbname, site.language
    ('miniwiki', 'en')
    """
    return read_dump_header(os.fspath(path))[0].site


def read_dump_header(path: str) -> tuple[Header, bool]:
    """Header of a dump, and whether it has a root element; InputError names a file that is no dump."""
    with open_binary(path) as stream:
        try:
            return read_header(utf8((True, chunk) for chunk in decompressed(stream)))
        except DumpError as error:
            raise InputError(located(path, error)) from None


def located(path: str, error: DumpError) -> str:
    """An error in a dump, with its file and remedy."""
    remedy = "; fetch the file again and compare its checksum" if isinstance(error, DamagedDump) else ""
    return f"{path}: {error}{remedy}"


@dataclass(frozen=True, slots=True)
class TaskTable:
    """The table of a dataset and split, as a pipeline of the tasks wrote it."""

    dataset: str
    split: str
    shards: tuple[FileInfo, ...]
    manifest: TaskManifest

    @property
    def name(self) -> str:
        return f"{self.dataset}-{self.split}"

    def check_source(self, source: KnowledgeSource) -> None:
        """InputError if it was mapped onto another knowledge source."""
        used = self.manifest["knowledge_source"]
        if used and used["fingerprint"] != source.about["fingerprint"]:
            raise InputError(
                f"--knowledge-source {source.folder}: {self.name} was mapped onto another one "
                f"(dump {used['dump']['name']}); name that one, or map the table anew"
            )

    def tasks(self) -> Iterator[Task]:
        for shard in self.shards:
            yield from records_of(Task, read_table(shard.path))


def read_task_manifest(path: str) -> TaskManifest:
    """The manifest of a table; InputError if it is none, or damaged."""
    manifest = read_json(path)
    if not fits(manifest, TaskManifest):
        raise InputError(f"{path}: not the manifest of a dataset and split, or damaged; map the dataset anew")
    return manifest


def open_table(folder: str, dataset: str, split: str) -> TaskTable | None:
    """The table of a dataset and split in a folder of tasks, None if there is none."""
    path = manifest_path(folder, dataset, split)
    if not exists(path):
        return None
    manifest = read_task_manifest(path)
    shards = table_shards(folder, path, manifest)
    check(join(folder, dataset), shards, "map the dataset anew")
    return TaskTable(dataset, split, tuple(FileInfo(one.path, one.entry["bytes"]) for one in shards), manifest)


def table_shards(folder: str, path: str, manifest: TaskManifest) -> list[Shard]:
    """The files of a table that stands in a folder of tasks, by its manifest; InputError for a damaged one."""
    dataset, split, count = manifest["dataset"], manifest["split"], len(manifest["files"])
    names = [shard_name(split, number, count) for number in range(count)]
    if (
        not count
        or manifest_path(folder, dataset, split) != path
        or [one["name"] for one in manifest["files"]] != names
    ):
        raise InputError(f"{path}: a damaged manifest, or of another table; map the dataset anew")
    return shards_of(join(folder, dataset), manifest["files"], Task)


def check_tables(folder: str) -> None:
    """InputError for the first file of the tables in a folder of tasks that is not as its manifest says."""
    for name in list_folder(join(folder, "manifests"), "*.json"):
        path = join(folder, "manifests", name)
        manifest = read_task_manifest(path)
        check(join(folder, manifest["dataset"]), table_shards(folder, path, manifest), "map the dataset anew")
