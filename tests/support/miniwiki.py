"""Dumps for the tests and the examples: XML from pages, a multistream file from XML.

    python -m tests.support.miniwiki

writes the compressed files of examples/ anew from examples/miniwiki.xml.
"""

import bz2
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from tests.support.checkout import ROOT

EXAMPLES: Final = ROOT / "examples"
NAME: Final = "miniwiki-20190801"
DUMP: Final = f"{NAME}-pages-articles-multistream.xml.bz2"
INDEX: Final = f"{NAME}-pages-articles-multistream-index.txt.bz2"
SUMS: Final = f"{NAME}-sha1sums.txt"
PAGES_PER_STREAM: Final = 8  # Wikimedia has 100

NAMESPACES: Final[Mapping[int, str]] = {
    -2: "Media",
    -1: "Special",
    0: "",
    1: "Talk",
    2: "User",
    3: "User talk",
    4: "Miniwiki",
    5: "Miniwiki talk",
    6: "File",
    7: "File talk",
    8: "MediaWiki",
    9: "MediaWiki talk",
    10: "Template",
    11: "Template talk",
    12: "Help",
    13: "Help talk",
    14: "Category",
    15: "Category talk",
}

_PAGE = re.compile(rb"[ \t]*<page[\s>].*?</page>\s*?\n", re.DOTALL)


class Page(NamedTuple):
    """One ``<page>`` element. ``page_id`` 0 is its number in the dump; None or "" leave an element out."""

    title: str | None
    text: str = ""
    page_id: int | None = 0
    namespace: int | None = 0
    redirect: str | None = None
    revision_id: int = 0  # 0: 1,000 more than the page's number
    parent_id: int | None = None
    timestamp: str = "2019-07-01T12:00:00Z"
    model: str = "wikitext"


def dump_xml(
    pages: Iterable[Page],
    namespaces: Mapping[int, str] | None = NAMESPACES,
    language: str = "en",
    dbname: str = "miniwiki",
    version: str = "0.10",
) -> bytes:
    """A whole dump in MediaWiki's export format; without ``<siteinfo>`` where ``namespaces`` is None."""
    schema = f"http://www.mediawiki.org/xml/export-{version}/"
    lines = [
        f'<mediawiki xmlns="{schema}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:schemaLocation="{schema} http://www.mediawiki.org/xml/export-{version}.xsd" '
        f'version="{version}" xml:lang="{language}">'
    ]
    if namespaces is not None:
        lines += [
            "  <siteinfo>",
            f"    <sitename>{escape(namespaces.get(4, 'Miniwiki'))}</sitename>",
            f"    <dbname>{dbname}</dbname>",
            f"    <base>https://{dbname}.example/wiki/Main_Page</base>",
            "    <generator>MediaWiki 1.34.0-wmf.15</generator>",
            "    <case>first-letter</case>",
            "    <namespaces>",
        ]
        for key, name in namespaces.items():
            end = f">{escape(name)}</namespace>" if name else " />"
            lines.append(f'      <namespace key="{key}" case="first-letter"{end}')
        lines += ["    </namespaces>", "  </siteinfo>"]
    for number, page in enumerate(pages, 1):
        lines += _page_lines(page, number)
    return "\n".join([*lines, "</mediawiki>", ""]).encode()


def _page_lines(page: Page, number: int) -> Iterable[str]:
    page_id = number if page.page_id == 0 else page.page_id
    yield "  <page>"
    for name, value in (("title", page.title), ("ns", page.namespace), ("id", page_id)):
        if value is not None:
            yield f"    <{name}>{escape(str(value))}</{name}>"
    if page.redirect is not None:
        yield f"    <redirect title={quoteattr(page.redirect)} />"
    yield "    <revision>"
    revision = (
        ("id", page.revision_id or 1000 + number),
        ("parentid", page.parent_id),
        ("timestamp", page.timestamp),
        ("model", page.model),
        ("format", {"wikitext": "text/x-wiki", "json": "application/json"}.get(page.model)),
    )
    for name, value in revision:
        if value is not None and value != "":
            yield f"      <{name}>{value}</{name}>"
    yield f'      <text xml:space="preserve">{escape(page.text)}</text>'
    yield "    </revision>"
    yield "  </page>"


def multistream(xml: bytes, pages_per_stream: int) -> tuple[bytes, str]:
    """A dump as Wikimedia packs it, and the text of its index.

    One bz2 stream holds what stands before the first page, one each ``pages_per_stream`` pages and
    one what follows the last. The index has a line ``offset:page id:title`` for each page, offset
    being the first byte of the page's stream; a page that lacks one of the two is not in it.
    """
    found = list(_PAGE.finditer(xml))
    if not found:
        raise ValueError("the XML has no page")
    packed, index = bz2.compress(xml[: found[0].start()]), []
    for first in range(0, len(found), pages_per_stream):
        group = found[first : first + pages_per_stream]
        for page in group:
            title, page_id = re.search(rb"<title>(.*?)</title>", page[0]), re.search(rb"<id>(\d+)</id>\s", page[0])
            if title and page_id and page_id.start() < page[0].find(b"<revision>"):
                index.append(f"{len(packed)}:{page_id[1].decode()}:{title[1].decode()}\n")
        packed += bz2.compress(xml[group[0].start() : group[-1].end()])
    return packed + bz2.compress(xml[found[-1].end() :]), "".join(index)


def example_files(xml: bytes) -> dict[str, bytes]:
    """The files of examples/ that are made from miniwiki.xml, by their names."""
    dump, index = multistream(xml, PAGES_PER_STREAM)
    files = {DUMP: dump, INDEX: bz2.compress(index.encode())}
    sums = [f"{hashlib.sha1(content).hexdigest()}  {name}\n" for name, content in files.items()]
    return files | {SUMS: "".join(sums).encode()}


if __name__ == "__main__":
    for name, content in example_files((EXAMPLES / "miniwiki.xml").read_bytes()).items():
        (EXAMPLES / name).write_bytes(content)
        print(f"{len(content):8,} bytes  examples/{name}")
