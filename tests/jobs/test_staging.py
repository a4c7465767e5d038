"""The protocol by which jobs leave their work: marks, decision, publication; dying at every step of it."""

import contextlib
import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kiltetl.schemas.errors import InputError, RunFailed
from kiltetl.transforms.files import locks
from kiltetl.transforms.files.locks import locked
from kiltetl.transforms.files.streams import write_text
from kiltetl.transforms.jobs.staging import DECISION, Staging, audit, digest_of, file_entries
from tests.support.dying import DiedError, die_at

# What each kind of job publishes: files below the output, and its manifests, the one that tells of the end last
KINDS = {
    "knowledge-source": (["pages-00000-of-00002.parquet", "pages-00001-of-00002.parquet", "titles.arrow"],
                         ["manifest.json"]),
    "nq-validation": (["nq/validation-00000-of-00001.parquet", "rejects/nq/validation-00000-of-00001.parquet"],
                      ["manifests/nq-validation.json"]),
    "anchors": (["anchors/train-00000-of-00001.parquet", "anchors/validation-00000-of-00001.parquet"],
                ["manifests/anchors-train.json", "manifests/anchors-validation.json"]),
    "annotations": (["nq/validation-00000-of-00001.parquet", "rejects/annotations/flags-nq-validation.jsonl"],
                    ["manifests/nq-validation.json", "annotations.json"]),
    "evaluation": (["per_example.parquet", "report.html", "pictures/nq_answer_length.png"], ["metrics.json"]),
}  # fmt: skip
STALE = "stale-00009-of-00010.parquet"


def state(folder: Path) -> dict[str, str]:
    """What a reader sees in the output: files and their content, without staging folders and locks."""
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.relative_to(folder).parts[0].startswith(".kiltetl-")
    }


def result(kind: str, version: str) -> dict[str, str]:
    """What stands in the output after a version of the job."""
    files, manifests = KINDS[kind]
    content = {name: f"{name} {version}" for name in files}
    return content | {name: _text({"version": version}) for name in manifests}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def stage(job: Staging, kind: str, version: str) -> None:
    """Do the work, each file a part of its own, unless it is done."""
    for number, name in enumerate(KINDS[kind][0]):
        if job.left("part", number) is None:
            path = Path(job.path(f"part-{number}"))
            job.leave("part", number, {"name": name}, {path.name: write_text(str(path), f"{name} {version}")})


def publish(job: Staging, kind: str, version: str) -> None:
    files, manifests = KINDS[kind]
    placed = {f"part-{number}": (name, job.mark("part", number).files[f"part-{number}"])
              for number, name in enumerate(files)}  # fmt: skip
    job.publish(placed, {name: {"version": version} for name in manifests}, [STALE, *files])


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[str]]:
    return partial(die_at, monkeypatch)


