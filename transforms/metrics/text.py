"""A predicted text against a gold text: normal form, token F1 and ROUGE-L.

The normal form and the F1 are SQuAD's (Rajpurkar et al., 2016), as KILT's and MKQA's scorers use
them. ROUGE-L is that of the PyPI package ``rouge`` 1.0.1, which KILT's scorer calls, found by an
exact longest common subsequence on bit vectors.
"""

import re
import string
from collections import Counter
from collections.abc import Collection, Sequence
from math import isqrt
from typing import Final

_DELETE: Final = str.maketrans("", "", string.punctuation)
_PUNCTUATION: Final = tuple(string.punctuation)
_ARTICLES: Final = frozenset(("a", "an", "the"))
_ARTICLE: Final = re.compile(r"\b(a|an|the)\b")


def without_punctuation(text: str) -> str:
    """The text without ASCII punctuation; curly quotes and long dashes stay."""
    if text.replace(" ", "").isalnum():
        return text  # as most are
    if text.isascii():
        return text.translate(_DELETE)
    for sign in _PUNCTUATION:  # str.translate is slow on other texts
        if sign in text:
            text = text.replace(sign, "")
    return text


def squad_tokens(text: str) -> list[str]:
    """The words of a text's normal form: lower case, no ASCII punctuation, no ``a an the``."""
    words = without_punctuation(text.lower()).split()
    # Within a token without sign or mark no word boundary lies, so an article is a whole token there.
    # \w is isalnum() or an underscore, and underscores are gone.
    if "".join(words).isalnum():
        return [word for word in words if word not in _ARTICLES]
    return _ARTICLE.sub(" ", " ".join(words)).split()


def squad_normal(text: str) -> str:
    """The normal form under which KILT's exact match compares."""
    return " ".join(squad_tokens(text))


def token_f1(prediction: Sequence[str], gold: Sequence[str]) -> float:
    """Harmonic mean of precision and recall of tokens, with multiplicity; 0 to 1, 0 where none is shared."""
    if prediction == gold:
        return 1.0 if prediction else 0.0
    distinct, distinct_gold = set(prediction), set(gold)
    shared = distinct & distinct_gold
    if not shared:
        return 0.0
    if len(distinct) == len(prediction) or len(distinct_gold) == len(gold):
        same = len(shared)  # no token is in both more than once
    elif len(prediction) + len(gold) < 40:
        same = sum(min(prediction.count(token), gold.count(token)) for token in shared)
    else:
        same = sum((Counter(prediction) & Counter(gold)).values())
    precision, recall = same / len(prediction), same / len(gold)
    return (2 * precision * recall) / (precision + recall)


# --------------------------------------------------------------------------------------------
# ROUGE-L

Sentences = Sequence[Sequence[str]]


def rouge_sentences(text: str) -> list[list[str]]:
    """What the package makes of a text: sentences end at every full stop, words at white space.

    A sentence of white space alone holds one word, the empty one.
    """
    return [part.split() or [""] for part in text.split(".") if part]


def rouge_l(prediction: str, gold: str) -> float:
    """ROUGE-L's f of one text against one, 0 to 0.999999995; 0 where either has no sentence.

    The package's: case counts, nothing is normalised, and every quantity counts distinct words. The
    overlap is the union of the words in the longest common subsequences of all pairs of sentences,
    ``f = 2pr / (p + r + 1e-8)``.
    """
    return best_rouge_l(prediction, (gold,))


def best_rouge_l(prediction: str, golds: Collection[str]) -> float:
    """The maximum of ``rouge_l`` over gold texts; 0 without one."""
    predicted = rouge_sentences(prediction)
    words = {word for sentence in predicted for word in sentence}
    best = 0.0
    for gold in golds if predicted else ():
        sentences = rouge_sentences(gold)
        gold_words = {word for sentence in sentences for word in sentence}
        shared = words & gold_words
        if not shared or _f(len(shared), len(words), len(gold_words)) <= best:
            continue  # f grows with the overlap, which holds shared words only
        overlap = _overlap(predicted, sentences, shared)
        best = max(best, _f(overlap, len(words), len(gold_words)))
    return best


def _f(overlap: int, predicted: int, gold: int) -> float:
    recall, precision = overlap / gold, overlap / predicted
    return 2.0 * ((precision * recall) / (precision + recall + 1e-8))


def _overlap(predicted: Sentences, gold: Sentences, shared: set[str]) -> int:
    if len(shared) == 1:
        return 1
    union: set[str] = set()
    predicted_words = [set(sentence) for sentence in predicted]
    for sentence in gold:
        common = shared & set(sentence)
        for other, words in zip(predicted, predicted_words, strict=True):
            new = (common & words) - union
            if len(common & words) == 1:
                union |= new
            elif new:
                union.update(common_subsequence(sentence, other))
    return len(union)


def common_subsequence(x: Sequence[str], y: Sequence[str]) -> list[str]:
    """The longest common subsequence that a trace of the table from its far corner finds, last word first.

    Of several longest ones the package's is taken, since it decides which *distinct* words count:
    at equal words both step back, else the step goes along ``y`` unless only a step along ``x``
    keeps the length.

    With T[i, j] the length for x[:i] and y[:j], bit j of row i is T[i, j + 1] - T[i, j]; a row
    comes from the one before by an addition and a subtraction of whole numbers (Hyyrö, 2004), and
    a step along ``y`` is the right one exactly where that bit is 0. Rows are kept at every √n-th
    place and found again from there: √n · len(y) / 4 bytes in all.
    """
    full = (1 << len(y)) - 1
    places: dict[str, int] = {}
    for j, word in enumerate(y):
        places[word] = places.get(word, 0) | 1 << j
    step = isqrt(len(x)) + 1
    kept: list[int] = []
    row = full  # bits inverted: 0 = the length grows here
    for i, word in enumerate(x):
        if i % step == 0:
            kept.append(row)
        hit = row & places.get(word, 0)
        if hit:
            row = ((row + hit) | (row - hit)) & full
    found: list[str] = []
    left = full  # the columns up to where the trace stands
    for block in range(len(kept) - 1, -1, -1):
        first = block * step
        words = x[first : first + step]
        row, rows = kept[block], []
        for word in words:
            hit = row & places.get(word, 0)
            if hit:
                row = ((row + hit) | (row - hit)) & full
            rows.append(row)
        for word, row in zip(reversed(words), reversed(rows), strict=True):
            equal = places.get(word, 0)
            stops = (~row | equal) & left
            if not stops:
                return found
            column = stops.bit_length() - 1
            left = (2 << column) - 1
            if equal >> column & 1:
                found.append(word)
                left >>= 1
    return found
