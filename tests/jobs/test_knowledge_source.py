"""The knowledge source end to end: through main(), read back with pyarrow."""

import bz2
import gzip
import hashlib
import json
import lzma
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kiltetl.pipelines import knowledge_source
from kiltetl.pipelines.knowledge_source import dump_date, main
from kiltetl.schemas.arrow import schema_of
from kiltetl.schemas.manifests import INDEX, TABLES
from kiltetl.schemas.reasons import (
    DUPLICATE_PAGE,
    MALFORMED_PAGE,
    NOT_WIKITEXT,
    OTHER_NAMESPACE,
    PAGE_FAILED,
    REDIRECT,
    REDIRECT_CYCLE,
    REDIRECT_TARGET_MISSING,
    REDIRECT_TO_OTHER_NAMESPACE,
)
from kiltetl.transforms.files.checksums import digests
from kiltetl.transforms.files.locks import locked
from kiltetl.transforms.files.paths import expand
from kiltetl.transforms.files.shards import map_arrow
from kiltetl.transforms.jobs import knowledge_source as stages
from kiltetl.transforms.jobs import staging
from kiltetl.transforms.jobs.dump_parts import plan_parts
from tests.support.checkout import ENVIRONMENT
from tests.support.dying import DiedError, die_after_moving
from tests.support.miniwiki import Page, dump_xml, multistream
from tests.support.sharing import Once, soak
from tests.support.small_wiki import PAGES, write


