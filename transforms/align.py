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
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from itertools import count
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import sacrebleu

from kiltetl.schemas.records import Span

Bleu = Literal["sacrebleu", "released"]
Tokenizer = Literal["13a", "zh", "char"]
Places = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

THRESHOLD: Final = 0.5
"""An evidence is mapped when its span's score, not rounded, is at least this."""

TIE: Final = 1e-10
"""Scores no further apart than this are equal."""

ORDERS: Final = 4

MOST_CELLS: Final = 1 << 15
MOST_ROWS: Final = 1 << 10
"""How many windows, and starts, are scored at once: small enough for the cache and for any page."""

# --------------------------------------------------------------------------------------------
# Tokens

_FOLDED = {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "\u00a0": " "}

# What 13a rewrites before it splits, in its order. (It also turns a line break into a space.)
_REWRITTEN = (("<skipped>", ""), ("-\n", ""), ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))

# mteval-v13a. A point or comma is left alone only between digits; the two patterns consume what
# stands beside it, and that decides about runs of them.
_SYMBOLS = r"""!"#$%&()*+/:;<=>?@[\]^_`{|}~"""
_POINT_AFTER = re.compile(r"([^0-9])([.,])")
_FULL_STOP_BEFORE = re.compile(r"\.(?=[^0-9])")
_COMMA_BEFORE = re.compile(r",(?=[^0-9])")
_DASH = re.compile(r"(?<=[0-9])-")

# What sacrebleu's zh tokeniser takes for Chinese.
_CHINESE = re.compile(
    "[\u2001-\u2a6d\u2e80-\u2fdf\u2ff0-\u303f\u3100-\u312f\u31a0-\u31bf\u31c0-\u31ef\u3200-\u4db5"
    "\u4e00-\u9fbb\uf900-\ufa2d\ufa30-\ufa6a\ufa70-\ufad9\ufe10-\ufe1f\ufe30-\ufe4f\uff00-\uffef]"
)

_CHINESE_LANGUAGES = frozenset({"zh", "yue", "wuu", "gan", "lzh"})
_CHARACTER_LANGUAGES = frozenset({"ja", "th", "km", "lo", "my"})

# White space by code point; the last entry stands for all above.
_SPACE = np.array([chr(point).isspace() for point in range(0x3001)] + [False])


def tokenizer_for(language: str) -> Tokenizer:
    """sacrebleu's name of the tokens for a language code (``zh``, ``zh_cn``, ``zh-yue``, ``ja``, …)."""
    base = re.split("[-_]", language.lower(), maxsplit=1)[0]
    return "zh" if base in _CHINESE_LANGUAGES else "char" if base in _CHARACTER_LANGUAGES else "13a"


def signature(bleu: Bleu = "sacrebleu", language: str = "en") -> str:
    """How a score is made, in sacrebleu's notation."""
    effective, smooth = {"sacrebleu": ("yes", "exp"), "released": ("no", "none")}[bleu]
    return (
        f"bleu:{bleu}|nrefs:1|case:lc|eff:{effective}|tok:{tokenizer_for(language)}|fold:typography"
        f"|smooth:{smooth}|version:{sacrebleu.__version__}"
    )


def fold(text: str) -> str:
    """The text as it is compared: lower case, plain quotes, dashes and spaces."""
    text = text.lower()
    if not text.isascii():
        for typographic, plain in _FOLDED.items():
            text = text.replace(typographic, plain)
    return text


def _spread(text: str, tokenizer: Tokenizer) -> str:
    """The text with white space between its tokens."""
    if tokenizer == "char":
        return " ".join(text)
    text = f" {text} " if tokenizer == "13a" else _CHINESE.sub(r" \g<0> ", text.strip())
    for symbol in _SYMBOLS:
        if symbol in text:
            text = text.replace(symbol, f" {symbol} ")
    text = _POINT_AFTER.sub(r"\1 \2 ", text)
    text = _FULL_STOP_BEFORE.sub(" . ", text)
    text = _COMMA_BEFORE.sub(" , ", text)
    return _DASH.sub(" - ", text)


