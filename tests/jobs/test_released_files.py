"""Released files out and in: export, --from-kilt, and the provenance of Natural Questions for MKQA."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kiltetl.pipelines import export, knowledge_source, report, tasks
from kiltetl.pipelines.config import plan_of
from kiltetl.schemas.reasons import (
    BLEU_BELOW_THRESHOLD,
    NO_ANSWER,
    NO_EVIDENCE,
    NOT_IN_NQ,
    PAGE_IS_DISAMBIGUATION,
    PAGE_NOT_IN_KNOWLEDGE_SOURCE,
    SPAN_NOT_IN_PAGE,
)
from kiltetl.transforms.metrics import mkqa
from kiltetl.transforms.metrics.kilt_scorer import evaluate_kilt
from tests.support.adapters import FOLDER
from tests.support.miniwiki import Page, dump_xml

KITE = "A kite is a tethered craft that is held up by the wind."
BALLOON = "A balloon is a bag that is filled with a gas lighter than air."
WIKI = [
    Page("Kite", f"{KITE} It has a tail.\n\n== History ==\nKites are more than two thousand years old.", 101),
    Page("Balloon (aircraft)", f"{BALLOON} It has no engine.", 102),
    Page("Balloon", "#REDIRECT [[Balloon (aircraft)]]", 103, redirect="Balloon (aircraft)"),
    Page("Glider", "A glider flies without an engine, once it has been towed up.", 104),
    Page("Plane", "'''Plane''' may be:\n* [[Glider]]\n{{disambiguation}}", 105),
]


def make_source(folder: Path, pages: Iterable[Page], dbname: str) -> Path:
    (folder / "wiki-20190801.xml").write_bytes(dump_xml(pages, dbname=dbname))
    arguments = ["--dump", str(folder / "wiki-20190801.xml"), "--output", str(folder / "ks"), "--quiet"]
    assert knowledge_source.main(arguments) == 0
    return folder / "ks"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_source(tmp_path_factory.mktemp("source"), WIKI, "enwiki")


def write_lines(path: Path, rows: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def run_tasks(dataset: str, split: str, output: Path, *options: str | Path) -> dict[str, Any]:
    arguments = ["--dataset", dataset, "--split", split, "--output", output, "--quiet", *options]
    assert tasks.main(list(map(str, arguments))) == 0
    name = "validation" if split == "dev" else split
    manifest: dict[str, Any] = json.loads((output / "manifests" / f"{dataset}-{name}.json").read_text())
    return manifest


def run_export(folder: Path, output: Path, *options: str) -> dict[str, list[dict[str, Any]]]:
    assert export.main(["kilt-jsonl", "--tasks", str(folder), "--output", str(output), "--quiet", *options]) == 0
    return {path.name: read_lines(path) for path in sorted(output.iterdir())}


def rows(folder: Path, dataset: str, split: str) -> list[dict[str, Any]]:
    paths = sorted((folder / dataset).glob(f"{split}-*.parquet"))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def span(page: str, title: str, paragraph: int = 1, start: int = 0, end: int = 10, **more: Any) -> dict[str, Any]:
    return {
        "wikipedia_id": page, "title": title, "start_paragraph_id": paragraph, "start_character": start,
        "end_paragraph_id": paragraph, "end_character": end, "bleu_score": 0.75, "section": "Section::::Abstract.",
    } | more  # fmt: skip


def record(name: str, *outputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": name, "input": f"question {name}", "output": list(outputs)} | more


def answer(text: str, *spans: dict[str, Any]) -> dict[str, Any]:
    return {"answer": text, "provenance": list(spans)} if spans else {"answer": text}


# --------------------------------------------------------------------------------------------
# there and back


def hotpot(number: int, *facts: tuple[str, str]) -> dict[str, Any]:
    return {
        "_id": f"h{number}", "question": f"Question {number}?", "answer": "yes", "type": "bridge", "level": "easy",
        "supporting_facts": [[title, 0] for title, _ in facts], "context": [[title, [text]] for title, text in facts],
    }  # fmt: skip


@pytest.fixture(scope="module")
def mapped(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables: hotpotqa of two shards in train (one set is unmapped) and one in dev, a page that was renamed."""
    folder = tmp_path_factory.mktemp("mapped")
    questions = [
        hotpot(1, ("Kite", KITE), ("Balloon", BALLOON)),
        hotpot(2, ("Zeppelin", "It flies.")),
        hotpot(3, ("Kite", "Kites are more than two thousand years old, some say.")),
    ]
    files = [folder / f"{i}.json" for i in range(2)]
    files[0].write_text(json.dumps(questions[:2]))
    files[1].write_text(json.dumps(questions[2:]))
    place = ["--knowledge-source", source]
    run_tasks("hotpotqa", "train", folder / "tasks", "--source", *files, *place)
    run_tasks("hotpotqa", "dev", folder / "tasks", "--source", *files, *place)
    return folder / "tasks"


