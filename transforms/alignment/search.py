"""The best-BLEU span: where in a page a text stands, or what comes closest to it.

``best_span(paragraphs, evidence)`` is exact: of all token spans of all paragraphs it returns the
one with the highest sentence BLEU against the evidence (KILT, section 3.2), ties to the fewest
tokens, then the first in the page. Nothing is preselected; what is left out is proven worse first.

**Tokens** are sacrebleu's (``13a``, or ``zh`` and ``char`` by language) of the lower-cased text with
typographic quotes, dashes and no-break spaces folded. A tokeniser only spreads text with white
space, so the tokens' visible characters are those of the text in the same order, and that gives
the offsets. Three rewrites of 13a and one letter change the length; they are tracked apart.

**BLEU** comes in two variants, which share their match counts:

- ``sacrebleu``: hypothesis = span, reference = evidence, effective order, smoothing ``exp``;
- ``released``, as the code behind the released ``bleu_score`` has it: hypothesis = evidence,
  reference = span, uniform weights over min(4, tokens of the evidence) orders, no smoothing.

**Counting.** Let an n-gram stand R times in the evidence. One at position p of the page adds to the
clipped matches of a window that starts at i <= p exactly when fewer than R of the same n-gram stand
between i and p, that is, when its R-th previous occurrence starts before i. So one number for each
position and order decides, and the matches of all windows with one start are a cumulative sum.

**Bounds.** BLEU never falls when a count rises while the length stays (the smoothing included), and
a window's clipped matches are at most those of any window around it. So a window of length l that
starts in [a, a + w) scores at most what l tokens with the matches of the hull [a, a + w - 1 + l)
would. The search starts with whole paragraphs as hulls, goes on with blocks of starts and ends
with single ones (w = 1, where the bound is the score); whatever cannot reach the best score known
so far is dropped. The same bounds limit the length: for l >= R tokens of evidence there is no
brevity penalty and a paragraph's matches are spread over ever more tokens, so the bound falls with l.

Offsets count code points of the raw paragraph, end exclusive. Scores are 0 to 1.
"""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Final

import numpy as np
import numpy.typing as npt

from kiltetl.schemas.records import Span
from kiltetl.transforms.alignment.bleu import ORDERS, Bleu, Floats, scale_of, score
from kiltetl.transforms.alignment.tokens import Ints, Places, TokenizedPage, tokenize_page, tokens

TIE: Final = 1e-10
"""Scores no further apart than this are equal."""

MOST_CELLS: Final = 1 << 15
MOST_ROWS: Final = 1 << 10
"""How many windows, and starts, are scored at once: small enough for the cache and for any page."""


def _previous(page: TokenizedPage, evidence: Sequence[str]) -> Ints:
    """(orders, tokens of the page): from where on the n-gram that ends at a token counts.

    It adds to the clipped matches of the windows that start behind the number and no later than
    the n-gram itself. One that the evidence lacks has the number of tokens, a start that no window has.
    """
    size = len(page.ids)
    previous = np.full((ORDERS, size), size, np.int32)
    words = {word: number for number, word in enumerate(dict.fromkeys(evidence), 1)}
    base = len(words) + 1
    local = np.zeros(len(page.vocabulary) + 1, np.int64)
    for word, number in words.items():
        if word in page.vocabulary:
            local[page.vocabulary[word]] = number
    numbered = np.array([words[word] for word in evidence], np.int64)
    unigrams = local[page.ids]  # of the page, numbered as in the evidence, 0 for any other
    ends = np.flatnonzero(unigrams)
    wanted, found = numbered, unigrams[ends]
    for n in range(min(ORDERS, len(evidence))):
        if n:  # an n-gram is known by the number of what it adds a token to, and of that token
            follower = unigrams[ends + 1]
            ends, found = ends[follower > 0] + 1, (found * base + follower)[follower > 0]
            wanted = wanted[:-1] * base + numbered[n:]
        kinds, wanted, times = np.unique(wanted, return_inverse=True, return_counts=True)
        kind = np.minimum(np.searchsorted(kinds, found), len(kinds) - 1)
        known = kinds[kind] == found
        ends, found = ends[known], kind[known]
        order = np.argsort(found, kind="stable")
        place, kind = ends[order], found[order]
        back = np.arange(len(kind)) - times[kind]
        earlier = (back >= 0) & (kind.take(back, mode="clip") == kind)
        previous[n, place] = np.where(earlier, place.take(back, mode="clip") - n, -1)
    return previous


