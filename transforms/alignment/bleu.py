"""BLEU from match counts, in two variants that share them.

- ``sacrebleu``: hypothesis = span, reference = evidence, effective order, smoothing ``exp``;
- ``released``, as the code behind the released ``bleu_score`` has it: hypothesis = evidence,
  reference = span, uniform weights over min(4, tokens of the evidence) orders, no smoothing.

Scores are 0 to 1.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import sacrebleu

from kiltetl.transforms.alignment.tokens import tokenizer_for, tokens

Bleu = Literal["sacrebleu", "released"]
Floats = npt.NDArray[np.float64]

THRESHOLD: Final = 0.5
"""An evidence is mapped when its span's score, not rounded, is at least this."""

ORDERS: Final = 4


def signature(bleu: Bleu = "sacrebleu", language: str = "en") -> str:
    """How a score is made, in sacrebleu's notation."""
    effective, smooth = {"sacrebleu": ("yes", "exp"), "released": ("no", "none")}[bleu]
    return (
        f"bleu:{bleu}|nrefs:1|case:lc|eff:{effective}|tok:{tokenizer_for(language)}|fold:typography"
        f"|smooth:{smooth}|version:{sacrebleu.__version__}"
    )


def bleu(text: str, reference: str, language: str = "en", variant: Bleu = "sacrebleu") -> float:
    """Sentence BLEU of a text against a reference, 0 to 1: what ``best_span`` makes greatest over a page.

    Args:
        text: the span of a page.
        reference: the original evidence.
        language: decides on the tokens, see ``kiltetl.transforms.alignment.tokens``.
        variant: see the module.

    >>> bleu("A kite is a toy.", "a kite is a toy ."), round(bleu("A kite is a toy.", "A kite is a craft."), 3)
    (1.0, 0.537)
    """
    tokenizer = tokenizer_for(language)
    span, evidence = tokens(text, tokenizer), tokens(reference, tokenizer)
    counts = [sum((_grams(span, order) & _grams(evidence, order)).values()) for order in range(1, ORDERS + 1)]
    return score(variant, len(evidence), len(span), counts) if counts[0] else 0.0


def _grams(found: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(found[start:] for start in range(order)), strict=False))


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """log BLEU as a sum: a part for each order's count and a part for the window's length.

    ``by_count[k - 1][n - 1][c]`` is the part of c matches of order n in windows of k tokens, the
    last k standing for all longer ones.
    """

    bleu: Bleu
    size: int  # tokens of the evidence
    by_count: tuple[tuple[Floats, ...], ...]

    def by_length(self, longest: int) -> Floats:
        """The part of each length 0 to ``longest``; it falls from the evidence's length on."""
        lengths = np.arange(1, longest + 1)
        if self.bleu == "released":
            parts = np.minimum(0, 1 - lengths / self.size)
        else:
            log = np.log(lengths)
            totals = log.copy()
            for n in range(1, ORDERS):
                totals[n:] += log[:-n]
            parts = np.minimum(0, 1 - self.size / lengths) - totals / np.minimum(lengths, ORDERS)
        return np.concatenate(([-np.inf], parts))

    def bands(self, shortest: int, longest: int) -> list[tuple[int, int, tuple[Floats, ...]]]:
        """``(first, last, tables)``: the lengths from first to last go by the same tables."""
        cuts = [*range(1, len(self.by_count) + 1), longest + 1]
        return [
            (max(first, shortest), min(behind - 1, longest), tables)
            for first, behind, tables in zip(cuts, cuts[1:], self.by_count, strict=False)
            if max(first, shortest) <= min(behind - 1, longest)
        ]


@lru_cache(maxsize=1024)
def scale_of(bleu: Bleu, size: int) -> Scale:
    with np.errstate(divide="ignore"):
        log = np.log(np.arange(size + 1))
    if bleu == "released":
        orders = min(ORDERS, size)
        return Scale(bleu, size, (tuple((log - log[size - n]) / orders for n in range(orders)),))
    by_count = []
    for orders in range(1, ORDERS + 1):
        tables = [log / orders for _ in range(orders)]
        for n, table in enumerate(tables):
            # Without a match of order n there is none of a higher one. The k-th order without counts
            # 1 / 2^k: as a sum over the orders, each halves itself and all that follow.
            table[0] = -(orders - n) * math.log(2) / orders if n else -math.inf
        by_count.append(tuple(tables))
    return Scale(bleu, size, tuple(by_count))


def score(bleu: Bleu, size: int, length: int, counts: Sequence[int]) -> float:
    """BLEU from matches by order, in exact arithmetic up to the root: one half is one half."""
    over, under, halves = 1, 1, 0
    orders = min(ORDERS, size if bleu == "released" else length)
    for n, matches in enumerate(counts[:orders]):
        if bleu == "released":
            over, under = over * matches, under * (size - n)
        else:
            halves += not matches
            over, under = over * (matches or 1), under * (length - n) * (1 if matches else 2**halves)
    excess = 1 - (length / size if bleu == "released" else size / length)
    product = over / under
    root = math.sqrt(math.sqrt(product)) if orders == ORDERS else product ** (1 / orders)
    return min(1.0, root * math.exp(min(0.0, excess)))
