"""Titles: normal forms, targets of links, titles inside addresses."""

import unicodedata
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kiltetl.schemas.records import Namespace, Site
from kiltetl.transforms.wiki.sites import ENGLISH
from kiltetl.transforms.wiki.titles import link_target, normal_title, split_namespace, title_from_url, upper_first

WIKTIONARY = Site(
    language="en",
    dbname="enwiktionary",
    name="Wiktionary",
    base="https://en.wiktionary.org/wiki/Wiktionary:Main_Page",
    first_letter=False,
    namespaces=(
        Namespace(0, ("",), first_letter=False),
        Namespace(2, ("User",), first_letter=True),
        Namespace(4, ("Wiktionary", "WT"), first_letter=False),
        Namespace(14, ("Category",), first_letter=False),
    ),
)
GERMAN = Site(
    language="de",
    dbname="dewiki",
    name="Wikipedia",
    base="https://de.wikipedia.org/wiki/Wikipedia:Hauptseite",
    first_letter=True,
    namespaces=(Namespace(0, ("",)), Namespace(6, ("Datei", "Bild")), Namespace(14, ("Kategorie",))),
)

NORMAL = [
    ("foo", "Foo"),
    ("Foo", "Foo"),
    ("foo_bar", "Foo bar"),
    ("__foo__bar__", "Foo bar"),
    ("foo \t\n  bar", "Foo bar"),
    ("\u00a0foo\u2003\u3000bar\u202f", "Foo bar"),
    ("Foo\u200e\u202abar\u202c", "Foobar"),
    (":foo", "Foo"),
    (": : foo", "Foo"),
    ("AC/DC", "AC/DC"),
    ("iPod", "IPod"),
    ("100%", "100%"),
    ("a:b", "A:b"),
    ("2001: A Space Odyssey", "2001: A Space Odyssey"),
    ("Foo: a tale", "Foo: a tale"),
    ("e\u0301cole", "École"),
    ("Zoe\u0308", "Zoë"),
    # letters whose capital is more than one letter, or another script's, keep their form
    ("ßa", "ßa"),
    ("ŉa", "ŉa"),
    ("ﬁa", "ﬁa"),
    ("ქართული", "ქართული"),
    ("ǆa", "Ǆa"),
    ("ǳa", "Ǳa"),
    ("ſa", "Sa"),
    ("ıa", "Ia"),
    ("ı\u0307a", "İa"),
    ("ñandú", "Ñandú"),
    ("ж", "Ж"),
    ("𐐨x", "𐐀x"),
    ("魯班", "魯班"),
    ("عربي", "عربي"),
    # namespaces: in any case, with spaces round the colon, aliases, the first letter after them
    ("category:birds", "Category:Birds"),
    ("CATEGORY : birds", "Category:Birds"),
    (":Category:birds", "Category:Birds"),
    ("image:a.jpg", "File:A.jpg"),
    ("file_talk:a.jpg", "File talk:A.jpg"),
    ("image talk:a.jpg", "File talk:A.jpg"),
    ("wp:npov", "Wikipedia:Npov"),
    ("project:about", "Wikipedia:About"),
    ("WT:npov", "Wikipedia talk:Npov"),
    ("special:random", "Special:Random"),
    ("template:foo/doc", "Template:Foo/doc"),
    ("Category:", "Category:"),
    ("user:_x_", "User:X"),
    ("fr:Oiseau", "Fr:Oiseau"),
    ("", ""),
    (" _ ", ""),
    (":", ""),
]


@pytest.mark.parametrize(("title", "expected"), NORMAL)
def test_normal_title(title: str, expected: str) -> None:
    assert normal_title(title) == expected


@pytest.mark.parametrize(
    ("site", "title", "expected"),
    [
        (WIKTIONARY, "paper", "paper"),
        (WIKTIONARY, "Paper", "Paper"),
        (WIKTIONARY, "category:birds", "Category:birds"),
        (WIKTIONARY, "wt:about", "Wiktionary:about"),
        (WIKTIONARY, "user:zoe", "User:Zoe"),
        (WIKTIONARY, "template:x", "Template:x"),
        (GERMAN, "bild:a.jpg", "Datei:A.jpg"),
        (GERMAN, "file:a.jpg", "Datei:A.jpg"),
        (GERMAN, "kategorie:vögel", "Kategorie:Vögel"),
        (GERMAN, "category:vögel", "Kategorie:Vögel"),
        (GERMAN, "wp:x", "Wp:x"),
    ],
)
def test_normal_title_on_other_wikis(site: Site, title: str, expected: str) -> None:
    assert normal_title(title, site) == expected


