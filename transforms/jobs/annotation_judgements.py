"""Judgements into the tables: provenance, partial evidence, agreement."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kiltetl.schemas.arrow import records_of
from kiltetl.schemas.errors import InputError, RunFailed
from kiltetl.schemas.manifests import Written
from kiltetl.schemas.reasons import (
    ANNOTATOR_LEFT_OUT,
    JUDGED_TWICE,
    MALFORMED_RECORD,
    PASSAGE_NOT_FOUND,
    SPAN_NOT_IN_PASSAGE,
    UNKNOWN_QUESTION,
)
from kiltetl.schemas.records import Reject, Task
from kiltetl.transforms.annotation.judgements import (
    ANNOTATIONS,
    Annotated,
    Judgement,
    agreement,
    annotate,
    below_control,
    control,
    is_flagged,
    judgement_of,
)
from kiltetl.transforms.annotation.passages import Passage, PassageText, gold_passages, text_of
from kiltetl.transforms.datasets.spec import Dataset
from kiltetl.transforms.files.paths import FileInfo, basename, exists, join, list_folder
from kiltetl.transforms.files.progress import advance
from kiltetl.transforms.files.rows import BadRow, read_rows
from kiltetl.transforms.files.shards import ShardWriter, read_table, shard_name
from kiltetl.transforms.files.streams import write_text
from kiltetl.transforms.jobs.annotation_candidates import detail_of, no_row
from kiltetl.transforms.jobs.reader import KnowledgeSource, TaskTable, manifest_name
from kiltetl.transforms.jobs.staging import Staging, audit, file_entries

REPORT = "annotations.json"
_JUDGEMENT_ROW = (
    '{"id": "…", "wikipedia_id": "12", "start_paragraph_id": 3, "end_paragraph_id": 3, "annotator": "a1", '
    '"enough_evidence": "yes", "evidence_span": "…"}'
)


@dataclass(frozen=True, slots=True)
class ApplyJob:
    """Judgements to put into tables: everything that the graph needs."""

    tables: tuple[TaskTable, ...]
    datasets: Mapping[str, Dataset]  # of the tables, by name
    judgements: tuple[FileInfo, ...]
    source: KnowledgeSource | None
    staging: Staging
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
        for number, row in read_rows(info.path, report=advance):
            result.counts["read"] += 1
            name = f"{basename(info.path)}:{number}"
            try:
                if isinstance(row, BadRow):
                    raise ValueError(row.detail)
                one = judgement_of(row)
            except (KeyError, ValueError, TypeError, AttributeError) as error:
                result.refuse(name, MALFORMED_RECORD, detail_of(error))
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
        for seen, (number, row) in enumerate(read_rows(info.path)):
            try:
                if isinstance(row, BadRow):
                    raise ValueError(row.detail)
                judgement_of(row)
                break
            except (KeyError, ValueError, TypeError, AttributeError) as error:
                problem = problem or no_row(info.path, number, error, _JUDGEMENT_ROW)
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
    if (published := job.staging.finish()) is not None:
        return dict(published[-1])
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
    audit(_SUBJECT, [("judgements read = used + left out", counts["read"], counts["used"] + left_out)])

    names = {
        (one.question, one.passage, one.annotator): name
        for one, name in zip(judgements.found, judgements.names, strict=True)
    }
    written, files, stale = [], dict[str, tuple[str, Written]](), list[str]()
    for number, table in enumerate(job.tables):
        stale += _standing(job, table)
        mine = [one for one in judgements.found if tables[one.question] == table.name]
        if not mine:
            continue
        done = job.staging.left("table", number) or _annotate_table(job, number, mine, texts, gold, names)
        for name, detail in done["strays"]:
            judgements.refuse(name, SPAN_NOT_IN_PASSAGE, detail)
        written.append(done["manifest"])
        staged = job.staging.mark("table", number).files
        files |= {name: (path, staged[name]) for name, path in _placed(table).items()}
    with ShardWriter(job.staging.path(_REJECTS), Reject) as rejects:
        for reject in judgements.rejects:
            rejects.write(reject)
    files[_REJECTS] = (f"rejects/annotations/{shard_name('judgements', 0, 1)}", rejects.written)
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
    manifests = {manifest_name(one["dataset"], one["split"]): one for one in written}
    job.staging.publish(files, manifests | {REPORT: report}, stale)
    return report


_SUBJECT = "the annotations do not add up"
_REJECTS = "judgements.parquet"


def _placed(table: TaskTable) -> dict[str, str]:
    """The files of a table, staged name to path below the output."""
    count = len(table.shards)
    shards = {
        f"{table.name}-{number:05d}.parquet": f"{table.dataset}/{shard_name(table.split, number, count)}"
        for number in range(count)
    }
    return shards | {
        f"rejects-{table.name}.parquet": f"rejects/{table.dataset}/{shard_name(table.split, 0, 1)}",
        f"flags-{table.name}.jsonl": f"rejects/annotations/flags-{table.name}.jsonl",
    }


def _standing(job: ApplyJob, table: TaskTable) -> list[str]:
    """What an earlier run left of a table in the output: it ends when this one's work is whole."""
    output = job.staging.output
    shards = [
        f"{folder}/{name}"
        for folder in (table.dataset, f"rejects/{table.dataset}")
        for name in list_folder(join(output, *folder.split("/")), f"{table.split}-*.parquet")
    ]
    others = [manifest_name(table.dataset, table.split), f"rejects/annotations/flags-{table.name}.jsonl"]
    return [*shards, *(one for one in others if exists(join(output, *one.split("/"))))]


