"""A wiki of a few pages, and dumps written to files."""

from collections.abc import Sequence
from pathlib import Path

from tests.support.miniwiki import Page, dump_xml, multistream

PAGES = [
    Page("Pear", "'''Pear''' is a [[fruit]] and a [[tree]].\n\n== Uses ==\n* [[old name|jam]]\n* see [[Red link]]"),
    Page("Fruit", "A fruit.\n\n[[Category:Food|fruit]]"),
    Page("Old name", "#REDIRECT [[Jam#Making]]", redirect="Jam"),
    Page("Jam", "Jam is made of [[pear]]s."),
    Page("Older name", "#REDIRECT [[Old name]]", redirect="Old name"),
    Page("Loop", "#REDIRECT [[Pool]]", redirect="Pool"),
    Page("Pool", "#REDIRECT [[Loop]]", redirect="Loop"),
    Page("Gone", "#REDIRECT [[Nowhere]]", redirect="Nowhere"),
    Page("Foods", "#REDIRECT [[Category:Food]]", redirect="Category:Food"),
    Page("Category:Food", "Food.", namespace=14),
    Page("Data", '{"a": 1}', model="json"),
    Page("Mix", "'''Mix''' may be:\n* [[Jam]]\n{{disambiguation}}"),
]


def write(path: Path, pages: Sequence[Page] = PAGES, per_stream: int = 3) -> Path:
    dump, _ = multistream(dump_xml(pages), per_stream)
    path.write_bytes(dump)
    return path
