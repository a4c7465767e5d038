"""KILT's figures against the released scorer's, its own tests' values, the cases of its users, and laws."""

import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kiltetl.schemas.errors import EvaluationError
from kiltetl.transforms.metrics import bootstrap, kilt
from kiltetl.transforms.metrics.huggingface import KiltMetric
from kiltetl.transforms.metrics.kilt_scorer import evaluate_kilt as evaluate
from kiltetl.transforms.metrics.kilt_scorer import statistic
from kiltetl.transforms.metrics.scorer import EXTRA
from kiltetl.transforms.metrics.text import common_subsequence, rouge_l, squad_normal, token_f1


def pages(*ids: Any) -> list[dict[str, Any]]:
    return [{"wikipedia_id": id} for id in ids]


def gold(*outputs: dict[str, Any], id: Any = "1", **more: Any) -> dict[str, Any]:
    return {"id": id, "output": list(outputs), **more}


def guess(answer: Any = "x", provenance: Any = (), id: Any = "1") -> dict[str, Any]:
    return {"id": id, "output": [{"answer": answer, "provenance": list(provenance)}]}


def metrics(one_gold: dict[str, Any], one_guess: dict[str, Any], **options: Any) -> dict[str, float]:
    return evaluate([one_gold], [one_guess], **options).metrics


# --------------------------------------------------------------------------------------------
# Published figures


@pytest.mark.parametrize("case", ["case1", "case2", "case3"])
def test_every_figure_of_the_released_scorers(shared: Path, case: str) -> None:
    folder = shared / "oracle" / "kilt_eval" / case
    golds, guesses = (
        [json.loads(line) for line in (folder / name).read_text().splitlines()]
        for name in ("gold.jsonl", "guess.jsonl")
    )
    compared = 0
    for what, expected in json.loads((folder / "expected.json").read_text()).items():
        keys = what.removeprefix("retrieval:").split("+") if what.startswith("retrieval:") else ["wikipedia_id"]
        found = evaluate(golds, guesses, rank_keys=keys).metrics
        if what == "downstream_and_kilt":
            expected = expected["downstream"] | expected["kilt"] | expected["retrieval"]
        assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-9, rel=0)
        compared += len(expected)
    assert compared == 10 + 3 * 24


def test_the_values_that_the_released_tests_expect() -> None:
    """Records without ``input``, on which the released tests fail, with the figures that they expect."""
    golds = [gold({"answer": text}, id=i) for i, text in enumerate(("x", "the Louvre", "one two three"))]
    guesses = [guess("x", id=0), guess("Louvre", id=1), guess("two", id=2)]
    found = evaluate(golds, guesses).metrics
    assert found["accuracy"] == pytest.approx(1 / 3, abs=1e-12)
    assert found["em"] == pytest.approx(2 / 3, abs=1e-12)
    assert found["f1"] == pytest.approx(0.8333333333333334, abs=1e-12)
    assert found["rougel"] == pytest.approx(0.7222222178240741, abs=1e-12)


@pytest.mark.parametrize(
    ("prediction", "answer", "em", "f1", "rouge"),
    [
        ("the cat", "The Cat!", 1.0, 1.0, 0.0),
        ("a b c", "b c", 1.0, 1.0, 0.7999999952),
        ("one two", "two three", 0.0, 0.5, 0.49999999500000003),
    ],
)
def test_a_pair_of_texts(prediction: str, answer: str, em: float, f1: float, rouge: float) -> None:
    found = metrics(gold({"answer": answer}), guess(prediction))
    assert found["em"] == em
    assert found["f1"] == pytest.approx(f1)
    assert found["rougel"] == pytest.approx(rouge, abs=1e-9)


# --------------------------------------------------------------------------------------------
# ROUGE-L


@pytest.mark.parametrize(
    ("prediction", "answer", "expected"),
    [
        ("the the the", "the", 0.999999995),
        ("The cat.", "the cat", 0.5),
        ("a b c d", "d c b a", 0.25),
        ("这是苹果", "这是苹果", 0.999999995),
        (".", "x", 0.0),
        ("   ", "x", 0.0),
        ("", "x", 0.0),
        ("x", "...", 0.0),
    ],
)
def test_rouge_of_known_pairs(prediction: str, answer: str, expected: float) -> None:
    assert rouge_l(prediction, answer) == pytest.approx(expected, abs=1e-8)


