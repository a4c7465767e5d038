"""Stages of the annotation campaign: passages to judge out of a knowledge source, judgements into the tables.

Everything but the pages is small (dev and test of two datasets) and is read where it is needed. The
pages stay in their shards: of each shard's wanted pages first only the overlap with the answers is
sent on, then the texts of the few passages that were chosen.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import AsSingleton, PCollection

from kiltetl.schemas.arrow import records_of
from kiltetl.schemas.records import MALFORMED_RECORD, Reject, Task
from kiltetl.transforms import io
from kiltetl.transforms.campaign import (
    ANNOTATIONS,
    ANNOTATOR_LEFT_OUT,
    CHOSEN,
    JUDGED_TWICE,
    LONG_ANSWERS,
    LOW_OVERLAP,
    NO_PLACE,
    PASSAGE_NOT_FOUND,
    SHARES_A_PARAGRAPH,
    SPAN_NOT_IN_PASSAGE,
    UNKNOWN_QUESTION,
    Annotated,
    Judgement,
    Passage,
    PassageText,
    agreement,
    annotate,
    answers_of,
    below_control,
    choose,
    control,
    gold_passages,
    is_flagged,
    judgement_of,
    overlap,
    passage_of,
    question_of,
    text_of,
)
from kiltetl.transforms.io import BadRow, FileInfo, InputError, ShardWriter
from kiltetl.transforms.mapping import section_path
from kiltetl.transforms.runner import RunFailed, advance
from kiltetl.transforms.stages.tasks import KnowledgeSource, manifest_path, page_rows

DEPTH = 100  # passages of a question that are looked at
REPORT = "annotations.json"


@dataclass(frozen=True, slots=True)
class TaskTable:
    """The table of a dataset and split, as a pipeline of the tasks wrote it."""

    dataset: str
    split: str
    shards: tuple[FileInfo, ...]
    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.dataset}-{self.split}"

    def tasks(self) -> Iterator[Task]:
        for shard in self.shards:
            yield from records_of(Task, io.read_table(shard.path))


def open_table(folder: str, dataset: str, split: str) -> TaskTable | None:
    """The table of a dataset and split in a folder of tasks, None if there is none."""
    path = manifest_path(folder, dataset, split)
    names = io.list_folder(io.join(folder, dataset), f"{split}-*.parquet")
    if not names or not io.exists(path):
        return None
    paths = [io.join(folder, dataset, name) for name in names]
    return TaskTable(dataset, split, tuple(FileInfo(p, io.file_size(p)) for p in paths), io.read_json(path))


# --------------------------------------------------------------------------------------------
# candidates


@dataclass(frozen=True, slots=True)
class CandidateJob:
    """Which passages to judge: everything that the graph needs."""

    table: TaskTable
    passages: tuple[FileInfo, ...]
    source: KnowledgeSource
    output: str
    places: int
    controls: int
    min_overlap: float
    facts: Mapping[str, Any]

    def path(self, kind: str) -> str:
        """``passages-nq-validation.jsonl``, and what says how it was made."""
        return io.join(self.output, f"{kind}-{self.table.name}.json{'l' if kind == 'passages' else ''}")


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
        for row, values in io.read_rows(info.path):
            counts["retrieved"] += 1
            try:
                if isinstance(values, BadRow):
                    raise ValueError(values.detail)
                question, passage = question_of(values), passage_of(values)
                place[question] += 1
                rank = values.get("rank")
                rank = place[question] if rank is None else _rank(rank)
            except (KeyError, ValueError, TypeError, AttributeError) as error:
                raise InputError(_no_row(info.path, row, error, _PASSAGE_ROW)) from None
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
_JUDGEMENT_ROW = (
    '{"id": "…", "wikipedia_id": "12", "start_paragraph_id": 3, "end_paragraph_id": 3, "annotator": "a1", '
    '"enough_evidence": "yes", "evidence_span": "…"}'
)


def _no_row(path: str, number: int, error: Exception, example: str) -> str:
    return f"{path}, record {number}: {_detail(error)}; expected one JSON object a line, such as {example}"


def _detail(error: Exception) -> str:
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
    advance(io.file_size(path))


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
    """The passages to judge as JSON Lines, and the manifest, last.

    Raises:
        RunFailed: a count does not add up.
    """
    counts = Counter(choice.counts)
    inputs = {task.id: task.input for task in job.table.tasks()}
    with io.replacing(job.path("passages")) as stream:
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
    _audit("passages retrieved = chosen + left out", counts["retrieved"], sum(counts[name] for name in _FATES))
    _audit(
        "passages written = chosen + gold",
        counts["written"] + counts["gold_not_found"],
        counts[CHOSEN] + counts["gold"],
    )
    manifest = {**job.facts, "counters": dict(sorted(counts.items()))}
    io.write_json(job.path("candidates"), manifest)
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


def _audit(what: str, left: int, right: int) -> None:
    if left != right:
        raise RunFailed(f"the annotations do not add up: {what}: {left:,} against {right:,}")


# --------------------------------------------------------------------------------------------
# judgements


@dataclass(frozen=True, slots=True)
class ApplyJob:
    """Judgements to put into tables: everything that the graph needs."""

    tables: tuple[TaskTable, ...]
    judgements: tuple[FileInfo, ...]
    source: KnowledgeSource | None
    output: str
    min_control: float
    max_reject_share: float
    facts: Mapping[str, Any]
    wanted: frozenset[Passage] = frozenset()

    @property
    def parts(self) -> int:
        return 0 if self.source is None else self.source.shards


@dataclass
class Judgements:
    """What the files hold: judgements in order, texts that their rows carry, counts and rejects."""

    found: list[Judgement] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # of each: file and record
    texts: dict[Passage, PassageText] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    rejects: list[Reject] = field(default_factory=list)

    def refuse(self, name: str, reason: str, detail: str) -> None:
        self.counts[reason] += 1
        self.rejects.append(Reject("annotations", name, reason, detail))

    def keep(self, what: str, keep: Iterable[bool], reason: str) -> None:
        """Go on with those that are to be kept."""
        kept = list(zip(self.found, self.names, keep, strict=True))
        for one, name, stays in kept:
            if not stays:
                self.refuse(name, reason, what.format(one))
        self.found = [one for one, _, stays in kept if stays]
        self.names = [name for _, name, stays in kept if stays]


def read_judgements(files: Sequence[FileInfo]) -> Judgements:
    """The judgements of all files. The same one twice counts once; of two that differ the first stands."""
    result = Judgements()
    seen: dict[tuple[str, Passage, str], Judgement] = {}
    for info in files:
        for number, row in io.read_rows(info.path, report=advance):
            result.counts["read"] += 1
            name = f"{io.basename(info.path)}:{number}"
            try:
                if isinstance(row, BadRow):
                    raise ValueError(row.detail)
                one = judgement_of(row)
            except (KeyError, ValueError, TypeError, AttributeError) as error:
                result.refuse(name, MALFORMED_RECORD, _detail(error))
                continue
            text = text_of(row)
            if text is not None and (one.passage not in result.texts or result.texts[one.passage].text is None):
                result.texts[one.passage] = text
            key = (one.question, one.passage, one.annotator)
            before = seen.setdefault(key, one)
            if before is one:
                result.found.append(one)
                result.names.append(name)
            elif before == one:
                result.counts["repeated"] += 1
            else:
                result.refuse(name, JUDGED_TWICE, f"{one.annotator} judged this passage before, and otherwise")
    return result


def check_judgements(files: Sequence[FileInfo], rows: int = 20) -> None:
    """InputError if not one of the first rows of a file is a judgement."""
    for info in files:
        problem: str | None = None
        for seen, (number, row) in enumerate(io.read_rows(info.path)):
            try:
                if isinstance(row, BadRow):
                    raise ValueError(row.detail)
                judgement_of(row)
                break
            except (KeyError, ValueError, TypeError, AttributeError) as error:
                problem = problem or _no_row(info.path, number, error, _JUDGEMENT_ROW)
            if seen + 1 == rows:
                raise InputError(problem)
        else:
            raise InputError(problem or f"{info.path}: holds no judgement; expected lines such as {_JUDGEMENT_ROW}")


def titled(job: ApplyJob, judgements: Judgements) -> dict[Passage, PassageText]:
    """Without a knowledge source: the texts that rows carry, titles and sections of the tables' own evidence.

    Raises:
        InputError: of a passage neither says its title and section.
    """
    texts = dict(judgements.texts)
    for table in job.tables:
        for task in table.tasks():
            for span in (span for output in task.output for span in output.provenance or ()):
                start = span.start_paragraph_id
                if start is not None and span.section is not None:
                    end = start if span.end_paragraph_id is None else span.end_paragraph_id
                    passage = Passage(span.wikipedia_id, start, end)
                    texts.setdefault(passage, PassageText(span.title, span.section, None))
    for one, name in zip(judgements.found, judgements.names, strict=True):
        if one.passage not in texts:
            raise InputError(
                f"{name}: title and section of the passage are not in the record; "
                "copy them from the passages to judge, or name the pages with --knowledge-source DIR"
            )
    return texts


def apply_judgements(job: ApplyJob, texts: Mapping[Passage, PassageText]) -> dict[str, Any]:
    """Write the tables with what annotators found, the rejects and the manifests; the report, written last.

    Raises:
        RunFailed: a count does not add up, or too many judgements are malformed.
    """
    judgements = read_judgements(job.judgements)
    counts = judgements.counts
    failed = counts[MALFORMED_RECORD] + counts[JUDGED_TWICE]
    if failed > counts["read"] * job.max_reject_share:
        first = next(r for r in judgements.rejects if r.reason in (MALFORMED_RECORD, JUDGED_TWICE))
        raise RunFailed(
            f"{failed:,} of {counts['read']:,} judgements are malformed or contradict another, more than "
            f"--max-reject-share {job.max_reject_share:g} allows; {first.source_id}: {first.detail}"
        )
    tables: dict[str, str] = {}  # of each question
    gold: dict[str, list[Passage]] = {}
    for table in job.tables:
        for task in table.tasks():
            tables[task.id] = table.name
            gold[task.id] = gold_passages(task)
    known = (one.question in tables for one in judgements.found)
    judgements.keep("no table has the question {0.question}", known, UNKNOWN_QUESTION)
    if job.source is None:
        texts = titled(job, judgements)
    else:
        found = (one.passage in texts for one in judgements.found)
        judgements.keep("{0.passage}", found, PASSAGE_NOT_FOUND)
    quality = control(judgements.found, gold)
    weak = below_control(quality, job.min_control)
    judgements.keep("{0.annotator}", (one.annotator not in weak for one in judgements.found), ANNOTATOR_LEFT_OUT)
    counts["used"] = len(judgements.found)
    refused = (MALFORMED_RECORD, JUDGED_TWICE, UNKNOWN_QUESTION, PASSAGE_NOT_FOUND, ANNOTATOR_LEFT_OUT)
    left_out = sum(counts[name] for name in ("repeated", *refused))
    _audit("judgements read = used + left out", counts["read"], counts["used"] + left_out)

    names = {
        (one.question, one.passage, one.annotator): name
        for one, name in zip(judgements.found, judgements.names, strict=True)
    }
    written = []
    for table in job.tables:
        mine = [one for one in judgements.found if tables[one.question] == table.name]
        if not mine:
            continue
        manifest, strays = _annotate_table(job, table, mine, texts, gold)
        for one in strays:
            detail = f"highlighted, but not in the passage: {' | '.join(one.spans)}"
            judgements.refuse(names[one.question, one.passage, one.annotator], SPAN_NOT_IN_PASSAGE, detail)
        written.append(manifest)
    path = io.join(job.output, "rejects", "annotations", io.shard_name("judgements", 0, 1))
    with ShardWriter(path, Reject) as rejects:
        for reject in judgements.rejects:
            rejects.write(reject)
    report = {
        **job.facts,
        "kind": "annotations",
        "judgements": dict(sorted(counts.items())),
        "rejects": rejects.count,
        "annotators": len({one.annotator for one in judgements.found}),
        "annotators_left_out": sorted(weak),
        "control": quality,
        "tables": {f"{m['dataset']}-{m['split']}": m["campaign"] for m in written},
    }
    for manifest in written:
        io.write_json(manifest_path(job.output, manifest["dataset"], manifest["split"]), manifest)
    io.write_json(io.join(job.output, REPORT), report)
    return report


def _annotate_table(
    job: ApplyJob,
    table: TaskTable,
    judgements: Sequence[Judgement],
    texts: Mapping[Passage, PassageText],
    gold: Mapping[str, Sequence[Passage]],
) -> tuple[dict[str, Any], list[Judgement]]:
    """One table: its shards, its rejects and its flags; the manifest, and highlights that are in no passage."""
    by_question: dict[str, list[Judgement]] = {}
    for one in judgements:
        by_question.setdefault(one.question, []).append(one)
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    campaign: Counter[str] = Counter()
    strays: list[Judgement] = []
    flags: list[dict[str, Any]] = []
    folder = io.join(job.output, table.dataset)
    for stale in io.list_folder(folder, f"{table.split}-*.parquet"):
        io.delete_file(io.join(folder, stale))
    signature = (table.manifest.get("parameters") or {}).get("signature")
    files: list[dict[str, Any]] = []
    reject_name = io.join(job.output, "rejects", table.dataset, io.shard_name(table.split, 0, 1))
    with ShardWriter(reject_name, Reject) as rejects:
        for number, shard in enumerate(table.shards):
            name = io.shard_name(table.split, number, len(table.shards))
            path = io.join(folder, name)
            with ShardWriter(path, Task, metadata={"signature": signature} if signature else None) as tasks:
                for task in records_of(Task, io.read_table(shard.path)):
                    found = annotate(task, by_question.get(task.id, ()), texts)
                    counts["read"] += 1
                    _count(campaign, found, by_question.get(task.id, ()))
                    strays += found.strays
                    if found.task is None:
                        reason = str(found.reason)
                        reasons[reason] += 1
                        detail = f"{len(found.partial)} partly, {len(found.refused)} not accepted passages"
                        rejects.write(Reject(f"{table.dataset}/{table.split}", task.id, reason, detail))
                        continue
                    tasks.write(found.task)
                    _count_record(counts, found.task)
                    counts["added_pages"] += _added_pages(task, found)
                    if table.dataset in LONG_ANSWERS and found.accepted:
                        campaign["rouge_compared" if found.rouge is not None else "rouge_without_text"] += 1
                        if is_flagged(found):
                            flags.append({"id": task.id, "rouge_l": found.rouge, "passages": _passages(found)})
            files.append({"name": name, "rows": tasks.count, "bytes": io.file_size(path)})
    flags_name = io.join(job.output, "rejects", "annotations", f"flags-{table.name}.jsonl")
    io.write_text(flags_name, "".join(json.dumps(flag, ensure_ascii=False) + "\n" for flag in flags))
    counts["rejects"] = rejects.count
    _audit(f"{table.name}: questions read = written + left out", counts["read"], counts["written"] + reasons.total())
    _audit(f"{table.name}: rows of the table", counts["written"], sum(file["rows"] for file in files))
    added_pages = counts.pop("added_pages", 0)
    manifest = {
        **{name: table.manifest.get(name) for name in ("task", "knowledge_source", "bleu")},
        **job.facts,
        "kind": "tasks",
        "dataset": table.dataset,
        "split": table.split,
        "parameters": {**(table.manifest.get("parameters") or {}), **job.facts["parameters"]},
        "published": (table.manifest.get("published") or {}) | {"averages": _PUBLISHED.get(table.dataset, {})},
        "counters": {"used": counts["written"], "examples": counts["written"], **dict(sorted(counts.items()))},
        "skipped": dict(sorted(reasons.items())),
        "rejected": {},
        "campaign": {
            "questions": counts["read"],
            "judged": len(by_question),
            **{name: campaign[name] for name in _CAMPAIGN},
            "left_out": dict(sorted(reasons.items())),
            "annotators": len({one.annotator for one in judgements}),
            "agreement": agreement(judgements),
            "control": control(judgements, gold),
            "flagged": len(flags),
            "averages": {
                "spans_per_set": _ratio(counts["spans"], counts["evidence_sets"]),
                "sets_per_record": _ratio(counts["evidence_sets"], counts["written"]),
                "pages_per_record": _ratio(counts["record_pages"], counts["written"]),
                "answers_per_record": _ratio(counts["answers"], counts["written"]),
                "added_pages_per_record": _ratio(added_pages, counts["written"]),
            },
        },
        "files": files,
        "reject_files": [{"name": io.basename(reject_name), "rows": rejects.count, "bytes": io.file_size(reject_name)}],
        "flags": io.basename(flags_name),
    }
    return manifest, strays


_CAMPAIGN = (
    "passages",
    "provenance",
    "partial_evidence",
    "refused",
    "fewer_annotations",
    "rouge_compared",
    "rouge_without_text",
)
_PUBLISHED = {
    "nq": {"spans_per_set": 1, "sets_per_record": 3.22, "pages_per_record": 1.57, "answers_per_record": 2.08},
    "eli5": {"spans_per_set": 1, "sets_per_record": 1.21, "pages_per_record": 1.18, "answers_per_record": 4.69},
}


def _count(campaign: Counter[str], found: Annotated, judgements: Sequence[Judgement]) -> None:
    campaign["provenance"] += len(found.accepted)
    campaign["partial_evidence"] += len(found.partial)
    campaign["refused"] += len(found.refused)
    votes = Counter(one.passage for one in judgements)
    campaign["passages"] += len(votes)
    campaign["fewer_annotations"] += sum(count < ANNOTATIONS for count in votes.values())


def _count_record(counts: Counter[str], record: Task) -> None:
    spans = [span for output in record.output for span in output.provenance or ()]
    counts["written"] += 1
    counts["spans"] += len(spans)
    counts["record_pages"] += len({span.wikipedia_id for span in spans})
    counts["outputs"] += len(record.output)
    counts["answers"] += len({output.answer for output in record.output} - {None})
    counts["evidence_sets"] += sum(output.provenance is not None for output in record.output)


def _added_pages(task: Task, found: Annotated) -> int:
    """Pages that annotators added to those of the dataset's own evidence."""
    before = {span.wikipedia_id for output in task.output for span in output.provenance or ()}
    return len({passage.wikipedia_id for passage in found.accepted} - before)


