"""The knowledge source's job as Beam transforms."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.pvalue import AsIter, AsSingleton, PCollection

from kiltetl.transforms.files.paths import FileInfo
from kiltetl.transforms.files.shards import map_arrow
from kiltetl.transforms.files.streams import local_copy
from kiltetl.transforms.jobs.knowledge_source import (
    Part,
    Staging,
    hash_input,
    left_by,
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
    """(number, file of the dump) -> number; leaves its checksum, or fails where another was published."""

    def __init__(self, staging: Staging) -> None:
        super().__init__()
        self._staging = staging

    def expand(self, files: PCollection[tuple[int, FileInfo]]) -> PCollection[int]:
        return files | beam.MapTuple(self._hash)

    def _hash(self, number: int, info: FileInfo) -> int:
        hash_input(number, info, self._staging)
        return number


class ScanTitles(beam.PTransform):
    """Part -> number of its titles; writes what the first pass keeps to the staging folder."""

    def __init__(self, staging: Staging) -> None:
        super().__init__()
        self._staging = staging

    def expand(self, parts: PCollection[Part]) -> PCollection[int]:
        return parts | beam.Map(self._scan)

    def _scan(self, part: Part) -> int:
        counts = scan_part(part, self._staging)
        _counted("titles", counts)
        return int(counts.get("titles", 0))


class ResolveTitles(beam.PTransform):
    """Numbers of titles of all parts -> one number, once ``titles`` and the index stand."""

    def __init__(self, parts: Sequence[Part], staging: Staging) -> None:
        super().__init__()
        self._parts, self._staging = tuple(parts), staging

    def expand(self, scanned: PCollection[int]) -> PCollection[int]:
        return scanned | beam.CombineGlobally(sum) | beam.Map(self._resolve)

    def _resolve(self, _: int) -> int:
        summary = resolve(self._parts, self._staging)
        _counted("titles", summary["counts"])
        return int(summary["titles"])


class ParsePages(beam.PTransform):
    """Part -> number of its articles; writes the part's shards. Begins when ``titles`` is there."""

    def __init__(self, staging: Staging, titles: PCollection[int] | None = None) -> None:
        super().__init__()
        self._staging, self._titles = staging, titles

    def expand(self, parts: PCollection[Part]) -> PCollection[int]:
        wait = () if self._titles is None else (AsSingleton(self._titles),)
        return parts | beam.ParDo(_ParsePart(self._staging), *wait)


class _ParsePart(beam.DoFn):
    def __init__(self, staging: Staging) -> None:
        self._staging = staging

    def setup(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._index: TitleIndex | None = None

    def process(self, part: Part, titles: int | None = None) -> Iterator[int]:
        if self._index is None:
            path = local_copy(self._staging.index(), self._folder.name)
            self._index = TitleIndex(map_arrow(path))
            self._duplicates = left_by(self._staging, "resolve", 0)["duplicates"]
        summary = parse_part(part, self._staging, self._index, self._duplicates)
        _counted("pages", summary["counts"])
        yield int(summary["counts"].get("articles", 0))

    def teardown(self) -> None:
        self._index = None
        self._folder.cleanup()


class Publish(beam.PTransform):
    """Numbers of articles of all parts -> one number, once the manifest stands."""

    def __init__(
        self,
        inputs: int,
        parts: Sequence[Part],
        staging: Staging,
        output: str,
        facts: Mapping[str, Any],
        max_reject_share: float,
        hashed: PCollection[int] | None = None,
    ) -> None:
        super().__init__()
        self._arguments = (inputs, tuple(parts), staging, output, facts, max_reject_share)
        self._hashed = hashed

    def expand(self, parsed: PCollection[int]) -> PCollection[int]:
        wait = () if self._hashed is None else (AsIter(self._hashed),)
        return parsed | beam.CombineGlobally(sum) | beam.Map(self._publish, *wait)

    def _publish(self, articles: int, hashed: Iterable[int] = ()) -> int:
        publish(*self._arguments)
        return articles


# each step as a small graph of its own, for many processes on one machine


def draw_hash(staging: Staging, root: beam.Pipeline, item: tuple[int, FileInfo]) -> None:
    _ = root | beam.Create([item]) | HashInput(staging)


def draw_scan(staging: Staging, root: beam.Pipeline, part: Part) -> None:
    _ = root | beam.Create([part]) | ScanTitles(staging)


def draw_resolve(staging: Staging, root: beam.Pipeline, parts: Sequence[Part]) -> None:
    _ = root | beam.Create([0]) | ResolveTitles(parts, staging)


def draw_parse(staging: Staging, root: beam.Pipeline, part: Part) -> None:
    _ = root | beam.Create([part]) | ParsePages(staging)


def draw_publish(publication: tuple[Any, ...], root: beam.Pipeline, item: int) -> None:
    _ = root | beam.Create([item]) | Publish(*publication)
