"""The best-BLEU span: against brute force with sacrebleu and nltk, and on cases people met."""

import json
import tracemalloc
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from kiltetl.schemas.records import Span
from kiltetl.transforms.alignment.bleu import THRESHOLD, Bleu, signature
from kiltetl.transforms.alignment.search import TIE, _Best, best_span, best_spans
from kiltetl.transforms.alignment.tokens import joined, tokenize_page, tokenizer_for, tokens
from tests.support.tricky_text import pieces

SACREBLEU = BLEU(tokenize="none", effective_order=True)

Window = tuple[float, int, int, int]  # score, tokens, paragraph, first token
Score = Callable[[Sequence[str], Sequence[str]], float]


def sacre(span: Sequence[str], evidence: Sequence[str]) -> float:
    return float(SACREBLEU.sentence_score(" ".join(span), [" ".join(evidence)]).score) / 100


def brute(paragraphs: Sequence[str], evidence: str, score: Score, language: str = "en") -> Window | None:
    """The best of all windows by definition; None where none scores above 0."""
    wanted = tokens(evidence, tokenizer_for(language))
    windows = []
    for number, paragraph in enumerate(paragraphs):
        words = tokens(paragraph, tokenizer_for(language))
        for i in range(len(words)):
            for j in range(i + 1, len(words) + 1):
                if not set(words[i:j]).isdisjoint(wanted):
                    windows.append((score(words[i:j], wanted), j - i, number, i))
    top = max((window[0] for window in windows), default=0)
    if top <= 1e-50:
        return None
    return min((window for window in windows if window[0] >= top - TIE), key=lambda window: window[1:])


def check(paragraphs: Sequence[str], evidence: str, score: Score = sacre, bleu: Bleu = "sacrebleu") -> None:
    """The text's words are single letters between single spaces."""
    span, window = best_span(paragraphs, evidence, bleu=bleu), brute(paragraphs, evidence, score)
    if window is None:
        assert span is None
        return
    top, length, paragraph, first = window
    assert span is not None
    assert (span.paragraph_id, span.start_character) == (paragraph, 2 * first)
    assert span.end_character == 2 * (first + length) - 1
    assert span.bleu_score == pytest.approx(min(top, 1), abs=1e-9)
    assert span.bleu_score <= 1


def found(paragraphs: Sequence[str], evidence: str, language: str = "en") -> tuple[int, str, float] | None:
    span = best_span(paragraphs, evidence, language)
    if span is None:
        return None
    text = paragraphs[span.paragraph_id][span.start_character : span.end_character]
    return span.paragraph_id, text, round(span.bleu_score, 4)


# --------------------------------------------------------------------------------------------
# Cases


