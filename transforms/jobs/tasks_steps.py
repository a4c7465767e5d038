"""A task in steps from file to file, for one machine: each part on its own, one after the other or side by side.

What the graph of ``pipelines.tasks.build`` sends from one stage to the next stands here in tables of the staging
folder, so that no process holds more than a part of the dataset or a shard of the knowledge source:

1. ``gather``: one source file's examples to buckets, where rows are merged; ``settle``: what their numbers decide
2. ``ask``: what a part's examples point at
3. ``look_up_pages``: the sentences of one evidence file that are asked for
4. ``place``: the pages of what a part asks for, by the shard that holds them
5. ``align``: what becomes of all that is asked of one shard
6. ``assemble``: a part's examples with what was found, written
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from kiltetl.schemas.arrow import record_of, records_of
from kiltetl.schemas.manifests import INDEX
from kiltetl.schemas.records import Evidence, Provenance
from kiltetl.transforms.alignment.mapping import Finding, Unmapped
from kiltetl.transforms.files.paths import exists, file_size, join
from kiltetl.transforms.files.progress import advance
from kiltetl.transforms.files.scratch import machine_copy
from kiltetl.transforms.files.shards import ShardWriter, parquet_file
from kiltetl.transforms.files.streams import write_json
from kiltetl.transforms.jobs import tasks_write
from kiltetl.transforms.jobs.tasks_find import align_shard, locate, look_up
from kiltetl.transforms.jobs.tasks_job import Found, Ref, Request, TaskJob
from kiltetl.transforms.jobs.tasks_read import GROUPS, count_groups, gather_file, read_evidence, requests
from kiltetl.transforms.wiki.redirects import Located

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Asked:
    """A Request, as a row; its evidence as JSON. ``shard`` holds its page, -1 before that is known."""

    shard: int
    part: int
    example: int
    output: int
    place: int
    evidence: str
    wikipedia_id: str = ""
    wikipedia_title: str = ""

    @property
    def request(self) -> Request:
        evidence = record_of(Evidence, json.loads(self.evidence))
        return Request(Ref(self.part, self.example, self.output, self.place), evidence)


@dataclass(frozen=True, slots=True)
class Answered:
    """A Found, as a row; its provenance as JSON."""

    part: int
    example: int
    output: int
    place: int
    provenance: str | None
    reason: str | None
    detail: str | None
    bleu: float | None
    evidence: str | None
    span: str | None

    @property
    def found(self) -> Found:
        finding: Finding = Unmapped(self.reason or "", self.detail or "")
        if self.provenance is not None:
            finding = record_of(Provenance, json.loads(self.provenance))
        texts = None if self.evidence is None or self.span is None else (self.evidence, self.span)
        return Found(Ref(self.part, self.example, self.output, self.place), finding, self.bleu, texts)


@dataclass(frozen=True, slots=True)
class LookedUp:
    """A page of the dataset's own evidence files that is asked for."""

    key: str
    sentences: tuple[str, ...]


def _asked(request: Request, located: Located | None = None) -> Asked:
    if located is None:
        return Asked(-1, *request.ref, _json(request.evidence))
    return Asked(located.part, *request.ref, _json(request.evidence), located.wikipedia_id, located.wikipedia_title)


def _json(record: Evidence | Provenance) -> str:
    return json.dumps(asdict(record), ensure_ascii=False, separators=(",", ":"))


def _answered(found: Found) -> Answered:
    finding = found.finding
    evidence, span = found.texts or (None, None)
    if isinstance(finding, Unmapped):
        return Answered(*found.ref, None, finding.reason, finding.detail, found.bleu, evidence, span)
    return Answered(*found.ref, _json(finding), None, None, found.bleu, evidence, span)


def gather(job: TaskJob, number: int) -> None:
    gather_file(job, number)


def count(job: TaskJob, part: int) -> None:
    """The numbers that decide which examples of merged rows are kept, of one bucket."""
    if job.staging.left("count", part) is None:
        job.staging.leave("count", part, dict(count_groups(job, part)))


def settle(job: TaskJob, _: int) -> None:
    """The same of all buckets, where every part reads them."""
    counts = (Counter(job.staging.summary("count", part)) for part in range(job.parts))
    write_json(job.staged(GROUPS), sum(counts, Counter[str]()))


def ask(job: TaskJob, part: int) -> None:
    """What a part's examples point at."""
    if job.staging.left("ask", part) is not None:
        return
    name = f"asked-{part:05d}.parquet"
    keys: set[str] = set()
    with ShardWriter(job.staged(name), Asked, _weight, temporary=True) as asked:
        for request in requests(job, part):
            asked.write(_asked(request))
            if request.evidence.text is None and request.evidence.source_page is not None:
                keys.add(request.evidence.source_page)
    job.staging.leave("ask", part, {"keys": sorted(keys)}, {name: asked.written})


