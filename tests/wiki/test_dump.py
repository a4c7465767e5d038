"""Dumps: every cut, every truncation, every version of the format, damage, real files."""

import bz2
import gzip
import io
import itertools
import lzma
import random
import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kiltetl.schemas.errors import DumpError
from kiltetl.schemas.reasons import RECORD_TOO_LARGE
from kiltetl.schemas.records import RawPage
from kiltetl.transforms.wiki import ranges as dump_bytes
from kiltetl.transforms.wiki.dump import (
    Header,
    MalformedPage,
    RegularPages,
    page_elements,
    pages,
    read_header,
    read_page,
    redirect_fragment,
)
from kiltetl.transforms.wiki.ranges import (
    compression_of,
    decompressed,
    encoding_of,
    is_multistream,
    is_splittable,
    range_chunks,
    stream_start,
    utf8,
)
from kiltetl.transforms.wiki.sites import ENGLISH
from tests.support.checkout import ENVIRONMENT

SITEINFO = textwrap.dedent("""\
    <siteinfo>
      <sitename>Vikipeja</sitename>
      <dbname>xxwiki</dbname>
      <base>https://xx.wikipedia.org/wiki/Main_Page</base>
      <case>first-letter</case>
      <namespaces>
        <namespace key="-1" case="first-letter">Speciala</namespace>
        <namespace key="0" case="first-letter" />
        <namespace key="1" case="first-letter">Parolanto</namespace>
        <namespace key="4" case="first-letter">Vikipeja</namespace>
        <namespace key="14" case="case-sensitive">Kategorija</namespace>
      </namespaces>
    </siteinfo>
    """)
ROOT = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="xx">\n'


def page(title: str, number: int, text: str = "x", more: str = "") -> str:
    return (
        f"  <page>\n    <title>{title}</title>\n    <ns>0</ns>\n    <id>{number}</id>\n{more}"
        f"    <revision><id>{number + 100}</id><text>{text}</text></revision>\n  </page>\n"
    )


def document(body: str) -> bytes:
    return (ROOT + SITEINFO + body + "</mediawiki>\n").encode()


TITLES = ["A", "Zoë", "C", "D"]
SMALL = document("".join(page(title, number) for number, title in enumerate(TITLES, 1)))
TINY = (
    "<mediawiki>\n"
    + "\n ".join(
        f"<page><title>{t}</title><id>{i}</id><revision><id>1</id></revision></page>" for i, t in enumerate("ABC")
    )
    + "\n</mediawiki>\n"
).encode()


def whole(data: bytes) -> list[RawPage | MalformedPage]:
    def chunks() -> Iterator[tuple[bool, bytes]]:
        return ((True, chunk) for chunk in decompressed(io.BytesIO(data)))

    header, rooted = read_header(utf8(chunks()))
    return list(pages(chunks(), header, rooted))


def raw(data: bytes) -> list[RawPage]:
    found = whole(data)
    assert not [p for p in found if isinstance(p, MalformedPage)]
    return [p for p in found if isinstance(p, RawPage)]


def one(body: str) -> RawPage:
    (found,) = raw(document(body))
    return found


def ranges(data: bytes, cuts: Sequence[int]) -> list[str]:
    """Titles of the pages of all ranges between the cuts."""
    header, rooted = read_header(utf8((True, chunk) for chunk in decompressed(io.BytesIO(data))))
    bounds = [0, *sorted(cuts), len(data)]
    return [
        found.title
        for start, end in itertools.pairwise(bounds)
        for found in pages(range_chunks(io.BytesIO(data), start, end), header, rooted)
    ]


def streams(data: bytes, sizes: Sequence[int]) -> bytes:
    """The data in bz2 streams of the given sizes, over and over: page and tag run over their borders."""
    out, position = b"", 0
    for size in itertools.cycle(sizes):
        if position >= len(data):
            return out
        out += bz2.compress(data[position : position + size])
        position += size
    raise AssertionError


def wikimedia(pages_of_streams: Sequence[Sequence[str]]) -> bytes:
    """A multistream dump as Wikimedia makes it: header, pages, end tag in streams of their own."""
    body = [ROOT + SITEINFO, *("".join(group) for group in pages_of_streams), "</mediawiki>\n"]
    return b"".join(bz2.compress(part.encode()) for part in body)


MULTISTREAM = wikimedia([[page("A", 1), page("Zoë", 2)], [page("C", 3)], [page("D", 4)]])


# --------------------------------------------------------------------------------------------
# ranges


@pytest.mark.parametrize("chunk", [7, 64, 1 << 20])
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(SMALL, id="plain"),
        pytest.param(MULTISTREAM, id="multistream"),
        pytest.param(streams(SMALL, [90]), id="streams-90"),
        pytest.param(streams(TINY, [13]), id="streams-13"),
        pytest.param(streams(TINY, [3, 50, 1]), id="streams-3-50-1"),
        pytest.param(TINY, id="tiny"),
    ],
)
@pytest.mark.soak
def test_two_ranges_partition_the_pages_wherever_they_are_cut(
    data: bytes, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump_bytes, "CHUNK", chunk)
    expected = [found.title for found in whole(data)]
    assert len(expected) in (3, 4)
    for cut in range(len(data) + 1):
        assert ranges(data, [cut]) == expected, cut


@given(
    cuts=st.lists(st.integers(0, 2000), max_size=6),
    sizes=st.lists(st.integers(1, 200), min_size=1, max_size=4),
    chunk=st.sampled_from([5, 64, 1000, 1 << 20]),
    compressed=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_many_ranges_partition_the_pages(cuts: list[int], sizes: list[int], chunk: int, compressed: bool) -> None:
    data = streams(SMALL, sizes) if compressed else SMALL
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dump_bytes, "CHUNK", chunk)
        assert ranges(data, [cut % (len(data) + 1) for cut in cuts]) == TITLES