@pytest.mark.parametrize(
    ("paragraphs", "evidence", "expected"),
    [
        pytest.param(["T", "say hello world today"], '"hello" world!', Span(1, 0, 15, 0.1780), id="punctuation"),
        pytest.param(["T", "Martin liked art."], "art", Span(1, 13, 16, 1), id="not inside a word"),
        pytest.param(["New York"], "New York", Span(0, 0, 8, 1), id="shorter than four tokens"),
        pytest.param(["no"], "yes", None, id="nothing shared"),
        pytest.param(["It tends to ∞ there", "∞"], "∞", Span(0, 12, 13, 1), id="symbol"),
        pytest.param(["It costs $5"], "$", Span(0, 9, 10, 1), id="symbol before a number"),
        pytest.param(["It tends to infinity", "5 €"], "∞", None, id="symbol that is not there"),
        pytest.param(["He was born in 1901 in Rome"], "He was born in 1901 in Rome", Span(0, 0, 27, 1), id="verbatim"),
        pytest.param([], "abc", None, id="no paragraph"),
        pytest.param([""], "abc", None, id="an empty paragraph"),
        pytest.param(["", " \n", ""], "abc", None, id="white space only"),
        pytest.param(["abc"], "", None, id="no evidence"),
        pytest.param(["abc"], " \u00a0\n", None, id="blank evidence"),
        pytest.param(["", "", "abc", ""], "abc", Span(2, 0, 3, 1), id="empty paragraphs around"),
        pytest.param(["Café in Rome"], "Rome", Span(0, 8, 12, 1), id="code points, not bytes"),
        pytest.param(
            ["The salt (5% by mass) melts."], "The salt ( 5 % by mass ) melts .", Span(0, 0, 28, 1), id="tokenised"
        ),
        pytest.param(["Active 1999-2001 only"], "1999–2001", Span(0, 7, 16, 1), id="dash"),
        pytest.param(["New York City Hall"], "new york city hall", Span(0, 0, 18, 1), id="case"),
        pytest.param(["It’s “good”\u00a0so"], 'it\'s "good" so', Span(0, 0, 14, 1), id="quotes and spaces"),
        pytest.param(["T", "a x b a b", "a b"], "a b", Span(1, 6, 9, 1), id="tie to the first paragraph"),
        pytest.param(["b x", "x b b"], "b", Span(0, 0, 1, 1), id="tie to the first token"),
        pytest.param(["a b a"], "a a a b", Span(0, 0, 5, 0.4514), id="evidence longer than the page"),
        pytest.param(["b", "a a"], "a" + " c" * 1999, Span(1, 0, 1, 0), id="too little to be above 0"),
        pytest.param(["AT&amp;T grew"], "at&t", Span(0, 0, 8, 1), id="entity"),
        pytest.param(["x a<skipped>b y"], "ab", Span(0, 2, 13, 1), id="skipped"),
        pytest.param(["multi-\nline"], "multiline", Span(0, 0, 11, 1), id="hyphen at the end of a line"),
        pytest.param(["İstanbul and İzmir"], "izmir", None, id="dotted capital is not i"),
        pytest.param(["İstanbul and İzmir"], "İZMİR", None, id="nor without its own word"),
        pytest.param(["İstanbul and İzmir here"], "İzmir here", Span(0, 13, 23, 1), id="behind a letter that grows"),
        pytest.param(["😀 𝒜 b 😀c d"], "😀c d", Span(0, 6, 10, 1), id="astral"),
        pytest.param(["x e\u0301te\u0301 y"], "e\u0301te\u0301", Span(0, 2, 7, 1), id="combining"),
        pytest.param(["كانت مدينة روما عاصمة"], "مدينة روما", Span(0, 5, 15, 1), id="right to left"),
        pytest.param(["שלום עולם טוב"], "עולם", Span(0, 5, 9, 1), id="hebrew"),
    ],
)
def test_cases(paragraphs: list[str], evidence: str, expected: Span | None) -> None:
    span = best_span(paragraphs, evidence)
    if expected is None:
        assert span is None
    else:
        assert span is not None
        where = (span.paragraph_id, span.start_character, span.end_character)
        assert where == (expected.paragraph_id, expected.start_character, expected.end_character)
        assert span.bleu_score == pytest.approx(expected.bleu_score, abs=5e-5)


def test_scores_are_0_to_1_and_compared_with_the_threshold_unrounded() -> None:
    same = best_span(["He was born in 1901 in Rome"], "He was born in 1901 in Rome")
    assert same is not None
    assert same.bleu_score == 1.0  # sacrebleu says 1.0000000000000004
    other = best_span(["was born in 1900 in Rome"], "He was born in 1901 in Rome")
    assert other is not None
    assert other.bleu_score == pytest.approx(0.32159351, abs=1e-8)
    assert other.bleu_score < THRESHOLD


@pytest.mark.parametrize("paragraph", ["x b", "b x", "x a y"])
def test_a_score_of_one_half_is_one_half(paragraph: str) -> None:
    assert sacre(["x", "b"], ["a", "b"]) == 0.49999999999999994  # below the threshold, if one believed it
    span = best_span([paragraph], "a b")
    assert span is not None
    assert span.bleu_score == THRESHOLD


