"""What the ``metrics.json`` of all benchmarks have alike: how the figures were made, and how sure they are."""

import dataclasses
from typing import Any, Final

from kiltetl.schemas import VERSION
from kiltetl.transforms.metrics import bootstrap

NAMED_EXTRA: Final = 20  # ids of predictions left out that are named


def frame(benchmark: str, strict: bool, signature: str, number: int, seed: int) -> dict[str, Any]:
    """How the figures were made; ``number`` and ``seed`` are the bootstrap's, 0 for none."""
    made: dict[str, Any] = {
        "benchmark": benchmark,
        "mode": "strict" if strict else "official",
        "signature": signature + (f"|bootstrap:{number},seed:{seed}" if number else ""),
        "version": VERSION,
    }
    if number:
        made["bootstrap"] = {"samples": number, "seed": seed, "confidence": bootstrap.CONFIDENCE}
    return made


def interval(values: bootstrap.Floats, digits: int) -> list[float] | None:
    """The interval of a figure over its samples, rounded."""
    pair = bootstrap.interval(values)
    return None if pair is None else [round(value, digits) for value in pair]


def difference(
    observed: float | None, other: float | None, values: bootstrap.Floats | None, digits: int
) -> dict[str, float | None] | None:
    """One system against another: the other's figure, the difference and, with samples, how sure it is.

    Args:
        values: the difference in each sample, shape (samples,).
    """
    if observed is None or other is None:
        return None
    found: dict[str, float | None] = {"other": other, "difference": round(observed - other, 12)}
    if values is not None:
        said = bootstrap.difference(observed - other, values)
        if said is not None:
            rounded = {name: round(value, digits) for name, value in dataclasses.asdict(said).items()}
            found |= {"low": rounded["low"], "high": rounded["high"], "p_value": round(said.p_value, 6)}
    return found
