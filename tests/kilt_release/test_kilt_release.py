"""Released records to rows of our table and back; nothing is lost on either way."""

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kiltetl.schemas.arrow import records_of, table_of
from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.reasons import NO_ANSWER
from kiltetl.schemas.records import (
    Evidence,
    Output,
    OutputMeta,
    PartialEvidence,
    PartialEvidenceMeta,
    Place,
    Provenance,
    ProvenanceMeta,
    Task,
    TaskMeta,
)
from kiltetl.transforms.datasets import DATASETS
from kiltetl.transforms.datasets.spec import Json, Shape
from kiltetl.transforms.kilt_release.read import from_kilt
from kiltetl.transforms.kilt_release.source import kind, released
from kiltetl.transforms.kilt_release.write import file_name, line_of, to_kilt
from tests.support.adapters import one, why

SPAN = {
    "wikipedia_id": "12", "title": "Kite", "start_paragraph_id": 1, "start_character": 0, "end_paragraph_id": 1,
    "end_character": 7, "bleu_score": 0.75, "section": "Section::::Abstract.",
}  # fmt: skip


def record(**changes: Any) -> dict[str, Any]:
    return {"id": "5", "input": "who made kites", "output": [{"answer": "Lu Ban", "provenance": [SPAN]}]} | changes


def output_of(*outputs: dict[str, Any]) -> tuple[Output, ...]:
    return from_kilt(record(output=list(outputs)), "nq", "train").output


# --------------------------------------------------------------------------------------------
# names


@pytest.mark.parametrize(
    ("dataset", "split", "with_output", "name"),
    [
        ("hotpotqa", "validation", True, "hotpotqa-dev-kilt.jsonl"),
        ("nq", "train", True, "nq-train-kilt.jsonl"),
        ("structured_zeroshot", "test", False, "structured_zeroshot-test_without_answers-kilt.jsonl"),
        ("fever", "test", True, "fever-test-kilt.jsonl"),
        ("triviaqa", "train", True, "triviaqa-train_id-kilt.jsonl"),
        ("triviaqa", "validation", True, "triviaqa-dev_id-kilt.jsonl"),
        ("triviaqa", "test", False, "triviaqa-test_id_without_answers-kilt.jsonl"),
    ],
)
def test_file_names_are_those_of_the_release(dataset: str, split: str, with_output: bool, name: str) -> None:
    assert file_name(dataset, split, DATASETS[dataset].shape, with_output) == name


def test_a_table_that_kilt_did_not_release_has_a_name_of_the_same_form() -> None:
    assert file_name("anchors", "validation") == "anchors-dev-kilt.jsonl"
    assert file_name("mine", "test", with_output=False) == "mine-test_without_answers-kilt.jsonl"


def test_shapes_are_of_the_eleven_datasets() -> None:
    shapes = {name: dataset.shape for name, dataset in DATASETS.items() if dataset.shape is not None}
    assert set(DATASETS) - set(shapes) == {"mkqa", "tackbp2010"}
    assert [name for name, shape in shapes.items() if shape.section_first] == ["trex"]
    assert [name for name, shape in shapes.items() if shape.empty_meta] == ["structured_zeroshot"]
    assert [name for name, shape in shapes.items() if not shape.has_input] == ["triviaqa"]
    assert [name for name, shape in shapes.items() if not shape.span_in_train] == ["fever"]
    mention = ("left_context", "mention", "right_context")
    assert [name for name, shape in shapes.items() if shape.record == mention] == ["aidayago2", "wned", "cweb"]


