"""From an example and what was found of its evidence to a record of the benchmark (KILT, section 3.2).

What counts is the evidence *set*: it is mapped when each of its pages is in the knowledge source
and each of its spans reaches ``THRESHOLD``. What becomes of the others depends on the split:

- validation and test: an unmapped set goes, and a record with no mapped set left is rejected. The
  answer of a set that went stays without provenance where no other output gives it: released
  records keep aliases and further annotators' answers so, and drop FEVER's and HotpotQA's, whose
  sets share one answer;
- train: every answer stays; an unmapped set is taken from it, ``unmapped_reason`` says why, and
  equal answers without provenance are given once. With ``keep_weak`` a span below the threshold
  is provenance all the same;
- entity linking has no text and no score: a mention without its page is rejected in every split.

An example that names no evidence stays as it is in train, and everywhere in a dataset that has none (mkqa,
eli5); in validation and test of the others it is rejected.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from kiltetl.schemas.reasons import BLEU_BELOW_THRESHOLD, NO_EVIDENCE, SPAN_NOT_IN_PAGE
from kiltetl.schemas.records import Evidence, Example, Output, Provenance, Reject, Span, Task
from kiltetl.transforms.alignment.bleu import THRESHOLD


@dataclass(frozen=True, slots=True)
class Unmapped:
    """Why one evidence has no provenance: a loss of ``records``, and more of it for a person."""

    reason: str
    detail: str = ""


Finding: TypeAlias = Provenance | Unmapped
"""What became of one evidence."""


def section_path(section: Sequence[str]) -> str:
    """A paragraph's headings in the released spelling.

    >>> section_path(())
    'Section::::Abstract.'
    >>> section_path(("History", "Construction"))
    'Section::::History.:Construction.'
    """
    return "Section::::" + ":".join(
        part if part.endswith(("!", "?")) else f"{part}." for part in section or ("Abstract",)
    )


def provenance(
    evidence: Evidence, page_id: str, page_title: str, span: Span | None = None, section: Sequence[str] = ()
) -> Provenance:
    """The provenance of an evidence in the page it was found in; the whole page where no span is given.

    ``section`` holds the headings of the span's paragraph. The score keeps its full precision and
    is at most 1.
    """
    named = evidence.meta.original_title or evidence.title
    original = named if named != page_title else None
    meta = replace(evidence.meta, original_title=original)
    if span is None:
        return Provenance(None, None, None, None, None, meta, None, page_title, page_id)
    return Provenance(
        bleu_score=min(1.0, float(span.bleu_score)),
        start_character=span.start_character,
        start_paragraph_id=span.paragraph_id,
        end_character=span.end_character,
        end_paragraph_id=span.paragraph_id if span.end_paragraph_id is None else span.end_paragraph_id,
        meta=meta,
        section=section_path(section),
        title=page_title,
        wikipedia_id=page_id,
    )


def checked(
    evidence: Evidence, page_id: str, page_title: str, texts: Sequence[str], sections: Sequence[Sequence[str]]
) -> Finding:
    """The provenance that a released record gives, if the page has its paragraphs and characters; score and all.

    Args:
        texts, sections: of the page's paragraphs.
    """
    place = evidence.place
    assert place is not None, "there is a place to check"
    first, last = place.start_paragraph_id, place.end_paragraph_id
    if not 0 <= first <= last < len(texts):
        return Unmapped(SPAN_NOT_IN_PAGE, f"paragraphs {first} to {last} of {len(texts)}")
    whole = place.start_character is None and place.end_character is None
    start = 0 if place.start_character is None else place.start_character
    end = len(texts[last]) if place.end_character is None else place.end_character
    inside = 0 <= start <= len(texts[first]) and 0 <= end <= len(texts[last])
    if not inside or (first == last and start >= end and not whole):
        size = f"{len(texts[first])}" if first == last else f"{len(texts[first])} and {len(texts[last])}"
        return Unmapped(SPAN_NOT_IN_PAGE, f"characters {start} to {end} of paragraph {first}, which has {size}")
    span = Span(first, start, end, place.bleu_score or 0.0, last)
    found = provenance(evidence, page_id, page_title, span, sections[first])
    return replace(
        found,
        start_character=place.start_character,
        end_character=place.end_character,
        bleu_score=None if place.bleu_score is None else found.bleu_score,
    )


def map_example(
    example: Example,
    found: Sequence[Sequence[Finding]],
    dataset: str,
    split: str,
    keep_weak: bool = False,
    needs_evidence: bool = False,
) -> Task | Reject:
    """The record of an example, or why there is none.

    Args:
        example: what the adapter read.
        found: for each output, for each of its evidence, what became of it; empty for an output
            that names none.
        dataset: the dataset's name.
        split: train, validation or test.
        keep_weak: whether a span below the threshold is provenance in train.
        needs_evidence: whether the dataset is one of evidence: then a record of validation or test
            that names none is left out, as one that has none left is.
    """
    if needs_evidence and split != "train" and example.outputs and not any(o.evidence for o in example.outputs):
        return Reject(f"{dataset}/{split}", example.id, NO_EVIDENCE, "it names no evidence")
    train = split == "train" and not any(_is_page(one) for output in example.outputs for one in output.evidence or ())
    floor = 0.0 if train and keep_weak else THRESHOLD
    outputs: list[Output] = []
    losses: list[Unmapped] = []
    for given, findings in zip(example.outputs, found, strict=True):
        evidence = tuple(given.evidence or ())
        loss = next(_losses(evidence, findings, floor), None)
        if loss is not None:
            losses.append(loss)
            outputs.append(Output(given.answer, replace(given.meta, unmapped_reason=loss.reason), None))
        else:
            spans = tuple(finding for finding in findings if isinstance(finding, Provenance))
            answer = given.answer
            if spans and _is_page(evidence[0]) and answer == evidence[0].title:
                answer = spans[0].title  # entity linking: the page's title is the answer, wherever it was moved
            outputs.append(Output(answer, given.meta, spans or None))
    supported = {output.answer for output in outputs if output.provenance}
    kept = tuple(_kept(outputs, set() if train else supported))
    if (not kept and outputs) or (losses and not supported and not train):
        return Reject(f"{dataset}/{split}", example.id, losses[0].reason, losses[0].detail)
    return Task(example.id, example.input, example.meta, kept, dataset, split, example.language)


def set_losses(
    example: Example, found: Sequence[Sequence[Finding]], split: str, keep_weak: bool = False
) -> Iterator[str | None]:
    """For each evidence set that an example names, the reason why it is not mapped; None where it is."""
    floor = 0.0 if split == "train" and keep_weak else THRESHOLD
    for given, findings in zip(example.outputs, found, strict=True):
        if given.evidence:
            loss = next(_losses(given.evidence, findings, floor), None)
            yield None if loss is None else loss.reason


def _is_page(evidence: Evidence) -> bool:
    """Whether the whole page is meant."""
    return evidence.text is None and evidence.source_page is None and evidence.place is None


def _losses(evidence: Sequence[Evidence], findings: Sequence[Finding], floor: float) -> Iterator[Unmapped]:
    """What unmaps an evidence set, each with a detail that names the evidence."""
    for one, finding in zip(evidence, findings, strict=True):
        name = repr(one.title) if one.sentence is None else f"{one.title!r}, sentence {one.sentence}"
        if isinstance(finding, Unmapped):
            yield Unmapped(finding.reason, f"{name}: {finding.detail}" if finding.detail else name)
        elif finding.bleu_score is not None and finding.bleu_score < floor:
            yield Unmapped(BLEU_BELOW_THRESHOLD, f"{name}: best span scores {finding.bleu_score:.6g}")


def _kept(outputs: Sequence[Output], supported: set[str | None]) -> Iterator[Output]:
    """The outputs that stay: of those that lost their set, the answers that no other output gives."""
    alone = set[str | None]()
    for output in outputs:
        if output.provenance is None:
            lost = output.meta.unmapped_reason is not None
            if output.answer in alone or (lost and (output.answer is None or output.answer in supported)):
                continue
            alone.add(output.answer)
        yield output
