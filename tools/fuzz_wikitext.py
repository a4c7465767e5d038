"""Fuzz the page parser: random splices of pages and markup. Run with: python -m tools.fuzz_wikitext --pages 50000

Holds for every page: no exception, anchors at their offsets, no marks in the output, and time linear in the
page's length (a generous share of a second a megabyte, with a floor). Prints the seed and the page that failed.
"""

import argparse
import random
import sys
import time
from pathlib import Path

from kiltetl.transforms.wiki.sites import ENGLISH
from kiltetl.transforms.wikitext import Options, parse_page

# fmt: off
MARKUP = (
    "[[", "]]", "{{", "}}", "{{{", "}}}", "|", "[", "]", "''", "'''", "'''''", "=", "==", "\n", "\n\n", "\n* ",
    "\n# ", "\n: ", "\n; ", "\n== A ==\n", "\n ", "<ref>", "</ref>", "<ref name=a/>", "<!--", "-->", "<nowiki>",
    "</nowiki>", "<nowiki/>", "<pre>", "</pre>", "<math>", "</math>", "<br>", "<div>", "</div>", "<ol><li>",
    "</li>", "<table>", "<tr><td>", "</table>", "\n{|\n", "\n|-\n| ", "\n|}\n", "||", "!!", "&amp;", "&", "&#91;",
    "&#x5d;", "&lt;", "<", ">", "__NOTOC__", "http://e.org ", "[http://e.org ", "[[File:A.jpg|thumb|",
    "[[Category:B]]", "[[de:C]]", "[[D|e]]s", "[[F]]", "{{convert|5|km|mi}}", "{{x}}", "{{nowrap|", "{{lang|fr|",
    "{{quote|", "{{cite web|", "{{Infobox\n| a = ", "<poem>", "</poem>", "<gallery>", "\u200e", "\u00a0", "\x01",
    "\x04", "\x07", "----", "%41", "_", "#", ":", ";", "*", "é", "𐌲", "漢字", "word ", "a b c ", "(", ")", ", ", ". ",
)
# fmt: on
PAGES = [
    "'''Foo''' ({{lang-fr|Bar}}; born {{birth date|1980|5|7}}) is a [[thing]]s.<ref>{{cite|x}}</ref>\n\n"
    "== History ==\n{{main|Bar}}\nIt is {{convert|5|km|mi}} [[Long (word)|long]], see [http://e.org the site].\n"
    "* one ''two''\n* [[three]]\n",
    '{| class="wikitable"\n! a !! b\n|-\n| [[c]] || d\n|}\nAfter.\n[[File:X.jpg|thumb|A [[cat]]]]\n[[Category:Y|z]]\n',
    "; term : definition\n: indented\n# a\n## b\n<blockquote>long\nquote</blockquote>\n"
    "{{Infobox\n| a = {{b|c}}\n}}\nText.",
]


def page(chance: random.Random, sources: list[str]) -> str:
    """Pieces of pages and of markup, in any order."""
    pieces = []
    for _ in range(chance.randint(1, chance.choice((5, 30, 120)))):
        if chance.random() < 0.35:
            source = chance.choice(sources)
            start = chance.randrange(len(source))
            pieces.append(source[start : start + chance.randint(1, 300)])
        else:
            pieces.append(chance.choice(MARKUP) * (1 if chance.random() < 0.95 else chance.randint(2, 200)))
    return "".join(pieces)


def check(wikitext: str, options: Options) -> float:
    """Raises AssertionError where something does not hold; the seconds it took."""
    start = time.process_time()
    parsed = parse_page("Page", wikitext, ENGLISH, options)
    seconds = time.process_time() - start
    for number, row in enumerate(parsed.paragraphs):
        assert row.paragraph_id == number
        assert number == 0 or row.text == " ".join(row.text.split()) != ""
        assert number == 0 or not any(character < " " for character in row.text), "mark in text"
        for anchor in row.anchors:
            assert row.text[anchor.start : anchor.end] == anchor.text != "", "offsets"
            assert not any(character < " " for character in anchor.href + anchor.wikipedia_title), "mark in target"
    assert not any(character < " " for name in parsed.categories for character in name), "mark in category"
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--pages", type=int, default=2000, help="how many pages (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other pages (default: 0)")
    parser.add_argument("--texts", type=Path, help="a file of real wikitext to splice from, beside the built-in pages")
    arguments = parser.parse_args()
    sources = PAGES + ([arguments.texts.read_text("utf-8")] if arguments.texts else [])
    total = 0
    slowest = 0.0
    started = time.monotonic()
    for number in range(arguments.pages):
        chance = random.Random(f"{arguments.seed}/{number}")
        wikitext = page(chance, sources)
        options = Options(tables=chance.choice(("drop", "cells")), math=chance.choice(("source", "drop")))
        total += len(wikitext)
        try:
            seconds = check(wikitext, options)
            slowest = max(slowest, seconds)
            assert seconds < 0.25 + len(wikitext) / 1e6 * 5, f"took {seconds:.2f} s"
        except Exception as error:
            print(
                f"seed {arguments.seed}, page {number}: {type(error).__name__}: {error}\n{wikitext!r}", file=sys.stderr
            )
            return 1
    elapsed = time.monotonic() - started
    print(
        f"{arguments.pages} pages, {total / 1e6:.1f} MB, {elapsed:.0f} s: nothing found; slowest page {slowest:.3f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