def test_ordinals_count_from_0_in_every_range() -> None:
    header, rooted = read_header([(True, SMALL)])
    cut = SMALL.index(b"<title>C")
    first, second = (
        list(pages(range_chunks(io.BytesIO(SMALL), *bounds), header, rooted))
        for bounds in ((0, cut), (cut, len(SMALL)))
    )
    assert [(p.ordinal, p.title) for p in first] == [(0, "A"), (1, "Zoë"), (2, "C")]
    assert [(p.ordinal, p.title) for p in second] == [(0, "D")]


def test_a_range_reads_no_further_than_its_last_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_bytes, "CHUNK", 64)
    data = document("".join(page(str(number), number) for number in range(1, 200)))
    stream = io.BytesIO(data)
    list(page_elements(range_chunks(stream, 0, 2000), True))
    assert stream.tell() < 2600


def test_the_pages_of_one_stream_are_read_once() -> None:
    starts = [0]
    while (start := stream_start(io.BytesIO(MULTISTREAM), starts[-1] + 1, len(MULTISTREAM))) is not None:
        starts.append(start)
    assert len(starts) == 5
    header, rooted = read_header(utf8((True, chunk) for chunk in decompressed(io.BytesIO(MULTISTREAM))))
    counts = [
        len(list(pages(range_chunks(io.BytesIO(MULTISTREAM), start, end), header, rooted)))
        for start, end in itertools.pairwise([*starts, len(MULTISTREAM)])
    ]
    assert counts == [0, 2, 1, 1, 0]


def test_stream_start() -> None:
    data = bz2.compress(b"a" * 100) + bz2.compress(b"") + bz2.compress(b"b")
    first = len(bz2.compress(b"a" * 100))
    assert stream_start(io.BytesIO(data), 0, len(data)) == 0
    assert stream_start(io.BytesIO(data), 1, len(data)) == first
    assert stream_start(io.BytesIO(data), 1, first) is None
    assert stream_start(io.BytesIO(data), 1, first + 1) == first
    assert stream_start(io.BytesIO(data), first + 1, len(data)) == first + 14
    assert stream_start(io.BytesIO(data), len(data), len(data) + 5) is None


def test_what_can_be_split() -> None:
    assert is_splittable(io.BytesIO(SMALL))
    assert is_splittable(io.BytesIO(MULTISTREAM))
    assert not is_splittable(io.BytesIO(bz2.compress(SMALL)))
    assert not is_splittable(io.BytesIO(gzip.compress(SMALL)))
    assert not is_splittable(io.BytesIO(lzma.compress(SMALL)))
    assert not is_splittable(io.BytesIO(SMALL.decode().encode("utf-16")))
    assert not is_splittable(io.BytesIO(streams(SMALL.decode().encode("utf-16"), [100])))
    assert is_splittable(io.BytesIO(b'<?xml version="1.0" encoding="UTF-8"?>' + SMALL))
    assert is_multistream(io.BytesIO(MULTISTREAM))
    assert not is_multistream(io.BytesIO(MULTISTREAM), probe=10)
    assert not is_multistream(io.BytesIO(bz2.compress(SMALL) + b"\0" * 100))


# --------------------------------------------------------------------------------------------
# truncation and damage


def packed(name: str, data: bytes) -> bytes:
    pack = {"plain": bytes, "gz": lambda d: gzip.compress(d, mtime=0), "xz": lzma.compress, "bz2": bz2.compress}
    return pack[name](data) if name in pack else streams(data, [90])


@pytest.mark.parametrize("chunk", [7, 1 << 20])
@pytest.mark.parametrize("name", ["plain", "gz", "xz", "bz2", "streams"])
def test_a_file_cut_off_anywhere_is_refused(name: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_bytes, "CHUNK", chunk)
    text = TINY.rstrip()
    data = packed(name, text)
    assert len(whole(data)) == 3
    for length in range(len(data)):
        with pytest.raises(DumpError):
            whole(data[:length])


@pytest.mark.parametrize("chunk", [7, 1 << 20])
def test_a_file_cut_off_is_refused_by_one_of_its_ranges(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_bytes, "CHUNK", chunk)
    text = TINY.rstrip()
    for length in range(0, len(text), 3):
        for cut in range(0, length + 1, 2):
            with pytest.raises(DumpError):
                ranges(text[:length], [cut])


@given(st.integers(0, len(MULTISTREAM) - 1), st.lists(st.integers(0, len(MULTISTREAM)), max_size=3))
@settings(max_examples=150, deadline=None)
def test_a_multistream_file_cut_off_is_refused_by_one_of_its_ranges(length: int, cuts: list[int]) -> None:
    with pytest.raises(DumpError):
        ranges(MULTISTREAM[:length], [min(cut, length) for cut in cuts])


def test_cut_off_between_streams() -> None:
    last = stream_start(io.BytesIO(MULTISTREAM), len(MULTISTREAM) - 60, len(MULTISTREAM))
    assert last is not None
    assert bz2.decompress(MULTISTREAM[last:]) == b"</mediawiki>\n"
    with pytest.raises(DumpError, match="before </mediawiki>"):
        whole(MULTISTREAM[:last])
    with pytest.raises(DumpError, match="before </mediawiki>"):
        ranges(MULTISTREAM[:last], [100])


@pytest.mark.parametrize("tail", [b"", b"\n", b"\0" * 1000, b"\r\n\n", b"\0\n" * 50])
@pytest.mark.parametrize("name", ["plain", "gz", "xz", "bz2", "streams"])
@pytest.mark.parametrize("chunk", [7, 1 << 20])
def test_padding_after_the_end(name: str, tail: bytes, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_bytes, "CHUNK", chunk)
    assert len(whole(packed(name, TINY) + tail)) == 3


