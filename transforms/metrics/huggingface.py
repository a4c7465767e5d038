"""KILT and MKQA as metrics of the convention of Hugging Face's ``evaluate``, which is not needed for it.

>>> KiltMetric().compute(
...     predictions=[{"id": "1", "output": [{"answer": "x"}]}], references=[{"id": "1", "output": [{"answer": "x"}]}]
... )["em"]
1.0
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from kiltetl.transforms.metrics import kilt, mkqa

Record: TypeAlias = Mapping[str, Any]


class _Metric:
    """Collects predictions and references by ``add`` and ``add_batch``; ``compute`` scores and forgets them."""

    name: str

    def __init__(self) -> None:
        self._predictions: list[Record] = []
        self._references: list[Record] = []

    def add(self, *, prediction: Record, reference: Record) -> None:
        self._predictions.append(prediction)
        self._references.append(reference)

    def add_batch(self, *, predictions: Iterable[Record], references: Iterable[Record]) -> None:
        self._predictions += predictions
        self._references += references

    def compute(
        self, *, predictions: Iterable[Record] | None = None, references: Iterable[Record] | None = None
    ) -> dict[str, float | None]:
        """The figures by name. Predictions and references are joined by id, in whatever order they come."""
        self.add_batch(predictions=predictions or (), references=references or ())
        given, self._predictions = self._predictions, []
        gold, self._references = self._references, []
        return self._score(given, gold)

    def _score(self, predictions: Sequence[Record], references: Sequence[Record]) -> dict[str, float | None]:
        raise NotImplementedError


class KiltMetric(_Metric):
    """KILT's figures, 0 to 1. See ``kiltetl.transforms.metrics.kilt.Protocol`` for the arguments."""

    name = "kilt"

    def __init__(
        self, *, ks: Sequence[int] = kilt.KS, rank_keys: Sequence[str] = kilt.RANK_KEYS, strict: bool = False
    ) -> None:
        super().__init__()
        self.protocol = kilt.Protocol(tuple(ks), tuple(rank_keys), strict)

    def _score(self, predictions: Sequence[Record], references: Sequence[Record]) -> dict[str, float | None]:
        protocol = self.protocol
        found = kilt.evaluate(
            references, predictions, ks=protocol.ks, rank_keys=protocol.rank_keys, strict=protocol.strict
        )
        return dict(found.metrics)


class MkqaMetric(_Metric):
    """MKQA's figures for one language, in percent; references are records of mkqa.jsonl.gz."""

    name = "mkqa"

    def __init__(self, language: str, *, strict: bool = False) -> None:
        super().__init__()
        self.language, self.strict = mkqa.language_of(language), strict

    def _score(self, predictions: Sequence[Record], references: Sequence[Record]) -> dict[str, float | None]:
        found = mkqa.evaluate(references, {self.language: predictions}, strict=self.strict)
        return dict(found.metrics[self.language])
