"""The tool that writes a fixture's expected.jsonl."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kiltetl.transforms.datasets import DATASETS
from tests.support.adapters import FOLDER
from tools import expected

CODE = """\
from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.records import Example, ExampleOutput
from kiltetl.transforms.datasets.spec import Dataset, Json, Merge, SkipRow


def read(row):
    if row["a"] == "skip":
        raise SkipRow("no-answer")
    if row["a"] == "bad":
        raise MalformedRow("a is bad")
    yield Example(str(row["id"]), "Q\u2028", (ExampleOutput(row["a"]),))


def key(example):
    return example.id


def merge(examples):
    if len(examples) > 2:
        raise SkipRow("no-fact")
    yield examples[-1]


DATASET = Dataset("made", "QA", read, ("train",), "{}", "CC0", "https://example.org", source=Json("rows.item"),
                  merge=Merge(key, merge), needs_knowledge_source=False)
"""
ROWS = [{"id": 1, "a": "x"}, {"id": 2, "a": "skip"}, {"id": 2, "a": "bad"}, {"id": 2}, {"id": 1, "a": "y"}, 5] + [
    {"id": 3, "a": "é"}
] * 3
LINES = [
    '[{"id": "1", "input": "Q\u2028", "outputs": [{"answer": "x"}], "language": "en"}]',
    '{"skipped": "no-answer"}',
    '{"malformed": "a is bad"}',
    '{"malformed": "KeyError"}',
    '[{"id": "1", "input": "Q\u2028", "outputs": [{"answer": "y"}], "language": "en"}]',
    '{"malformed": "the row is a int, not an object"}',
    *['[{"id": "3", "input": "Q\u2028", "outputs": [{"answer": "é"}], "language": "en"}]'] * 3,
    '[{"id": "1", "input": "Q\u2028", "outputs": [{"answer": "y"}], "language": "en"}]',
    '{"skipped": "no-fact"}',
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "made_up.py").write_text(CODE, "utf-8")
    (tmp_path / "fixture").mkdir()
    (tmp_path / "fixture" / "raw.json").write_text(json.dumps({"rows": ROWS}), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path / "fixture"
    sys.modules.pop("made_up", None)


def test_lines_are_written_for_review(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert expected.main(["made_up:DATASET", str(folder)]) == 0
    assert (folder / "expected.jsonl").read_text("utf-8") == "\n".join([*LINES, ""])
    said = capsys.readouterr().out
    assert "11 lines, 3 malformed, 2 skipped, 6 with records\n" in said
    assert "check every line against its row by hand" in said


def test_what_stands_there_is_left_where_it_says_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours = "\n".join(json.dumps(json.loads(line), separators=(",", ":")) for line in LINES)
    (folder / "expected.jsonl").write_text(ours, "utf-8")
    assert expected.main(["made_up:DATASET", str(folder)]) == 0
    assert (folder / "expected.jsonl").read_text("utf-8") == ours
    assert "as it stands" in capsys.readouterr().out
    (folder / "expected.jsonl").write_text(ours.replace("no-answer", "no-page"), "utf-8")
    assert expected.main(["made_up:DATASET", str(folder)]) == 0
    assert (folder / "expected.jsonl").read_text("utf-8") == "\n".join([*LINES, ""])


@pytest.mark.parametrize("name", DATASETS)
def test_the_fixtures_of_the_built_in_datasets_are_found(name: str) -> None:
    assert expected.folder_of(DATASETS[name]) == FOLDER / name


def test_what_is_missing_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        (["nowhere"], "expected: nowhere: unknown; known are aidayago2"),
        (["made_up:DATASET"], "expected: no folder datasets/made with a file raw.*"),
        (["made_up:DATASET", str(folder.parent)], "needs one file raw.jsonl, raw.json or raw.text"),
    ):
        assert expected.main(arguments) == 2
        assert said in capsys.readouterr().err