@pytest.mark.parametrize("name", ["gz", "xz", "bz2"])
def test_files_put_one_after_another(name: str) -> None:
    half = TINY.index(b"B</title>")
    first, second = packed(name, TINY[:half]), packed(name, TINY[half:])
    assert [found.title for found in whole(first + second)] == ["A", "B", "C"]
    if name == "xz":  # whose streams may be padded
        assert [found.title for found in whole(first + b"\0" * 4 + second)] == ["A", "B", "C"]
    else:
        with pytest.raises(DumpError, match="has a hole"):
            whole(first + b"\0" * 4 + second)


@pytest.mark.parametrize("name", ["gz", "xz", "bz2"])
def test_something_else_after_the_end(name: str) -> None:
    with pytest.raises(DumpError, match=f"no {name} stream at byte"):
        whole(packed(name, TINY) + b"<html>404</html>")


@pytest.mark.parametrize("chunk", [7, 1 << 20])
def test_a_hole_of_zeros_in_a_multistream_file(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a download that sets the file's size first leaves it."""
    monkeypatch.setattr(dump_bytes, "CHUNK", chunk)
    starts = [found for found in range(len(MULTISTREAM)) if MULTISTREAM.startswith(b"BZh", found)]
    hole = MULTISTREAM[: starts[2]] + b"\0" * (starts[3] - starts[2]) + MULTISTREAM[starts[3] :]
    with pytest.raises(DumpError, match="hole"):
        whole(hole)
    for cut in range(len(hole)):
        with pytest.raises(DumpError):
            ranges(hole, [cut])
    with pytest.raises(DumpError, match="damaged"):
        whole(MULTISTREAM[:400] + b"\0" * (len(MULTISTREAM) - 400))


@pytest.mark.parametrize("name", ["gz", "xz", "bz2", "streams"])
def test_damaged_bytes_are_noticed(name: str) -> None:
    data = packed(name, TINY)
    for position in range(12 if name == "gz" else 0, len(data), 5):
        damaged = data[:position] + bytes([data[position] ^ 0x55]) + data[position + 1 :]
        try:
            found = whole(damaged)
        except DumpError:
            continue
        assert [p.title for p in found] == ["A", "B", "C"], position


@given(st.integers(0, len(SMALL) - 1), st.integers(1, 255))
@settings(max_examples=400, deadline=None)
def test_a_damaged_byte_of_plain_xml_loses_no_page_in_silence(position: int, change: int) -> None:
    damaged = SMALL[:position] + bytes([SMALL[position] ^ change]) + SMALL[position + 1 :]
    try:
        found = whole(damaged)
    except DumpError:
        return
    assert len(found) == 4 or any(isinstance(p, MalformedPage) for p in found)


def test_a_page_without_its_beginning() -> None:
    with pytest.raises(DumpError, match="did not begin"):
        whole(SMALL.replace(b"<page>", b"<pbge>", 1))
    assert SMALL.count(b"<page>") == 4
    second = SMALL.index(b"<page>", SMALL.index(b"<page>") + 1)
    with pytest.raises(DumpError, match="did not begin"):
        whole(SMALL[:second] + b"<qage>" + SMALL[second + 6 :])


def test_a_page_without_its_end_is_told_from_the_next() -> None:
    found = whole(SMALL.replace(b"</page>", b"</qage>", 1))
    assert isinstance(found[0], MalformedPage)
    assert [p.title for p in found[1:]] == ["C", "D"]


def test_bytes_that_are_no_utf8_spoil_one_page() -> None:
    found = whole(SMALL.replace("Zoë".encode(), b"Zo\xeb"))
    assert [type(p).__name__ for p in found] == ["RawPage", "MalformedPage", "RawPage", "RawPage"]


# --------------------------------------------------------------------------------------------
# headers


def test_header() -> None:
    header, rooted = read_header([(True, SMALL)])
    assert rooted
    assert header.version == (0, 10)
    site = header.site
    assert (site.language, site.dbname, site.name, site.first_letter) == ("xx", "xxwiki", "Vikipeja", True)
    assert site.base == "https://xx.wikipedia.org/wiki/Main_Page"
    assert [(n.key, n.names, n.first_letter) for n in site.namespaces] == [
        (-1, ("Speciala",), True),
        (0, ("",), True),
        (1, ("Parolanto",), True),
        (4, ("Vikipeja",), True),
        (14, ("Kategorija",), False),
    ]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_header_in_small_chunks(size: int) -> None:
    chunks = [(True, SMALL[start : start + size]) for start in range(0, len(SMALL), size)]
    assert read_header(utf8(chunks)) == read_header([(True, SMALL)])


@pytest.mark.parametrize(
    "prolog",
    [
        "",
        '<?xml version="1.0"?>',
        "\ufeff",
        '\ufeff<?xml version="1.0" encoding="utf-8"?>\n',
        "\n  ",
        "<!-- exported <page> by hand -->\n",
        '<?xml version="1.0"?>\n<?xml-stylesheet href="x"?>\n<!-- a --><!-- b -->\n',
    ],
)
def test_what_may_stand_before_the_root(prolog: str) -> None:
    data = prolog.encode() + SMALL
    header, rooted = read_header([(True, data)])
    assert rooted
    assert header.site.dbname == "xxwiki"
    if "<page>" not in prolog:
        assert len(whole(data)) == 4


@pytest.mark.parametrize(
    ("root", "version", "language"),
    [
        ("<mediawiki>", (), ENGLISH.language),
        ("<mediawiki version='0.3' xml:lang='fr'>", (0, 3), "fr"),
        ('<mediawiki xmlns:xsi="x"\n xsi:schemaLocation="a b" version="0.11" xml:lang="de">', (0, 11), "de"),
    ],
)
def test_roots(root: str, version: tuple[int, ...], language: str) -> None:
    header, rooted = read_header([(True, (root + SITEINFO + page("A", 1)).encode())])
    assert (rooted, header.version, header.site.language) == (True, version, language)


def test_without_siteinfo_the_english_wikipedia_is_assumed() -> None:
    assert read_header([(True, b"<mediawiki><page>")]) == (Header(ENGLISH), True)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b" \n\0", "empty"),
        (b"<html><body>Not found</body></html>", "not a MediaWiki XML export: it begins with '<html>"),
        (b'{"a": 1}', "not a MediaWiki XML export"),
        (b"<mediawikis></mediawikis>", "not a MediaWiki XML export"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><mediawiki>', "declares a document type"),
        (b"<mediawiki><siteinfo><sitename>X</sitename>", "neither a page nor </mediawiki>"),
        (b"<mediawiki><siteinfo><a></siteinfo></mediawiki>", "<siteinfo> of the dump is damaged"),
        (b"<mediawiki/>", "not a MediaWiki XML export"),
        *(
            (
                f'<?xml version="1.0" encoding="{name}"?><mediawiki>'.encode(),
                f"the XML declaration says '{name}': dumps are read in UTF-8 and UTF-16; convert it first: iconv",
            )
            for name in (
                "klingon",
                "base64",
                "ISO-8859-1",
                "cp1252",
                "utf-7",
                "idna",
                "utf-8-sig",
                "punycode",
                "rot13",
                "unicode_escape",
                "raw_unicode_escape",
                "cp037",
                "gb18030",
                "mbcs",
                "undefined",
                "zlib",
            )
        ),
    ],
)
def test_what_is_no_dump(data: bytes, message: str) -> None:
    with pytest.raises(DumpError, match=message):
        read_header(utf8([(True, data)]))


