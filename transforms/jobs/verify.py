"""Whether what was built is as its manifests say, down to the last byte, span and link."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kiltetl.schemas.errors import InputError
from kiltetl.schemas.manifests import INDEX, MANIFEST, TABLES, KnowledgeSourceManifest, TaskManifest, fits
from kiltetl.schemas.records import Reject
from kiltetl.transforms.files.checksums import digests
from kiltetl.transforms.files.paths import exists, file_sizes, join, list_folder
from kiltetl.transforms.files.scratch import machine_copy
from kiltetl.transforms.files.shards import map_arrow, parquet_file
from kiltetl.transforms.files.streams import read_json
from kiltetl.transforms.jobs.reader import read_task_manifest, source_shards, table_shards
from kiltetl.transforms.jobs.standing import Problem, Shard, problems, shards_of
from kiltetl.transforms.wiki.redirects import TitleIndex, title_hash

SHOWN: Final = 20  # problems of one kind in a file
Ints = npt.NDArray[np.int64]


@dataclass
class Verified:
    """What was looked at, and what is wrong with it."""

    files: int = 0
    rows: int = 0
    without_checksum: int = 0
    problems: list[Problem] = field(default_factory=list)

    def add(self, found: Iterable[Problem]) -> bool:
        """Take in what is wrong with a file; whether nothing is."""
        before = len(self.problems)
        self.problems += found
        return len(self.problems) == before


def verify(folder: str, quick: bool = False, report: Callable[[int], None] = lambda amount: None) -> Verified:
    """Hold what stands in a folder against its manifests.

    Args:
        folder: of a build, a knowledge source or tables.
        quick: names, sizes and rows alone.
        report: is told the bytes that are read.

    Raises:
        InputError: there is no manifest in the folder.
    """
    sources = [place for place in (folder, join(folder, "knowledge_source")) if exists(join(place, MANIFEST))]
    tables = [place for place in (folder, join(folder, "tasks")) if list_folder(join(place, "manifests"), "*.json")]
    if not sources and not tables:
        raise InputError(f"{folder}: no manifest in it; give the folder of a build, a knowledge source or tables")
    found = Verified()
    pages: Pages | None = None
    for place in sources:
        manifest = read_json(join(place, MANIFEST))
        if not fits(manifest, KnowledgeSourceManifest):
            found.add([Problem(join(place, MANIFEST), "not the manifest of a knowledge source, or damaged")])
            continue
        pages = _verify_source(found, place, manifest, quick, report) or pages
    for place in tables:
        for name in list_folder(join(place, "manifests"), "*.json"):
            path = join(place, "manifests", name)
            try:
                table = read_task_manifest(path)
                _verify_table(found, place, path, table, None if quick else pages, quick, report)
            except InputError as error:
                found.add([Problem(path, str(error).removeprefix(f"{path}: "))])
    return found


# --------------------------------------------------------------------------------------------
# files


def _verify_files(
    found: Verified, folder: str, shards: list[Shard], quick: bool, report: Callable[[int], None]
) -> list[Shard]:
    """Those files of a folder with which nothing is wrong so far."""
    wrong = list(problems(folder, shards))
    found.add(wrong)
    paths = {one.path for one in wrong}
    whole = []
    for shard in shards:
        found.files += 1
        if shard.path not in paths and (quick or found.add(_verify_bytes(found, shard.path, shard.entry, report))):
            found.rows += shard.entry["rows"]
            whole.append(shard)
    return whole


def _verify_bytes(
    found: Verified, path: str, entry: Mapping[str, Any], report: Callable[[int], None]
) -> Iterator[Problem]:
    if "sha256" not in entry:
        found.without_checksum += 1
    elif digests(path, ["sha256"], report)["sha256"] != entry["sha256"]:
        yield Problem(path, "has other bytes than were written: its SHA-256 is another")


def _strangers(folder: str, pattern: str, known: Iterable[Shard]) -> Iterator[Problem]:
    names = {shard.entry["name"] for shard in known}
    for name in list_folder(folder, pattern):
        if name not in names:
            yield Problem(join(folder, name), "stands there, and no manifest names it")


def _some(path: str, what: str, rows: Iterable[Any]) -> Iterator[Problem]:
    """A problem of a file for each of the first rows that have it, and one for the others."""
    count = 0
    for count, row in enumerate(rows, 1):
        if count <= SHOWN:
            yield Problem(path, f"{what}: {row}")
    if count > SHOWN:
        yield Problem(path, f"{what}: {count - SHOWN:,} more")


def _counts(path: str, counters: Mapping[str, int], rows: Mapping[str, int]) -> Iterator[Problem]:
    for name, count in rows.items():
        if counters.get(name, 0) != count:
            yield Problem(path, f"counts {counters.get(name, 0):,} {name}, and the tables have {count:,}")


# --------------------------------------------------------------------------------------------
# a knowledge source


@dataclass(frozen=True)
class Pages:
    """The pages of a knowledge source: ids in order, with the hashes of their titles and where they stand."""

    fingerprint: str
    ids: Ints
    titles: Ints
    shards: npt.NDArray[np.int32]
    paths: tuple[str, ...]  # of the shards' paragraphs

    def place(self, page_id: Any) -> int:
        """Where a page stands among all; -1 for none."""
        number = int(page_id) if isinstance(page_id, str) and page_id.isascii() and page_id.isdecimal() else -1
        place = int(np.searchsorted(self.ids, number))
        return place if place < len(self.ids) and self.ids[place] == number else -1

    def wrong(self, page_id: Any, title: str) -> str | None:
        """What is wrong with a reference to a page, by its id and title."""
        place = self.place(page_id)
        if place < 0:
            return f"there is no page {page_id}"
        return None if self.titles[place] == title_hash(title) else f"page {page_id} is not called {title!r}"


def _verify_source(
    found: Verified, folder: str, manifest: KnowledgeSourceManifest, quick: bool, report: Callable[[int], None]
) -> Pages | None:
    path = join(folder, MANIFEST)
    try:
        shards = source_shards(folder, manifest)
    except InputError as error:
        found.add([Problem(path, str(error).removeprefix(f"{path}: "))])
        return None
    by_table = {table: [shard for shard in shards if shard.cls is cls] for table, cls in TABLES.items()}
    for table in TABLES:
        found.add(_strangers(folder, f"{table}-*.parquet", by_table[table]))
    whole = _verify_files(found, folder, shards, quick, report)
    found.add(_verify_index_file(found, folder, manifest, quick, report))
    rows = {table: sum(shard.entry["rows"] for shard in by_table[table]) for table in ("paragraphs", "titles")}
    found.add(_counts(path, manifest["counters"], rows | {"articles": sum(s.entry["rows"] for s in by_table["pages"])}))
    if quick or len(whole) < len(shards):
        return None  # what is inside cannot be told while files are damaged
    pages = _pages(manifest["fingerprint"], by_table["pages"], by_table["paragraphs"])
    for page_shard, paragraph_shard in zip(by_table["pages"], by_table["paragraphs"], strict=True):
        found.add(_verify_paragraphs(page_shard.path, paragraph_shard.path, pages))
    if exists(join(folder, INDEX)):
        found.add(_verify_titles(folder, by_table["titles"], pages))
    return pages


def _verify_index_file(
    found: Verified, folder: str, manifest: KnowledgeSourceManifest, quick: bool, report: Callable[[int], None]
) -> Iterator[Problem]:
    path, entry = join(folder, INDEX), manifest.get("index")
    size = file_sizes(folder).get(INDEX)
    found.files += 1
    if size is None:
        yield Problem(path, "not there, though every knowledge source has it")
    elif entry is not None and size != entry["bytes"]:
        yield Problem(path, f"has {size:,} bytes, and its manifest says {entry['bytes']:,}")
    elif not quick:
        yield from _verify_bytes(found, path, entry or {}, report)


def _pages(fingerprint: str, pages: list[Shard], paragraphs: list[Shard]) -> Pages:
    ids, titles, shards = [], [], []
    for number, shard in enumerate(pages):
        with parquet_file(shard.path) as file:
            table = file.read(columns=["wikipedia_id", "wikipedia_title"])
        ids.append(pc.cast(table.column(0), pa.int64()).to_numpy())
        titles.append(np.array([title_hash(title) for title in table.column(1).to_pylist()], np.int64))
        shards.append(np.full(table.num_rows, number, np.int32))
    every = np.concatenate(ids) if ids else np.zeros(0, np.int64)
    order = np.argsort(every, kind="stable")
    return Pages(
        fingerprint,
        every[order],
        np.concatenate(titles)[order] if titles else every,
        np.concatenate(shards)[order] if shards else np.zeros(0, np.int32),
        tuple(shard.path for shard in paragraphs),
    )


def _verify_paragraphs(pages_path: str, path: str, pages: Pages) -> Iterator[Problem]:
    """Each page has its paragraphs, numbered from 0; each anchor's text stands where it says, and leads to a page."""
    with parquet_file(pages_path) as file:
        table = file.read(columns=["wikipedia_id", "wikipedia_title", "paragraph_count"])
    expected = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    yield from _some(pages_path, "occurs twice", [i for i, n in Counter(row[0] for row in expected).items() if n > 1])
    counted: list[tuple[str, str, int]] = []
    misnumbered: list[str] = []
    misplaced: list[str] = []
    leading: list[str] = []
    for page_id, title, number, text, anchors in _paragraphs(path):
        if not counted or counted[-1][0] != page_id:
            counted.append((page_id, title, 0))
        if number != counted[-1][2]:
            misnumbered.append(f"{page_id}, paragraph {number}")
        counted[-1] = (page_id, title, number + 1)
        for anchor in anchors:
            if text[anchor["start"] : anchor["end"]] != anchor["text"]:
                misplaced.append(f"{anchor['text']!r} at {anchor['start']} of page {page_id}, paragraph {number}")
            if anchor["wikipedia_id"] is not None:
                wrong = pages.wrong(anchor["wikipedia_id"], anchor["wikipedia_title"])
                if wrong is not None:
                    leading.append(f"{anchor['text']!r} of page {page_id}, paragraph {number}: {wrong}")
    yield from _some(path, "paragraphs are not numbered one after the other", misnumbered)
    yield from _some(path, "an anchor's text does not stand where it says", misplaced)
    yield from _some(path, "an anchor leads to no page", leading)
    filled = [one for one in expected if one[2]]
    differing = [f"page {have[0]}" for have, want in zip(counted, filled, strict=False) if have != want]
    missing = len(filled) - len(counted)
    yield from _some(path, "other paragraphs than its table of pages says", differing)
    if missing:
        yield Problem(path, f"has the paragraphs of {len(counted):,} pages, and {missing:+,} are in the table of pages")


