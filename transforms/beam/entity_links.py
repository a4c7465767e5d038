"""The anchors' job as Beam transforms."""

import apache_beam as beam
from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import PCollection

from kiltetl.transforms.entity_links import NAME, SPLITS
from kiltetl.transforms.jobs.entity_links import AnchorJob, link_shard, publish


class LinkAnchors(beam.PTransform):
    """Number of a shard of the knowledge source -> number of its records; writes its shards."""

    def __init__(self, job: AnchorJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, parts: PCollection[int]) -> PCollection[int]:
        return parts | beam.Map(self._link)

    def _link(self, part: int) -> int:
        counts = link_shard(self._job, part)
        for name, value in counts.items():
            Metrics.counter(NAME, name).inc(value)
        return sum(counts.get(f"written:{split}", 0) for split in SPLITS)


class PublishAnchors(beam.PTransform):
    """Numbers of records of all shards -> one number, once the manifests stand."""

    def __init__(self, job: AnchorJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, written: PCollection[int]) -> PCollection[int]:
        return written | beam.CombineGlobally(sum) | beam.Map(self._publish)

    def _publish(self, written: int) -> int:
        publish(self._job)
        return written