def test_an_empty_dump() -> None:
    assert whole(document("")) == []


def test_no_entity_is_expanded() -> None:
    laughs = '<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;">]>'
    with pytest.raises(DumpError, match="document type"):
        whole(laughs.encode() + SMALL)
    with pytest.raises(DumpError, match="damaged"):
        whole(document("").replace(b"<siteinfo>", f"<siteinfo>{laughs}".encode()))
    (found,) = whole(document(page("A", 1, "&lol2;")))
    assert isinstance(found, MalformedPage)
    assert "undefined entity" in found.detail


# --------------------------------------------------------------------------------------------
# pages that are too large


@pytest.mark.parametrize("size", [1, 7, 100, 1 << 20])
@pytest.mark.parametrize("most", [300, 400, 1000, 5000])
def test_a_page_that_is_too_large_is_passed_over(size: int, most: int) -> None:
    """Whatever the chunks, and wherever it is cut into ranges: never held, and no other page is lost."""
    texts = ["x", "y" * 3000, "z" * 80, "w" * 900, "v" * 3000, "u"]
    data = document("".join(page(f"A&amp;{i}", i + 1, text) for i, text in enumerate(texts)))
    whole = list(page_elements([(True, data)], True))
    chunks = [(True, data[i : i + size]) for i in range(0, len(data), size)]
    found = list(pages(chunks, Header(ENGLISH, (0, 10)), True, most))
    assert [one.ordinal for one in found] == list(range(6))
    for one, element, i in zip(found, whole, range(6), strict=True):
        if len(element) > most:
            assert isinstance(one, MalformedPage)
            assert (one.title, one.reason) == (f"A&{i}", RECORD_TOO_LARGE)
            assert one.detail == f"{len(element):,} bytes of XML, and --max-record-mb allows {most:,}"
        else:
            assert isinstance(one, RawPage)
            assert one.text == texts[i]
    drawn = random.Random(size * most)
    for _ in range(20):
        cuts = sorted(drawn.sample(range(1, len(data)), 3))
        pieces: list[Any] = []
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            stream = io.BytesIO(data)
            pieces += pages(range_chunks(stream, start, end), Header(ENGLISH, (0, 10)), True, most)
        assert [type(one) for one in pieces] == [type(one) for one in found], cuts


