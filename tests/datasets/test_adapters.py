"""Every adapter against rows in the true original format, and against real records."""

import ast
import builtins
import copy
import json
import os
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kiltetl.schemas.errors import InputError
from kiltetl.schemas.reasons import SKIPS
from kiltetl.schemas.records import Evidence, SourcePage
from kiltetl.transforms.datasets import DATASETS, by_name
from kiltetl.transforms.datasets.fever import DATASET as FEVER
from kiltetl.transforms.datasets.hotpotqa import DATASET as HOTPOTQA
from kiltetl.transforms.datasets.mkqa import DATASET as MKQA
from kiltetl.transforms.datasets.mkqa import LANGUAGES
from kiltetl.transforms.datasets.nq import DATASET as NQ
from kiltetl.transforms.datasets.spec import Dataset, Json, Row, Text
from kiltetl.transforms.jobs.examples import expected_format
from tests.support.adapters import (
    FOLDER,
    NOT_RELEASED,
    RENAMED,
    check,
    check_lines,
    one,
    pages,
    records,
    records_of,
    rows,
    used,
    why,
)
from tests.support.checkout import ROOT
from tools.expected import outcomes, plain


@pytest.fixture
def sealed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Dataset], Dataset]:
    """The dataset, whose functions fail the test if they open a file or a socket, or change what they are given."""

    def refuse(*args: object, **options: object) -> None:
        raise AssertionError(f"an adapter opened {args}")

    def pure(function: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
        def run(given: Any) -> Iterator[Any]:
            before = copy.deepcopy(given)
            with monkeypatch.context() as patch:
                for place, name in ((builtins, "open"), (os, "open"), (socket, "socket")):
                    patch.setattr(place, name, refuse)
                found = list(function(given))
            assert given == before, "what was given was changed"
            yield from found

        return run

    def seal(dataset: Dataset) -> Dataset:
        merge, evidence = dataset.merge, dataset.evidence
        return replace(
            dataset,
            read=pure(dataset.read),
            merge=None if merge is None else replace(merge, merge=pure(merge.merge)),
            evidence=None if evidence is None else replace(evidence, read=pure(evidence.read)),
        )

    return seal


# ---------------------------------------------------------------------------------------------
# All adapters alike


def test_every_adapter_has_a_folder_and_every_folder_an_adapter() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__"} == set(DATASETS)


@pytest.mark.parametrize("name", DATASETS)
def test_fixture_rows(name: str, sealed: Callable[[Dataset], Dataset]) -> None:
    expected = rows(FOLDER / name / "expected.jsonl")
    found = outcomes(sealed(DATASETS[name]), FOLDER / name)
    for number, (gives, wanted) in enumerate(zip(found, expected, strict=True), start=1):
        assert gives == wanted, f"line {number} of expected.jsonl"
    kinds = {next(iter(gives)) if isinstance(gives, dict) else "used" for gives in found}
    assert {"used", "malformed"} <= kinds, "a fixture needs rows to use and rows to refuse"
    assert {gives["skipped"] for gives in found if isinstance(gives, dict) and "skipped" in gives} <= set(SKIPS)


@pytest.mark.parametrize("name", DATASETS)
def test_shape(name: str) -> None:
    dataset = DATASETS[name]
    (raw,) = (FOLDER / name).glob("raw.*")
    found = records_of(dataset, raw)
    check(found)
    if dataset.merge is not None and dataset.merge.rule is not None:
        rule = dataset.merge.rule
        dataset = rule.settle(dataset, dict(map(rule.count, found)))
        assert dataset.merge is not None
        assert dataset.merge.rule is None
    if dataset.split_of is not None:
        assert {dataset.split_of(example) for example in found} <= set(dataset.splits)
    if dataset.evidence is not None:
        assert pages(dataset, json.loads(dataset.evidence.example))
    assert dataset.name == name
    assert dataset.homepage.startswith("https://")
    assert dataset.usage
    assert dataset.licence


@pytest.mark.parametrize("name", DATASETS)
def test_the_format_of_its_files_is_told(name: str) -> None:
    (raw,) = (FOLDER / name).glob("raw.*")
    form = {".jsonl": "one JSON object a line", ".json": "a JSON list of objects", ".text": "text"}[raw.suffix]
    assert expected_format(DATASETS[name]) == f"{name}'s format, {form}, such as {DATASETS[name].row_example}"


@pytest.mark.parametrize("name", DATASETS)
def test_an_adapter_is_one_file_that_imports_no_other(name: str) -> None:
    path = ROOT / "transforms" / "datasets" / f"{name}.py"
    tree = ast.parse(path.read_text("utf-8"))
    found = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    own = {module for module in found if module.startswith("kiltetl.")}
    assert own <= {
        "kiltetl.schemas.errors",
        "kiltetl.schemas.reasons",
        "kiltetl.schemas.records",
        "kiltetl.schemas.splits",
        "kiltetl.transforms.datasets.detokenize",
        "kiltetl.transforms.datasets.hashing",
        "kiltetl.transforms.datasets.mentions",
        "kiltetl.transforms.datasets.spec",
        "kiltetl.transforms.datasets.wikidata",
        "kiltetl.transforms.datasets.wned_format",
        "kiltetl.transforms.wiki.titles",
    }
    docstring = ast.get_docstring(tree) or ""
    assert "https://" in docstring
    assert "Licence:" in docstring
    assert "{" in docstring


def test_names_are_unique() -> None:
    with pytest.raises(ValueError, match="two datasets are named 'fever'"):
        by_name((FEVER, NQ, FEVER))


# ---------------------------------------------------------------------------------------------
# Single oddities, told by value


def fever_row(**changes: Any) -> Row:
    return {"id": 8, "label": "SUPPORTS", "claim": "c", "evidence": [[[1, 1, "A", 0]]], **changes}


def test_fever_evidence_sets_are_alternatives() -> None:
    example = one(FEVER, fever_row(evidence=[[[1, 1, "A", 0], [1, 1, "B", 2]], [[2, 2, "C", 0]]]))
    assert example.id == "8"
    assert [output.answer for output in example.outputs] == ["SUPPORTS", "SUPPORTS"]
    assert [[(e.title, e.sentence) for e in output.evidence or ()] for output in example.outputs] == [
        [("A", 0), ("B", 2)],
        [("C", 0)],
    ]


def test_fever_not_enough_info_is_left_out() -> None:
    row = {"id": 7, "label": "NOT ENOUGH INFO", "claim": "c", "evidence": [[[1, 2, None, None]]]}
    assert why(FEVER, row) == "not-enough-info"


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("Alien_-LRB-film-RRB-", "Alien (film)"),
        ("Star_Trek-COLON-_Picard", "Star Trek: Picard"),
        ("Beyonce\u0301", "Beyonc\u00e9"),
        ("E=mc²", "E=mc²"),
        ("A_-LSB-b-RSB-_-LCB-c-RCB-", "A [b] {c}"),
        ("AT&amp;T", "AT&amp;T"),
    ],
)
def test_fever_titles(page: str, title: str) -> None:
    ((evidence,),) = (output.evidence or () for output in one(FEVER, fever_row(evidence=[[[1, 1, page, 0]]])).outputs)
    assert evidence.title == title
    assert evidence.source_page == page.replace("e\u0301", "\u00e9")
    assert evidence.meta.fever_page_id == page  # as it is spelled
    assert evidence.meta.fever_sentence_id == 0


