"""Redirects: chains, cycles, dead ends, duplicates; the index of titles."""

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kiltetl.schemas.arrow import table_of
from kiltetl.schemas.reasons import DUPLICATE_PAGE, REDIRECT_CYCLE, REDIRECT_TARGET_MISSING, REDIRECT_TO_OTHER_NAMESPACE
from kiltetl.schemas.records import Reject, ScannedTitle, TitleRow
from kiltetl.transforms.wiki import redirects
from kiltetl.transforms.wiki.redirects import INDEX_SCHEMA, Located, Resolution, TitleIndex, resolve_titles, title_hash
from kiltetl.transforms.wiki.sites import ENGLISH

Entry = tuple[int, str, str | None, str | None, int]


def entry(page_id: int, title: str, target: str | None = None, fragment: str | None = None, revision: int = 0) -> Entry:
    return page_id, title, target, fragment, revision


def scanned(entries: Sequence[Entry]) -> pa.Table:
    rows = [
        ScannedTitle(
            page_id=page_id,
            revision_id=revision or page_id + 1000,
            ordinal=ordinal,
            title=title,
            title_hash=title_hash(title),
            target=target,
            target_hash=0 if target is None else title_hash(target),
            fragment=fragment,
        )
        for ordinal, (page_id, title, target, fragment, revision) in enumerate(entries)
    ]
    return table_of(ScannedTitle, rows)


def resolve(*parts: Sequence[Entry]) -> Resolution:
    return resolve_titles([scanned(part) for part in parts], ENGLISH)


def rows(resolution: Resolution, parts: int = 1) -> dict[str, tuple[str, str, str | None, bool, int]]:
    """Title to id, title of the page, fragment, is_redirect, hops."""
    found = [row for part in range(parts) for row in resolution.title_rows(part)]
    assert len({row.title for row in found}) == len(found)
    return {r.title: (r.wikipedia_id, r.wikipedia_title, r.fragment, r.is_redirect, r.hops) for r in found}


def rejected(resolution: Resolution, parts: int = 1) -> dict[str, str]:
    return {reject.source_id: reject.reason for part in range(parts) for reject in resolution.rejects(part)}


def test_articles_and_redirects() -> None:
    """Cases C6, D2: the knowledge source holds Foo, the table of titles A as well."""
    resolution = resolve(
        [entry(1, "A", "Foo"), entry(2, "Foo"), entry(3, "Old name", "New", "History"), entry(4, "New")]
    )
    assert rows(resolution) == {
        "A": ("2", "Foo", None, True, 1),
        "Foo": ("2", "Foo", None, False, 0),
        "Old name": ("4", "New", "History", True, 1),
        "New": ("4", "New", None, False, 0),
    }
    assert [row.title for row in resolution.title_rows(0)] == ["A", "Foo", "Old name", "New"]
    assert next(resolution.title_rows(0)) == TitleRow("A", "2", "Foo", None, True, 1)
    assert resolution.counts["pages"] == 2
    assert resolution.counts["redirects"] == 2
    assert not rejected(resolution)
    assert not resolution.duplicates


@pytest.mark.parametrize("length", [1, 2, 3, 63, 64, 65, 66, 200])
def test_chains_are_followed_to_their_end(length: int) -> None:
    entries = [entry(i, f"R{i}", f"R{i + 1}") for i in range(1, length)]
    entries += [entry(length, f"R{length}", "End"), entry(900, "End")]
    random.Random(length).shuffle(entries)
    found = rows(resolve(entries))
    for i in range(1, length + 1):
        assert found[f"R{i}"] == ("900", "End", None, True, length - i + 1)


def test_the_last_fragment_on_the_way_is_kept() -> None:
    """Case C3."""
    found = rows(
        resolve(
            [
                entry(1, "A", "B", "of A"),
                entry(2, "B", "C"),
                entry(3, "C", "D", "of C"),
                entry(4, "D", "E"),
                entry(5, "E"),
                entry(6, "F", "D"),
            ]
        )
    )
    assert {title: row[2] for title, row in found.items()} == {
        "A": "of C",
        "B": "of C",
        "C": "of C",
        "D": None,
        "E": None,
        "F": None,
    }