def _package_rouge(prediction: str, answer: str) -> float:
    rouge = pytest.importorskip("rouge")
    try:
        return float(rouge.Rouge().get_scores(prediction, answer, avg=True)["rouge-l"]["f"])
    except ValueError:
        return 0.0


def test_rouge_equals_the_package() -> None:
    pytest.importorskip("rouge")
    choose = random.Random(20190801)
    for _ in range(1500):
        words = [chr(97 + i) for i in range(choose.choice((2, 4, 8, 30)))]
        texts = [
            "".join(choose.choice(words) + choose.choice((" ", " ", " ", "  ", ".", ". ")) for _ in range(length))
            for length in (choose.randrange(30), choose.randrange(30))
        ]
        assert rouge_l(*texts) == pytest.approx(_package_rouge(*texts), abs=1e-12), texts


def test_rouge_equals_the_package_on_longer_texts() -> None:
    """300 words, below the package's limit of recursion: the trace crosses blocks of rows."""
    pytest.importorskip("rouge")
    choose = random.Random(5)
    words = [f"w{i}" for i in range(40)]
    for _ in range(3):
        texts = [" ".join(choose.choices(words, k=300)) for _ in range(2)]
        assert rouge_l(*texts) == pytest.approx(_package_rouge(*texts), abs=1e-12)


def test_rouge_of_texts_beyond_the_packages_limit() -> None:
    choose = random.Random(6)
    words = [f"w{i}" for i in range(2000)]
    x, y = (choose.choices(words, k=5000) for _ in range(2))
    assert 0 < rouge_l(" ".join(x), " ".join(y)) < 1
    assert rouge_l(" ".join(x), " ".join(x)) == pytest.approx(0.999999995, abs=1e-9)
    found = common_subsequence(x, y)
    table = np.zeros(len(y) + 1, np.int64)
    codes = np.array([int(word[1:]) for word in y])
    for word in x:  # the usual recurrence, a row at a time
        equal = np.append(0, table[:-1] + (codes == int(word[1:])))
        table = np.maximum.accumulate(np.maximum(table, equal))
    assert len(found) == table[-1]
    for sequence in (x, y):
        rest = iter(sequence)
        assert all(word in rest for word in reversed(found))


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
def test_the_subsequence_is_that_of_the_plain_trace(x: list[str], y: list[str]) -> None:
    lengths = [[0] * (len(y) + 1) for _ in range(len(x) + 1)]
    for i, one in enumerate(x, 1):
        for j, other in enumerate(y, 1):
            same = lengths[i - 1][j - 1] + 1
            lengths[i][j] = same if one == other else max(lengths[i - 1][j], lengths[i][j - 1])
    expected, i, j = [], len(x), len(y)
    while i and j:
        if x[i - 1] == y[j - 1]:
            expected.append(x[i - 1])
            i, j = i - 1, j - 1
        elif lengths[i - 1][j] > lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    assert common_subsequence(x, y) == expected


# --------------------------------------------------------------------------------------------
# Normal form


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("U.S.A.", "usa"),
        ("co-operate", "cooperate"),
        ("“x”", "“x”"),
        ("1999–2001", "1999–2001"),
        ("An  Apple.", "apple"),
        ("The The", ""),
        ("the–x", "–x"),  # a word boundary stands at the dash
        ("a\u0301b the", "\u0301b"),  # and between a letter and its mark
        ("!!!", ""),
    ],
)
def test_normal_form(text: str, expected: str) -> None:
    assert squad_normal(text) == expected


@given(st.text())
def test_the_normal_form_is_that_of_squad(text: str) -> None:
    import re
    import string

    bare = "".join(sign for sign in text.lower() if sign not in set(string.punctuation))
    assert squad_normal(text) == " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_token_f1_is_symmetric_and_in_range(x: list[str], y: list[str]) -> None:
    assert token_f1(x, y) == pytest.approx(token_f1(y, x))
    assert 0 <= token_f1(x, y) <= 1
    assert token_f1(x, x) == (1.0 if x else 0.0)