def test_a_large_page_is_never_held() -> None:
    chunk = b"y" * (1 << 16)
    head = document(page("A", 1, "x")).replace(b"</mediawiki>", b"<page><title>B</title><id>2</id><revision><text>")

    def chunks() -> Iterator[tuple[bool, bytes]]:
        yield True, head
        for _ in range(400):
            yield True, chunk
        yield True, b"</text></revision></page></mediawiki>"

    tracemalloc.start()
    try:
        one, large = pages(chunks(), Header(ENGLISH, (0, 10)), True, 1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert isinstance(one, RawPage)
    assert isinstance(large, MalformedPage)
    assert (large.title, large.reason) == ("B", RECORD_TOO_LARGE)


def test_a_large_page_that_is_cut_off() -> None:
    data = document(page("A", 1, "x") + page("B", 2, "y" * 5000))
    for cut in (1000, 3000, 5000):
        with pytest.raises(DumpError, match="ends inside a page"):
            list(page_elements([(True, data[i : i + 100]) for i in range(0, cut, 100)], True, 500))


# --------------------------------------------------------------------------------------------
# encodings


@pytest.mark.parametrize("size", [1, 3, 1000, 1 << 20])
@pytest.mark.parametrize(
    "encode",
    [
        pytest.param(lambda text: text.encode("utf-16"), id="utf-16-bom"),
        pytest.param(lambda text: b"\xfe\xff" + text.encode("utf-16-be"), id="utf-16-be-bom"),
        pytest.param(lambda text: text.encode("utf-16-le"), id="utf-16-le"),
        pytest.param(lambda text: text.encode("utf-16-be"), id="utf-16-be"),
        pytest.param(lambda text: ('<?xml version="1.0" encoding="utf-16"?>' + text).encode("utf-16"), id="declared"),
        pytest.param(lambda text: b'<?xml version="1.0" encoding="utf-16"?>' + text.encode(), id="declared-in-vain"),
        pytest.param(lambda text: b"\xef\xbb\xbf" + text.encode(), id="utf-8-bom"),
        pytest.param(lambda text: b'<?xml version="1.0" encoding="US-ASCII"?>' + text.encode(), id="ascii"),
    ],
)
def test_encodings(encode, size: int, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(dump_bytes, "CHUNK", size)
    assert [found.title for found in raw(encode(SMALL.decode()))] == TITLES


def test_cut_off_inside_a_letter_of_utf16() -> None:
    with pytest.raises(DumpError, match="utf-16"):
        whole(SMALL.decode().encode("utf-16") + b"\n")


def test_encoding_of_a_range_is_utf8() -> None:
    assert encoding_of(b"e>\n<page>") == "utf-8"
    assert compression_of(b"<mediawiki") == "plain"


# --------------------------------------------------------------------------------------------
# versions of the format


def test_export_0_3() -> None:
    body = (
        "<page><title>Foo</title><id>1</id><revision><id>2</id><text xml:space='preserve'>x</text></revision></page>"
        "<page><title>Talk:Foo</title><id>3</id><revision><id>4</id><text>y</text></revision></page>"
        "<page><title>Old name</title><id>5</id><revision><id>6</id>"
        "<text>#Redirect: [[foo bar#Part|x]]</text></revision></page>"
        "<page><title>Mention</title><id>7</id><revision><id>8</id><text>See:\n#REDIRECT [[Foo]]</text>"
        "</revision></page>"
        "<page><title>List</title><id>9</id><revision><id>10</id><text>#one [[Foo]]</text></revision></page>"
        "<page><title>Türkçe</title><id>11</id><revision><id>12</id><text>#YÖNLENDİRME [[Foo]]</text></revision></page>"
    )
    data = f'<mediawiki version="0.3" xml:lang="en">{body}</mediawiki>'.encode()
    assert [(p.title, p.namespace, p.redirect) for p in raw(data)] == [
        ("Foo", 0, None),
        ("Talk:Foo", 1, None),
        ("Old name", 0, "Foo bar"),
        ("Mention", 0, None),
        ("List", 0, None),
        ("Türkçe", 0, "Foo"),
    ]


def test_export_0_4_names_no_target() -> None:
    body = (
        "<page><title>A</title><id>1</id><redirect /><revision><id>2</id><text>#WEITERLEITUNG [[b_c#D]]</text>"
        "</revision></page>"
        "<page><title>B</title><id>3</id><redirect /><revision><id>4</id><text>  #Anything:[[:Category:X]]</text>"
        "</revision></page>"
        "<page><title>C</title><id>5</id><redirect /><revision><id>6</id><text>no link</text></revision></page>"
        "<page><title>D</title><id>7</id><redirect title='' /><revision><id>8</id><text># x [[Foo]]</text>"
        "</revision></page>"
    )
    data = f'<mediawiki version="0.4">{body}</mediawiki>'.encode()
    assert [p.redirect for p in raw(data)] == ["B c", "Category:X", "", "Foo"]


def test_redirects_are_what_the_dump_says() -> None:
    """Case C1."""
    found = raw(
        document(
            '<page><title>A</title><ns>0</ns><id>1</id><redirect title="Foo" /><revision><id>2</id>'
            "<text>#omdirigering: [[foo#Bar|x]]</text></revision></page>"
            "<page><title>B</title><ns>0</ns><id>3</id><revision><id>4</id><text>See:\n#REDIRECT [[Foo]]</text>"
            "</revision></page>"
            "<page><title>C</title><ns>0</ns><id>5</id><revision><id>6</id><text>#REDIRECT [[Foo]]</text>"
            "</revision></page>"
        )
    )
    assert [p.redirect for p in found] == ["Foo", None, None]
    assert redirect_fragment(found[0].text, Header(ENGLISH)) == "Bar"
    assert redirect_fragment(found[2].text, Header(ENGLISH)) is None
    assert redirect_fragment("no link", Header(ENGLISH)) is None


def test_ids_are_told_apart() -> None:
    """Case A4."""
    found = one(
        "<page><title>Foo</title><ns>0</ns><id>11</id><revision><id>22</id><parentid>21</parentid>"
        "<timestamp>2019-08-01T00:00:00Z</timestamp>"
        "<contributor><username>Ed</username><id>33</id></contributor><text>x</text></revision></page>"
    )
    assert (found.page_id, found.revision_id, found.parent_id, found.text) == (11, 22, 21, "x")
    assert found.timestamp == "2019-08-01T00:00:00Z"


def test_content_models() -> None:
    """Case A7."""
    found = raw(
        document(
            "<page><title>Module:Calc</title><ns>828</ns><id>7</id><revision><id>8</id><model>Scribunto</model>"
            "<format>text/plain</format><text>local p = {}</text></revision></page>"
            "<page><title>Odd</title><ns>0</ns><id>9</id><revision><id>10</id><model>json</model>"
            '<text>{"a":[[1]]}</text></revision></page>' + page("A", 1)
        )
    )
    assert [(p.namespace, p.model) for p in found] == [(828, "Scribunto"), (0, "json"), (0, "wikitext")]


def test_unknown_elements_are_passed_over() -> None:
    """Case A8."""
    data = (
        b'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11"><page>'
        b"<title>Foo</title><ns>0</ns><id>1</id><discussionthreadinginfo/><revision><id>2</id><origin>2</origin>"
        b'<text bytes="3" sha1="x">Bar</text><sha1>x</sha1></revision></page></mediawiki>'
    )
    (found,) = raw(data)
    assert found == RawPage(0, 1, "Foo", 0, None, 2, None, "", "wikitext", "Bar")


def test_slots_of_export_0_11_leave_the_main_text_alone() -> None:
    found = one(
        "<page><title>A</title><ns>0</ns><id>1</id><revision><id>2</id><model>wikitext</model><text>main</text>"
        "<content><role>mcr</role><model>json</model><text>{}</text></content></revision></page>"
    )
    assert (found.text, found.model) == ("main", "wikitext")


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("one<br />two", "one<br />two"),
        ("one<br>x</br>two", "one<br>x</br>two"),
        ('a<ref name="x &amp; y" />b', 'a<ref name="x &amp; y" />b'),
        ("a<b><i>c</i></b>d", "a<b><i>c</i></b>d"),
        ("a<text>b</text>c", "a<text>b</text>c"),
        ("a<revision>b</revision>c", "a<revision>b</revision>c"),
        ("a&lt;br /&gt;b &amp;amp; c", "a<br />b &amp; c"),
        ("<![CDATA[a <b> & c]]>", "a <b> & c"),
        ("a<!-- x -->b", "ab"),
        ("a\r\nb&#13;c", "a\nb\rc"),
        ("", ""),
    ],
)
def test_raw_elements_inside_the_text(markup: str, text: str) -> None:
    """Case A9: never a silently shortened page."""
    assert one(page("A", 1, markup)).text == text


