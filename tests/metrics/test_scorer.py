"""The protocol of benchmarks: its join, and a third benchmark that no caller knows, from the command to the files."""

import ast
import doctest
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kiltetl.pipelines import evaluate
from kiltetl.pipelines.arguments import Parser
from kiltetl.pipelines.console import Console
from kiltetl.pipelines.evaluate_inputs import Plan, Settings, find
from kiltetl.schemas.arrow import schema_of, table_of
from kiltetl.schemas.errors import EvaluationError, MalformedRecord
from kiltetl.transforms.metrics import scorer as protocol
from kiltetl.transforms.metrics.kilt_scorer import KiltScorer
from kiltetl.transforms.metrics.mkqa_scorer import MkqaScorer
from kiltetl.transforms.metrics.scorer import EXTRA, Golds, Scorer, named_ids, read_golds, refuse, score_name
from kiltetl.transforms.reports.charts import Picture, file_name
from kiltetl.transforms.reports.scores import DISPLAYS
from kiltetl.transforms.reports.scores_display import Display, Section, Table
from tests.support.checkout import ROOT


@dataclass(frozen=True, slots=True)
class SumScore:
    """Whether a number is right."""

    id: str
    right: float
    position: int


@dataclass(frozen=True)
class SumScorer:
    """Sums: gold records ``{"id", "even" or "odd": sum}``, predictions ``{"id", "sum"}``; a name is a parity."""

    strict: bool = False
    benchmark: ClassVar[str] = "sums"
    score: ClassVar[type] = SumScore

    def about(self, name: str) -> str:
        return f"{name} sums: "

    def read_gold(
        self, record: Any, number: int, names: Collection[str]
    ) -> Iterator[tuple[str, str, int, Sequence[str]]]:
        for name in names:
            if name in record:
                yield name, record["id"], record[name], ["gold is 0"] if record[name] == 0 else []

    def read_prediction(self, record: Any, number: int) -> tuple[str, int, Sequence[str]]:
        if not isinstance(record.get("sum"), int):
            raise MalformedRecord(f"sum {number} is none")
        return record["id"], record["sum"], ["a guess below 0"] if record["sum"] < 0 else []

    def score_one(
        self, name: str, gold: int, prediction: int, gold_position: int, position: int
    ) -> tuple[SumScore, Sequence[str]]:
        near = ["near"] if abs(gold - prediction) == 1 else []
        return SumScore(f"{name} {gold}", float(gold == prediction), position), near

    def gather(
        self, name: str, rows: Sequence[SumScore], notes: Mapping[str, int], extra: Sequence[str]
    ) -> dict[str, Any]:
        return {"rows": list(rows), "notes": dict(notes), "extra": list(extra)}

    def evaluation(self, parts: Mapping[str, dict[str, Any]]) -> Mapping[str, dict[str, Any]]:
        return parts

    def summary(
        self, ours: Mapping[str, dict[str, Any]], other: Mapping[str, dict[str, Any]] | None, number: int, seed: int
    ) -> dict[str, Any]:
        names = {
            name: {
                "right": sum(row.right for row in of["rows"]),
                "other": other and sum(row.right for row in other[name]["rows"]),
                "notes": of["notes"],
                "extra": of["extra"],
            }
            for name, of in ours.items()
        }
        return {"benchmark": self.benchmark, "mode": "official", "signature": "metric:sums", "names": names}

    def schema(self) -> pa.Schema:
        return schema_of(SumScore)

    def tables(self, evaluation: Mapping[str, dict[str, Any]]) -> Iterator[pa.Table]:
        yield from (table_of(SumScore, of["rows"]) for of in evaluation.values())


def _rows(summary: Mapping[str, Any]) -> list[list[str]]:
    return [["name", "right"], *([name, f"{of['right']:g}"] for name, of in summary["names"].items())]


def _sections(summary: Mapping[str, Any], pictures: Sequence[Picture]) -> Iterator[Section]:
    yield Section("Sums", ["a note"], [Table("Right", _rows(summary)), Table("Nothing", [])], True, pictures)