def test_exported_tables_come_back_as_they_were(mapped: Path, source: Path, tmp_path: Path) -> None:
    found = run_export(mapped, tmp_path / "kilt")
    assert {name: len(lines) for name, lines in found.items()} == {
        "hotpotqa-dev-kilt.jsonl": 2,
        "hotpotqa-train-kilt.jsonl": 3,
    }
    first, second, third = found["hotpotqa-train-kilt.jsonl"]
    assert list(first) == ["id", "input", "output", "meta"]
    assert first["output"][0]["provenance"][1]["meta"] == {"original_title": "Balloon"}
    assert second["output"] == [{"answer": "yes", "meta": {"unmapped_reason": PAGE_NOT_IN_KNOWLEDGE_SOURCE}}]
    assert 0.5 < third["output"][0]["provenance"][0]["bleu_score"] < 1
    for split, name in (("train", "train"), ("dev", "validation")):
        lines = tmp_path / "kilt" / f"hotpotqa-{split}-kilt.jsonl"
        run_tasks("hotpotqa", split, tmp_path / "back", "--from-kilt", lines, "--knowledge-source", source)
        assert rows(tmp_path / "back", "hotpotqa", name) == rows(mapped, "hotpotqa", name)
    again = run_export(tmp_path / "back", tmp_path / "again")
    assert again == found


