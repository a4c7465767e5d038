"""KILT's figures of files: the mean over the gold records of a dataset; ``evaluate_kilt`` and the ``Scorer``.

How one record is scored, and what ``strict`` means, says ``kiltetl.transforms.metrics.kilt``.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kiltetl.schemas.arrow import columns_of
from kiltetl.schemas.records import KiltScore
from kiltetl.transforms.metrics import bootstrap
from kiltetl.transforms.metrics.kilt import KS, RANK_KEYS, Gold, Protocol, read_gold, read_id, score_record
from kiltetl.transforms.metrics.scorer import GROUP, Record, read_golds, score_name
from kiltetl.transforms.metrics.summary import NAMED_EXTRA, difference, frame, interval

_DIGITS: Final = 6  # of the bounds of an interval


@dataclass(frozen=True)
class Evaluation:
    """What the predictions for one dataset score.

    Attributes:
        rows: the records' scores, in the order of the gold file.
        metrics: the mean of each figure, 0 to 1; 0 where there is no record.
        notes: how often something was found that a reader should know of.
        extra: the ids of predictions that were left out.
    """

    protocol: Protocol
    rows: Sequence[KiltScore]
    notes: Mapping[str, int] = field(default_factory=dict)
    extra: Sequence[str] = ()

    @cached_property
    def scores(self) -> npt.NDArray[np.float64]:
        """Shape (records, figures), the figures as ``protocol.names``."""
        return np.array([row.scores for row in self.rows], np.float64).reshape(len(self.rows), len(self.protocol.names))

    @cached_property
    def metrics(self) -> dict[str, float]:
        # fsum is exact, so that the order of the records does not tell
        count = max(len(self.rows), 1)
        columns = self.scores.T.tolist()
        return {name: math.fsum(column) / count for name, column in zip(self.protocol.names, columns, strict=True)}


Evaluations: TypeAlias = Mapping[str, Evaluation]  # by dataset


def evaluate_kilt(
    gold: Iterable[Record],
    predictions: Iterable[Record],
    *,
    ks: Sequence[int] = KS,
    rank_keys: Sequence[str] = RANK_KEYS,
    strict: bool = False,
) -> Evaluation:
    """Score predictions for one dataset of KILT; each gold record must have one, in any order.

    >>> gold = [
    ...     {"id": "1", "output": [{"answer": "The Louvre", "provenance": [{"wikipedia_id": "7"}]}]},
    ...     {"id": "2", "output": [{"answer": "1889", "provenance": [{"wikipedia_id": "8"}]}]},
    ... ]
    >>> predictions = [
    ...     {"id": "2", "output": [{"answer": "1887", "provenance": [{"wikipedia_id": "8"}]}]},
    ...     {"id": "1", "output": [{"answer": "Louvre", "provenance": [{"wikipedia_id": "7"}]}]},
    ... ]
    >>> metrics = evaluate_kilt(gold, predictions).metrics
    >>> metrics["em"], metrics["Rprec"], metrics["KILT-em"]
    (0.5, 1.0, 0.5)

    Args:
        gold, predictions: records, read once each; only what the gold records say is kept.
        ks, rank_keys, strict: see ``Protocol``.

    Raises:
        EvaluationError: ids that are missing or not unique, more than one output, another format.
    """
    scorer = KiltScorer(Protocol(tuple(ks), tuple(rank_keys), strict))
    return score_name(scorer, "", read_golds(scorer, gold, ("",))[""], predictions)


@dataclass(frozen=True)
class KiltScorer:
    """KILT's ``Scorer``; a name is a dataset.

    Attributes:
        leading: the metric by which each dataset is ranked; a dataset that is not there is ranked by none.
    """

    protocol: Protocol = field(default_factory=Protocol)
    leading: Mapping[str, str | None] = field(default_factory=dict)
    benchmark: ClassVar[str] = "kilt"
    score: ClassVar[type] = KiltScore

    @property
    def strict(self) -> bool:
        return self.protocol.strict

    def about(self, name: str) -> str:
        return ""

    def read_gold(
        self, record: Any, number: int, names: Collection[str]
    ) -> Iterator[tuple[str, str, Gold, Sequence[str]]]:
        (name,) = names
        id = read_id(record, "gold", number)
        gold = read_gold(record, id, self.protocol)
        yield name, id, gold, gold.notes

    def read_prediction(self, record: Any, number: int) -> tuple[str, Record, Sequence[str]]:
        return read_id(record, "prediction", number), record, ()

    def score_one(
        self, name: str, gold: Gold, prediction: Record, gold_position: int, position: int
    ) -> tuple[KiltScore, Sequence[str]]:
        return score_record(gold, prediction, self.protocol, gold_position)

    def gather(
        self, name: str, rows: Sequence[KiltScore], notes: Mapping[str, int], extra: Sequence[str]
    ) -> Evaluation:
        return Evaluation(self.protocol, rows, notes, extra)

    def evaluation(self, parts: Evaluations) -> Evaluations:
        return parts

    def summary(self, ours: Evaluations, other: Evaluations | None, number: int, seed: int) -> dict[str, Any]:
        signature = self.protocol.signature
        datasets = {
            name: self._dataset(name, of, None if other is None else other[name], number, seed)
            for name, of in ours.items()
        }
        return frame(self.benchmark, self.strict, signature, number, seed) | {"datasets": datasets}

    def _dataset(self, name: str, of: Evaluation, other: Evaluation | None, number: int, seed: int) -> dict[str, Any]:
        """What is said of one dataset; figures from 0 to 1."""
        entry: dict[str, Any] = {
            "examples": len(of.rows),
            "leading_metric": self.leading.get(name),
            "metrics": of.metrics,
            "notes": dict(of.notes),
            "extra_ids": list(of.extra[:NAMED_EXTRA]),
        }
        drawn = drawn_other = None
        if number and of.rows:
            drawn = bootstrap.samples(statistic(of), len(of.rows), number, seed)
            entry["intervals"] = {
                figure: interval(drawn[:, i], _DIGITS) for i, figure in enumerate(self.protocol.names)
            }
            if other is not None:
                drawn_other = bootstrap.samples(statistic(other), len(of.rows), number, seed)
        if other is not None:
            entry["comparison"] = {
                figure: difference(
                    of.metrics[figure],
                    other.metrics[figure],
                    None if drawn is None or drawn_other is None else drawn[:, i] - drawn_other[:, i],
                    _DIGITS,
                )
                for i, figure in enumerate(self.protocol.names)
            }
        return entry

    def schema(self) -> pa.Schema:
        """The columns of KiltScore after ``dataset``, each figure a column of its own."""
        fields = [pa.field("dataset", pa.string(), False, {"description": "Name of the dataset."})]
        fields += [column.field for column in columns_of(KiltScore) if column.name != "scores"]
        described = {"description": "A figure of this example, 0 to 1."}
        return pa.schema([*fields, *(pa.field(name, pa.float64(), False, described) for name in self.protocol.names)])

    def tables(self, evaluation: Evaluations) -> Iterator[pa.Table]:
        schema = self.schema()
        plain = [column for column in columns_of(KiltScore) if column.name != "scores"]
        for dataset, of in evaluation.items():
            left = iter(of.rows)
            while rows := list(islice(left, GROUP)):
                columns: list[Sequence[Any]] = [[dataset] * len(rows)]
                columns += [[column.get(row) for row in rows] for column in plain]
                columns += zip(*(row.scores for row in rows), strict=True)
                arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
                yield pa.table(arrays, schema=schema)


def statistic(evaluation: Evaluation) -> bootstrap.Statistic:
    """The figures, as ``protocol.names``, of a sample that holds record i ``weights[i]`` times."""
    scores, count = evaluation.scores, len(evaluation.rows)
    return lambda weights: weights @ scores / count


# --------------------------------------------------------------------------------------------
# What the scores depend on


def by_answer_length(evaluation: Evaluation, name: str) -> Iterator[tuple[str, int, float]]:
    """(words of the shortest gold answer, records, mean of a figure) for each of some classes."""
    classes = ((1, 1), (2, 2), (3, 3), (4, 5), (6, 10), (11, 20), (21, 50), (51, None))
    return _by_class(evaluation, name, classes, [row.answer_words for row in evaluation.rows])


def by_evidence_size(evaluation: Evaluation, name: str) -> Iterator[tuple[str, int, float]]:
    """(pages of the smallest evidence set, records, mean of a figure) for each of some classes."""
    classes = ((1, 1), (2, 2), (3, 3), (4, 4), (5, None))
    return _by_class(evaluation, name, classes, [row.evidence_pages for row in evaluation.rows])


def _by_class(
    evaluation: Evaluation, name: str, classes: Sequence[tuple[int, int | None]], sizes: Sequence[int | None]
) -> Iterator[tuple[str, int, float]]:
    column = evaluation.scores[:, evaluation.protocol.names.index(name)]
    for low, high in classes:
        within = [
            value
            for value, size in zip(column.tolist(), sizes, strict=True)
            if size is not None and low <= size and (high is None or size <= high)
        ]
        if within:
            label = f"{low}" if low == high else f"{low}+" if high is None else f"{low}–{high}"
            yield label, len(within), math.fsum(within) / len(within)
    rest = [value for value, size in zip(column.tolist(), sizes, strict=True) if size is None]
    if rest:
        yield "none", len(rest), math.fsum(rest) / len(rest)