SUMS = Display(
    "Sums of numbers",
    ("right",),
    lambda evaluation, summary: [
        Picture(name, "right", "bars", name, "right", {"right": [50.0]}, labels=("all (2)",)) for name in evaluation
    ],
    lambda summary: [_rows(summary), [["a second", "table"]]],
    lambda summary: [f"{name}: {of['notes']}" for name, of in summary["names"].items()],
    _sections,
)


class Sums:
    epilog = "numbers are added"

    def add_options(self, parser: Parser) -> None:
        parser.add_argument("--language", metavar="PARITY")

    def plan(self, settings: Settings, places: Sequence[tuple[str, str]], console: Console) -> Plan:
        names = settings.language.split(",") if settings.language else ["even", "odd"]
        systems = [{name: [info for info in find(path) if name in info.path] for name in names} for _, path in places]
        return Plan(SumScorer(settings.strict), {None: find(settings.gold)}, systems)


# --------------------------------------------------------------------------------------------
# The join


def read(records: Sequence[Any], *names: str) -> dict[str, Golds]:
    return read_golds(SumScorer(), records, names)


GOLD = [{"id": "a", "even": 2, "odd": 1}, {"id": "b", "even": 0}, {"id": "c", "even": 4}]


def test_gold_is_told_apart_by_name_in_the_order_of_the_file() -> None:
    found = read(GOLD, "odd", "even", "none")
    assert {name: list(of.by_id.items()) for name, of in found.items()} == {
        "odd": [("a", 1)], "even": [("a", 2), ("b", 0), ("c", 4)], "none": [],
    }  # fmt: skip
    assert found["even"].notes == {"gold is 0": 1}
    assert not found["odd"].notes
    assert list(read(GOLD, "odd")) == ["odd"]


def test_predictions_are_joined_to_gold_in_its_order() -> None:
    guesses = [{"id": id, "sum": number} for id, number in (("c", 4), ("x", -1), ("a", 3), ("b", 0), ("y", 9))]
    found = score_name(SumScorer(), "even", read(GOLD, "even")["even"], guesses)
    assert found["rows"] == [SumScore("even 2", 0.0, 2), SumScore("even 0", 1.0, 3), SumScore("even 4", 1.0, 0)]
    assert list(found["notes"].items()) == [("a guess below 0", 1), ("gold is 0", 1), ("near", 1), (EXTRA, 2)]
    assert found["extra"] == ["x", "y"]


def test_the_notes_of_gold_are_counted_once_a_system() -> None:
    golds = read(GOLD, "even")["even"]
    guesses = [{"id": id, "sum": 3} for id in "abcx"]
    for _ in range(2):
        assert score_name(SumScorer(), "even", golds, guesses)["notes"] == {"gold is 0": 1, "near": 2, EXTRA: 1}
    assert golds.notes == {"gold is 0": 1}


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ("ab", "even sums: there is no prediction for id 'c'"),
        ("b", "even sums: there is no prediction for 2 ids: 'a', 'c'"),
        ("abcb", "even sums: there is more than one prediction for id 'b'"),
        ("abb", "even sums: there is more than one prediction for id 'b'"),
    ],
)
def test_ids_that_do_not_fit(ids: str, message: str) -> None:
    with pytest.raises(EvaluationError, match=f"^{message}$"):
        score_name(SumScorer(), "even", read(GOLD, "even")["even"], [{"id": id, "sum": 1} for id in ids])


def test_gold_ids_are_unique_in_a_name() -> None:
    with pytest.raises(EvaluationError, match=r"^the gold ids are not unique for 2 ids: 'a', 'c'$"):
        read([*GOLD, GOLD[0], GOLD[2]], "even", "odd")
    assert list(read([{"id": "a", "even": 2}, {"id": "a", "odd": 1}], "even", "odd")["odd"].by_id) == ["a"]


def test_ids_are_named() -> None:
    refuse("nothing", [])
    assert named_ids(["a"] * 5) == "5 ids: 'a', 'a', 'a', 'a', 'a'"
    assert named_ids(["a", "b"], limit=2, count=1200) == "1,200 ids: 'a', 'b', …"
    assert named_ids(["a", "b"], count=1) == "id 'a'"
    assert doctest.testmod(protocol).failed == 0


# --------------------------------------------------------------------------------------------
# Through every caller


