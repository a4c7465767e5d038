"""The tally of BLEU scores: counts, and the same whatever the cut into parts."""

import json
import math
import random
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from kiltetl.transforms.alignment.histogram import NEAREST, Quality, added


def test_counts_and_the_closest_to_the_threshold() -> None:
    quality = Quality()
    for score in (0.0, 0.49, 0.5, 0.93, 1.0, 1.0):
        quality.add(score)
    quality.add_unfound("page-not-in-knowledge-source")
    quality.show("a", "Foo", 0.49, "evidence", "span")
    quality.show("b", "Foo", 0.51, "evidence", "span")
    found = quality.summary()
    assert {i: count for i, count in enumerate(found["histogram"]) if count} == {0: 1, 9: 1, 10: 1, 18: 1, 19: 2}
    assert (found["count"], found["exact"], found["below_threshold"], found["sum"]) == (6, 2, 2, 3.92)
    assert found["unfound"] == {"page-not-in-knowledge-source": 1}
    assert [one["id"] for one in found["nearest"]] == ["a", "b"]


@given(st.lists(st.floats(0, 1), max_size=60), st.integers(1, 5), st.randoms(use_true_random=False))
def test_parts_add_up_to_the_whole_in_any_order_and_grouping(
    scores: list[float], parts: int, choose: random.Random
) -> None:
    pieces = [Quality() for _ in range(parts)]
    whole = Quality()
    for number, score in enumerate(scores):
        for quality in (pieces[number % parts], whole):
            quality.add(score)
            quality.add_unfound(f"reason {number % 3}")
            quality.show(f"{number:03d}", "T", score, "e", "s")
    markers = [json.loads(json.dumps(piece.marker())) for piece in pieces]
    choose.shuffle(markers)
    cut = choose.randint(0, parts)
    halves = [added(markers[:cut]).marker(), added(markers[cut:]).marker()]
    for together in (added(markers), added(halves)):
        assert together.marker() == whole.marker()
        assert together.summary() == whole.summary()
    assert whole.summary()["sum"] == math.fsum(scores)
    assert whole.marker()["sum"] == str(sum(map(Fraction, scores)))
    assert len(whole.nearest) == min(NEAREST, len(scores))


def test_a_sum_whose_floats_depend_on_their_order() -> None:
    scores = [0.1] * 10
    assert sum(scores) == 0.9999999999999999
    parts = [Quality(), Quality()]
    for number, score in enumerate(scores):
        parts[number < 3].add(score)
    assert added(part.marker() for part in parts).summary()["sum"] == 1.0


def test_of_equally_close_examples_the_first_by_id_and_evidence_stay() -> None:
    """Whatever the order in which they come: 20 of them, from low to high scores."""
    quality = Quality()
    for number in reversed(range(30)):
        quality.show(f"{number:02d}", "T", 0.5 + (number % 2) / 8, "e", "s")
    quality.show("00", "T", 0.5, "d", "s")
    found = [(one["bleu"], one["id"], one["evidence"]) for one in quality.nearest]
    evens = [(0.5, f"{number:02d}", "e") for number in range(0, 30, 2)]
    odds = [(0.625, f"{number:02d}", "e") for number in range(1, 8, 2)]
    assert found == [(0.5, "00", "d"), *evens, *odds]
    quality = Quality()
    for number in range(30):
        quality.show(f"{number:02d}", "T", 0.5, f"{99 - number}", "s")
    assert [one["id"] for one in quality.nearest] == [f"{number:02d}" for number in range(NEAREST)]
