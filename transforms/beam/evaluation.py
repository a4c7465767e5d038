"""The evaluation as a graph: a join of gold and predictions by name and id, for predictions in many shards."""

import zlib
from collections.abc import Iterable, Iterator, Mapping

import apache_beam as beam
from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import AsIter, PCollection

from kiltetl.transforms.jobs.evaluation import (
    EvaluationJob,
    Given,
    Key,
    Scored,
    gather,
    publish,
    read_given,
    score_given,
    write_bucket,
)


class ScoreRecords(beam.PTransform):
    """Sources -> (bucket, Scored): a join of gold and predictions by name and id, scored."""

    def __init__(self, job: EvaluationJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, sources: PCollection) -> PCollection:
        job = self._job
        gold = sources | "Gold" >> beam.Filter(lambda source: source.system is None)
        given = sources | "Predictions" >> beam.Filter(lambda source: source.system is not None)
        return (
            {
                "gold": gold | "ReadGold" >> beam.FlatMap(lambda source: read_given(job, source)),
                "given": given | "ReadPredictions" >> beam.FlatMap(lambda source: read_given(job, source)),
            }
            | "JoinById" >> beam.CoGroupByKey()
            | "Score" >> beam.ParDo(_Score(job))
        )


class _Score(beam.DoFn):
    def __init__(self, job: EvaluationJob) -> None:
        self._job = job
        self._scored = Metrics.counter("evaluation", "scored")

    def process(self, element: tuple[Key, Mapping[str, Iterable[Given]]]) -> Iterator[tuple[int, Scored]]:
        key, joined = element
        bucket = zlib.crc32(key[1].encode("utf-8", "surrogatepass")) % self._job.buckets
        for one in score_given(self._job, key, list(joined["gold"]), joined["given"]):
            if one.score is not None:
                self._scored.inc()
            yield bucket, one


class PublishScores(beam.PTransform):
    """(bucket, Scored) -> the files of ``publish``."""

    def __init__(self, job: EvaluationJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, scored: PCollection) -> PCollection:
        job = self._job

        def write(bucket: int, scores: Iterable[Scored]) -> int:
            write_bucket(job, bucket, scores)
            return bucket

        def finish(_: int, buckets: Iterable[int]) -> None:
            if job.staging.finish() is None:  # of a try before this one, where it was cut off
                publish(job, gather(job, buckets))

        written = scored | "Buckets" >> beam.GroupByKey() | "WriteBucket" >> beam.MapTuple(write)
        return scored.pipeline | "Once" >> beam.Create([0]) | "Publish" >> beam.Map(finish, AsIter(written))
