"""The annotation jobs as Beam transforms."""

from collections.abc import Iterator

import apache_beam as beam
from apache_beam.pvalue import AsSingleton, PCollection

from kiltetl.transforms.annotation.passages import Passage, PassageText
from kiltetl.transforms.jobs.annotation_candidates import (
    CandidateJob,
    Choice,
    Measured,
    choose_passages,
    measure_shard,
    passages_of,
    read_questions,
    write_candidates,
)
from kiltetl.transforms.jobs.annotation_judgements import ApplyJob, apply_judgements
from kiltetl.transforms.jobs.reader import KnowledgeSource


class MeasurePassages(beam.PTransform):
    """Number of a shard -> Measured, of the retrieved passages that lie in it."""

    def __init__(self, job: CandidateJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, parts: PCollection[int]) -> PCollection[Measured]:
        return parts | beam.ParDo(_Measure(self._job))


class _Measure(beam.DoFn):
    def __init__(self, job: CandidateJob) -> None:
        self._job = job

    def setup(self) -> None:
        self._questions, _ = read_questions(self._job)

    def process(self, part: int) -> Iterator[Measured]:
        yield from measure_shard(self._job, self._questions, part)


class ChoosePassages(beam.PTransform):
    """Measured of all shards -> one Choice."""

    def __init__(self, job: CandidateJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, measured: PCollection[Measured]) -> PCollection[Choice]:
        return measured | beam.combiners.ToList() | beam.Map(self._choose)

    def _choose(self, measured: list[Measured]) -> Choice:
        return choose_passages(self._job, measured)


class FetchPassages(beam.PTransform):
    """Number of a shard -> (Passage, PassageText), of the wanted passages that lie in it."""

    def __init__(self, source: KnowledgeSource, wanted: PCollection[frozenset[Passage]]) -> None:
        super().__init__()
        self._source, self._wanted = source, wanted

    def expand(self, parts: PCollection[int]) -> PCollection[tuple[Passage, PassageText]]:
        return parts | beam.FlatMap(self._fetch, AsSingleton(self._wanted))

    def _fetch(self, part: int, wanted: frozenset[Passage]) -> Iterator[tuple[Passage, PassageText]]:
        yield from passages_of(self._source, part, wanted)


class WriteCandidates(beam.PTransform):
    """(Passage, PassageText) of all shards -> number of passages, once file and manifest stand."""

    def __init__(self, job: CandidateJob, choice: PCollection[Choice]) -> None:
        super().__init__()
        self._job, self._choice = job, choice

    def expand(self, texts: PCollection[tuple[Passage, PassageText]]) -> PCollection[int]:
        return texts | beam.combiners.ToList() | beam.Map(self._write, AsSingleton(self._choice))

    def _write(self, texts: list[tuple[Passage, PassageText]], choice: Choice) -> int:
        return int(write_candidates(self._job, choice, dict(texts))["counters"].get("written", 0))


class ApplyJudgements(beam.PTransform):
    """(Passage, PassageText) of all shards -> number of judgements used, once the report stands."""

    def __init__(self, job: ApplyJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, texts: PCollection[tuple[Passage, PassageText]]) -> PCollection[int]:
        return texts | beam.combiners.ToList() | beam.Map(self._apply)

    def _apply(self, texts: list[tuple[Passage, PassageText]]) -> int:
        return int(apply_judgements(self._job, dict(texts))["judgements"]["used"])
