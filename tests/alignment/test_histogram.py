"""The tally of BLEU scores: counts, and the same whatever the cut into parts."""

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


@given(st.lists(st.floats(0, 1), max_size=60), st.integers(1, 5))
def test_parts_add_up_to_the_whole(scores: list[float], parts: int) -> None:
    pieces = [Quality() for _ in range(parts)]
    whole = Quality()
    for number, score in enumerate(scores):
        for quality in (pieces[number % parts], whole):
            quality.add(score)
            quality.show(f"{number:03d}", "T", score, "e", "s")
    together = added([piece.summary() for piece in pieces]).summary()
    assert together["histogram"] == whole.summary()["histogram"]
    assert together["nearest"] == whole.summary()["nearest"]
    assert len(together["nearest"]) == min(NEAREST, len(scores))
