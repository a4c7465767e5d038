"""The annotation campaign end to end: passages to judge out, judgements in, tables with evidence."""

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kiltetl.pipelines import annotations, cli, knowledge_source, tasks
from kiltetl.pipelines.report import execute as report
from kiltetl.pipelines.report import find_manifests
from kiltetl.schemas.arrow import schema_of
from kiltetl.schemas.records import Reject, Task
from kiltetl.transforms.beam.runner import beam_options, run
from tests.support.dataflow import submitted
from tests.support.miniwiki import Page, dump_xml

LIFT = "A kite is lifted by the wind because air that flows over its sail is turned downwards and pushes it up."
WIKI = [
    Page("Kite", f"A kite is a craft on a line.\n\n== Flight ==\n{LIFT}\n\nIts line is held in the hand."),
    Page("Lu Ban", "Lu Ban made a bird of wood.\n\nLu Ban is said to have made the first kite."),
    Page("Mozi", "Mozi made a kite of wood, in three years."),
    Page("Wind", "Wind is air that flows."),
    Page("Rain", "Rain is water."),
]
NQ = [
    ("n1", "who made the first kite", "Lu Ban", "Lu Ban is said to have made the first kite."),
    ("n2", "what is wind", "air", "Wind is air that flows."),
    ("n3", "what is rain", "water", "Rain is water."),
]
PAGE_OF = {"n1": "Lu_Ban", "n2": "Wind", "n3": "Rain"}


def nq_row(number: str, question: str, answer: str, passage: str) -> dict[str, Any]:
    words = passage.split(" ")
    start = next(i for i in range(len(words)) if passage.split(" ", i)[-1].startswith(answer))
    return {
        "example_id": number,
        "question_text": question,
        "document_text": passage,
        "document_url": f"https://en.wikipedia.org/wiki/{PAGE_OF[number]}",
        "annotations": [
            {
                "annotation_id": 1,
                "yes_no_answer": "NONE",
                "long_answer": {"start_token": 0, "end_token": len(words)},
                "short_answers": [{"start_token": start, "end_token": start + len(answer.split(" "))}],
            }
        ],
    }


