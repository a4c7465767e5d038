"""The knowledge source's job as Beam transforms."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack

import apache_beam as beam
from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import AsIter, AsSingleton, PCollection

from kiltetl.schemas.manifests import INDEX
from kiltetl.transforms.files.scratch import machine_copy
from kiltetl.transforms.files.shards import map_arrow
from kiltetl.transforms.jobs.dump_parts import Part
from kiltetl.transforms.jobs.knowledge_source import (
    KnowledgeSourceJob,
    hash_input,
    parse_part,
    publish,
    resolve,
    scan_part,
)
from kiltetl.transforms.wiki.redirects import TitleIndex


def _counted(stage: str, counts: Mapping[str, int]) -> None:
    for name, value in counts.items():
        Metrics.counter(stage, name).inc(value)


class HashInput(beam.PTransform):
    """Number of a file of the dump -> the same; leaves its checksum, or fails where another was published."""

    def __init__(self, job: KnowledgeSourceJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, files: PCollection[int]) -> PCollection[int]:
        return files | beam.Map(self._hash)

    def _hash(self, number: int) -> int:
        hash_input(self._job, number)
        return number


class ScanTitles(beam.PTransform):
    """Part -> number of its titles; writes what the first pass keeps to the staging folder."""

    def __init__(self, job: KnowledgeSourceJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, parts: PCollection[Part]) -> PCollection[int]:
        return parts | beam.Map(self._scan)

    def _scan(self, part: Part) -> int:
        counts = scan_part(self._job, part)
        _counted("titles", counts)
        return int(counts.get("titles", 0))


class ResolveTitles(beam.PTransform):
    """Numbers of titles of all parts -> one number, once ``titles`` and the index stand."""

    def __init__(self, job: KnowledgeSourceJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, scanned: PCollection[int]) -> PCollection[int]:
        return scanned | beam.CombineGlobally(sum) | beam.Map(self._resolve)

    def _resolve(self, _: int) -> int:
        summary = resolve(self._job)
        _counted("titles", summary["counts"])
        return int(summary["titles"])


class ParsePages(beam.PTransform):
    """Part -> number of its articles; writes the part's shards. Begins when ``titles`` is there."""

    def __init__(self, job: KnowledgeSourceJob, titles: PCollection[int] | None = None) -> None:
        super().__init__()
        self._job, self._titles = job, titles

    def expand(self, parts: PCollection[Part]) -> PCollection[int]:
        wait = () if self._titles is None else (AsSingleton(self._titles),)
        return parts | beam.ParDo(_ParsePart(self._job), *wait)


class _ParsePart(beam.DoFn):
    def __init__(self, job: KnowledgeSourceJob) -> None:
        self._job = job

    def setup(self) -> None:
        self._copies = ExitStack()
        self._index: TitleIndex | None = None

    def process(self, part: Part, titles: int | None = None) -> Iterator[int]:
        if self._index is None:
            staging = self._job.staging
            summary, files = staging.mark("resolve", 0)
            copy = machine_copy(staging.path(INDEX), files[INDEX]["sha256"])
            self._index = TitleIndex(map_arrow(self._copies.enter_context(copy)))
            self._duplicates = summary["duplicates"]
        summary = parse_part(self._job, part, self._index, self._duplicates)
        _counted("pages", summary["counts"])
        yield int(summary["counts"].get("articles", 0))

    def teardown(self) -> None:
        self._index = None
        self._copies.close()


class Publish(beam.PTransform):
    """Numbers of articles of all parts -> one number, once the manifest stands."""

    def __init__(self, job: KnowledgeSourceJob, hashed: PCollection[int] | None = None) -> None:
        super().__init__()
        self._job, self._hashed = job, hashed

    def expand(self, parsed: PCollection[int]) -> PCollection[int]:
        wait = () if self._hashed is None else (AsIter(self._hashed),)
        return parsed | beam.CombineGlobally(sum) | beam.Map(self._publish, *wait)

    def _publish(self, articles: int, hashed: Iterable[int] = ()) -> int:
        publish(self._job)
        return articles


# each step as a small graph of its own, for many processes on one machine


def draw_hash(job: KnowledgeSourceJob, root: beam.Pipeline, number: int) -> None:
    _ = root | beam.Create([number]) | HashInput(job)


def draw_scan(job: KnowledgeSourceJob, root: beam.Pipeline, part: Part) -> None:
    _ = root | beam.Create([part]) | ScanTitles(job)


def draw_resolve(job: KnowledgeSourceJob, root: beam.Pipeline, titles: int) -> None:
    _ = root | beam.Create([titles]) | ResolveTitles(job)


def draw_parse(job: KnowledgeSourceJob, root: beam.Pipeline, part: Part) -> None:
    _ = root | beam.Create([part]) | ParsePages(job)


def draw_publish(job: KnowledgeSourceJob, root: beam.Pipeline, articles: int) -> None:
    _ = root | beam.Create([articles]) | Publish(job)
