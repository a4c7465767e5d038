"""The paragraphs of a knowledge source to examples of entity linking.

A part is a shard of the knowledge source, which is read once, as a stream of row groups, and gives
one shard of each split under the same number.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from kiltetl.schemas.arrow import record_of
from kiltetl.schemas.errors import InputError, RunFailed
from kiltetl.schemas.reasons import MALFORMED_RECORD
from kiltetl.schemas.records import Anchor, Reject, Task
from kiltetl.transforms.datasets.hashing import stable_share
from kiltetl.transforms.entity_links import (
    NAME,
    NOT_SAMPLED,
    RED_LINK,
    SPLITS,
    TASK,
    anchor_id,
    anchor_task,
    split_of_page,
)
from kiltetl.transforms.files.paths import (
    basename,
    delete_file,
    delete_folder,
    exists,
    file_size,
    folder_of,
    join,
    list_folder,
    make_folder,
    move,
)
from kiltetl.transforms.files.progress import advance
from kiltetl.transforms.files.shards import ShardWriter, footer_rows, have_rows, parquet_file, shard_name
from kiltetl.transforms.files.streams import read_json, write_json
from kiltetl.transforms.jobs.reader import KnowledgeSource, manifest_path

STAGING = f"staging-{NAME}"


@dataclass(frozen=True, slots=True)
class AnchorJob:
    """Everything that the graph needs. ``sample`` is the share of the anchors that become records."""

    source: KnowledgeSource
    output: str
    dev_share: float
    sample: float
    fingerprint: str
    facts: Mapping[str, Any]

    def staged(self, name: str, part: int, suffix: str = "parquet") -> str:
        return join(self.output, STAGING, f"{name}-{part:05d}.{suffix}")

    def shard(self, table: str, part: int) -> str:
        """Where a finished shard stands: of a split, or of the rejects."""
        folder = (NAME,) if table in SPLITS else ("rejects", NAME)
        return join(self.output, *folder, shard_name(table, part, self.source.shards))


def paragraphs_with_anchors(path: str) -> Iterator[tuple[str, int, str, list[dict[str, Any]]]]:
    """(page id, paragraph id, text, anchors) of each paragraph of a shard that has anchors, in order."""
    with parquet_file(path) as file:
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns=["wikipedia_id", "paragraph_id", "text", "anchors"])
            rows = rows.filter(pc.greater(pc.list_value_length(rows.column("anchors")), 0))
            for batch in rows.to_batches(max_chunksize=500):
                columns = (batch.column(i).to_pylist() for i in range(4))
                yield from zip(*columns, strict=True)


def link_shard(job: AnchorJob, part: int) -> dict[str, int]:
    """The anchors of one shard to one shard of each split and of rejects; the counts."""
    source = job.source.path("paragraphs", part)
    done = _done(job, part)
    if done is not None:
        advance(file_size(source))
        return done
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        tables = {s: stack.enter_context(ShardWriter(job.staged(s, part), Task, _weight)) for s in SPLITS}
        rejects = stack.enter_context(ShardWriter(job.staged("rejects", part), Reject))
        page, split = "", ""
        for page_id, paragraph_id, text, anchors in paragraphs_with_anchors(source):
            if page_id != page:
                page, split = page_id, split_of_page(page_id, job.dev_share)
            for values in anchors:
                counts[f"read:{split}"] += 1
                if values["wikipedia_id"] is None:
                    counts[f"{RED_LINK}:{split}"] += 1
                    continue
                number = anchor_id(page_id, paragraph_id, values["start"])
                if job.sample < 1 and stable_share(number) >= job.sample:
                    counts[f"{NOT_SAMPLED}:{split}"] += 1
                    continue
                try:
                    task = anchor_task(number, split, text, record_of(Anchor, values), job.source.site.language)
                except ValueError as error:
                    counts[f"{MALFORMED_RECORD}:{split}"] += 1
                    rejects.write(Reject(f"{NAME}/{split}", number, MALFORMED_RECORD, str(error)))
                    continue
                tables[split].write(task)
                counts[f"written:{split}"] += 1
    rows = {**{split: table.count for split, table in tables.items()}, "rejects": rejects.count}
    marker = {"fingerprint": job.fingerprint, "counts": dict(counts), "rows": rows}
    write_json(job.staged("part", part, "json"), marker)
    advance(file_size(source))
    return dict(counts)


def _done(job: AnchorJob, part: int) -> dict[str, int] | None:
    """Counts that a finished shard left; None where it has to be done, or what it left is gone or damaged."""
    marker = job.staged("part", part, "json")
    if not exists(marker):
        return None
    try:
        left = read_json(marker)
        if left["fingerprint"] != job.fingerprint:
            return None
        if not have_rows((job.staged(table, part), left["rows"][table]) for table in (*SPLITS, "rejects")):
            return None
        counts: dict[str, int] = dict(left["counts"])
    except (InputError, LookupError, TypeError, ValueError):
        return None
    return counts


def _weight(task: Task) -> int:
    return 2 * len(task.input) + 200


def publish(job: AnchorJob) -> list[dict[str, Any]]:
    """Check that everything adds up, give the shards their names and write the manifests, last.

    Raises:
        RunFailed: a count does not add up.
    """
    parts = range(job.source.shards)
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(read_json(job.staged("part", part, "json"))["counts"])
    reject_files = _files(job, "rejects", parts)
    malformed = sum(counts[f"{MALFORMED_RECORD}:{split}"] for split in SPLITS)
    _audit("rows of rejects", malformed, sum(file["rows"] for file in reject_files))
    manifests = []
    for split in SPLITS:
        files = _files(job, split, parts)
        written, read = counts[f"written:{split}"], counts[f"read:{split}"]
        skipped = {reason: n for reason in (RED_LINK, NOT_SAMPLED) if (n := counts[f"{reason}:{split}"])}
        failed = counts[f"{MALFORMED_RECORD}:{split}"]
        _audit(f"{split}: anchors read = written + left out", read, written + sum(skipped.values()) + failed)
        _audit(f"{split}: rows of the table", written, sum(file["rows"] for file in files))
        each = ("used", "examples", "written", "outputs", "answers", "evidence_sets", "spans", "record_pages")
        manifests.append(
            {
                **job.facts,
                "kind": "tasks",
                "dataset": NAME,
                "task": TASK,
                "split": split,
                "counters": {"read": read, "rejects": failed} | dict.fromkeys(each, written),
                "skipped": skipped,
                "rejected": {MALFORMED_RECORD: failed} if failed else {},
                "files": files,
                "reject_files": reject_files,
            }
        )
    for split in SPLITS:  # what stood there ends here
        delete_file(manifest_path(job.output, NAME, split))
    for table in (*SPLITS, "rejects"):
        folder = folder_of(job.shard(table, 0))
        make_folder(folder)
        for name in list_folder(folder, f"{table}-*.parquet"):
            delete_file(join(folder, name))
        for part in parts:
            move(job.staged(table, part), job.shard(table, part))
    for manifest in manifests:
        write_json(manifest_path(job.output, NAME, manifest["split"]), manifest)
    delete_folder(join(job.output, STAGING))
    return manifests


def _files(job: AnchorJob, table: str, parts: Sequence[int]) -> list[dict[str, Any]]:
    staged = [(basename(job.shard(table, part)), job.staged(table, part)) for part in parts]
    return [{"name": name, "rows": footer_rows(path), "bytes": file_size(path)} for name, path in staged]


def _audit(what: str, left: int, right: int) -> None:
    if left != right:
        raise RunFailed(f"{NAME} do not add up: {what}: {left:,} against {right:,}")
