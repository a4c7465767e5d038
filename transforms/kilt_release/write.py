"""Records as the released JSON Lines of KILT hold them, and back.

The release writes no key where our table has null, and its keys stand in an order of their own::

    {"id": "5", "input": "who made kites", "output": [
        {"answer": "Lu Ban", "provenance": [
            {"wikipedia_id": "12", "title": "Kite", "start_paragraph_id": 1, "start_character": 0,
             "end_paragraph_id": 1, "end_character": 7, "bleu_score": 1.0, "section": "Section::::Abstract."}]}]}

What our table has beyond the release keeps its name and stands at its place (``meta`` of an output, a
provenance or the record, ``language``), so that nothing is lost on the way there and back; ``strict``
leaves it out. Unknown keys are passed over when a record is read.

How the files of one dataset differ from those of another is said by its ``Shape``; what the release does not
have has none, and no strict form.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any, Final

from kiltetl.schemas.records import Output, OutputMeta, PartialEvidence, Provenance, Task, TaskMeta
from kiltetl.schemas.splits import released_name
from kiltetl.transforms.datasets.spec import Shape

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

_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,30}")


def file_name(dataset: str, split: str, shape: Shape | None = None, with_output: bool = True) -> str:
    """The released file's name.

    >>> file_name("wow", "validation"), file_name("mine", "test", Shape(file_suffix="_id"), with_output=False)
    ('wow-dev-kilt.jsonl', 'mine-test_id_without_answers-kilt.jsonl')
    """
    part = released_name(split) + ("" if shape is None else shape.file_suffix)
    if split == "test" and not with_output:
        part += "_without_answers"
    return f"{dataset}-{part}-kilt.jsonl"


def line_of(record: Mapping[str, Any]) -> bytes:
    """A record as a line of the release: ASCII, a space after commas and colons."""
    return json.dumps(record).encode() + b"\n"


def to_kilt(task: Task, shape: Shape | None = None, strict: bool = False) -> dict[str, Any]:
    """A row of our table as a record of the release.

    Args:
        shape: of the released files of its dataset; None for what was not released.
        strict: only the keys that those have.
    """
    strict = strict and shape is not None
    shape = shape or Shape()
    shape = shape if strict else _full(shape)
    record: dict[str, Any] = {"id": task.id}
    if task.input and shape.has_input:
        record["input"] = task.input
    outputs = [output for output in (_output(output, task.split, shape) for output in task.output) if output]
    if outputs:
        record["output"] = outputs
    meta = _present(task.meta, shape.record)
    if "partial_evidence" in meta:
        meta["partial_evidence"] = [_passage(one) for one in task.meta.partial_evidence or ()]
    if meta:
        record["meta"] = meta
    if not strict and task.language != language_of({}, task.meta):
        record["language"] = task.language
    return record


@lru_cache
def _full(shape: Shape) -> Shape:
    """The shape with every key that our table has."""
    return replace(shape, record=_RECORD_META, output=_OUTPUT_META, span=_SPAN_META, span_in_train=True, has_input=True)


def _output(output: Output, split: str, shape: Shape) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if output.answer is not None:
        found["answer"] = output.answer
    if output.provenance:
        found["provenance"] = [_span(span, split, shape) for span in output.provenance]
    meta = _present(output.meta, shape.output)
    if meta:
        found["meta"] = meta
    return found


def _span(span: Provenance, split: str, shape: Shape) -> dict[str, Any]:
    found: dict[str, Any] = {"wikipedia_id": span.wikipedia_id}
    if span.title:
        found["title"] = span.title
    place = _present(span, _PLACE)
    if "bleu_score" in place:
        place["bleu_score"] = min(1.0, float(place["bleu_score"]))
    meta = _present(span.meta, shape.span if shape.span_in_train or split != "train" else ())
    if "annotation_id" in meta and _NUMBER.fullmatch(meta["annotation_id"]):
        meta["annotation_id"] = int(meta["annotation_id"])
    section = {} if span.section is None else {"section": span.section}
    passage = span.start_character is None  # the annotation campaign's
    if passage or shape.section_first:
        found |= section
    found |= place
    if meta or (shape.empty_meta and not passage):
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