@given(st.lists(st.sampled_from("abcde"), max_size=60), st.lists(st.sampled_from("abcdefg"), max_size=60))
def test_token_f1_counts_a_token_as_often_as_both_have_it(x: list[str], y: list[str]) -> None:
    same = sum((Counter(x) & Counter(y)).values())
    assert token_f1(x, y) == pytest.approx(2 * same / (len(x) + len(y)) if same else 0.0)


@pytest.mark.parametrize(
    ("prediction", "gold", "f1"),
    [
        ("a a b", "a a c", 2 / 3),
        ("a a", "a a a", 4 / 5),
        ("a b", "b c", 1 / 2),
        ("a", "b", 0.0),
        ("a a b " * 10, "a c c " * 10, 1 / 3),
        ("a " * 30, "a b " * 15, 1 / 2),
    ],
)
def test_token_f1_of_repeated_tokens(prediction: str, gold: str, f1: float) -> None:
    """Distinct ones, few and many: each is counted in its own way."""
    assert token_f1(prediction.split(), gold.split()) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("ranked", "sets", "expected"),
    [
        (("x", "a"), [("a",)], 0.0),
        (("a", "x"), [("a",)], 1.0),
        (("a", "x", "b"), [("a", "b")], 0.5),
        (("a", "x", "b"), [("a", "b"), ("b",), ("a",)], 1.0),
        (("a",), [("a", "b", "c")], 1 / 3),
        ((), [("a",)], 0.0),
        (("a",), [(), None], 0.0),
    ],
)
def test_r_precision(ranked: tuple[str, ...], sets: list[tuple[str, ...] | None], expected: float) -> None:
    assert kilt.r_precision(ranked, sets) == pytest.approx(expected)


def test_what_a_record_says_beside_its_scores() -> None:
    record = gold(
        {"answer": "three words here", "provenance": pages("1", "2", "3")},
        {"answer": "two words", "provenance": pages("4", "5")},
    )
    (row,) = evaluate([record], [guess("x", pages("7", "8", "7"))]).rows
    assert (row.answer_words, row.evidence_pages, row.predicted_pages, row.prediction) == (2, 2, 2, "x")
    (row,) = evaluate([{"id": "1", "output": [{"provenance": []}]}], [guess(" x ")]).rows
    assert (row.answer_words, row.evidence_pages, row.predicted_pages, row.prediction) == (None, None, 0, "x")


def test_a_page_may_be_called_minus_one() -> None:
    """-1 is a sentinel of paragraphs and offsets, not of pages."""
    found = metrics(gold({"answer": "x", "provenance": pages("-1")}), guess("x", pages("-1")), strict=True)
    assert found["Rprec"] == 1.0


# --------------------------------------------------------------------------------------------
# What users met


def test_an_empty_provenance_is_a_set_officially_and_none_under_strict() -> None:
    one = gold({"answer": "x", "provenance": pages("7")}, {"answer": "y", "provenance": []})
    other = gold({"answer": "x", "provenance": pages("7")}, {"answer": "y"})
    found = metrics(one, guess(provenance=pages("7")))
    assert (found["recall@5"], found["Rprec"]) == (0.5, 1.0)
    assert metrics(one, guess(provenance=pages("7")), strict=True)["recall@5"] == 1.0
    assert metrics(other, guess(provenance=pages("7")))["recall@5"] == 1.0


@pytest.mark.parametrize("answer", [".", "   ", ""])
def test_an_answer_of_nothing_scores_0_and_retrieval_still_counts(answer: str) -> None:
    found = metrics(gold({"answer": "x", "provenance": pages(7)}), guess(answer, pages("7 ")))
    assert [found[name] for name in ("accuracy", "em", "f1", "rougel", "KILT-f1")] == [0.0] * 5
    assert found["Rprec"] == 1.0