ELI5 = [
    {"q_id": "e1", "title": "Why do kites fly?", "selftext": "", "answers": {"text": [LIFT], "score": [3]}},
    {"q_id": "e2", "title": "Why is rain wet?", "selftext": "", "answers": {"text": [
        "Because it is " + "very " + " ".join(f"word{i}" for i in range(40)) + " water"], "score": [2]}},
    {"q_id": "e3", "title": "Why?", "selftext": "", "answers": {"text": ["Because."], "score": [1]}},
]  # fmt: skip


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return str(path)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a knowledge source ``ks`` and the tables of nq and eli5 in ``tasks``."""
    folder = tmp_path_factory.mktemp("campaign")
    (folder / "wiki-20190801.xml").write_bytes(dump_xml(WIKI))
    ks, output = str(folder / "ks"), str(folder / "tasks")
    assert knowledge_source.main(["--dump", str(folder / "wiki-20190801.xml"), "--output", ks, "--quiet"]) == 0
    sources = {"nq": [nq_row(*row) for row in NQ], "eli5": ELI5}
    for dataset, rows in sources.items():
        source = write(folder / f"{dataset}.jsonl", rows)
        given = ["--dataset", dataset, "--split", "dev", "--source", source, "--knowledge-source", ks]
        assert tasks.main([*given, "--output", output, "--quiet"]) == 0
    return folder


def passage(question: str, page: int, start: int, rank: int | None = None, **more: Any) -> dict[str, Any]:
    row = {"id": question, "wikipedia_id": str(page), "start_paragraph_id": start, **more}
    return row if rank is None else row | {"rank": rank}


def judgements(question: str, page: int, start: int, votes: str, *spans: str, **more: Any) -> list[dict[str, Any]]:
    rows = []
    for i, vote in enumerate(votes):
        row = passage(question, page, start, annotator=f"a{i}", enough_evidence={"y": "yes", "n": "no"}[vote], **more)
        rows.append(row | ({"evidence_span": spans[i]} if i < len(spans) else {}))
    return rows


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rows(folder: Path, dataset: str) -> dict[str, dict[str, Any]]:
    files = sorted((folder / dataset).glob("validation-*.parquet"))
    return {row["id"]: row for path in files for row in pq.read_table(path).to_pylist()}


# ---------------------------------------------------------------------------------------------
# candidates


def candidates(built: Path, output: Path, files: Sequence[str], dataset: str, *options: str) -> int:
    place = ["--tasks", str(built / "tasks"), "--knowledge-source", str(built / "ks"), "--output", str(output)]
    return annotations.main(
        ["candidates", *place, "--dataset", dataset, "--split", "dev", "--passages", *files, "--quiet", *options]
    )


def test_candidates(built: Path, tmp_path: Path) -> None:
    first = write(
        tmp_path / "first.jsonl",
        [
            passage("n1", 3, 1, 1),
            passage("n1", 5, 1, 2),  # nothing of Lu Ban there
            passage("n1", 2, 2, 3),  # gold
            passage("n1", 2, 0, 4, end_paragraph_id=1),
            passage("n9", 1, 1, 1),
            passage("n1", 99, 1, 5),
            passage("n1", 2, 77, 6),
        ],
    )
    second = write(tmp_path / "second.jsonl", [passage("n1", 2, 1), passage("n1", 3, 1), passage("n2", 1, 3)])
    assert candidates(built, tmp_path / "out", [first, second], "nq") == 0
    found = lines(tmp_path / "out" / "passages-nq-validation.jsonl")
    assert [row["id"] for row in found] == ["n1", "n1", "n2", "n2", "n3"]
    of_n1 = {(row["wikipedia_id"], row["start_paragraph_id"], row["end_paragraph_id"]) for row in found[:2]}
    assert of_n1 == {("2", 2, 2), ("2", 1, 1)}
    lift = next(row for row in found if row["id"] == "n2" and row["wikipedia_id"] == "1")
    assert lift == {
        "id": "n2", "question": "what is wind", "wikipedia_id": "1", "start_paragraph_id": 3, "end_paragraph_id": 3,
        "title": "Kite", "section": "Section::::Flight.", "text": LIFT,
    }  # fmt: skip
    assert all(set(row) == set(lift) for row in found), "gold passages are not marked"
    manifest = json.loads((tmp_path / "out" / "candidates-nq-validation.json").read_text())
    assert manifest["counters"] == {
        "chosen": 2,
        "fewer-than-asked": 3,
        "gold": 3,
        "low-overlap": 2,
        "passage-not-in-knowledge-source": 2,
        "questions": 3,
        "questions_with_passages": 3,
        "repeated": 1,
        "retrieved": 10,
        "shares-a-paragraph": 2,
        "too-deep": 0,
        "unknown-question": 1,
        "written": 5,
    }


def test_the_passages_retrieved_add_up_where_they_are_shown(
    built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = [passage("n1", 3, 1), passage("n1", 3, 1), passage("n1", 2, 1), passage("n9", 1, 1), passage("n1", 2, 2)]
    file = write(tmp_path / "passages.jsonl", [*twice, passage("n1", 99, 1)])
    arguments = ["candidates", "--tasks", built / "tasks", "--knowledge-source", built / "ks", "--output", tmp_path]
    places = ["--places", "1", "--controls", "0", "--min-overlap", "0"]
    assert (
        annotations.main([*map(str, arguments), "--dataset", "nq", "--split", "dev", "--passages", file, *places]) == 0
    )
    shown = capsys.readouterr().out.splitlines()
    counts = {line[:-8].rstrip(): int(line.split()[-1]) for line in shown if line and line[-1].isdigit()}
    assert counts["passages retrieved"] == 6
    assert sum(count for label, count in counts.items() if label.startswith("  ")) == 6
    assert counts["  for which no place was left"] == 1


@pytest.mark.soak
def test_candidates_are_the_same_whatever_the_workers(built: Path, tmp_path: Path) -> None:
    files = [write(tmp_path / "p.jsonl", [passage("e1", 1, 3), passage("e1", 4, 1), passage("e2", 5, 1)])]
    assert candidates(built, tmp_path / "one", files, "eli5") == 0
    assert candidates(built, tmp_path / "two", files, "eli5", "--workers", "2") == 0
    settings = annotations.CandidateSettings(
        str(built / "tasks"), str(built / "ks"), "eli5", "dev", tuple(files), str(tmp_path / "graph")
    )
    job = annotations.plan_candidates(settings)
    run(partial(annotations.build_candidates, job=job), beam_options([]))
    job.staging.clear()
    one, two, graph = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two", "graph")
    )
    assert one == two == graph
    found = lines(tmp_path / "one" / "passages-eli5-validation.jsonl")
    # the passage of e2 has two of the 44 words of its answer
    assert sorted((row["id"], row["wikipedia_id"]) for row in found) == [("e1", "1"), ("e1", "4")]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"id": "n1"}, "record 1: no field 'wikipedia_id'; expected one JSON object a line"),
        (passage("n1", 1, -1), "record 1: start_paragraph_id is -1"),
        ([1], "record 1: not an object"),
        (passage("n9", 1, 1), "not one passage is of a question of nq-validation"),
        (passage("n1", 1, 1, "x"), "record 1: could not convert"),  # type: ignore[arg-type]
        (passage("n1", 1, 1) | {"rank": math.nan}, "record 1: rank is nan, not a number; expected"),
        (passage("n1", 1, 1) | {"rank": -math.inf}, "record 1: rank is -inf, not a number; expected"),
        (passage("n1", 1, 1) | {"rank": "Infinity"}, "record 1: rank is 'Infinity', not a number; expected"),
        (passage("n1", 1, 1) | {"rank": 10**400}, "record 1: rank is 1000000"),
    ],
)
def test_what_is_wrong_with_passages(
    built: Path, tmp_path: Path, row: Any, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert candidates(built, tmp_path / "out", [write(tmp_path / "p.jsonl", [row])], "nq") == 2
    error = capsys.readouterr().err
    assert problem in error
    assert "p.jsonl" in error
    assert error.count("\n") == 1


def test_what_is_wrong_with_the_rest(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [write(tmp_path / "p.jsonl", [passage("n1", 1, 1)])]
    for dataset, options, problem in (
        ("fever", [], "--dataset fever: the campaign is of nq and eli5"),
        ("nq", ["--split", "train"], "--split train: the campaign is of dev"),
        ("nq", ["--split", "test"], "no finished table nq/test in it"),
        ("nq", ["--controls", "5"], "--controls 5: more than the 4 passages"),
        ("nq", ["--passages", str(tmp_path / "none")], "no such file"),
        ("nq", ["--knowledge-source", str(tmp_path)], "no knowledge source, or an unfinished one"),
    ):
        assert candidates(built, tmp_path / "out", files, dataset, *options) == 2
        assert problem in capsys.readouterr().err
    assert candidates(built, tmp_path / "out", files, "nq", "--dry-run") == 0
    assert not (tmp_path / "out").exists()


def test_another_knowledge_source_is_refused(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wiki-20200101.xml").write_bytes(dump_xml(WIKI[:2]))
    other = str(tmp_path / "ks")
    assert knowledge_source.main(["--dump", str(tmp_path / "wiki-20200101.xml"), "--output", other, "--quiet"]) == 0
    files = [write(tmp_path / "p.jsonl", [passage("n1", 1, 1)])]
    assert candidates(built, tmp_path / "out", files, "nq", "--knowledge-source", other) == 2
    assert "nq-validation was mapped onto another one" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------
# apply

GIVEN = [
    *judgements("n1", 2, 2, "yyn", "said to have made", "the first kite"),
    *judgements("n1", 3, 1, "yyy", "Mozi made a kite"),
    *judgements("n1", 2, 1, "nyn", "", "a bird of wood"),
    *judgements("n2", 4, 1, "nny"),
    *judgements("e1", 1, 3, "yny", "lifted by the wind", "", "Please highlight a span"),
    *judgements("e2", 5, 1, "yyn", "water"),
]


def apply(built: Path, output: Path, files: Sequence[str], *options: str) -> int:
    given = ["--tasks", str(built / "tasks"), "--judgements", *files, "--output", str(output), "--quiet"]
    return cli.main(["annotations", *given, *options])


def test_apply(built: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "j.jsonl", [*GIVEN, GIVEN[0], *judgements("x", 1, 1, "y"), *judgements("n1", 7, 1, "y")])
    assert apply(built, tmp_path / "out", [file], "--knowledge-source", str(built / "ks")) == 0
    nq, eli5 = rows(tmp_path / "out", "nq"), rows(tmp_path / "out", "eli5")
    assert (list(nq), list(eli5)) == (["n1", "n3"], ["e1", "e2"])
    before = rows(built / "tasks", "nq")
    assert nq["n3"] == before["n3"]
    assert nq["n1"]["output"][:-2] == before["n1"]["output"]
    added = [output["provenance"][0] for output in nq["n1"]["output"][-2:]]
    assert [(p["wikipedia_id"], p["title"], p["section"], p["start_paragraph_id"]) for p in added] == [
        ("2", "Lu Ban", "Section::::Abstract.", 2),
        ("3", "Mozi", "Section::::Abstract.", 1),
    ]
    assert added[0]["meta"]["evidence_span"] == ["said to have made", "the first kite"]
    assert (added[0]["bleu_score"], added[0]["start_character"], added[0]["end_character"]) == (None, None, None)
    assert nq["n1"]["meta"]["partial_evidence"] == [
        {
            "start_paragraph_id": 1, "end_paragraph_id": 1, "title": "Lu Ban", "section": "Section::::Abstract.",
            "wikipedia_id": "2", "meta": {"evidence_span": ["a bird of wood"]},
        }
    ]  # fmt: skip
    assert [output["answer"] for output in eli5["e1"]["output"]] == [LIFT, None]
    (kite,) = eli5["e1"]["output"][1]["provenance"]
    assert (kite["section"], kite["meta"]["evidence_span"]) == ("Section::::Flight.", ["lifted by the wind"])
    shard = pq.read_table(tmp_path / "out" / "nq" / "validation-00000-of-00001.parquet")
    assert shard.schema.equals(schema_of(Task))

    manifest = json.loads((tmp_path / "out" / "manifests" / "nq-validation.json").read_text())
    assert manifest["skipped"] == {"no-evidence-found": 1}
    campaign = manifest["campaign"]
    assert {name: campaign[name] for name in ("questions", "judged", "passages", "provenance", "partial_evidence")} == {
        "questions": 3, "judged": 2, "passages": 4, "provenance": 2, "partial_evidence": 2,
    }  # fmt: skip
    assert campaign["fewer_annotations"] == 0
    assert (campaign["rouge_compared"], campaign["flagged"]) == (0, 0)  # its answers are short
    assert campaign["control"]["accepted_share"] == 0.5
    # of the pairs of annotators, on the passages yyn, yyy, nyn, nny
    assert campaign["agreement"] == {
        "pairs": 3,
        "pairs_without_kappa": 0,
        "kappa": pytest.approx((0.5 + 0 - 0.5) / 3),
        "kappa_weighted": pytest.approx((0.5 + 0 - 0.5) / 3),
        "observed": pytest.approx((3 + 2 + 1) / 12),
    }
    assert campaign["averages"]["pages_per_record"] == 1.5
    assert campaign["averages"]["added_pages_per_record"] == 0.5
    eli5_campaign = json.loads((tmp_path / "out" / "manifests" / "eli5-validation.json").read_text())["campaign"]
    assert eli5_campaign["left_out"] == {"not-judged": 1}
    assert (eli5_campaign["rouge_compared"], eli5_campaign["flagged"]) == (2, 1)
    (flag,) = lines(tmp_path / "out" / "rejects" / "annotations" / "flags-eli5-validation.jsonl")
    assert flag["id"] == "e2"
    assert 0 < flag["rouge_l"] < 0.15

    whole = json.loads((tmp_path / "out" / "annotations.json").read_text())
    assert whole["judgements"] == {
        "passage-not-in-knowledge-source": 1, "read": 21, "repeated": 1, "span-not-in-passage": 1,
        "unknown-question": 1, "used": 18,
    }  # fmt: skip
    rejects = pq.read_table(tmp_path / "out" / "rejects" / "annotations" / "judgements-00000-of-00001.parquet")
    assert rejects.schema.equals(schema_of(Reject))
    assert {(row["source_id"], row["reason"]) for row in rejects.to_pylist()} == {
        ("j.jsonl:20", "unknown-question"),
        ("j.jsonl:21", "passage-not-in-knowledge-source"),
        ("j.jsonl:15", "span-not-in-passage"),
    }
    left_out = pq.read_table(tmp_path / "out" / "rejects" / "nq" / "validation-00000-of-00001.parquet").to_pylist()
    assert [(row["source_id"], row["reason"]) for row in left_out] == [("n2", "no-evidence-found")]


def test_what_is_written_is_read_by_the_report(built: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "j.jsonl", GIVEN)
    assert apply(built, tmp_path / "out", [file], "--knowledge-source", str(built / "ks")) == 0
    _, manifests = find_manifests(str(tmp_path / "out"))
    assert [manifest["dataset"] for manifest in manifests] == ["eli5", "nq"]
    found = report(str(tmp_path / "out"), annotations.Console(quiet=True))
    nq = next(one for one in found["datasets"] if one["dataset"] == "nq")["splits"][0]
    assert (nq["read"], nq["written"], nq["skipped"], nq["failed"]) == (3, 2, 1, 0)
    assert nq["averages"]["pages_per_record"] == 1.5
    assert nq["published"]["averages"]["pages_per_record"] == 1.57


def test_without_a_knowledge_source(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Titles come from the records themselves, as candidates wrote them."""
    named = {"title": "Mozi", "section": "Section::::Abstract.", "text": "Mozi made a kite of wood, in three years."}
    bare = judgements("n1", 2, 2, "yyn")  # the section of the dataset's own evidence
    file = write(tmp_path / "j.jsonl", [*bare, *judgements("n1", 3, 1, "yyy", "a kite", "elsewhere", **named)])
    assert apply(built, tmp_path / "out", [file]) == 0
    added = [output["provenance"][0] for output in rows(tmp_path / "out", "nq")["n1"]["output"][-2:]]
    assert [(p["title"], p["meta"]["evidence_span"]) for p in added] == [("Lu Ban", None), ("Mozi", ["a kite"])]
    assert not (tmp_path / "out" / "eli5").exists()

    file = write(tmp_path / "j.jsonl", [*bare, *judgements("n1", 3, 1, "yyy")])
    assert apply(built, tmp_path / "out", [file]) == 2
    error = capsys.readouterr().err
    assert "j.jsonl:4: title and section of the passage are not in the record" in error
    assert "--knowledge-source DIR" in error


