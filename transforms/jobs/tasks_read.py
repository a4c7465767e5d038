"""The first reading of a task: its examples, what they point at, and the dataset's own evidence files."""

from collections import Counter
from collections.abc import Iterator

from kiltetl.schemas.records import Reject
from kiltetl.transforms.files.paths import basename
from kiltetl.transforms.files.progress import advance
from kiltetl.transforms.files.rows import read_rows
from kiltetl.transforms.files.shards import ShardWriter
from kiltetl.transforms.files.streams import read_json
from kiltetl.transforms.jobs.examples import Read, Refused, deal_out, merged, of_split, read_pages, read_source
from kiltetl.transforms.jobs.tasks_job import Ref, Request, TaskJob

GROUPS = "groups.json"


def gather_file(job: TaskJob, number: int) -> None:
    """First step for a dataset whose rows are merged: one file's examples to the buckets."""
    info = job.sources[number]
    if job.staging.left("gather", number) is not None:
        advance(info.size)
        return
    pieces = [f"piece-{bucket:05d}-{number:05d}.jsonl" for bucket in range(job.parts)]
    counts, refused, dealt = deal_out(job.dataset, info.path, [job.staged(piece) for piece in pieces], job.max_record)
    rejected = f"gather-rejects-{number:05d}.parquet"
    with ShardWriter(job.staged(rejected), Reject) as rejects:
        for row, one in refused:
            rejects.write(Reject(job.stage, f"{basename(info.path)}:{row}", one.reason, one.detail))
    files = dict(zip(pieces, dealt, strict=True)) | {rejected: rejects.written}
    job.staging.leave("gather", number, dict(counts), files)


def read_part(job: TaskJob, part: int) -> Iterator[tuple[int, Read]]:
    """(rows or examples taken in, what they gave) of a part: a source file, or a bucket of merged examples."""
    if job.dataset.merge is None:
        for read in read_source(job.dataset, job.sources[part].path, job.max_record):
            yield 1, of_split(job.dataset, job.split, read)
    else:
        dataset = job.dataset
        rule = job.dataset.merge.rule
        if rule is not None:
            dataset = rule.settle(dataset, read_json(job.staged(GROUPS)))
        for count, read in merged(dataset, _pieces(job, part)):
            yield count, of_split(dataset, job.split, read)


def count_groups(job: TaskJob, part: int) -> Counter[str]:
    """The numbers that the merged examples of a bucket count for, by name."""
    assert job.dataset.merge is not None
    rule = job.dataset.merge.rule
    assert rule is not None
    counts: Counter[str] = Counter()
    for _, read in merged(job.dataset, _pieces(job, part)):
        for name, number in map(rule.count, () if isinstance(read, Refused) else read):
            counts[name] += number
    return counts


def _pieces(job: TaskJob, part: int) -> list[str]:
    return [job.staged(f"piece-{part:05d}-{number:05d}.jsonl") for number in range(len(job.sources))]


def requests(job: TaskJob, part: int) -> Iterator[Request]:
    """The evidence that a part's examples name, with where it stands; none of a part that is done."""
    if job.staging.left("part", part) is not None:
        return
    position = 0
    for _, read in read_part(job, part):
        for example in () if isinstance(read, Refused) else read:
            for number, output in enumerate(example.outputs):
                for place, evidence in enumerate(output.evidence or ()):
                    yield Request(Ref(part, position, number, place), evidence)
            position += 1


def read_evidence(job: TaskJob, number: int, needed: frozenset[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(key, sentences) of the pages that are needed of one of the dataset's evidence files."""
    info = job.evidence[number]
    rows = 0
    rejected = f"evidence-rejects-{number:05d}.parquet"
    with ShardWriter(job.staged(rejected), Reject) as rejects:
        for rows, row in read_rows(info.path, report=advance, most=job.max_record):
            pages = read_pages(job.dataset, rows, row)
            if isinstance(pages, Refused):
                name = f"{basename(info.path)}:{rows}"
                rejects.write(Reject(f"{job.stage}/evidence", name, pages.reason, pages.detail))
                continue
            yield from ((page.key, page.sentences) for page in pages if page.key in needed)
    job.staging.leave("evidence", number, {"read": rows, "malformed": rejects.count}, {rejected: rejects.written})


def example_ids(job: TaskJob, part: int) -> set[str]:
    """Ids of the examples of a part."""
    return {example.id for _, read in read_part(job, part) if not isinstance(read, Refused) for example in read}