def _passages(found: Annotated) -> list[dict[str, Any]]:
    return [passage._asdict() for passage in found.accepted]


def _ratio(above: int, below: int) -> float | None:
    return round(above / below, 4) if below else None


# --------------------------------------------------------------------------------------------
# the same, as Beam transforms


class MeasurePassages(beam.PTransform):
    """Number of a shard -> Measured, of the retrieved passages that lie in it."""

    def __init__(self, job: CandidateJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, parts: PCollection[int]) -> PCollection[Measured]:
        return parts | beam.ParDo(_Measure(self._job))


class _Measure(beam.DoFn):
    def __init__(self, job: CandidateJob) -> None:
        self._job = job

    def setup(self) -> None:
        self._questions, _ = read_questions(self._job)

    def process(self, part: int) -> Iterator[Measured]:
        yield from measure_shard(self._job, self._questions, part)


class ChoosePassages(beam.PTransform):
    """Measured of all shards -> one Choice."""

    def __init__(self, job: CandidateJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, measured: PCollection[Measured]) -> PCollection[Choice]:
        return measured | beam.combiners.ToList() | beam.Map(self._choose)

    def _choose(self, measured: list[Measured]) -> Choice:
        return choose_passages(self._job, measured)


class FetchPassages(beam.PTransform):
    """Number of a shard -> (Passage, PassageText), of the wanted passages that lie in it."""

    def __init__(self, source: KnowledgeSource, wanted: PCollection[frozenset[Passage]]) -> None:
        super().__init__()
        self._source, self._wanted = source, wanted

    def expand(self, parts: PCollection[int]) -> PCollection[tuple[Passage, PassageText]]:
        return parts | beam.FlatMap(self._fetch, AsSingleton(self._wanted))

    def _fetch(self, part: int, wanted: frozenset[Passage]) -> Iterator[tuple[Passage, PassageText]]:
        yield from passages_of(self._source, part, wanted)


class WriteCandidates(beam.PTransform):
    """(Passage, PassageText) of all shards -> number of passages, once file and manifest stand."""

    def __init__(self, job: CandidateJob, choice: PCollection[Choice]) -> None:
        super().__init__()
        self._job, self._choice = job, choice

    def expand(self, texts: PCollection[tuple[Passage, PassageText]]) -> PCollection[int]:
        return texts | beam.combiners.ToList() | beam.Map(self._write, AsSingleton(self._choice))

    def _write(self, texts: list[tuple[Passage, PassageText]], choice: Choice) -> int:
        return int(write_candidates(self._job, choice, dict(texts))["counters"].get("written", 0))


class ApplyJudgements(beam.PTransform):
    """(Passage, PassageText) of all shards -> number of judgements used, once the report stands."""

    def __init__(self, job: ApplyJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, texts: PCollection[tuple[Passage, PassageText]]) -> PCollection[int]:
        return texts | beam.combiners.ToList() | beam.Map(self._apply)

    def _apply(self, texts: list[tuple[Passage, PassageText]]) -> int:
        return int(apply_judgements(self._job, dict(texts))["judgements"]["used"])
