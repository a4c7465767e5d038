"""The paragraphs of a knowledge source to examples of entity linking.

A part is a shard of the knowledge source, which is read once, as a stream of row groups, and gives
one shard of each split under the same number.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow.compute as pc

from kiltetl.schemas.arrow import record_of
from kiltetl.schemas.manifests import Written
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
    file_size,
    join,
    list_folder,
)
from kiltetl.transforms.files.progress import advance
from kiltetl.transforms.files.shards import ShardWriter, parquet_file, shard_name
from kiltetl.transforms.files.stores import at_once
from kiltetl.transforms.jobs.reader import KnowledgeSource, manifest_name
from kiltetl.transforms.jobs.staging import Staging, audit, file_entries


@dataclass(frozen=True, slots=True)
class AnchorJob:
    """Everything that the graph needs. ``sample`` is the share of the anchors that become records."""

    source: KnowledgeSource
    staging: Staging
    dev_share: float
    sample: float
    facts: Mapping[str, Any]

    @property
    def output(self) -> str:
        return self.staging.output

    def staged(self, table: str, part: int) -> str:
        return self.staging.path(_staged(table, part))

    def shard(self, table: str, part: int) -> str:
        """Path of a finished shard below the output, with ``/``: of a split, or of the rejects."""
        folder = NAME if table in SPLITS else f"rejects/{NAME}"
        return f"{folder}/{shard_name(table, part, self.source.shards)}"


TABLES = (*SPLITS, "rejects")


def _staged(table: str, part: int) -> str:
    return f"{table}-{part:05d}.parquet"


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
    done = job.staging.left("part", part)
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
    files = {_staged(s, part): tables[s].written for s in SPLITS} | {_staged("rejects", part): rejects.written}
    job.staging.leave("part", part, dict(counts), files)
    advance(file_size(source))
    return dict(counts)


def _weight(task: Task) -> int:
    return 2 * len(task.input) + 200


def publish(job: AnchorJob) -> list[dict[str, Any]]:
    """Check that everything adds up and publish; the manifests of the splits.

    Raises:
        RunFailed: a count does not add up.
    """
    if (done := job.staging.finish()) is not None:
        return done
    parts = range(job.source.shards)
    counts: Counter[str] = Counter()
    staged: dict[str, Written] = {}
    for mark in at_once(partial(job.staging.mark, "part"), parts):
        counts.update(mark.summary)
        staged |= mark.files
    placed = {
        table: {(name := _staged(table, part)): (job.shard(table, part), staged[name]) for part in parts}
        for table in TABLES
    }
    entries = {
        table: file_entries((basename(path), one) for path, one in files.values()) for table, files in placed.items()
    }
    reject_files = entries["rejects"]
    malformed = sum(counts[f"{MALFORMED_RECORD}:{split}"] for split in SPLITS)
    checks = [("rows of rejects", malformed, sum(file["rows"] for file in reject_files))]
    manifests = {}
    for split in SPLITS:
        files = entries[split]
        written, read = counts[f"written:{split}"], counts[f"read:{split}"]
        skipped = {reason: n for reason in (RED_LINK, NOT_SAMPLED) if (n := counts[f"{reason}:{split}"])}
        failed = counts[f"{MALFORMED_RECORD}:{split}"]
        checks += [
            (f"{split}: anchors read = written + left out", read, written + sum(skipped.values()) + failed),
            (f"{split}: rows of the table", written, sum(file["rows"] for file in files)),
        ]
        each = ("used", "examples", "written", "outputs", "answers", "evidence_sets", "spans", "record_pages")
        manifests[manifest_name(NAME, split)] = {
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
    audit(f"{NAME} do not add up", checks)
    stale = [f"{folder}/{name}" for table in TABLES for folder in (job.shard(table, 0).rpartition("/")[0],)
             for name in list_folder(join(job.output, *folder.split("/")), f"{table}-*.parquet")]  # fmt: skip
    job.staging.publish({name: to for files in placed.values() for name, to in files.items()}, manifests, stale)
    return list(manifests.values())
