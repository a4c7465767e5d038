"""Passages to judge, out of those retrieved.

Everything but the pages is small (dev and test of two datasets) and is read where it is needed. The
pages stay in their shards: of each shard's wanted pages first only the overlap with the answers is
sent on, then the texts of the few passages that were chosen.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from kiltetl.schemas.errors import InputError
from kiltetl.schemas.reasons import (
    CHOSEN,
    LOW_OVERLAP,
    NO_PLACE,
    PASSAGE_NOT_FOUND,
    SHARES_A_PARAGRAPH,
    UNKNOWN_QUESTION,
)
from kiltetl.transforms.alignment.mapping import section_path
from kiltetl.transforms.annotation.passages import (
    Passage,
    PassageText,
    answers_of,
    choose,
    gold_passages,
    overlap,
    passage_of,
    question_of,
)
from kiltetl.transforms.files.paths import FileInfo, file_size
from kiltetl.transforms.files.progress import advance
from kiltetl.transforms.files.rows import BadRow, read_rows
from kiltetl.transforms.files.streams import replacing
from kiltetl.transforms.jobs.reader import KnowledgeSource, TaskTable, page_rows
from kiltetl.transforms.jobs.staging import Staging, audit

DEPTH = 100  # passages of a question that are looked at


@dataclass(frozen=True, slots=True)
class CandidateJob:
    """Which passages to judge: everything that the graph needs."""

    table: TaskTable
    passages: tuple[FileInfo, ...]
    source: KnowledgeSource
    staging: Staging
    places: int
    controls: int
    min_overlap: float
    facts: Mapping[str, Any]

    @property
    def passages_name(self) -> str:
        """``passages-nq-validation.jsonl``."""
        return f"passages-{self.table.name}.jsonl"

    @property
    def manifest_name(self) -> str:
        """``candidates-nq-validation.json``, which says how they were chosen."""
        return f"candidates-{self.table.name}.json"


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answers, its own passages, and those retrieved, best first."""

    id: str
    text: str
    answers: tuple[str, ...]
    gold: tuple[Passage, ...]
    retrieved: tuple[Passage, ...] = ()


def read_questions(job: CandidateJob) -> tuple[list[Question], Counter[str]]:
    """The questions with what was retrieved for them, in the order of the table; and counts.

    Several files are merged by rank; a row without one ranks by its place among those of its question.

    Raises:
        InputError: a row is no passage.
    """
    questions = {
        task.id: Question(task.id, task.input, tuple(answers_of(task)), tuple(gold_passages(task)))
        for task in job.table.tasks()
    }
    counts: Counter[str] = Counter()
    found: dict[str, list[tuple[float, int, int, Passage]]] = {}
    for number, info in enumerate(job.passages):
        place: Counter[str] = Counter()
        for row, values in read_rows(info.path):
            counts["retrieved"] += 1
            try:
                if isinstance(values, BadRow):
                    raise ValueError(values.detail)
                question, passage = question_of(values), passage_of(values)
                place[question] += 1
                rank = values.get("rank")
                rank = place[question] if rank is None else _rank(rank)
            except (KeyError, ValueError, TypeError, AttributeError) as error:
                raise InputError(no_row(info.path, row, error, _PASSAGE_ROW)) from None
            if question not in questions:
                counts[UNKNOWN_QUESTION] += 1
                continue
            found.setdefault(question, []).append((rank, number, row, passage))
    for question, ranked in found.items():
        distinct = list(dict.fromkeys(passage for *_, passage in sorted(ranked)))
        counts["repeated"] += len(ranked) - len(distinct)
        counts["too-deep"] += len(distinct[DEPTH:])
        questions[question] = replace(questions[question], retrieved=tuple(distinct[:DEPTH]))
    return list(questions.values()), counts


def _rank(value: Any) -> float:
    """ValueError for what has no place in an order: NaN, an infinite number or one that exceeds every other."""
    try:
        rank = float(value)
    except OverflowError:
        rank = math.inf
    if not math.isfinite(rank):
        raise ValueError(f"rank is {value!r:.60}, not a number")
    return rank


_PASSAGE_ROW = '{"id": "…", "wikipedia_id": "12", "start_paragraph_id": 3, "end_paragraph_id": 3, "rank": 1}'


def no_row(path: str, number: int, error: Exception, example: str) -> str:
    return f"{path}, record {number}: {detail_of(error)}; expected one JSON object a line, such as {example}"