@pytest.mark.parametrize("kind", KINDS)
def test_dying_at_every_step(
    kind: str, tmp_path: Path, dying: Callable[[int], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0
    while True:
        folder = tmp_path / str(steps)
        first = Staging(str(folder), kind, "one")
        with first.writing():
            stage(first, kind, "one")
            publish(first, kind, "one")
        (folder / STALE).write_text("of a larger job")
        before = state(folder)
        job = Staging(str(folder), kind, "two")
        with job.writing():
            stage(job, kind, "two")
            done = dying(steps)
            try:
                publish(job, kind, "two")
                died = False
            except DiedError:
                died = True
        monkeypatch.undo()
        if not died:
            break
        # a manifest never stands beside files of another version
        seen = state(folder)
        files, manifests = KINDS[kind]
        for version in ("one", "two"):
            if any(seen.get(name) == result(kind, version)[name] for name in manifests[-1:]):
                assert {name: seen.get(name) for name in files} == {
                    name: text for name, text in result(kind, version).items() if name in files
                }
        decided = len(done) > 1  # the decision is the first thing that is written
        if not decided:
            assert seen == before
        # whoever comes next finds the old result, or finishes the new one
        with Staging(str(folder), kind, "three").writing():
            pass
        assert state(folder) == (result(kind, "two") if decided else before)
        with job.writing():
            stage(job, kind, "two")
            publish(job, kind, "two")
            job.clear()
        assert state(folder) == result(kind, "two")
        assert not Path(job.folder).exists()
        steps += 1
    assert steps >= 1 + len(KINDS[kind][0]) + 2 * len(KINDS[kind][1]) + 1
    assert state(folder) == result(kind, "two")


def test_dying_while_it_finishes_what_died(tmp_path: Path, dying: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for first in range(2, 13):
        for second in range(13):
            folder = tmp_path / f"{first}-{second}"
            job = Staging(str(folder), "evaluation", "one")
            stage(job, "evaluation", "one")
            for step, act in ((first, partial(publish, job, "evaluation", "one")), (second, job.finish)):
                dying(step)
                with contextlib.suppress(DiedError):
                    act()
                monkeypatch.undo()
            job.finish()
            assert state(folder) == result("evaluation", "one")


def test_what_is_the_same_is_published_again_where_it_is_damaged(tmp_path: Path) -> None:
    job = Staging(str(tmp_path), "evaluation", "one")
    for _ in range(2):
        (tmp_path / "report.html").write_text("damaged")
        with job.writing():
            stage(job, "evaluation", "one")
            publish(job, "evaluation", "one")
        assert state(tmp_path) == result("evaluation", "one")


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_may_be_taken_again(kind: str, tmp_path: Path) -> None:
    """As an engine does whose worker dies before its result is known: nothing is done, or lost, by a second time."""
    job = Staging(str(tmp_path), kind, "one")
    with job.writing():
        for _ in range(2):
            stage(job, kind, "one")
        publish(job, kind, "one")
        stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
        for _ in range(2):
            stage(job, kind, "one")
            assert job.finish() == [{"version": "one"} for _ in KINDS[kind][1]]
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == stamps
        job.clear()
    assert state(tmp_path) == result(kind, "one")


def test_marks(tmp_path: Path) -> None:
    job = Staging(str(tmp_path), "job", "run")
    assert job.left("part", 3) is None
    with pytest.raises(RunFailed, match="part 3 of step part left no mark in"):
        job.summary("part", 3)
    written = write_text(job.path("a"), "four")
    job.leave("part", 3, {"read": 4}, {"a": written})
    assert json.loads(Path(job.path("part-00003.json")).read_text()) == {
        "files": {"a": {"rows": 0, "bytes": 4, "sha256": hashlib.sha256(b"four").hexdigest()}},
        "run": "run",
        "summary": {"read": 4},
    }
    assert job.mark("part", 3) == ({"read": 4}, {"a": written})
    assert job.left("part", 3) == job.summary("part", 3) == {"read": 4}
    assert job.left("part", 4) is job.left("step", 3) is None
    assert Staging(str(tmp_path), "job", "other run").left("part", 3) is None
    for damage in ("fou", "fouR"):  # of another size, and of the same
        Path(job.path("a")).write_text(damage)
        assert job.left("part", 3) is None
    Path(job.path("a")).unlink()
    assert job.left("part", 3) is None


@pytest.mark.parametrize(
    "damage",
    ["", "{}", "[]", "3", '{"run": "run"}', '{"run": "run", "summary": []}', '{"run": "run", "summary": {}}',
     '{"run": "run", "summary": {}, "files": []}', '{"run": "run", "summary": {}, "files": {"a": "4"}}',
     '{"run": "run", "summary": {}, "files": {"a": {"rows": 0, "bytes": "4", "sha256": ""}}}',
     '{"run": "run", "summary": {}, "files": {"../b": {"rows": 0, "bytes": 4, "sha256": ""}}}'],
)  # fmt: skip
def test_a_damaged_mark_means_not_done(tmp_path: Path, damage: str) -> None:
    job = Staging(str(tmp_path), "job", "run")
    Path(job.folder).mkdir()
    Path(job.path("a")).write_text("four")
    Path(job.path("part-00000.json")).write_text(damage)
    assert job.left("part", 0) is None


@pytest.mark.parametrize(
    "damage",
    ["", "[]", "{}", '{"files": [["a", "../b", 1]], "stale": [], "manifests": []}',
     '{"files": [["../a", "b", 1]], "stale": [], "manifests": []}', '{"files": [], "stale": ["/b"], "manifests": []}',
     '{"files": [], "stale": [], "manifests": [["x/../../b", {}]]}', '{"files": [["a", "b", 1e999]], "stale": []}',
     '{"files": [["a", "b", 1e999]], "stale": [], "manifests": []}', "[" * 200_000,
     '{"files": [["..", "b", 1]], "stale": [], "manifests": []}',
     '{"files": [["", "b", 1]], "stale": [], "manifests": []}',
     '{"files": [], "stale": ["a\\u0000b"], "manifests": []}',
     '{"files": [], "stale": ["' + 400 * "a" + '"], "manifests": []}',
     '{"files": [], "stale": ["x\\\\b"], "manifests": []}'],
)  # fmt: skip
def test_a_decision_that_is_none_is_passed_over(tmp_path: Path, damage: str) -> None:
    job = Staging(str(tmp_path / "out"), "job", "run")
    Path(job.folder).mkdir(parents=True)
    (tmp_path / "b").write_text("mine")
    Path(job.path(DECISION)).write_text(damage)
    assert job.finish() is None
    assert (tmp_path / "b").read_text() == "mine"


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    job = Staging(str(tmp_path), "evaluation", "one")
    stage(job, "evaluation", "one")
    files = [["part-0", "per_example.parquet", 5], ["part-9", "gone", 5]]
    decision = {"run": "one", "files": files, "stale": [], "manifests": []}
    Path(job.path(DECISION)).write_text(json.dumps(decision))
    for content in (None, "four"):  # nothing, or something of another size
        if content is not None:
            (tmp_path / "gone").write_text(content)
        with pytest.raises(RunFailed, match=r"gone: its successor .*part-9 is gone; delete that folder"):
            job.finish()


def test_a_folder_in_the_way_is_named_and_the_work_goes_on_without_it(tmp_path: Path) -> None:
    job = Staging(str(tmp_path), "evaluation", "one")
    stage(job, "evaluation", "one")
    (tmp_path / "report.html").mkdir()
    with pytest.raises(InputError, match=r"report\.html: a folder is in the way; move it, and give the same command"):
        publish(job, "evaluation", "one")
    (tmp_path / "report.html").rmdir()
    job.finish()
    assert state(tmp_path) == result("evaluation", "one")


def test_a_link_in_place_of_the_staging_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "text").write_text("mine")
    job = Staging(str(tmp_path), "job", "run")
    Path(job.folder).symlink_to(tmp_path / "mine")
    job.clear()
    assert not Path(job.folder).is_symlink()
    assert (tmp_path / "mine" / "text").read_text() == "mine"


def test_a_lock_that_is_deleted_as_it_is_opened_is_taken_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run before ends between the opening and the locking: a third one must not lock another file."""
    path = tmp_path / ".kiltetl-job.lock"
    real, ended = locks.fcntl.flock, []

    def flock(stream: Any, how: int) -> None:
        real(stream, how)
        if not ended:
            ended.append(path.unlink())

    monkeypatch.setattr(locks.fcntl, "flock", flock)
    with locked(str(tmp_path), "job"):
        monkeypatch.undo()
        assert path.exists()
        with pytest.raises(InputError, match="another run is writing job there"), locked(str(tmp_path), "job"):
            pass
    assert not path.exists()


def test_one_writer(tmp_path: Path) -> None:
    job = Staging(str(tmp_path), "job", "run")
    with job.writing():
        with pytest.raises(InputError, match="another run is writing job there"), job.writing():
            pass
        with Staging(str(tmp_path), "another job", "run").writing():
            pass
    with job.writing(), pytest.raises(InputError), locked(str(tmp_path), "job"):
        pass
    job.clear()
    assert state(tmp_path) == {}


def test_work_that_may_go_on_elsewhere(tmp_path: Path) -> None:
    job = Staging(str(tmp_path), "evaluation", "one")
    with job.writing():
        job.begin()
    said = r"a run that was submitted may still be at work there; if it has ended .*, delete .*begun\.json and give"
    with pytest.raises(InputError, match=said), job.writing():
        pass
    stage(job, "evaluation", "one")
    publish(job, "evaluation", "one")
    with job.writing():  # the next one comes, and finds it done
        pass
    assert state(tmp_path) == result("evaluation", "one")


def test_sums_that_differ() -> None:
    audit("it does not add up", [("a", 1, 1), ("b", 2, 2)])
    with pytest.raises(RunFailed, match=r"^it does not add up: a: 2 against 1$"):
        audit("it does not add up", [("a", 2, 1)])
    with pytest.raises(RunFailed, match=r"^it does not add up: b: 1,000 against 2,000$"):
        audit("it does not add up", [("a", 1, 1), ("b", 1000, 2000), ("c", 3, 4)])


def test_a_staged_file_that_is_gone_or_cut_is_not_published(tmp_path: Path) -> None:
    job = Staging(str(tmp_path), "job", "run")
    written = write_text(job.path("a"), "four")
    for damage, said in (("fou", "has 3 bytes, not 4"), (None, "is gone")):
        Path(job.path("a")).unlink() if damage is None else Path(job.path("a")).write_text(damage)
        with pytest.raises(RunFailed, match=rf"a: {said}; give the same command again"):
            job.publish({"a": ("b", written)}, {"m.json": {}})
        assert state(tmp_path) == {}


def test_file_entries_and_digests() -> None:
    entry = {"name": "b", "rows": 7, "bytes": 4, "sha256": "ab"}
    assert file_entries([("b", {"rows": 7, "bytes": 4, "sha256": "ab"})]) == [entry]
    assert digest_of({"b": 1, "a": [None]}) == digest_of({"a": [None], "b": 1}) != digest_of({"a": [None], "b": 2})