def noise(seed: int, length: int) -> str:
    """Words that do not compress, the same for the same seed."""
    return random.Random(seed).randbytes(length // 2).hex(" ", 4)


def run(dump: Path | str, output: Path, *options: str) -> dict[str, Any]:
    assert main(["--dump", str(dump), "--output", str(output), "--quiet", *options]) == 0
    manifest: dict[str, Any] = json.loads((output / "manifest.json").read_text())
    return manifest


@pytest.fixture(scope="session")
def fresh(once: Once) -> Path:
    """A dump of the small wiki, ``d.xml.bz2``, and what is built of it at once, ``ks``; to be read alone."""
    return once("small-wiki", lambda folder: run(write(folder / "d.xml.bz2"), folder / "ks"))


def rows(output: Path, table: str) -> list[dict[str, Any]]:
    return [row for path in sorted(output.glob(f"{table}-*.parquet")) for row in pq.read_table(path).to_pylist()]


def contents(output: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(output.iterdir())}


def test_what_looks_like_a_remnant_of_wikitext_is_counted(tmp_path: Path) -> None:
    text = "A<nowiki>[[</nowiki> {{x}}.\n\nB <nowiki>{{</nowiki> ( ) .\n\nC ({{x}}), D.\n\nE , ''f'' ()\n\n. . . G ."
    manifest = run(write(tmp_path / "d.xml.bz2", [Page("A", text)]), tmp_path / "ks")
    found = {name: count for name, count in manifest["counters"].items() if name.startswith("text:")}
    assert found == {"text:markup": 2, "text:empty parentheses": 2, "text:space before punctuation": 3}
    assert [row["text"] for row in rows(tmp_path / "ks", "paragraphs")][3] == "C, D."


def test_tables_of_a_small_wiki(tmp_path: Path) -> None:
    manifest = run(write(tmp_path / "miniwiki-20190801-pages.xml.bz2"), tmp_path / "ks")
    counters = manifest["counters"]
    assert (counters["read"], counters["articles"], counters["titles"]) == (12, 4, 6)
    assert {r: counters[r] for r in (OTHER_NAMESPACE, NOT_WIKITEXT, REDIRECT)} == {
        OTHER_NAMESPACE: 1,
        NOT_WIKITEXT: 1,
        REDIRECT: 6,
    }
    assert [(r["source_id"], r["reason"]) for r in rows(tmp_path / "ks", "rejects")] == [
        ("Loop", REDIRECT_CYCLE),
        ("Pool", REDIRECT_CYCLE),
        ("Gone", REDIRECT_TARGET_MISSING),
        ("Foods", REDIRECT_TO_OTHER_NAMESPACE),
    ]
    assert rows(tmp_path / "ks", "titles")[1:5] == [
        {"title": "Fruit", "wikipedia_id": "2", "wikipedia_title": "Fruit", "fragment": None, "is_redirect": False,
         "hops": 0},
        {"title": "Old name", "wikipedia_id": "4", "wikipedia_title": "Jam", "fragment": "Making", "is_redirect": True,
         "hops": 1},
        {"title": "Jam", "wikipedia_id": "4", "wikipedia_title": "Jam", "fragment": None, "is_redirect": False,
         "hops": 0},
        {"title": "Older name", "wikipedia_id": "4", "wikipedia_title": "Jam", "fragment": "Making",
         "is_redirect": True, "hops": 2},
    ]  # fmt: skip
    pear = [row for row in rows(tmp_path / "ks", "paragraphs") if row["wikipedia_title"] == "Pear"]
    assert [(r["paragraph_id"], r["kind"], r["list_marker"], r["section"], r["text"]) for r in pear] == [
        (0, "title", None, [], "Pear"),
        (1, "paragraph", None, [], "Pear is a fruit and a tree."),
        (2, "section", None, ["Uses"], "Uses"),
        (3, "list_item", "-", ["Uses"], "jam"),
        (4, "list_item", "-", ["Uses"], "see Red link"),
    ]
    links = {a["text"]: (a["href"], a["wikipedia_title"], a["wikipedia_id"]) for r in pear for a in r["anchors"]}
    assert links == {
        "fruit": ("fruit", "Fruit", "2"),
        "tree": ("tree", "Tree", None),
        "jam": ("old name", "Jam", "4"),
        "Red link": ("Red link", "Red link", None),
    }
    pages = {row["wikipedia_title"]: row for row in rows(tmp_path / "ks", "pages")}
    assert pages["Fruit"]["categories"] == ["Food"]
    assert [title for title, row in pages.items() if row["is_disambiguation"]] == ["Mix"]
    assert pages["Pear"]["history"] == {
        "pageid": 1,
        "parentid": None,
        "revid": 1001,
        "pre_dump": True,
        "timestamp": "2019-07-01T12:00:00Z",
        "url": "https://miniwiki.example/w/index.php?title=Pear&oldid=1001",
    }
    assert manifest["dump"] == {"name": "miniwiki-20190801-pages.xml.bz2", "date": "2019-08-01", "files": 1}
    assert {file["name"] for file in manifest["files"]} | {"manifest.json", "titles.arrow"} == set(
        contents(tmp_path / "ks")
    )


def test_every_shard_has_the_schema_of_its_record(tmp_path: Path) -> None:
    run(write(tmp_path / "d.xml.bz2"), tmp_path / "ks")
    for table, cls in TABLES.items():
        found = pq.read_schema(next((tmp_path / "ks").glob(f"{table}-*.parquet")))
        assert found.equals(schema_of(cls), check_metadata=False)
        assert found.field(0).metadata[b"description"]


def test_ids_are_decimal_and_unique(tmp_path: Path) -> None:
    """D8: the id 00012 is that of 12; the page that came last, or has the newer revision, keeps it."""
    xml = dump_xml([Page("Old", "a", 12, revision_id=5), Page("New", "b", 12, revision_id=6), Page("B", "c", 7)])
    assert xml.count(b"<id>12</id>") == 2
    (tmp_path / "d.xml").write_bytes(xml.replace(b"<id>12</id>", b"<id>00012</id>", 1))
    manifest = run(tmp_path / "d.xml", tmp_path / "ks")
    assert manifest["counters"][DUPLICATE_PAGE] == 1
    assert [row["wikipedia_id"] for row in rows(tmp_path / "ks", "pages")] == ["12", "7"]
    assert {row["wikipedia_id"] for row in rows(tmp_path / "ks", "titles")} == {"12", "7"}
    assert [row["wikipedia_id"] for row in rows(tmp_path / "ks", "paragraphs")] == ["12", "12", "7", "7"]


@pytest.fixture(scope="session")
def numbered(once: Once) -> Path:
    """A dump of 300 pages, ``d.xml.bz2``, and what one process builds of it in 4 parts, ``ks``; to be read alone."""

    def make(folder: Path) -> None:
        pages = [Page(f"Page {i}", f"Text {i} of [[Page {i * 7 % 300}]]. " + noise(i, 700)) for i in range(300)]
        build_with(1, write(folder / "d.xml.bz2", pages, per_stream=15), folder / "ks")

    return once("numbered-wiki", make)


def build_with(workers: int, dump: Path, output: Path) -> None:
    settings = knowledge_source.Settings((str(dump),), str(output), workers, part_bytes=1 << 15)
    knowledge_source.execute(settings, knowledge_source.Console(quiet=True))


@pytest.mark.parametrize("workers", [1, 2, *soak(4)])
def test_same_input_same_bytes_whatever_the_number_of_workers(tmp_path: Path, numbered: Path, workers: int) -> None:
    """D5: with 1, 2 and 4 processes, and twice with one."""
    build_with(workers, numbered / "d.xml.bz2", tmp_path / "ks")
    found = contents(tmp_path / "ks")
    assert found == contents(numbered / "ks")
    assert len([name for name in found if name.startswith("paragraphs-")]) == 4
    ids = [row["wikipedia_id"] for row in rows(tmp_path / "ks", "pages")]
    assert ids == [str(i) for i in range(1, 301)]


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [("xml", lambda data: data), ("xml.gz", gzip.compress), ("xml.bz2", bz2.compress), ("xml.xz", lzma.compress)],
)
def test_every_compression_gives_the_same_rows(
    tmp_path: Path, fresh: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    (tmp_path / f"e.{suffix}").write_bytes(pack(dump_xml(PAGES)))
    run(tmp_path / f"e.{suffix}", tmp_path / "other")
    for table in TABLES:
        assert rows(tmp_path / "other", table) == rows(fresh / "ks", table)


def test_many_files_are_one_wiki(tmp_path: Path) -> None:
    """Each file of the content-export layout is a whole document; links and redirects cross files."""
    for number, part in enumerate((PAGES[:2], PAGES[2:5], PAGES[5:])):
        ids = [page._replace(page_id=PAGES.index(page) + 1, revision_id=1001 + PAGES.index(page)) for page in part]
        write(tmp_path / f"wiki-2026-09-01-p{number}p{number}.xml.bz2", ids)
    (tmp_path / "wiki-2026-09-01-multistream-index.txt.bz2").write_bytes(bz2.compress(b"0:1:x\n"))
    manifest = run(tmp_path / "wiki-*.bz2", tmp_path / "ks")
    assert manifest["dump"] == {"name": "wiki-2026-09-01-p0p0.xml.bz2", "date": "2026-09-01", "files": 3}
    run(write(tmp_path / "whole.xml.bz2"), tmp_path / "whole", "--dump-date", "2026-09-01")
    for table in TABLES:
        assert rows(tmp_path / "ks", table) == rows(tmp_path / "whole", table)


def test_highest_revision_wins_then_the_last(tmp_path: Path) -> None:
    pages = [
        Page("A", "old", page_id=12, revision_id=100),
        Page("B", "first", page_id=13, revision_id=50),
        Page("A", "new", page_id=12, revision_id=101),
        Page("B", "last", page_id=14, revision_id=50),
    ]
    manifest = run(write(tmp_path / "d.xml.bz2", pages), tmp_path / "ks")
    texts = [(r["wikipedia_id"], r["text"]) for r in rows(tmp_path / "ks", "paragraphs") if r["kind"] == "paragraph"]
    assert texts == [("12", "new"), ("14", "last")]
    assert manifest["counters"][DUPLICATE_PAGE] == 2


def test_a_page_that_fails_is_a_reject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parse = stages.parse_page

    def fail(title: str, *arguments: Any) -> Any:
        if title == "Fruit":
            raise ValueError("a reference is damaged")
        return parse(title, *arguments)

    monkeypatch.setattr(stages, "parse_page", fail)
    manifest = run(write(tmp_path / "d.xml.bz2"), tmp_path / "ks", "--max-reject-share", "0.2")
    assert manifest["counters"][PAGE_FAILED] == 1
    assert {row["wikipedia_title"] for row in rows(tmp_path / "ks", "pages")} == {"Pear", "Jam", "Mix"}
    failed = [row for row in rows(tmp_path / "ks", "rejects") if row["reason"] == PAGE_FAILED]
    assert [(row["source_id"], row["detail"]) for row in failed] == [("Fruit", "ValueError: a reference is damaged")]


def test_too_many_failures_fail_the_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = write(tmp_path / "d.xml.bz2", [*PAGES, Page(None, "no title")])
    assert main(["--dump", str(dump), "--output", str(tmp_path / "ks"), "--quiet"]) == 1
    message = capsys.readouterr().err
    assert message.startswith(
        "kiltetl: failed: 1 of 13 pages failed, more than --max-reject-share 0.001 allows: "
        "malformed-page 1, such as 'page 12 of "
    )
    assert message.count("\n") == 1
    assert not list((tmp_path / "ks").glob("*.parquet"))
    manifest = run(dump, tmp_path / "ks", "--max-reject-share", "0.1")
    assert manifest["counters"][MALFORMED_PAGE] == 1


def test_a_page_of_which_no_title_is_left_is_malformed(tmp_path: Path) -> None:
    """A page named "" would be where redirects that name nothing lead."""
    named = [Page(":", "x"), Page(" : ", "x"), Page("\u200e", "x"), Page("::", "#REDIRECT [[Pear]]", redirect="Pear")]
    lost = Page("Nowhere", "#REDIRECT [[#Top]]", redirect=" ")
    dump = write(tmp_path / "d.xml.bz2", [Page("Pear", "[[:|a pear]] and [[ ]]"), *named, lost])
    manifest = run(dump, tmp_path / "ks", "--max-reject-share", "1")
    assert manifest["counters"][MALFORMED_PAGE] == 4
    assert [row["title"] for row in rows(tmp_path / "ks", "titles")] == ["Pear"]
    assert [(row["source_id"], row["detail"]) for row in rows(tmp_path / "ks", "rejects")] == [
        ("Nowhere", "redirects to ''"),
        (":", "nothing is left of its title"),
        (":", "nothing is left of its title"),
        ("\u200e", "nothing is left of its title"),
        ("::", "nothing is left of its title"),
    ]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("cut", ["stream", "between", "root"])
def test_a_file_that_is_cut_off_publishes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cut: str, workers: int
) -> None:
    dump, _ = multistream(dump_xml(PAGES), 3)
    ends = [i for i in range(len(dump)) if dump[i : i + 10] == b"BZh91AY&SY"]
    length = {"stream": ends[3] + 40, "between": ends[3], "root": ends[-1]}[cut]
    (tmp_path / "cut.xml.bz2").write_bytes(dump[:length])
    arguments = ["--dump", str(tmp_path / "cut.xml.bz2"), "--output", str(tmp_path / "ks"), "--quiet"]
    assert main([*arguments, "--workers", str(workers)]) == 1
    message = capsys.readouterr().err
    assert "cut.xml.bz2" in message
    assert "cut off" in message
    assert message.count("\n") == 1
    assert not [path for path in (tmp_path / "ks").glob("*") if path.is_file()]