def _rewrite(text: str, tokenizer: Tokenizer) -> str:
    for old, new in _REWRITTEN if tokenizer == "13a" else ():
        text = text.replace(old, new)
    return text


def _origins(raw: str, tokenizer: Tokenizer) -> tuple[Places, Places]:
    """Starts and ends in the raw text, one for each character that fold and rewrite leave."""
    starts = np.repeat(np.arange(len(raw)), [len(letter.lower()) for letter in raw])
    ends = starts + 1
    text = fold(raw)
    for old, new in _REWRITTEN if tokenizer == "13a" else ():
        found = np.array([match.start() for match in re.finditer(old, text)], np.int64)
        if len(found):
            text = text.replace(old, new)
            if new:
                ends[found] = ends[found + len(old) - 1]
            gone = (found[:, None] + np.arange(len(new), len(old))).ravel()
            starts, ends = np.delete(starts, gone), np.delete(ends, gone)
    return starts, ends


def tokens(text: str, tokenizer: Tokenizer = "13a") -> list[str]:
    """The tokens of a text, as they are compared."""
    return _spread(_rewrite(fold(text), tokenizer), tokenizer).split()


@dataclass(frozen=True, slots=True, eq=False)
class TokenizedPage:
    """A page's tokens, for any number of evidences.

    The paragraphs' tokens follow each other; behind each paragraph's last stands one *stop*, a
    token that equals nothing. Paragraph p has the tokens ``first[p]`` to ``stop[p]``, the latter
    excluded. The arrays of positions count code points of the raw paragraph.
    """

    tokenizer: Tokenizer
    vocabulary: dict[str, int]  # token -> id, from 1
    ids: Ints  # one a token, 0 for a stop
    paragraph: Ints  # one a token, a paragraph's stop included
    row: Ints  # one a token: the row of the page it stands in; the paragraph, unless rows are joined
    first: Ints  # one a paragraph
    stop: Ints
    starts: Ints  # one a token
    ends: Ints


def tokenize_page(paragraphs: Sequence[str], language: str = "en") -> TokenizedPage:
    """Tokens and offsets of the paragraphs of a page."""
    tokenizer = tokenizer_for(language)
    folded = [fold(paragraph) for paragraph in paragraphs]
    texts = [_rewrite(text, tokenizer) for text in folded]
    text = "\n".join(texts)
    words = "\n".join(_spread(text, tokenizer) for text in texts).split()

    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    visible = np.flatnonzero(~_SPACE.take(points, mode="clip"))
    behind = np.cumsum(np.fromiter(map(len, words), np.int64, len(words)))
    start = visible[np.concatenate(([0], behind[:-1]))] if words else visible
    end = visible[behind - 1] + 1

    offsets = np.cumsum([0, *(len(text) + 1 for text in texts)])
    bounds = np.searchsorted(start, offsets)  # tokens before each paragraph
    paragraph = np.repeat(np.arange(len(texts)), np.diff(bounds))
    start -= offsets[paragraph]
    end -= offsets[paragraph]
    for number, raw in enumerate(paragraphs):
        # lower case only lengthens a text (İ), and the rewrites only shorten it
        if not len(raw) == len(folded[number]) == len(texts[number]):
            origin_starts, origin_ends = _origins(raw, tokenizer)
            here = slice(bounds[number], bounds[number + 1])
            start[here] = origin_starts[start[here]]
            end[here] = origin_ends[end[here] - 1]

    vocabulary: defaultdict[str, int] = defaultdict(count(1).__next__)
    ids, starts, ends = np.zeros((3, len(words) + len(texts)), np.int32)
    place = np.arange(len(words)) + paragraph
    ids[place] = np.fromiter(map(vocabulary.__getitem__, words), np.int32, len(words))
    starts[place] = start
    ends[place] = end
    numbers = np.arange(len(texts), dtype=np.int32)
    first = (bounds[:-1] + numbers).astype(np.int32)
    stop = (bounds[1:] + numbers).astype(np.int32)
    owner = np.repeat(numbers, stop - first + 1).astype(np.int32)
    return TokenizedPage(tokenizer, dict(vocabulary), ids, owner, owner, first, stop, starts, ends)