def test_the_output_folder_and_the_action(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "j.jsonl", judgements("n1", 2, 2, "yyn"))
    place = ["--tasks", str(built / "tasks"), "--judgements", file]
    assert cli.main(["annotations", "apply", *place, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert str(built / "tasks" / "annotated" / "annotations.json") in shown
    assert cli.main(["annotations", *place, "--output", str(built / "tasks")]) == 2
    assert "the tables that are read stand there" in capsys.readouterr().err
    assert cli.main(["annotations", "judge"]) == 2
    assert "judge: no action of annotations" in capsys.readouterr().err
    assert cli.main(["annotations", "--help"]) == 0
    assert "kiltetl annotations candidates" in capsys.readouterr().out
    assert cli.main(["annotations", *place, "--output", str(tmp_path / "out")]) == 0
    found = capsys.readouterr()
    assert "nq-validation" in found.out
    assert "3 of 3 judgements by 3 annotators; 1 control passages, 100.0% accepted" in found.out
    assert "eli5-validation: none of its questions was judged" in found.err


@pytest.mark.parametrize(
    "spelling", ["{tasks}", "{tasks}/", "{tasks}/.", "{tasks}/nq/..", "{folder}/x/../tasks", "{link}", "tasks"]
)
def test_the_tables_that_are_read_are_kept_however_their_folder_is_called(
    built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    shutil.copytree(built / "tasks", tmp_path / "tasks")
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "tasks")
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in (tmp_path / "tasks").rglob("*") if path.is_file()}
    file = write(tmp_path / "j.jsonl", judgements("n1", 2, 2, "yyn"))
    output = spelling.format(tasks=tmp_path / "tasks", folder=tmp_path, link=tmp_path / "link")
    arguments = ["--tasks", str(tmp_path / "tasks"), "--judgements", file, "--knowledge-source", str(built / "ks")]
    assert cli.main(["annotations", *arguments, "--output", output]) == 2
    assert "the tables that are read stand there" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in (tmp_path / "tasks").rglob("*") if path.is_file()} == before


