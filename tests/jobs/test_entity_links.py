"""The anchors of a knowledge source as examples of entity linking."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kiltetl.pipelines import anchors, knowledge_source
from kiltetl.pipelines.console import Console
from kiltetl.pipelines.report import execute as report
from kiltetl.schemas.records import Anchor
from kiltetl.transforms.beam.entity_links import LinkAnchors
from kiltetl.transforms.beam.runner import beam_options, run
from kiltetl.transforms.datasets.hashing import stable_share
from kiltetl.transforms.datasets.mentions import MAX_TOKENS
from kiltetl.transforms.entity_links import anchor_id, anchor_task, split_of_page
from kiltetl.transforms.files.locks import locked
from kiltetl.transforms.jobs import entity_links as stages
from tests.support.dataflow import submitted
from tests.support.dying import die_after_moving
from tests.support.miniwiki import Page, dump_xml, multistream
from tests.support.sharing import Once

LONG = " ".join(f"w{number}" for number in range(600))
PAGES = [
    Page(
        f"Page {i}", f"It follows [[page {i - 1}]] and {LONG[: i * 40]}, not [[nowhere {i}]].\n* See [[Page 0|zero]]s."
    )
    for i in range(60)
]


@pytest.fixture(scope="session")
def source(once: Once) -> Path:
    def make(folder: Path) -> None:
        dump = folder / "wiki-20190801.xml.bz2"
        dump.write_bytes(multistream(dump_xml(PAGES), 10)[0])
        settings = knowledge_source.Settings((str(dump),), str(folder / "ks"), part_bytes=1 << 10)
        knowledge_source.execute(settings, Console(quiet=True))
        assert len(list((folder / "ks").glob("paragraphs-*"))) > 2

    return once("linked-wiki", make) / "ks"


@pytest.fixture(scope="session")
def fresh(once: Once, source: Path) -> Path:
    """What is made of the wiki with a dev share of 0.3, at once; to be read alone."""
    return once("linked-wiki-anchors", lambda folder: made(source, folder, "--dev-share", "0.3"))


def made(source: Path, output: Path, *options: str) -> dict[str, dict[str, Any]]:
    arguments = ["--knowledge-source", str(source), "--output", str(output), "--quiet", *options]
    assert anchors.main(arguments) == 0
    return manifests_in(output)


def manifests_in(output: Path) -> dict[str, dict[str, Any]]:
    manifests = output / "manifests"
    return {s: json.loads((manifests / f"anchors-{s}.json").read_text()) for s in ("train", "validation")}


def rows(output: Path, split: str) -> list[dict[str, Any]]:
    files = sorted((output / "anchors").glob(f"{split}-*.parquet"))
    return [row for path in files for row in pq.read_table(path).to_pylist()]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---------------------------------------------------------------------------------------------
# one anchor


def test_a_record() -> None:
    anchor = Anchor("kites", "kite", None, 5, 10, "Kite (toy)", "7")
    task = anchor_task(anchor_id("25", 3, 5), "train", "They kites flew.", anchor, "de")
    assert (task.id, task.input) == ("25:3:5", "They [START_ENT] kites [END_ENT] flew.")
    meta = task.meta
    assert (meta.left_context, meta.mention, meta.right_context) == ("They", "kites", "flew.")
    (output,) = task.output
    (page,) = output.provenance or ()
    assert (output.answer, page.title, page.wikipedia_id, page.bleu_score) == ("Kite (toy)", "Kite (toy)", "7", None)
    assert (page.start_paragraph_id, page.section, task.dataset, task.language) == (None, None, "anchors", "de")


@pytest.mark.parametrize(
    ("anchor", "problem"),
    [
        (Anchor("kites", "kite", None, 5, 10, "Kite", None), "red link"),
        (Anchor("kites", "kite", None, 4, 9, "Kite", "7"), "is not at"),
        (Anchor(" ", "kite", None, 4, 5, "Kite", "7"), "empty"),
    ],
)
def test_what_is_no_record(anchor: Anchor, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        anchor_task("1:1:1", "train", "They kites flew.", anchor)


@given(
    st.text("ab \n\xa0", max_size=1500), st.text("xy ", min_size=1, max_size=30), st.text("ab \n\xa0", max_size=1500)
)
def test_the_input_has_at_most_256_tokens(left: str, mention: str, right: str) -> None:
    anchor = Anchor(mention, "m", None, len(left), len(left) + len(mention), "M", "7")
    if not mention.strip():
        with pytest.raises(ValueError, match="empty"):
            anchor_task("1:1:1", "train", left + mention + right, anchor)
        return
    task = anchor_task("1:1:1", "train", left + mention + right, anchor)
    assert len(task.input.split()) <= MAX_TOKENS
    before, _, rest = task.input.partition("[START_ENT]")
    inner, _, after = rest.partition("[END_ENT]")
    assert inner.strip() == mention.strip() == task.meta.mention
    assert before.strip() == task.meta.left_context
    assert left.rstrip().endswith(task.meta.left_context or "")
    assert after.strip() == task.meta.right_context
    assert right.lstrip().startswith(task.meta.right_context or "")


@given(st.lists(st.integers(1, 10**8).map(str), unique=True), st.floats(0, 1), st.floats(0, 1))
def test_pages_are_split_by_their_id_alone(pages: list[str], share: float, more: float) -> None:
    held = {page for page in pages if split_of_page(page, share) == "validation"}
    assert held == {page for page in reversed(pages) if split_of_page(page, share) == "validation"}
    if more >= share:
        assert held <= {page for page in pages if split_of_page(page, more) == "validation"}


def test_the_split_has_about_the_share_asked_for() -> None:
    held = sum(split_of_page(str(page), 0.1) == "validation" for page in range(20_000))
    assert 1_850 < held < 2_150


# ---------------------------------------------------------------------------------------------
# the whole


def test_counts_and_rows(fresh: Path) -> None:
    manifests, train, validation = manifests_in(fresh), rows(fresh, "train"), rows(fresh, "validation")
    counted = [manifests[split]["counters"] for split in ("train", "validation")]
    # of 60 pages each: one to the page before, one red link, one to page 0; -1 is no page, page 0 links not to itself
    assert sum(c["read"] for c in counted) == 60 * 3 - 1
    assert sum(m["skipped"]["red-link"] for m in manifests.values()) == 60 + 1
    assert [c["written"] for c in counted] == [len(train), len(validation)]
    assert len(train) + len(validation) == 59 + 59
    for manifest in manifests.values():
        assert manifest["counters"]["read"] == manifest["counters"]["written"] + manifest["skipped"]["red-link"]
        assert manifest["parameters"]["dev_share"] == 0.3

    pages = [{row["id"].partition(":")[0] for row in table} for table in (train, validation)]
    assert pages[0].isdisjoint(pages[1])
    assert min(map(len, pages)) > 5
    assert len({row["id"] for row in train + validation}) == 118
    assert max(len(row["input"].split()) for row in train + validation) == MAX_TOKENS
    ids = {f"Page {i}": str(i + 1) for i in range(60)}
    for row in train + validation:
        (output,) = row["output"]
        (page,) = output["provenance"]
        assert ids[output["answer"]] == page["wikipedia_id"]
    assert train[0]["input"].startswith(("It follows [START_ENT] page ", "See [START_ENT] zeros [END_ENT] ."))


def test_ids_name_the_place(source: Path, tmp_path: Path) -> None:
    made(source, tmp_path, "--dev-share", "0")
    texts = {
        (row["wikipedia_id"], row["paragraph_id"]): row["text"]
        for path in source.glob("paragraphs-*")
        for row in pq.read_table(path).to_pylist()
    }
    found = rows(tmp_path, "train")
    assert not rows(tmp_path, "validation")
    for row in found:
        page, paragraph, start = row["id"].split(":")
        text = texts[page, int(paragraph)]
        assert text[int(start) :].startswith(row["meta"]["mention"])


def test_one_shard_a_shard_and_the_same_bytes_however_they_are_made(source: Path, fresh: Path, tmp_path: Path) -> None:
    made(source, tmp_path / "two", "--dev-share", "0.3", "--workers", "2")
    job = anchors.plan(anchors.Settings(str(source), str(tmp_path / "whole"), 0.3))
    run(partial(anchors.build, job=job), beam_options([]))
    job.staging.clear()
    assert files(fresh) == files(tmp_path / "two") == files(tmp_path / "whole")
    shards = len(list(source.glob("paragraphs-*")))
    for name in ("anchors/train", "anchors/validation", "rejects/anchors/rejects"):
        expected = {f"{name}-{n:05d}-of-{shards:05d}.parquet" for n in range(shards)}
        assert {found for found in files(fresh) if found.startswith(f"{name}-")} == expected


def test_a_run_goes_on_where_it_was(source: Path, fresh: Path, tmp_path: Path) -> None:
    job = anchors.plan(anchors.Settings(str(source), str(tmp_path / "out"), 0.3))
    LinkAnchors(job)._link(1)
    marker = Path(job.staging.path("part-00001.json"))
    before = marker.stat().st_mtime_ns, Path(job.staged("train", 1)).stat().st_mtime_ns
    LinkAnchors(job)._link(1)
    assert before == (marker.stat().st_mtime_ns, Path(job.staged("train", 1)).stat().st_mtime_ns)
    other = anchors.plan(anchors.Settings(str(source), str(tmp_path / "out"), 0.6))
    LinkAnchors(other)._link(1)
    assert before[0] != marker.stat().st_mtime_ns
    made(source, tmp_path / "out", "--dev-share", "0.3")
    assert files(tmp_path / "out") == files(fresh)


@pytest.mark.parametrize("moves", [0, 1, 4, 7])
def test_a_run_that_dies_while_it_publishes_goes_on(
    source: Path, fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    done = die_after_moving(monkeypatch, moves)
    given = ["--knowledge-source", str(source), "--output", str(tmp_path / "out"), "--quiet", "--dev-share", "0.3"]
    assert anchors.main(given) == 1
    assert len(done) == moves
    monkeypatch.undo()
    made(source, tmp_path / "out", "--dev-share", "0.3")
    assert files(tmp_path / "out") == files(fresh)


def test_what_stands_there_goes_when_its_successor_is_whole(
    source: Path, fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(source, tmp_path / "out")
    (tmp_path / "out" / "anchors" / "train-00099-of-00100.parquet").touch()  # of a larger knowledge source
    before = files(tmp_path / "out")
    given = ["--knowledge-source", str(source), "--output", str(tmp_path / "out"), "--quiet", "--dev-share", "0.3"]
    monkeypatch.setattr(stages, "split_of_page", None)
    assert anchors.main(given) == 1
    assert before.items() <= files(tmp_path / "out").items()
    monkeypatch.undo()
    assert anchors.main(given) == 0
    assert files(tmp_path / "out") == files(fresh)


def test_two_runs_into_one_folder(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with locked(str(tmp_path), "anchors"):
        assert anchors.main(["--knowledge-source", str(source), "--output", str(tmp_path), "--quiet"]) == 2
    assert "another run is writing anchors there" in capsys.readouterr().err
    made(source, tmp_path)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("part", "json"), ("train", "parquet"), ("validation", "parquet"), ("rejects", "parquet")],
)
@pytest.mark.parametrize("left", [b"", b"{}", b"[]", b"PAR1", None])
def test_damaged_work_means_not_done(source: Path, tmp_path: Path, name: str, suffix: str, left: bytes | None) -> None:
    job = anchors.plan(anchors.Settings(str(source), str(tmp_path / "out"), 0.3))
    counts = LinkAnchors(job)._link(1)
    damaged = Path(job.staging.path(f"{name}-00001.{suffix}"))
    whole = damaged.read_bytes()
    if left is None:
        damaged.unlink()
    else:
        damaged.write_bytes(left)
    assert LinkAnchors(job)._link(1) == counts
    assert damaged.read_bytes() == whole


def test_a_sample(source: Path, tmp_path: Path) -> None:
    manifests = made(source, tmp_path / "half", "--sample", "0.5", "--dev-share", "0")
    made(source, tmp_path / "all", "--dev-share", "0")
    train = manifests["train"]
    assert train["counters"]["written"] + train["skipped"]["not-sampled"] == 118
    half, whole = ({row["id"]: row for row in rows(tmp_path / name, "train")} for name in ("half", "all"))
    assert half == {number: row for number, row in whole.items() if stable_share(number) < 0.5}
    assert 40 < len(half) == train["counters"]["written"] < 78


def test_errors_and_dry_run(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = ["--output", str(tmp_path / "out")]
    assert anchors.main(["--knowledge-source", str(tmp_path), *output]) == 2
    assert "build it with kiltetl knowledge-source" in capsys.readouterr().err
    assert anchors.main(["--knowledge-source", str(source), *output, "--sample", "0"]) == 2
    assert "--sample 0" in capsys.readouterr().err
    assert anchors.main(["--knowledge-source", str(source), *output, "--dry-run"]) == 0
    assert "anchors/train-00000-of-" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_the_graph_is_submitted_offline(source: Path, tmp_path: Path) -> None:
    job = anchors.plan(anchors.Settings(str(source), str(tmp_path / "out")))
    assert submitted(partial(anchors.build, job=job)) == ["Shards", "LinkAnchors", "PublishAnchors"]
    assert not (tmp_path / "out").exists()


def test_what_is_written_is_read_by_the_report(source: Path, tmp_path: Path) -> None:
    manifests = made(source, tmp_path)
    (found,) = report(str(tmp_path), Console(quiet=True))["datasets"]
    assert (found["dataset"], [split["split"] for split in found["splits"]]) == ("anchors", ["train", "validation"])
    assert found["splits"][0]["written"] == manifests["train"]["counters"]["written"]
    assert found["splits"][0]["reasons"]["skipped"] == manifests["train"]["skipped"]


@pytest.mark.shared
def test_a_whole_wiki(real_source: Callable[[str], Path], tmp_path: Path) -> None:
    source = real_source("ltgwiki-whole.xml.bz2")
    built = json.loads((source / "manifest.json").read_text())["counters"]
    manifests = made(source, tmp_path / "out").values()
    assert sum(m["counters"]["read"] for m in manifests) == built["anchors"]
    assert sum(m["counters"]["written"] for m in manifests) == built["anchors_resolved"]
    found = rows(tmp_path / "out", "train")
    assert found[0]["language"] == "ltg"
    assert max(len(row["input"].split()) for row in found) <= MAX_TOKENS