def _paragraphs(path: str) -> Iterator[tuple[str, str, int, str, list[dict[str, Any]]]]:
    columns = ["wikipedia_id", "wikipedia_title", "paragraph_id", "text", "anchors"]
    with parquet_file(path) as file:
        for batch in file.iter_batches(batch_size=2000, columns=columns):
            yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


def _verify_titles(folder: str, shards: list[Shard], pages: Pages) -> Iterator[Problem]:
    """Each title leads to a page of that name, and the look-up finds it."""
    path = join(folder, INDEX)
    with machine_copy(path, pages.fingerprint) as copy:
        try:
            index = TitleIndex(map_arrow(copy))
        except InputError as error:
            yield Problem(path, str(error).removeprefix(f"{copy}: "))
            return
        total = sum(shard.entry["rows"] for shard in shards)
        if len(index) != total:
            yield Problem(path, f"has {len(index):,} titles, and the tables have {total:,}")
        for shard in shards:
            with parquet_file(shard.path) as file:
                rows = file.read(columns=["title", "wikipedia_id", "wikipedia_title"]).to_pylist()
            located = index.find(row["title"] for row in rows)
            lost, leading = [], []
            for row in rows:
                there = located.get(row["title"])
                if there is None or there.wikipedia_id != row["wikipedia_id"]:
                    lost.append(repr(row["title"]))
                wrong = pages.wrong(row["wikipedia_id"], row["wikipedia_title"])
                if wrong is not None:
                    leading.append(f"{row['title']!r}: {wrong}")
            yield from _some(path, f"does not find a title of {shard.entry['name']}", lost)
            yield from _some(shard.path, "a title leads to no page", leading)