def test_orientation() -> None:
    """E8: the variants take span and evidence the other way round."""
    assert sacre(list("abcdef"), list("abcd")) == pytest.approx(0.5081, abs=5e-5)
    page = tokenize_page(["a b c"])
    (span,) = best_spans(page, ["a b c d"])
    (released,) = best_spans(page, ["a b c x"], "released")
    assert span == Span(0, 0, 5, pytest.approx(np.exp(-1 / 3)))
    assert released is None  # no 4-gram, hence 0
    (released,) = best_spans(tokenize_page(["b c d e f"]), ["a b c d e f"], "released")
    assert released == Span(0, 0, 9, pytest.approx((5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25))


def test_of_equal_windows_the_one_of_fewest_tokens_then_the_first() -> None:
    """A released score knows the span's length only where it is longer than the evidence: many windows tie."""
    page = tokenize_page(["Title", "x a b c d", "a b c d y"])
    score = pytest.approx((4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    assert best_spans(page, ["a b c d e"], "released") == [Span(1, 2, 9, score)]
    # among the windows of a paragraph that are scored together, and after one that was scored before
    page = tokenize_page(["a b c d y", "z", "x a b c d"])
    assert best_spans(page, ["a b c d e"], "released") == [Span(0, 0, 7, score)]
    best = _Best()
    scores = np.log([[0.5, 0.8, 0.8], [0.8, 0.4, 0.8]])  # windows of 3, 4 and 5 tokens that start at 7 and at 9
    best.add(scores, np.array([7, 9], np.int32), 3)
    assert (best.score, best.lengths.tolist(), best.starts.tolist()) == (pytest.approx(0.8), [3], [9])
    best.add(np.log([[0.8]]), np.array([8], np.int32), 3)
    assert (best.lengths.tolist(), best.starts.tolist()) == ([3], [8])
    best.add(np.log([[0.8 + TIE / 2]]), np.array([2], np.int32), 9)  # no better, but what it ties with depends on it
    assert (best.lengths.tolist(), best.starts.tolist()) == ([3, 9], [8, 2])
    best.add(np.log([[0.8 + 2 * TIE]]), np.array([1], np.int32), 10)
    assert (best.lengths.tolist(), best.starts.tolist()) == ([10], [1])


def test_matches_of_all_but_the_highest_order_are_not_the_whole() -> None:
    """Every 3-gram of the evidence, as often as it has it, but one of its five 4-grams is another."""
    other, same = "a b q a b p a b", "a b p a b q a b"
    assert best_span([other], same) == Span(0, 0, 15, pytest.approx((4 / 5) ** 0.25, abs=1e-12))
    assert best_span([other, same], same) == Span(1, 0, 15, 1.0)


def test_a_released_score_does_not_rise_for_a_short_span() -> None:
    page = tokenize_page(["a b c d x f g h"])
    score = pytest.approx((7 / 8 * 5 / 7 * 3 / 6 * 1 / 5) ** 0.25, abs=1e-12)
    assert best_spans(page, ["a b c d e f g h"], "released") == [Span(0, 0, 15, score)]


@pytest.mark.parametrize(("language", "score"), [("en", None), ("zh", 0.5115), ("zh_cn", 0.5115), ("ja", 0.5115)])
def test_languages_without_spaces(language: str, score: float | None) -> None:
    expected = None if score is None else (0, "这是一个苹果", score)
    assert found(["这是一个苹果"], "这是另一个苹果", language) == expected


def test_offsets_by_language() -> None:
    assert found(["我在1,234.5公里外,住。"], "1,234.5公里", "zh") == (0, "1,234.5公里", 1)
    assert found(["昔々 ある所に"], "ある", "ja") == (0, "ある", 1)
    assert found(["สวัสดี ชาวโลก"], "ชาว", "th") == (0, "ชาว", 1)


def test_signature() -> None:
    version = sacrebleu.__version__
    assert signature() == f"bleu:sacrebleu|nrefs:1|case:lc|eff:yes|tok:13a|fold:typography|smooth:exp|version:{version}"
    assert signature("released", "zh").startswith("bleu:released|nrefs:1|case:lc|eff:no|tok:zh|")
    assert "|smooth:none|" in signature("released")


def test_many_evidences_of_one_page() -> None:
    paragraphs = ["Rome", "Rome is the capital of Italy.", "It lies on the Tiber."]
    evidences = ["the capital of Italy", "on the Tiber", "Paris", "", "Rome"]
    assert best_spans(tokenize_page(paragraphs), evidences) == [best_span(paragraphs, text) for text in evidences]
    assert best_spans(tokenize_page([]), evidences) == [None] * 5


# A small page of our own with what brute force with sacrebleu finds in it, written out.
PAGE = [
    "Alder Bridge",
    "The Alder Bridge is a stone bridge across the River Wen, built from 1782 to 1787.",
    "History",
    "A wooden bridge stood here by 1410; floods took it in 1598 and again in 1771.",
    "The present bridge, of five arches, was designed by Ann Marlow — the first woman to build one in the county.",
]


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ("It is a stone bridge over the River Wen, built in 1782.", (1, 17, 72)),
        ("floods destroyed the wooden bridge in 1598", (3, 36, 58)),
        ("designed by Ann Marlow - the first woman to build a bridge in the county", (4, 40, 107)),
        ("five", (4, 23, 27)),
        ("Completely unrelated words", None),
    ],
)
def test_small_page(evidence: str, expected: tuple[int, int, int] | None) -> None:
    span, window = best_span(PAGE, evidence), brute(PAGE, evidence, sacre)
    if expected is None:
        assert span is None
        assert window is None
        return
    assert span is not None
    assert window is not None
    assert (span.paragraph_id, span.start_character, span.end_character) == expected
    score, length, paragraph, first = window
    page = tokenize_page(PAGE)
    token = page.first[paragraph] + first
    assert expected == (paragraph, page.starts[token], page.ends[token + length - 1])
    assert span.bleu_score == pytest.approx(min(1, score), abs=1e-9)


def test_oracle(shared: Path) -> None:
    rows = [json.loads(line) for line in (shared / "oracle" / "best_bleu_span.jsonl").open(encoding="utf-8")]
    assert len(rows) == 60
    for row in rows:
        span, best = best_span(row["paragraphs"], row["evidence"]), row["best"]
        if best is None:
            assert span is None
            continue
        assert span is not None
        assert (span.paragraph_id, span.start_character, span.end_character) == (
            best["paragraph_id"],
            best["start_character"],
            best["end_character"],
        )
        assert span.bleu_score == pytest.approx(min(1, best["bleu_score"]), abs=1e-9)


# --------------------------------------------------------------------------------------------
# Laws

LETTERS = st.sampled_from(["ab", "abcd", "abcdefghijkl"]).flatmap(st.sampled_from)
TEXTS = st.lists(LETTERS, max_size=14).map(" ".join)


@settings(max_examples=400, deadline=None)
@given(st.lists(TEXTS, max_size=3), st.lists(LETTERS | st.just("z"), max_size=12).map(" ".join))
def test_equals_brute_force(paragraphs: list[str], evidence: str) -> None:
    check(paragraphs, evidence)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_equals_brute_force_where_the_search_works_by_blocks(data: st.DataObject) -> None:
    """Evidence of 16 tokens or more, parts of it perturbed in the page."""
    words = data.draw(st.lists(st.sampled_from("abcdefghij"), min_size=16, max_size=40))
    edits = data.draw(st.lists(st.tuples(st.integers(0, 39), st.sampled_from("abcz")), max_size=12))
    copy = list(words)
    for place, letter in edits:
        copy[place % len(copy)] = letter
    before, behind = data.draw(TEXTS), data.draw(TEXTS)
    check([data.draw(TEXTS), " ".join(filter(None, (before, *copy, behind)))], " ".join(words))


@pytest.mark.filterwarnings("ignore::UserWarning:nltk")
@settings(max_examples=200, deadline=None)
@given(st.lists(TEXTS, max_size=3), st.lists(LETTERS | st.just("z"), max_size=9).map(" ".join))
def test_released_equals_nltk(paragraphs: list[str], evidence: str) -> None:
    nltk = pytest.importorskip("nltk.translate.bleu_score")

    def score(span: Sequence[str], wanted: Sequence[str]) -> float:
        orders = min(4, len(wanted))
        return float(nltk.sentence_bleu([list(span)], list(wanted), weights=[1 / orders] * orders))

    check(paragraphs, evidence, score, "released")


@settings(max_examples=200, deadline=None)
@given(pieces(), st.sampled_from(["en", "zh", "ja"]))
def test_a_text_aligned_with_itself(text: str, language: str) -> None:
    words = tokens(text, tokenizer_for(language))
    span = best_span([text], text, language)
    if not words:
        assert span is None
        return
    page = tokenize_page([text], language)
    assert span == Span(0, int(page.starts[0]), int(page.ends[len(words) - 1]), 1.0)


@settings(max_examples=100, deadline=None)
@given(pieces("𝒜", "ש", "e\u0301"), pieces("𝒜", "ש", "e\u0301"))
def test_a_span_begins_and_ends_with_tokens(text: str, evidence: str) -> None:
    span = best_span([text], evidence)
    if span is None:
        assert set(tokens(text)).isdisjoint(tokens(evidence))
        return
    page = tokenize_page([text])
    assert span.start_character in page.starts[:-1]
    assert span.end_character in page.ends[:-1]


def test_decomposed_letters_stay_whole() -> None:
    text = unicodedata.normalize("NFD", "Die Brücke über die Ahr")
    assert found([text], unicodedata.normalize("NFD", "über die")) == (0, unicodedata.normalize("NFD", "über die"), 1)


def test_the_first_of_equal_windows_that_only_look_whole() -> None:
    """All n-grams of the first part are the evidence's, but some too often: it is not whole."""
    evidence = "a b a b c"
    assert best_span(["a b a b a b a b a b", "a b a b c a b a b c"], evidence) == Span(1, 0, 9, 1.0)
    assert best_span(["b a b a b c a", "a b a b c"], evidence) == Span(0, 2, 11, 1.0)


def test_memory_is_bounded() -> None:
    """A page of 200,000 tokens in one paragraph and an evidence of 2,000, a fifth of it changed."""
    random = np.random.default_rng(5)
    words = [f"w{number}" for number in random.zipf(1.3, 200_000) % 20_000]
    evidence = [word if random.random() > 0.2 else "other" for word in words[120_000:122_000]]
    page = tokenize_page([" ".join(words)])
    tracemalloc.start()
    (span,) = best_spans(page, [" ".join(evidence)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert span is not None
    assert span.bleu_score > THRESHOLD
    assert peak < 100e6


# --------------------------------------------------------------------------------------------
# spans over several rows


def test_a_span_over_three_rows() -> None:
    rows = ["Title", "The salt is white .", "It melts at 800 degrees .", "It is eaten .", "Other text ."]
    evidence = "is white . It melts at 800 degrees . It is"
    page = tokenize_page(rows)
    assert best_spans(joined(page, 3), [evidence]) == [Span(1, 9, 5, 1.0, end_paragraph_id=3)]
    (alone,) = best_spans(joined(page, 1), [evidence])
    assert alone == best_span(rows, evidence)
    assert alone is not None
    assert (alone.paragraph_id, alone.end_paragraph_id) == (2, None)


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=5), max_size=6), st.integers(1, 4), st.data())
def test_joined_rows_equal_brute_force(rows: list[list[str]], together: int, data: st.DataObject) -> None:
    evidence = data.draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6))
    texts = [" ".join(row) for row in rows]
    found = best_spans(joined(tokenize_page(texts), together), [" ".join(evidence)])[0]
    places = [(row, i) for row, words in enumerate(rows) for i in range(len(words))]
    best: tuple[float, int, int] | None = None
    for first in range(len(places)):
        for last in range(first, len(places)):
            if places[last][0] - places[first][0] >= together:
                break
            words = [rows[row][i] for row, i in places[first : last + 1]]
            if not set(words) & set(evidence):
                continue
            score = BLEU(tokenize="none", effective_order=True).sentence_score(" ".join(words), [" ".join(evidence)])
            key = (-round(score.score / 100, 10), last - first, first)
            best = key if best is None or key < best else best
    if best is None:
        assert found is None
        return
    assert found is not None
    first, last = places[best[2]], places[best[2] + best[1]]
    end_row = found.paragraph_id if found.end_paragraph_id is None else found.end_paragraph_id
    assert (found.paragraph_id, found.start_character, end_row, found.end_character) == (
        first[0],
        2 * first[1],
        last[0],
        2 * last[1] + 1,
    )
    assert found.bleu_score == pytest.approx(-best[0], abs=1e-9)