def look_up_pages(job: TaskJob, number: int) -> None:
    """The pages of one evidence file that are asked for; the mark of step ``evidence`` counts its rows."""
    name = f"pages-{number:05d}.parquet"
    if job.staging.left("pages", number) is not None:
        advance(job.evidence[number].size)
        return
    needed = frozenset(key for part in range(job.parts) for key in job.staging.summary("ask", part)["keys"])
    with ShardWriter(job.staged(name), LookedUp, temporary=True) as pages:
        for key, sentences in read_evidence(job, number, needed):
            pages.write(LookedUp(key, sentences))
    job.staging.leave("pages", number, {}, {name: pages.written})


def place(job: TaskJob, part: int) -> None:
    """The requests of a part with their texts and pages, by shard; and what became of those that have none."""
    if job.staging.left("place", part) is not None:
        return
    assert job.knowledge_source is not None
    source = job.knowledge_source
    keys = frozenset(job.staging.summary("ask", part)["keys"])
    pages: dict[str, list[tuple[str, ...]]] = {}
    for number in range(len(job.evidence)):
        for page in _rows(job.staged(f"pages-{number:05d}.parquet"), LookedUp, "key", keys) if keys else ():
            pages.setdefault(page.key, []).append(page.sentences)
    placed: dict[int, list[Asked]] = {}
    names = f"placed-{part:05d}.parquet", f"unplaced-{part:05d}.parquet"
    with ExitStack() as stack:
        copy = machine_copy(join(source.folder, INDEX), source.about["fingerprint"])
        index = source.index(stack.enter_context(copy))
        lost = stack.enter_context(ShardWriter(job.staged(names[1]), Answered, temporary=True))
        for row in _rows(job.staged(f"asked-{part:05d}.parquet"), Asked):
            given = row.request
            request: Request | Found = given
            evidence = given.evidence
            if evidence.text is None and evidence.source_page is not None:
                request = look_up(given, pages.get(evidence.source_page, ()))
            found = request if isinstance(request, Found) else locate(source, index, request)
            if isinstance(found, Found):
                lost.write(_answered(found))
            else:
                asked, located = found
                placed.setdefault(located.part, []).append(_asked(asked, located))
        table = stack.enter_context(ShardWriter(job.staged(names[0]), Asked, _weight, temporary=True))
        for shard in sorted(placed):
            for one in placed[shard]:
                table.write(one)
    counts = {str(shard): len(rows) for shard, rows in placed.items()}
    job.staging.leave("place", part, counts, dict(zip(names, (table.written, lost.written), strict=True)))


def align(job: TaskJob, shard: int) -> None:
    """What becomes of all that is asked of the pages of one shard."""
    assert job.knowledge_source is not None
    size = file_size(job.knowledge_source.path("paragraphs", shard))
    if job.staging.left("align", shard) is None:
        wanted = [
            (row.request, Located(row.wikipedia_id, row.wikipedia_title, shard))
            for part in range(job.parts)
            if str(shard) in job.staging.summary("place", part)
            for row in _rows(job.staged(f"placed-{part:05d}.parquet"), Asked, "shard", [shard])
        ]
        name = f"found-{shard:05d}.parquet"
        answers = align_shard(job.knowledge_source, shard, wanted, job.bleu, job.span_rows) if wanted else ()
        with ShardWriter(job.staged(name), Answered, _answer_weight, temporary=True) as found:
            for one in sorted(answers, key=_ref):
                found.write(_answered(one))
        parts = sorted({request.ref.part for request, _ in wanted})
        job.staging.leave("align", shard, {"parts": parts}, {name: found.written})
    advance(size)


def _ref(found: Found) -> Ref:
    return found.ref


def assemble(job: TaskJob, part: int) -> None:
    """A part's examples with what was found, to its shards."""
    tasks_write.assemble(part, job, _found(job, part))


def _found(job: TaskJob, part: int) -> Iterator[Found]:
    if job.knowledge_source is None or not exists(job.staged(f"unplaced-{part:05d}.parquet")):
        return
    yield from (row.found for row in _rows(job.staged(f"unplaced-{part:05d}.parquet"), Answered))
    for shard in sorted(map(int, job.staging.summary("place", part))):
        rows = _rows(job.staged(f"found-{shard:05d}.parquet"), Answered, "part", [part])
        yield from (row.found for row in rows)


def publish(job: TaskJob, _: int) -> None:
    tasks_write.publish(job)


def _rows(path: str, cls: type[Row], column: str = "", values: Iterable[Any] = ()) -> Iterator[Row]:
    """The rows of a staged table, or those with certain values in a column, group by group."""
    with parquet_file(path) as file:
        wanted = None if not column else pc.SetLookupOptions(value_set=_values(file, column, values))
        for group in range(file.num_row_groups):
            if wanted is None:
                yield from records_of(cls, file.read_row_group(group))
                continue
            hits = pc.call_function("is_in", [file.read_row_group(group, columns=[column]).column(0)], wanted)
            if pc.any(hits).as_py():
                yield from records_of(cls, file.read_row_group(group).filter(hits))


def _values(file: Any, column: str, values: Iterable[Any]) -> Any:
    return pa.array(sorted(values), file.schema_arrow.field(column).type)


def _weight(row: Asked) -> int:
    return 200 + len(row.evidence)


def _answer_weight(row: Answered) -> int:
    return 300 + len(row.evidence or "")
