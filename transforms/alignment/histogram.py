"""How well a dataset's evidence was found: the BLEU histogram, and the examples around the threshold."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from kiltetl.transforms.alignment.bleu import THRESHOLD

BINS = 20  # of equal width; the last one includes 1.0
NEAREST = 20  # examples kept, those whose score is closest to the threshold
NEAR = 0.15  # how close a score must be to be looked at


@dataclass
class Quality:
    """Counts of best-span scores; adds up over parts, in any order and grouping, to the same.

    The sum of the scores is a fraction, since sums of floats depend on their order.
    """

    histogram: list[int] = field(default_factory=lambda: [0] * BINS)
    total: Fraction = Fraction(0)
    exact: int = 0
    unfound: dict[str, int] = field(default_factory=dict)
    nearest: list[dict[str, Any]] = field(default_factory=list)

    def add(self, score: float) -> None:
        """Count the best span's score of one evidence, 0 to 1."""
        self.histogram[min(BINS - 1, int(score * BINS))] += 1
        self.total += Fraction(score)
        self.exact += score == 1.0

    def add_unfound(self, reason: str) -> None:
        """Count an evidence whose text was compared with nothing."""
        self.unfound[reason] = self.unfound.get(reason, 0) + 1

    def show(self, example_id: str, title: str, score: float, evidence: str, span: str) -> None:
        """Keep an evidence and its span for a person to look at, if few are closer to the threshold."""
        shown = {"id": example_id, "title": title, "bleu": score, "evidence": evidence, "span": span}
        self.nearest = _closest([*self.nearest, shown])

    def summary(self) -> dict[str, Any]:
        """Plain values for a manifest; ``sum`` is a float, rounded once."""
        return {
            "histogram": self.histogram,
            "sum": float(self.total),
            "count": sum(self.histogram),
            "exact": self.exact,
            "below_threshold": sum(self.histogram[: int(BINS * THRESHOLD)]),
            "unfound": dict(sorted(self.unfound.items())),
            "nearest": self.nearest,
        }

    def marker(self) -> dict[str, Any]:
        """Plain values for the marker of a part: the summary, with the exact ``sum`` as text (``"49/25"``)."""
        return {**self.summary(), "sum": str(self.total)}


def added(markers: Iterable[Mapping[str, Any]]) -> Quality:
    """The quality of several parts, from their markers."""
    whole = Quality()
    for marker in markers:
        whole.histogram = [mine + theirs for mine, theirs in zip(whole.histogram, marker["histogram"], strict=True)]
        whole.total += Fraction(marker["sum"])
        whole.exact += marker["exact"]
        for reason, count in marker["unfound"].items():
            whole.unfound[reason] = whole.unfound.get(reason, 0) + count
        whole.nearest = _closest([*whole.nearest, *marker["nearest"]])
    return whole


def _closest(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The closest to the threshold, from low to high scores."""

    def distance(one: dict[str, Any]) -> tuple[float, str, str]:
        return abs(one["bleu"] - THRESHOLD), one["id"], one["evidence"]

    kept = sorted(shown, key=distance)[:NEAREST]
    return sorted(kept, key=lambda one: (one["bleu"], one["id"], one["evidence"]))