def sentences(dataset: Dataset, row: Row) -> tuple[str, ...]:
    (page,) = pages(dataset, row)
    return page.sentences


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("0\tOne .\tlink\tLink\n1\t", ("One .", "")),
        ("0\tOne .\tlink\t\nTwo\tThree\n1\tFour .", ("One .", "Four .")),
        ("0\tOne .\tlink\t\n1998\tThree\n1\tFour .\n2", ("One .", "Four .", "")),
        ("0\tOne\u2028two\x85three .", ("One\u2028two\x85three .",)),
        ("0\t-LRB- `` a '' -RRB- .", ('( " a " ) .',)),
        ("", ()),
    ],
)
def test_fever_sentences(lines: str, expected: tuple[str, ...]) -> None:
    assert sentences(FEVER, {"id": "A", "text": "", "lines": lines}) == expected


def test_hotpotqa_bad_index_and_missing_page_are_left_to_the_look_up() -> None:
    row = {
        "_id": "h1",
        "question": "q",
        "answer": "yes",
        "supporting_facts": [["Foo", 9], ["Bar", 0], ["NoSuchPage", 0]],
        "context": [["Foo", ["One.", " Two."]], ["Bar", [" Three."]]],
        "type": "x",
        "level": "y",
    }
    (output,) = one(HOTPOTQA, row).outputs
    assert output.evidence == (
        Evidence("Foo", source_page="Foo", sentence=9),
        Evidence("Bar", text="Three."),
        Evidence("NoSuchPage", source_page="NoSuchPage", sentence=0),
    )