def test_checksum_beside_the_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = write(tmp_path / "d.xml.bz2")
    sha1 = digests(str(dump), ["sha1"])["sha1"]
    (tmp_path / "wiki-20190801-sha1sums.txt").write_text(f"{sha1}  d.xml.bz2\n")
    manifest = run(dump, tmp_path / "ks")
    assert manifest["inputs"] == [
        {"name": "d.xml.bz2", "size": dump.stat().st_size, "sha1": sha1,
         "verified_against": "wiki-20190801-sha1sums.txt"}
    ]  # fmt: skip
    (tmp_path / "wiki-20190801-sha1sums.txt").write_text(f"{'0' * 40}  d.xml.bz2\n")
    assert main(["--dump", str(dump), "--output", str(tmp_path / "other"), "--quiet"]) == 1
    assert "fetch the file again" in capsys.readouterr().err
    assert not (tmp_path / "other" / "manifest.json").exists()


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [Page(f"Page {i}", noise(i, 2000)) for i in range(200)]
    dump = write(tmp_path / "d.xml.bz2", pages, per_stream=5)
    settings = knowledge_source.Settings((str(dump),), str(tmp_path / "ks"), part_bytes=1 << 15)
    job = knowledge_source.plan(settings)
    for part in job.parts:
        stages.scan_part(job, part)
    stages.resolve(job)
    assert len(job.parts) > 2
    monkeypatch.setattr(stages, "resolve_titles", None)  # would fail, were it called again
    knowledge_source.execute(settings, knowledge_source.Console(quiet=True))
    monkeypatch.undo()
    assert not Path(job.staging.folder).exists()
    fresh = knowledge_source.Settings((str(dump),), str(tmp_path / "fresh"), part_bytes=1 << 15)
    knowledge_source.execute(fresh, knowledge_source.Console(quiet=True))
    assert contents(tmp_path / "ks") == contents(tmp_path / "fresh")