def test_exported_files_are_the_same_each_time(mapped: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        run_export(mapped.parent, tmp_path / name)  # the folder of a build will do
    for path in (tmp_path / "one").iterdir():
        content = path.read_bytes()
        assert content == (tmp_path / "two" / path.name).read_bytes()
        assert content.isascii()
        assert content.endswith(b"}\n")


def test_strict_release(mapped: Path, tmp_path: Path) -> None:
    found = run_export(mapped, tmp_path / "kilt", "--strict-release", "--split", "train", "--dataset", "hotpotqa")
    (lines,) = found.values()
    assert [list(line) for line in lines] == [["id", "input", "output"]] * 3
    assert lines[1]["output"] == [{"answer": "yes"}]
    assert list(lines[0]["output"][0]["provenance"][1]) == [
        "wikipedia_id", "title", "start_paragraph_id", "start_character", "end_paragraph_id", "end_character",
        "bleu_score", "section",
    ]  # fmt: skip


def test_exported_files_are_gold_for_the_evaluation(mapped: Path, tmp_path: Path) -> None:
    gold = run_export(mapped, tmp_path / "kilt", "--split", "dev")["hotpotqa-dev-kilt.jsonl"]
    table = rows(mapped, "hotpotqa", "validation")
    guess = [{"id": r["id"], "output": [{"answer": "yes", "provenance": [{"wikipedia_id": "101"}]}]} for r in table]
    figures = dict(evaluate_kilt(gold, guess).metrics)
    assert (figures["em"], figures["Rprec"]) == (1.0, 0.75)


def test_test_files_without_answers(source: Path, tmp_path: Path) -> None:
    place = ["--knowledge-source", source]
    bare = write_lines(tmp_path / "a.jsonl", [{"id": "1", "input": "q"}, {"id": "2", "input": "r"}])
    manifest = run_tasks("wow", "test", tmp_path / "tasks", "--from-kilt", bare, *place)
    assert (manifest["counters"]["written"], manifest["skipped"]) == (2, {})
    names_only = write_lines(tmp_path / "b.jsonl", [{"id": "qw_1"}])
    run_tasks("triviaqa", "test", tmp_path / "tasks", "--from-kilt", names_only, *place)
    full = write_lines(tmp_path / "c.jsonl", [record("5", answer("x", span("101", "Kite")))])
    run_tasks("nq", "test", tmp_path / "tasks", "--from-kilt", full, *place)
    found = run_export(tmp_path / "tasks", tmp_path / "kilt")
    assert found == {
        "wow-test_without_answers-kilt.jsonl": read_lines(bare),
        "triviaqa-test_id_without_answers-kilt.jsonl": read_lines(names_only),
        "nq-test-kilt.jsonl": read_lines(full),
    }
    manifest = run_tasks("wow", "dev", tmp_path / "tasks", "--from-kilt", bare, *place)
    assert (manifest["counters"]["written"], manifest["skipped"]) == (0, {NO_ANSWER: 2})


# --------------------------------------------------------------------------------------------
# released records onto a knowledge source


RELEASED = [
    record("id", answer("a", span("101", "Kites of old"))),  # renamed since: found by its id
    record("title", answer("a", span("999", "Balloon"))),  # another id: found by a redirect
    record("gone", answer("a", span("999", "Zeppelin"))),
    record("beyond", answer("a", span("101", "Kite", 1, 0, 5_000))),
    record("below", answer("a", span("101", "Kite", 9))),
    record("none", answer("a", span("101", "Kite", 1, -1, -1))),
    record("passage", {"provenance": [{"wikipedia_id": "101", "title": "Kite", "section": "Section::::Old.\n",
                                       "start_paragraph_id": 3, "end_paragraph_id": 3}]}),
    record("campaign", {"provenance": [{"wikipedia_id": "101", "title": "Kite", "section": "Section::::Abstract.",
                                        "start_paragraph_id": 8, "end_paragraph_id": 8,
                                        "meta": {"evidence_span": ["in my own words", KITE, KITE]}}]}),
    record("words", {"provenance": [span("101", "Kite", meta={"evidence_span": ["something of one's very own"]})]}),
    record("text", answer("a", span("101", "Kite", 7, text="Kites are more than two thousand years old."))),
    record("half", answer("a", span("101", "Kite"), span("999", "Zeppelin")), answer("b", span("104", "Glider"))),
    record("weak", answer("a", span("101", "Kite", bleu_score=0.4))),
    record("alias", answer("a", span("101", "Kite", 3, 0, 5)), answer("b")),
    record("several", answer("a", span("101", "Kite", 1, 20, end_paragraph_id=3, end_character=5))),
]  # fmt: skip


def test_released_records_are_aligned_or_checked(source: Path, tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "nq-dev-kilt.jsonl", RELEASED)
    manifest = run_tasks("nq", "dev", tmp_path / "tasks", "--from-kilt", lines, "--knowledge-source", source)
    found = {row["id"]: row["output"] for row in rows(tmp_path / "tasks", "nq", "validation")}
    rejects = {row["source_id"]: row for row in rows(tmp_path / "tasks" / "rejects", "nq", "validation")}
    assert {name: row["reason"] for name, row in rejects.items()} == {
        "gone": PAGE_NOT_IN_KNOWLEDGE_SOURCE,
        "beyond": SPAN_NOT_IN_PAGE,
        "below": SPAN_NOT_IN_PAGE,
        "none": SPAN_NOT_IN_PAGE,
        "words": BLEU_BELOW_THRESHOLD,
        "weak": BLEU_BELOW_THRESHOLD,
    }
    assert rejects["beyond"]["detail"] == "'Kite': characters 0 to 5000 of paragraph 1, which has 70"
    assert rejects["below"]["detail"] == "'Kite': paragraphs 9 to 9 of 4"
    assert list(found) == ["id", "title", "passage", "campaign", "text", "half", "alias", "several"]

    def only(name: str) -> dict[str, Any]:
        spans: list[dict[str, Any]] = found[name][0]["provenance"]
        assert len(spans) == 1
        return spans[0]

    one = only("id")
    assert (one["wikipedia_id"], one["title"], one["meta"]["original_title"]) == ("101", "Kite", "Kites of old")
    assert (one["start_paragraph_id"], one["end_character"], one["bleu_score"]) == (1, 10, 0.75)
    assert (only("title")["wikipedia_id"], only("title")["title"]) == ("102", "Balloon (aircraft)")
    passage = only("passage")
    assert (passage["section"], passage["start_paragraph_id"]) == ("Section::::History.", 3)
    assert passage["start_character"] is passage["end_character"] is passage["bleu_score"] is None
    campaign = only("campaign")
    assert (campaign["start_paragraph_id"], campaign["end_character"], campaign["bleu_score"]) == (1, len(KITE), 1.0)
    assert campaign["meta"]["evidence_span"] == ["in my own words", KITE, KITE]
    assert (only("text")["start_paragraph_id"], only("text")["bleu_score"]) == (3, 1.0)
    assert [(o["answer"], len(o["provenance"] or ())) for o in found["half"]] == [("a", 0), ("b", 1)]
    assert [o["provenance"] is None for o in found["alias"]] == [False, True]
    assert (only("several")["start_paragraph_id"], only("several")["end_paragraph_id"]) == (1, 3)
    assert manifest["from_kilt"] is True
    assert manifest["released"] == {
        "aligned": 3, "aligned, not found": 1, "checked": 13, "checked, not found": 5, "page of another id": 1,
    }  # fmt: skip
    assert manifest["bleu"]["count"] == 3  # what is only checked was not compared


def test_released_train_records_keep_their_answers(source: Path, tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "a.jsonl", RELEASED)
    run_tasks("nq", "train", tmp_path, "--from-kilt", lines, "--knowledge-source", source)
    found = {row["id"]: row["output"] for row in rows(tmp_path, "nq", "train")}
    assert list(found) == [row["id"] for row in RELEASED if row["id"] != "words"]  # which has no answer to keep
    assert found["below"][0]["meta"]["unmapped_reason"] == SPAN_NOT_IN_PAGE


def test_released_mentions(source: Path, tmp_path: Path) -> None:
    def mention(name: str, page: str, title: str) -> dict[str, Any]:
        meta = {"left_context": "a", "mention": "b", "right_context": "c"}
        return record(name, answer(title, {"wikipedia_id": page, "title": title}), meta=meta)

    given = [mention("1", "102", "Balloon"), mention("2", "105", "Plane"), mention("3", "999", "Zeppelin")]
    lines = write_lines(tmp_path / "a.jsonl", given)
    run_tasks("wned", "dev", tmp_path / "tasks", "--from-kilt", lines, "--knowledge-source", source)
    (row,) = rows(tmp_path / "tasks", "wned", "validation")
    assert row["output"][0]["answer"] == row["output"][0]["provenance"][0]["title"] == "Balloon (aircraft)"
    rejects = {row["source_id"]: row["reason"] for row in rows(tmp_path / "tasks" / "rejects", "wned", "validation")}
    assert rejects == {"2": PAGE_IS_DISAMBIGUATION, "3": PAGE_NOT_IN_KNOWLEDGE_SOURCE}
    (line,) = run_export(tmp_path / "tasks", tmp_path / "kilt", "--strict-release")["wned-dev-kilt.jsonl"]
    assert line == mention("1", "102", "Balloon (aircraft)")


def test_ids_mean_nothing_on_another_wiki(tmp_path: Path) -> None:
    other = make_source(tmp_path, WIKI, "xxwiki")
    lines = write_lines(tmp_path / "a.jsonl", [record("1", answer("a", span("101", "Glider")))])
    run_tasks("wow", "dev", tmp_path / "tasks", "--from-kilt", lines, "--knowledge-source", other)
    (row,) = rows(tmp_path / "tasks", "wow", "validation")
    assert row["output"][0]["provenance"][0]["wikipedia_id"] == "104"


def test_real_hotpotqa_onto_a_small_knowledge_source(shared: Path, tmp_path: Path) -> None:
    """Pages as long as the first 100 records need them, but for one that was cut and one that was renamed."""
    path = shared / "data" / "kilt" / "hotpotqa" / "hotpotqa-dev-kilt.first400.jsonl"
    released = read_lines(path)
    assert len(released) == 400
    spans = [[one for output in row["output"] for one in output["provenance"]] for row in released]
    needed: dict[str, dict[int, int]] = {}
    titles = {}
    for one in (one for row in spans[:100] for one in row):
        paragraphs = needed.setdefault(one["wikipedia_id"], {})
        number = one["end_paragraph_id"]
        paragraphs[number] = max(paragraphs.get(number, 0), one["end_character"])
        titles[one["wikipedia_id"]] = one["title"]
    cut, renamed = spans[0][0]["wikipedia_id"], spans[1][0]["wikipedia_id"]
    assert cut != renamed
    titles[renamed] = "Another name"
    pages = [
        Page(titles[name], "\n\n".join(
            ("word " * 1000)[: length.get(number, 5) - 1] + "." for number in range(1, max(length) + 1)
        ) if name != cut else "Cut.", int(name))
        for name, length in needed.items()
    ]  # fmt: skip
    source = make_source(tmp_path, pages, "enwiki")
    manifest = run_tasks("hotpotqa", "dev", tmp_path / "tasks", "--from-kilt", path, "--knowledge-source", source)

    outcome = Counter[str]()
    for row in spans:
        names = [one["wikipedia_id"] for one in row]
        first = next((n for n in names if n not in needed or n == cut), None)
        outcome["mapped" if first is None else SPAN_NOT_IN_PAGE if first == cut else PAGE_NOT_IN_KNOWLEDGE_SOURCE] += 1
    assert outcome == {"mapped": 99, PAGE_NOT_IN_KNOWLEDGE_SOURCE: 300, SPAN_NOT_IN_PAGE: 1}
    written = outcome.pop("mapped")
    assert (manifest["counters"]["read"], manifest["counters"]["written"]) == (400, written)
    assert manifest["rejected"] == outcome
    found = rows(tmp_path / "tasks", "hotpotqa", "validation")
    ours = {row["id"]: [one for output in row["output"] for one in output["provenance"]] for row in found}
    theirs = {row["id"]: given for row, given in zip(released, spans, strict=True) if row["id"] in ours}
    for name, given in theirs.items():
        for one, other in zip(ours[name], given, strict=True):
            assert one["bleu_score"] == pytest.approx(other["bleu_score"], abs=1e-7)
            for key in ("wikipedia_id", "start_paragraph_id", "start_character", "end_paragraph_id", "end_character"):
                assert one[key] == other[key]
            assert (one["title"], one["meta"]["original_title"]) == (
                ("Another name", other["title"]) if one["wikipedia_id"] == renamed else (other["title"], None)
            )


# --------------------------------------------------------------------------------------------
# MKQA with provenance

MKQA_ROWS = (FOLDER / "mkqa" / "raw.jsonl").read_text().splitlines()[:2]


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two first rows of the adapter's fixture, an answered and an unanswerable one; the first under more ids."""
    first, second = map(json.loads, MKQA_ROWS)
    rows = [first, second, *(first | {"example_id": number} for number in (14, 15, 16, 17))]
    return write_lines(tmp_path_factory.mktemp("mkqa") / "mkqa.jsonl", rows)


@pytest.fixture(scope="module")
def nq(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Natural Questions with ids of the MKQA fixture: mapped, unmapped, without evidence, dropped."""
    folder = tmp_path_factory.mktemp("nq")
    twice = span("101", "Kite", 1, 0, 12)
    train = [
        record("-7449157003522518870", answer("Lu Ban", twice), answer("he", twice), {"provenance": [
            span("102", "Balloon (aircraft)", meta={"yes_no_answer": "NONE", "annotation_id": 5})
        ]}),
        record("12", answer("a", span("104", "Glider"))),
        record("14", answer("a", span("999", "Zeppelin"))),
        record("15", answer("a")),
    ]  # fmt: skip
    dev = [record("16", answer("a", span("101", "Kite", 99))), record("99", answer("a", span("101", "Kite")))]
    for split, lines in (("train", train), ("dev", dev)):
        path = write_lines(folder / f"{split}.jsonl", lines)
        run_tasks("nq", split, folder / "tasks", "--from-kilt", path, "--knowledge-source", source)
    return folder / "tasks"


def test_mkqa_gets_the_provenance_of_natural_questions(nq: Path, questions: Path, tmp_path: Path) -> None:
    plain = run_tasks("mkqa", "dev", tmp_path / "plain", "--source", questions)
    manifest = run_tasks("mkqa", "dev", tmp_path / "tasks", "--source", questions, "--mkqa-provenance", nq)
    before = {(row["id"], row["language"]): row for row in rows(tmp_path / "plain", "mkqa", "validation")}
    after = {(row["id"], row["language"]): row for row in rows(tmp_path / "tasks", "mkqa", "validation")}
    assert list(before) == list(after)
    gained = Counter()
    for key, row in after.items():
        answers = before[key]["output"]
        assert row | {"output": None} == before[key] | {"output": None}
        assert row["output"][: len(answers)] == answers
        added = row["output"][len(answers) :]
        assert all(one["answer"] is None and one["provenance"] for one in added)
        gained[key[0]] += len(added)
    assert +gained == {"-7449157003522518870": 2 * 26, "12": 26}  # the same place twice is one set
    first = after["-7449157003522518870", "ja"]["output"][-2:]
    assert [one["provenance"][0]["wikipedia_id"] for one in first] == ["101", "102"]
    assert first[1]["provenance"][0]["meta"]["annotation_id"] == "5"

    assert manifest["borrowed"] == {
        "mapped": 52, PAGE_NOT_IN_KNOWLEDGE_SOURCE: 26, NO_EVIDENCE: 26, SPAN_NOT_IN_PAGE: 26, NOT_IN_NQ: 26,
    }  # fmt: skip
    assert sum(manifest["borrowed"].values()) == manifest["counters"]["written"]
    assert manifest["counters"]["evidence_sets"] == 3 * 26
    assert "borrowed" not in plain
    nq_manifest = json.loads((nq / "manifests" / "nq-train.json").read_text())
    assert manifest["knowledge_source"] == nq_manifest["knowledge_source"]


def test_what_was_borrowed_is_told(
    nq: Path, questions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--dataset", "mkqa", "--split", "dev", "--source", str(questions), "--output", str(tmp_path)]
    assert tasks.main([*arguments, "--mkqa-provenance", str(nq)]) == 0
    assert "\nprovenance of nq: mapped 52, no-evidence 26, " in capsys.readouterr().out


def test_exported_mkqa_comes_back_as_it_was(nq: Path, questions: Path, source: Path, tmp_path: Path) -> None:
    """With the evidence that some records borrowed, and the others, which have none in dev either."""
    for name, options in (("plain", ()), ("borrowed", ("--mkqa-provenance", nq))):
        before, after = tmp_path / name / "tasks", tmp_path / name / "again"
        run_tasks("mkqa", "dev", before, "--source", questions, *options)
        run_export(before, tmp_path / name / "kilt")
        lines = tmp_path / name / "kilt" / "mkqa-dev-kilt.jsonl"
        run_tasks("mkqa", "dev", after, "--from-kilt", lines, "--knowledge-source", source)
        assert rows(after, "mkqa", "validation") == rows(before, "mkqa", "validation")


def test_evaluations_take_borrowed_evidence_for_no_answer_of_its_own(nq: Path, questions: Path, tmp_path: Path) -> None:
    run_tasks("mkqa", "dev", tmp_path, "--source", questions, "--mkqa-provenance", nq)
    found = {row["id"]: row for row in rows(tmp_path, "mkqa", "validation") if row["language"] == "en"}
    row = found["-7449157003522518870"]
    ((language, texts, _),) = mkqa.gold_texts(row)
    assert language == "en"
    assert "" not in texts  # No Answer is wrong
    assert "Lu Ban" in texts
    ((_, texts, _),) = mkqa.gold_texts(found["12"])
    assert texts == ("",)  # still unanswerable
    gold = run_export(tmp_path, tmp_path / "kilt")["mkqa-dev-kilt.jsonl"]
    (one,) = [line for line in gold if line["id"] == row["id"] and line["meta"]["language"] == "en"]
    guess = {"id": row["id"], "output": [{"answer": "Lu Ban", "provenance": [{"wikipedia_id": "102"}]}]}
    figures = dict(evaluate_kilt([one], [guess]).metrics)
    assert (figures["em"], figures["Rprec"], figures["KILT-em"]) == (1.0, 1.0, 1.0)


def test_the_report_counts_what_was_borrowed_and_brought_over(nq: Path, questions: Path, tmp_path: Path) -> None:
    manifest = run_tasks("mkqa", "dev", tmp_path / "tasks", "--source", questions, "--mkqa-provenance", nq)
    (tmp_path / "tasks" / "manifests" / "nq-train.json").write_bytes((nq / "manifests" / "nq-train.json").read_bytes())
    assert report.main([str(tmp_path), "--quiet"]) == 0
    data = json.loads((tmp_path / "report.json").read_text())
    splits = {one["dataset"]: one["splits"][0] for one in data["datasets"]}
    assert splits["mkqa"]["borrowed"] == manifest["borrowed"]
    assert (
        splits["nq"]["released"]
        == {"checked": 5, "checked, not found": 1, "page of another id": 0}
        | {key: value for key, value in splits["nq"]["released"].items() if key == "page of another id"}
        or splits["nq"]["released"]["checked"] == 5
    )
    page = (tmp_path / "report.html").read_text()
    assert "Provenance of Natural Questions" in page
    assert NOT_IN_NQ in page
    assert "Released evidence" in page


def test_a_configuration_takes_both(tmp_path: Path) -> None:
    text = 'output = "out"\n[knowledge_source]\npath = "ks"\n'
    text += '[[task]]\ndataset = "nq"\nsplit = "train"\nfrom_kilt = ["nq-train-kilt.jsonl"]\n'
    text += '[[task]]\ndataset = "mkqa"\nsplit = "dev"\nsource = ["mkqa.jsonl.gz"]\nmkqa_provenance = true\n'
    text += '[[task]]\ndataset = "mkqa"\nsplit = "dev"\nsource = ["mkqa.jsonl.gz"]\nmkqa_provenance = "elsewhere"\n'
    (tmp_path / "build.toml").write_text(text)
    found = plan_of(str(tmp_path / "build.toml"), None, False, False, ()).tasks
    assert found[0].from_kilt == (str(tmp_path / "nq-train-kilt.jsonl"),)
    assert found[0].source == ()
    assert found[1].mkqa_provenance == found[1].output == str(tmp_path / "out" / "tasks")
    assert found[2].mkqa_provenance == str(tmp_path / "elsewhere")


# --------------------------------------------------------------------------------------------
# mistakes


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        (export, ["--tasks", "x"], "say what to export: kiltetl export kilt-jsonl"),
        (export, ["kilt-jsonl", "--tasks", "{empty}", "--output", "{out}"], "empty: no tables of kiltetl tasks in it"),
        (export, ["kilt-jsonl", "--tasks", "{nq}", "--output", "{out}", "--dataset", "wow"], "--dataset wow: not in"),
        (export, ["kilt-jsonl", "--tasks", "{nq}", "--output", "{out}", "--split", "test"], "--split test: none of nq"),
        (export, ["kilt-jsonl", "--tasks", "{nq}", "--output", "{out}", "--split", "final"], "final: known are"),
        (export, ["kilt-jsonl", "--tasks", "{broken}", "--output", "{out}"], "not there, though its manifest names it"),
        (tasks, ["--dataset", "nq", "--split", "dev", "--output", "{out}"], "or its released ones with --from-kilt"),
        (tasks, ["--dataset", "nq", "--split", "dev", "--output", "{out}", "--source", "{lines}", "--from-kilt",
                 "{lines}"], "or its released ones with --from-kilt"),
        (tasks, ["--dataset", "nq", "--split", "dev", "--output", "{out}", "--from-kilt", "{lines}",
                 "--knowledge-source", "{ks}"], 'lines.jsonl, record 1: there is no input; expected nq\'s format'),
        (tasks, ["--dataset", "nq", "--split", "dev", "--output", "{out}", "--from-kilt", "{good}"],
         "--knowledge-source DIR"),
        (tasks, ["--dataset", "mkqa", "--split", "dev", "--output", "{out}", "--source", "{mkqa}",
                 "--mkqa-provenance", "{empty}"], "empty: no tables of nq in it"),
        (tasks, ["--dataset", "mkqa", "--split", "dev", "--output", "{out}", "--source", "{mkqa}",
                 "--mkqa-provenance", "{broken}"], "not there, though a manifest names it"),
        (tasks, ["--dataset", "nq", "--split", "dev", "--output", "{out}", "--from-kilt", "{good}",
                 "--mkqa-provenance", "{nq}", "--knowledge-source", "{ks}"], "--mkqa-provenance: goes with"),
    ],
)  # fmt: skip
def test_mistakes_of_the_user(
    nq: Path, questions: Path, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    command: Any, arguments: list[str], said: str,
) -> None:  # fmt: skip
    (tmp_path / "empty").mkdir()
    manifests = tmp_path / "broken" / "manifests"
    manifests.mkdir(parents=True)
    (manifests / "nq-train.json").write_bytes((nq / "manifests" / "nq-train.json").read_bytes())
    places = {
        "empty": tmp_path / "empty", "out": tmp_path / "out", "nq": nq, "broken": tmp_path / "broken", "ks": source,
        "mkqa": questions, "lines": write_lines(tmp_path / "lines.jsonl", [{"id": "1", "claim": "c"}]),
        "good": write_lines(tmp_path / "good.jsonl", [record("1", answer("a"))]),
    }  # fmt: skip
    assert command.main([argument.format(**places) for argument in arguments]) == 2
    message = capsys.readouterr().err
    assert message.startswith("kiltetl: error: ")
    assert message.count("\n") == 1
    assert said in message
    assert not (tmp_path / "out").exists()


def test_a_dry_run_writes_nothing(nq: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["kilt-jsonl", "--tasks", str(nq), "--output", str(tmp_path / "kilt"), "--dry-run"]
    assert export.main(arguments) == 0
    said = capsys.readouterr().out
    assert f"{tmp_path / 'kilt' / 'nq-train-kilt.jsonl'}  4 records" in said
    assert not (tmp_path / "kilt").exists()


def test_the_command_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert export.main(["--help"]) == 0
    assert "kiltetl export kilt-jsonl" in capsys.readouterr().out


@pytest.mark.soak
def test_released_files_are_read_by_several_processes(source: Path, tmp_path: Path) -> None:
    files = [write_lines(tmp_path / f"{i}.jsonl", RELEASED[i::2]) for i in range(2)]
    for name, workers in (("one", "1"), ("two", "2")):
        options = ["--from-kilt", *files, "--knowledge-source", source, "--workers", workers]
        run_tasks("nq", "dev", tmp_path / name, *options)
    written = [
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("one", "two")
    ]
    assert written[0] == written[1]