def test_an_answer_alone_and_a_provenance_alone_are_two_outputs() -> None:
    """Case F13."""
    one = gold({"answer": "because"}, {"provenance": [{"wikipedia_id": "7", "title": "Foo"}]})
    found = metrics(one, guess("because", pages("7")))
    assert (found["Rprec"], found["em"], found["KILT-em"], found["recall@5"]) == (1.0, 1.0, 1.0, 1.0)
    assert metrics(one, guess("because", pages("8")))["Rprec"] == 0.0


def test_predicted_pages_are_made_unique() -> None:
    found = metrics(gold({"provenance": pages("7")}), guess(provenance=pages("1", 1, "1 ", "1", "1", "7")))
    assert (found["recall@5"], found["precision@5"], found["precision@1"]) == (1.0, 0.2, 0.0)


def test_null_ids_match_officially_and_nothing_under_strict() -> None:
    one, other = gold({"answer": "x", "provenance": pages(None)}), guess("x", pages(None))
    found = evaluate([one], [other])
    assert (found.metrics["Rprec"], found.metrics["KILT-accuracy"]) == (1.0, 1.0)
    assert found.notes[kilt.NULL_PAGE] == 2
    strict = metrics(one, other, strict=True)
    assert (strict["Rprec"], strict["KILT-accuracy"], strict["accuracy"]) == (0.0, 0.0, 1.0)


def test_records_are_joined_by_id() -> None:
    golds = [gold({"answer": "a"}, id="1"), gold({"answer": "b"}, id="2")]
    one, two, nine = guess("a", id=1), guess("b", id=" 2"), guess("c", id=9)
    assert evaluate(golds, [two, one]).metrics == evaluate(golds, [one, two]).metrics
    assert evaluate(golds, [one, two]).metrics["accuracy"] == 1.0
    extra = evaluate(golds, [one, two, nine])
    assert (extra.metrics["accuracy"], list(extra.extra), extra.notes[EXTRA]) == (1.0, ["9"], 1)
    with pytest.raises(EvaluationError, match="no prediction for id '2'"):
        evaluate(golds, [one])
    with pytest.raises(EvaluationError, match="more than one prediction for id '1'"):
        evaluate(golds, [one, two, guess("a", id="1 ")])
    with pytest.raises(EvaluationError, match="gold ids are not unique for id '2'"):
        evaluate([*golds, golds[1]], [one, two])
    many = [gold({"answer": "a"}, id=i) for i in range(9)]
    with pytest.raises(EvaluationError, match=r"no prediction for 9 ids: '0', '1', '2', '3', '4', …"):
        evaluate(many, [])


def test_records_are_joined_in_linear_time() -> None:
    """In whatever order they come; the work is counted as calls of functions, which are the same each time."""

    def calls_of(count: int) -> tuple[int, dict[str, float]]:
        golds = [{"id": i, "output": [{"answer": "x"}]} for i in range(count)]
        guesses = [{"id": i, "output": [{"answer": "x" if i % 4 else "y"}]} for i in reversed(range(count))]
        calls = 0

        def count_call(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count_call)
        try:
            found = evaluate(golds, guesses)
        finally:
            sys.setprofile(None)
        return calls, found.metrics

    small, _ = calls_of(100)
    large, figures = calls_of(1600)
    assert figures["em"] == figures["accuracy"] == 0.75
    assert figures["Rprec"] == figures["KILT-em"] == 0.0
    assert 15 < large / small < 17


