"""The second reading of a task: the findings put into its examples, written, audited and published."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kiltetl.schemas.errors import InputError, RunFailed
from kiltetl.schemas.reasons import FAILURES
from kiltetl.schemas.records import Evidence, Reject, Task
from kiltetl.transforms.alignment.histogram import Quality, added
from kiltetl.transforms.alignment.mapping import Unmapped, map_example, set_losses
from kiltetl.transforms.files.paths import (
    basename,
    delete_file,
    delete_folder,
    exists,
    file_size,
    join,
    list_folder,
    make_folder,
    move,
)
from kiltetl.transforms.files.shards import ShardWriter, footer_rows, have_rows, read_table, shard_name
from kiltetl.transforms.files.streams import read_json, write_json
from kiltetl.transforms.jobs.examples import Refused
from kiltetl.transforms.jobs.reader import manifest_path
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
    findings: dict[Ref, Found] = {one.ref: one for one in found}
    counts: Counter[str] = Counter()
    quality = Quality()
    borrowed = evidence_sets(job.borrowed, example_ids(job, part)) if job.borrowed else {}
    position = 0
    with (
        ShardWriter(job.staged(f"tasks-{part:05d}.parquet"), Task, _weight, job.metadata) as tasks,
        ShardWriter(job.staged(f"rejects-{part:05d}.parquet"), Reject) as rejects,
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
    summary = {"counts": dict(counts), "bleu": quality.summary()}
    write_json(job.staged(f"part-{part:05d}.json"), summary)
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
    """Check that everything adds up, give the shards their names and write the manifest, last.

    Raises:
        RunFailed: a count does not add up, an id occurs twice, or too many rows are malformed.
    """
    summaries = [read_json(job.staged(f"part-{part:05d}.json")) for part in range(job.parts)]
    counts = sum((Counter(summary["counts"]) for summary in summaries), Counter[str]())
    shards = [job.staged(f"tasks-{part:05d}.parquet") for part in range(job.parts)]
    reject_shards = [job.staged(f"rejects-{part:05d}.parquet") for part in range(job.parts)]
    checks = []
    if job.dataset.merge is not None:
        numbers = range(len(job.sources))
        dealt = sum((Counter(read_json(job.staged(f"gather-{n:05d}.json"))) for n in numbers), Counter[str]())
        checks.append(("examples of all rows = examples merged", dealt["dealt"], counts["read"]))
        for name in ("read", "used"):
            counts[name] = dealt[name]
        merging = _by_reason(counts, "skipped")  # of examples, not of rows
        counts = Counter({name: n for name, n in counts.items() if not name.startswith("skipped:")})
        counts += Counter({name: n for name, n in dealt.items() if ":" in name})
        counts["rejects"] += dealt.total() - sum(n for name, n in dealt.items() if not name.startswith("rejected:"))
        reject_shards += [job.staged(f"gather-rejects-{n:05d}.parquet") for n in numbers]
    else:
        merging = Counter()
    evidence = Counter[str]()
    for number in range(len(job.evidence)):
        evidence += Counter(read_json(job.staged(f"evidence-{number:05d}.json")))
        reject_shards.append(job.staged(f"evidence-rejects-{number:05d}.parquet"))
    skipped, failures, losses = (_by_reason(counts, kind) for kind in ("skipped", "rejected", "lost"))
    failed, lost = failures.total(), losses.total()
    rows, reject_rows = [footer_rows(p) for p in shards], [footer_rows(p) for p in reject_shards]
    checks += [
        (
            "rows read = used + skipped + malformed",
            counts["read"],
            counts["used"] + skipped.total() + failed,
        ),
        ("examples = written + rejected", counts["examples"], counts["written"] + lost),
        ("evidence sets mapped = written", counts["sets:mapped"], counts["own_sets"]),
        ("rows of the table", counts["written"], sum(rows)),
        ("rows of rejects", failed + lost + evidence["malformed"], sum(reject_rows)),
    ]
    for what, left, right in checks:
        if left != right:
            raise RunFailed(f"{job.stage} does not add up: {what}: {left:,} against {right:,}")
    if counts["read"] and failed / counts["read"] > job.max_reject_share:
        raise RunFailed(
            f"{job.stage}: {failed:,} of {counts['read']:,} rows are malformed, more than --max-reject-share "
            f"{job.max_reject_share:g} allows; {_first_failure(reject_shards, job.stage)}"
        )
    if evidence["malformed"] > evidence["read"] * job.max_reject_share:
        raise RunFailed(
            f"{job.stage}: {evidence['malformed']:,} of {evidence['read']:,} evidence rows are no pages of "
            f"{job.dataset.name}'s, more than --max-reject-share {job.max_reject_share:g} allows; "
            f"{_first_failure(reject_shards, f'{job.stage}/evidence')}"
        )
    twice = _repeated(shards)
    if twice:
        shown = ", ".join(f"{key} ({language})" for key, language in twice[:5])
        raise RunFailed(f"{job.stage}: ids occur more than once: {shown}{' …' if len(twice) > 5 else ''}")

    delete_file(manifest_path(job.output, job.dataset.name, job.split))  # what stood there ends here
    files = _publish_shards(shards, rows, join(job.output, job.dataset.name), job.split)
    reject_files = _publish_shards(reject_shards, reject_rows, join(job.output, "rejects", job.dataset.name), job.split)
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
        "files": files,
        "reject_files": reject_files,
    }
    write_json(manifest_path(job.output, job.dataset.name, job.split), manifest)
    delete_folder(job.staging)
    return manifest


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


def _publish_shards(shards: Sequence[str], rows: Sequence[int], folder: str, split: str) -> list[dict[str, Any]]:
    """Move the shards that hold rows to their final names; one without rows stands for an empty table."""
    make_folder(folder)
    for name in list_folder(folder, f"{split}-*.parquet"):
        delete_file(join(folder, name))
    kept = [(path, count) for path, count in zip(shards, rows, strict=True) if count] or [(shards[0], 0)]
    files = []
    for number, (path, count) in enumerate(kept):
        name = shard_name(split, number, len(kept))
        size = file_size(path)
        move(path, join(folder, name))
        files.append({"name": name, "rows": count, "bytes": size})
    return files
