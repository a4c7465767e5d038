"""MKQA's figures of one language: the best threshold for No Answer, and what is right at it.

A prediction whose ``no_answer_prob`` lies above the threshold becomes No Answer. By default the
threshold is the released scorer's, even where that is odd; ``strict`` gives the sensible reading of
two points:

- no threshold lies between equal ``no_answer_prob``, so they are taken together (the scorer walks
  them one by one, in the order of the file);
- answering nothing at all is a choice at whatever scale ``no_answer_prob`` has: its threshold lies
  below the lowest value (the scorer starts from 0.0, so that its EM does not fit its F1 then).

Figures are percentages, 0 to 100, rounded to two decimals; one over nothing is None.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from kiltetl.schemas.records import MkqaScore
from kiltetl.transforms.metrics.bootstrap import Floats

BEST: Final = (
    "best_em",
    "best_f1",
    "best_answerable_em",
    "best_answerable_f1",
    "best_unanswerable_em",
    "best_f1_threshold",
)
PLAIN: Final = ("exact_match", "f1", "answerable_exact_match", "answerable_f1", "unanswerable_exact_match")


@dataclass(frozen=True)
class LanguageScores:
    """The scores of one language, as arrays over its examples in the order of the gold file, shape (n,).

    Attributes:
        f1, em: 0 to 1, without a threshold.
        probability: ``no_answer_prob``, any number.
        answerable, answered: whether there is an answer, and whether one was predicted.
        position: place in the prediction file, which decides between equal probabilities.
        notes: how often something was found that a reader should know of.
        extra: the ids of predictions that were left out.
    """

    ids: Sequence[str]
    predictions: Sequence[str]
    f1: Floats
    em: Floats
    probability: Floats
    answerable: npt.NDArray[np.bool_]
    answered: npt.NDArray[np.bool_]
    position: npt.NDArray[np.int64]
    strict: bool
    notes: Mapping[str, int] = field(default_factory=dict)
    extra: Sequence[str] = ()

    @classmethod
    def of(
        cls, rows: Sequence[MkqaScore], strict: bool, notes: Mapping[str, int], extra: Sequence[str]
    ) -> "LanguageScores":
        return cls(
            ids=[row.example_id for row in rows],
            predictions=[row.prediction for row in rows],
            f1=np.array([row.f1 for row in rows], np.float64),
            em=np.array([row.em for row in rows], np.float64),
            probability=np.array([row.no_answer_prob for row in rows], np.float64),
            answerable=np.array([row.is_answerable for row in rows], np.bool_),
            answered=np.array([row.prediction != "" for row in rows], np.bool_),
            position=np.array([row.position for row in rows], np.int64),
            strict=strict,
            notes=notes,
            extra=extra,
        )

    @cached_property
    def _walk(self) -> tuple[npt.NDArray[np.int64], Floats, npt.NDArray[np.bool_]]:
        """Order of the walk, the gain of each step in it, and after which steps a threshold can lie."""
        # among equal ones in strict mode any fixed order does that the file does not decide
        second = np.argsort(np.argsort(np.array(self.ids, dtype=object))) if self.strict else self.position
        order = np.lexsort((second, self.probability))
        gain = np.where(self.answerable, self.f1, np.where(self.answered, -1.0, 0.0))[order]
        ordered = self.probability[order]
        ends = np.append(ordered[1:] != ordered[:-1], True) if self.strict else np.ones(len(order), np.bool_)
        return order, gain, ends

    @property
    def nothing_threshold(self) -> float:
        """The threshold that stands for answering nothing: 0, or under strict one below all values."""
        lowest = float(self.probability.min(initial=math.inf))
        return lowest - 1.0 if self.strict and lowest <= 0 else 0.0

    def best(self, weights: npt.NDArray[np.int64] | None = None) -> tuple[float, float]:
        """(greatest sum of F1, threshold at which it is reached); example i counts ``weights[i]`` times."""
        order, gain, ends = self._walk
        unanswerable = ~self.answerable
        start = float(unanswerable.sum() if weights is None else weights @ unanswerable)
        # from the start upwards, in the same order of additions as the scorer's loop
        sums = np.cumsum(np.concatenate(([start], gain if weights is None else gain * weights[order])))
        sums[1:][~ends] = -math.inf
        top = int(np.argmax(sums))
        return float(sums[top]), self.nothing_threshold if top == 0 else float(self.probability[order[top - 1]])

    def at(self, scores: Floats, threshold: float) -> Floats:
        """Scores where predictions above the threshold become No Answer, right where there is none."""
        return np.where(self.probability > threshold, np.where(self.answerable, 0.0, 1.0), scores)

    @cached_property
    def threshold(self) -> float:
        return self.best()[1]

    def figures(self) -> dict[str, float | None]:
        """``BEST`` and ``PLAIN``, as the scorer rounds them."""
        count = len(self.ids)
        best, threshold = self.best()
        em, f1 = self.at(self.em, threshold), self.at(self.f1, threshold)
        values = (
            _mean(em),
            100.0 * best / count if count else None,
            _mean(em[self.answerable]),
            _mean(f1[self.answerable]),
            _mean(em[~self.answerable]),
            threshold,
            _mean(self.em),
            _mean(self.f1),
            _mean(self.em[self.answerable]),
            _mean(self.f1[self.answerable]),
            _mean(self.em[~self.answerable]),
        )
        return {
            name: None if value is None else round(value, 2)
            for name, value in zip((*BEST, *PLAIN), values, strict=True)
        }

    def sample_figures(self, weights: npt.NDArray[np.int64]) -> Floats:
        """``BEST`` without the threshold, in percent, of a sample that holds example i ``weights[i]`` times.

        The threshold is chosen anew in each sample, as it is in a file; NaN over nothing.
        """
        best, threshold = self.best(weights)
        em, f1 = self.at(self.em, threshold), self.at(self.f1, threshold)
        yes, no = weights * self.answerable, weights * ~self.answerable
        parts = (
            (weights @ em, weights.sum()),
            (best, weights.sum()),
            (yes @ em, yes.sum()),
            (yes @ f1, yes.sum()),
            (no @ em, no.sum()),
        )
        return np.array([100.0 * part / whole if whole else math.nan for part, whole in parts])

    def curve(self, points: int = 200) -> dict[str, list[float | None]]:
        """F1 in percent over thresholds, for the picture: ``threshold``, ``overall``, ``answerable``, ``unanswerable``.

        At most about ``points`` thresholds, at quantiles of the probabilities.
        """
        if not self.ids:
            return {"threshold": [], "overall": [], "answerable": [], "unanswerable": []}
        order = np.argsort(self.probability, kind="stable")
        ordered = self.probability[order]
        values = np.unique(ordered)
        if len(values) > points:
            values = values[np.unique(np.linspace(0, len(values) - 1, points).round().astype(np.int64))]
        kept = np.searchsorted(ordered, values, side="right")  # predictions at or below each threshold
        kept = np.concatenate(([0], kept))
        curves: dict[str, list[float | None]] = {"threshold": [self.nothing_threshold, *values.tolist()]}
        curves["threshold"][0] = min(self.nothing_threshold, float(values[0]))
        for name, among in (
            ("overall", np.ones(len(order), np.bool_)),
            ("answerable", self.answerable),
            ("unanswerable", ~self.answerable),
        ):
            total = int(among.sum())
            inside = among[order]
            answered = np.concatenate(([0.0], np.cumsum(self.f1[order] * inside)))
            refused = np.concatenate(([0.0], np.cumsum(inside & ~self.answerable[order]).astype(np.float64)))
            sums = answered[kept] + refused[-1] - refused[kept]
            curves[name] = (100.0 * sums / total).tolist() if total else [None] * len(kept)
        return curves

    def histogram(self, bins: int = 20) -> dict[str, list[float]]:
        """Numbers of answerable and unanswerable examples by ``no_answer_prob``, with the bins' ``edges``."""
        low, high = float(self.probability.min(initial=math.inf)), float(self.probability.max(initial=-math.inf))
        if not self.ids:
            return {"edges": [], "answerable": [], "unanswerable": []}
        edges = np.linspace(low, high if high > low else low + 1.0, bins + 1)
        return {
            "edges": edges.tolist(),
            "answerable": np.histogram(self.probability[self.answerable], edges)[0].tolist(),
            "unanswerable": np.histogram(self.probability[~self.answerable], edges)[0].tolist(),
        }


def _mean(scores: Floats) -> float | None:
    return 100.0 * math.fsum(scores.tolist()) / len(scores) if len(scores) else None