def test_ids_are_compared_in_a_table() -> None:
    """No id is compared with more than a few others: each compares itself by its hash first."""
    compared = 0

    class Id(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return super().__hash__()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return super().__eq__(other)

        def strip(self, characters: str | None = None, /) -> str:  # type: ignore[override]
            return self

        def __str__(self) -> str:
            return self

    count = 2000
    golds = [{"id": Id(i), "output": [{"answer": "x"}]} for i in range(count)]
    guesses = [{"id": Id(i), "output": [{"answer": "x"}]} for i in reversed(range(count))]
    assert evaluate(golds, guesses).metrics["em"] == 1.0
    assert 0 < compared < 20 * count


def test_more_than_one_output_is_refused_with_advice() -> None:
    two = {"id": "1", "output": [{"answer": "x"}, {"answer": "y"}]}
    with pytest.raises(
        EvaluationError, match=r"id '1' has 2 outputs.* give one output, .* all pages in its provenance"
    ):
        evaluate([gold({"answer": "x"})], [two])
    looks_like_gold = {"id": "1", "output": [{"answer": "x", "provenance": []}] * 2}
    with pytest.raises(EvaluationError, match="is it the gold file"):
        evaluate([gold({"answer": "x"})], [looks_like_gold])
    assert metrics(gold({"answer": "x"}), guess("x", pages(*range(10))))["accuracy"] == 1.0


@pytest.mark.parametrize(
    "record", [[], {"output": []}, {"id": "1"}, {"id": "1", "output": ["x"]}, guess(provenance="7")]
)
def test_what_is_no_prediction_is_refused(record: Any) -> None:
    with pytest.raises(EvaluationError, match="prediction"):
        evaluate([gold({"answer": "x"})], [record])


@pytest.mark.parametrize(
    ("answer", "prediction", "em"),
    [("The The", "the the", 1.0), ("A", "the", 1.0), ("!!!", "???", 1.0), ("A", "A", 1.0)],
)
def test_answers_of_which_nothing_is_left(answer: str, prediction: str, em: float) -> None:
    found = evaluate([gold({"answer": answer})], [guess(prediction)])
    same = float(answer == prediction)
    assert (found.metrics["em"], found.metrics["f1"], found.metrics["accuracy"]) == (em, 0.0, same)
    assert found.notes[kilt.BLANK_GOLD] == 1


def test_gold_without_input_or_answer() -> None:
    found = evaluate([gold({"provenance": pages("7")})], [guess("x", pages("7"))])
    assert (found.metrics["Rprec"], found.metrics["accuracy"], found.metrics["entity_in_input"]) == (1.0, 0.0, 0.0)
    assert found.notes == {kilt.NO_GOLD_ANSWER: 1}


def test_no_provenance_on_one_side() -> None:
    found = evaluate([gold({"answer": "x"})], [guess("x", pages("7"))])
    assert (found.metrics["Rprec"], found.metrics["KILT-em"], found.metrics["em"]) == (0.0, 0.0, 1.0)
    assert found.notes[kilt.NO_EVIDENCE] == 1
    assert metrics(gold({"answer": "x", "provenance": pages("7")}), guess("x"))["Rprec"] == 0.0
    empty = evaluate([], [])
    assert set(empty.metrics.values()) == {0.0}
    assert metrics(gold(), guess("x"))["em"] == 0.0


def test_gold_and_predictions_are_not_the_same() -> None:
    two, one = pages("7", "8"), pages("7")
    assert metrics(gold({"provenance": two}), guess(provenance=one))["Rprec"] == 0.5
    assert metrics(gold({"provenance": one}), guess(provenance=two))["Rprec"] == 1.0


def test_null_and_numbers_as_answers() -> None:
    null = evaluate([gold({"answer": "None"})], [guess(None)])
    assert (null.metrics["accuracy"], null.notes[kilt.NULL_ANSWER]) == (1.0, 1)
    strict = evaluate([gold({"answer": "None"})], [guess(None)], strict=True)
    assert (strict.metrics["accuracy"], strict.metrics["em"], strict.notes[kilt.NULL_ANSWER]) == (0.0, 0.0, 1)
    number = evaluate([gold({"answer": "5"})], [guess(5)])
    assert (number.metrics["accuracy"], number.notes[kilt.NOT_TEXT]) == (1.0, 1)
    without = evaluate([gold({"answer": "x"})], [{"id": "1", "output": [{"provenance": []}]}])
    assert (without.metrics["em"], without.notes[kilt.NO_ANSWER]) == (0.0, 1)


def test_paragraph_keys_that_are_missing_or_a_sentinel() -> None:
    keys = ["wikipedia_id", "start_paragraph_id"]
    bare, sentinel = {"wikipedia_id": "7"}, {"wikipedia_id": "7", "start_paragraph_id": -1}
    for strict in (False, True):
        found = metrics(
            gold({"answer": "x", "provenance": [bare]}), guess("x", [sentinel]), rank_keys=keys, strict=strict
        )
        assert (found["Rprec"], found["KILT-em"]) == (0.0, 1.0)
    both = (gold({"provenance": [sentinel]}), guess(provenance=[sentinel]))
    assert metrics(*both, rank_keys=keys)["Rprec"] == 1.0
    assert metrics(*both, rank_keys=keys, strict=True)["Rprec"] == 0.0


def test_a_set_counts_once_at_its_last_page() -> None:
    one = gold({"provenance": pages("1", "2")}, {"provenance": pages("3")}, {"provenance": pages("2", "1")})
    found = metrics(one, guess(provenance=pages("1", "9", "2", "3")), ks=[1, 2, 3])
    # 1 holds a place until 2 completes the set: ranks are 9, {1, 2}, {3}
    assert [found[f"precision@{k}"] for k in (1, 2, 3)] == [0.0, 0.5, pytest.approx(2 / 3)]
    assert (found["recall@2"], found["recall@3"], found["success_rate@2"]) == (0.5, 1.0, 1.0)
    assert "recall@1" not in found


def test_contexts() -> None:
    one = gold(
        {"answer": "The Louvre", "provenance": [{"wikipedia_id": "7", "title": "Paris"}]}, input="What is in Paris?"
    )
    texts = [
        {"wikipedia_id": "1"},
        {"wikipedia_id": "2", "text": "Go to paris."},
        {"wikipedia_id": "3", "text": "a louvre"},
    ]
    found = metrics(one, guess(provenance=texts), ks=[1, 2, 3])
    assert found["entity_in_input"] == 1.0
    assert [found[f"entity_in_context@{k}"] for k in (1, 2, 3)] == [0.0, 1.0, 1.0]
    assert [found[f"answer_in_context@{k}"] for k in (1, 2, 3)] == [0.0, 0.0, 1.0]
    assert found["answer_and_ent_in_context@3"] == 0.0
    texts.append({"wikipedia_id": "4", "text": "the Louvre in Paris"})
    assert metrics(one, guess(provenance=texts))["answer_and_ent_in_context@5"] == 1.0


def test_ks_and_rank_keys_are_checked() -> None:
    for options in ({"ks": [0]}, {"ks": []}, {"rank_keys": []}):
        with pytest.raises(EvaluationError):
            evaluate([], [], **options)  # type: ignore[arg-type]
    assert kilt.Protocol(ks=(5, 1, 5)).ks == (1, 5)


def test_the_first_answer_and_set_of_each_gold_record_give_the_whole_score(shared: Path) -> None:
    released = [path for path in (shared / "data" / "kilt").glob("*/*-dev*.jsonl") if "first" not in path.name]
    assert len(released) >= 8
    for path in released:
        golds = [json.loads(line) for line in path.read_text().splitlines()]
        guesses = [
            {
                "id": record["id"],
                "output": [
                    {
                        "answer": next(o["answer"] for o in record["output"] if o.get("answer")),
                        "provenance": next((o["provenance"] for o in record["output"] if o.get("provenance")), []),
                    }
                ],
            }
            for record in golds
        ]
        found = evaluate(golds, guesses).metrics
        whole = ("accuracy", "em", "f1", "Rprec", "KILT-accuracy", "KILT-em", "KILT-f1", "success_rate@20")
        assert {name: found[name] for name in whole} == dict.fromkeys(whole, 1.0), path
        assert found["rougel"] == pytest.approx(0.999999995, abs=1e-12)


# --------------------------------------------------------------------------------------------
# Laws

_texts = st.sampled_from(["", "x", "a b", "the x", "y z x", "The.", "x. y"])
_sets = st.lists(st.builds(lambda id, title: {"wikipedia_id": id, "title": title}, st.sampled_from("123456"), _texts))
_golds = st.lists(
    st.lists(st.builds(lambda a, p: {"answer": a, "provenance": p}, _texts, _sets), min_size=1, max_size=4),
    min_size=1,
    max_size=5,
).map(lambda all: [gold(*outputs, id=i, input="x y") for i, outputs in enumerate(all)])


@st.composite
def _files(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    golds = draw(_golds)
    with_text = _sets.map(lambda entries: [entry | {"text": entry["title"]} for entry in entries])
    return golds, [guess(draw(_texts), draw(with_text), id=record["id"]) for record in golds]


@settings(max_examples=150, deadline=None)
@given(_files(), st.booleans(), st.randoms(use_true_random=False))
def test_scores_lie_in_range_and_the_order_of_the_files_does_not_tell(
    files: tuple[list[dict[str, Any]], list[dict[str, Any]]], strict: bool, choose: random.Random
) -> None:
    golds, guesses = files
    found = evaluate(golds, guesses, strict=strict)
    assert found.scores.shape == (len(golds), len(found.protocol.names))
    assert ((found.scores >= 0) & (found.scores <= 1)).all()
    for name in kilt.DOWNSTREAM:
        assert found.metrics[f"KILT-{name}"] <= found.metrics[name]
    shuffled = [choose.sample(records, len(records)) for records in (golds, guesses)]
    assert evaluate(*shuffled, strict=strict).metrics == found.metrics


@settings(deadline=None)
@given(_files())
def test_a_wrong_page_at_the_end_never_raises_r_precision(
    files: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    golds, guesses = files
    before = evaluate(golds, guesses).scores
    names = kilt.Protocol().names
    for record in guesses:
        record["output"][0]["provenance"].append({"wikipedia_id": "wrong"})
    after = evaluate(golds, guesses).scores
    for i, name in enumerate(names):
        if name.startswith(("Rprec", "recall", "precision")):
            assert (after[:, i] <= before[:, i]).all(), name


# --------------------------------------------------------------------------------------------
# Around the figures


def test_the_convention_of_evaluate() -> None:
    golds, guesses = [gold({"answer": "x"}, id=i) for i in range(3)], [guess("x", id=i) for i in range(3)]
    metric = KiltMetric(ks=[5])
    found = metric.compute(predictions=guesses, references=golds)
    assert found == evaluate(golds, guesses, ks=[5]).metrics
    for one, other in zip(guesses, golds, strict=True):
        metric.add(prediction=one, reference=other)
    assert metric.compute() == found


def test_the_bootstrap_is_that_of_its_seed_and_covers_the_mean() -> None:
    golds = [gold({"answer": "x"}, id=i) for i in range(200)]
    found = evaluate(golds, [guess("x" if i % 4 else "y", id=i) for i in range(200)])
    draw = statistic(found)
    drawn = bootstrap.samples(draw, 200, 500, 7)
    assert (drawn == bootstrap.samples(draw, 200, 500, 7)).all()
    bounds = bootstrap.interval(drawn[:, 0])
    assert bounds is not None
    low, high = bounds
    assert low < 0.75 < high
    # the binomial interval is 0.75 ± 1.96 · sqrt(0.75 · 0.25 / 200) = 0.69 to 0.81
    assert (low, high) == pytest.approx((0.69, 0.81), abs=0.015)


def test_the_paired_bootstrap_tells_a_difference_from_none() -> None:
    golds = [gold({"answer": "x"}, id=i) for i in range(300)]
    good = evaluate(golds, [guess("x" if i % 3 else "y", id=i) for i in range(300)])
    bad = evaluate(golds, [guess("x" if i % 2 else "y", id=i) for i in range(300)])
    drawn = [bootstrap.samples(statistic(one), 300, 500, 7)[:, 0] for one in (good, bad)]
    clear = bootstrap.difference(good.metrics["accuracy"] - bad.metrics["accuracy"], drawn[0] - drawn[1])
    assert clear is not None
    assert clear.p_value < 0.01
    assert clear.low > 0
    none = bootstrap.difference(0.0, drawn[0] - drawn[0])
    assert none == bootstrap.Difference(0.0, 0.0, 0.0, 1.0)
    assert bootstrap.difference(0.0, np.full(5, np.nan)) is None


def test_the_signature_says_how() -> None:
    assert kilt.Protocol(strict=True, ks=(5,), rank_keys=("wikipedia_id", "section")).signature.startswith(
        "metric:kilt|mode:strict|norm:squad|rougel:rouge-1.0.1|ks:5|keys:wikipedia_id,section|version:"
    )
