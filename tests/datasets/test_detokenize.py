"""What tokenizers and extractors did, undone: rule by rule."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kiltetl.transforms.datasets.detokenize import (
    BRACKETS,
    brackets,
    extracted,
    is_tag_token,
    quotes,
    references,
    spaces,
    tags,
    treebank,
)

CASES: list[tuple[Callable[[str], str], str, str]] = [
    (brackets, "a -LRB- b -RRB- -LSB- c -RSB- -LCB- d -RCB- -COLON-", "a ( b ) [ c ] { d } :"),
    (brackets, "Alien_-LRB-film-RRB-", "Alien_(film)"),
    (brackets, "-lrb- -LRB LRB- well-known", "-lrb- -LRB LRB- well-known"),
    (brackets, "-LRB-LRB-RRB-", "(LRB)"),
    (quotes, "`` a ''", '" a "'),
    (quotes, "a ` b ' c's", "a ` b ' c's"),
    (quotes, "5' 6''", "5' 6\""),
    (references, "A &amp; B &quot;C&quot; &#39;d&#x27; &nbsp;", "A & B \"C\" 'd' \u00a0"),
    (references, "R&B, AT&T; &copy 2019 &unknown; &;", "R&B, AT&T; &copy 2019 &unknown; &;"),
    (references, "E=mc²", "E=mc²"),
    (references, "&amp;lt;", "&lt;"),
    (tags, 'a <a href="self%20rule">b</a> <br/>c</p>', "a b c"),
    (tags, "1 < 2 > 0, <3, a<b", "1 < 2 > 0, <3, a<b"),
    (spaces, "  a \t b\u00a0\n c ", "a b c"),
    (treebank, "A kite -LRB- a `` bird '' -RRB-  flies . ", 'A kite ( a " bird " ) flies .'),
    (extracted, ' Made of <a href="P">paper</a> &amp; string.', "Made of paper & string."),
    (extracted, " 1 &lt; 2 ", "1 < 2"),
]


@pytest.mark.parametrize(("rule", "text", "expected"), CASES)
def test_rules(rule: Callable[[str], str], text: str, expected: str) -> None:
    assert rule(text) == expected


@pytest.mark.parametrize("rule", [brackets, quotes, references, tags, spaces, treebank, extracted])
def test_text_without_traces_stays(rule: Callable[[str], str]) -> None:
    for text in ("", "Zoë sang 3 songs — “loudly”, isn't it?", "∞", "$", "魯班"):
        assert rule(text) == text


@pytest.mark.parametrize(
    ("token", "is_tag"),
    [
        ("<P>", True),
        ("</P>", True),
        ("<H1>", True),
        ('<Th_colspan="2">', True),
        ('<Td colspan="2">', True),
        ('<Td_title="a>b">', True),
        ("<", False),
        (">", False),
        ("<>", False),
        ("<3", False),
        ("<br>", False),
        ("P", False),
        ("", False),
        ("<P", False),
        ("<P>a", False),
    ],
)
def test_tag_tokens(token: str, is_tag: bool) -> None:
    assert is_tag_token(token) is is_tag


PIECES = st.lists(
    st.sampled_from([*BRACKETS, "``", "''", "'", "`", " ", "\u00a0", "a", "-", "L", "R", "é", "(", "."]), max_size=12
).map("".join)


@given(PIECES)
def test_treebank_leaves_no_trace(text: str) -> None:
    once = treebank(text)
    assert treebank(once) == once
    assert not any(trace in once for trace in (*BRACKETS, "``", "''", "  "))
    assert once == once.strip()