@pytest.mark.parametrize(
    ("size", "starts"),
    [
        (1000, [0]),
        (1500, [0]),  # half a part more is no part of its own
        (1501, [0, 1000]),
        (2500, [0, 1000]),
        (2501, [0, 1000, 2000]),
        (3000, [0, 1000, 2000]),
    ],
)
def test_parts_are_cut_without_a_tiny_last_one(tmp_path: Path, size: int, starts: list[int]) -> None:
    bare = len(dump_xml([Page("A", "")], namespaces=None))
    dump = tmp_path / "d.xml"
    dump.write_bytes(dump_xml([Page("A", "x" * (size - bare))], namespaces=None))
    assert dump.stat().st_size == size
    parts = plan_parts(expand([str(dump)]), 1000)
    assert [(part.number, part.start, part.end) for part in parts] == [
        (number, start, end) for number, (start, end) in enumerate(zip(starts, [*starts[1:], size], strict=True))
    ]
    assert all(part.splits and part.limit is None for part in parts)
    (head,) = plan_parts(expand([str(dump)]), 1000, limit_pages=1)
    assert (head.start, head.end, head.splits, head.limit) == (0, size, False, 1)


def test_parts_of_several_files_are_numbered_through(tmp_path: Path) -> None:
    for name in ("a.xml", "b.xml"):
        (tmp_path / name).write_bytes(dump_xml([Page("A", "x" * 2000)], namespaces=None))
    (tmp_path / "c.xml.gz").write_bytes(gzip.compress(dump_xml([Page("A", "x" * 2000)], namespaces=None)))
    parts = plan_parts(expand([str(tmp_path / "*")]), 1300)
    assert [(part.number, Path(part.path).name, part.start, part.splits) for part in parts] == [
        (0, "a.xml", 0, True), (1, "a.xml", 1300, True), (2, "b.xml", 0, True), (3, "b.xml", 1300, True),
        (4, "c.xml.gz", 0, False),
    ]  # fmt: skip


def test_a_killed_run_goes_on_and_gives_the_same_bytes(tmp_path: Path) -> None:
    pages = [Page(f"Page {i}", noise(i, 10_000)) for i in range(150)]
    dump = write(tmp_path / "d.xml.bz2", pages, per_stream=20)
    code = (
        "from kiltetl.pipelines import knowledge_source as k\n"
        f"k.execute(k.Settings(({str(dump)!r},), {str(tmp_path / 'ks')!r}, part_bytes=1 << 18), k.Console(quiet=True))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=ENVIRONMENT)
    left = tmp_path / "ks" / ".kiltetl-staging-knowledge-source"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(left.glob("parse-*.json"))) < 2:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    parts = len(plan_parts(expand([str(dump)]), 1 << 18))
    finished = sorted(left.glob("parse-*.json"))
    assert 2 <= len(finished) < parts
    for name in ("ks", "fresh"):
        settings = knowledge_source.Settings((str(dump),), str(tmp_path / name), part_bytes=1 << 18)
        knowledge_source.execute(settings, knowledge_source.Console(quiet=True))
    assert contents(tmp_path / "ks") == contents(tmp_path / "fresh")