def test_passages_that_would_be_replaced_are_kept(
    built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(
        write(tmp_path / "passages-nq-validation.jsonl", [{"id": "n1", "wikipedia_id": "1", "start_paragraph_id": 1}])
    )
    before = file.read_bytes()
    monkeypatch.chdir(tmp_path)
    arguments = ["--tasks", str(built / "tasks"), "--knowledge-source", str(built / "ks"), "--dataset", "nq"]
    for output in (".", str(tmp_path)):
        more = ["--split", "dev", "--passages", str(file), "--output", output]
        assert cli.main(["annotations", "candidates", *arguments, *more]) == 2
        assert "would be replaced" in capsys.readouterr().err
        assert file.read_bytes() == before


def test_annotators_who_fail_the_control_are_left_out(built: Path, tmp_path: Path) -> None:
    """Annotator a2 refuses the dataset's own passages."""
    file = write(tmp_path / "j.jsonl", [*judgements("n1", 2, 2, "yyn"), *judgements("n1", 3, 1, "nny")])
    options = ["--knowledge-source", str(built / "ks"), "--min-control", "0.5"]
    assert apply(built, tmp_path / "out", [file], *options) == 0
    whole = json.loads((tmp_path / "out" / "annotations.json").read_text())
    assert (whole["annotators_left_out"], whole["judgements"]["annotator-left-out"]) == (["a2"], 2)
    assert whole["tables"]["nq-validation"]["partial_evidence"] == 0
    assert whole["tables"]["nq-validation"]["fewer_annotations"] == 2


def test_bad_judgements(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = judgements("n1", 2, 2, "yyn")
    bad = [good[0] | {"enough_evidence": "no"}, good[1] | {"annotator": ""}]
    file = write(tmp_path / "j.jsonl", [*good, *bad])
    assert apply(built, tmp_path / "out", [file]) == 1
    error = capsys.readouterr().err
    assert "2 of 5 judgements are malformed or contradict another" in error
    assert "j.jsonl:4: a0 judged this passage before" in error
    assert not (tmp_path / "out" / "annotations.json").exists()
    assert apply(built, tmp_path / "out", [file], "--max-reject-share", "0.5") == 0
    counted = json.loads((tmp_path / "out" / "annotations.json").read_text())["judgements"]
    assert (counted["malformed-record"], counted["judged-twice"], counted["used"]) == (1, 1, 3)

    capsys.readouterr()
    for given, problem in (
        ([good[0] | {"enough_evidence": "perhaps"}], "j.jsonl, record 1: enough_evidence is 'perhaps'"),
        ([], "j.jsonl: holds no judgement"),
        (judgements("x", 1, 1, "y"), "j.jsonl: not one judgement is of a question of nq-validation or eli5-validation"),
    ):
        assert apply(built, tmp_path / "out", [write(tmp_path / "j.jsonl", given)]) == 2
        error = capsys.readouterr().err
        assert problem in error
        assert error.count("\n") == 1


def test_the_same_bytes_however_it_is_run(built: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "j.jsonl", GIVEN)
    options = ["--knowledge-source", str(built / "ks")]
    assert apply(built, tmp_path / "one", [file], *options) == 0
    assert apply(built, tmp_path / "two", [file], *options, "--workers", "2") == 0
    settings = annotations.ApplySettings(
        str(built / "tasks"), (file,), str(tmp_path / "graph"), knowledge_source=str(built / "ks")
    )
    job = annotations.plan_apply(settings)
    run(partial(annotations.build_apply, job=job), beam_options([]))
    job.staging.clear()
    one, two, graph = (
        {str(p.relative_to(tmp_path / name)): p.read_bytes() for p in (tmp_path / name).rglob("*") if p.is_file()}
        for name in ("one", "two", "graph")
    )
    assert one == two == graph


def test_the_graphs_are_submitted_offline(built: Path, tmp_path: Path) -> None:
    place = {"tasks": str(built / "tasks"), "output": str(tmp_path / "out"), "knowledge_source": str(built / "ks")}
    files = (write(tmp_path / "p.jsonl", [passage("n1", 1, 1)]),)
    candidate = annotations.CandidateSettings(**place, dataset="nq", split="dev", passages=files)
    assert submitted(partial(annotations.build_candidates, job=annotations.plan_candidates(candidate))) == [
        "Shards", "MeasurePassages", "ChoosePassages", "Wanted", "FetchPassages", "WriteCandidates",
    ]  # fmt: skip
    files = (write(tmp_path / "j.jsonl", GIVEN),)
    given = annotations.ApplySettings(**place, judgements=files)
    assert submitted(partial(annotations.build_apply, job=annotations.plan_apply(given))) == [
        "Shards", "Wanted", "FetchPassages", "ApplyJudgements",
    ]  # fmt: skip
    assert not (tmp_path / "out").exists()


@pytest.mark.shared
def test_the_shape_is_that_of_the_released_records(shared: Path, built: Path, tmp_path: Path) -> None:
    """Passages of the released nq dev records have the fields and nulls of ours."""
    released = lines(shared / "data" / "kilt" / "nq" / "nq-dev-kilt.jsonl")
    judged = [
        span
        for record in released
        for output in record["output"]
        for span in output.get("provenance", ())
        if "evidence_span" in span.get("meta", {})
    ]
    partly = [one for record in released for one in record.get("meta", {}).get("partial_evidence", ())]
    assert judged
    assert partly
    file = write(tmp_path / "j.jsonl", GIVEN)
    assert apply(built, tmp_path / "out", [file], "--knowledge-source", str(built / "ks")) == 0
    record = rows(tmp_path / "out", "nq")["n1"]
    mine = [output["provenance"][0] for output in record["output"][-2:]]

    def filled(one: Mapping[str, Any]) -> set[str]:
        return {name for name, value in one.items() if value is not None}

    assert all(filled(span) == filled(judged[0]) for span in mine)
    assert filled(mine[0]["meta"]) == filled(judged[0]["meta"])
    assert all("answer" not in output for r in released for output in r["output"] if is_judged(output))
    assert record["output"][-1]["answer"] is None
    (partial_evidence,) = record["meta"]["partial_evidence"]
    assert filled(partial_evidence) == filled(partly[0])


def is_judged(output: Mapping[str, Any]) -> bool:
    return any("evidence_span" in span.get("meta", {}) for span in output.get("provenance", ()))