def test_hotpotqa_reads_both_corpora_alike() -> None:
    flat = {"title": "A", "text": ["One <b>x</b>.", " Two."]}
    nested = {"title": "A", "text": [["A"], ['One <a href="x">x</a>.', " Two."], ["Three."]]}
    assert sentences(HOTPOTQA, flat) == ("One x.", "Two.")
    assert sentences(HOTPOTQA, nested) == ("One x.", "Two.", "Three.")


def nq_row(text: str, *annotations: Row, url: str = "https://en.wikipedia.org/wiki/Rome") -> Row:
    return {
        "example_id": 5,
        "question_text": "is rome big",
        "document_text": text,
        "document_url": url,
        "annotations": annotations,
    }


NONE = {"start_token": -1, "end_token": -1}


def test_nq_yes_has_the_evidence_and_meta_of_its_own_annotation() -> None:
    first = {"annotation_id": 9, "yes_no_answer": "NONE", "long_answer": NONE, "short_answers": []}
    second = {"annotation_id": 10, "yes_no_answer": "YES", "long_answer": {"start_token": 0, "end_token": 6}}
    example = one(NQ, nq_row("<P> Rome is big . </P>", first, second))
    assert example.id == "5"
    (output,) = example.outputs
    assert output.answer == "yes"
    (evidence,) = output.evidence or ()
    assert (evidence.title, evidence.text) == ("Rome", "Rome is big .")
    assert (evidence.meta.annotation_id, evidence.meta.yes_no_answer) == ("10", "YES")


@pytest.mark.parametrize("symbol", ["∞", "$"])
def test_an_answer_of_symbols_stays(symbol: str) -> None:
    annotation = {
        "annotation_id": 9,
        "yes_no_answer": "NONE",
        "long_answer": NONE,
        "short_answers": [{"start_token": 1, "end_token": 2}],
    }
    (output,) = one(NQ, nq_row(f"<P> {symbol} </P>", annotation)).outputs
    assert output.answer == symbol
    assert [evidence.text for evidence in output.evidence or ()] == [symbol]


@pytest.mark.parametrize("row", rows(FOLDER / "mkqa" / "raw.jsonl")[:4], ids=lambda row: str(row["example_id"]))
def test_mkqa_has_an_example_a_language(row: Row) -> None:
    examples = records(MKQA, row)
    assert [example.language for example in examples] == list(LANGUAGES)
    assert all(example.meta.language == example.language for example in examples)
    assert all(example.input == row["queries"][example.language] for example in examples)
    for example in examples:
        primary = [output.meta.is_primary for output in example.outputs if output.answer is not None]
        assert primary == [True, *[False] * (len(primary) - 1)] or not primary


def test_mkqa_names_the_missing_language() -> None:
    row = rows(FOLDER / "mkqa" / "raw.jsonl")[0]
    del row["queries"]["km"]
    assert why(MKQA, row) == "queries lacks the languages ['km'] and has the unknown ones []"