def test_raw_elements_inside_the_title() -> None:
    assert one(page("A<br />B", 1)).title == "A<br />B"


def test_a_fragment_without_root() -> None:
    """Case A12."""
    data = (
        b"<page><title>Talk:Foo</title><ns>1</ns><id>3</id><revision><id>1</id><text>x</text></revision></page>\n"
        b"<page><title>Foo: a tale</title><ns>0</ns><id>4</id><revision><id>2</id><text>y</text></revision></page>"
    )
    for fragment in (data, data + b"\n", b"\n  " + data, bz2.compress(data), data + b"\n</mediawiki>"):
        assert [(p.page_id, p.namespace) for p in raw(fragment)] == [(3, 1), (4, 0)]
    without = data.replace(b"<ns>1</ns>", b"").replace(b"<ns>0</ns>", b"")
    assert [(p.page_id, p.namespace) for p in raw(without)] == [(3, 1), (4, 0)]
    for length in range(data.index(b"<page>", 9) + 1, len(data)):
        with pytest.raises(DumpError):
            whole(data[:length])


def test_page_elements_with_attributes() -> None:
    data = document('<page id="7" class="x">' + page("A", 1).strip().removeprefix("<page>") + "<pages/>" + page("B", 2))
    assert [p.title for p in raw(data)] == ["A", "B"]


# --------------------------------------------------------------------------------------------
# pages


@pytest.mark.parametrize(
    ("ids", "text"), [((1, 2, 3), "3"), ((3, 1, 2), "3"), ((2, 3, 1), "3"), ((5, 5), "5b"), ((), None)]
)
def test_several_revisions(ids: tuple[int, ...], text: str | None) -> None:
    """Case A11: the highest revision, and of equal ones the last."""
    if ids == (5, 5):
        revisions = "<revision><id>5</id><text>5a</text></revision><revision><id>5</id><text>5b</text></revision>"
    else:
        revisions = "".join(f"<revision><id>{i}</id><text>{i}</text></revision>" for i in ids)
    (found,) = whole(document(f"<page><title>A</title><ns>0</ns><id>1</id>{revisions}</page>"))
    if text is None:
        assert found == MalformedPage(0, "A", "no <revision>")
    else:
        assert isinstance(found, RawPage)
        assert found.text == text


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("<ns>0</ns><id>1</id><revision><id>2</id><text>x</text></revision>", "no <title>"),
        ("<title> _ </title><id>1</id><revision><id>2</id></revision>", "no <title>"),
        ("<title>A</title><revision><id>2</id><text>x</text></revision>", "no <id> of the page"),
        ("<title>A</title><id>x</id><revision><id>2</id></revision>", "no <id> of the page"),
        ("<title>A</title><id>1</id>", "no <revision>"),
        ("<title>A</title><id>1</id><ns>main</ns><revision><id>2</id></revision>", "invalid literal"),
        ("<title>A</title><id>1</id><revision><id>x</id></revision>", "invalid literal"),
        ("<title>A</title><id>99999999999999999999</id><revision><id>2</id></revision>", "larger than any"),
        ("<title>A</title><id>1</id><revision><id>99999999999999999999</id></revision>", "larger than any"),
        ("<title>A</title><id>1</id><revision><id>2</id><text>a</b></text></revision>", "mismatched tag"),
        ("<title>A</title><id>1</id><revision><id>2</id><text>a & b</text></revision>", "not well-formed"),
        ("<title>A</title><id>1</id><revision><id>2</id><text>a\x01b</text></revision>", "not well-formed"),
        ("<title>A</title><id>1</id><revision><id>2</id><text>&nbsp;</text></revision>", "undefined entity"),
        ("<title>A</title><id>1</id><revision><id>2</id><text id='3' bytes='456' /></revision>", "456 bytes of text"),
    ],
)
def test_a_malformed_page_spoils_no_other(body: str, detail: str) -> None:
    found = whole(document(page("Before", 8) + f"<page>{body}</page>" + page("After", 9)))
    assert [found[0].title, found[2].title] == ["Before", "After"]
    assert isinstance(found[1], MalformedPage)
    assert found[1].ordinal == 1
    assert found[1].title == ("A" if "<title>A" in body else "")
    assert detail in found[1].detail
    assert "\n" not in found[1].detail