def test_the_last_fragment_of_a_very_long_chain() -> None:
    entries = [
        entry(i, f"R{i}", f"R{i + 1}", "early" if i == 3 else "late" if i == 90 else None) for i in range(1, 100)
    ]
    found = rows(resolve([*entries, entry(100, "R100")]))
    assert [found[f"R{i}"][2] for i in (1, 3, 4, 90, 91)] == ["late", "late", "late", "late", None]
    assert found["R1"][4] == 99


CYCLES = [
    [entry(1, "A", "A")],
    [entry(1, "A", "A", "Section")],
    [entry(1, "A", "B"), entry(2, "B", "A")],
    [entry(1, "A", "B"), entry(2, "B", "C"), entry(3, "C", "A")],
    [entry(1, "A", "B"), entry(2, "B", "C"), entry(3, "C", "B")],
    [entry(1, "A", "B"), entry(2, "B", "B")],
    [entry(i, f"R{i}", f"R{i + 1}") for i in range(1, 100)] + [entry(100, "R100", "R1")],
    [entry(i, f"R{i}", f"R{i + 1}") for i in range(1, 100)] + [entry(100, "R100", "R99")],
]


@pytest.mark.parametrize("entries", CYCLES)
def test_cycles_lead_nowhere(entries: list[Entry]) -> None:
    resolution = resolve([*entries, entry(999, "Foo"), entry(998, "Good", "Foo")])
    assert rejected(resolution) == {title: REDIRECT_CYCLE for _, title, *_ in entries}
    assert set(rows(resolution)) == {"Foo", "Good"}
    assert resolution.counts[REDIRECT_CYCLE] == len(entries)


def test_dead_ends() -> None:
    resolution = resolve(
        [entry(1, "A", "Gone"), entry(2, "B", "A"), entry(3, "C", ""), entry(4, "Foo"), entry(5, "D", "foo")]
    )
    assert rejected(resolution) == dict.fromkeys("ABCD", REDIRECT_TARGET_MISSING)
    assert next(resolution.rejects(0)) == Reject("titles", "A", REDIRECT_TARGET_MISSING, "redirects to 'Gone'")
    assert resolution.counts[REDIRECT_TARGET_MISSING] == 4


def test_other_namespaces_and_wikis() -> None:
    """Case C8: none may become Foo."""
    resolution = resolve(
        [
            entry(1, "A", "Category:Foo"),
            entry(2, "B", "Fr:Foo"),
            entry(3, "C", "Special:Random"),
            entry(4, "D", "A"),
            entry(5, "Foo"),
            entry(6, "E", "Foo: a tale"),
        ]
    )
    assert rejected(resolution) == {
        "A": REDIRECT_TO_OTHER_NAMESPACE,
        "B": REDIRECT_TARGET_MISSING,
        "C": REDIRECT_TO_OTHER_NAMESPACE,
        "D": REDIRECT_TO_OTHER_NAMESPACE,
        "E": REDIRECT_TARGET_MISSING,
    }
    assert set(rows(resolution)) == {"Foo"}


# --------------------------------------------------------------------------------------------
# duplicates


def kept(resolution: Resolution, parts: Sequence[Sequence[Entry]]) -> list[tuple[str, int]]:
    """(title, revision) of what is not replaced."""
    return [
        (title, revision)
        for number, part in enumerate(parts)
        for ordinal, (_, title, _, _, revision) in enumerate(part)
        if ordinal not in resolution.duplicates.get(number, [])
    ]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        # case A11: the highest revision of one page id
        ([[entry(12, "P", revision=100)], [entry(12, "P", revision=101)]], [("P", 101)]),
        ([[entry(12, "P", revision=101)], [entry(12, "P", revision=100)]], [("P", 101)]),
        # moved between two dumps: one id, two titles
        ([[entry(12, "Old", revision=100), entry(12, "New", revision=101)]], [("New", 101)]),
        # one title, two ids
        ([[entry(12, "P", revision=105), entry(13, "P", revision=101)]], [("P", 105)]),
        # of equal revisions the last
        ([[entry(12, "P", revision=7), entry(12, "Q", revision=7)], [entry(12, "R", revision=7)]], [("R", 7)]),
        # an article that became a redirect
        (
            [[entry(12, "P", revision=7), entry(12, "P", "Q", revision=8), entry(13, "Q", revision=9)]],
            [("P", 8), ("Q", 9)],
        ),
        # what loses by its id does not displace another by its title
        (
            [[entry(1, "A", revision=1), entry(2, "A", revision=2), entry(2, "B", revision=3)]],
            [("A", 1), ("B", 3)],
        ),
        ([[entry(1, "A", revision=1), entry(2, "B", revision=1)]], [("A", 1), ("B", 1)]),
    ],
)
def test_duplicates(parts: list[list[Entry]], expected: list[tuple[str, int]]) -> None:
    resolution = resolve(*parts)
    assert kept(resolution, parts) == expected
    total = sum(len(part) for part in parts)
    assert resolution.counts[DUPLICATE_PAGE] == total - len(expected)
    found = rows(resolution, len(parts))
    assert len({row[0] for row in found.values() if not row[3]}) == sum(not row[3] for row in found.values())


