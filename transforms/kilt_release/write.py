"""Records as the released JSON Lines of KILT hold them, and back.

The release writes no key where our table has null, and its keys stand in an order of their own::

    {"id": "5", "input": "who made kites", "output": [
        {"answer": "Lu Ban", "provenance": [
            {"wikipedia_id": "12", "title": "Kite", "start_paragraph_id": 1, "start_character": 0,
             "end_paragraph_id": 1, "end_character": 7, "bleu_score": 1.0, "section": "Section::::Abstract."}]}]}

What our table has beyond the release keeps its name and stands at its place (``meta`` of an output, a
provenance or the record, ``language``), so that nothing is lost on the way there and back; ``strict``
leaves it out. Unknown keys are passed over when a record is read.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from kiltetl.schemas.records import Output, OutputMeta, PartialEvidence, Provenance, Task, TaskMeta

# Orders of the release; what it lacks follows.
_RECORD_META: Final = (
    *("left_context", "mention", "right_context", "subj_aliases", "sub_surface", "obj_surface"),
    *("template_questions", "partial_evidence", "level", "type", "language"),
)
_SPAN_META: Final = (
    *("fever_page_id", "fever_sentence_id", "yes_no_answer", "annotation_id", "evidence_span", "original_title"),
)
_OUTPUT_META: Final = tuple(field.name for field in fields(OutputMeta))
_PLACE: Final = ("start_paragraph_id", "start_character", "end_paragraph_id", "end_character", "bleu_score")
_PASSAGE: Final = ("wikipedia_id", "title", "section", "start_paragraph_id", "end_paragraph_id")

_SPLITS: Final = {"validation": "dev"}
_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,30}")


@dataclass(frozen=True, slots=True)
class Shape:
    """The keys under ``meta`` that a dataset has in the release, and whether its records have an input."""

    record: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    span: tuple[str, ...] = ()
    span_in_train: bool = True
    has_input: bool = True


_MENTION: Final = Shape(("left_context", "mention", "right_context"))
SHAPES: Final[Mapping[str, Shape]] = {
    "fever": Shape(span=("fever_page_id", "fever_sentence_id"), span_in_train=False),
    "aidayago2": _MENTION,
    "wned": _MENTION,
    "cweb": _MENTION,
    "trex": Shape(("subj_aliases", "sub_surface", "obj_surface")),
    "structured_zeroshot": Shape(("template_questions",)),
    "nq": Shape(("partial_evidence",), span=("yes_no_answer", "annotation_id", "evidence_span")),
    "hotpotqa": Shape(),
    "triviaqa": Shape(has_input=False),
    "eli5": Shape(("partial_evidence",), output=("score",), span=("evidence_span",)),
    "wow": Shape(),
}
"""The eleven datasets of the release; what is none of them has no strict shape."""


def file_name(dataset: str, split: str, with_output: bool = True) -> str:
    """The released file's name.

    >>> file_name("hotpotqa", "validation"), file_name("triviaqa", "test", with_output=False)
    ('hotpotqa-dev-kilt.jsonl', 'triviaqa-test_id_without_answers-kilt.jsonl')
    """
    part = _SPLITS.get(split, split) + ("_id" if dataset == "triviaqa" else "")
    if split == "test" and not with_output:
        part += "_without_answers"
    return f"{dataset}-{part}-kilt.jsonl"


def line_of(record: Mapping[str, Any]) -> bytes:
    """A record as a line of the release: ASCII, a space after commas and colons."""
    return json.dumps(record).encode() + b"\n"


def to_kilt(task: Task, strict: bool = False) -> dict[str, Any]:
    """A row of our table as a record of the release.

    Args:
        strict: only the keys that the released files of that dataset have.
    """
    shape = SHAPES.get(task.dataset) if strict else None
    record: dict[str, Any] = {"id": task.id}
    if task.input and (shape is None or shape.has_input):
        record["input"] = task.input
    outputs = [output for output in (_output(output, task, shape) for output in task.output) if output]
    if outputs:
        record["output"] = outputs
    meta = _present(task.meta, _RECORD_META if shape is None else shape.record)
    if "partial_evidence" in meta:
        meta["partial_evidence"] = [_passage(one) for one in task.meta.partial_evidence or ()]
    if meta:
        record["meta"] = meta
    if shape is None and task.language != language_of({}, task.meta):
        record["language"] = task.language
    return record


def _output(output: Output, task: Task, shape: Shape | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if output.answer is not None:
        found["answer"] = output.answer
    if output.provenance:
        found["provenance"] = [_span(span, task, shape) for span in output.provenance]
    meta = _present(output.meta, _OUTPUT_META if shape is None else shape.output)
    if meta:
        found["meta"] = meta
    return found


def _span(span: Provenance, task: Task, shape: Shape | None) -> dict[str, Any]:
    found: dict[str, Any] = {"wikipedia_id": span.wikipedia_id}
    if span.title:
        found["title"] = span.title
    place = _present(span, _PLACE)
    if "bleu_score" in place:
        place["bleu_score"] = min(1.0, float(place["bleu_score"]))
    names: tuple[str, ...] = _SPAN_META
    if shape is not None:
        names = shape.span if shape.span_in_train or task.split != "train" else ()
    meta = _present(span.meta, names)
    if "annotation_id" in meta and _NUMBER.fullmatch(meta["annotation_id"]):
        meta["annotation_id"] = int(meta["annotation_id"])
    section = {} if span.section is None else {"section": span.section}
    passage = span.start_character is None  # the annotation campaign's
    if passage or task.dataset == "trex":
        found |= section
    found |= place
    if meta or (task.dataset == "structured_zeroshot" and not passage):
        found["meta"] = meta
    return found | section


def _passage(passage: PartialEvidence) -> dict[str, Any]:
    found = {name: value for name, value in _present(passage, _PASSAGE).items() if value != ""}
    meta = _present(passage.meta, ("evidence_span",))
    return found | ({"meta": meta} if meta else {})


def _present(record: Any, names: Sequence[str]) -> dict[str, Any]:
    """Fields that are not null, tuples as lists."""
    values = ((name, getattr(record, name)) for name in names)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values if value is not None}


def language_of(meta: Any, ours: TaskMeta) -> str:
    given = meta.get("language") if isinstance(meta, Mapping) else None
    return given or ours.language or "en"