# --------------------------------------------------------------------------------------------
# tables of records


def _verify_table(
    found: Verified,
    folder: str,
    path: str,
    manifest: TaskManifest,
    pages: Pages | None,
    quick: bool,
    report: Callable[[int], None],
) -> None:
    dataset, split = manifest["dataset"], manifest["split"]
    own, rejects = join(folder, dataset), join(folder, "rejects", dataset)
    shards = table_shards(folder, path, manifest)
    reject_shards = shards_of(rejects, manifest["reject_files"], Reject)
    for place, some in ((own, shards), (rejects, [] if dataset == "anchors" else reject_shards)):
        if some:
            found.add(_strangers(place, f"{split}-*.parquet", some))
    whole = _verify_files(found, own, shards, quick, report)
    _verify_files(found, rejects, reject_shards, quick, report)
    found.add(_counts(path, manifest["counters"], {"written": sum(shard.entry["rows"] for shard in shards)}))
    source = manifest["knowledge_source"]
    if pages is None or source is None or len(whole) < len(shards):
        return
    if source["fingerprint"] != pages.fingerprint:
        found.add([Problem(path, "was mapped onto another knowledge source than the one beside it")])
        return
    for shard in whole:
        found.add(_verify_provenance(shard.path, pages))


def _verify_provenance(path: str, pages: Pages) -> Iterator[Problem]:
    """Each page of a record's provenance is there by its title, and each span inside its paragraphs."""
    leading: list[str] = []
    spans: dict[int, list[tuple[str, Mapping[str, Any]]]] = {}  # by where the page stands
    with parquet_file(path) as file:
        for batch in file.iter_batches(batch_size=2000, columns=["id", "output"]):
            for record, outputs in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                for span in (span for output in outputs for span in output["provenance"] or ()):
                    wrong = pages.wrong(span["wikipedia_id"], span["title"])
                    if wrong is not None:
                        leading.append(f"record {record!r}: {wrong}")
                    elif span["start_paragraph_id"] is not None:
                        spans.setdefault(pages.place(span["wikipedia_id"]), []).append((record, span))
    yield from _some(path, "a provenance names no page", leading)
    lengths = _lengths(pages, spans)
    outside = [
        f"record {record!r}: {span['title']!r}, paragraph {span['start_paragraph_id']}"
        for place, mine in spans.items()
        for record, span in mine
        if not _is_inside(span, lengths.get(int(pages.ids[place]), []))
    ]
    yield from _some(path, "a span is not inside its paragraphs", outside)


