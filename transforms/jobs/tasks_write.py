"""The second reading of a task: the findings put into its examples, written, audited and published."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kiltetl.schemas.errors import InputError, RunFailed
from kiltetl.schemas.manifests import Written
from kiltetl.schemas.reasons import FAILURES
from kiltetl.schemas.records import Evidence, Reject, Task
from kiltetl.transforms.alignment.histogram import Quality, added
from kiltetl.transforms.alignment.mapping import Unmapped, map_example, set_losses
from kiltetl.transforms.files.paths import (
    basename,
    exists,
    join,
    list_folder,
)
from kiltetl.transforms.files.shards import ShardWriter, have_rows, read_table, shard_name
from kiltetl.transforms.files.stores import at_once
from kiltetl.transforms.files.streams import read_json
from kiltetl.transforms.jobs.examples import Refused
from kiltetl.transforms.jobs.reader import manifest_name, manifest_path
from kiltetl.transforms.jobs.staging import audit, file_entries
from kiltetl.transforms.jobs.tasks_borrowed import evidence_sets, with_sets
from kiltetl.transforms.jobs.tasks_job import Found, Ref, TaskJob
from kiltetl.transforms.jobs.tasks_read import example_ids, read_part
from kiltetl.transforms.kilt_release.source import kind

_COUNTERS = (
    "answers",
    "bare",
    "evidence_sets",
    "examples",
    "outputs",
    "read",
    "record_pages",
    "rejects",
    "spans",
    "used",
    "written",
)


def assemble(part: int, job: TaskJob, found: Iterable[Found]) -> dict[str, Any]:
    """Read a part again, put the findings into its examples and write its shards; the summary."""
    done = job.staging.left("part", part)
    if done is not None:
        return done
    findings: dict[Ref, Found] = {one.ref: one for one in found}
    counts: Counter[str] = Counter()
    quality = Quality()
    borrowed = evidence_sets(job.borrowed, example_ids(job, part)) if job.borrowed else {}
    position = 0
    files = f"tasks-{part:05d}.parquet", f"rejects-{part:05d}.parquet"
    with (
        ShardWriter(job.staged(files[0]), Task, _weight, job.metadata) as tasks,
        ShardWriter(job.staged(files[1]), Reject) as rejects,
    ):
        for taken, read in read_part(job, part):
            counts["read"] += taken
            if isinstance(read, Refused):
                counts[f"skipped:{read.reason}" if read.skip else f"rejected:{read.reason}"] += taken
                if not read.skip:
                    name = f"{basename(job.sources[part].path)}:{read.row}"
                    rejects.write(Reject(job.stage, name, read.reason, read.detail))
                continue
            counts["used"] += taken
            for example in read:
                mine = [
                    [findings[Ref(part, position, number, place)] for place in range(len(output.evidence or ()))]
                    for number, output in enumerate(example.outputs)
                ]
                position += 1
                counts["examples"] += 1
                for output, set_ in zip(example.outputs, mine, strict=True):
                    for evidence, one in zip(output.evidence or (), set_, strict=True):
                        _rate(quality, example.id, evidence, one)
                        counts.update(_brought_over(evidence, one))
                one_by_one = [[one.finding for one in set_] for set_ in mine]
                lost_sets = list(set_losses(example, one_by_one, job.split, job.keep_weak))
                counts.update(f"sets:{reason or 'mapped'}" for reason in lost_sets)
                record = map_example(
                    example,
                    one_by_one,
                    job.dataset.name,
                    job.split,
                    job.keep_weak,
                    needs_evidence=job.knowledge_source is not None and job.dataset.needs_evidence,
                )
                if isinstance(record, Reject):
                    counts[f"lost:{record.reason}"] += 1
                    rejects.write(record)
                    continue
                counts["bare"] += bool(lost_sets) and None not in lost_sets
                counts["own_sets"] += sum(output.provenance is not None for output in record.output)
                if job.borrowed is not None:
                    sets = borrowed[record.id]
                    record = record if isinstance(sets, str) else with_sets(record, sets)
                    counts[f"borrowed:{sets if isinstance(sets, str) else 'mapped'}"] += 1
                tasks.write(record)
                remark = None if job.dataset.remark is None else job.dataset.remark(example)
                if remark is not None:
                    counts[f"remarks:{remark}"] += 1
                spans = [span for output in record.output for span in output.provenance or ()]
                counts["spans"] += len(spans)
                counts["record_pages"] += len({span.wikipedia_id for span in spans})
                counts["outputs"] += len(record.output)
                counts["answers"] += len({output.answer for output in record.output} - {None})
                counts["evidence_sets"] += sum(output.provenance is not None for output in record.output)
    counts["written"], counts["rejects"] = tasks.count, rejects.count
    summary = {"counts": dict(counts), "bleu": quality.marker()}
    job.staging.leave("part", part, summary, dict(zip(files, (tasks.written, rejects.written), strict=True)))
    return summary


def _rate(quality: Quality, example_id: str, evidence: Evidence, one: Found) -> None:
    if one.bleu is None:
        if isinstance(one.finding, Unmapped):
            quality.add_unfound(one.finding.reason)
        return
    score = min(1.0, one.bleu)
    quality.add(score)
    if one.texts is not None:
        quality.show(example_id, evidence.title, score, *one.texts)


def _brought_over(evidence: Evidence, one: Found) -> Iterator[str]:
    """Counts of what became of released evidence; none for that of original files."""
    how = kind(evidence)
    if how is not None:
        yield f"released:{how}"
        if isinstance(one.finding, Unmapped):
            yield f"released:{how}, not found"
        elif one.finding.wikipedia_id != evidence.wikipedia_id:
            yield "released:page of another id"


def _weight(task: Task) -> int:
    meta = task.meta
    return len(task.input) + len(meta.left_context or "") + len(meta.right_context or "") + 200 * len(task.output)


def publish(job: TaskJob) -> dict[str, Any]:
    """Check that everything adds up and publish; the manifest.

    Raises:
        RunFailed: a count does not add up, an id occurs twice, or too many rows are malformed.
    """
    staging, name, split = job.staging, job.dataset.name, job.split
    if (done := staging.finish()) is not None:
        return dict(done[-1])
    marks = at_once(partial(staging.mark, "part"), range(job.parts))
    staged = {name: one for mark in marks for name, one in mark.files.items()}
    summaries = [mark.summary for mark in marks]
    counts = sum((Counter(summary["counts"]) for summary in summaries), Counter[str]())
    shards = [f"tasks-{part:05d}.parquet" for part in range(job.parts)]
    reject_shards = [f"rejects-{part:05d}.parquet" for part in range(job.parts)]
    checks = []
    merging = Counter[str]()
    if job.dataset.merge is not None:
        numbers = range(len(job.sources))
        gathered = at_once(partial(staging.mark, "gather"), numbers)
        staged |= {name: one for mark in gathered for name, one in mark.files.items()}
        dealt = sum((Counter(mark.summary) for mark in gathered), Counter[str]())
        checks.append(("examples of all rows = examples merged", dealt["dealt"], counts["read"]))
        for counted in ("read", "used"):
            counts[counted] = dealt[counted]
        merging = _by_reason(counts, "skipped")  # of examples, not of rows
        counts = Counter({name: n for name, n in counts.items() if not name.startswith("skipped:")})
        counts += Counter({name: n for name, n in dealt.items() if ":" in name})
        counts["rejects"] += dealt.total() - sum(n for name, n in dealt.items() if not name.startswith("rejected:"))
        reject_shards += [f"gather-rejects-{number:05d}.parquet" for number in numbers]
    evidence = Counter[str]()
    for number in range(len(job.evidence)):
        mark = staging.mark("evidence", number)
        evidence += Counter(mark.summary)
        staged |= mark.files
        reject_shards.append(f"evidence-rejects-{number:05d}.parquet")
    skipped, failures, losses = (_by_reason(counts, kind) for kind in ("skipped", "rejected", "lost"))
    failed, lost = failures.total(), losses.total()
    rows, reject_rows = ([staged[one]["rows"] for one in found] for found in (shards, reject_shards))
    checks += [
        ("rows read = used + skipped + malformed", counts["read"], counts["used"] + skipped.total() + failed),
        ("examples = written + rejected", counts["examples"], counts["written"] + lost),
        ("evidence sets mapped = written", counts["sets:mapped"], counts["own_sets"]),
        ("rows of the table", counts["written"], sum(rows)),
        ("rows of rejects", failed + lost + evidence["malformed"], sum(reject_rows)),
    ]
    audit(f"{job.stage} does not add up", checks)
    _check_failures(job, counts["read"], failed, evidence, [job.staged(one) for one in reject_shards])
    twice = _repeated([job.staged(shard) for shard in shards])
    if twice:
        shown = ", ".join(f"{key} ({language})" for key, language in twice[:5])
        raise RunFailed(f"{job.stage}: ids occur more than once: {shown}{' …' if len(twice) > 5 else ''}")

    table = _numbered(shards, staged, name, split)
    rejected = _numbered(reject_shards, staged, f"rejects/{name}", split)
    manifest = {
        **job.facts,
        "counters": {name: counts[name] for name in _COUNTERS},
        "skipped": dict(sorted(skipped.items())),
        "skipped_merging": dict(sorted(merging.items())),
        "sets": dict(sorted(_by_reason(counts, "sets").items())),
        "rejected": dict(sorted((failures + losses).items())),
        "evidence_rows": dict(evidence),
        **{
            name: dict(sorted(found.items()))
            for name in ("released", "borrowed", "remarks")
            if (found := _by_reason(counts, name))
        },
        "bleu": added([summary["bleu"] for summary in summaries]).summary(),
        "files": file_entries((basename(path), one) for path, one in table.values()),
        "reject_files": file_entries((basename(path), one) for path, one in rejected.values()),
    }
    stale = [f"{folder}/{one}" for folder in (name, f"rejects/{name}")
             for one in list_folder(join(job.output, *folder.split("/")), f"{split}-*.parquet")]  # fmt: skip
    staging.publish(table | rejected, {manifest_name(name, split): manifest}, stale)
    return manifest


def _numbered(
    shards: Sequence[str], staged: Mapping[str, Written], folder: str, split: str
) -> dict[str, tuple[str, Written]]:
    """Staged shards that hold rows to their final paths; one without rows stands for an empty table."""
    kept = [shard for shard in shards if staged[shard]["rows"]] or [shards[0]]
    return {
        shard: (f"{folder}/{shard_name(split, number, len(kept))}", staged[shard]) for number, shard in enumerate(kept)
    }


def _check_failures(job: TaskJob, read: int, failed: int, evidence: Mapping[str, int], rejects: Sequence[str]) -> None:
    """RunFailed if a larger share of the rows is malformed than the job allows."""
    if read and failed / read > job.max_reject_share:
        raise RunFailed(
            f"{job.stage}: {failed:,} of {read:,} rows are malformed, more than --max-reject-share "
            f"{job.max_reject_share:g} allows; {_first_failure(rejects, job.stage)}"
        )
    if evidence["malformed"] > evidence["read"] * job.max_reject_share:
        raise RunFailed(
            f"{job.stage}: {evidence['malformed']:,} of {evidence['read']:,} evidence rows are no pages of "
            f"{job.dataset.name}'s, more than --max-reject-share {job.max_reject_share:g} allows; "
            f"{_first_failure(rejects, f'{job.stage}/evidence')}"
        )


def _first_failure(reject_shards: Sequence[str], stage: str) -> str:
    rows = (row for path in reject_shards for row in read_table(path).to_pylist())
    return next(
        f"{row['source_id']}: {row['detail']}" for row in rows if row["stage"] == stage and row["reason"] in FAILURES
    )


def _by_reason(counts: Mapping[str, int], kind: str) -> Counter[str]:
    return Counter({name.partition(":")[2]: n for name, n in counts.items() if name.startswith(f"{kind}:") and n})


def _repeated(shards: Sequence[str]) -> list[tuple[str, str]]:
    """(id, language) pairs that occur more than once, sorted."""
    table = pa.concat_tables([read_table(path, ["id", "language"]) for path in shards])
    counted = table.group_by(["id", "language"]).aggregate([([], "count_all")])
    twice = counted.filter(pc.greater(counted.column("count_all"), 1))
    return sorted(zip(twice.column("id").to_pylist(), twice.column("language").to_pylist(), strict=True))


def already_mapped(job: TaskJob) -> dict[str, Any] | None:
    """The manifest of the same files, parameters and knowledge source, if its shards are there, with their rows.

    None too where manifest or shards are damaged: the table is mapped anew.
    """
    path = manifest_path(job.output, job.dataset.name, job.split)
    if not exists(path):
        return None
    facts = json.loads(json.dumps(job.facts))
    folders = {"files": job.dataset.name, "reject_files": join("rejects", job.dataset.name)}
    try:
        manifest: dict[str, Any] = read_json(path)
        if any(manifest[name] != value for name, value in facts.items()):
            return None
        shards = [
            (join(job.output, folder, one["name"]), one["rows"])
            for key, folder in folders.items()
            for one in manifest[key]
        ]
    except (InputError, KeyError, TypeError):
        return None
    return manifest if have_rows(shards) else None