@pytest.mark.parametrize("text", ["<text deleted='deleted' bytes='5' />", "<text bytes='0' />", "<text></text>", ""])
def test_pages_without_text(text: str) -> None:
    found = one(f"<page><title>A</title><ns>0</ns><id>1</id><revision><id>2</id>{text}</revision></page>")
    assert found.text == ""


def test_a_deep_page() -> None:
    (found,) = whole(document(page("A", 1, "<i>" * 5000 + "x" + "</i>" * 5000)))
    assert isinstance(found, RawPage)
    assert found.text.count("<i>") == 5000


def test_a_page_of_6_mb() -> None:
    """Case I10, as far as the reader is concerned."""
    text = "word [[link]] &amp; " * 320_000
    data = document(page("Before", 1) + page("Large", 2, text) + page("After", 3))
    assert len(data) > 6_000_000
    for packed_data in (data, bz2.compress(data, 1)):
        found = raw(packed_data)
        assert [p.title for p in found] == ["Before", "Large", "After"]
        assert found[1].text == text.replace("&amp;", "&")
    assert ranges(data, [1000, 3_000_000, 6_000_000]) == ["Before", "Large", "After"]


def test_read_page_of_an_element() -> None:
    found = read_page(page("A_b", 3).strip().encode(), 5, Header(ENGLISH))
    assert found == RawPage(5, 3, "A b", 0, None, 103, None, "", "wikitext", "x")


def test_memory_does_not_grow_with_the_number_of_pages(tmp_path: Path) -> None:
    """Case A10."""
    program = textwrap.dedent("""\
        import resource, sys
        from kiltetl.transforms.wiki.dump import pages, read_header

        def chunks(count):
            yield True, b"<mediawiki>"
            for first in range(0, count, 1000):
                yield True, b"".join(
                    b"<page><title>P%d</title><ns>0</ns><id>%d</id><revision><id>1</id><text>%b</text></revision></page>"
                    % (n, n, b"x" * 120) for n in range(first + 1, first + 1001)
                )
            yield True, b"</mediawiki>"

        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        header, rooted = read_header(chunks(1000))
        for number, _ in enumerate(pages(chunks(60_000), header, rooted), 1):
            if number == 5_000:
                before = peak()
        assert number == 60_000
        print(peak() - before)
        """)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 30_000  # kB


# --------------------------------------------------------------------------------------------
# the fast lane

REGULAR = """<page>
    <title>Rhône &amp; &quot;Saône&quot;</title>
    <ns>0</ns>
    <id>12</id>
    <redirect title="L&#039;eau &lt; 5" />
    <revision>
      <id>631144794</id>
      <parentid>381202555</parentid>
      <timestamp>2014-10-26T04:50:23Z</timestamp>
      <contributor>
        <username>Zoë &amp; Co</username>
        <id>7</id>
      </contributor>
      <minor />
      <comment>[[a]] &gt; b</comment>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      <text bytes="17" xml:space="preserve">Eau &amp;nbsp; &lt;ref&gt;é&lt;/ref&gt; "x"\t
</text>
      <sha1>4ro7vvppa5kmm0o1egfjztzcwd0vabw</sha1>
    </revision>
  </page>"""
VERSION_10 = Header(ENGLISH, (0, 10))
SPLICES = [
    *(b"&", b"&amp;", b"&apos;", b"&#65;", b"&#x1F600;", b"&#1;", b"&#039;", b"&nbsp;", b"<", b">", b"]]>", b'"', b"'"),
    *(
        b"\0",
        b"\t",
        b"\r\n",
        b"\x0b",
        b"\x1f",
        b"\x7f",
        b"\xff",
        b"\xc3",
        b"\xc2\x85",
        b"\xef\xbf\xbe",
        b"\xed\xa0\x80",
    ),
    *(b"\xef\xbf\xbf", b"\xf0\x9f\x98\x80", b"\xe2\x80\xa8", b" ", b"\n", b"_", b"-", b"0", b"99999999999999999999"),
    *(b"<b>", b"</b>", b"<br />", b"<!-- c -->", b"<![CDATA[x]]>", b"<?x?>", b"<!DOCTYPE x>", b"<text>", b"</text>"),
    *(b"<id>5</id>", b"<ns>1</ns>", b"<title>B</title>", b"<minor />", b"<page>", b"</page>", b"<revision>"),
    *(
        b"</revision>",
        b' bytes="3"',
        b' xml:space="preserve"',
        b' deleted="deleted"',
        b"<restrictions>e</restrictions>",
    ),
]


def test_a_regular_page_is_read_in_the_fast_lane() -> None:
    found = RegularPages().read(REGULAR.encode(), 3)
    assert found == RawPage(
        ordinal=3,
        page_id=12,
        title='Rhône & "Saône"',
        namespace=0,
        redirect="L'eau < 5",
        revision_id=631144794,
        parent_id=381202555,
        timestamp="2014-10-26T04:50:23Z",
        model="wikitext",
        text='Eau &nbsp; <ref>é</ref> "x"\t\n',
    )


@pytest.mark.soak
@given(st.lists(st.tuples(st.integers(0, len(REGULAR.encode())), st.integers(0, 40), st.sampled_from(SPLICES))))
@settings(max_examples=3000, deadline=None)
def test_the_fast_lane_reads_what_it_takes_as_xml_does(edits: list[tuple[int, int, bytes]]) -> None:
    element = REGULAR.encode()
    for place, cut, splice in edits[:3]:
        element = element[:place] + splice + element[place + cut % 7 * (cut > 30) :]
    reader = RegularPages()
    assert reader.read(element, 0) in (None, read_page(element, 0, VERSION_10))
    assert reader.read(REGULAR.encode(), 1) == read_page(REGULAR.encode(), 1, VERSION_10)  # nothing of it is left