@pytest.mark.parametrize("moves", [0, 1, 3, 4])
def test_a_run_that_dies_while_it_publishes_goes_on(
    tmp_path: Path, fresh: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    dump = fresh / "d.xml.bz2"
    done = die_after_moving(monkeypatch, moves)
    assert main(["--dump", str(dump), "--output", str(tmp_path / "ks"), "--quiet"]) == 1
    assert len(done) == moves
    monkeypatch.undo()
    run(dump, tmp_path / "ks")
    assert contents(tmp_path / "ks") == contents(fresh / "ks")


@pytest.mark.parametrize("damage", ["", *soak("{}", "[]", '{"run": 1, "summary": [], "shards": []}')])
@pytest.mark.parametrize("marker", ["scan-00000", "resolve-00000", "parse-00000", "input-00000"])
def test_a_damaged_marker_means_not_done(tmp_path: Path, fresh: Path, marker: str, damage: str) -> None:
    dump = fresh / "d.xml.bz2"
    settings = knowledge_source.Settings((str(dump),), str(tmp_path / "ks"))
    job = knowledge_source.plan(settings)
    stages.hash_input(job, 0)
    stages.scan_part(job, job.parts[0])
    resolved = stages.resolve(job)
    index = stages.TitleIndex(map_arrow(job.staging.path(INDEX)))
    stages.parse_part(job, job.parts[0], index, resolved["duplicates"])
    Path(job.staging.folder, f"{marker}.json").write_text(damage)
    run(dump, tmp_path / "ks")
    assert contents(tmp_path / "ks") == contents(fresh / "ks")


@pytest.mark.parametrize("left", [0.5, *soak(0, None)])
@pytest.mark.parametrize(
    "shard",
    [
        "scan-00000.parquet",
        "articles-00000.parquet",
        "page-rejects-00000.parquet",
        "titles-00000.parquet",
        "title-rejects-00000.parquet",
        "paragraphs-00000.parquet",
        "titles.arrow",
    ],
)
def test_a_damaged_shard_means_not_done(tmp_path: Path, fresh: Path, shard: str, left: float | None) -> None:
    """Whether it is gone, or a share of it is left."""
    dump = fresh / "d.xml.bz2"
    job = knowledge_source.plan(knowledge_source.Settings((str(dump),), str(tmp_path / "ks")))
    stages.scan_part(job, job.parts[0])
    resolved = stages.resolve(job)
    if shard.startswith("paragraphs"):
        index = stages.TitleIndex(map_arrow(job.staging.path(INDEX)))
        stages.parse_part(job, job.parts[0], index, resolved["duplicates"])
    damaged = Path(job.staging.folder, shard)
    if left is None:
        damaged.unlink()
    else:
        damaged.write_bytes(damaged.read_bytes()[: int(damaged.stat().st_size * left)])
    run(dump, tmp_path / "ks")
    assert contents(tmp_path / "ks") == contents(fresh / "ks")


def test_work_on_a_file_that_was_changed_since_is_not_used(tmp_path: Path) -> None:
    pages = [Page(f"Page {i}", noise(i, 2000)) for i in range(200)]
    (tmp_path / "d.xml").write_bytes(dump_xml(pages))
    settings = knowledge_source.Settings((str(tmp_path / "d.xml"),), str(tmp_path / "ks"))
    job = knowledge_source.plan(settings)
    stages.scan_part(job, job.parts[0])
    stages.resolve(job)
    pages[100] = Page("Gape 100", noise(100, 2000))  # as long as before, in the middle
    (tmp_path / "d.xml").write_bytes(dump_xml(pages))
    run(tmp_path / "d.xml", tmp_path / "ks")
    run(tmp_path / "d.xml", tmp_path / "fresh")
    assert contents(tmp_path / "ks") == contents(tmp_path / "fresh")
    assert "Gape 100" in {row["title"] for row in rows(tmp_path / "ks", "titles")}


def test_what_stands_there_goes_when_its_successor_is_whole(tmp_path: Path, fresh: Path) -> None:
    shutil.copytree(fresh / "ks", tmp_path / "ks")
    (tmp_path / "ks" / "staging").mkdir()
    (tmp_path / "ks" / "staging" / "mine.txt").write_text("x")
    before = {path: path.read_bytes() for path in (tmp_path / "ks").rglob("*") if path.is_file()}
    dump = (fresh / "d.xml.bz2").read_bytes()
    (tmp_path / "cut.xml.bz2").write_bytes(dump[: len(dump) - 60])
    assert main(["--dump", str(tmp_path / "cut.xml.bz2"), "--output", str(tmp_path / "ks"), "--overwrite"]) == 1
    after = {path: path.read_bytes() for path in (tmp_path / "ks").rglob("*") if path.is_file()}
    assert before.items() <= after.items()
    run(write(tmp_path / "e.xml.bz2", PAGES[:4]), tmp_path / "ks", "--overwrite")
    assert {row["wikipedia_title"] for row in rows(tmp_path / "ks", "pages")} == {"Pear", "Fruit", "Jam"}
    assert (tmp_path / "ks" / "staging" / "mine.txt").read_text() == "x"


def test_two_runs_into_one_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = write(tmp_path / "d.xml.bz2")
    with locked(str(tmp_path / "ks"), "knowledge-source"):
        assert main(["--dump", str(dump), "--output", str(tmp_path / "ks"), "--quiet"]) == 2
    assert "another run is writing knowledge-source there" in capsys.readouterr().err
    run(dump, tmp_path / "ks")


def test_two_wikis_are_not_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("aawiki", "bbwiki"):
        (tmp_path / f"{name}.xml").write_bytes(dump_xml([Page("A", "x")], dbname=name))
    assert main(["--dump", str(tmp_path / "*.xml"), "--output", str(tmp_path / "ks")]) == 2
    assert "of the wiki bbwiki, but" in capsys.readouterr().err


def test_what_is_built_is_not_built_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = write(tmp_path / "d.xml.bz2")
    run(dump, tmp_path / "ks")
    before = contents(tmp_path / "ks")
    assert main(["--dump", str(dump), "--output", str(tmp_path / "ks")]) == 0
    assert "already built" in capsys.readouterr().out
    write(dump, PAGES[:4])
    assert main(["--dump", str(dump), "--output", str(tmp_path / "ks")]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert contents(tmp_path / "ks") == before
    run(dump, tmp_path / "ks", "--overwrite")
    assert {row["wikipedia_title"] for row in rows(tmp_path / "ks", "pages")} == {"Pear", "Fruit", "Jam"}


@pytest.mark.parametrize("name", ["paragraphs", "pages", "titles-", "rejects", "titles.arrow"])
@pytest.mark.parametrize("keep", [0.6, *soak(None, 0.0)])
def test_what_is_built_is_built_again_where_a_table_is_gone(
    tmp_path: Path, fresh: Path, name: str, keep: float | None
) -> None:
    dump = fresh / "d.xml.bz2"
    shutil.copytree(fresh / "ks", tmp_path / "ks")
    before = contents(tmp_path / "ks")
    (path,) = (tmp_path / "ks").glob(f"{name}*")
    if keep is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: int(len(path.read_bytes()) * keep)])
    run(dump, tmp_path / "ks")
    assert contents(tmp_path / "ks") == before