def _annotate_table(
    job: ApplyJob,
    number: int,
    judgements: Sequence[Judgement],
    texts: Mapping[Passage, PassageText],
    gold: Mapping[str, Sequence[Passage]],
    names: Mapping[tuple[str, Passage, str], str],
) -> dict[str, Any]:
    """One table: its shards, its rejects and its flags; the manifest, and highlights that are in no passage."""
    table = job.tables[number]
    by_question: dict[str, list[Judgement]] = {}
    for one in judgements:
        by_question.setdefault(one.question, []).append(one)
    dataset = job.datasets[table.dataset]
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    campaign: Counter[str] = Counter()
    strays: list[Judgement] = []
    flags: list[dict[str, Any]] = []
    placed = list(_placed(table).items())
    signature = (table.manifest.get("parameters") or {}).get("signature")
    written: dict[str, Written] = {}
    (reject_staged, reject_path), (flags_staged, flags_path) = placed[-2:]
    with ShardWriter(job.staging.path(reject_staged), Reject) as rejects:
        for shard, (staged, _) in zip(table.shards, placed, strict=False):
            metadata = {"signature": signature} if signature else None
            with ShardWriter(job.staging.path(staged), Task, metadata=metadata) as tasks:
                for task in records_of(Task, read_table(shard.path)):
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
                    if dataset.long_answers and found.accepted:
                        campaign["rouge_compared" if found.rouge is not None else "rouge_without_text"] += 1
                        if is_flagged(found):
                            flags.append({"id": task.id, "rouge_l": found.rouge, "passages": _passages(found)})
            written[staged] = tasks.written
    files = file_entries((basename(path), written[staged]) for staged, path in placed[:-2])
    written[reject_staged] = rejects.written
    lines = "".join(json.dumps(flag, ensure_ascii=False) + "\n" for flag in flags)
    written[flags_staged] = write_text(job.staging.path(flags_staged), lines)
    counts["rejects"] = rejects.count
    checks = [
        (f"{table.name}: questions read = written + left out", counts["read"], counts["written"] + reasons.total()),
        (f"{table.name}: rows of the table", counts["written"], sum(file["rows"] for file in files)),
    ]
    audit(_SUBJECT, checks)
    added_pages = counts.pop("added_pages", 0)
    manifest = {
        **{name: table.manifest.get(name) for name in ("task", "knowledge_source", "bleu")},
        **job.facts,
        "kind": "tasks",
        "dataset": table.dataset,
        "split": table.split,
        "parameters": {**(table.manifest.get("parameters") or {}), **job.facts["parameters"]},
        "published": (table.manifest.get("published") or {}) | {"averages": dataset.published.averages_by_name()},
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
        "reject_files": file_entries([(basename(reject_path), rejects.written)]),
        "flags": flags_path.rpartition("/")[2],
    }
    summary = {
        "manifest": manifest,
        "strays": [
            (names[one.question, one.passage, one.annotator],
             f"highlighted, but not in the passage: {' | '.join(one.spans)}")
            for one in strays
        ],
    }  # fmt: skip
    job.staging.leave("table", number, summary, written)
    return summary


_CAMPAIGN = (
    "passages",
    "provenance",
    "partial_evidence",
    "refused",
    "fewer_annotations",
    "rouge_compared",
    "rouge_without_text",
)


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
