"""What people found in the passages that they judged, and how far they agree (KILT, section 3.3).

- ``ANNOTATIONS`` people judge a passage. Where two of three find enough evidence it is provenance;
  where fewer but some do it is ``partial_evidence``. With more annotations than three, two thirds
  of them are needed, and with two both. What annotators highlighted is kept, whatever their vote.
- A question is left out where no passage has enough evidence: the snapshot cannot answer it. One
  whose own evidence was not among what was judged stays, for nobody doubted that; one that has no
  evidence and was not judged goes.
- Cohen's kappa is of two raters. It is given as the mean over all pairs of annotators who judged a
  passage in common, each pair once, and as that mean weighted by the number of such passages. A
  pair that gave one and the same vote throughout has none and is counted apart.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

from kiltetl.schemas.reasons import NO_EVIDENCE_FOUND, NOT_JUDGED
from kiltetl.schemas.records import (
    Output,
    OutputMeta,
    PartialEvidence,
    PartialEvidenceMeta,
    Provenance,
    ProvenanceMeta,
    Task,
)
from kiltetl.transforms.annotation.passages import (
    Passage,
    PassageText,
    answers_of,
    gold_passages,
    passage_of,
    question_of,
)
from kiltetl.transforms.metrics.text import best_rouge_l

ANNOTATIONS: Final = 3
LOW_ROUGE: Final = 0.15


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one annotator says of a passage: whether it has enough evidence, and which part shows it."""

    question: str
    passage: Passage
    annotator: str
    enough: bool
    spans: tuple[str, ...] = ()


_VOTES: Final = {"yes": True, "true": True, "no": False, "false": False}


def judgement_of(row: Mapping[str, Any]) -> Judgement:
    """One judgement. KeyError or ValueError says what is wrong with a row that is none."""
    annotator, vote, spans = row["annotator"], row["enough_evidence"], row.get("evidence_span")
    if isinstance(annotator, bool) or not isinstance(annotator, (str, int)) or not str(annotator).strip():
        raise ValueError(f"annotator is {annotator!r}, not a name or number")
    enough = vote if isinstance(vote, bool) else _VOTES.get(str(vote).strip().lower())
    if enough is None:
        raise ValueError(f"enough_evidence is {vote!r}, not yes or no")
    spans = [] if spans is None else [spans] if isinstance(spans, str) else spans
    if not isinstance(spans, list) or not all(isinstance(span, str) for span in spans):
        raise ValueError(f"evidence_span is {spans!r}, not a text or a list of texts")
    kept = tuple(span for span in spans if span.strip())
    return Judgement(question_of(row), passage_of(row), str(annotator).strip(), enough, kept)


def is_enough(votes: Sequence[bool]) -> bool:
    """Whether a passage becomes provenance: two of three, more generally two thirds and two at least."""
    return sum(votes) >= 2 and 3 * sum(votes) >= 2 * len(votes)


def cohen_kappa(first: Sequence[bool], second: Sequence[bool]) -> float | None:
    """Agreement of two raters beyond chance, -1 to 1; None where both gave one and the same vote throughout.

    >>> cohen_kappa([True, True, False, False], [True, False, False, False])
    0.5
    """
    total = len(first)
    agreed = sum(one == other for one, other in zip(first, second, strict=True))
    yes = sum(first), sum(second)
    chance = yes[0] * yes[1] + (total - yes[0]) * (total - yes[1])  # out of total²
    return (total * agreed - chance) / (total * total - chance) if chance < total * total else None


def agreement(judgements: Iterable[Judgement]) -> dict[str, Any]:
    """How far annotators agree; see the module for the averaging. None where there is nothing to divide by."""
    by_passage: dict[tuple[str, Passage], dict[str, bool]] = {}
    for judgement in judgements:
        by_passage.setdefault((judgement.question, judgement.passage), {})[judgement.annotator] = judgement.enough
    pairs: dict[tuple[str, str], list[tuple[bool, bool]]] = {}
    for given in by_passage.values():
        for one, other in combinations(sorted(given), 2):
            pairs.setdefault((one, other), []).append((given[one], given[other]))
    shared = [vote for votes in pairs.values() for vote in votes]
    found = []
    for _, votes in sorted(pairs.items()):
        kappa = cohen_kappa([vote[0] for vote in votes], [vote[1] for vote in votes])
        if kappa is not None:
            found.append((kappa, len(votes)))
    weight = sum(count for _, count in found)
    return {
        "pairs": len(pairs),
        "pairs_without_kappa": len(pairs) - len(found),
        "kappa": sum(kappa for kappa, _ in found) / len(found) if found else None,
        "kappa_weighted": sum(kappa * count for kappa, count in found) / weight if weight else None,
        "observed": sum(one == other for one, other in shared) / len(shared) if shared else None,
    }


def control(judgements: Iterable[Judgement], gold: Mapping[str, Sequence[Passage]]) -> dict[str, Any]:
    """How annotators judged passages of the dataset's own evidence.

    ``gold`` holds them by question. A judged passage is one of them if it has a paragraph of one.
    """
    votes: dict[tuple[str, Passage], list[bool]] = {}
    seen, found = Counter[str](), Counter[str]()
    for one in judgements:
        if is_gold(one.passage, gold.get(one.question, ())):
            votes.setdefault((one.question, one.passage), []).append(one.enough)
            seen[one.annotator] += 1
            found[one.annotator] += one.enough
    accepted = sum(map(is_enough, votes.values()))
    return {
        "passages": len(votes),
        "accepted": accepted,
        "accepted_share": accepted / len(votes) if votes else None,
        "judgements": seen.total(),
        "enough": found.total(),
        "annotators": {name: {"judgements": seen[name], "enough": found[name]} for name in sorted(seen)},
    }


