"""From the titles of a whole dump to the page each one leads to.

Works on Arrow and numpy arrays: the English Wikipedia has some 15 million titles of namespace 0.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kiltetl.schemas.errors import InputError
from kiltetl.schemas.reasons import DUPLICATE_PAGE, REDIRECT_CYCLE, REDIRECT_TARGET_MISSING, REDIRECT_TO_OTHER_NAMESPACE
from kiltetl.schemas.records import Reject, Site, TitleRow
from kiltetl.transforms.wiki.titles import split_namespace

Ints = npt.NDArray[np.int64]

INDEX_SCHEMA = pa.schema(
    [
        pa.field("title_hash", pa.int64(), nullable=False),
        pa.field("title", pa.large_string(), nullable=False),
        pa.field("page", pa.int32(), nullable=False),  # row of this index with the page's own title
        pa.field("page_id", pa.int64(), nullable=False),
        pa.field("part", pa.int32(), nullable=False),  # part of the dump, hence shard, that holds the page
    ]
)

_LONG_CHAIN = 64


def title_hash(title: str) -> int:
    """64-bit hash of a title, signed, stable between runs and machines."""
    return _hash(title.encode("utf-8", "surrogatepass"))


def _hash(title: bytes) -> int:
    return int.from_bytes(blake2b(title, digest_size=8).digest(), "little", signed=True)


@dataclass(frozen=True)
class Resolution:
    """What a dump's titles come to.

    Attributes:
        index: INDEX_SCHEMA, sorted by hash: every title that leads to a page.
        duplicates: part -> ordinals of pages that a later or newer page of the same id or title replaces.
        counts: pages, redirects, duplicates, and each reason of ``rejects``.
    """

    index: pa.Table
    duplicates: dict[int, list[int]]
    counts: Counter[str]
    _columns: dict[str, Any]
    _final: Ints
    _hops: Ints
    _fragment: Ints
    _reasons: dict[int, str]
    _parts: npt.NDArray[np.int32]
    _kept: npt.NDArray[np.bool_]

    def title_rows(self, part: int) -> Iterator[TitleRow]:
        """Rows of the table ``titles`` whose page or redirect stands in a part, in dump order."""
        titles, ids, fragments = self._columns["title"], self._columns["page_id"], self._columns["fragment"]
        for row in np.flatnonzero((self._parts == part) & self._kept).tolist():
            final = int(self._final[row])
            if final >= 0:
                hops, source = int(self._hops[row]), int(self._fragment[row])
                yield TitleRow(
                    title=titles[row].as_py(),
                    wikipedia_id=str(int(ids[final])),
                    wikipedia_title=titles[final].as_py(),
                    fragment=fragments[source].as_py() if source >= 0 else None,
                    is_redirect=hops > 0,
                    hops=hops,
                )

    def rejects(self, part: int) -> Iterator[Reject]:
        """Redirects of a part that lead nowhere, in dump order."""
        titles, targets = self._columns["title"], self._columns["target"]
        for row in np.flatnonzero((self._parts == part) & self._kept & (self._final < 0)).tolist():
            yield Reject("titles", titles[row].as_py(), self._reasons[row], f"redirects to {targets[row].as_py()!r}")


def resolve_titles(parts: Iterable[pa.Table], site: Site) -> Resolution:
    """Follow all redirects of a dump.

    A page id or title that occurs twice keeps its highest revision, and of equal revisions the
    last in the dump. A redirect chain is followed to its end; the fragment is the last one on the
    way. A chain that returns to itself or ends at no page of namespace 0 leads nowhere.

    Args:
        parts: for each part of the dump, in order, a table of ``ScannedTitle``.
    """
    tables = list(parts)
    sizes = [table.num_rows for table in tables]
    table = pa.concat_tables(tables)
    del tables
    columns: dict[str, Any] = {}
    for name in table.column_names:  # one at a time, so that what was read goes as what is worked on comes
        column = table.column(name)
        if pa.types.is_string(column.type):
            column = column.cast(pa.large_string())
        columns[name] = _single(column)
        table = table.drop_columns([name])
        del column
    page_id, revision, ordinal, hashes, target_hash = (
        columns[name].to_numpy() for name in ("page_id", "revision_id", "ordinal", "title_hash", "target_hash")
    )
    columns["page_id"] = page_id
    parts_of = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    is_redirect = pc.is_valid(columns["target"]).to_numpy(zero_copy_only=False)

    kept = np.ones(len(hashes), np.bool_)
    duplicates: dict[int, list[int]] = {}
    for row in _duplicates(page_id, hashes, revision):
        kept[row] = False
        duplicates.setdefault(int(parts_of[row]), []).append(int(ordinal[row]))

    order = np.flatnonzero(kept)
    order = order[np.argsort(hashes[order], kind="stable")]
    target = np.full(len(hashes), -1, np.int64)
    redirects = np.flatnonzero(is_redirect & kept)
    if len(redirects) and len(order):
        place = np.minimum(np.searchsorted(hashes[order], target_hash[redirects]), len(order) - 1)
        found = order[place]
        same = pc.equal(columns["title"].take(pa.array(found)), columns["target"].take(pa.array(redirects)))
        target[redirects] = np.where(same.to_numpy(zero_copy_only=False), found, -1)

    final, hops, fragment, cycles = _follow(target, is_redirect, pc.is_valid(columns["fragment"]))

    def reason(row: int) -> str:
        if row in cycles:
            return REDIRECT_CYCLE
        while target[row] >= 0:
            row = int(target[row])
        elsewhere, _ = split_namespace(columns["target"][row].as_py(), site)
        return REDIRECT_TO_OTHER_NAMESPACE if elsewhere else REDIRECT_TARGET_MISSING

    reasons = {row: reason(row) for row in redirects[final[redirects] < 0].tolist()}
    counts = Counter(reasons.values())
    counts["pages"] = int((kept & ~is_redirect).sum())
    counts["redirects"] = len(redirects)
    counts[DUPLICATE_PAGE] = int((~kept).sum())

    leads = order[final[order] >= 0]
    row_in_index = np.full(len(hashes), -1, np.int64)
    row_in_index[leads] = np.arange(len(leads))
    index = pa.Table.from_arrays(
        [
            pa.array(hashes[leads]),
            columns["title"].take(pa.array(leads)),
            pa.array(row_in_index[final[leads]].astype(np.int32)),
            pa.array(page_id[final[leads]]),
            pa.array(parts_of[final[leads]].astype(np.int32)),
        ],
        schema=INDEX_SCHEMA,
    )
    return Resolution(index, duplicates, counts, columns, final, hops, fragment, reasons, parts_of, kept)


def _duplicates(page_id: Ints, hashes: Ints, revision: Ints) -> Iterator[int]:
    """Rows that lose against another row with the same page id or title."""

    def repeated(values: Ints) -> npt.NDArray[np.bool_]:
        ordered = np.sort(values)
        twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        return np.isin(values, twice)

    suspects = np.flatnonzero(repeated(page_id) | repeated(hashes))
    ids: set[int] = set()
    titles: set[int] = set()
    for row in sorted(suspects.tolist(), key=lambda row: (-int(revision[row]), -row)):
        if int(page_id[row]) in ids or int(hashes[row]) in titles:
            yield row
        else:
            ids.add(int(page_id[row]))
            titles.add(int(hashes[row]))


def _follow(
    target: Ints, is_redirect: npt.NDArray[np.bool_], has_fragment: pa.BooleanArray
) -> tuple[Ints, Ints, Ints, set[int]]:
    """Ends of all redirect chains: final row (-1 none), hops, row of the last fragment, rows in or before a cycle."""
    rows = np.arange(len(target), dtype=np.int64)
    fragments = has_fragment.to_numpy(zero_copy_only=False)
    current = rows.copy()
    hops = np.zeros(len(target), np.int64)
    fragment = np.full(len(target), -1, np.int64)
    active = np.flatnonzero(is_redirect)
    for _ in range(_LONG_CHAIN):
        if not len(active):
            break
        here = current[active]
        fragment[active] = np.where(fragments[here], here, fragment[active])
        hops[active] += 1
        current[active] = target[here]
        active = active[(current[active] >= 0) & is_redirect[np.maximum(current[active], 0)]]
    cycles: set[int] = set()
    ends: dict[int, tuple[int, int, int]] = {}  # of rows that were walked: final row, hops, row of the fragment
    for row in active.tolist():  # in a cycle, before one, or in a chain longer than any real one
        path: list[int] = []
        here, on_path = row, set[int]()
        while here >= 0 and is_redirect[here] and here not in ends and here not in on_path:
            path.append(here)
            on_path.add(here)
            here = int(target[here])
        if here in on_path or here in cycles:
            cycles.update(path)
            end = (-1, 0, -1)
        else:
            end = ends.get(here, (here, 0, -1))
        for one in reversed(path):
            end = (end[0], end[1] + 1, end[2] if end[2] >= 0 or not fragments[one] else one)
            ends[one] = end
        current[row], hops[row], fragment[row] = ends[row]
    return current, hops, fragment, cycles


class TitleIndex:
    """Look-up of titles in an index made by ``resolve_titles`` (memory-mapped: about 50 bytes a title)."""

    def __init__(self, table: pa.Table) -> None:
        if table.num_rows:
            table = table.combine_chunks()
        if not table.schema.equals(INDEX_SCHEMA):
            raise InputError("a look-up of titles has other columns: damaged, or of another version; build it again")
        column = {name: _single(table.column(name)) for name in INDEX_SCHEMA.names}
        self._hash: Ints = column["title_hash"].to_numpy()
        if np.any(self._hash[1:] < self._hash[:-1]):
            raise InputError("the titles of a look-up are not in order: it is damaged; build it again")
        self._page = column["page"].to_numpy()
        if len(self._page) and not 0 <= self._page.min() <= self._page.max() < len(self._page):
            raise InputError("a look-up of titles names pages that it does not hold: it is damaged; build it again")
        self._page_id = column["page_id"].to_numpy()
        self._part = column["part"].to_numpy()
        self._by_id: tuple[Ints, Ints] | None = None
        titles = column["title"]
        _, offsets, data = titles.buffers()
        self._offsets = np.frombuffer(offsets, np.int64)[titles.offset :] if offsets else np.zeros(1, np.int64)
        self._data = memoryview(data) if data else memoryview(b"")

    def __len__(self) -> int:
        return len(self._hash)

    def find(self, titles: Iterable[str]) -> dict[str, "Located"]:
        """Those of the titles (in normal form) that lead to a page."""
        wanted = {title: title.encode("utf-8", "surrogatepass") for title in titles}
        if not wanted or not len(self):
            return {}
        hashes = np.fromiter((_hash(title) for title in wanted.values()), np.int64, len(wanted))
        rows = np.minimum(np.searchsorted(self._hash, hashes), len(self) - 1)
        hits = np.flatnonzero(self._hash[rows] == hashes)
        if not len(hits):
            return {}
        names = list(wanted)
        found: dict[str, Located] = {}
        rows = rows[hits]
        pages, ids, parts = self._page[rows].tolist(), self._page_id[rows].tolist(), self._part[rows].tolist()
        for hit, row, page, page_id, part in zip(hits.tolist(), rows.tolist(), pages, ids, parts, strict=True):
            title = names[hit]
            if self._title(row) == wanted[title]:
                name = title if page == row else self._title(page).decode("utf-8", "surrogatepass")
                found[title] = Located(str(page_id), name, part)
        return found

    def with_id(self, page_id: str) -> "Located | None":
        """The page of that id. The first call orders the pages by their ids (16 bytes a page)."""
        if self._by_id is None:
            own = np.flatnonzero(self._page == np.arange(len(self)))
            order = own[np.argsort(self._page_id[own], kind="stable")]
            self._by_id = order, self._page_id[order]
        order, ids = self._by_id
        wanted = int(page_id) if page_id.isascii() and page_id.isdigit() and len(page_id) < 19 else -1
        place = int(np.searchsorted(ids, wanted))
        if place == len(ids) or ids[place] != wanted:
            return None
        row = int(order[place])
        name = self._title(row).decode("utf-8", "surrogatepass")
        return Located(str(wanted), name, int(self._part[row]))

    def _title(self, row: int) -> bytes:
        return bytes(self._data[self._offsets[row] : self._offsets[row + 1]])


@dataclass(frozen=True, slots=True)
class Located:
    """A page of the knowledge source and the part whose shards hold it."""

    wikipedia_id: str
    wikipedia_title: str
    part: int


def _single(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