def test_a_run_that_dies_after_its_manifest_leaves_nothing_for_long(
    tmp_path: Path, fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(folder: str) -> None:
        raise DiedError("the machine died")

    dump = fresh / "d.xml.bz2"
    monkeypatch.setattr(staging, "delete_folder", die)
    assert main(["--dump", str(dump), "--output", str(tmp_path / "ks"), "--quiet"]) == 1
    monkeypatch.undo()
    left = tmp_path / "ks" / ".kiltetl-staging-knowledge-source"
    assert (tmp_path / "ks" / "manifest.json").exists()
    assert left.exists()
    run(dump, tmp_path / "ks", "--dry-run")
    assert left.exists()
    with locked(str(tmp_path / "ks"), "knowledge-source"):  # it may be that run's
        assert main(["--dump", str(dump), "--output", str(tmp_path / "ks"), "--quiet"]) == 2
    assert left.exists()
    run(dump, tmp_path / "ks")
    assert contents(tmp_path / "ks") == contents(fresh / "ks")


def test_a_wiki_without_articles_has_empty_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = write(tmp_path / "d.xml.bz2", [Page("A", "#REDIRECT [[B]]", redirect="B")])
    run(dump, tmp_path / "ks")
    assert "no article was found" in capsys.readouterr().err
    for table, cls in TABLES.items():
        found = pq.read_table(next((tmp_path / "ks").glob(f"{table}-*.parquet")))
        assert found.schema.equals(schema_of(cls), check_metadata=False)
        assert found.num_rows == (1 if table == "rejects" else 0)


def test_a_page_of_six_megabytes(tmp_path: Path) -> None:
    text = "\n\n".join(f"Paragraph {i} of a long page, with a [[link {i}]]." for i in range(120_000))
    run(write(tmp_path / "d.xml.bz2", [Page("Long", text), Page("Short", "x")]), tmp_path / "ks")
    assert len(text) > 6_000_000 - 500_000
    counts = {row["wikipedia_title"]: row["paragraph_count"] for row in rows(tmp_path / "ks", "pages")}
    assert counts == {"Long": 120_001, "Short": 2}


def test_a_table_of_templates_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = write(tmp_path / "d.xml.bz2", [Page("A", "It weighs {{stone weight|9|kg=57}}.")])
    (tmp_path / "t.json").write_text(json.dumps({"stone weight": "{1} st< ({kg} kg)>"}))
    manifest = run(dump, tmp_path / "ks", "--templates", str(tmp_path / "t.json"))
    assert [r["text"] for r in rows(tmp_path / "ks", "paragraphs")] == ["A", "It weighs 9 st (57 kg)."]
    assert manifest["parameters"]["templates"] == {"stone weight": "{1} st< ({kg} kg)>"}
    unknown = run(dump, tmp_path / "without")
    assert unknown["unknown_templates"] == {"stone weight": 1}
    for wrong, said in (('["a"]', "a JSON object of names and forms"), ('{"x": "<{1}"}', "template 'x'")):
        (tmp_path / "t.json").write_text(wrong)
        arguments = ["--dump", str(dump), "--output", str(tmp_path / "ks2"), "--templates", str(tmp_path / "t.json")]
        assert main(arguments) == 2
        assert said in capsys.readouterr().err


def test_limit_pages_reads_the_head_only(tmp_path: Path) -> None:
    manifest = run(write(tmp_path / "d.xml.bz2"), tmp_path / "ks", "--limit-pages", "4")
    assert manifest["counters"]["read"] == 4
    assert [row["title"] for row in rows(tmp_path / "ks", "titles")] == ["Pear", "Fruit", "Old name", "Jam"]


def test_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = write(tmp_path / "d.xml.bz2")
    assert main(["--dump", str(dump), "--output", str(tmp_path / "ks"), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert str(dump) in said
    assert "paragraphs-00000-of-00001.parquet" in said
    assert not (tmp_path / "ks").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dump", "no-such-file.xml.bz2"], "no-such-file.xml.bz2: no such file"),
        (["--dump", "{text}"], "not a MediaWiki XML export: it begins with 'hello'"),
        (["--dump", "{dump}", "--workers", "0"], "--workers: '0' is not a whole number of 1 or more"),
        (["--dump", "{dump}", "--max-reject-share", "5"], "'5' is not a share between 0 and 1"),
        (["--dump", "{dump}", "--work", "2"], "unrecognized arguments: --work 2 (--work: --workers?)"),
        (["--dmp", "{dump}"], "unrecognized arguments: --dmp {dump} (--dmp: --dump?)"),
        ([], "the following arguments are required: --dump"),
        (["--dump", "{text}.json"], "text.json: not a MediaWiki XML export: it begins with '{{}}'"),
        (["--dump", "{text}-index1.txt-p1p2.bz2", "{text}-sha1sums.txt"], "these are index or checksum files"),
        (["--dump", "{cut}"], "cut off; fetch the file again and compare its checksum"),
        (["--dump", "{dump}", "--", "--runnr=x"], "--runnr=x: not an option of Apache Beam"),
        (["--dump", "{dump}", "--dump-date", "yesterday"], "not a date of the form YYYY-MM-DD"),
        (["--dump", "{dump}", "--", "--direct_running_mode=multi_threading"], "loses rows and is refused"),
    ],
)
def test_mistakes_of_the_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (tmp_path / "text").write_text("hello")
    (tmp_path / "text.json").write_text("{}")
    for name in ("text-index1.txt-p1p2.bz2", "text-sha1sums.txt"):
        (tmp_path / name).touch()
    places = {"dump": write(tmp_path / "d.xml.bz2"), "text": tmp_path / "text", "cut": tmp_path / "cut.xml.bz2"}
    places["cut"].write_bytes(places["dump"].read_bytes()[:60])
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    given = [*arguments[:cut], "--output", str(tmp_path / "ks"), *arguments[cut:]]
    assert main([argument.format(**places) for argument in given]) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("kiltetl: error: ")
    assert said.format(**places) in message


def test_the_summary_adds_up(fresh: Path) -> None:
    manifest = json.loads((fresh / "ks" / "manifest.json").read_text())
    assert knowledge_source.summary(manifest).splitlines() == [
        "knowledge source               count",
        "-----------------------------  -----",
        "pages read                        12",
        "  articles                         4",
        "  redirects                        6",
        "  other-namespace                  1",
        "  not-wikitext                     1",
        "paragraphs                        12",
        "titles                             6",
        "redirects that lead nowhere        4",
        "  redirect-cycle                   2",
        "  redirect-target-missing          1",
        "  redirect-to-other-namespace      1",
        "anchors                            6",
        "  that lead to a page              4",
        "files that no checksum proves      1",
    ]


@pytest.mark.soak
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_comes_back_at_once(tmp_path: Path, workers: str) -> None:
    """With one process and with two; in the middle of a part, which is not read to its end."""
    xml = dump_xml([Page(f"Page {i}", noise(i, 60_000)) for i in range(20)])
    first, last = xml.index(b"  <page>"), xml.rindex(b"</mediawiki>")
    dump = tmp_path / "d.xml.bz2"
    dump.write_bytes(bz2.compress(xml[:first]) + bz2.compress(xml[first:last]) * 40 + bz2.compress(xml[last:]))
    code = "import signal, sys; from kiltetl.pipelines import cli\n"
    code += "if __name__ == '__main__':\n    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "    sys.exit(cli.main())\n"
    (tmp_path / "run.py").write_text(code)
    given = ["knowledge-source", "--dump", str(dump), "--output", str(tmp_path / "ks"), "--workers", workers]
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "run.py"), *given, "--part-mb", "10"],
        cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    left = tmp_path / "ks" / ".kiltetl-staging-knowledge-source"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not list(left.glob("scan-*.tmp")) and process.poll() is None:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert said.splitlines()[-1].startswith("kiltetl: interrupted; finished parts are kept")
    assert "Traceback" not in said
    assert list(left.glob("scan-*.tmp"))
    assert not list(left.glob("scan-*.json"))


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("enwiki-20190801-pages-articles-multistream.xml.bz2", "2019-08-01"),
        ("enwiki-2026-09-01-p1p41242.xml.bz2", "2026-09-01"),
        ("enwiki-latest-pages-articles.xml.bz2", None),
        ("dewiki-20130602-id81.xml", "2013-06-02"),
    ],
)
def test_date_of_a_dump(name: str, date: str | None) -> None:
    assert dump_date(name) == date


