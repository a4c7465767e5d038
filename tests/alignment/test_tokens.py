"""Tokens: those of sacrebleu, each with its place in the text."""

import sys
from inspect import unwrap
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_char import TokenizerChar
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

from kiltetl.transforms.alignment.tokens import fold, tokenize_page, tokenizer_for, tokens
from tests.support.tricky_text import pieces

TOKENIZERS = {"en": Tokenizer13a(), "zh": TokenizerZh(), "ja": TokenizerChar()}


@pytest.mark.parametrize(
    ("language", "tokenizer"),
    [("en", "13a"), ("", "13a"), ("zh", "zh"), ("zh_hk", "zh"), ("zh-yue", "zh"), ("ZH", "zh"), ("zha", "13a")]
    + [(language, "char") for language in ("ja", "th", "km", "lo", "my")],
)
def test_tokenizer_for(language: str, tokenizer: str) -> None:
    assert tokenizer_for(language) == tokenizer


@pytest.mark.soak
def test_every_character_is_split_as_sacrebleu_splits_it() -> None:
    """Each between two letters, a thousand of them at a time: what splits a text is never further than that away."""
    points = [*range(0x30000), *range(0x30000, sys.maxunicode, 0x111)]
    assert not any(chr(point).isspace() for point in points if point > 0x3000)  # the table of white space ends there
    for first in range(0, len(points), 1000):
        text = " ".join(f"x{chr(point)}x" for point in points[first : first + 1000])
        for tokenizer, name in ((TOKENIZERS["en"], "13a"), (TOKENIZERS["zh"], "zh")):
            expected = unwrap(type(tokenizer).__call__)(tokenizer, fold(text)).split()
            assert tokens(text, name) == expected, f"from U+{points[first]:04X} on"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("say &quot;no&quot;!", {"say": (0, 3), '"': [(4, 10), (12, 18)], "no": (10, 12), "!": (18, 19)}),
        ("A&amp;B", {"a": (0, 1), "&": (1, 6), "b": (6, 7)}),
        ("x &lt;y&gt;", {"x": (0, 1), "<": (2, 6), "y": (6, 7), ">": (7, 11)}),
        ("well-\nknown a<skipped>b", {"wellknown": (0, 11), "ab": (12, 23)}),
        ("İst 1,5–2.", {"i̇st": (0, 3), "1,5": (4, 7), "-": (7, 8), "2": (8, 9), ".": (9, 10)}),
    ],
)
def test_places_of_tokens_where_characters_are_rewritten(text: str, places: dict[str, Any]) -> None:
    page = tokenize_page([text])
    words = {number: word for word, number in page.vocabulary.items()}
    found: dict[str, Any] = {}
    for number, start, end in zip(page.ids[:-1].tolist(), page.starts.tolist(), page.ends.tolist(), strict=False):
        one = found.get(words[number])
        found[words[number]] = (start, end) if one is None else [one, (start, end)]
    assert found == places


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(["en", "zh", "ja"]), st.lists(pieces("中", "。", "😀", "\u0301", "ا"), max_size=3))
def test_tokens_and_offsets(language: str, paragraphs: list[str]) -> None:
    """Tokens are sacrebleu's own of the folded text; each covers its characters, in order."""
    page = tokenize_page(paragraphs, language)
    words = {number: word for word, number in page.vocabulary.items()}
    tokenizer = TOKENIZERS[language]
    assert len(page.first) == len(page.stop) == len(paragraphs)
    for text, first, stop in zip(paragraphs, page.first, page.stop, strict=True):
        expected = unwrap(type(tokenizer).__call__)(tokenizer, fold(text)).split()
        assert [words[number] for number in page.ids[first:stop]] == expected
        assert tokens(text, tokenizer_for(language)) == expected
        starts, ends = page.starts[first:stop], page.ends[first:stop]
        assert (starts < ends).all()
        assert (ends <= len(text)).all()
        if "İ" not in text:  # one letter, two characters when lower-cased
            assert (ends[:-1] <= starts[1:]).all()
        if not any(mark in fold(text) for mark in ("&", "<skipped>", "-\n", "σ", "ς")):
            for word, start, end in zip(expected, starts, ends, strict=True):
                assert word in fold(text[start:end])
                assert len(fold(text[start:end])) - len(word) <= text[start:end].count("İ")
            covered = np.zeros(len(text), bool)
            for start, end in zip(starts, ends, strict=True):
                covered[start:end] = True
            assert [letter for letter, token in zip(text, covered, strict=True) if not token and letter.strip()] == []