def detail_of(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"no field {error}"
    return str(error) if isinstance(error, ValueError) else f"not an object with the fields of a record ({error})"


class Measured(NamedTuple):
    """How much of a question's answers a passage has: places of question and passage."""

    question: int
    passage: int
    overlap: float


def passages_of(source: KnowledgeSource, part: int, wanted: Iterable[Passage]) -> Iterator[tuple[Passage, PassageText]]:
    """The wanted passages that lie in a shard, with their texts."""
    by_page: dict[str, set[Passage]] = {}
    for passage in wanted:
        by_page.setdefault(passage.wikipedia_id, set()).add(passage)
    path = source.path("paragraphs", part)
    if by_page:
        for page, texts, sections in page_rows(path, by_page):
            for passage in sorted(by_page[page]):
                start, end = passage.start_paragraph_id, passage.end_paragraph_id
                if end < len(texts):
                    text = "\n".join(texts[start : end + 1])
                    yield passage, PassageText(texts[0], section_path(sections[start]), text)
    advance(file_size(path))


def measure_shard(job: CandidateJob, questions: Sequence[Question], part: int) -> Iterator[Measured]:
    """The overlap of each retrieved passage that lies in a shard with its question's answers."""
    asked: dict[Passage, list[tuple[int, int]]] = {}
    for number, question in enumerate(questions):
        for place, passage in enumerate(question.retrieved):
            asked.setdefault(passage, []).append((number, place))
    for passage, found in passages_of(job.source, part, asked):
        for number, place in asked[passage]:
            yield Measured(number, place, overlap(questions[number].answers, found.text or ""))


@dataclass(frozen=True, slots=True)
class Choice:
    """The passages to judge, by question id, in the order of the table; and what became of the others."""

    passages: Mapping[str, Sequence[Passage]]
    counts: Mapping[str, int]

    @property
    def wanted(self) -> frozenset[Passage]:
        return frozenset(passage for passages in self.passages.values() for passage in passages)


def choose_passages(job: CandidateJob, measured: Iterable[Measured]) -> Choice:
    """The passages of every question."""
    questions, counts = read_questions(job)
    by_question: dict[int, dict[int, float]] = {}
    for one in measured:
        by_question.setdefault(one.question, {})[one.passage] = one.overlap
    chosen: dict[str, Sequence[Passage]] = {}
    for number, question in enumerate(questions):
        shares = by_question.get(number, {})
        found = [(passage, shares[i]) for i, passage in enumerate(question.retrieved) if i in shares]
        counts[PASSAGE_NOT_FOUND] += len(question.retrieved) - len(found)
        picked, fates = choose(question.id, question.gold, found, job.places, job.controls, job.min_overlap)
        counts.update(fates)
        if picked:
            chosen[question.id] = picked
        counts["gold"] += sum(passage in question.gold for passage in picked)
        counts["fewer-than-asked"] += 0 < len(picked) < job.places
    counts["questions"] = len(questions)
    counts["questions_with_passages"] = len(chosen)
    return Choice(chosen, dict(counts))


def write_candidates(job: CandidateJob, choice: Choice, texts: Mapping[Passage, PassageText]) -> dict[str, Any]:
    """The passages to judge as JSON Lines, and the manifest.

    Raises:
        RunFailed: a count does not add up.
    """
    if (done := job.staging.finish()) is not None:
        return dict(done[-1])
    counts = Counter(choice.counts)
    inputs = {task.id: task.input for task in job.table.tasks()}
    with replacing(job.staging.path(job.passages_name)) as stream:
        for question, passages in choice.passages.items():
            for passage in passages:
                found = texts.get(passage)
                if found is None:  # a gold passage of another knowledge source
                    counts["gold_not_found"] += 1
                    continue
                row = {
                    "id": question,
                    "question": inputs[question],
                    **passage._asdict(),
                    "title": found.title,
                    "section": found.section,
                    "text": found.text,
                }
                stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                counts["written"] += 1
    chosen = counts[CHOSEN] + counts["gold"]
    checks = [
        ("passages retrieved = chosen + left out", counts["retrieved"], sum(counts[name] for name in _FATES)),
        ("passages written = chosen + gold", counts["written"] + counts["gold_not_found"], chosen),
    ]
    audit("the annotations do not add up", checks)
    manifest = {**job.facts, "counters": dict(sorted(counts.items()))}
    written = stream.written(counts["written"])
    job.staging.publish({job.passages_name: (job.passages_name, written)}, {job.manifest_name: manifest})
    return manifest


_FATES = (
    UNKNOWN_QUESTION,
    "repeated",
    "too-deep",
    PASSAGE_NOT_FOUND,
    LOW_OVERLAP,
    SHARES_A_PARAGRAPH,
    NO_PLACE,
    CHOSEN,
)
