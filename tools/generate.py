"""Generated dumps for the benches: multistream bz2 of the English Wikipedia's shape, any size.

Shape: 58 % of the pages of namespace 0 are redirects; about half of the XML's bytes are the text of
articles, the rest other namespaces and the XML around it. Texts come from the real sample where
KILTETL_SHARED (or ../shared) has it, else from the example wiki; titles are numbered, links kept.
"""

import bz2
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
_HEAD = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">\n'
    "  <siteinfo><sitename>Wikipedia</sitename><dbname>enwiki</dbname>"
    "<base>https://en.wikipedia.org/wiki/Main_Page</base><case>first-letter</case>"
    '<namespaces><namespace key="0" case="first-letter" /><namespace key="6" case="first-letter">File</namespace>'
    '<namespace key="10" case="first-letter">Template</namespace>'
    '<namespace key="14" case="first-letter">Category</namespace></namespaces></siteinfo>\n'
)


def texts() -> list[tuple[str, str]]:
    """(title, wikitext) of real articles, or of the example wiki's."""
    from kiltetl.schemas.records import RawPage
    from kiltetl.transforms.wiki.dump import pages, read_header
    from kiltetl.transforms.wiki.ranges import decompressed, utf8

    shared = Path(os.environ.get("KILTETL_SHARED", ROOT.parent / "shared"))
    sample = shared / "data" / "dumps" / "enwiki-2016-sample.xml.bz2"
    path = sample if sample.exists() else next((ROOT / "examples").glob("*multistream.xml.bz2"))
    with open(path, "rb") as stream:
        header, rooted = read_header(utf8((True, chunk) for chunk in decompressed(stream)))
        found = pages(((True, chunk) for chunk in decompressed(stream)), header, rooted)
        return [
            (page.title, page.text)
            for page in found
            if isinstance(page, RawPage) and page.namespace == 0 and page.redirect is None and page.text
        ]


def long_articles(count: int = 100, size: int = 20_000) -> list[tuple[str, str]]:
    """(title, wikitext) of articles of ``size`` characters or more, each put together of others' texts."""
    sources = texts()
    articles = []
    for number in range(count):
        pieces: list[str] = []
        while sum(map(len, pieces)) < size:
            title, text = sources[(number + 7 * len(pieces)) % len(sources)]
            pieces.append(f"\n== {title} ==\n{text}\n" if pieces else f"{text}\n")
        articles.append((f"Article {number}", "".join(pieces)))
    return articles


def _page(title: str, namespace: int, number: int, text: str, redirect: str | None = None) -> str:
    target = f'    <redirect title="{escape(redirect, {chr(34): "&quot;"})}" />\n' if redirect else ""
    return (
        f"  <page>\n    <title>{escape(title)}</title>\n    <ns>{namespace}</ns>\n    <id>{number}</id>\n{target}"
        f"    <revision>\n      <id>{number + 900_000_000}</id>\n      <parentid>{number + 800_000_000}</parentid>\n"
        "      <timestamp>2019-07-19T20:25:53Z</timestamp>\n      <contributor>\n        <username>Example</username>\n"
        f"        <id>{number % 9973}</id>\n      </contributor>\n      <comment>generated</comment>\n"
        "      <model>wikitext</model>\n      <format>text/x-wiki</format>\n"
        f'      <text xml:space="preserve">{escape(text)}</text>\n      <sha1>phoiac9h4m842xq45sp7s6u21eteeq1</sha1>\n'
        "    </revision>\n  </page>\n"
    )


def page_xml(size: int, piece: int = 4_000) -> Iterator[str]:
    """Pages of about ``size`` bytes in all: pieces of real articles of varied length, redirects, templates."""
    sources = texts()
    written, number, articles = 0, 0, 0
    while written < size:
        title, text = sources[articles % len(sources)]
        start = (articles // len(sources) * piece) % max(1, len(text) - piece)
        start = text.rfind("\n", 0, start) + 1
        length = piece // 4 if articles % 4 else piece * 4  # most pages are short, most bytes in long ones
        body = text[start : start + length]
        name = title if articles < len(sources) else f"{title} {articles}"
        number += 1
        batch = [_page(name, 0, number, body)]
        redirects = 2 if articles % 5 < 2 else 1  # 58 % of namespace 0
        for i in range(redirects):
            number += 1
            batch.append(_page(f"{name} alias {i}", 0, number, f"#REDIRECT [[{name}]]", name))
        number += 1
        batch.append(_page(f"Template:Box {number}", 10, number, "{{navbox|" + body[: length * 3 // 10] + "}}"))
        articles += 1
        xml = "".join(batch)
        written += len(xml)
        yield xml


def _streams(size: int, pages_per_stream: int = 100) -> Iterator[bytes]:
    yield _HEAD.encode()
    batch: list[str] = []
    for xml in page_xml(size):
        batch.append(xml)
        if len(batch) * 4 >= pages_per_stream:
            yield "".join(batch).encode()
            batch = []
    yield "".join(batch).encode()
    yield b"</mediawiki>\n"


def write_dump(path: Path, size: int, workers: int = 2) -> int:
    """Write a multistream dump of about ``size`` bytes of XML; the exact number of them."""
    total = 0
    with open(path, "wb") as out, ProcessPoolExecutor(workers) as pool:
        pending = []
        for stream in _streams(size):
            total += len(stream)
            pending.append(pool.submit(bz2.compress, stream))
            while len(pending) > 64:
                out.write(pending.pop(0).result())
        for future in pending:
            out.write(future.result())
    return total