@pytest.mark.parametrize(
    ("shape", "keys"),
    [
        (None, ["start_paragraph_id", "start_character", "end_paragraph_id", "end_character", "bleu_score", "section"]),
        (
            Shape(section_first=True),
            ["section", "start_paragraph_id", "start_character", "end_paragraph_id", "end_character", "bleu_score"],
        ),
        (
            Shape(empty_meta=True),
            ["start_paragraph_id", "start_character", "end_paragraph_id", "end_character", "bleu_score", "meta",
             "section"],
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("strict", [False, True])
def test_a_shape_says_where_the_keys_of_a_span_stand(shape: Shape | None, keys: list[str], strict: bool) -> None:
    task = from_kilt(record(), "mine", "train")
    assert list(to_kilt(task, shape, strict)["output"][0]["provenance"][0]) == ["wikipedia_id", "title", *keys]


@pytest.mark.parametrize("shape", [None, Shape(), Shape(section_first=True), Shape(empty_meta=True)])
@pytest.mark.parametrize("strict", [False, True])
def test_the_keys_of_a_passage_stand_as_the_campaign_has_them(shape: Shape | None, strict: bool) -> None:
    passage = Provenance(None, None, 2, None, 1, ProvenanceMeta(), "Section::::Abstract.", "Kite", "12")
    task = Task("5", "who", TaskMeta(), (Output(None, OutputMeta(), (passage,)),), "mine", "validation", "en")
    (span,) = to_kilt(task, shape, strict)["output"][0]["provenance"]
    assert list(span) == ["wikipedia_id", "title", "section", "start_paragraph_id", "end_paragraph_id"]


def test_a_shape_says_which_keys_a_strict_record_has() -> None:
    meta = ProvenanceMeta(annotation_id="5", original_title="Kites")
    span = Provenance(1.0, 0, 1, 7, 1, meta, None, "Kite", "12")
    output = Output("Lu Ban", OutputMeta(score=3, entity="Q7"), (span,))
    train = Task("5", "who", TaskMeta(level="easy", mention="M"), (output,), "mine", "train", "en")
    shape = Shape(("mention",), output=("score",), span=("annotation_id",), span_in_train=False, has_input=False)
    whole = to_kilt(train, shape)
    assert whole["input"] == "who"
    assert whole["meta"] == {"mention": "M", "level": "easy"}
    assert whole["output"][0]["meta"] == {"score": 3, "entity": "Q7"}
    assert whole["output"][0]["provenance"][0]["meta"] == {"annotation_id": 5, "original_title": "Kites"}
    strict = to_kilt(train, shape, strict=True)
    assert "input" not in strict
    assert strict["meta"] == {"mention": "M"}
    assert strict["output"][0]["meta"] == {"score": 3}
    assert "meta" not in strict["output"][0]["provenance"][0]
    dev = to_kilt(replace(train, split="validation"), shape, strict=True)
    assert dev["output"][0]["provenance"][0]["meta"] == {"annotation_id": 5}
    assert to_kilt(train, None, strict=True) == to_kilt(train)


# --------------------------------------------------------------------------------------------
# the release


def samples(shared: Path) -> list[tuple[str, str, str]]:
    """(dataset, split, line) of every released record there is."""
    found = []
    for path in sorted((shared / "data" / "kilt").rglob("*.jsonl")):
        dataset, part = path.name.split("-")[:2]
        split = part.partition("_")[0].replace("dev", "validation")
        found += [(dataset, split, line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return found


def test_every_released_record_comes_back_key_for_key(shared: Path) -> None:
    """Same keys in the same order, same values: without a difference, strict or not."""
    lines = samples(shared)
    assert len(lines) == 715
    assert {dataset for dataset, _, _ in lines} == {
        "fever", "hotpotqa", "nq", "structured_zeroshot", "trex", "triviaqa", "wned", "wow",
    }  # fmt: skip
    for dataset, split, line in lines:
        task = from_kilt(json.loads(line), dataset, split)
        expected = json.dumps(json.loads(line))
        assert line_of(to_kilt(task, DATASETS[dataset].shape)).decode() == f"{expected}\n"
        assert line_of(to_kilt(task, DATASETS[dataset].shape, strict=True)).decode() == f"{expected}\n"
        # the files are ASCII, but for one
        assert dataset == "wned" or expected == line


def test_released_records_come_back_from_parquet_but_for_the_width_of_scores(shared: Path) -> None:
    lines = samples(shared)
    tasks = [from_kilt(json.loads(line), dataset, split) for dataset, split, line in lines]
    back = list(records_of(Task, table_of(Task, tasks)))
    for given_, found in zip(tasks, back, strict=True):
        for ours, other in zip(given_.output, found.output, strict=True):
            for span, stored in zip(ours.provenance or (), other.provenance or (), strict=True):
                assert stored.bleu_score == pytest.approx(span.bleu_score, abs=1e-7)
                assert replace(stored, bleu_score=None) == replace(span, bleu_score=None)
    again = [from_kilt(to_kilt(task, DATASETS[task.dataset].shape), task.dataset, task.split) for task in back]
    assert again == back


# --------------------------------------------------------------------------------------------
# any record

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
NAME = TEXT.filter(str.strip)
INT32 = st.integers(-(2**31), 2**31 - 1)
TEXTS = st.none() | st.lists(TEXT, max_size=2).map(tuple)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


SCORES = st.floats(0, 1, width=32)
PARTIAL = st.builds(
    PartialEvidence, INT32, INT32, TEXT, TEXT, NAME, st.builds(PartialEvidenceMeta, evidence_span=TEXTS)
)
SPANS = st.builds(
    Provenance,
    maybe(SCORES), maybe(INT32), maybe(INT32), maybe(INT32), maybe(INT32),
    st.builds(
        ProvenanceMeta, maybe(TEXT), maybe(INT32), maybe(TEXT | st.integers().map(str)), maybe(TEXT), TEXTS, maybe(TEXT)
    ),
    maybe(TEXT), TEXT, NAME,
)  # fmt: skip
OUTPUTS = st.builds(
    Output,
    maybe(NAME),
    st.builds(OutputMeta, maybe(INT32), maybe(TEXT), maybe(TEXT), maybe(st.booleans()), maybe(TEXT)),
    maybe(st.lists(SPANS, min_size=1, max_size=2).map(tuple)),
).filter(lambda output: output != Output(None, OutputMeta(), None))
METAS = st.builds(
    TaskMeta,
    *(
        maybe(st.lists(PARTIAL, max_size=2).map(tuple)) if field.name == "partial_evidence"
        else TEXTS if field.name in ("obj_surface", "sub_surface", "subj_aliases", "template_questions")
        else maybe(TEXT)
        for field in fields(TaskMeta)
    ),
)  # fmt: skip
TASKS = st.builds(
    Task, NAME, TEXT, METAS, st.lists(OUTPUTS, max_size=2).map(tuple),
    st.sampled_from(sorted(DATASETS)), st.sampled_from(["train", "validation", "test"]), TEXT,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(TASKS)
def test_every_row_comes_back_from_its_line(task: Task) -> None:
    line = line_of(to_kilt(task, DATASETS[task.dataset].shape))
    assert line.count(b"\n") == 1
    assert from_kilt(json.loads(line), task.dataset, task.split) == task


def is_without_null(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(is_without_null, value.values()))
    return all(map(is_without_null, value)) if isinstance(value, list) else value is not None


@settings(max_examples=200, deadline=None)
@given(TASKS)
def test_strict_records_have_only_keys_of_the_release(task: Task) -> None:
    shape = DATASETS[task.dataset].shape
    full, strict = to_kilt(task, shape), to_kilt(task, shape, strict=True)
    assert is_without_null(full)
    if shape is None:
        assert strict == full
        return
    assert set(strict) <= {"id", "input", "output", "meta"}
    assert set(strict.get("meta", ())) <= set(shape.record)
    assert strict.get("input") == (task.input or None if shape.has_input else None)
    for output in strict.get("output", ()):
        assert set(output.get("meta", ())) <= set(shape.output)
        for span in output.get("provenance", ()):
            assert set(span.get("meta", ())) <= set(shape.span)
            assert set(span) - {"meta"} <= set(SPAN)
    spans = [span for output in task.output for span in output.provenance or ()]
    assert sum(len(output.get("provenance", ())) for output in strict.get("output", ())) == len(spans)


# --------------------------------------------------------------------------------------------
# details


def test_what_the_release_lacks_keeps_its_name() -> None:
    meta = ProvenanceMeta(original_title="Kites")
    span = Provenance(1.5, 0, 1, 7, 1, meta, "Section::::Abstract.", "Kite", "12")
    output = Output("Lu Ban", OutputMeta(unmapped_reason=None, is_primary=True), (span,))
    task = Task("5", "who", TaskMeta(level="easy", type="bridge"), (output,), "hotpotqa", "validation", "en")
    full = to_kilt(task)
    assert list(full) == ["id", "input", "output", "meta"]
    assert full["meta"] == {"level": "easy", "type": "bridge"}
    assert full["output"][0]["meta"] == {"is_primary": True}
    assert list(full["output"][0]["provenance"][0].items()) == [
        ("wikipedia_id", "12"), ("title", "Kite"), ("start_paragraph_id", 1), ("start_character", 0),
        ("end_paragraph_id", 1), ("end_character", 7), ("bleu_score", 1.0), ("meta", {"original_title": "Kites"}),
        ("section", "Section::::Abstract."),
    ]  # fmt: skip
    assert to_kilt(task, Shape(), strict=True) == record(input="who", output=[
        {"answer": "Lu Ban", "provenance": [SPAN | {"bleu_score": 1.0}]}
    ])  # fmt: skip


def test_a_whole_page_is_id_and_title_alone() -> None:
    page = Provenance(None, None, None, None, None, ProvenanceMeta(), None, "Kite", "12")
    task = Task("5", "[START_ENT] kite [END_ENT]", TaskMeta(), (Output("Kite", OutputMeta(), (page,)),),
                "wned", "validation", "en")  # fmt: skip
    assert to_kilt(task)["output"] == [{"answer": "Kite", "provenance": [{"wikipedia_id": "12", "title": "Kite"}]}]
    assert "meta" not in to_kilt(task)


def test_languages_that_are_not_english_are_told() -> None:
    task = Task("5", "wer", TaskMeta(), (Output("Lu Ban", OutputMeta(), None),), "wow", "train", "de")
    assert to_kilt(task)["language"] == "de"
    assert "language" not in to_kilt(task, Shape(), strict=True)
    mkqa = replace(task, dataset="mkqa", meta=TaskMeta(language="de"))
    assert "language" not in to_kilt(mkqa)  # its meta tells
    assert from_kilt(to_kilt(mkqa), "mkqa", "train").language == "de"


def test_annotation_ids_are_numbers_there_and_text_here() -> None:
    """Real ones exceed signed 64 bits."""
    (output,) = output_of({"provenance": [SPAN | {"meta": {"annotation_id": 13591449469826568799}}]})
    assert output.provenance is not None
    assert output.provenance[0].meta.annotation_id == "13591449469826568799"
    for text, written in (("13591449469826568799", 13591449469826568799), ("007", "007"), ("-0", "-0"), ("-5", -5)):
        span = replace(output.provenance[0], meta=ProvenanceMeta(annotation_id=text))
        task = Task("5", "q", TaskMeta(), (Output(None, OutputMeta(), (span,)),), "nq", "train", "en")
        assert to_kilt(task)["output"][0]["provenance"][0]["meta"]["annotation_id"] == written


def test_numbers_as_ids() -> None:
    """Case F15."""
    row = {"id": 123, "input": "q", "output": [{"answer": "a", "provenance": [{"wikipedia_id": 5, "title": "x"}]}]}
    task = from_kilt(row, "nq", "train")
    assert task.id == "123"
    assert task.output[0].provenance is not None
    assert task.output[0].provenance[0].wikipedia_id == "5"


def test_missing_provenance_has_one_spelling() -> None:
    """Case F7: absent, null and empty all mean that there is none."""
    nothing = (Output("a", OutputMeta(), None),)
    assert output_of({"answer": "a"}) == output_of({"answer": "a", "provenance": None}) == nothing
    assert output_of({"answer": "a", "provenance": []}, {"provenance": []}) == nothing
    assert "provenance" not in to_kilt(from_kilt(record(output=[{"answer": "a", "provenance": []}]), "nq", "train"))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"input": "q"}, "there is no id"),
        (record(id=""), "id is '', not a text"),
        (record(id=True), "id is True, not a text"),
        (record(input=5), "input is 5, not a text"),
        (record(output={"answer": "a"}), "output is {'answer': 'a'}, not a list"),
        (record(output=["a"]), "output[0] is 'a', not an object"),
        (record(output=[{"answer": ""}]), "output[0].answer is '', not a text"),
        (record(output=[{"answer": 5}]), "output[0].answer is 5, not a text"),
        (record(output=[{"provenance": [{"title": "Kite"}]}]), "there is no output[0].provenance[0].wikipedia_id"),
        (record(output=[{"provenance": [SPAN | {"wikipedia_id": ""}]}]), "wikipedia_id is '', not a text"),
        (record(output=[{"provenance": [SPAN | {"wikipedia_id": None}]}]), "no output[0].provenance[0].wikipedia_id"),
        (record(output=[{"provenance": [SPAN | {"end_character": "3"}]}]), "end_character is '3', not a whole number"),
        (record(output=[{"provenance": [SPAN | {"start_character": 2**40}]}]), "not a whole number"),
        (record(output=[{"provenance": [SPAN | {"bleu_score": float("nan")}]}]), "bleu_score is nan, not a number"),
        (record(output=[{"provenance": [SPAN | {"bleu_score": 10**400}]}]), "not a number"),
        (record(output=[{"provenance": [SPAN | {"meta": ["x"]}]}]), "meta is ['x'], not an object"),
        (record(meta="x"), "meta is 'x', not an object"),
        (record(meta={"template_questions": "x"}), "meta.template_questions is 'x', not a list"),
        (record(meta={"partial_evidence": [{"wikipedia_id": "1"}]}), "there is no meta.partial_evidence[0].start"),
    ],
)  # fmt: skip
def test_malformed_records_say_where(row: dict[str, Any], said: str) -> None:
    with pytest.raises(MalformedRow) as caught:
        from_kilt(row, "nq", "train")
    assert said in str(caught.value)


# --------------------------------------------------------------------------------------------
# as a source


def evidence_of(**span: Any) -> Evidence:
    dataset = released(DATASETS["nq"], "validation")
    given_ = {key: value for key, value in (SPAN | span).items() if value is not None}
    example = one(dataset, record(output=[{"answer": "a", "provenance": [given_]}]))
    (evidence,) = example.outputs[0].evidence or ()
    return evidence


def test_a_released_place_is_checked() -> None:
    evidence = evidence_of()
    assert evidence == Evidence("Kite", wikipedia_id="12", place=Place(1, 0, 1, 7, 0.75))
    assert kind(evidence) == "checked"
    passage = evidence_of(start_character=None, end_character=None, bleu_score=None)
    assert passage.place == Place(1, None, 1, None, None)


def test_a_given_text_is_aligned() -> None:
    assert evidence_of(text="Kites fly.") == Evidence("Kite", "Kites fly.", wikipedia_id="12")
    spans = ["Kites fly.", " ", "They do.", "They do."]
    evidence = evidence_of(meta={"evidence_span": spans})
    assert (evidence.text, evidence.place) == ("They do.", None)  # most annotators'
    assert evidence.meta.evidence_span == tuple(spans)
    assert kind(evidence) == "aligned"
    assert evidence_of(meta={"evidence_span": ["", " "]}).text is None


def test_a_released_page_is_a_page() -> None:
    keys = ("start_paragraph_id", "start_character", "end_paragraph_id", "end_character", "bleu_score", "section")
    evidence = evidence_of(**dict.fromkeys(keys))
    assert evidence == Evidence("Kite", wikipedia_id="12")
    assert kind(evidence) == "whole-page"
    assert kind(Evidence("Kite")) is None


def test_records_without_output_are_of_the_test_split() -> None:
    row = {"id": "5", "input": "who"}
    assert one(released(DATASETS["nq"], "test"), row).outputs == ()
    assert why(released(DATASETS["nq"], "validation"), row) == NO_ANSWER


def test_only_triviaqa_has_no_input() -> None:
    row = {"id": "5", "output": [{"answer": "a"}]}
    assert one(released(DATASETS["triviaqa"], "train"), row).input == ""
    for name in ("nq", "mkqa"):
        assert why(released(DATASETS[name], "train"), row) == "there is no input"


@pytest.mark.parametrize("name", DATASETS)
def test_nothing_of_its_own_files_is_left_of_a_released_dataset(name: str) -> None:
    found = released(DATASETS[name], "train")
    assert (found.name, found.task, found.splits) == (name, DATASETS[name].task, DATASETS[name].splits)
    assert (found.source, found.evidence, found.merge, found.split_of) == (Json(), None, None, None)
    assert (found.options, found.remark, found.ids_of, found.needs_knowledge_source) == (None, None, None, True)
    assert found.published == replace(DATASETS[name].published, drop={})