@pytest.mark.parametrize("splice", SPLICES)
@pytest.mark.parametrize(
    "behind",
    ["<title>Rh", "<ns>", "<id>", 'title="', "2014", "<username>", "<comment>", "Eau", "4ro", "</ns>", "</text>"],
)
def test_the_fast_lane_by_place(behind: str, splice: bytes) -> None:
    before, found, after = REGULAR.encode().partition(behind.encode())
    element = before + found + splice + after
    assert RegularPages().read(element, 0) in (None, read_page(element, 0, VERSION_10))


@pytest.mark.parametrize(
    "last", [b"&#%s39;" % (b"0" * 200), b"&%s;" % (b"a" * 200), b"&%s" % (b"a" * 200), "é".encode()]
)
@pytest.mark.parametrize("left", [1, 2, 9, 150])
def test_the_fast_lane_on_a_text_that_expat_reads_in_two_pieces(last: bytes, left: int) -> None:
    """The end of one that expat puts off would be the next page's."""
    piece = 1 << 20
    before, after = REGULAR.encode().split(b"Eau", 1)[0], REGULAR.encode().split(b"</text>", 1)[1]
    filled = b"x" * (piece - len(b"<text>") - len(last) + left)
    large = before + filled + last + b"</text>" + after
    reader = RegularPages()
    assert reader.read(large, 0) in (None, read_page(large, 0, VERSION_10))
    assert reader.read(REGULAR.encode(), 1) == read_page(REGULAR.encode(), 1, VERSION_10)
    small = before + b"x" * (piece - 100) + b"</text>" + after
    assert reader.read(small, 2) == read_page(small, 2, VERSION_10)


def test_the_fast_lane_on_real_dumps(shared: Path) -> None:
    taken = {}
    for path in sorted((shared / "data" / "dumps").glob("*.bz2")):
        data = decompressed(io.BytesIO(path.read_bytes()))
        reader, elements = RegularPages(), list(page_elements(utf8((True, chunk) for chunk in data), True))
        found = [reader.read(element, number) for number, element in enumerate(elements)]
        for number, (element, fast) in enumerate(zip(elements, found, strict=True)):
            assert fast in (None, read_page(element, number, VERSION_10))
        taken[path.name.split(".")[0]] = len(found) - found.count(None), len(found)
    assert taken["enwiki-2016-sample"] == (206, 206)
    assert taken["ltgwiki-whole"] == (2001, 2004)
    assert taken["bgwiki-utf16"] == (0, 3)  # its lines end in CR LF, which XML reads as LF


# --------------------------------------------------------------------------------------------
# real dumps


REAL = [
    # pages, of namespace 0, redirects
    ("ar-wiki.xml.bz2", 3, 3, 0, (0, 10), "enwiki", "en"),
    ("article-pear-0.10.xml", 1, 1, 0, (0, 10), "enwiki", "en"),
    ("article-pyrus.xml.gz", 1, 1, 1, (0, 3), "", "en"),
    ("bgwiki-utf16.xml.bz2", 3, 1, 0, (0, 10), "bgwiki", "bg"),
    ("de-wiki.xml.bz2", 2, 2, 0, (0, 10), "enwiki", "en"),
    ("dewiki-20130602-id81.xml", 1, 1, 0, (), "enwiki", "en"),
    ("enwiki-2016-sample.xml.bz2", 206, 205, 100, (0, 10), "enwiki", "en"),
    ("enwiki-2019-08-mini.xml.bz2", 11, 11, 0, (0, 10), "enwiki", "en"),
    ("enwiki-tables.xml.bz2", 5, 5, 0, (0, 10), "enwiki", "en"),
    ("fr-wiki.xml.bz2", 3, 3, 0, (0, 10), "enwiki", "en"),
    ("frwiki-20121230-id3.xml", 1, 1, 0, (0, 8), "", "fr"),
    ("ltgwiki-whole.xml.bz2", 2004, 1050, 195, (0, 10), "ltgwiki", "ltg"),
    ("pair-0.10.xml", 2, 1, 0, (0, 10), "enwiki", "en"),
    ("tinywiki.xml", 8, 8, 0, (0, 10), "tmp-wp", "ltg"),
    ("zh-wiki.xml.bz2", 1, 1, 0, (0, 10), "enwiki", "en"),
    ("zhwiki-20150423-id13.xml", 1, 1, 0, (), "enwiki", "en"),
]


@pytest.mark.parametrize(("name", "count", "articles", "redirects", "version", "dbname", "language"), REAL)
def test_real_dumps(
    shared: Path,
    name: str,
    count: int,
    articles: int,
    redirects: int,
    version: tuple[int, ...],
    dbname: str,
    language: str,
) -> None:
    data = (shared / "data" / "dumps" / name).read_bytes()
    header, _ = read_header(utf8((True, chunk) for chunk in decompressed(io.BytesIO(data))))
    assert (header.version, header.site.dbname, header.site.language) == (version, dbname, language)
    found = raw(data)
    assert len(found) == count
    assert sum(p.namespace == 0 for p in found) == articles
    assert sum(p.redirect is not None for p in found) == redirects
    assert all(p.text or p.redirect is not None or p.namespace for p in found)


def test_every_real_dump_is_listed(shared: Path) -> None:
    assert {path.name for path in (shared / "data" / "dumps").iterdir() if ".xml" in path.name} == {r[0] for r in REAL}


def test_a_real_dump_in_ranges(shared: Path) -> None:
    data = bz2.decompress((shared / "data" / "dumps" / "ltgwiki-whole.xml.bz2").read_bytes())
    expected = [p.title for p in raw(data)]
    step = len(data) // 7
    assert ranges(data, range(step, len(data), step)) == expected
    parallel = streams(data, [900_000])
    step = len(parallel) // 5
    assert ranges(parallel, range(step, len(parallel), step)) == expected
