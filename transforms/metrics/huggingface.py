"""KILT and MKQA as metrics of the convention of Hugging Face's ``evaluate``, which is not needed for it."""

from collections.abc import Iterable, Sequence

from kiltetl.transforms.metrics.kilt import KS, RANK_KEYS, Protocol
from kiltetl.transforms.metrics.kilt_scorer import evaluate_kilt
from kiltetl.transforms.metrics.mkqa import language_of
from kiltetl.transforms.metrics.mkqa_scorer import evaluate_mkqa
from kiltetl.transforms.metrics.scorer import Record


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
    """KILT's figures, 0 to 1, in the convention of Hugging Face's ``evaluate``.

    >>> metric = KiltMetric(ks=[1, 5])
    >>> metric.add(
    ...     prediction={"id": "1", "output": [{"answer": "Louvre", "provenance": [{"wikipedia_id": "7"}]}]},
    ...     reference={"id": "1", "output": [{"answer": "The Louvre", "provenance": [{"wikipedia_id": "7"}]}]},
    ... )
    >>> figures = metric.compute()
    >>> figures["em"], figures["accuracy"], figures["precision@5"]
    (1.0, 0.0, 0.2)

    Args:
        ks, rank_keys, strict: see ``kiltetl.transforms.metrics.kilt.Protocol``.
    """

    name = "kilt"

    def __init__(self, *, ks: Sequence[int] = KS, rank_keys: Sequence[str] = RANK_KEYS, strict: bool = False) -> None:
        super().__init__()
        self.protocol = Protocol(tuple(ks), tuple(rank_keys), strict)

    def _score(self, predictions: Sequence[Record], references: Sequence[Record]) -> dict[str, float | None]:
        protocol = self.protocol
        found = evaluate_kilt(
            references, predictions, ks=protocol.ks, rank_keys=protocol.rank_keys, strict=protocol.strict
        )
        return dict(found.metrics)


class MkqaMetric(_Metric):
    """MKQA's figures for one language, in percent, in the convention of Hugging Face's ``evaluate``.

    >>> metric = MkqaMetric("de")
    >>> gold = {"example_id": 1, "answers": {"de": [{"text": "die Katze", "aliases": ["Katze"]}]}}
    >>> metric.compute(predictions=[{"example_id": 1, "prediction": "Eine Katze"}], references=[gold])["best_em"]
    100.0

    Args:
        language: its code, as MKQA or as the web spells it; references are records of mkqa.jsonl.gz.
        strict: see ``kiltetl.transforms.metrics.thresholds``.
    """

    name = "mkqa"

    def __init__(self, language: str, *, strict: bool = False) -> None:
        super().__init__()
        self.language, self.strict = language_of(language), strict

    def _score(self, predictions: Sequence[Record], references: Sequence[Record]) -> dict[str, float | None]:
        found = evaluate_mkqa(references, {self.language: predictions}, strict=self.strict)
        return dict(found.metrics[self.language])
