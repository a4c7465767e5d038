"""A task's job as Beam transforms.

The examples themselves are never shuffled. A first reading sends off what they point at (evidence
texts, titles), which is looked up, located and aligned, shard by shard of the knowledge source; a
second reading puts the findings, keyed by position, back into the examples and writes them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import AsSingleton, PCollection, TaggedOutput

from kiltetl.schemas.manifests import INDEX
from kiltetl.transforms.alignment.bleu import Bleu
from kiltetl.transforms.files.paths import file_size, join
from kiltetl.transforms.files.progress import advance
from kiltetl.transforms.files.scratch import machine_copy
from kiltetl.transforms.files.streams import write_json
from kiltetl.transforms.jobs.reader import KnowledgeSource
from kiltetl.transforms.jobs.tasks_find import align_shard, locate, look_up
from kiltetl.transforms.jobs.tasks_job import Found, Request, TaskJob
from kiltetl.transforms.jobs.tasks_read import GROUPS, count_groups, gather_file, read_evidence, requests
from kiltetl.transforms.jobs.tasks_write import assemble, publish
from kiltetl.transforms.wiki.redirects import Located


class GatherExamples(beam.PTransform):
    """Numbers of source files -> numbers of parts: buckets of examples that are merged."""

    def __init__(self, job: TaskJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, files: PCollection[int]) -> PCollection[int]:
        parts = (
            files | beam.Map(self._gather) | beam.CombineGlobally(sum) | beam.FlatMap(self._parts) | beam.Reshuffle()
        )
        merge = self._job.dataset.merge
        if merge is None or merge.rule is None:
            return parts
        counts = parts | "Count" >> beam.Map(self._count) | "Sum" >> beam.CombineGlobally(_summed)
        return counts | "Settle" >> beam.FlatMap(self._settle) | "Spread" >> beam.Reshuffle()

    def _gather(self, number: int) -> int:
        gather_file(self._job, number)
        return 1

    def _count(self, part: int) -> Counter[str]:
        return count_groups(self._job, part)

    def _settle(self, counts: Mapping[str, int]) -> Iterable[int]:
        write_json(self._job.staged(GROUPS), counts)
        return self._parts(0)

    def _parts(self, _: int) -> Iterable[int]:
        return range(self._job.parts)


def _summed(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    return sum(map(Counter, counts), Counter[str]())


class ReadRequests(beam.PTransform):
    """Number of a part -> Requests."""

    def __init__(self, job: TaskJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, parts: PCollection[int]) -> PCollection[Request]:
        return parts | beam.FlatMap(self._read) | beam.Reshuffle()

    def _read(self, part: int) -> Iterator[Request]:
        for request in requests(self._job, part):
            Metrics.counter(self._job.stage, "evidence").inc()
            yield request


class LookUpSentences(beam.PTransform):
    """Requests -> Requests, with texts out of the dataset's own evidence files; ``found``: those not there.

    The keys that are needed are broadcast to the files, so only their sentences travel.
    """

    def __init__(self, job: TaskJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, asked: PCollection[Request]) -> "Findings":
        by_key = asked | "Key" >> beam.FlatMap(_source_key)
        needed = by_key | beam.Keys() | beam.CombineGlobally(_KeySet())
        pages = (
            asked.pipeline
            | "Files" >> beam.Create(range(len(self._job.evidence)), reshuffle=True)
            | "ReadPages" >> beam.FlatMap(self._read, AsSingleton(needed))
        )
        looked_up = (
            (by_key, pages) | beam.CoGroupByKey() | "Pick" >> beam.FlatMap(_pick).with_outputs("found", main="asked")
        )
        direct = asked | "Direct" >> beam.Filter(_has_no_key)
        return Findings((direct, looked_up.asked) | beam.Flatten(), looked_up.found)

    def _read(self, number: int, needed: frozenset[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        return read_evidence(self._job, number, needed)


class Findings(NamedTuple):
    """What is still to be found, and what became of the rest."""

    asked: PCollection[Any]
    found: PCollection[Found]


def _source_key(request: Request) -> Iterator[tuple[str, Request]]:
    if request.evidence.text is None and request.evidence.source_page is not None:
        yield request.evidence.source_page, request


def _has_no_key(request: Request) -> bool:
    return request.evidence.text is not None or request.evidence.source_page is None


def _pick(joined: tuple[str, tuple[Iterable[Request], Iterable[tuple[str, ...]]]]) -> Iterator[Any]:
    _, (asked, pages) = joined
    pages = list(pages)
    for request in asked:
        result = look_up(request, pages)
        yield TaggedOutput("found", result) if isinstance(result, Found) else result


class _KeySet(beam.CombineFn):
    def create_accumulator(self) -> set[str]:
        return set()

    def add_input(self, keys: set[str], key: str) -> set[str]:
        keys.add(key)
        return keys

    def merge_accumulators(self, sets: Iterable[set[str]]) -> set[str]:
        return set().union(*sets)

    def extract_output(self, keys: set[str]) -> frozenset[str]:
        return frozenset(keys)


class LocatePages(beam.PTransform):
    """Requests -> (part of the knowledge source, (Request, Located)); ``found``: those without a page."""

    def __init__(self, source: KnowledgeSource) -> None:
        super().__init__()
        self._source = source

    def expand(self, asked: PCollection[Request]) -> Findings:
        located = asked | beam.ParDo(_Locate(self._source)).with_outputs("found", main="asked")
        return Findings(located.asked, located.found)


class _Locate(beam.DoFn):
    def __init__(self, source: KnowledgeSource) -> None:
        self._source = source

    def setup(self) -> None:
        self._copies = ExitStack()
        copy = machine_copy(join(self._source.folder, INDEX), self._source.about["fingerprint"])
        self._index = self._source.index(self._copies.enter_context(copy))

    def process(self, request: Request) -> Iterator[Any]:
        found = locate(self._source, self._index, request)
        if isinstance(found, Found):
            yield TaggedOutput("found", found)
        else:
            yield found[1].part, found

    def teardown(self) -> None:
        del self._index
        self._copies.close()


class AlignEvidence(beam.PTransform):
    """(part, (Request, Located)) -> Found: evidence is grouped by shard, page text stays where it is."""

    def __init__(self, source: KnowledgeSource, bleu: Bleu, span_rows: int) -> None:
        super().__init__()
        self._source, self._span_rows = source, span_rows
        self._bleu: Bleu = bleu

    def expand(self, located: PCollection[tuple[int, tuple[Request, Located]]]) -> PCollection[Found]:
        return located | beam.GroupByKey() | beam.FlatMapTuple(self._align)

    def _align(self, part: int, wanted: Iterable[tuple[Request, Located]]) -> Iterator[Found]:
        yield from align_shard(self._source, part, wanted, self._bleu, self._span_rows)
        advance(file_size(self._source.path("paragraphs", part)))


class AssembleExamples(beam.PTransform):
    """Numbers of parts, with all that was found -> number of records written, a part."""

    def __init__(self, job: TaskJob, found: Sequence[PCollection[Found]]) -> None:
        super().__init__()
        self._job, self._found = job, found

    def expand(self, parts: PCollection[int]) -> PCollection[int]:
        keyed = {str(i): found | f"Key{i}" >> beam.Map(_part_of) for i, found in enumerate(self._found)}
        keyed["part"] = parts | "KeyParts" >> beam.Map(lambda part: (part, part))
        return keyed | beam.CoGroupByKey() | beam.MapTuple(self._assemble)

    def _assemble(self, part: int, joined: Mapping[str, Iterable[Any]]) -> int:
        found = (one for tag, group in joined.items() if tag != "part" for one in group)
        summary = assemble(part, self._job, found)
        for name, value in summary["counts"].items():
            Metrics.counter(self._job.stage, name).inc(value)
        return int(summary["counts"].get("written", 0))


def _part_of(found: Found) -> tuple[int, Found]:
    return found.ref.part, found


class PublishTasks(beam.PTransform):
    """Numbers of records of all parts -> one number, once the manifest stands."""

    def __init__(self, job: TaskJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, written: PCollection[int]) -> PCollection[int]:
        return written | beam.CombineGlobally(sum) | beam.Map(self._publish)

    def _publish(self, written: int) -> int:
        publish(self._job)
        return written
