"""Jobs that die while they publish, through the commands: the next run finishes, with the bytes of one that lived.

The protocol itself is tried at every step in tests/jobs/test_staging.py.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from kiltetl.pipelines import anchors, annotations, knowledge_source, tasks
from tests.support.checkout import ROOT
from tests.support.dying import die_after_moving
from tests.support.example_build import ExampleBuild, passages

DUMP = ROOT / "examples" / "miniwiki-20190801-pages-articles-multistream.xml.bz2"
LOOSE = ["--max-reject-share", "0.5", "--quiet"]


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


KINDS: dict[str, Callable[[Path, Path], int]] = {
    "knowledge-source": lambda build, out: knowledge_source.main(
        ["--dump", str(DUMP), "--output", str(out), "--part-mb", "1", *LOOSE]
    ),
    "tasks": lambda build, out: tasks.main(
        ["--dataset", "hotpotqa", "--split", "dev", "--source", str(ROOT / "examples" / "hotpotqa" / "dev.json"),
         "--evidence", str(ROOT / "examples" / "hotpotqa" / "wiki" / "*" / "*.bz2"),
         "--knowledge-source", str(build / "knowledge_source"), "--output", str(out), *LOOSE]
    ),
    "anchors": lambda build, out: anchors.main(
        ["--knowledge-source", str(build / "knowledge_source"), "--output", str(out), "--quiet"]
    ),
    "candidates": lambda build, out: annotations.main(
        ["candidates", "--tasks", str(build / "tasks"), "--knowledge-source", str(build / "knowledge_source"),
         "--dataset", "nq", "--split", "dev", "--passages", str(passages(build, out.parent)), "--output", str(out),
         "--quiet"]
    ),
    "judgements": lambda build, out: annotations.main(
        ["apply", "--tasks", str(build / "tasks"), "--judgements", str(passages(build, out.parent)),
         "--dataset", "nq", "--split", "dev", "--output", str(out), "--quiet"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_next_run_finishes(
    kind: str,
    example_build: ExampleBuild,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = KINDS[kind]
    assert run(example_build.output, tmp_path / "lived") == 0, capsys.readouterr().err
    moved = die_after_moving(monkeypatch, 1)
    first = run(example_build.output, tmp_path / "died")
    monkeypatch.undo()
    if kind == "candidates":  # one file, then its manifest
        assert first == 0
    else:
        assert first == 1
        assert "the machine died" in capsys.readouterr().err
        assert [Path(path).exists() for path in moved] == [True]
    assert run(example_build.output, tmp_path / "died") == 0
    assert content(tmp_path / "died") == content(tmp_path / "lived")