def _lengths(pages: Pages, places: Iterable[int]) -> dict[int, list[int]]:
    """Characters of each paragraph of the pages at some places, by page id."""
    by_shard: dict[int, set[int]] = {}
    for place in places:
        by_shard.setdefault(int(pages.shards[place]), set()).add(int(pages.ids[place]))
    found: dict[int, list[int]] = {}
    for shard, ids in by_shard.items():
        wanted = pc.SetLookupOptions(value_set=pa.array([str(one) for one in sorted(ids)], pa.string()))
        with parquet_file(pages.paths[shard]) as file:
            for batch in file.iter_batches(columns=["wikipedia_id", "text"]):
                rows = batch.filter(pc.call_function("is_in", [batch.column(0)], wanted))
                sizes = pc.utf8_length(rows.column(1)).to_pylist()
                for page_id, size in zip(rows.column(0).to_pylist(), sizes, strict=True):
                    found.setdefault(int(page_id), []).append(size)
    return found


def _is_inside(span: Mapping[str, Any], lengths: list[int]) -> bool:
    first, last = span["start_paragraph_id"], span["end_paragraph_id"]
    start, end = span["start_character"], span["end_character"]
    if last is None or not 0 <= first <= last < len(lengths):
        return False
    if start is None and end is None:  # whole paragraphs
        return True
    if start is None or end is None:
        return False
    return bool(0 <= start <= lengths[first] and 0 <= end <= lengths[last] and (first < last or start <= end))