@pytest.mark.parametrize("dataset", [d for d in DATASETS.values() if isinstance(d.source, Json)], ids=lambda d: d.name)
@pytest.mark.parametrize("row", [{}, {"id": 1}, {"_id": "x", "question": "q"}, {"example_id": 3}, [1], "x"], ids=str)
def test_rows_of_another_format_are_refused(dataset: Dataset, row: Any) -> None:
    assert why(dataset, row)


@pytest.mark.parametrize("dataset", [d for d in DATASETS.values() if isinstance(d.source, Text)], ids=lambda d: d.name)
def test_files_of_another_format_are_refused(dataset: Dataset) -> None:
    with pytest.raises(InputError, match=rf"expected {dataset.name}'s format, text, such as"):
        check_lines(dataset, '{"id": 8}')


# ---------------------------------------------------------------------------------------------
# Real records


@pytest.mark.shared
def test_real_fever_claims(shared: Path) -> None:
    examples, skipped = used(FEVER, shared / "data/fever/paper_dev.first3000.jsonl")
    assert (len(examples), skipped) == (2019, {"not-enough-info": 981})
    assert sum(len(example.outputs) for example in examples) == 2982  # of 3,905 sets that annotators gave
    assert Counter(example.outputs[0].answer for example in examples) == {"SUPPORTS": 1011, "REFUTES": 1008}
    examples, skipped = used(FEVER, shared / "data/fever/fever2-fixers-dev.jsonl")
    assert (examples, skipped) == ([], {"not-enough-info": 1})


@pytest.mark.shared
@pytest.mark.parametrize(
    ("claims", "name", "count"),
    [("paper_dev.first3000", "fever-dev-kilt", 5), ("train.sample", "fever-train-kilt", 1)],
)
def test_real_fever_claims_equal_the_released_records(shared: Path, claims: str, name: str, count: int) -> None:
    examples, _ = used(FEVER, shared / f"data/fever/{claims}.jsonl")
    ours = {example.id: example for example in examples}
    released = [record for record in rows(shared / f"data/kilt/fever/{name}.jsonl") if record["id"] in ours]
    assert len(released) == count
    for record in released:
        example, lost = ours[record["id"]], NOT_RELEASED.get(record["id"], set())
        assert example.input == record["input"]
        assert {output.answer for output in example.outputs} == {output["answer"] for output in record["output"]}
        sets = [output.evidence or () for output in example.outputs]
        facts = [tuple((e.meta.fever_page_id, e.meta.fever_sentence_id) for e in evidence) for evidence in sets]
        assert lost <= set(facts)
        spans = [output["provenance"] for output in record["output"] if "provenance" in output]
        assert [found for found in facts if found not in lost] == [
            tuple((span["meta"]["fever_page_id"], span["meta"]["fever_sentence_id"]) for span in theirs)
            for theirs in spans
        ]
        titles = [[e.title for e in evidence] for evidence, found in zip(sets, facts, strict=True) if found not in lost]
        assert titles == [[span["title"] for span in theirs] for theirs in spans]


@pytest.mark.shared
@pytest.mark.parametrize(("name", "count"), [("wiki-001", 1), ("wiki-002", 1), ("wiki-pages.5records", 4)])
def test_real_fever_pages(shared: Path, name: str, count: int) -> None:
    found: list[SourcePage] = []
    for row in rows(shared / f"data/fever/{name}.jsonl"):
        found += pages(FEVER, row)
        if row["id"]:
            body = "".join(found[-1].sentences).replace(" ", "")
            repaired = row["text"].replace("-LRB-", "(").replace("-RRB-", ")").replace(" ", "")
            # the page's text may repeat the tail of a list of links; every sentence is in it, in order
            assert all(part.replace(" ", "") in repaired for part in found[-1].sentences)
            assert len(body) <= len(repaired)
    assert len(found) == count


