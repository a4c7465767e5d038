"""A dataset from outside the package, by CONTRIBUTING alone: its module, mapped and evaluated."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kiltetl.pipelines import knowledge_source
from kiltetl.transforms import datasets
from tests.support.checkout import ENVIRONMENT, ROOT
from tests.support.miniwiki import Page, dump_xml

SENTENCE = "A kite is a tethered craft that is held up by the wind."
ROW = {"id": 1, "q": "What holds up a kite?", "a": "the wind", "page": "Kite", "sentence": SENTENCE}
PROGRAM = "import sys\nfrom kiltetl.pipelines.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
SHAPED = """\
from dataclasses import replace
from kiltetl.transforms.datasets.spec import Shape
from my_package import mine

DATASET = replace(mine.DATASET, shape=Shape(section_first=True, file_suffix="_id"))
"""
JUDGED = """\
from dataclasses import replace
from kiltetl.transforms.datasets.spec import Published
from my_package import mine

DATASET = replace(
    mine.DATASET, annotated=True, long_answers=True, published=Published(averages=(1.0, 2.0, 3.0, 4.0))
)
"""


def contributing() -> tuple[str, str, list[str]]:
    """Path and code of the module that CONTRIBUTING shows, and the commands below it."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    shown = re.search(r"```python\n# (my_package/mine\.py)\n(.*?)```", text, re.DOTALL)
    assert shown is not None
    return shown[1], shown[2], re.findall(r"^kiltetl .*my_package.*$", text, re.MULTILINE)


