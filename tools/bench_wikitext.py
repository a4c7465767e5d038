"""Speed of the page parser beside mwparserfromhell's own text, in one run, on the same pages, on one core.

Run with: python -m tools.bench_wikitext [DUMP] [--rounds N]. The pages are the articles of a small dump, by
default those of the real English sample, or where that is not beside the checkout, generated ones, which is
said; rounds alternate between the two, and the best of each counts.
The rate of WikiExtractor's cleaning is not measured but taken from its recorded ratio to strip_code.
"""

import argparse
import bz2
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import mwparserfromhell

from kiltetl.transforms.wikitext import parse_page
from tools.generate import long_articles

ROOT = Path(__file__).resolve().parents[1]

SHARED = Path(os.environ.get("KILTETL_SHARED", ROOT.parent / "shared"))
SAMPLE = SHARED / "data" / "dumps" / "enwiki-2016-sample.xml.bz2"
WIKIEXTRACTOR_RATIO = 10.0 / 1.9  # MB/s of clean_text without templates to MB/s of strip_code, on the same pages


def pages_of(path: Path) -> list[tuple[str, str]]:
    """Title and wikitext of the articles of a dump that fits into memory."""
    data = path.read_bytes()
    root = ElementTree.fromstring(bz2.decompress(data) if path.suffix == ".bz2" else data)
    pages = []
    for page in root.iter():
        if page.tag.rpartition("}")[2] == "page":
            parts = {element.tag.rpartition("}")[2]: element.text or "" for element in page.iter()}
            if parts.get("ns", "0") == "0" and "redirect" not in parts:
                pages.append((parts["title"], parts["text"]))
    return pages


def bench_pages(dump: Path | None, sample: Path = SAMPLE) -> list[tuple[str, str]]:
    """The articles of a dump, else of the real sample, else generated ones."""
    if dump is None and not sample.exists():
        print(f"no real pages at {sample} (KILTETL_SHARED names another folder): these are generated")
        return long_articles()
    return pages_of(dump or sample)


def seconds(work: Callable[[str, str], object], pages: list[tuple[str, str]]) -> float:
    start = time.process_time()
    for title, wikitext in pages:
        work(title, wikitext)
    return time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("dump", nargs="?", type=Path, help="a small dump (the real English sample)")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.dump is not None and not arguments.dump.exists():
        print(f"no dump at {arguments.dump}", file=sys.stderr)
        return 2
    pages = bench_pages(arguments.dump)
    size = sum(len(wikitext.encode()) for _, wikitext in pages) / 1e6
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(arguments.rounds):
        ours.append(seconds(parse_page, pages))
        theirs.append(seconds(lambda title, wikitext: mwparserfromhell.parse(wikitext).strip_code(), pages))
        ours.append(seconds(parse_page, pages))
    rate, base = size / min(ours), size / min(theirs)
    print(f"{len(pages)} pages, {size:.2f} MB of wikitext, process time on one core, best of {arguments.rounds}")
    print(f"  parse_page (templates rendered, anchors kept)   {rate:6.2f} MB/s {len(pages) / min(ours):6.0f} pages/s")
    print(f"  mwparserfromhell parse().strip_code()           {base:6.2f} MB/s {len(pages) / min(theirs):6.0f} pages/s")
    print(f"  ratio                                           {rate / base:6.2f}")
    print(f"  to WikiExtractor's cleaning, by recorded ratio  {rate / base / WIKIEXTRACTOR_RATIO:6.2f}")
    return hard_texts()


def hard_texts() -> int:
    """Texts of 60 kB to 2 MB that are slow elsewhere: the slowest, and whether each is under its bound."""
    from tests.support.hard_wikitext import HARD, long_list

    taken = {name: (seconds(parse_page, [("Page", text)]), 1.0) for name, text in HARD.items()}
    taken["a list of 25,000 items, 2 MB"] = seconds(parse_page, [("Page", long_list())]), 4.0
    slowest = sorted(taken.items(), key=lambda item: -item[1][0] / item[1][1])
    over = [name for name, (took, bound) in taken.items() if took >= bound]
    print(f"\n{len(taken)} hard texts, {len(over)} over their bound; the slowest:")
    for name, (took, bound) in slowest[:8]:
        print(f"  {name:48s} {took:5.2f} s (bound {bound:.0f} s)")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