TITLES = st.lists(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from(" _:#%&;\u0307\u0301\u0345\u200eßıŉǆქİΐᾳ"),
        st.sampled_from(["category:", "File : ", "user talk:"]),
    ),
    max_size=12,
).map("".join)


@given(TITLES, st.sampled_from([ENGLISH, WIKTIONARY, GERMAN]))
@example("ı\u0307", ENGLISH)
@example("category: category:x", ENGLISH)
def test_normal_title_is_idempotent(title: str, site: Site) -> None:
    once = normal_title(title, site)
    assert normal_title(once, site) == once
    assert unicodedata.is_normalized("NFC", once)
    assert once == once.strip(" ")
    assert "_" not in once


@given(st.characters(codec="utf-8"), st.text(max_size=3))
def test_upper_first_changes_at_most_one_letter(first: str, rest: str) -> None:
    text = upper_first(first + rest)
    assert len(text) == len(first + rest)
    assert text[1:] == rest
    assert upper_first(text) == text


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Category:Foo", (14, "Foo")),
        ("category :Foo", (14, "Foo")),
        ("Talk:Foo", (1, "Foo")),
        ("Foo: a tale", (0, "Foo: a tale")),
        ("Wikipedia:Foo", (4, "Foo")),
        ("Draft talk:Foo", (119, "Foo")),
        ("Foo", (0, "Foo")),
        (":", (0, ":")),
    ],
)
def test_split_namespace(title: str, expected: tuple[int, str]) -> None:
    assert split_namespace(title) == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        # case C3: the fragment is no part of the key; a link to a section of the page itself has no title
        ("Foo#History", ("Foo", "History")),
        ("foo # History_of ", ("Foo", "History of")),
        ("#Local", ("", "Local")),
        ("Foo#", ("Foo", None)),
        ("Foo#a#b", ("Foo", "a#b")),
        ("Foo", ("Foo", None)),
        # case C8: other namespaces and wikis keep their prefix and never become Foo
        ("Category:Foo", ("Category:Foo", None)),
        ("Special:Random", ("Special:Random", None)),
        ("fr:Foo", ("Fr:Foo", None)),
        (":fr:Foo", ("Fr:Foo", None)),
        # encodings
        ("C%2B%2B", ("C++", None)),
        ("C++", ("C++", None)),
        ("AT&amp;T", ("AT&T", None)),
        ("AT&T", ("AT&T", None)),
        ("A&notB", ("A&notB", None)),
        ("Foo&copy;", ("Foo©", None)),
        ("&#70;oo&#x23;bar", ("Foo", "bar")),
        ("C%23", ("C", None)),
        ("100%", ("100%", None)),
        ("100% of it", ("100% of it", None)),
        ("AC%2FDC", ("AC/DC", None)),
        ("Foo&nbsp;bar", ("Foo bar", None)),
    ],
)
def test_link_target(target: str, expected: tuple[str, str | None]) -> None:
    assert link_target(target) == expected


