"""MKQA's figures against the released scorer's, its tests' values, the cases of its users, and laws."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kiltetl.schemas.errors import EvaluationError
from kiltetl.transforms.datasets.mkqa import LANGUAGES as LANGUAGES_OF_THE_DATASET
from kiltetl.transforms.metrics import mkqa
from kiltetl.transforms.metrics.huggingface import MkqaMetric
from kiltetl.transforms.metrics.mkqa import text_scores, tokens
from kiltetl.transforms.metrics.mkqa_scorer import MkqaScorer
from kiltetl.transforms.metrics.mkqa_scorer import evaluate_mkqa as evaluate
from kiltetl.transforms.metrics.scorer import EXTRA, read_golds
from kiltetl.transforms.metrics.thresholds import BEST, PLAIN


def gold(id: Any, *texts: str | None, language: str = "en", aliases: Any = ()) -> dict[str, Any]:
    answers = [{"type": "entity", "text": text, "aliases": aliases} for text in texts]
    return {"example_id": id, "answers": {language: answers}}


def guess(id: Any, text: str | None = None, probability: float | None = 0.0, **more: Any) -> dict[str, Any]:
    return {"example_id": id, "prediction": text, "binary_answer": None, "no_answer_prob": probability} | more


def metrics(golds: list[Any], guesses: list[Any], strict: bool = False) -> dict[str, float | None]:
    return evaluate(golds, {"en": guesses}, strict=strict).metrics["en"]


# --------------------------------------------------------------------------------------------
# Published figures


@pytest.fixture(scope="session")
def oracle(shared: Path) -> tuple[list[Any], dict[str, list[Any]], dict[str, Any]]:
    folder = shared / "oracle" / "mkqa_eval" / "case1"
    golds = [json.loads(line) for line in gzip.decompress((folder / "mkqa.jsonl.gz").read_bytes()).splitlines()]
    guesses = {
        language: [json.loads(line) for line in (folder / "predictions" / f"{language}.jsonl").open()]
        for language in mkqa.LANGUAGES
    }
    return golds, guesses, json.loads((folder / "expected.json").read_text())


def test_every_figure_of_the_released_scorer(oracle: tuple[list[Any], dict[str, list[Any]], dict[str, Any]]) -> None:
    golds, guesses, expected = oracle
    found = evaluate(golds, guesses)
    compared = 0
    for language, scores in found.languages.items():
        assert found.metrics[language] == expected[language]["metrics"]
        for name, values in (("f1", scores.f1), ("em", scores.em)):
            by_id = dict(zip(scores.ids, values.tolist(), strict=True))
            assert by_id == pytest.approx(expected[language][name], abs=1e-9, rel=0)
            compared += len(by_id)
    assert compared == 26 * 30 * 2
    assert {name: found.macro_average[name] for name in BEST} == expected["macro_average"]
    assert found.missing == ()


def test_the_sample_of_the_official_tests(shared: Path) -> None:
    folder = shared / "data" / "mkqa"
    golds = [json.loads(line) for line in gzip.decompress((folder / "test_mkqa.jsonl.gz").read_bytes()).splitlines()]
    guesses = [json.loads(line) for line in (folder / "en_prediction.jsonl").open()]
    found = metrics(golds, guesses)
    assert {name: found[name] for name in BEST} == {
        "best_em": 66.67,
        "best_f1": 80.95,
        "best_answerable_em": 33.33,
        "best_answerable_f1": 61.9,
        "best_unanswerable_em": 100.0,
        "best_f1_threshold": -6.91,
    }


@pytest.mark.parametrize(
    ("language", "prediction", "golds", "f1"),
    [
        ("en", "alternative answer", ["dummy answer one", "alternative answer two"], 0.8),
        ("zh_cn", "这个一个苹果", ["这是还是苹果", "这是另一个苹果"], 0.7692307692307693),
        ("km", "នេះគឺជាផ្លែប៉ោម", ["នេះគឺជាផ្លែប៉ោមមួយទៀត"], 0.8333333333333333),
        ("en", "the", [""], 1.0),
        ("en", "the", ["x"], 0.0),
        ("en", "a a b", ["a b b"], 0.6666666666666666),
    ],
)
def test_f1_of_known_pairs(language: str, prediction: str, golds: list[str], f1: float) -> None:
    assert text_scores(prediction, golds, language)[1] == pytest.approx(f1, abs=1e-12)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "The U.S. an", ("us",)),
        ("de", "Der Den-Haag", ("denhaag",)),
        ("fr", "Denver", ("nver",)),  # heads of longer words go, as the official scores have it
        ("fr", "l'été", ("lété",)),  # the apostrophe goes first, so that l' never matches
        ("it", "Il gatto", ("gatto",)),
        ("ar", "الكتاب", ("كتاب",)),
        ("vi", "những cái bàn", ("bàn",)),
        ("ko", "the 사과", ("the", "사과")),
        ("ja", "東京 tower", ("東", "京", "t", "o", "w", "e", "r")),
        ("zh_tw", " 。", ("。",)),
    ],
)
def test_tokens(language: str, text: str, expected: tuple[str, ...]) -> None:
    assert tokens(text, language) == list(expected)


def test_languages() -> None:
    assert mkqa.LANGUAGES == LANGUAGES_OF_THE_DATASET
    assert mkqa.language_of("zh-CN") == "zh_cn"
    assert mkqa.language_of("no") == "no"
    for name in ("nb", "False"):
        with pytest.raises(EvaluationError, match=r"Norwegian is no.* 26 are ar da de .* zh_tw"):
            mkqa.language_of(name)
    with pytest.raises(EvaluationError, match="'pt-BR' is no language of MKQA"):
        mkqa.language_of("pt-BR")


# --------------------------------------------------------------------------------------------
# What users met


def test_ties_are_split_officially_and_taken_together_under_strict() -> None:
    golds = [gold(1, "x"), gold(2, None)]
    guesses = [guess(1, "x"), guess(2, "zz")]
    assert [metrics(golds, order)["best_f1"] for order in (guesses, guesses[::-1])] == [100.0, 50.0]
    assert metrics(golds, guesses)["best_em"] == 50.0
    assert [metrics(golds, order, strict=True)["best_f1"] for order in (guesses, guesses[::-1])] == [50.0, 50.0]


def test_scores_that_are_no_probabilities() -> None:
    golds = [gold(1, "x"), gold(2, None), gold(3, None)]
    guesses = [guess(1, "wrong", -5.0), guess(2, "some", -4.0), guess(3, "more", -3.0)]
    official = metrics(golds, guesses)
    assert (official["best_f1"], official["best_em"], official["best_f1_threshold"]) == (66.67, 0.0, 0.0)
    strict = metrics(golds, guesses, strict=True)
    assert (strict["best_f1"], strict["best_em"]) == (66.67, 66.67)
    assert strict["best_f1_threshold"] is not None
    assert strict["best_f1_threshold"] < -5


@pytest.mark.parametrize(
    ("answers", "probabilities", "official", "strict"),
    [
        # best F1, best EM, answerable and unanswerable EM, threshold
        (("wrong", "some"), (0.0, 0.0), (50.0, 0.0, 0.0, 0.0, 0.0), (50.0, 50.0, 0.0, 100.0, -1.0)),
        (("wrong", "some"), (0.25, 0.0), (50.0, 0.0, 0.0, 0.0, 0.0), (50.0, 50.0, 0.0, 100.0, -1.0)),
        (("wrong", "some"), (0.25, 0.5), (50.0, 50.0, 0.0, 100.0, 0.0), (50.0, 50.0, 0.0, 100.0, 0.0)),
        (("x", "some"), (0.0, 0.5), (100.0, 100.0, 100.0, 100.0, 0.0), (100.0, 100.0, 100.0, 100.0, 0.0)),
        (("x", "some"), (0.5, 0.5), (100.0, 50.0, 100.0, 0.0, 0.5), (50.0, 50.0, 0.0, 100.0, 0.0)),
        (("x", "some"), (-0.5, 0.0), (100.0, 100.0, 100.0, 100.0, -0.5), (100.0, 100.0, 100.0, 100.0, -0.5)),
    ],
)
def test_thresholds_around_0(
    answers: tuple[str, str],
    probabilities: tuple[float, float],
    official: tuple[float, ...],
    strict: tuple[float, ...],
) -> None:
    """Predictions at the threshold stay; answering nothing has one below all others under strict alone."""
    golds = [gold(1, "x"), gold(2, None)]
    guesses = [guess(id, *one) for id, one in enumerate(zip(answers, probabilities, strict=True), 1)]
    names = ("best_f1", "best_em", "best_answerable_em", "best_unanswerable_em", "best_f1_threshold")
    for is_strict, expected in ((False, official), (True, strict)):
        found = metrics(golds, guesses, strict=is_strict)
        assert tuple(found[name] for name in names) == expected


def test_missing_spellings_of_no_answer() -> None:
    golds = [
        {"example_id": 1, "answers": {"en": [{"type": "entity", "text": "X"}]}},
        gold(2, "X", aliases=None),
        gold(3, None, aliases=None),
        gold(4, None, aliases=["A"]),
    ]
    read = read_golds(MkqaScorer(), golds, ["en"])["en"]
    assert read.by_id == {"1": ("X",), "2": ("X",), "3": ("",), "4": ("", "A")}
    assert read.notes[mkqa.NULL_WITH_ALIASES] == 1
    found = evaluate(golds, {"en": [guess(i, None) for i in (1, 2, 3, 4)]}).languages["en"]
    assert found.answerable.tolist() == [True, True, False, True]


def test_an_empty_stratum_is_null_and_never_nan() -> None:
    evaluation = evaluate([gold(1, "x")], {"en": [guess(1, "x")]})
    assert evaluation.metrics["en"]["best_f1"] == 100.0
    assert evaluation.metrics["en"]["best_unanswerable_em"] is None
    text = json.dumps(MkqaScorer(verbose=True).summary(evaluation, evaluation, 20, 1), allow_nan=False)
    assert "NaN" not in text
    assert evaluate([], {}).macro_average["best_f1"] is None


def test_binary_answers() -> None:
    golds = [gold(1, "yes")]
    for given_, right in ((guess(1, "x", binary_answer="Yes"), 100.0), ({"example_id": "1", "prediction": "x"}, 0.0)):
        assert metrics(golds, [given_])["exact_match"] == right
    for wrong in (True, "Maybe"):
        with pytest.raises(EvaluationError, match=r"id '1': binary_answer is .*, not \"yes\", \"no\" or null"):
            metrics(golds, [guess(1, "x", binary_answer=wrong)])


@pytest.mark.parametrize("probability", [float("nan"), float("inf"), "0.5", True])
def test_probabilities_are_numbers(probability: Any) -> None:
    with pytest.raises(EvaluationError, match="id '1': no_answer_prob is"):
        metrics([gold(1, "x")], [guess(1, "x", probability)])


def test_ids() -> None:
    golds = [gold(1, "x"), gold(2, "y")]
    one, two = guess("1", "x"), guess(2, "y")
    assert metrics(golds, [two, one])["exact_match"] == 100.0
    extra = evaluate(golds, {"en": [one, two, guess(9, "z")]})
    assert (list(extra.extra), extra.notes[EXTRA]) == (["9"], 1)
    for guesses, message in (
        ([one], "en: there is no prediction for id '2'"),
        ([one, two, one], "en: there is more than one prediction for id '1'"),
        ([{"prediction": "x"}], "no example_id"),
        (["x"], "not a JSON object"),
    ):
        with pytest.raises(EvaluationError, match=message):
            metrics(golds, guesses)
    with pytest.raises(EvaluationError, match="gold ids are not unique for id '1'"):
        metrics([golds[0], golds[0]], [one])
    with pytest.raises(EvaluationError, match="no answers in de"):
        evaluate(golds, {"de": [one, two]})


def test_the_macro_average_says_over_what() -> None:
    golds = [
        {"example_id": 1, "answers": {language: [{"type": "number", "text": "3"}] for language in mkqa.LANGUAGES}},
    ]
    found = evaluate(golds, {"zh-CN": [guess(1, "3")], "no": [guess(1, "4")]})
    assert list(found.languages) == ["no", "zh_cn"]
    assert found.macro_average["exact_match"] == 50.0
    assert len(found.missing) == 24
    assert "languages:no,zh_cn" in found.signature


def in_languages(count: int, *languages: str) -> list[dict[str, Any]]:
    """Gold records whose answer is x in each language."""
    return [{"example_id": i, "answers": {one: [{"text": "x"}] for one in languages}} for i in range(count)]


def test_the_macro_average_is_rounded_as_the_figures_are() -> None:
    guesses = {"da": [guess(0, "x"), guess(1, "x"), guess(2, "y")]}  # 66.67 of 100
    guesses |= {language: [guess(i, "y") for i in range(3)] for language in ("de", "en")}
    found = evaluate(in_languages(3, "da", "de", "en"), guesses)
    assert found.metrics["da"]["exact_match"] == 66.67
    assert found.macro_average["exact_match"] == 22.22
    assert "|languages:da,de,en|" in found.signature
    every = evaluate(in_languages(1, *mkqa.LANGUAGES), {one: [guess(0, "x")] for one in mkqa.LANGUAGES})
    assert "|languages:all|" in every.signature
    assert every.missing == ()


def test_the_summary_holds_what_is_asked_for() -> None:
    found = evaluate(in_languages(1, "en"), {"en": [guess(0, "x"), guess(8, "y")]})
    for verbose, shown in ((False, BEST), (True, (*BEST, *PLAIN))):
        summary = MkqaScorer(verbose=verbose).summary(found, None, 0, 1)
        assert list(summary["languages"]["en"]["metrics"]) == list(summary["macro_average"]["metrics"]) == list(shown)
        assert summary["languages"]["en"].keys() == {"examples", "metrics"}
        assert (summary["extra_ids"], summary["notes"]) == (["8"], {EXTRA: 1})


def test_intervals_and_comparison() -> None:
    golds = in_languages(3, "da", "en")
    right, wrong = ({one: [guess(i, text) for i in range(3)] for one in ("da", "en")} for text in ("x", "y"))
    summary = MkqaScorer().summary(evaluate(golds, right), evaluate(golds, wrong), 20, 1)
    for of in (*summary["languages"].values(), summary["macro_average"]):
        assert of["intervals"]["best_em"] == [100.0, 100.0]
        assert of["comparison"]["best_em"] == {
            "other": 0.0, "difference": 100.0, "low": 100.0, "high": 100.0, "p_value": 0.047619,
        }  # fmt: skip
        assert "best_f1_threshold" not in of["intervals"]


def test_the_macro_average_of_a_sample_is_over_the_languages_that_have_the_figure() -> None:
    """English alone has a record without an answer, and not in each sample."""
    golds = [
        {"example_id": i, "answers": {"da": [{"text": "x"}], "en": [{"text": "x" if i else None}]}} for i in (0, 1)
    ]
    found = evaluate(golds, {one: [guess(0, ""), guess(1, "x")] for one in ("da", "en")})
    summary = MkqaScorer().summary(found, None, 30, 1)
    assert summary["languages"]["da"]["intervals"]["best_unanswerable_em"] is None
    assert summary["languages"]["en"]["intervals"]["best_unanswerable_em"] == [100.0, 100.0]
    assert summary["macro_average"]["intervals"]["best_unanswerable_em"] == [100.0, 100.0]


def test_gold_from_the_table_of_tasks() -> None:
    golds = [
        {"id": "1", "language": "en", "output": [{"answer": "X"}, {"answer": "Y"}]},
        {"id": "2", "language": "en", "output": [{"answer": None}]},
    ]
    assert metrics(golds, [guess(1, "y"), guess(2, "")])["exact_match"] == 100.0


def test_the_convention_of_evaluate() -> None:
    golds, guesses = [gold(1, "x")], [guess(1, "x")]
    assert MkqaMetric("en").compute(predictions=guesses, references=golds) == metrics(golds, guesses)


# --------------------------------------------------------------------------------------------
# Laws

_texts = st.sampled_from(["", "x", "a b", "the x", "y z x", "The.", "x. y"])


@st.composite
def _files(draw: st.DrawFn, distinct: bool) -> tuple[list[Any], list[Any]]:
    count = draw(st.integers(1, 8))
    golds = [
        gold(i, *draw(st.lists(st.one_of(st.none(), _texts.filter(bool)), min_size=1, max_size=2)))
        for i in range(count)
    ]
    numbers = st.integers(-3, 3).map(float) if not distinct else st.integers(-99, 99).map(lambda n: n / 7)
    probabilities = draw(st.lists(numbers, min_size=count, max_size=count, unique=distinct))
    return golds, [guess(i, draw(_texts), probabilities[i]) for i in range(count)]


def _check_order(golds: list[Any], guesses: list[Any], strict: bool, choose: random.Random) -> None:
    found = metrics(golds, guesses, strict)
    for name, value in found.items():
        assert value is None or name == "best_f1_threshold" or 0 <= value <= 100
    shuffled = [choose.sample(records, len(records)) for records in (golds, guesses)]
    assert metrics(*shuffled, strict) == found


@settings(max_examples=150, deadline=None)
@given(_files(distinct=True), st.randoms(use_true_random=False))
def test_order_does_not_tell_with_distinct_probabilities(files: tuple[Any, Any], choose: random.Random) -> None:
    _check_order(*files, False, choose)


@settings(max_examples=150, deadline=None)
@given(_files(distinct=False), st.randoms(use_true_random=False))
def test_order_does_not_tell_under_strict(files: tuple[Any, Any], choose: random.Random) -> None:
    _check_order(*files, True, choose)


@settings(max_examples=150, deadline=None)
@given(_files(distinct=False))
def test_the_walk_is_the_official_loop(files: tuple[Any, Any]) -> None:
    golds, guesses = files
    scores = evaluate(golds, {"en": guesses}).languages["en"]
    current = best = float((~scores.answerable).sum())
    threshold = 0.0
    for i in sorted(range(len(guesses)), key=lambda i: guesses[i]["no_answer_prob"]):
        if scores.answerable[i]:
            current += float(scores.f1[i])
        elif guesses[i]["prediction"]:
            current -= 1
        if current > best:
            best, threshold = current, guesses[i]["no_answer_prob"]
    assert scores.best() == (best, threshold)
    weights = np.ones(len(guesses), np.int64)
    assert scores.best(weights) == (best, threshold)
    if len(guesses):
        assert scores.sample_figures(weights)[1] == pytest.approx(100 * best / len(guesses))


@settings(max_examples=100, deadline=None)
@given(_files(distinct=False))
def test_the_curve_holds_the_figures_at_each_threshold(files: tuple[Any, Any]) -> None:
    golds, guesses = files
    scores = evaluate(golds, {"en": guesses}, strict=True).languages["en"]
    curve = scores.curve()
    for place, threshold in enumerate(curve["threshold"]):
        assert threshold is not None
        f1 = scores.at(scores.f1, threshold)
        if place:  # the first point stands for answering nothing
            assert curve["overall"][place] == pytest.approx(100 * f1.mean())
            if scores.answerable.any():
                assert curve["answerable"][place] == pytest.approx(100 * f1[scores.answerable].mean())
    bins = scores.histogram()
    assert sum(bins["answerable"]) + sum(bins["unanswerable"]) == len(guesses)
