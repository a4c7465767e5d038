"""Released KILT files as a source: the same datasets, read from records that are mapped already.

A released span is a place in the snapshot of 2019-08-01, its text is not given. Where a record does carry
a text (a ``text``, or what annotators of the campaign highlighted, ``evidence_span``), it is aligned anew,
as any dataset's evidence is. Elsewhere the place is checked: the page, the paragraphs, the characters;
it then keeps its ``bleu_score``.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.reasons import NO_ANSWER
from kiltetl.schemas.records import Evidence, Example, ExampleOutput, Place, Provenance
from kiltetl.transforms.datasets.spec import Dataset, Json, Row, Shape, SkipRow
from kiltetl.transforms.kilt_release.read import from_kilt

ROW_EXAMPLE: Final = (
    '{"id": "5", "input": "who made kites", "output": [{"answer": "Lu Ban", "provenance": [{"wikipedia_id": "12", '
    '"title": "Kite", "start_paragraph_id": 1, "start_character": 0, "end_paragraph_id": 1, "end_character": 7, '
    '"bleu_score": 1.0, "section": "Section::::Abstract."}]}]}'
)


def released(dataset: Dataset, split: str) -> Dataset:
    """The dataset as it is read from its released KILT files. The published drop is behind them."""
    return replace(
        dataset,
        read=partial(_read, dataset.name, dataset.shape or Shape(), split),
        row_example=ROW_EXAMPLE,
        source=Json(),
        evidence=None,
        needs_knowledge_source=True,
        merge=None,
        split_of=None,
        options=None,
        remark=None,
        ids_of=None,
        published=replace(dataset.published, drop={}),
    )


def _read(dataset: str, shape: Shape, split: str, row: Row) -> Iterator[Example]:
    """One record. A test record may lack its outputs: the release keeps them back."""
    task = from_kilt(row, dataset, split)
    if not task.input and shape.has_input:
        raise MalformedRow("there is no input")
    if not task.output and split != "test":
        raise SkipRow(NO_ANSWER)
    texts = _texts(row)
    outputs = tuple(
        ExampleOutput(
            output.answer,
            tuple(_evidence(span, next(texts)) for span in output.provenance) if output.provenance else None,
            output.meta,
        )
        for output in task.output
    )
    yield Example(task.id, task.input, outputs, task.meta, task.language)


def _texts(row: Row) -> Iterator[Any]:
    """What stands under ``text``, for every span of the record."""
    for output in row.get("output") or ():
        for span in output.get("provenance") or ():
            yield span.get("text")


def _evidence(span: Provenance, text: Any) -> Evidence:
    meta, page = span.meta, span.wikipedia_id
    highlighted = [one for one in meta.evidence_span or () if one.strip()]
    if isinstance(text, str) and text.strip():
        return Evidence(span.title, text, meta=meta, wikipedia_id=page)
    if highlighted:  # what most annotators chose; of several, the first
        return Evidence(span.title, Counter(highlighted).most_common(1)[0][0], meta=meta, wikipedia_id=page)
    if span.start_paragraph_id is None:
        return Evidence(span.title, meta=meta, wikipedia_id=page)
    last = span.start_paragraph_id if span.end_paragraph_id is None else span.end_paragraph_id
    place = Place(span.start_paragraph_id, span.start_character, last, span.end_character, span.bleu_score)
    return Evidence(span.title, meta=meta, wikipedia_id=page, place=place)


def kind(evidence: Evidence) -> str | None:
    """How a released evidence is brought over; None for evidence of an original file."""
    if evidence.wikipedia_id is None:
        return None
    if evidence.text is not None:
        return "aligned"
    return "whole-page" if evidence.place is None else "checked"
