"""How fast the alignment is: python -m tools.bench_align (under a minute, one process).

Pages are made here: words by Zipf's law, sentences with commas and full stops, paragraphs of very
different lengths, a tenth of them headings. What is timed is ``best_spans`` of one evidence in a
page that is tokenised already; its rival in the same run is the released algorithm.
"""

import math
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import exp, log

from kiltetl.transforms.alignment.search import best_spans
from kiltetl.transforms.alignment.tokens import TokenizedPage, tokenize_page, tokens

WORDS = 30_000
COMMON = "the of in and a to was is for on as by with from at his that it an were are which be this had"
KINDS = {"verbatim": 0.0, "a fifth differs": 0.2, "half differs": 0.5, "of another page": None}


def vocabulary(rng: random.Random) -> list[str]:
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "is", "on")]
    return COMMON.split() + ["".join(rng.choices(syllables, k=rng.choice((1, 2, 2, 3)))) for _ in range(WORDS)]


class Corpus:
    """Text of any length, the same in every run."""

    def __init__(self) -> None:
        self.rng = random.Random(5)
        self.words = vocabulary(self.rng)
        total, self.weights = 0.0, []
        for rank in range(len(self.words)):
            total += 1 / (rank + 2.7)
            self.weights.append(total)

    def paragraph(self, length: int) -> str:
        """About ``length`` tokens."""
        words = self.rng.choices(self.words, cum_weights=self.weights, k=max(1, length * 10 // 11))
        for i in range(0, len(words), 22):
            words[i] = words[i].capitalize()
            words[i - 1] += "."
        for i in range(9, len(words), 23):
            words[i] += ","
        return " ".join(words)

    def page(self, size: int, longest: int = 0) -> list[str]:
        """Paragraphs of ``size`` tokens in all; one has at least ``longest``."""
        lengths = [longest * 5 // 4] if longest else []
        while sum(lengths) < size:
            heading = self.rng.random() < 0.1
            lengths.append(self.rng.randint(1, 4) if heading else 2 + int(self.rng.lognormvariate(4, 0.8)))
        self.rng.shuffle(lengths)
        return [self.paragraph(length) for length in lengths]

    def evidence(self, paragraphs: Sequence[str], size: int, share: float) -> str:
        """``size`` tokens of one paragraph of which ``share`` are replaced, left out or doubled."""
        long = [words for words in map(tokens, paragraphs) if len(words) >= size]
        words = self.rng.choice(long)
        start = self.rng.randrange(len(words) - size + 1)
        words = words[start : start + size]
        for place in self.rng.sample(range(size), round(size * share)):
            (other,) = self.rng.choices(self.words, cum_weights=self.weights)
            words[place] = self.rng.choice((other, other, "", f"{words[place]} {other}"))
        return " ".join(words)


def seconds(work: Callable[[], object]) -> float:
    """Processor time, which other processes of the machine do not lengthen."""
    start = time.process_time()
    work()
    return time.process_time() - start


def latencies(corpus: Corpus, page_size: int, size: int, share: float | None, times: int) -> list[float]:
    """Seconds of single alignments, sorted; ten evidences a page."""
    found = []
    for _ in range(max(1, times // 10)):
        paragraphs = corpus.page(page_size, size)
        page = tokenize_page(paragraphs)
        source = corpus.page(max(500, 2 * size), size) if share is None else paragraphs
        for _ in range(10):
            evidence = corpus.evidence(source, size, share or 0.0)
            found.append(seconds(partial(best_spans, page, [evidence])))
    return sorted(found)


def row(label: str, found: Sequence[float]) -> str:
    median, high = statistics.median(found), found[int(0.99 * len(found))]
    return f"{label}  {1e3 * median:9.2f}  {1e3 * high:9.2f}  {len(found) / sum(found):10,.0f}"


def plot(label: str, series: dict[str, dict[int, float]], width: int = 60, height: int = 14) -> str:
    """Medians against a length, both on logarithmic axes; the dots show a straight line of slope 1."""
    points = [(x, y) for line in series.values() for x, y in line.items()]
    left, right = (math.log(pick(x for x, _ in points)) for pick in (min, max))
    low, high = (math.log(pick(y for _, y in points)) for pick in (min, max))
    grid = [[" "] * (width + 1) for _ in range(height + 1)]

    def put(x: float, y: float, mark: str) -> None:
        column, line = round((x - left) / (right - left) * width), round((high - y) / (high - low) * height)
        if 0 <= line <= height:
            grid[line][column] = mark

    for column in range(width + 1):
        x = left + (right - left) * column / width
        put(x, high - (right - x), ".")
    marks = dict(zip(series, "vfho", strict=False))
    for name, line in series.items():
        for x, y in line.items():
            put(math.log(x), math.log(y), marks[name])
    legend = ", ".join(f"{mark} {name}" for name, mark in marks.items())
    lines = [f"{'ms' if i == 0 else '':>4} |{''.join(cells)}" for i, cells in enumerate(grid)]
    axis = f"     +{'-' * width}\n      {min(x for x, _ in points):,} … {max(x for x, _ in points):,} {label}"
    return "\n".join(["", *lines, f"{axis}; {legend}; . linear growth"])


# --------------------------------------------------------------------------------------------
# The rival


def grams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))


def sentence_bleu(reference: Sequence[str], hypothesis: Sequence[str]) -> float:
    """BLEU of two token lists, counted anew at each call as nltk does; 0 where an order has no match."""
    orders, total = min(4, len(hypothesis)), 0.0
    for n in range(1, orders + 1):
        counts, allowed = grams(hypothesis, n), grams(reference, n)
        matches = sum(min(times, allowed[gram]) for gram, times in counts.items())
        if not matches:
            return 0.0
        total += log(matches / sum(counts.values())) / orders
    return exp(total + min(0.0, 1 - len(reference) / len(hypothesis)))


def released(paragraphs: Sequence[Sequence[str]], evidence: Sequence[str]) -> tuple[float, int]:
    """The best score, and how many windows were scored: all of three paragraphs, most words in common first."""
    wanted = set(evidence)
    candidates = sorted(paragraphs, key=lambda words: -len(wanted.intersection(words)))[:3]
    best, windows = 0.0, 0
    for words in candidates:
        for i in range(len(words)):
            for j in range(i + 1, len(words) + 1):
                best = max(best, sentence_bleu(words[i:j], evidence))
                windows += 1
    return best, windows


def rivals(corpus: Corpus, times: int) -> Iterator[str]:
    """Both on the same pairs: a page of 5,000 tokens, an evidence of 30 of which a fifth differs."""
    paragraphs = corpus.page(5000, 30)
    words = [tokens(paragraph) for paragraph in paragraphs]
    page: TokenizedPage = tokenize_page(paragraphs)
    evidences = [corpus.evidence(paragraphs, 30, 0.2) for _ in range(times)]
    windows = 0

    def rival() -> None:
        nonlocal windows
        for evidence in evidences:
            windows += released(words, tokens(evidence))[1]

    theirs = seconds(rival) / times
    for bleu in ("sacrebleu", "released"):
        ours = min(seconds(partial(best_spans, page, evidences, bleu)) for _ in range(5)) / times
        yield f"best_spans, whole page, bleu={bleu:9} {1e3 * ours:8.2f} ms an evidence, {theirs / ours:,.0f} × as fast"
    yield f"released algorithm, three paragraphs    {1e3 * theirs:8,.0f} ms an evidence"
    each = 1e6 * theirs * times / windows
    yield f"  ({windows / times:,.0f} windows an evidence, {each:.0f} µs a window, plain Python)"


def main() -> None:
    corpus = Corpus()
    paragraphs = corpus.page(200_000)
    size = sum(len(paragraph.encode()) for paragraph in paragraphs) / 1e6
    taken = min(seconds(lambda: tokenize_page(paragraphs)) for _ in range(3))
    print(f"tokenisation with offsets  {size / taken:.1f} MB/s\n")

    head = "median ms     p99 ms  alignments/s"
    print(f"page tokens  evidence of 30    {head}")
    growth: dict[str, dict[int, float]] = {}
    for page_size, times in ((500, 200), (5000, 300), (50_000, 30), (200_000, 10)):
        for kind, share in KINDS.items():
            found = latencies(corpus, page_size, 30, share, times)
            growth.setdefault(kind, {})[page_size] = 1e3 * statistics.median(found)
            print(row(f"{page_size:11,}  {kind:16}", found), flush=True)
    print(plot("page tokens", growth))

    print(f"\nevidence tokens, page of 5,000 {head}")
    growth = {}
    for length in (3, 10, 30, 100, 300, 1000, 3000):
        for kind, share in list(KINDS.items())[:2]:
            found = latencies(corpus, 5000, length, share, 80)
            growth.setdefault(kind, {})[length] = 1e3 * statistics.median(found)
            print(row(f"{length:11,}  {kind:16}", found), flush=True)
    print(plot("evidence tokens", growth))

    print()
    for line in rivals(corpus, 2):
        print(line, flush=True)


if __name__ == "__main__":
    main()