def is_gold(passage: Passage, gold: Iterable[Passage]) -> bool:
    return any(passage.shares(other) for other in gold)


def below_control(quality: Mapping[str, Any], least: float) -> frozenset[str]:
    """Annotators who found enough evidence in less than ``least`` of the control passages they judged."""
    annotators: Mapping[str, Mapping[str, int]] = quality["annotators"]
    return frozenset(name for name, one in annotators.items() if one["enough"] < least * one["judgements"])


_NOT_A_WORD: Final = re.compile(r"[\W_]+")


def is_in(span: str, text: str) -> bool:
    """Whether a passage has a highlighted text, white space, signs and case aside."""
    return _NOT_A_WORD.sub("", span).casefold() in _NOT_A_WORD.sub("", text).casefold()


@dataclass(frozen=True, slots=True)
class Annotated:
    """What became of a question. ``task`` is None where ``reason`` left it out; the rest is counted.

    ``rouge`` is the best ROUGE-L between an answer and an accepted passage, None without a text of one.
    """

    task: Task | None
    reason: str | None = None
    accepted: tuple[Passage, ...] = ()
    partial: tuple[Passage, ...] = ()
    refused: tuple[Passage, ...] = ()
    strays: tuple[Judgement, ...] = ()
    rouge: float | None = None


def annotate(task: Task, judgements: Sequence[Judgement], texts: Mapping[Passage, PassageText]) -> Annotated:
    """A record with what annotators found, or why it is left out.

    Args:
        task: the record of the question.
        judgements: those of this question, at most one an annotator and passage.
        texts: title and section of every passage, its text where it is known.
    """
    gold = gold_passages(task)
    if not judgements:
        supported = any(output.provenance for output in task.output)
        return Annotated(task) if supported else Annotated(None, NOT_JUDGED)
    by_passage: dict[Passage, list[Judgement]] = {}
    for one in judgements:
        by_passage.setdefault(one.passage, []).append(one)
    accepted, partial, refused = list[Passage](), list[Passage](), list[Passage]()
    spans: dict[Passage, tuple[str, ...] | None] = {}
    strays: list[Judgement] = []
    for passage, votes in by_passage.items():
        enough = [one.enough for one in votes]
        (accepted if is_enough(enough) else partial if any(enough) else refused).append(passage)
        text = texts[passage].text
        kept: list[str] = []
        for one in votes:
            stray = tuple(span for span in one.spans if text is not None and not is_in(span, text))
            kept += [span for span in one.spans if span not in stray]
            if stray:
                strays.append(replace(one, spans=stray))
        spans[passage] = tuple(kept) or None
    found = Annotated(None, None, tuple(accepted), tuple(partial), tuple(refused), tuple(strays))
    doubted = not gold or any(is_gold(passage, gold) for passage in by_passage)
    if not accepted and doubted:
        return replace(found, reason=NO_EVIDENCE_FOUND)
    known = {
        Passage(span.wikipedia_id, span.start_paragraph_id, span.end_paragraph_id)
        for output in task.output
        for span in output.provenance or ()
        if span.start_character is None and span.start_paragraph_id is not None and span.end_paragraph_id is not None
    }
    added = tuple(
        Output(None, OutputMeta(), (_provenance(passage, texts[passage], spans[passage]),))
        for passage in accepted
        if passage not in known
    )
    before = task.meta.partial_evidence or ()
    partly = {(one.wikipedia_id, one.start_paragraph_id, one.end_paragraph_id) for one in before}
    more = tuple(
        _partial(passage, texts[passage], spans[passage]) for passage in partial if tuple(passage) not in partly
    )
    answers = answers_of(task)
    rouges = [best_rouge_l(text, answers) for p in accepted if (text := texts[p].text) is not None]
    return replace(
        found,
        task=replace(
            task,
            output=(*task.output, *added),
            meta=replace(task.meta, partial_evidence=(*before, *more) or None),
        ),
        rouge=max(rouges, default=None),
    )


def _provenance(passage: Passage, text: PassageText, spans: tuple[str, ...] | None) -> Provenance:
    return Provenance(
        bleu_score=None,
        start_character=None,
        start_paragraph_id=passage.start_paragraph_id,
        end_character=None,
        end_paragraph_id=passage.end_paragraph_id,
        meta=ProvenanceMeta(evidence_span=spans),
        section=text.section,
        title=text.title,
        wikipedia_id=passage.wikipedia_id,
    )


def _partial(passage: Passage, text: PassageText, spans: tuple[str, ...] | None) -> PartialEvidence:
    return PartialEvidence(
        start_paragraph_id=passage.start_paragraph_id,
        end_paragraph_id=passage.end_paragraph_id,
        title=text.title,
        section=text.section,
        wikipedia_id=passage.wikipedia_id,
        meta=PartialEvidenceMeta(spans),
    )


def is_flagged(found: Annotated) -> bool:
    """Whether a person should look at a record: answer and passage have little in common."""
    return found.task is not None and found.rouge is not None and found.rouge < LOW_ROUGE
