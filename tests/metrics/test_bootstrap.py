"""Intervals and p-values: their numbers, from draws that are written out."""

import math

import numpy as np
import pytest

from kiltetl.transforms.metrics import bootstrap
from kiltetl.transforms.metrics.bootstrap import Difference


def test_the_samples_are_the_draws_of_numpys_generator() -> None:
    """Published intervals depend on these numbers."""
    drawn = bootstrap.samples(lambda weights: weights.astype(float), 4, 3, seed=7)
    assert drawn.tolist() == [[0.0, 0.0, 2.0, 2.0], [1.0, 0.0, 1.0, 2.0], [1.0, 2.0, 0.0, 1.0]]
    assert (drawn.sum(axis=1) == 4).all()
    assert bootstrap.SEED == 12345
    default = bootstrap.samples(lambda weights: weights.astype(float), 50, 2)
    assert default.tolist() == bootstrap.samples(lambda weights: weights.astype(float), 50, 2, 12345).tolist()


@pytest.mark.parametrize(
    ("values", "confidence", "expected"),
    [
        (np.arange(101.0), 0.95, (2.5, 97.5)),
        (np.arange(101.0)[::-1], 0.9, (5.0, 95.0)),
        (np.arange(101.0), 0.5, (25.0, 75.0)),
        (np.array([1.0, 2.0]), 0.95, (1.025, 1.975)),
        (np.array([3.0]), 0.95, (3.0, 3.0)),
        (np.append(np.arange(101.0), [np.nan] * 50), 0.95, (2.5, 97.5)),
        (np.full(3, np.nan), 0.95, None),
        (np.zeros(0), 0.95, None),
    ],
)
def test_an_interval_leaves_out_as_much_on_either_side(
    values: bootstrap.Floats, confidence: float, expected: tuple[float, float] | None
) -> None:
    found = bootstrap.interval(values, confidence)
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-12))
    if confidence == 0.95:
        assert bootstrap.interval(values) == found


def test_the_p_value_counts_the_samples_as_far_from_their_mean_as_the_observed_from_0() -> None:
    values = np.array([-3.0, 0.0, 1.0, 2.0, 5.0])  # their mean is 1
    for observed, p_value in ((4.0, 3 / 6), (-4.0, 3 / 6), (4.1, 1 / 6), (1.0, 5 / 6), (0.9, 5 / 6), (0.0, 1.0)):
        found = bootstrap.difference(observed, values)
        assert found is not None
        assert (found.difference, found.p_value) == (observed, p_value)
        assert (found.low, found.high) == pytest.approx((-2.7, 4.7), abs=1e-12)
        assert bootstrap.difference(observed, np.append(values, math.nan)) == found
    found = bootstrap.difference(4.0, values, confidence=0.5)
    assert found == Difference(4.0, 0.0, 2.0, 3 / 6)


def test_rounding_errors_decide_nothing() -> None:
    """Two systems alike: the observed difference is a rounding error, and no sample differs less."""
    assert 0.1 + 0.2 - 0.3 > 0
    assert bootstrap.difference(0.1 + 0.2 - 0.3, np.zeros(3)) == Difference(0.1 + 0.2 - 0.3, 0.0, 0.0, 1.0)