# file: pages, articles, redirects of namespace 0 that are read, titles that lead to a page
REAL = {
    "ar-wiki.xml.bz2": (3, 2, 0, 2),
    "article-pear-0.10.xml": (1, 1, 0, 1),
    "article-pyrus.xml.gz": (1, 0, 1, 0),
    "bgwiki-utf16.xml.bz2": (3, 1, 0, 1),
    "de-wiki.xml.bz2": (2, 2, 0, 2),
    "dewiki-20130602-id81.xml": (1, 1, 0, 1),
    "enwiki-2016-sample.xml.bz2": (206, 106, 99, 119),
    "enwiki-2019-08-mini.xml.bz2": (11, 11, 0, 11),
    "enwiki-tables.xml.bz2": (5, 5, 0, 5),
    "fr-wiki.xml.bz2": (3, 3, 0, 3),
    "frwiki-20121230-id3.xml": (1, 1, 0, 1),
    "ltgwiki-whole.xml.bz2": (2004, 903, 147, 1044),
    "pair-0.10.xml": (2, 1, 0, 1),
    "tinywiki.xml": (8, 2, 0, 2),
    "zh-wiki.xml.bz2": (1, 1, 0, 1),
    "zhwiki-20150423-id13.xml": (1, 1, 0, 1),
}