def test_pages_that_share_two_ids() -> None:
    """As in a made-up dump of 8 page elements with 2 ids."""
    entries = [entry(1 + i % 2, f"T{i}", revision=5) for i in range(8)]
    resolution = resolve(entries)
    assert kept(resolution, [entries]) == [("T6", 5), ("T7", 5)]
    assert resolution.counts["pages"] == 2
    assert resolution.counts[DUPLICATE_PAGE] == 6


def test_a_redirect_follows_the_page_that_is_kept() -> None:
    """Case I2: a deterministic choice."""
    entries = [entry(1, "A", "One", revision=1), entry(1, "A", "Two", revision=2), entry(3, "One"), entry(4, "Two")]
    assert rows(resolve(entries))["A"] == ("4", "Two", None, True, 1)
    assert rows(resolve([entries[1], entries[0], *entries[2:]]))["A"] == ("4", "Two", None, True, 1)


# --------------------------------------------------------------------------------------------
# splitting


ENTRIES = st.lists(
    st.builds(
        entry,
        st.integers(1, 8),
        st.sampled_from("ABCDEFGH"),
        st.none() | st.sampled_from(["A", "B", "C", "D", "E", "Gone", "Category:X"]),
        st.none() | st.sampled_from(["f", "g"]),
        st.integers(1, 4),
    ),
    max_size=14,
)


@given(ENTRIES, st.lists(st.integers(0, 14), max_size=4))
@settings(max_examples=200, deadline=None)
def test_the_cut_into_parts_changes_nothing(entries: list[Entry], cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(entries)) for cut in cuts), len(entries)]
    parts = [entries[start:end] for start, end in pairwise(bounds)]
    one, many = resolve(entries), resolve(*parts)
    assert [row for part in range(len(parts)) for row in many.title_rows(part)] == list(one.title_rows(0))
    assert [row for part in range(len(parts)) for row in many.rejects(part)] == list(one.rejects(0))
    assert many.counts == one.counts
    assert many.index.drop(["part"]).equals(one.index.drop(["part"]))
    assert sorted(bounds[part] + ordinal for part, found in many.duplicates.items() for ordinal in found) == sorted(
        one.duplicates.get(0, [])
    )


@given(ENTRIES)
@settings(max_examples=200, deadline=None)
def test_everything_is_a_title_a_reject_or_a_duplicate(entries: list[Entry]) -> None:
    resolution = resolve(entries)
    found, lost = rows(resolution), rejected(resolution)
    assert len(found) + len(lost) + resolution.counts[DUPLICATE_PAGE] == len(entries)
    assert not set(found) & set(lost)
    assert resolution.counts["pages"] + resolution.counts["redirects"] == len(found) + len(lost)
    for page_id, title, _, is_redirect, hops in found.values():
        assert found[title][0] == page_id
        assert not found[title][3]
        assert is_redirect == (hops > 0)
    index = TitleIndex(resolution.index)
    assert {
        title: (located.wikipedia_id, located.wikipedia_title) for title, located in index.find("ABCDEFGHX").items()
    } == {title: row[:2] for title, row in found.items()}


# --------------------------------------------------------------------------------------------
# the index


