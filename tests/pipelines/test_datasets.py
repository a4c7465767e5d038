"""How commands take datasets: by name, by place, and one with the evidence of another."""

import json
import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kiltetl.pipelines import annotations, export, tasks
from kiltetl.pipelines.cli import main
from kiltetl.schemas.records import Task
from kiltetl.transforms.datasets import DATASETS
from kiltetl.transforms.files.shards import ShardWriter
from kiltetl.transforms.jobs.staging import file_entries

CODE = """\
from kiltetl.transforms.datasets.spec import Dataset

def read(row):
    yield from ()

DATASET = Dataset("ours", "QA", read, ("train",), "{}", "CC0", "https://example.org")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a module ``ours``."""
    (tmp_path / "ours.py").write_text(CODE, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("ours", None)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command that the user can mend says."""
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


def test_a_dataset_that_is_not_there_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("tasks", "--split", "train", "--source", "x.jsonl", "--output", "out", "--dataset")
    assert "error: --dataset mine: unknown; known are aidayago2, " in said(capsys, *arguments, "mine")
    assert "error: --dataset ours:NONE: ours has no NONE; its datasets are: DATASET" in said(
        capsys, *arguments, "ours:NONE"
    )
    assert "error: --dataset no.such:DATASET: there is no module no" in said(capsys, *arguments, "no.such:DATASET")


def test_a_configuration_says_which_task_names_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = '[[task]]\ndataset = "ours:NONE"\nsplit = "train"\nsource = ["x.jsonl"]\n'
    (folder / "a.toml").write_text(f'output = "out"\n{task}', "utf-8")
    assert "a.toml: [[task]] number 1: --dataset ours:NONE: ours has no NONE" in said(capsys, "build", "a.toml")


def test_a_module_without_its_source_has_no_digest(folder: Path) -> None:
    py_compile.compile("ours.py", "ours.pyc")
    (folder / "ours.py").unlink()
    assert tasks.find_dataset("ours:DATASET").name == "ours"
    assert tasks._adapter("ours:DATASET") == {"adapter": {"name": "ours:DATASET", "sha1": None}}
    assert tasks._adapter("nq") == {}


def test_only_a_dataset_with_the_ids_of_another_takes_its_evidence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.jsonl").write_text("{}\n")
    cases = (("nq", "--source", "train"), ("mkqa", "--from-kilt", "dev"), ("ours:DATASET", "--source", "train"))
    for name, given, split in cases:
        arguments = ("tasks", "--dataset", name, "--split", split, given, "a.jsonl", "--output", "out")
        problem = "--mkqa-provenance: goes with --dataset mkqa --source alone, whose ids are another's"
        assert problem in said(capsys, *arguments, "--mkqa-provenance", "tasks")


def test_the_tables_of_a_dataset_are_not_those_of_another_whose_name_begins_so(tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    for name in ("nq-open-train", "nq-train", "nq-validation", "nq-open-test"):
        (tmp_path / "manifests" / f"{name}.json").write_text("{}")
    found = tasks.mapped(str(tmp_path), "nq")
    assert [Path(path).name for path in found] == ["nq-train.json", "nq-validation.json"]
    assert [Path(path).name for path in tasks.mapped(str(tmp_path), "nq-open")] == [
        "nq-open-test.json",
        "nq-open-train.json",
    ]


def test_the_campaign_takes_the_datasets_that_are_annotated(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("hotpotqa", "ours:DATASET"):
        problem = said(capsys, "annotations", "--tasks", "t", "--judgements", "j", "--dataset", name)
        assert f"--dataset {name}: the campaign is of nq and eli5" in problem
    assert main(["annotations", "--help"]) == 0
    assert "their judgements as provenance (nq and eli5)." in capsys.readouterr().out
    assert [one.name for one in annotations._datasets(None)] == ["nq", "eli5"]


def test_an_export_names_what_is_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "tasks" / "manifests").mkdir(parents=True)
    manifest = {"kind": "tasks", "dataset": "wow", "task": "dialogue", "split": "train", "knowledge_source": None}
    with ShardWriter(str(folder / "tasks" / "wow" / "train-00000-of-00001.parquet"), Task) as shard:
        pass
    manifest |= {
        "inputs": [],
        "reject_files": [],
        "files": file_entries([("train-00000-of-00001.parquet", shard.written)]),
    }
    manifest |= {key: {} for key in ("versions", "parameters", "counters", "skipped", "rejected")}
    (folder / "tasks" / "manifests" / "wow-train.json").write_text(json.dumps(manifest))
    arguments = ("export", "kilt-jsonl", "--tasks", "tasks", "--output", "kilt", "--dataset")
    assert "--dataset ours: not in tasks, which has wow" in said(capsys, *arguments, "ours:DATASET")
    assert "--dataset no: not in tasks, which has wow" in said(capsys, *arguments, "no")
    (found,) = export.plan(export.Settings("tasks", "kilt", ("wow",)))
    assert found.shape == DATASETS["wow"].shape