@pytest.mark.parametrize("dump", REAL)
@pytest.mark.soak
def test_every_real_dump_builds(real_source: Callable[[str], Path], dump: str) -> None:
    output = real_source(dump)
    counters = json.loads((output / "manifest.json").read_text())["counters"]
    assert tuple(counters.get(name, 0) for name in ("read", "articles", "redirects", "titles")) == REAL[dump]
    for row in rows(output, "paragraphs"):
        assert row["text"].strip() == row["text"] != ""
        for anchor in row["anchors"]:
            assert row["text"][anchor["start"] : anchor["end"]] == anchor["text"]


def test_every_real_dump_is_built(shared: Path) -> None:
    assert {path.name for path in (shared / "data" / "dumps").iterdir()} == set(REAL)


def test_real_revisions_of_the_kilt_snapshot_have_their_ids(real_source: Callable[[str], Path]) -> None:
    output = real_source("enwiki-2019-08-mini.xml.bz2")
    pages = {row["wikipedia_title"]: row for row in rows(output, "pages")}
    assert pages["The Ren & Stimpy Show"]["wikipedia_id"] == "25912"
    assert pages["The Ren & Stimpy Show"]["history"]["revid"] == 910994273


def test_it_is_said_when_nothing_vouches_for_the_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A multistream dump from which a whole stream is gone looks whole: only a checksum tells."""
    dump = write(tmp_path / "d.xml.bz2", PAGES)
    arguments = ["--dump", str(dump), "--output", str(tmp_path / "ks")]
    assert main(arguments) == 0
    assert re.search(r"files that no checksum proves +1\n", capsys.readouterr().out)
    (tmp_path / "SHA1SUMS").write_text(f"{hashlib.sha1(dump.read_bytes()).hexdigest()}  d.xml.bz2\n")
    assert main([*arguments, "--overwrite", "--part-mb", "3"]) == 0
    assert "no checksum" not in capsys.readouterr().out
    data = dump.read_bytes()
    places = [found.start() for found in re.finditer(rb"BZh91AY&SY", data)]
    dump.write_bytes(data[: places[2]] + data[places[3] :])
    assert main([*arguments[:-1], str(tmp_path / "other")]) == 1
    assert "fetch the file again" in capsys.readouterr().err