def test_index() -> None:
    resolution = resolve([entry(1, "A", "Zoë")], [entry(7, "Zoë"), entry(8, "B", "Gone")])
    assert resolution.index.schema.equals(INDEX_SCHEMA)
    index = TitleIndex(resolution.index)
    assert len(index) == 2
    assert index.find(["A", "Zoë", "B", "zoë", "", "A"]) == {"A": Located("7", "Zoë", 1), "Zoë": Located("7", "Zoë", 1)}
    assert index.find([]) == {}
    assert index.find(iter(["A"])) == {"A": Located("7", "Zoë", 1)}
    assert index.with_id("7") == Located("7", "Zoë", 1)
    assert [index.with_id(page_id) for page_id in ("1", "8", "", "x", "-7", "²", "9" * 30)] == [None] * 7


def test_index_of_many_titles() -> None:
    entries = [entry(number, f"T{number}") for number in range(1, 2001)]
    index = TitleIndex(resolve(entries).index)
    found = index.find(f"T{number}" for number in range(4000))
    assert found == {f"T{number}": Located(str(number), f"T{number}", 0) for number in range(1, 2001)}
    assert {f"T{number}": located for number in range(4000) if (located := index.with_id(str(number)))} == found


def test_a_page_is_found_by_its_id_whatever_leads_to_it() -> None:
    """Rows are in the order of hashes: some redirects stand before their page, some behind it."""
    index = TitleIndex(resolve([entry(7, "Page"), *(entry(100 + i, f"R{i}", "Page") for i in range(20))]).index)
    assert len(index) == 21
    assert index.with_id("7") == Located("7", "Page", 0)
    assert index.with_id("100") is None


def test_titles_of_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redirects, "_hash", len)
    index = TitleIndex(resolve([entry(1, "Foo")]).index)
    assert index.find(["Foo", "Bar", "Ba"]) == {"Foo": Located("1", "Foo", 0)}
    resolution = resolve([entry(1, "Foo"), entry(2, "A", "Bar"), entry(3, "Ab", "Foo")])
    assert rejected(resolution) == {"A": REDIRECT_TARGET_MISSING}
    assert rows(resolution)["Ab"][1] == "Foo"


def test_index_from_a_file(tmp_path: Path) -> None:
    table = resolve([entry(1, "A"), entry(2, "B", "A")]).index
    for stored in (table, table.slice(0, 0), pa.concat_tables([table.slice(0, 1), table.slice(1)])):
        path = str(tmp_path / f"{stored.num_rows}-{stored.column(0).num_chunks}.arrow")
        with pa.ipc.new_file(path, stored.schema) as writer:
            writer.write_table(stored)
        index = TitleIndex(pa.ipc.open_file(pa.memory_map(path)).read_all())
        assert len(index) == stored.num_rows
        assert index.find(["B", "C"]) == ({"B": Located("1", "A", 0)} if stored.num_rows else {})


def test_nothing_at_all() -> None:
    resolution = resolve([], [])
    assert rows(resolution, 2) == {}
    assert rejected(resolution, 2) == {}
    assert resolution.index.num_rows == 0
    assert resolution.counts["pages"] == 0
    assert TitleIndex(resolution.index).find(["A"]) == {}


def test_redirects_only() -> None:
    """Case I5: a dump with one redirect and no article."""
    resolution = resolve([entry(1, "A", "B")])
    assert rows(resolution) == {}
    assert rejected(resolution) == {"A": REDIRECT_TARGET_MISSING}
    assert TitleIndex(resolution.index).find(["A"]) == {}


def test_title_hash_is_stable() -> None:
    assert title_hash("Foo") == title_hash("Foo")
    assert title_hash("Foo") == -7590404078359329448
    assert title_hash("") != title_hash(" ")
    assert -(1 << 63) <= title_hash("\ud800") < 1 << 63


@pytest.mark.parametrize("length", [100, 30_000])
def test_rings_and_what_leads_into_them_take_linear_time(length: int) -> None:
    ring = [entry(i, f"R{i}", target=f"R{(i + 1) % length}") for i in range(length)]
    tail = [entry(10**6 + i, f"T{i}", target=f"T{i + 1}" if i < 199 else "R0") for i in range(200)]
    chain = [entry(2 * 10**6 + i, f"C{i}", target=f"C{i + 1}" if i < 199 else "Page") for i in range(200)]
    found = resolve([*ring, *tail, *chain, entry(3 * 10**6, "Page")])
    assert found.counts[REDIRECT_CYCLE] == length + 200
    hops = {row.title: row.hops for row in found.title_rows(0)}
    assert (hops["C0"], hops["C199"], hops["Page"]) == (200, 1, 0)