# --------------------------------------------------------------------------------------------
# Scores


@dataclass(frozen=True, slots=True, eq=False)
class _Scale:
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
def _scale(bleu: Bleu, size: int) -> _Scale:
    with np.errstate(divide="ignore"):
        log = np.log(np.arange(size + 1))
    if bleu == "released":
        orders = min(ORDERS, size)
        return _Scale(bleu, size, (tuple((log - log[size - n]) / orders for n in range(orders)),))
    by_count = []
    for orders in range(1, ORDERS + 1):
        tables = [log / orders for _ in range(orders)]
        for n, table in enumerate(tables):
            # Without a match of order n there is none of a higher one. The k-th order without counts
            # 1 / 2^k: as a sum over the orders, each halves itself and all that follow.
            table[0] = -(orders - n) * math.log(2) / orders if n else -math.inf
        by_count.append(tuple(tables))
    return _Scale(bleu, size, tuple(by_count))


def _score(bleu: Bleu, size: int, length: int, counts: Sequence[int]) -> float:
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


# --------------------------------------------------------------------------------------------
# Search


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
        self.scale = _scale(bleu, self.size)
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
        near = np.arange(max(dense - 4, page.first[paragraph]), min(dense + 5, page.stop[paragraph]), dtype=np.int32)
        self.examine(near, np.full(len(near), page.stop[paragraph], np.int32), 1, 2 * size)

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
        bound = np.full(len(lengths), -np.inf)
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


def joined(page: TokenizedPage, rows: int) -> TokenizedPage:
    """The page with each run of ``rows`` consecutive rows as one paragraph, for spans that go on from
    one row into the next. Takes ``rows`` times the memory; a span is found where it first begins."""
    count = len(page.first)
    if rows < 2 or count < 2:
        return page
    runs = range(max(1, count - rows + 1))
    stop_token = len(page.ids)  # an index behind the last token: becomes a stop
    pieces, lengths = [], []
    for run in runs:
        members = range(run, min(run + rows, count))
        pieces += [np.arange(page.first[row], page.stop[row]) for row in members]
        pieces.append(np.array([stop_token]))
        lengths.append(sum(int(page.stop[row] - page.first[row]) for row in members))
    place = np.concatenate(pieces)
    behind = np.cumsum(np.array(lengths) + 1)

    def taken(values: Ints) -> Ints:
        found: Ints = np.append(values, np.int32(0))[place]
        return found

    return replace(
        page,
        ids=taken(page.ids),
        paragraph=np.repeat(np.arange(len(runs), dtype=np.int32), np.array(lengths) + 1),
        row=taken(page.row),
        first=(behind - np.array(lengths) - 1).astype(np.int32),
        stop=(behind - 1).astype(np.int32),
        starts=taken(page.starts),
        ends=taken(page.ends),
    )


def best_spans(page: TokenizedPage, evidences: Iterable[str], bleu: Bleu = "sacrebleu") -> list[Span | None]:
    """``best_span`` of each evidence in a page that was tokenised once."""
    return [_best(page, tokens(evidence, page.tokenizer), bleu) for evidence in evidences]


def best_span(paragraphs: Sequence[str], evidence: str, language: str = "en", bleu: Bleu = "sacrebleu") -> Span | None:
    """The span with the highest BLEU against the evidence; None where no token is shared.

    With ``released`` it is None too where every span scores 0, that is, where one of the evidence's
    orders has no match.

    >>> best_span(["Rome", "Active 1999-2001 only"], "1999–2001")
    Span(paragraph_id=1, start_character=7, end_character=16, bleu_score=1.0)
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
        bleu_score=_score(bleu, len(evidence), length, counts.tolist()),
    )