def write(path: Path, *records: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return str(path)


@pytest.fixture
def sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command with a third benchmark."""
    monkeypatch.setitem(DISPLAYS, "sums", SUMS)  # type: ignore[arg-type]
    monkeypatch.setitem(evaluate.BENCHMARKS, "sums", Sums())  # type: ignore[arg-type]
    gold = write(tmp_path / "gold.jsonl", *GOLD)
    for folder, even in (("p", 2), ("q", 5)):
        write(tmp_path / folder / "even.jsonl", *({"id": id, "sum": even} for id in "xcba"))
        write(tmp_path / folder / "odd.jsonl", {"id": "a", "sum": 1})
    given = ["--gold", gold, "--predictions", str(tmp_path / "p"), "--compare", str(tmp_path / "q")]
    return lambda *more: evaluate.main(["sums", *given, *more])


@pytest.mark.parametrize("beam", [[], ["--"]])
def test_a_third_benchmark(
    sums: Callable[..., int], beam: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    assert sums("--output", str(output), *beam) == 0
    said = capsys.readouterr()
    tables = ["name  right", "----  -----", "even      1", "odd       1", "", "a second  table", "--------  -----"]
    files = [str(output / name) for name in ("metrics.json", "per_example.parquet", "report.html")]
    lines = [*tables, "", "metric:sums", *files]
    assert said.out.splitlines() == lines
    assert "warning: even: {'gold is 0': 1, 'predictions for ids that are not in the gold file" in said.err
    assert "warning: odd: {}" in said.err
    found = json.loads((output / "metrics.json").read_text())["names"]
    assert found["even"] == {"right": 1, "other": 0, "notes": {"gold is 0": 1, EXTRA: 1}, "extra": ["x"]}
    assert found["odd"] == {"right": 1, "other": 1, "notes": {}, "extra": []}
    rows = [(row["id"], row["right"]) for row in pq.read_table(output / "per_example.parquet").to_pylist()]
    assert rows == [("even 2", 1.0), ("even 0", 0.0), ("even 4", 0.0), ("odd 1", 1.0)]
    page = (output / "report.html").read_text()
    assert "<h1>Sums of numbers</h1>" in page
    assert "a note" in page
    assert "Right" in page
    assert "Nothing" not in page
    assert page.count("<svg") == 2


def test_a_third_benchmark_has_its_options_and_errors(
    sums: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sums("--language", "odd", "--quiet") == 0
    write(tmp_path / "p" / "odd.jsonl", {"id": "a"})
    assert sums("--language", "odd", "--quiet") == 2
    assert "odd.jsonl, line 1: sum 1 is none" in capsys.readouterr().err
    assert sums("--dataset", "nq") == 2
    assert "unrecognized arguments: --dataset nq" in capsys.readouterr().err


def test_each_benchmark_is_scored_shown_and_asked_for() -> None:
    scorers: list[Scorer[Any, Any]] = [KiltScorer(), MkqaScorer()]
    assert [scorer.benchmark for scorer in scorers] == list(DISPLAYS) == list(evaluate.BENCHMARKS)
    assert all("position" in {field.name for field in schema_of(scorer.score)} for scorer in scorers)


@pytest.mark.parametrize(
    "module",
    ["transforms/jobs/evaluation.py", "transforms/beam/evaluation.py", "transforms/reports/scores_page.py",
     "transforms/reports/scores_display.py", "transforms/reports/scores_table.py", "transforms/reports/charts.py",
     "transforms/metrics/scorer.py", "transforms/metrics/summary.py", "pipelines/evaluate.py",
     "pipelines/evaluate_inputs.py"],
)  # fmt: skip
def test_callers_compare_no_benchmark(module: str) -> None:
    tree = ast.parse((ROOT / module).read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Compare, ast.IfExp, ast.If, ast.Match)):
            inner = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
            assert not inner & {"kilt", "mkqa"}, f"{module}, line {node.lineno}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            assert not {"Evaluation", "LanguageScores"} & {
                one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in ast.walk(node)
            }


def test_a_picture_has_a_file_name_whatever_its_dataset_is_called() -> None:
    assert file_name("nq", "answer_length") == "nq_answer_length.png"
    assert file_name("a/b\\c", "x") == "a_b_c_x.png"
    assert Picture("a/b", "x", "bars", "", "", {}).file == "a_b_x.png"
