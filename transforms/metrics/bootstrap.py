"""How sure a figure is: the bootstrap over examples, for one system or for two on the same examples.

A sample draws as many examples as there are, with replacement, and counts how often each came; a
figure of the sample is found from these counts. The draws depend on the seed and the number of
examples alone, so that two systems, or the languages of MKQA, are seen on the same samples.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

SEED: Final = 12345
CONFIDENCE: Final = 0.95

Floats: TypeAlias = npt.NDArray[np.float64]
Statistic: TypeAlias = Callable[[npt.NDArray[np.int64]], Floats]


def samples(statistic: Statistic, count: int, number: int, seed: int = SEED) -> Floats:
    """The figures of ``number`` samples of ``count`` examples, shape (number, figures).

    Args:
        statistic: figures, shape (figures,), of a sample that holds example i ``weights[i]`` times;
            NaN where a figure has nothing to be taken over.
    """
    random = np.random.default_rng(seed)
    return np.array([statistic(_weights(random, count)) for _ in range(number)])


def _weights(random: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
    return np.bincount(random.integers(0, count, count), minlength=count)


def interval(values: Floats, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """The percentile interval of a figure over its samples, shape (number,); None if it has no value."""
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    tail = 50 * (1 - confidence)
    low, high = np.percentile(known, [tail, 100 - tail])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of one system less that of another, with its interval and p-value."""

    difference: float
    low: float
    high: float
    p_value: float


def difference(observed: float, values: Floats, confidence: float = CONFIDENCE) -> Difference | None:
    """What is to be said of a difference; None if no sample has a value.

    The p-value is two-sided, as sacrebleu's paired bootstrap: the share of samples whose difference
    lies as far from their mean as the observed one from 0, itself counted in.

    Args:
        observed: the difference on the examples themselves.
        values: the difference in each sample, shape (number,).
    """
    known = values[~np.isnan(values)]
    bounds = interval(known, confidence)
    if bounds is None:
        return None
    # the allowance keeps rounding errors from deciding where all samples differ alike
    as_far = np.abs(known - known.mean()) >= abs(observed) - 1e-12
    return Difference(observed, *bounds, (float(as_far.sum()) + 1) / (len(known) + 1))