@pytest.mark.shared
@pytest.mark.parametrize(("name", "count"), [("hotpot_dev_first40.rekeyed", 40), ("hotpot_train.sample50", 50)])
def test_real_hotpotqa_questions(shared: Path, name: str, count: int) -> None:
    examples, skipped = used(HOTPOTQA, shared / f"data/hotpotqa/{name}.json")
    assert (len(examples), skipped) == (count, {})
    for example in examples:
        (output,) = example.outputs
        assert output.evidence is not None
        assert len(output.evidence) >= 2
        assert all(evidence.text and "&amp;" not in evidence.title for evidence in output.evidence)
        assert example.meta.level in ("easy", "medium", "hard")
        assert example.meta.type in ("bridge", "comparison")


@pytest.mark.shared
def test_real_hotpotqa_questions_in_columns(shared: Path) -> None:
    """The copy lost its ids: without them every row is refused, with any they read like the original."""
    lost = rows(shared / "data/hotpotqa/hotpot_dev_distractor_v1.first60.json")
    original, _ = used(HOTPOTQA, shared / "data/hotpotqa/hotpot_dev_first40.rekeyed.json")
    assert len(lost) == 60
    assert {why(HOTPOTQA, row) for row in lost} == {"no field '_id'"}
    by_question = {example.input: example for example in original}
    found = [one(HOTPOTQA, {**row, "id": str(number)}) for number, row in enumerate(lost)]
    check(found)
    same = [
        (example.outputs, example.meta) == (by_question[example.input].outputs, by_question[example.input].meta)
        for example in found
        if example.input in by_question
    ]
    assert same == [True] * 40


@pytest.mark.shared
def test_real_hotpotqa_questions_equal_the_released_records(shared: Path) -> None:
    examples, _ = used(HOTPOTQA, shared / "data/hotpotqa/hotpot_dev_first40.rekeyed.json")
    released = {record["id"]: record for record in rows(shared / "data/kilt/hotpotqa/hotpotqa-dev-kilt.first400.jsonl")}
    renamed = set()
    for example in examples:
        record = released[example.id]
        (output,), (theirs,) = example.outputs, record["output"]
        assert (example.input, output.answer) == (record["input"], theirs["answer"])
        titles = [evidence.title for evidence in output.evidence or ()]
        renamed |= RENAMED.keys() & titles
        assert [RENAMED.get(title, title) for title in titles] == [span["title"] for span in theirs["provenance"]]
    assert renamed == RENAMED.keys()


@pytest.mark.shared
def test_real_natural_questions(shared: Path) -> None:
    (example,), _ = used(NQ, shared / "data/nq/farm_dev_sample.jsonl")
    record = rows(shared / "data/kilt/nq/nq-train-kilt.jsonl")[0]
    assert (example.id, example.input) == (record["id"], record["input"])
    assert [output.answer for output in example.outputs] == [theirs.get("answer") for theirs in record["output"]]
    for output, theirs in zip(example.outputs, record["output"], strict=True):
        (evidence,) = output.evidence or ()
        (span,) = theirs["provenance"]
        assert evidence.title == span["title"]
        meta = {name: str(value) for name, value in span.get("meta", {}).items()}
        assert plain(evidence.meta) == meta
        assert evidence.text is not None
        assert "<" not in evidence.text
        assert "``" not in evidence.text
    examples, skipped = used(NQ, shared / "data/nq/farm_train_sample.jsonl")
    assert (examples, skipped) == ([], {"no-short-answer": 1})


@pytest.mark.shared
def test_real_mkqa_queries(shared: Path) -> None:
    path = shared / "data/mkqa/test_mkqa.jsonl.gz"
    examples, skipped = used(MKQA, path)
    assert (len(examples), skipped) == (6 * 26, {})
    assert Counter(example.language for example in examples) == dict.fromkeys(LANGUAGES, 6)
    assert len({example.id for example in examples}) == 6
    for row, example in ((row, example) for row in rows(path) for example in examples):
        if example.id == str(row["example_id"]):
            answers = row["answers"][example.language]
            texts = [text for answer in answers for text in (answer["text"], *(answer.get("aliases") or ()))]
            assert [output.answer for output in example.outputs] == list(dict.fromkeys(texts))
            assert {output.meta.answer_type for output in example.outputs} == {answer["type"] for answer in answers}
