"""One dataset and split to map: what its steps share.

A *part* is one file of the source, or one bucket where rows are merged, and becomes one shard.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kiltetl.schemas.records import Evidence
from kiltetl.transforms.alignment.bleu import Bleu
from kiltetl.transforms.alignment.mapping import Finding
from kiltetl.transforms.datasets.spec import Dataset
from kiltetl.transforms.files.paths import FileInfo
from kiltetl.transforms.jobs.examples import bucket_count
from kiltetl.transforms.jobs.reader import KnowledgeSource
from kiltetl.transforms.jobs.staging import Staging
from kiltetl.transforms.jobs.tasks_borrowed import Tables


@dataclass(frozen=True, slots=True)
class TaskJob:
    """One dataset and split to map. A part is a source file, or a bucket where rows are merged."""

    dataset: Dataset
    split: str
    sources: tuple[FileInfo, ...]
    evidence: tuple[FileInfo, ...]
    knowledge_source: KnowledgeSource | None
    staging: Staging
    keep_weak: bool
    bleu: Bleu
    span_rows: int  # rows of a page that one span may run over
    max_reject_share: float
    max_record: int  # bytes of a row
    facts: Mapping[str, Any]
    borrowed: Tables | None = None  # of the dataset that has the same ids, whose provenance the records get

    @property
    def stage(self) -> str:
        return f"{self.dataset.name}/{self.split}"

    @property
    def metadata(self) -> dict[str, str]:
        """What the Parquet files of the table say of how it was made."""
        signature = self.facts["parameters"]["signature"]
        return {"signature": signature} if signature else {}

    @property
    def parts(self) -> int:
        return len(self.sources) if self.dataset.merge is None else bucket_count(self.sources)

    @property
    def output(self) -> str:
        return self.staging.output

    def staged(self, name: str) -> str:
        return self.staging.path(name)


class Ref(NamedTuple):
    """Where an evidence stands: part of the source, example in it, output, place in its set."""

    part: int
    example: int
    output: int
    place: int


class Request(NamedTuple):
    """One evidence to be found."""

    ref: Ref
    evidence: Evidence


class Found(NamedTuple):
    """What became of it. ``bleu`` is the best span's score, None where no text was compared.

    ``texts`` are evidence and span, where the score is close to the threshold.
    """

    ref: Ref
    finding: Finding
    bleu: float | None = None
    texts: tuple[str, str] | None = None
