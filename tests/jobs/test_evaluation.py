"""The command ``kiltetl evaluate``: files in, files out, in this process and as a graph."""

import bz2
import gzip
import json
import random
import re
import shutil
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from kiltetl.pipelines.evaluate import build, main, parse_arguments, plan
from kiltetl.pipelines.evaluate_kilt import RANKED, dataset_of
from kiltetl.pipelines.evaluate_mkqa import language_in
from kiltetl.schemas.errors import RunFailed
from kiltetl.schemas.records import Output, OutputMeta, Provenance, ProvenanceMeta, Task, TaskMeta
from kiltetl.transforms.beam import runner
from kiltetl.transforms.beam.runner import beam_options
from kiltetl.transforms.beam.runner import run as run_graph
from kiltetl.transforms.files.locks import locked
from kiltetl.transforms.files.shards import ShardWriter
from kiltetl.transforms.jobs import evaluation
from kiltetl.transforms.jobs.evaluation import METRICS
from kiltetl.transforms.metrics import mkqa
from kiltetl.transforms.metrics.kilt_scorer import evaluate_kilt
from kiltetl.transforms.metrics.scorer import MISSING
from kiltetl.transforms.metrics.thresholds import BEST, PLAIN
from tests.support.dying import die_at


def write(path: Path, *records: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records).encode()
    path.write_bytes({".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)(text))
    return str(path)


def gold(id: Any, answer: str, *pages: str) -> dict[str, Any]:
    provenance = [{"wikipedia_id": page, "title": f"T{page}"} for page in pages]
    return {"id": id, "input": "a question", "output": [{"answer": answer, "provenance": provenance}]}


def guess(id: Any, answer: str | None, *pages: str) -> dict[str, Any]:
    return {"id": id, "output": [{"answer": answer, "provenance": [{"wikipedia_id": page} for page in pages]}]}


def run(*arguments: str) -> int:
    return main(list(arguments))


GOLDS = [gold(1, "x", "7"), gold(2, "y z", "8", "9"), gold(3, "w", "7")]
GUESSES = [guess(3, "v", "1", "7"), guess(1, "X", "7"), guess(2, "y", "8", "1")]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    return {
        "gold": write(tmp_path / "nq-dev-kilt.jsonl", *GOLDS),
        "predictions": write(tmp_path / "predictions.jsonl", *GUESSES),
        "output": str(tmp_path / "out"),
    }


def arguments(files: dict[str, str]) -> list[str]:
    return [part for name, value in files.items() for part in (f"--{name}", value)]


def read(folder: str | Path, name: str = "metrics.json") -> Any:
    text = (Path(folder) / name).read_text()
    assert "NaN" not in text
    return json.loads(text)


# --------------------------------------------------------------------------------------------
# kilt


def test_what_is_written(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("kilt", *arguments(files), "--bootstrap", "50") == 0
    shown = capsys.readouterr().out
    assert "\033" not in shown
    assert re.search(r"nq +3 +em +33\.33 +50\.00 +66\.67 +33\.33", shown)
    assert "metric:kilt|mode:official|" in shown
    summary = read(files["output"])
    found = summary["datasets"]["nq"]
    assert found["metrics"] == evaluate_kilt(GOLDS, GUESSES).metrics
    assert found["leading_metric"] == "em"
    assert set(found["intervals"]) == set(found["metrics"])
    assert summary["bootstrap"] == {"samples": 50, "seed": 12345, "confidence": 0.95}
    assert summary["signature"].endswith("|bootstrap:50,seed:12345")
    table = pq.read_table(Path(files["output"]) / "per_example.parquet")
    assert table.column("id").to_pylist() == ["1", "2", "3"]
    assert table.column("dataset").to_pylist() == ["nq"] * 3
    for name, value in found["metrics"].items():
        assert sum(table.column(name).to_pylist()) / 3 == pytest.approx(value)
    assert table.column("evidence_pages").to_pylist() == [1, 2, 1]
    assert table.schema.field("answer_words").metadata[b"description"]
    page = (Path(files["output"]) / "report.html").read_text()
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page
    assert page.count("<svg") == 2


def test_pictures(files: dict[str, str]) -> None:
    pytest.importorskip("matplotlib")
    assert run("kilt", *arguments(files), "--quiet") == 0
    pictures = sorted((Path(files["output"]) / "pictures").iterdir())
    assert [path.name for path in pictures] == ["nq_answer_length.png", "nq_evidence_size.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


def test_without_matplotlib_the_pictures_are_in_the_page(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    assert run("kilt", *arguments(files)) == 0
    assert "pip install matplotlib" in capsys.readouterr().out
    assert not (Path(files["output"]) / "pictures").exists()


@pytest.mark.parametrize("suffix", [".jsonl.gz", ".jsonl.bz2"])
def test_compressed_files_give_the_same(files: dict[str, str], tmp_path: Path, suffix: str) -> None:
    assert run("kilt", *arguments(files), "--quiet") == 0
    packed = {
        "gold": write(tmp_path / f"nq{suffix}", *GOLDS),
        "predictions": write(tmp_path / f"p{suffix}", *GUESSES),
        "output": str(tmp_path / "packed"),
    }
    assert run("kilt", *arguments(packed), "--quiet") == 0
    assert read(packed["output"]) == read(files["output"])


def test_our_parquet_as_gold(files: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "tasks" / "nq" / "validation-00000-of-00001.parquet"
    path.parent.mkdir(parents=True)
    with ShardWriter(str(path), Task) as writer:
        for record in GOLDS:
            outputs = []
            for output in record["output"]:
                spans = tuple(
                    Provenance(None, None, None, None, None, ProvenanceMeta(), None, p["title"], p["wikipedia_id"])
                    for p in output["provenance"]
                )
                outputs.append(Output(output["answer"], OutputMeta(), spans))
            outputs.append(Output("alias", OutputMeta(), None))
            writer.write(Task(str(record["id"]), record["input"], TaskMeta(), tuple(outputs), "nq", "validation", "en"))
    with_alias = [r | {"output": [*r["output"], {"answer": "alias"}]} for r in GOLDS]
    found = files | {"gold": str(tmp_path / "tasks")}
    assert run("kilt", *arguments(found), "--quiet") == 0
    assert read(files["output"])["datasets"]["nq"]["metrics"] == evaluate_kilt(with_alias, GUESSES).metrics
    # null offsets are no keys: no record is ranked by paragraph
    assert run("kilt", *arguments(found), "--quiet", "--rank-keys", "wikipedia_id,start_paragraph_id") == 0
    assert read(files["output"])["datasets"]["nq"]["metrics"]["Rprec"] == 0.0


def test_a_folder_gives_the_leaderboard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("fever", "nq", "wow", "eli5"):
        write(tmp_path / "gold" / f"{name}-dev-kilt.jsonl", *GOLDS)
        write(tmp_path / "gold" / f"{name}-train-kilt.jsonl", *GOLDS)
    for name in ("nq", "fever", "wow"):
        write(tmp_path / "guess" / f"{name}.jsonl.gz", *GUESSES)
    write(tmp_path / "guess" / "other.jsonl", *GUESSES)
    status = run(
        "kilt", "--gold", str(tmp_path / "gold"), "--predictions", str(tmp_path / "guess"), "--output", str(tmp_path)
    )
    assert status == 0
    shown = capsys.readouterr()
    assert re.findall(r"^(\w+) +3 +(\w+) ", shown.out, re.MULTILINE) == [
        ("fever", "accuracy"),
        ("nq", "em"),
        ("wow", "f1"),
    ]
    assert "eli5: no predictions, left out" in shown.err
    assert "other.jsonl: left out" in shown.err
    assert "nq: the dev split is taken" in shown.out
    assert list(read(tmp_path)["datasets"]) == ["fever", "nq", "wow"]


def test_of_several_splits_in_a_folder_dev_is_taken_then_test_then_train(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By released names and by those of our tables; each split's figures tell which one it was."""
    answers = {"dev": "X", "test": "x y", "train": "z"}  # the prediction x: EM 1, F1 2/3, nothing
    guesses = write(tmp_path / "guess.jsonl", guess(1, "x"))
    ours = {"dev": "validation", "test": "test", "train": "train"}
    for number, (splits, taken) in enumerate(
        [(("train", "test", "dev"), "dev"), (("train", "test"), "test"), (("train", "dev"), "dev")]
    ):
        for name in ("nq-{}-kilt.jsonl", "nq/{}-00000-of-00001.jsonl"):
            folder = tmp_path / str(number) / name[:3]
            for split in splits:
                write(folder / name.format(ours[split] if "/" in name else split), gold(1, answers[split]))
            output = ["--output", str(folder / "out")]
            assert run("kilt", "--gold", str(folder), "--predictions", guesses, *output) == 0
            assert f"nq: the {taken} split is taken; name the files to take another\n" in capsys.readouterr().out
            found = read(folder / "out")["datasets"]["nq"]["metrics"]
            assert (found["em"], round(found["f1"], 4)) == {"dev": (1.0, 1.0), "test": (0.0, 0.6667)}[taken]
    only = ["--gold", str(tmp_path / "2" / "nq-" / "nq-train-kilt.jsonl"), "--predictions", guesses]
    assert run("kilt", *only) == 0
    assert "split is taken" not in capsys.readouterr().out


def test_what_an_evaluation_wrote_is_no_prediction(tmp_path: Path) -> None:
    """Results go into the folder of the predictions, and the evaluation is run again."""
    gold_file = write(tmp_path / "nq-dev-kilt.jsonl", *GOLDS)
    for number in range(2):
        write(tmp_path / "p" / f"part-{number}.jsonl", *GUESSES[number::2])
    given = ["--gold", gold_file, "--predictions", str(tmp_path / "p"), "--output", str(tmp_path / "p"), "--quiet"]
    assert run("kilt", *given) == 0
    first = read(tmp_path / "p")
    assert (tmp_path / "p" / "per_example.parquet").exists()
    assert run("kilt", *given) == 0
    assert read(tmp_path / "p") == first
    only_results = tmp_path / "p" / "per_example.parquet"
    for path in (tmp_path / "p").glob("part-*"):
        path.unlink()
    assert only_results.exists()
    assert run("kilt", *given) == 2


def test_intervals_are_the_percentiles_of_the_samples(files: dict[str, str]) -> None:
    assert run("kilt", *arguments(files), "--bootstrap", "40", "--seed", "9", "--quiet") == 0
    found = read(files["output"])["datasets"]["nq"]["intervals"]["em"]
    random = np.random.default_rng(9)
    right = np.array([1, 0, 0])  # of examples 1, 2 and 3
    drawn = [right[random.integers(0, 3, 3)].mean() for _ in range(40)]
    assert found == pytest.approx([*np.percentile(drawn, [2.5, 97.5])])
    page = (Path(files["output"]) / "report.html").read_text()
    assert page.count("Intervals: percentile bootstrap over examples.") == 1  # of the table that has some
    assert run("kilt", *arguments(files), "--quiet") == 0
    assert "Intervals:" not in (Path(files["output"]) / "report.html").read_text()


def test_two_systems_are_compared(files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = write(tmp_path / "other.jsonl", *(guess(id, "x") for id in (1, 2, 3)))
    assert run("kilt", *arguments(files), "--compare", other, "--seed", "3") == 0
    compared = read(files["output"])["datasets"]["nq"]["comparison"]["f1"]
    ours, theirs = (evaluate_kilt(GOLDS, g).metrics["f1"] for g in (GUESSES, [guess(i, "x") for i in (1, 2, 3)]))
    assert (compared["other"], compared["difference"]) == (pytest.approx(theirs), pytest.approx(ours - theirs))
    assert 0 < compared["p_value"] <= 1
    assert "difference" in capsys.readouterr().out


def test_strict_says_so(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("kilt", *arguments(files), "--strict") == 0
    shown = capsys.readouterr().out
    assert "mode:strict" in shown
    assert "strict mode" in shown
    assert read(files["output"])["mode"] == "strict"
    assert "Strict mode" in (Path(files["output"]) / "report.html").read_text()


@pytest.mark.parametrize(
    ("golds", "guesses", "message"),
    [
        (GOLDS, GUESSES[:2], r"p\.jsonl: there is no prediction for id '2'"),
        (GOLDS, [*GUESSES, GUESSES[0]], r"p\.jsonl: there is more than one prediction for id '3'"),
        ([*GOLDS, GOLDS[0]], GUESSES, r"nq\.jsonl: the gold ids are not unique for id '1'"),
        (GOLDS, [*GOLDS[:2], {"id": 3, "output": [{}, {}]}], r"p\.jsonl, line 3: .*id '3' has 2 outputs"),
        (GOLDS, [{"answer": "x"}], r"p\.jsonl, line 1: prediction record 1 has no id"),
        ([{"id": 1, "output": "x"}], GUESSES, r"nq\.jsonl, line 1: the gold record '1': its output is 'x'"),
    ],
)
@pytest.mark.parametrize("beam", [False, True])
def test_errors_name_file_and_id(
    golds: Any, guesses: Any, message: str, beam: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {
        "gold": write(tmp_path / "nq.jsonl", *golds),
        "predictions": write(tmp_path / "p.jsonl", *guesses),
        "output": str(tmp_path / "out"),
    }
    assert run("kilt", *arguments(given), "--quiet", *(["--"] if beam else [])) == 2
    error = capsys.readouterr().err
    if beam:  # there a record is scored after the join, where its line is no longer known
        message = message.replace(r"p\.jsonl, line 3: .*id", "nq: .*id")
    assert re.search(message, error), error
    assert error.count("\n") == 1
    assert not (tmp_path / "out" / "metrics.json").exists()


def test_a_line_that_is_no_json_is_named(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with open(files["predictions"], "a") as stream:
        stream.write("\n{'id': 1}\n")
    assert run("kilt", *arguments(files)) == 2
    assert "predictions.jsonl, line 5: not JSON" in capsys.readouterr().err


def test_text_file_conventions(tmp_path: Path) -> None:
    """A byte-order mark, blank lines and a line separator within a text."""
    one = json.dumps(guess(1, "a\u2028b"), ensure_ascii=False)
    (tmp_path / "p.jsonl").write_bytes(f"\ufeff{one}\r\n\n".encode())
    golds = write(tmp_path / "nq.jsonl", gold(1, "a b"))
    assert run("kilt", "--gold", golds, "--predictions", str(tmp_path / "p.jsonl"), "--output", str(tmp_path)) == 0
    assert read(tmp_path)["datasets"]["nq"]["metrics"]["em"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "say what to evaluate"),
        (("squad",), "say what to evaluate"),
        (("kilt", "--gold", "nowhere.jsonl", "--predictions", "x"), "nowhere.jsonl"),
        (("kilt", "--gold", "x"), "--predictions"),
        (("kilt", "--gold", "x", "--predictions", "x", "--ks", "0"), "'0' is not a whole number"),
        (("kilt", "--gold", "x", "--predictions", "x", "--", "--direct_num_workers=2"), "--output DIR"),
        (("mkqa", "--gold", "x", "--predictions", "x", "--language", "nb"), "Norwegian is no"),
    ],
)
def test_errors_of_the_command_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("beam", [[], ["--"]])
def test_two_empty_files_give_zeros(files: dict[str, str], beam: list[str]) -> None:
    write(Path(files["gold"]))
    write(Path(files["predictions"]))
    assert run("kilt", *arguments(files), "--bootstrap", "5", "--quiet", *beam) == 0
    found = read(files["output"])["datasets"]["nq"]
    assert found["examples"] == 0
    assert set(found["metrics"].values()) == {0.0}
    assert pq.read_table(Path(files["output"]) / "per_example.parquet").num_rows == 0


def test_a_published_test_file_has_no_output(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    write(Path(files["gold"]), {"id": 1, "input": "a question"})
    assert run("kilt", *arguments(files)) == 2
    assert "line 1: the gold record '1' has no output: the answers of published test files are kept back" in (
        capsys.readouterr().err
    )


def test_a_dry_run_writes_nothing(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("kilt", *arguments(files), "--dry-run") == 0
    assert "would read" in capsys.readouterr().out
    assert not Path(files["output"]).exists()


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    assert "kilt|mkqa" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/nq-dev-kilt.jsonl", "nq"),
        ("structured_zeroshot-dev-kilt.jsonl.gz", "structured_zeroshot"),
        ("triviaqa-dev_id-kilt.jsonl", "triviaqa"),
        ("tasks/hotpotqa/validation-00000-of-00001.parquet", "hotpotqa"),
        ("wow_predictions.jsonl", None),
        ("unique.jsonl", None),
    ],
)
def test_datasets_by_file_name(path: str, name: str | None) -> None:
    assert dataset_of(path) == (name if name or "wow" not in path else "wow")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("p/en.jsonl", "en"),
        ("en_prediction.jsonl", "en"),
        ("zh-CN.jsonl.gz", "zh_cn"),
        ("mkqa.zh_tw.jsonl", "zh_tw"),
        ("predictions-no.jsonl", "no"),
        ("all.jsonl", None),
    ],
)
def test_languages_by_file_name(path: str, code: str | None) -> None:
    assert language_in(path) == code


# --------------------------------------------------------------------------------------------
# Datasets that are not KILT's


OWN = """
from kiltetl.transforms.datasets.spec import Dataset

def made(name, metric):
    return Dataset(
        name=name, task="T", read=lambda row: iter(()), splits=("validation",), row_example="{}",
        licence="none", homepage="https://example.org", leading_metric=metric,
    )

RANKED = made("NQ-hard", "rougel")
UNRANKED = made("unranked", None)
NQ = made("nq", "f1")
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The module of some datasets of a user."""
    write(tmp_path / "modules" / "own_sets.py")
    (tmp_path / "modules" / "own_sets.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    monkeypatch.delitem(sys.modules, "own_sets", raising=False)
    return "own_sets"


@pytest.mark.parametrize("beam", [[], ["--"]])
def test_a_dataset_from_outside_has_its_name_and_metric(
    files: dict[str, str], own: str, beam: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("kilt", *arguments(files), "--dataset", f"{own}:RANKED", *beam) == 0
    assert re.search(r"^NQ-hard +3 +rougel +\d", capsys.readouterr().out, re.MULTILINE)
    found = read(files["output"])["datasets"]
    assert list(found) == ["NQ-hard"]
    assert found["NQ-hard"]["leading_metric"] == "rougel"
    assert found["NQ-hard"]["metrics"] == evaluate_kilt(GOLDS, GUESSES).metrics
    assert "rougel</text>" in (Path(files["output"]) / "report.html").read_text()
    assert pq.read_table(Path(files["output"]) / "per_example.parquet").column("dataset").to_pylist() == ["NQ-hard"] * 3


def test_a_dataset_from_outside_is_found_in_a_folder(
    own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, records in (("gold", GOLDS), ("p", GUESSES)):
        write(tmp_path / folder / "nq-dev.jsonl", *records[:2])
        write(tmp_path / folder / "nq-hard-dev.jsonl", *records)
    write(tmp_path / "gold" / "nq-hard-train.jsonl", GOLDS[0])
    places = ["--gold", str(tmp_path / "gold"), "--predictions", str(tmp_path / "p"), "--output", str(tmp_path / "out")]
    assert run("kilt", *places, "--dataset", f"{own}:RANKED") == 0
    assert "NQ-hard: the dev split is taken" in capsys.readouterr().out
    assert {name: of["examples"] for name, of in read(tmp_path / "out")["datasets"].items()} == {"NQ-hard": 3}
    assert dataset_of("p/nq-hard-dev.jsonl", ["nq", "NQ-hard"]) == "NQ-hard"
    assert dataset_of("p/nq-hard-dev.jsonl") == "nq"
    assert dataset_of("p/nqxhard.jsonl", ["nq.hard"]) is None


@pytest.mark.parametrize("dataset", [None, "mine", "mkqa", "own_sets:UNRANKED"])
def test_a_dataset_without_a_leaderboard_has_every_figure(
    files: dict[str, str], own: str, tmp_path: Path, dataset: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write(tmp_path / "questions.jsonl", *GOLDS)
    given = files | {"gold": other} | ({} if dataset is None else {"dataset": dataset})
    assert run("kilt", *arguments(given)) == 0
    assert "leading" not in capsys.readouterr().out
    (name,) = read(files["output"])["datasets"]
    assert name == {None: "questions", "own_sets:UNRANKED": "unranked"}.get(dataset, dataset)
    found = read(files["output"])["datasets"][name]
    assert found["leading_metric"] is None
    assert found["metrics"] == evaluate_kilt(GOLDS, GUESSES).metrics
    assert "f1</text>" in (Path(files["output"]) / "report.html").read_text()


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ("own_sets:NONE", "own_sets has no NONE"),
        ("own_sets:made", "made is a function, not a Dataset"),
        ("own_sets:NQ", "it is named nq, as a built-in dataset is"),
        ("nowhere_sets:DATASET", "there is no module nowhere_sets"),
        ("C:/nq", "not of the form package.module:DATASET"),
    ],
)
def test_errors_of_datasets_from_outside(
    files: dict[str, str], own: str, dataset: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("kilt", *arguments(files), "--dataset", dataset) == 2
    assert message in capsys.readouterr().err
    assert not Path(files["output"]).exists()


@pytest.mark.parametrize("beam", [[], ["--"]])
def test_a_dataset_may_have_any_name(files: dict[str, str], beam: list[str]) -> None:
    pytest.importorskip("matplotlib")
    assert run("kilt", *arguments(files), "--dataset", "a/b\\..", "--quiet", *beam) == 0
    assert list(read(files["output"])["datasets"]) == ["a/b\\.."]
    assert {path.name for path in (Path(files["output"]) / "pictures").iterdir()} == {
        "a_b_.._answer_length.png", "a_b_.._evidence_size.png",
    }  # fmt: skip


def test_the_datasets_of_the_leaderboard() -> None:
    assert list(RANKED.items()) == [
        ("fever", "accuracy"), ("aidayago2", "accuracy"), ("wned", "accuracy"), ("cweb", "accuracy"),
        ("trex", "accuracy"), ("structured_zeroshot", "accuracy"), ("nq", "em"), ("hotpotqa", "em"),
        ("triviaqa", "em"), ("eli5", "rougel"), ("wow", "f1"),
    ]  # fmt: skip


# --------------------------------------------------------------------------------------------
# mkqa


@pytest.fixture
def mkqa_files(tmp_path: Path) -> dict[str, str]:
    choose = random.Random(1)
    words = ["x", "y", "the z", "w v", ""]
    golds, guesses = [], {"en": [], "zh_cn": [], "no": []}  # type: ignore[var-annotated]
    for i in range(40):
        answers = {
            language: [{"type": "entity", "text": choose.choice([*words[:4], None])}] for language in mkqa.LANGUAGES
        }
        golds.append({"example_id": i, "queries": {}, "answers": answers})
        for of in guesses.values():
            prediction = {"example_id": str(i), "prediction": choose.choice(words), "binary_answer": None}
            of.append(prediction | {"no_answer_prob": choose.choice((0.1, 0.4, choose.random()))})
    for of in guesses.values():
        choose.shuffle(of)
    write(tmp_path / "p" / "en.jsonl", *guesses["en"])
    write(tmp_path / "p" / "zh-CN.jsonl.gz", *guesses["zh_cn"])
    write(tmp_path / "p" / "no.jsonl", *guesses["no"])
    return {
        "gold": write(tmp_path / "mkqa.jsonl.gz", *golds),
        "predictions": str(tmp_path / "p"),
        "output": str(tmp_path / "out"),
    }


def test_mkqa_writes_the_same_kinds_of_files(mkqa_files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("mkqa", *arguments(mkqa_files), "--verbose", "--bootstrap", "20") == 0
    shown = capsys.readouterr()
    assert "macro average (3 of 26)" in shown.out
    assert "over 3 of 26 languages; missing: ar, da, de" in shown.err
    summary = read(mkqa_files["output"])
    assert list(summary["languages"]) == ["en", "no", "zh_cn"]
    assert set(summary["languages"]["no"]["metrics"]) == {*BEST, *PLAIN}
    assert len(summary["macro_average"]["missing"]) == 23
    rows = pq.read_table(Path(mkqa_files["output"]) / "per_example.parquet").to_pylist()
    assert len(rows) == 3 * 40
    for language in ("en", "no"):
        mine = [row for row in rows if row["language"] == language]
        found = summary["languages"][language]["metrics"]
        assert round(100 * sum(row["best_em"] for row in mine) / 40, 2) == found["best_em"]
        assert round(100 * sum(row["f1"] for row in mine) / 40, 2) == found["f1"]
    assert (Path(mkqa_files["output"]) / "report.html").read_text().count("<svg") == 6


def test_mkqa_of_one_language(mkqa_files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    one = mkqa_files | {"predictions": str(Path(mkqa_files["predictions"]) / "zh-CN.jsonl.gz")}
    assert run("mkqa", *arguments(one)) == 0
    assert list(read(one["output"])["languages"]) == ["zh_cn"]
    assert "best_em" in capsys.readouterr().out
    assert run("mkqa", *arguments(mkqa_files), "--language", "zh-CN") == 0
    Path(one["predictions"]).rename(Path(one["output"]) / "mine.jsonl.gz")
    unnamed = one | {"predictions": str(Path(one["output"]) / "mine.jsonl.gz")}
    assert run("mkqa", *arguments(unnamed)) == 2
    assert "--language" in capsys.readouterr().err
    assert run("mkqa", *arguments(unnamed), "--language", "zh_cn") == 0


def test_mkqa_names_a_file_of_another_language(
    mkqa_files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "p" / "nb.jsonl", {})
    assert run("mkqa", *arguments(mkqa_files)) == 2
    assert "'nb' is no language of MKQA; Norwegian is no" in capsys.readouterr().err


@pytest.mark.parametrize("beam", [[], ["--"]])
def test_mkqa_names_its_gold_file(mkqa_files: dict[str, str], beam: list[str], capsys: Any) -> None:
    path = Path(mkqa_files["gold"])
    records = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    write(path, *records, records[3])
    assert run("mkqa", *arguments(mkqa_files), "--quiet", *beam) == 2
    assert "mkqa.jsonl.gz: the gold ids are not unique for id '3'" in capsys.readouterr().err
    for record in records:
        del record["answers"]["zh_cn"], record["answers"]["no"]
    write(path, *records)
    assert run("mkqa", *arguments(mkqa_files), "--quiet", *beam) == 2
    assert "mkqa.jsonl.gz: no answers in no, zh_cn" in capsys.readouterr().err
    write(path)
    assert run("mkqa", *arguments(mkqa_files), "--quiet", *beam) == 2
    assert "no answers in en, no, zh_cn" in capsys.readouterr().err


def test_mkqa_reads_gold_once_for_two_systems(mkqa_files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = evaluation.read_rows

    def noted(path: str, **options: Any) -> Any:
        asked.append(Path(path).name)
        return real(path, **options)

    monkeypatch.setattr(evaluation, "read_rows", noted)
    both = mkqa_files | {"compare": mkqa_files["predictions"]}
    assert run("mkqa", *arguments(both), "--quiet", "--bootstrap", "2") == 0
    assert asked == ["mkqa.jsonl.gz", *(name for name in ("en.jsonl", "no.jsonl", "zh-CN.jsonl.gz") for _ in "12")]
    compared = read(mkqa_files["output"])["languages"]["no"]["comparison"]["best_em"]
    assert compared["difference"] == 0.0


def test_mkqa_names_the_line(mkqa_files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "p" / "en.jsonl", {"example_id": 1, "prediction": "x", "binary_answer": True})
    for beam in ([], ["--"]):
        assert run("mkqa", *arguments(mkqa_files), "--quiet", *beam) == 2
        assert "en.jsonl, line 1: id '1': binary_answer is True" in capsys.readouterr().err


# --------------------------------------------------------------------------------------------
# As a graph


def _same_files(left: Path, right: Path) -> None:
    assert read(left) == read(right)
    assert pq.read_table(left / "per_example.parquet").equals(pq.read_table(right / "per_example.parquet"))
    assert (left / "report.html").read_bytes() == (right / "report.html").read_bytes()
    assert sorted(path.name for path in left.iterdir()) == sorted(path.name for path in right.iterdir())


def test_kilt_on_beam_gives_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gold and predictions in shards, two systems, extra ids, several buckets."""
    monkeypatch.setattr("kiltetl.transforms.jobs.evaluation.BUCKET_BYTES", 500)
    choose = random.Random(2)
    golds = [gold(i, choose.choice(("x", "y z", "The")), *choose.sample("123456", 2)) for i in range(60)]
    systems = []
    for _ in range(2):
        guesses = [guess(i, choose.choice(("x", "y", None, "")), *choose.sample("123456", 4)) for i in range(60)]
        systems.append(choose.sample(guesses, 60))
    for number in range(3):
        write(tmp_path / "gold" / f"nq-{number}.jsonl", *golds[number * 20 : number * 20 + 20])
        write(tmp_path / "p" / f"part-{number}.jsonl", *systems[0][number::3], guess(f"extra{number}", "x"))
    other = write(tmp_path / "other.jsonl", *systems[1])
    for name, beam in (("here", []), ("beam", ["--"])):
        status = run(
            "kilt", "--gold", str(tmp_path / "gold"), "--predictions", str(tmp_path / "p" / "*"),
            "--compare", other, "--bootstrap", "20", "--output", str(tmp_path / name), "--quiet", *beam,
        )  # fmt: skip
        assert status == 0
    _same_files(tmp_path / "here", tmp_path / "beam")
    found = read(tmp_path / "beam")["datasets"]["nq"]
    assert found["metrics"] == evaluate_kilt(golds, systems[0]).metrics
    assert found["extra_ids"] == ["extra0", "extra1", "extra2"]


@pytest.mark.parametrize("strict", [[], ["--strict"]])
def test_mkqa_on_beam_gives_the_same_files(mkqa_files: dict[str, str], tmp_path: Path, strict: list[str]) -> None:
    for name, beam in (("here", []), ("beam", ["--"])):
        given = mkqa_files | {"output": str(tmp_path / name)}
        assert run("mkqa", *arguments(given), "--quiet", "--verbose", *strict, *beam) == 0
    _same_files(tmp_path / "here", tmp_path / "beam")


def test_a_gold_file_of_one_name_holds_that_alone(files: dict[str, str]) -> None:
    settings, console = parse_arguments(["kilt", *arguments(files)])
    job = replace(plan(settings, console), names=("fever", "nq"))
    info = job.gold[0].info
    assert job.names_in(evaluation.Source("nq", info, 0)) == ("nq",)
    assert job.names_in(evaluation.Source(None, info, 0)) == ("fever", "nq")


def test_a_bucket_names_the_first_ids_that_have_a_problem(files: dict[str, str]) -> None:
    settings, console = parse_arguments(["kilt", *arguments(files)])
    job = plan(settings, console)
    missing = [evaluation.Scored("nq", 0, problem=MISSING, id=str(place), position=place) for place in range(30)]
    evaluation.write_bucket(job, 0, reversed(missing))
    summary = job.staging.summary("bucket", 0)
    assert summary["problems"] == {f"0-0:{MISSING}": [[place, str(place)] for place in range(20)]}
    assert summary["counts"] == {f"0-0:{MISSING}": 30}


def test_beam_names_many_missing_ids_as_the_process_does(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(Path(files["gold"]), *(gold(i, "x") for i in range(30)))
    write(Path(files["predictions"]), guess(7, "x"))
    errors = []
    for beam in ([], ["--"]):
        assert run("kilt", *arguments(files), "--quiet", *beam) == 2
        errors.append(capsys.readouterr().err)
    assert errors[0] == errors[1]
    assert "there is no prediction for 29 ids: '0', '1', '2', '3', '4', …" in errors[0]


def test_the_oracle_through_the_command(shared: Path, tmp_path: Path) -> None:
    folder = shared / "oracle" / "kilt_eval" / "case2"
    expected = json.loads((folder / "expected.json").read_text())["retrieval:wikipedia_id"]
    for beam in ([], ["--"]):
        given = {
            "gold": str(folder / "gold.jsonl"),
            "predictions": str(folder / "guess.jsonl"),
            "dataset": "nq",
            "output": str(tmp_path),
        }
        assert run("kilt", *arguments(given), "--quiet", *beam) == 0
        found = read(tmp_path)["datasets"]["nq"]["metrics"]
        assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-9)


class CountedId(str):
    """An id that counts how often it is compared with another."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CountedId.compared += 1
        return str.__eq__(self, other)

    def strip(self, *_: Any) -> "CountedId":
        return self

    def __str__(self) -> "CountedId":
        return self


def test_each_id_is_compared_a_few_times_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The join of ids is linear; the released one takes seconds for 20,000 records."""
    monkeypatch.setattr(CountedId, "compared", 0)
    count = 2000
    golds = ({"id": CountedId(i), "output": [{"answer": "x"}]} for i in range(count))
    guesses = ({"id": CountedId(i), "output": [{"answer": "x"}]} for i in reversed(range(count)))
    assert evaluate_kilt(golds, guesses).metrics["em"] == 1.0
    assert count <= CountedId.compared <= 10 * count


# --------------------------------------------------------------------------------------------
# How it is left in its folder


def state(folder: Path) -> dict[str, bytes]:
    """What a reader sees in the output: its files, without staging folders and locks."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if not name.startswith(".kiltetl-")}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures that take no time; each tells what it shows."""
    monkeypatch.setattr(evaluation, "as_png", lambda pictures: {one.file: one.title.encode() for one in pictures})


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> Any:
    return partial(die_at, monkeypatch)


@pytest.fixture
def two(files: dict[str, str], mkqa_files: dict[str, str], tmp_path: Path, quick: None) -> dict[str, Any]:
    """Two evaluations into one folder, that leave other pictures: what they are given, and what they leave."""
    wow = write(tmp_path / "wow-dev-kilt.jsonl", *GOLDS)
    given = {"nq": ["kilt", *arguments(files)], "wow": ["kilt", *arguments(files | {"gold": wow})],
             "mkqa": ["mkqa", *arguments(mkqa_files)]}  # fmt: skip
    found: dict[str, Any] = {}
    for name, one in given.items():
        fresh = [*one[:-1], str(tmp_path / "fresh" / name), "--quiet"]
        assert run(*fresh) == 0
        found[name] = ([*one, "--quiet"], state(tmp_path / "fresh" / name))
    return found


def unscorable(given: list[str], folder: Path) -> list[str]:
    """The same evaluation of predictions that cannot be scored: all that it does is to finish another's work."""
    place = given.index("--predictions") + 1
    return [*given[:place], write(folder / "none.jsonl"), *given[place + 1 :]]


def fits(seen: dict[str, bytes], *results: dict[str, bytes]) -> bool:
    """Whether metrics.json, where it stands, has the files of its own evaluation beside it and no others."""
    return METRICS not in seen or seen in results


@pytest.mark.parametrize("new", ["wow", "mkqa", "nq"])
def test_a_run_that_dies_leaves_the_old_result_or_the_next_one_finishes_it(
    two: dict[str, Any], new: str, tmp_path: Path, dying: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (old_given, old), (given, result) = two["nq"], two[new]
    output, step = tmp_path / "out", 0
    while True:
        shutil.rmtree(output, ignore_errors=True)
        assert run(*old_given) == 0
        done = dying(step)
        status = run(*given)
        monkeypatch.undo()
        monkeypatch.setattr(evaluation, "as_png", lambda pictures: {one.file: one.title.encode() for one in pictures})
        decided = "publication.json" in done
        if not decided:
            assert state(output) == old
        assert fits(state(output), old, result)
        if status == 0:
            break
        assert status == 1
        assert run(*unscorable(old_given, tmp_path)) == 2
        assert state(output) == (result if decided else old)
        assert run(*given) == 0
        assert state(output) == result
        assert not list(output.glob(".kiltetl-*"))
        step += 1
    assert state(output) == result
    # the staging folder, an old mark, the decision, the old manifest and pictures, two folders, the files, the
    # manifest, the mark and the staging folder
    stale = len(set(old) - set(result))
    assert step == 3 + 1 + stale + 2 + (len(result) - 1) + 2 + 1


@pytest.mark.parametrize("step", [0, 1, 4, 7, 9])
def test_a_graph_that_dies_leaves_the_old_result_or_the_next_one_finishes_it(
    two: dict[str, Any], step: int, tmp_path: Path, dying: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (old_given, old), (given, result) = two["nq"], two["wow"]
    output = tmp_path / "out"
    assert run(*old_given) == 0
    before = 3  # the staging folder, the mark of the one bucket, an old mark of a publication
    done = dying(before + step)
    assert run(*given, "--") == 1
    monkeypatch.undo()
    decided = "publication.json" in done
    assert decided == (step > 0)
    assert fits(state(output), old, result)
    if not decided:
        assert state(output) == old
    assert run(*unscorable(old_given, tmp_path)) == 2
    assert state(output) == (result if decided else old)


def test_a_step_of_the_graph_that_is_tried_again_finishes_what_it_had_decided(
    two: dict[str, Any], tmp_path: Path, dying: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, result = two["wow"]
    settings, console = parse_arguments(given)
    job = plan(settings, console)
    dying(5)
    with pytest.raises(RunFailed):
        run_graph(partial(build, job=job), beam_options([]))
    monkeypatch.undo()
    assert not (tmp_path / "out" / METRICS).exists()
    monkeypatch.setattr("kiltetl.transforms.beam.evaluation.publish", None)  # would fail, were it called
    run_graph(partial(build, job=job), beam_options([]))
    assert state(tmp_path / "out") == result


@pytest.mark.parametrize("beam", [[], ["--"]])
def test_one_evaluation_at_a_time_writes_into_a_folder(
    two: dict[str, Any], beam: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, result = two["wow"]
    assert run(*given) == 0
    with locked(str(tmp_path / "out"), "evaluation"):
        assert run(*two["nq"][0], *beam) == 2
        assert "out: another run is writing evaluation there" in capsys.readouterr().err
        without_output = [part for part in two["nq"][0] if part not in ("--output", str(tmp_path / "out"))]
        assert run(*without_output) == 0
    assert state(tmp_path / "out") == result


@pytest.mark.parametrize("beam", [[], ["--"]])
def test_another_run_is_refused_while_the_first_reads(
    two: dict[str, Any], beam: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses: list[int] = []
    real = evaluation.read_rows

    def read_rows(path: str, **options: Any) -> Any:
        if not statuses:
            statuses.append(0)
            statuses[0] = run(*two["mkqa"][0])
        return real(path, **options)

    monkeypatch.setattr(evaluation, "read_rows", read_rows)
    assert run(*two["nq"][0], *beam) == 0
    assert statuses == [2]


@pytest.mark.parametrize("beam", [[], ["--"]])
def test_pictures_of_an_evaluation_before_go_and_others_stay(
    two: dict[str, Any], beam: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = {"pictures/mine.png": b"mine", "pictures/x\\_answer_length.png": b"mine", "notes.txt": b"mine"}
    assert run(*two["mkqa"][0]) == 0
    for name, content in mine.items():
        (tmp_path / "out" / name).write_bytes(content)
    assert run(*two["nq"][0], *beam) == 0
    assert state(tmp_path / "out") == two["nq"][1] | mine

    def without_matplotlib(pictures: Any) -> Any:
        raise ImportError("matplotlib")

    monkeypatch.setattr(evaluation, "as_png", without_matplotlib)
    assert run(*two["nq"][0], *beam) == 0
    assert set(state(tmp_path / "out")) == {METRICS, "per_example.parquet", "report.html", *mine}
    assert "pip install matplotlib" in read(tmp_path / "out")["pictures"]


def test_what_cannot_be_scored_leaves_the_result_before(two: dict[str, Any], tmp_path: Path) -> None:
    given, result = two["nq"]
    assert run(*given) == 0
    write(tmp_path / "predictions.jsonl", *GUESSES[:2])
    for beam in ([], ["--"]):
        assert run(*given, *beam) == 2
        assert state(tmp_path / "out") == result


@pytest.mark.parametrize("waits", [True, False])
def test_a_graph_that_goes_on_elsewhere(
    two: dict[str, Any], waits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """The result before is not taken for its own."""
    real = runner.run
    assert run(*two["nq"][0]) == 0
    monkeypatch.setattr(runner, "runs_here", lambda options: False)
    monkeypatch.setattr(runner, "see_this_machine", lambda options: True)
    monkeypatch.setattr(runner, "run", lambda draw, options: real(draw, beam_options([])) if waits else {})
    monkeypatch.setattr(runner, "goes_on", lambda options: not waits)
    given = [part for part in two["wow"][0] if part != "--quiet"]
    assert run(*given, "--", "--direct_num_workers=1") == 0
    said = capsys.readouterr().out
    assert ("submitted; " in said) is not waits
    assert ("wow" in said) is waits
    assert state(tmp_path / "out") == two["wow" if waits else "nq"][1]
    assert run(*given, "--", "--direct_num_workers=1") == (0 if waits else 2)
    if not waits:
        said = capsys.readouterr().err
        assert "a run that was submitted may still be at work there; if it has ended without" in said


def test_a_graph_whose_workers_write_elsewhere_has_failed(
    two: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(runner, "run", lambda draw, options, workers: {})
    given = two["wow"][0]
    assert run(*given, "--", "--direct_num_workers=1") == 1
    assert "metrics.json is not there: its workers wrote to" in capsys.readouterr().err


def test_local_files_are_refused_where_no_worker_sees_them(two: dict[str, Any], tmp_path: Path, capsys: Any) -> None:
    given = two["wow"][0]
    for runner_of, name in (
        (["--runner=DataflowRunner", "--project=project-one", "--region=r", "--temp_location=gs://b/t"], "Dataflow"),
        (["--runner=PortableRunner"], "Portable"),
        (["--runner=FlinkRunner", "--environment_type=DOCKER"], "Flink"),
    ):
        assert run(*given, "--", *runner_of) == 2
        said = capsys.readouterr().err
        assert f"the workers of {name}Runner do not see the files of this machine" in said


def test_a_folder_that_cannot_be_made_is_named_before_anything_is_read(files: dict[str, str], capsys: Any) -> None:
    given = files | {"output": str(Path(files["gold"]) / "out"), "predictions": files["gold"]}
    assert run("kilt", *arguments(given)) == 2
    assert "nq-dev-kilt.jsonl" in capsys.readouterr().err
    assert run("kilt", *arguments(given), "--dry-run") == 2