@dataclass(slots=True, eq=False)
class _Blocks:
    """Sets of windows, one an entry: they start in [start, end), end by ``stop`` and have
    ``shortest`` to ``longest`` tokens. None has a log BLEU above ``bound``.
    """

    start: Ints
    end: Ints
    stop: Ints
    shortest: Ints
    longest: Ints
    bound: Floats

    def take(self, chosen: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> "_Blocks":
        return _Blocks(*(getattr(self, each.name)[chosen] for each in fields(self)))

    def split(self, width: int) -> "_Blocks":
        """The same windows in blocks of at most ``width`` starts."""
        pieces = -(-(self.end - self.start) // width)
        number = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        blocks = self.take(np.repeat(np.arange(len(pieces)), pieces))
        blocks.start = (blocks.start + number * width).astype(np.int32)
        blocks.end = np.minimum(blocks.start + width, blocks.end)
        blocks.longest = np.minimum(blocks.longest, blocks.stop - blocks.start)
        return blocks.take(blocks.shortest <= blocks.longest)


@dataclass(slots=True)
class _Best:
    """The best windows so far: of those that tie, each that beats all shorter and earlier ones."""

    score: float = 0.0
    scores: Floats = field(default_factory=lambda: np.zeros(0))
    lengths: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    starts: Ints = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def floor(self) -> float:
        """log BLEU below which no window can win, rounding allowed for."""
        return math.log(self.score - TIE) - 1e-12 if self.score > TIE else -sys.float_info.max

    def add(self, logs: Floats, starts: Ints, shortest: int) -> None:
        """Takes in windows with ``logs``, log BLEU, by start and length."""
        self.score = max(self.score, math.exp(logs.max(initial=-math.inf)))
        row, column = np.nonzero(logs >= self.floor)
        if not len(row):
            return
        scores = np.concatenate((self.scores, np.exp(logs[row, column])))
        lengths = np.concatenate((self.lengths, (column + shortest).astype(np.int32)))
        starts = np.concatenate((self.starts, starts[row]))
        order = np.lexsort((starts, lengths))
        order = order[scores[order] >= self.score - TIE]
        record = np.maximum.accumulate(scores[order])
        order = order[np.concatenate(([True], record[1:] > record[:-1]))]
        self.scores, self.lengths, self.starts = scores[order], lengths[order], starts[order]


class _Search:
    """One evidence in one page."""

    def __init__(self, page: TokenizedPage, evidence: Sequence[str], bleu: Bleu) -> None:
        self.page = page
        self.size = len(evidence)
        self.previous = _previous(page, evidence)
        self.scale = scale_of(bleu, self.size)
        self.best = _Best()

    def window(self) -> tuple[int, int] | None:
        """Start and length, in tokens of the page, of the best window."""
        page, size = self.page, self.size
        matched = (self.previous < len(page.ids)).sum(axis=0)
        if not matched.any():
            return None
        # n-grams of the evidence, clipped or not, that end in the paragraph's next `size` tokens
        until = np.concatenate(([0], np.cumsum(matched)))
        here = np.arange(len(page.ids))
        density = until[np.minimum(here + size, page.stop[page.paragraph])] - until[here]
        wanted = [size - n for n in range(min(ORDERS, size))]
        if density.max() >= sum(wanted):
            whole = self.first_whole(density, wanted)
            if whole is not None:
                return whole, size  # scores 1: a shorter one is too brief, a longer one not precise

        self.by_length = self.scale.by_length(int((page.stop - page.first).max()))
        dense = int(density.argmax())
        paragraph = page.paragraph[dense]
        first, stop = int(page.first[paragraph]), int(page.stop[paragraph])
        near = np.arange(max(dense - 4, first), min(dense + 5, stop), dtype=np.int32)
        self.examine(near, np.full(len(near), stop, np.int32), 1, 2 * size)

        blocks = self.paragraphs()
        width = 1 << max(0, (size // 4).bit_length() - 1)
        while width > 1:
            blocks = self.narrow(blocks.split(width), width)
            width = max(1, width // 4)
        blocks = blocks.split(1)
        for rows, shortest, longest in self.chunks(blocks, 1):
            self.examine(blocks.start[rows], blocks.stop[rows], shortest, longest)
        return (int(self.best.starts[0]), int(self.best.lengths[0])) if len(self.best.starts) else None

    def first_whole(self, density: Places, wanted: list[int]) -> int | None:
        """Start of the first window of the evidence's length that has as many matches of each order."""
        size, tokens = self.size, len(density)
        likely = int((density >= sum(wanted)).argmax())
        if likely + size <= tokens:
            start = np.array([likely], np.int32)
            if self.matches(start, start + size, size)[: len(wanted), 0, -1].tolist() == wanted:
                return likely
        # An n-gram is a flaw of the windows that begin by its own start and hold its end, but in which
        # it does not count. Flaws are added where such windows begin and taken off behind the last.
        end = np.arange(tokens)
        flaws = np.zeros(tokens + 1, np.int64)
        for n, previous in enumerate(self.previous[: len(wanted)]):
            first, last = np.maximum(end - size + 1, 0), np.minimum(previous, end - n)
            flawed = first <= last
            flaws += np.bincount(first[flawed], minlength=tokens + 1)
            flaws -= np.bincount(last[flawed] + 1, minlength=tokens + 1)
        whole = np.flatnonzero(np.cumsum(flaws)[: max(0, tokens - size + 1)] == 0)
        return int(whole[0]) if len(whole) else None

    def paragraphs(self) -> _Blocks:
        """A block for each paragraph that can hold the best window."""
        page = self.page
        order, place = np.nonzero(self.previous < len(page.ids))
        paragraph = page.paragraph[place]
        counted = self.previous[order, place] < page.first[paragraph]
        shape = (len(self.previous), len(page.first))
        totals = np.bincount((order * shape[1] + paragraph)[counted], minlength=shape[0] * shape[1]).reshape(shape)

        lengths = page.stop - page.first
        bound, by_count, first = np.full(len(lengths), -np.inf), np.zeros(len(lengths)), 1
        for first, last, tables in self.scale.bands(1, len(self.by_length) - 1):
            by_count = np.zeros(len(lengths))
            for n, (table, total) in enumerate(zip(tables, totals, strict=False)):
                by_count += table.take(np.minimum(total, last - n))
            peak = np.maximum.accumulate(self.by_length[first : last + 1]).take(lengths - first, mode="clip")
            np.maximum(bound, by_count + peak, out=bound, where=lengths >= first)
        # From the evidence's length on the part of the length falls: the last one that can win.
        falling = max(self.size, first)
        limit = np.searchsorted(-self.by_length[falling:], by_count - self.best.floor, side="right") + falling - 1
        longest = np.minimum(limit, lengths).astype(np.int32)
        blocks = _Blocks(page.first, page.stop, page.stop, np.ones_like(longest), longest, bound)
        return blocks.take(bound >= self.best.floor)

    def chunks(self, blocks: _Blocks, width: int) -> Iterator[tuple[npt.NDArray[np.intp], int, int]]:
        """Blocks that can still hold the best window, highest bound first: rows, shortest, longest."""
        rows = np.argsort(-blocks.bound, kind="stable")
        while True:
            rows = rows[: int(np.searchsorted(-blocks.bound[rows], -self.best.floor, side="right"))]
            if not len(rows):
                return
            longest = int(blocks.longest[rows[:MOST_ROWS]].max())
            some = rows[: max(1, min(MOST_ROWS, MOST_CELLS // (longest + width)))]
            yield some, int(blocks.shortest[some].min()), int(blocks.longest[some].max())
            rows = rows[len(some) :]

    def narrow(self, blocks: _Blocks, width: int) -> _Blocks:
        """What can hold the best window of blocks of ``width`` starts: fewer blocks, fewer lengths."""
        kept = [np.zeros(0, np.intp)]
        for rows, shortest, longest in self.chunks(blocks, width):
            logs = self.logs(blocks.start[rows], blocks.stop[rows], shortest, longest, width)
            able = logs >= self.best.floor
            blocks.shortest[rows] = shortest + able.argmax(axis=1)
            blocks.longest[rows] = longest - able[:, ::-1].argmax(axis=1)
            blocks.bound[rows] = logs.max(axis=1)
            kept.append(rows[able.any(axis=1)])
        blocks = blocks.take(np.concatenate(kept))
        if len(blocks.start):
            top = int(blocks.bound.argmax())
            starts = np.arange(blocks.start[top], blocks.end[top], max(1, width // 8), dtype=np.int32)
            stops = np.full(len(starts), blocks.stop[top], np.int32)
            self.examine(starts, stops, int(blocks.shortest[top]), int(blocks.longest[top]))
        return blocks.take(blocks.bound >= self.best.floor)

    def examine(self, starts: Ints, stops: Ints, shortest: int, longest: int) -> None:
        """Puts the windows with these starts and lengths among the best."""
        longest = min(longest, int((stops - starts).max(initial=0)))
        if shortest <= longest:
            self.best.add(self.logs(starts, stops, shortest, longest), starts, shortest)

    def logs(self, starts: Ints, stops: Ints, shortest: int, longest: int, width: int = 1) -> Floats:
        """(starts, lengths): the highest log BLEU that windows with a start in [start, start + width)
        can have; for a width of 1, log BLEU itself. -inf where the stop leaves no room.
        """
        lengths = np.arange(shortest, longest + 1, dtype=np.int32)
        counts = self.matches(starts, stops, longest + width - 1)[:, :, shortest + width - 2 :]
        if width > 1:
            for n, matches in enumerate(counts):
                np.minimum(matches, np.maximum(lengths - n, 0), out=matches)
        logs = np.where(lengths <= (stops - starts)[:, None], self.by_length[shortest : longest + 1], -np.inf)
        for first, last, tables in self.scale.bands(shortest, longest):
            columns = slice(first - shortest, last - shortest + 1)
            for table, matches in zip(tables, counts, strict=False):
                logs[:, columns] += table.take(matches[:, columns])
        return logs

    def matches(self, starts: Ints, stops: Ints, longest: int) -> Ints:
        """(orders, starts, longest): clipped matches of the windows by start and length, 1 to longest.

        A window longer than what is left up to its stop has the matches of what is left.
        """
        places = np.minimum(starts[:, None] + np.arange(longest, dtype=np.int32), stops[:, None])
        counts = self.previous.take(places, axis=1, mode="clip") < starts[:, None]
        for n in range(1, len(counts)):
            counts[n, :, :n] = False  # these begin before the window
        return np.cumsum(counts, axis=2, dtype=np.int32)


def best_spans(page: TokenizedPage, evidences: Iterable[str], bleu: Bleu = "sacrebleu") -> list[Span | None]:
    """``best_span`` of each evidence in a page that was tokenised once."""
    return [_best(page, tokens(evidence, page.tokenizer), bleu) for evidence in evidences]


def best_span(paragraphs: Sequence[str], evidence: str, language: str = "en", bleu: Bleu = "sacrebleu") -> Span | None:
    """The span with the highest BLEU against the evidence; None where no token is shared.

    With ``released`` it is None too where every span scores 0, that is, where one of the evidence's
    orders has no match.

    >>> best_span(["Rome", "Active 1999-2001 only"], "1999–2001")
    Span(paragraph_id=1, start_character=7, end_character=16, bleu_score=1.0, end_paragraph_id=None)
    """
    return best_spans(tokenize_page(paragraphs, language), [evidence], bleu)[0]


def _best(page: TokenizedPage, evidence: Sequence[str], bleu: Bleu) -> Span | None:
    if not evidence or not len(page.ids):
        return None
    search = _Search(page, evidence, bleu)
    window = search.window()
    if window is None:
        return None
    start, length = window
    paragraph = int(page.paragraph[start])
    counts = search.matches(np.array([start], np.int32), page.stop[[paragraph]], length)[:, 0, -1]
    first_row, last_row = int(page.row[start]), int(page.row[start + length - 1])
    return Span(
        paragraph_id=first_row,
        end_paragraph_id=None if last_row == first_row else last_row,
        start_character=int(page.starts[start]),
        end_character=int(page.ends[start + length - 1]),
        bleu_score=score(bleu, len(evidence), length, counts.tolist()),
    )