ADDRESSES = [
    ("https://en.wikipedia.org/wiki/Foo", "Foo", None),
    ("http://en.wikipedia.org/wiki/Foo_bar", "Foo bar", None),
    ("https://en.wikipedia.org/wiki/foo_bar", "Foo bar", None),
    ("  https://en.wikipedia.org/wiki/Foo\n", "Foo", None),
    ("en.wikipedia.org/wiki/Foo", "Foo", None),
    ("//en.wikipedia.org/wiki/Foo", "Foo", None),
    ("/wiki/Foo", "Foo", None),
    ("https://en.m.wikipedia.org/wiki/Foo", "Foo", None),
    ("https://en.wikipedia.org//wiki/Foo", "Foo", None),
    ("https://en.wikipedia.org//w//index.php?title=Foo", "Foo", None),
    # slashes belong to titles
    ("https://en.wikipedia.org/wiki/AC/DC", "AC/DC", None),
    ("https://en.wikipedia.org//wiki/AC/DC#Members", "AC/DC", "Members"),
    ("https://en.wikipedia.org/wiki/AC%2FDC", "AC/DC", None),
    ("https://en.wikipedia.org/wiki//dev/null", "/dev/null", None),
    ("https://en.wikipedia.org/wiki/A//w/b", "A//w/b", None),
    # the script
    ("https://en.wikipedia.org/w/index.php?title=Foo_bar", "Foo bar", None),
    ("https://en.wikipedia.org/w/index.php?oldid=3&title=Foo#Bar", "Foo", "Bar"),
    ("https://en.wikipedia.org/w/index.php?title=Foo&amp;oldid=123", "Foo", None),
    ("https://en.wikipedia.org/w/index.php?title=Foo&oldid=123", "Foo", None),
    ("https://en.wikipedia.org/w/index.php?title=Foo&section=2&copy=1", "Foo", None),
    ("https://en.wikipedia.org/w/index.php?title=AC/DC", "AC/DC", None),
    ("https://en.wikipedia.org/w/index.php?title=A+B", "A B", None),
    ("https://en.wikipedia.org/w/index.php?title=C%2B%2B", "C++", None),
    ("https://en.wikipedia.org/w/index.php?title=R%26B", "R&B", None),
    ("https://en.wikipedia.org/w/index.php/Foo", "Foo", None),
    ("https://en.wikipedia.org/index.php/Foo", "Foo", None),
    ("https://en.wikipedia.org/?title=Foo", "Foo", None),
    # percent-encoding
    ("https://en.wikipedia.org/wiki/C%2B%2B", "C++", None),
    ("https://en.wikipedia.org/wiki/C++", "C++", None),
    ("https://en.wikipedia.org/wiki/AT%26T", "AT&T", None),
    ("https://en.wikipedia.org/wiki/AT&T", "AT&T", None),
    ("https://en.wikipedia.org/wiki/Zo%C3%AB", "Zoë", None),
    ("https://en.wikipedia.org/wiki/Zoë", "Zoë", None),
    ("https://en.wikipedia.org/wiki/Zoe%CC%88", "Zoë", None),
    ("https://en.wikipedia.org/wiki/Caf%E9", "Café", None),
    ("https://en.wikipedia.org/wiki/100%25", "100%", None),
    ("https://en.wikipedia.org/wiki/100%", "100%", None),
    ("https://en.wikipedia.org/wiki/What%3F", "What?", None),
    ("https://en.wikipedia.org/wiki/What?action=raw", "What", None),
    ("https://en.wikipedia.org/wiki/C%23", "C", None),
    ("https://en.wikipedia.org/wiki/Foo%23Bar", "Foo", "Bar"),
    # what is said twice
    ("https://en.wikipedia.org/w/index.php?title=Foo&title=Bar", "Foo", None),
    ("https://en.wikipedia.org/w/index.php?action=raw&title=Foo&oldid=3&title=Bar", "Foo", None),
    ("https://en.wikipedia.org/wiki/Foo?title=Bar", "Foo", None),
    # fragments
    ("https://en.wikipedia.org/wiki/Foo#Early_life", "Foo", "Early life"),
    ("https://en.wikipedia.org/wiki/Foo#Caf%C3%A9", "Foo", "Café"),
    ("https://en.wikipedia.org/wiki/Foo#", "Foo", None),
    # namespaces, language variants
    ("https://en.wikipedia.org/wiki/Category:birds", "Category:Birds", None),
    ("https://en.wikipedia.org/wiki/2001:_A_Space_Odyssey", "2001: A Space Odyssey", None),
    ("https://zh.wikipedia.org/zh-hans/%E5%8C%97%E4%BA%AC", "北京", None),
    ("https://sr.wikipedia.org/sr-ec/Foo", "Foo", None),
]


@pytest.mark.parametrize(("address", "title", "fragment"), ADDRESSES)
def test_title_from_url(address: str, title: str, fragment: str | None) -> None:
    assert title_from_url(address) == (title, fragment)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "Foo",
        "https://en.wikipedia.org",
        "https://en.wikipedia.org/wiki/",
        "https://en.wikipedia.org/wiki/#Foo",
        "https://en.wikipedia.org/wiki/_",
        "https://en.wikipedia.org/w/index.php?curid=12",
        "https://en.wikipedia.org/wiki/index.html?curid=12",
        "https://en.wikipedia.org/w/index.php?title=&oldid=3",
        "http://[",
    ],
)
def test_addresses_that_name_no_page(address: str) -> None:
    with pytest.raises(ValueError, match=r"address|URL"):
        title_from_url(address)


@given(st.text(st.characters(codec="utf-8", exclude_characters="#"), min_size=1, max_size=12).map(normal_title))
def test_titles_survive_an_address(title: str) -> None:
    if title and "&" not in title:
        assert title_from_url(f"https://en.wikipedia.org/wiki/{quote(title.replace(' ', '_'))}") == (title, None)
        assert title_from_url(f"https://en.wikipedia.org/w/index.php?title={quote(title, safe='')}") == (title, None)