def write_rows(path: Path, *rows: dict[str, Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands name: the package, a knowledge source ``ks`` and ``dev.jsonl`` of two rows."""
    folder = tmp_path_factory.mktemp("own")
    path, code, _ = contributing()
    (folder / path).parent.mkdir()
    (folder / path).with_name("__init__.py").touch()
    (folder / path).write_text(code, "utf-8")
    (folder / "wiki.xml").write_bytes(dump_xml([Page("Kite", f"{SENTENCE} It has a tail.")]))
    arguments = ["--dump", str(folder / "wiki.xml"), "--output", str(folder / "ks"), "--quiet"]
    assert knowledge_source.main(arguments) == 0
    write_rows(folder / "dev.jsonl", ROW, ROW | {"id": 2, "page": "Zeppelin"})
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "command.py").write_text(PROGRAM)  # a console script stands in a folder of its own
    return folder


def run(folder: Path, command: str, *more: str) -> str:
    """A command as an installed user gives it: the current folder is not on the path of Python."""
    program, *arguments = command.split()
    assert program == "kiltetl"
    done = subprocess.run(
        [sys.executable, str(folder / "elsewhere" / "command.py"), *arguments, *more],
        cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def mapped(folder: Path) -> Path:
    tasks, _ = contributing()[2]
    assert run(folder, tasks, "--workers", "2").endswith("\nshards in tasks/mine\n")
    return folder / "tasks"


def test_its_rows_are_mapped(mapped: Path) -> None:
    (found,) = pq.read_table(mapped / "mine" / "validation-00000-of-00001.parquet").to_pylist()
    assert (found["id"], found["dataset"], found["output"][0]["answer"]) == ("1", "mine", "the wind")
    (place,) = found["output"][0]["provenance"]
    assert (place["title"], place["start_paragraph_id"], place["end_character"]) == ("Kite", 1, len(SENTENCE))
    (reject,) = pq.read_table(mapped / "rejects" / "mine" / "validation-00000-of-00001.parquet").to_pylist()
    assert (reject["source_id"], reject["reason"]) == ("2", "page-not-in-knowledge-source")


def test_inside_kiltetl_it_is_one_file_and_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(contributing()[1], "utf-8")
    monkeypatch.setattr(datasets, "__path__", [*datasets.__path__, str(tmp_path)])
    monkeypatch.setattr(datasets, "DATASETS", datasets.load((*datasets.NAMES, "mine")))
    assert datasets.find_dataset("mine").leading_metric == "em"
    assert list(datasets.DATASETS) == [*datasets.NAMES, "mine"]
    del sys.modules["kiltetl.transforms.datasets.mine"]


def test_the_manifest_names_the_dataset_and_its_module(mapped: Path, folder: Path) -> None:
    manifest = json.loads((mapped / "manifests" / "mine-validation.json").read_text("utf-8"))
    assert (manifest["dataset"], manifest["adapter"]["name"]) == ("mine", "my_package.mine:DATASET")
    tasks, _ = contributing()[2]
    assert "already mapped" in run(folder, tasks)
    path = folder / "my_package" / "mine.py"
    before = path.read_text("utf-8")
    path.write_text(before.replace('input=row["q"]', 'input=row["q"].upper()'), "utf-8")
    run(folder, tasks)
    (found,) = pq.read_table(mapped / "mine" / "validation-00000-of-00001.parquet").to_pylist()
    assert found["input"] == "WHAT HOLDS UP A KITE?"
    path.write_text(before, "utf-8")
    run(folder, tasks)


def test_a_configuration_names_it_so_too(folder: Path, mapped: Path) -> None:
    config = """
        output = "built"
        [knowledge_source]
        path = "ks"
        [[task]]
        dataset = "my_package.mine:DATASET"
        split = "dev"
        source = ["dev.jsonl"]
        """
    (folder / "own.toml").write_text(config, "utf-8")
    run(folder, "kiltetl build own.toml")
    table = Path("mine", "validation-00000-of-00001.parquet")
    assert pq.read_table(folder / "built" / "tasks" / table).equals(pq.read_table(mapped / table))


def test_it_is_exported_by_the_shape_it_has(folder: Path, mapped: Path) -> None:
    run(folder, "kiltetl export kilt-jsonl --tasks tasks --output kilt --dataset my_package.mine:DATASET")
    (record,) = map(json.loads, (folder / "kilt" / "mine-dev-kilt.jsonl").read_text("utf-8").splitlines())
    assert list(record["output"][0]["provenance"][0])[-1] == "section"
    path = folder / "my_package" / "shaped.py"
    path.write_text(SHAPED, "utf-8")
    run(folder, "kiltetl export kilt-jsonl --tasks tasks --output kilt --dataset my_package.shaped:DATASET")
    (record,) = map(json.loads, (folder / "kilt" / "mine-dev_id-kilt.jsonl").read_text("utf-8").splitlines())
    assert list(record["output"][0]["provenance"][0])[2] == "section"


def test_it_may_be_annotated(folder: Path, mapped: Path) -> None:
    """Two of two annotators accept the passage; its answer is compared with it, as it is said to be long."""
    (folder / "my_package" / "judged.py").write_text(JUDGED, "utf-8")
    vote = {"id": "1", "wikipedia_id": "1", "start_paragraph_id": 1, "end_paragraph_id": 1, "enough_evidence": "yes"}
    write_rows(folder / "votes.jsonl", vote | {"annotator": "a"}, vote | {"annotator": "b"})
    command = "kiltetl annotations apply --tasks tasks --knowledge-source ks --judgements votes.jsonl"
    run(folder, command, "--dataset", "my_package.judged:DATASET")
    path = mapped / "annotated" / "manifests" / "mine-validation.json"
    manifest = json.loads(path.read_text("utf-8"))
    assert (manifest["campaign"]["provenance"], manifest["campaign"]["rouge_compared"]) == (1, 1)
    assert manifest["published"]["averages"] == {
        "spans_per_set": 1.0, "sets_per_record": 2.0, "pages_per_record": 3.0, "answers_per_record": 4.0,
    }  # fmt: skip


def test_its_predictions_are_scored(folder: Path, mapped: Path) -> None:
    _, evaluate = contributing()[2]
    prediction = {"id": "1", "output": [{"answer": "The wind!", "provenance": [{"wikipedia_id": "1"}]}]}
    write_rows(folder / "predictions.jsonl", prediction)
    run(folder, evaluate, "--output", "scores")
    metrics = json.loads((folder / "scores" / "metrics.json").read_text("utf-8"))
    ours = metrics["datasets"]["mine"]
    assert ours["leading_metric"] == "em"
    assert ours["metrics"]["em"] == ours["metrics"]["KILT-em"] == 1.0
