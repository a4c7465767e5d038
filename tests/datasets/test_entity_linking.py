"""Entity linking: the context of a mention, and the three datasets' own formats."""

import json
import pickle
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kiltetl.schemas.errors import InputError
from kiltetl.schemas.records import Evidence
from kiltetl.transforms.datasets.aidayago2 import DATASET as AIDA
from kiltetl.transforms.datasets.aidayago2 import configure, read_annotations
from kiltetl.transforms.datasets.cweb import DATASET as CWEB
from kiltetl.transforms.datasets.mentions import END, MAX_TOKENS, START, context, mention_example
from kiltetl.transforms.datasets.spec import Dataset, Text
from kiltetl.transforms.datasets.wned import DATASET as WNED
from kiltetl.transforms.datasets.wned_format import (
    NEAR,
    annotation_rows,
    entity,
    located,
    split_of,
    text_file,
)
from kiltetl.transforms.jobs.examples import Read, Refused, read_source
from kiltetl.transforms.wiki.titles import title_from_url
from tests.support.adapters import FOLDER, examples_of, reads, records, told


def numbered(count: int, letter: str = "w") -> str:
    return " ".join(f"{letter}{number}" for number in range(count))


def ids(found: Iterable[Read]) -> list[str]:
    """Of each row the id of its example, the rule that leaves it out, or that it is malformed."""
    return [(read.reason if read.skip else "malformed") if isinstance(read, Refused) else read[0].id for read in found]


def fixture(dataset: Dataset) -> list[Read]:
    return list(read_source(dataset, str(FOLDER / dataset.name / "raw.text")))


# ---------------------------------------------------------------------------------------------
# context


@pytest.mark.parametrize(
    ("left", "right", "kept"),
    [
        (10, 300, (10, 243)),  # CASES F9: the released code keeps 41 tokens here
        (300, 10, (243, 10)),
        (300, 300, (126, 127)),
        (126, 300, (126, 127)),
        (127, 127, (126, 127)),
        (127, 126, (127, 126)),
        (128, 125, (128, 125)),
        (0, 300, (0, 253)),
        (300, 0, (253, 0)),
        (5, 6, (5, 6)),
        (0, 0, (0, 0)),
    ],
)
def test_what_one_side_does_not_need_goes_to_the_other(left: int, right: int, kept: tuple[int, int]) -> None:
    example = mention_example("1", numbered(left, "l"), "M", numbered(right, "r"), "T")
    before, after = (part.split() for part in re.split(r"\[START_ENT\] M \[END_ENT\]", example.input))
    assert (len(before), len(after)) == kept
    assert before == numbered(left, "l").split()[left - kept[0] :]
    assert after == numbered(right, "r").split()[: kept[1]]
    assert len(example.input.split()) == min(MAX_TOKENS, left + right + 3)


def test_an_example_is_a_released_record() -> None:
    example = mention_example("d:0", "  Kites were made by\n ", " Lu Ban ", "  , in\tChina .  Big .\n", "Lu Ban")
    assert example.input == "Kites were made by [START_ENT] Lu Ban [END_ENT] , in\tChina .  Big ."
    assert (example.id, example.language) == ("d:0", "en")
    (output,) = example.outputs
    assert (output.answer, output.evidence) == ("Lu Ban", (Evidence("Lu Ban"),))
    meta = example.meta
    assert (meta.left_context, meta.mention, meta.right_context) == (
        "Kites were made by",
        "Lu Ban",
        ", in\tChina .  Big .",
    )


def test_meta_keeps_the_whole_context() -> None:
    example = mention_example("1", numbered(300), "M", numbered(400), "T")
    assert example.meta.left_context == numbered(300)
    assert example.meta.right_context == numbered(400)


@pytest.mark.parametrize(
    ("left", "mention", "right", "text"),
    [
        ("", "A", "", "[START_ENT] A [END_ENT]"),
        ("\n", "A", "b", "[START_ENT] A [END_ENT] b"),
        ("a (", "b", ") c", "a ( [START_ENT] b [END_ENT] ) c"),
        ("a (b) ", "c", " (d)", "a (b) [START_ENT] c [END_ENT] (d)"),
        ("pro-", "Rome", "'s", "pro- [START_ENT] Rome [END_ENT] 's"),
        ("a  \n b ", "c", " d\u00a0e\u3000f", "a  \n b [START_ENT] c [END_ENT] d\u00a0e\u3000f"),
    ],
)
def test_spacing(left: str, mention: str, right: str, text: str) -> None:
    assert mention_example("1", left, mention, right, "T").input == text


def test_a_long_mention() -> None:
    longest = numbered(MAX_TOKENS - 2)
    assert mention_example("1", "a", longest, "b", "T").input == f"{START} {longest} {END}"
    with pytest.raises(ValueError, match="a mention of 255 tokens does not fit into an input of 256"):
        mention_example("1", "a", numbered(MAX_TOKENS - 1), "b", "T")
    with pytest.raises(ValueError, match="the mention is empty"):
        mention_example("1", "a", " \n", "b", "T")


texts = st.text(st.sampled_from("ab(é \n\u00a0\u3000"), max_size=60)


@given(texts, texts.filter(str.strip), texts, st.integers(3, 20))
def test_laws_of_the_context(left: str, mention: str, right: str, limit: int) -> None:
    size, before_all, after_all = len(mention.split()), left.split(), right.split()
    if size + 2 > limit:
        with pytest.raises(ValueError, match="does not fit"):
            context(left, mention, right, limit)
        return
    before, after = context(left, mention, right, limit)
    kept = len(before.split()), len(after.split())
    # at most the limit, all of it where there is text enough
    assert size + 2 + sum(kept) == min(limit, size + 2 + len(before_all) + len(after_all))
    # whole tokens, those beside the mention, with the white space between them
    assert before.split() == before_all[len(before_all) - kept[0] :]
    assert after.split() == after_all[: kept[1]]
    assert left.rstrip().endswith(before)
    assert right.lstrip().startswith(after)
    assert (before, after) == (before.strip(), after.strip())
    # balanced: only a side that is short leaves the other more
    if kept[0] < len(before_all):
        assert kept[1] == len(after_all) or kept[1] - kept[0] in (0, 1) or kept[0] > kept[1]
        assert kept[0] >= kept[1] - 1
    if kept[1] < len(after_all):
        assert kept[1] >= kept[0]
    example = mention_example("1", left, mention, right, "T", limit=limit)
    assert len(example.input.split()) <= limit
    assert f"{START} {mention.strip()} {END}" in example.input


@given(st.text(st.sampled_from("ab (é\n"), min_size=1, max_size=400), st.data())
def test_left_mention_and_right_are_a_piece_of_the_document(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    if not text[start:end].strip():
        return
    example = mention_example("1", text[:start], text[start:end], text[end:], "T")
    meta = example.meta
    pieces = [meta.left_context, meta.mention, meta.right_context]
    assert "".join("".join(piece or "" for piece in pieces).split()) == "".join(text.split())
    bare = example.input.replace(START, "").replace(END, "")
    assert "".join(bare.split()) in "".join(text.split())


# ---------------------------------------------------------------------------------------------
# AIDA CoNLL-YAGO

WIKI = "http://en.wikipedia.org/wiki/"
F8 = f"""-DOCSTART- (1testa X)
Peter\tB\tPeter Doe\t--NME--
Doe\tI\tPeter Doe\t--NME--
visited
New\tB\tNew Rome\tNew_Rome\t{WIKI}New_Rome\t12\t/m/1
Rome\tI\tNew Rome\tNew_Rome\t{WIKI}New_Rome\t12\t/m/1
."""


@pytest.mark.parametrize("end", ["", "\r"])
def test_nil_mentions_and_continued_mentions(end: str) -> None:
    """CASES F8."""
    first, second = reads(AIDA, *(line + end for line in F8.split("\n")))
    assert told(first) == "no-entity"
    (example,) = examples_of([second])
    assert example.input == "Peter Doe visited [START_ENT] New Rome [END_ENT] ."
    assert example.outputs[0].answer == "New Rome"
    assert AIDA.split_of is not None
    assert AIDA.split_of(example) == "validation"


@pytest.mark.parametrize("dataset", [AIDA, WNED, CWEB], ids=lambda dataset: dataset.name)
def test_ids_are_unique_and_the_same_in_every_run(dataset: Dataset) -> None:
    """CASES F10."""
    first, second = (ids(fixture(dataset)) for _ in range(2))
    assert first == second
    found = [one for one in first if one not in ("malformed", "no-entity")]
    assert len(found) == len(set(found)) > 1


def test_the_fixture_of_aida() -> None:
    assert ids(fixture(AIDA)) == [
        "no-entity",
        "1 KITES:0",
        "1 KITES:1",
        "no-entity",
        "1 KITES:2",
        "1 KITES:3",  # a B beside a B
        "1 KITES:4",
        "1 KITES:5",
        "2 Who (what) is it:0",
        "2 Who (what) is it:1",
        "2 Who (what) is it:2",
        "malformed",
        "malformed",
        "malformed",
        "2 Who (what) is it:3",
        "947testa CRICKET:0",
        "malformed",
        "1163testb SOCCER:0",
    ]


@pytest.mark.parametrize(
    ("columns", "title"),
    [
        (f"Rome\tB\tRome\tNew_Rome\t{WIKI}New_Rome\t12\t/m/1", "New Rome"),
        (f"Rome\tB\tRome\tNew_Rome\t{WIKI}New_Rome\t12", "New Rome"),
        ("Rome\tB\tRome\tPeople\\u0027s_Park", "People's Park"),
        ("Rome\tB\tRome\tX\\ud83d\\ude00", "X\U0001f600"),
        (f"Rome\tB\tRome\tx\t{WIKI}People\\u0027s_Park\t1", "People's Park"),
        (f"Rome\tB\tRome\tx\t{WIKI}AC/DC\t1", "AC/DC"),
        (f"Rome\tB\tRome\tx\t{WIKI}Z%C3%BCrich\t1", "Zürich"),
        (f"Rome\tB\tRome\tx\t{WIKI}Who_Is_It%3F\t1", "Who Is It?"),
        ("Rome\tB\tRome\tRome\thttp://example.org/x\t1", "Rome"),
    ],
)
def test_titles_of_aida(columns: str, title: str) -> None:
    (example,) = records(AIDA, "-DOCSTART- (1 EU)", columns)
    (output,) = example.outputs
    assert (output.answer, output.evidence) == (title, (Evidence(title),))


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ("Rome\tB", "line 2: 2 columns, the second is 'B'"),
        ("Rome\tB\tRome", "line 2: 3 columns, the second is 'B'"),
        ("Rome\tB\tRome\tRome\tu\t1\t/m/1\tx", "line 2: 8 columns, the second is 'B'"),
        ("Rome\tO\tRome\tRome", "line 2: 4 columns, the second is 'O'"),
        ("Rome\tI\tRome\tRome", "line 2: I without B"),
        ("Rome\tB\tRome\t\thttp://example.org/x\t1", "line 2: neither an address nor a name of a page"),
        ("Rome\tB\tRome\t_", "line 2: neither an address nor a name of a page"),
    ],
)
def test_rows_that_aida_does_not_have(columns: str, problem: str) -> None:
    (read,) = reads(AIDA, "-DOCSTART- (1 EU)", columns)
    assert told(read) == problem


def test_a_mention_with_a_malformed_first_row_is_one_reject() -> None:
    (read,) = reads(AIDA, "-DOCSTART- (1 EU)", "New\tB\tNew Rome", "Rome\tI\tNew Rome\tNew_Rome", "won")
    assert told(read) == "line 2: 3 columns, the second is 'B'"


def test_the_end_of_a_sentence_is_two_spaces_as_in_the_release() -> None:
    (example,) = records(
        AIDA, "-DOCSTART- (1 EU)", "", "Big", ".", "", f"Rome\tB\tRome\tRome\t{WIKI}Rome\t1", "", "won", ""
    )
    assert example.input == "Big . [START_ENT] Rome [END_ENT] won"
    first, second = records(
        AIDA, "-DOCSTART- (1 EU)", f"A\tB\tA\tA\t{WIKI}A\t1", ".", "", "x", f"B\tB\tB\tB\t{WIKI}B\t1"
    )
    assert first.input == "[START_ENT] A [END_ENT] .  x B"
    assert second.input == "A .  x [START_ENT] B [END_ENT]"


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("1 EU", "train"),
        ("946 SOCCER", "train"),
        ("947testa CRICKET", "validation"),
        ("1162testa", "validation"),
        ("1163testb SOCCER", "test"),
        ("12 testb", "train"),
    ],
)
def test_the_split_is_in_the_name_of_the_document(name: str, split: str) -> None:
    (example,) = records(AIDA, f"-DOCSTART- ({name})", f"Rome\tB\tRome\tRome\t{WIKI}Rome\t1")
    assert example.id == f"{name}:0"
    assert AIDA.split_of is not None
    assert AIDA.split_of(example) == split


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (['{"id": 8}'], r"line 1: '\{\"id\": 8\}' instead of -DOCSTART-"),
        (["", "Rome"], "line 2: 'Rome' instead of -DOCSTART-"),
        (["-DOCSTART- -X- -X- O"], "tokens without entities need the annotations"),
    ],
)
def test_files_that_are_not_aida(lines: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        reads(AIDA, *lines, "Rome", "")


def test_aida_is_read_as_a_stream() -> None:
    def lines() -> Iterator[str]:
        yield from F8.split("\n")
        yield "-DOCSTART- (2 EU)"
        raise AssertionError("read on before the first document was used")

    assert isinstance(AIDA.source, Text)
    assert next(iter(AIDA.source.parse(lines())))["document"] == "1testa X"


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    (example,) = records(AIDA, "\ufeff-DOCSTART- (1 EU)", f"Rome\tB\tRome\tRome\t{WIKI}Rome\t1")
    assert example.id == "1 EU:0"


# ---------------------------------------------------------------------------------------------
# AIDA's annotations, joined with tokens

ANNOTATIONS = [
    "-DOCSTART- (1 EU)",
    "0\t--NME--",
    f"2\tChina\t{WIKI}China\t1\t/m/1",
    f"4\tNew_Rome\t{WIKI}New_Rome\t2",
    f"6\tLu_Ban\t{WIKI}Lu_Ban\t3\t/m/3",
    "",
    "-DOCSTART- (2 Rome)",
    f"1\tRome\t{WIKI}Rome\t4\t/m/4",
    "",
    "-DOCSTART- (3testa CRICKET)",
    f"3\tLeeds\t{WIKI}Leeds\t5\t/m/5",
    "",
    "-DOCSTART- (4testb SOCCER)",
    f"0\tKyiv\t{WIKI}Kyiv\t6\t/m/6",
]
HEAD = ["-DOCSTART- -X- O O", ""]
EU = [
    "EU NNP I-NP I-ORG",
    "flew VBD I-VP O",
    "Chinese JJ I-NP I-MISC",
    "to TO I-PP O",
    "New NNP I-NP I-LOC",
    "Rome NNP I-NP I-LOC",
    "Lu NNP I-NP B-LOC",
    "Ban NNP I-NP I-LOC",
    ". . O O",
    "",
]
ROME = ["In IN I-PP O", "", "Rome NNP I-NP I-LOC", "", "He PRP I-NP I-LOC", ""]
LEEDS = ["Then RB I-ADVP O", "came VBD I-VP O", "the DT I-NP O", "Leeds NNP I-NP B-ORG", "United NNP I-NP I-ORG", ""]
KYIV = ["Kyiv NNP I-NP I-LOC", "won VBD I-VP O", ""]


def joined(*lines: str) -> list[str]:
    dataset = configure({"annotations": ANNOTATIONS})
    return [told(read) if isinstance(read, Refused) else read[0].input for read in reads(dataset, *lines)]


EU_MENTIONS = [
    "no-entity",
    "EU flew [START_ENT] Chinese [END_ENT] to New Rome Lu Ban .",
    "EU flew Chinese to [START_ENT] New Rome [END_ENT] Lu Ban .",
    "EU flew Chinese to New Rome [START_ENT] Lu Ban [END_ENT] .",
]
ROME_MENTIONS = ["In [START_ENT] Rome [END_ENT] He"]
LEEDS_MENTIONS = ["Then came the [START_ENT] Leeds United [END_ENT]"]
KYIV_MENTIONS = ["[START_ENT] Kyiv [END_ENT] won"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([*HEAD, *EU, *HEAD, *ROME], EU_MENTIONS + ROME_MENTIONS),
        ([*HEAD, *LEEDS], LEEDS_MENTIONS),
        ([*HEAD, *KYIV], KYIV_MENTIONS),
        (
            [*HEAD, *EU, *HEAD, *ROME, *HEAD, *LEEDS, *HEAD, *KYIV],
            EU_MENTIONS + ROME_MENTIONS + LEEDS_MENTIONS + KYIV_MENTIONS,
        ),
        ([*HEAD, *LEEDS, *HEAD, *EU], LEEDS_MENTIONS + EU_MENTIONS),  # files in another order
        (["-DOCSTART- (2 Rome)", *ROME, "-DOCSTART- (1 EU)", *EU], ROME_MENTIONS + EU_MENTIONS),
        ([line.replace(" ", "\t") for line in (*HEAD, *EU)], EU_MENTIONS),
        ([line + "\r" for line in (*HEAD, *EU)], EU_MENTIONS),
        ([*HEAD, *(line.replace(" I-LOC", " I-PER") if "New" in line else line for line in EU)], [
            *EU_MENTIONS[:2], "EU flew Chinese to [START_ENT] New [END_ENT] Rome Lu Ban .", EU_MENTIONS[3],
        ]),
        ([*HEAD, *(line.replace("B-LOC", "I-LOC") for line in EU)], EU_MENTIONS),  # the next annotation ends it
        ([*HEAD, *EU, *HEAD, "Rome NNP I-NP O"], [*EU_MENTIONS, "document '2 Rome' has no named entity at token 1"]),
    ],
)  # fmt: skip
def test_annotations_and_tokens(lines: list[str], expected: list[str]) -> None:
    assert joined(*lines) == expected


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([*HEAD, "One CD O O"], "after document None come tokens that are those of none of"),
        ([*HEAD, *KYIV, *HEAD, "One CD O O"], "after document '4testb SOCCER' come tokens"),
        (["-DOCSTART- (9 ROME)", *ROME], "the annotations have no document '9 ROME'"),
    ],
)
def test_tokens_of_other_documents(lines: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        joined(*lines)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("-DOCSTART- (1 EU)", "is not the name of a further document"),
        ("-DOCSTART- -X-", "is not the name of a further document"),
        ("one\tRome", "line 15: not number of a token"),
        ("1", "line 15: not number of a token"),
        ("1\tRome\tu\t1\t/m/1\tx", "line 15: not number of a token"),
    ],
)
def test_annotations_of_another_format(line: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        configure({"annotations": [*ANNOTATIONS, line]})


def test_ids_of_both_ways_are_the_same() -> None:
    dataset = configure({"annotations": ANNOTATIONS})
    assert ids(reads(dataset, *HEAD, *EU)) == ["no-entity", "1 EU:0", "1 EU:1", "1 EU:2"]
    assert configure({}) is AIDA
    assert ids(reads(AIDA, *F8.split("\n"))) == ["no-entity", "1testa X:0"]


def test_the_configured_dataset_can_be_sent_to_workers() -> None:
    dataset = pickle.loads(pickle.dumps(configure({"annotations": ANNOTATIONS})))
    assert len(reads(dataset, *HEAD, *EU)) == 4


# ---------------------------------------------------------------------------------------------
# WNED's two datasets


def xml(*annotations: str, name: str = "Kite", before: str = "") -> list[str]:
    body = "".join(f"<annotation>{one}</annotation>" for one in annotations)
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n{before}<wikipedia.entityAnnotation>\n<document docName="{name}">'
    return f"{text}\n{body}\n</document>\n</wikipedia.entityAnnotation>".split("\n")


def test_the_fixtures_of_wned() -> None:
    kite, music = ([f"{page}:{number}" for number in range(5)] for page in ("Kite_(toy)", "R&B_(music)"))
    expected = [kite[0], "no-entity", kite[1], "no-entity", *kite[2:], *["malformed"] * 6, "no-entity"]
    expected += [*music, "malformed", "no-entity"]
    assert ids(fixture(WNED)) == expected
    page = "clueweb12-0000tw-00-00001"
    assert ids(fixture(CWEB)) == [f"{page}:0", "no-entity", f"{page}:1", "malformed"]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Lu Ban", "Lu Ban"),
        ("lu_Ban", "Lu Ban"),
        (" Lu Ban ", "Lu Ban"),
        ("Foo & Bar", "Foo & Bar"),
        ("Foo &amp; Bar", "Foo & Bar"),
        ("Foo#Bar", "Foo"),
        ("Zoe\u0308", "Zo\u00eb"),
        ("NIL", None),
        ("*null*", None),
        ("", None),
        (" ", None),
        ("Nil", "Nil"),
        ("Null", "Null"),
    ],
)
def test_names_of_pages(name: str, title: str | None) -> None:
    assert entity(name) == title


def test_rows_come_as_the_file_is_read() -> None:
    def lines() -> Iterator[str]:
        yield from xml("<mention>Kite</mention><wikiName/>", "<mention>R&amp;B</mention><wikiName>R</wikiName>")[:-2]
        raise AssertionError("read on before the annotations were used")

    found = annotation_rows(lines())
    assert next(found) == {"docName": "Kite", "mention": "Kite", "wikiName": ""}
    assert next(found) == {"docName": "Kite", "mention": "R&B", "wikiName": "R", "number": 0}


def test_other_elements_are_passed_over() -> None:
    (row,) = annotation_rows(
        xml("<mention> Kite\n</mention><wikidataId>Q1</wikidataId><wikiName><b>Kite</b></wikiName><offset>1</offset>")
    )
    assert row == {"docName": "Kite", "mention": "Kite", "wikiName": "Kite", "offset": "1", "number": 0}


def test_a_document_in_two_pieces_has_no_id_twice() -> None:
    first = xml("<wikiName>A</wikiName>", "<wikiName>NIL</wikiName>")
    rows = list(annotation_rows([*first[:-1], *xml("<wikiName>B</wikiName>")[2:]]))
    assert [row.get("number") for row in rows] == [0, None, 1]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (xml(before='<!DOCTYPE x [<!ENTITY a "b">]>'), "declares a document type"),
        (xml(before='<!DOCTYPE x SYSTEM "http://example.org/x.dtd">'), "declares a document type"),
        (xml("<mention>&nbsp;</mention>"), "not XML: undefined entity: line 4"),
        (xml("<mention>R&B</mention>"), "not XML: not well-formed"),
        (xml()[:-1], "not XML: no element found"),
        (['{"id": 8}'], "not XML: .*line 1"),
        ([], "not XML: no element found"),
    ],
)
def test_files_that_are_not_wned(lines: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        reads(WNED, *lines)


TEXT = "Foo and Foo, (New\n York) Foobar . " + "x" * 50 + " Kite"


@pytest.mark.parametrize(
    ("mention", "offset", "expected"),
    [
        ("Foo", 0, (0, 3)),
        ("Foo", 8, (8, 11)),
        ("Foo", 3, (0, 3)),
        ("Foo", 4, (0, 3)),  # as near to the next one
        ("Foo", 5, (8, 11)),
        ("Foo", 11, (8, 11)),
        ("New York", 14, (14, 23)),
        ("New York", 10, (14, 23)),
        ("Kite", len(TEXT) - 4, (len(TEXT) - 4, len(TEXT))),
        ("Kite", len(TEXT) - 4 + NEAR, (len(TEXT) - 4, len(TEXT))),
        ("Kite", len(TEXT) - 4 - NEAR, (len(TEXT) - 4, len(TEXT))),
        ("Kite", len(TEXT) - 5 - NEAR, None),
        ("Kite", len(TEXT) - 3 + NEAR, None),
        ("Kite", 10**9, None),
        ("(", 0, (13, 14)),
        ("foo", 0, None),
    ],
)
def test_a_mention_is_found_again_near_by(mention: str, offset: int, expected: tuple[int, int] | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match=re.escape(f"the mention {mention!r} is not at offset {offset}, nor")):
            located(TEXT, mention, offset)
    else:
        assert located(TEXT, mention, offset) == expected


@given(st.text(st.sampled_from("ab \n"), min_size=1, max_size=80), st.data(), st.integers(-NEAR, NEAR))
def test_a_mention_is_found_whatever_the_shift(text: str, data: st.DataObject, shift: int) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    mention = text[start : start + data.draw(st.integers(1, 10))].strip()
    if mention and text.startswith(mention, start):
        first, last = located(text, mention, max(0, start + shift))
        assert text[first:last].split() == mention.split()
        assert abs(first - max(0, start + shift)) <= abs(shift)


def annotated(text: str | None, mention: str, offset: str) -> Read:
    """What the annotation of a mention in a document gives."""
    lines = xml(f"<mention>{escape(mention)}</mention><wikiName>T</wikiName><offset>{offset}</offset>")
    (read,) = reads(WNED, *lines, beside={} if text is None else {"RawText/Kite": text})
    return read


@pytest.mark.parametrize("count", [0, 1, 40])
def test_offsets_may_be_of_the_text_with_or_without_references(count: int) -> None:
    """Forty references before a mention are 160 characters: more than is searched."""
    plain, written = "R&B " * count + "Rome", "R&amp;B " * count + "Rome"
    for text in (plain, written):
        for offset in {plain.index("Rome"), text.index("Rome")}:
            (example,) = examples_of([annotated(text, "Rome", str(offset))])
            assert example.meta.left_context == ("R&B " * count).strip()


@pytest.mark.parametrize(
    ("text", "mention", "offset", "problem"),
    [
        (None, "Rome", "0", "there is no text of the document 'Kite'"),
        ("Rome", "Rome", "-1", "offset is -1"),
        ("Rome", "", "0", "the mention is empty"),
        ("Rome", "Rome", "x", "invalid literal for int() with base 10: 'x'"),
        ("Paris", "Rome", "0", "the mention 'Rome' is not at offset 0, nor within 20 characters of it"),
    ],
)
def test_annotations_that_do_not_fit(text: str | None, mention: str, offset: str, problem: str) -> None:
    assert told(annotated(text, mention, offset)) == problem


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "..", ".", "", "a\\b", "a\0b", "a/b"])
def test_a_document_is_a_file_of_its_folder(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a file"):
        text_file({"docName": name})
    if "\0" not in name:  # which XML cannot hold
        (read,) = reads(WNED, *xml("<mention>Kite</mention><wikiName>K</wikiName>", name=name))
        assert (
            told(read) == f"no file beside it can be named for this row (docName is {name!r}, not the name of a file)"
        )


def test_where_the_texts_are() -> None:
    assert WNED.source is CWEB.source
    assert isinstance(WNED.source, Text)
    assert WNED.source.companion is text_file
    assert text_file({"docName": "Lu_Ban_(R&B)..x"}) == "RawText/Lu_Ban_(R&B)..x"


def test_a_document_is_in_one_split_and_half_of_them_in_each() -> None:
    splits: dict[str, set[str]] = {}
    for document in range(400):
        for number in range(5):
            example = mention_example(f"Page: {document}:{number}", "", "M", "", "T")
            splits.setdefault(f"Page: {document}", set()).add(split_of(example))
    assert all(len(found) == 1 for found in splits.values())
    count = Counter(split for found in splits.values() for split in found)
    assert 160 < count["validation"] < 240
    assert count["test"] == 400 - count["validation"]


def test_the_split_stays() -> None:
    """The same on every machine, for good: a change here changes the published tables."""
    found = [split_of(mention_example(f"{document}:0", "", "M", "", "T")) for document in ("A", "B", "Kite_(toy)", "D")]
    assert found == ["test", "validation", "test", "validation"]


# ---------------------------------------------------------------------------------------------
# real records


@pytest.mark.shared
def test_real_annotations_of_aida(shared: Path) -> None:
    lines = (shared / "data/aida/AIDA-YAGO2-annotations.tsv").read_bytes().decode("utf-8").split("\n")
    found = read_annotations(lines)
    entities = [entity for document in found.values() for entity in document]
    linked = [entity for entity in entities if entity.name != "--NME--"]
    assert (len(found), len(entities), len(linked)) == (1393, 34929, 27817)
    titles = {title_from_url(entity.url or "")[0] for entity in linked}
    assert len(titles) == 5598
    assert "People's Republic of China" in titles
    # YAGO's names, where their escapes are decoded, are the addresses' titles
    rows = [line for each in linked for line in ("-DOCSTART- (1 EU)", f"A\tB\tA\t{each.name}")]
    named = records(AIDA, *rows)
    assert [example.outputs[0].answer for example in named] == [title_from_url(each.url or "")[0] for each in linked]


@pytest.mark.shared
def test_real_annotations_join_tokens(shared: Path) -> None:
    """Tokens made up here, as CoNLL-2003 would have them, in one file and in a file a split."""
    lines = (shared / "data/aida/AIDA-YAGO2-annotations.tsv").read_bytes().decode("utf-8").split("\n")
    dataset = configure({"annotations": lines})
    assert dataset.split_of is not None
    files: dict[str, list[str]] = {"train": [], "testa": [], "testb": []}
    for name, entities in read_annotations(lines).items():
        starts = {entity.token for entity in entities}
        mark = re.match(r"\d+(testa|testb)", name)
        file = files[mark[1] if mark else "train"]
        file += HEAD
        file += [
            f"w{place} NN I-NP {'I-ORG' if place in starts else 'O'}" for place in range(max(starts, default=0) + 9)
        ]
    whole = reads(dataset, *(line for file in files.values() for line in file))
    assert len(whole) == 34929
    examples = examples_of(whole)
    assert examples[18541:] == [example for name in ("testa", "testb") for example in records(dataset, *files[name])]
    assert all(len(example.input.split()) <= MAX_TOKENS for example in examples)
    assert len({example.id for example in examples}) == 27817
    counts = Counter(map(dataset.split_of, examples))
    counts.update(told(read) for read in whole if isinstance(read, Refused))
    assert counts == {"no-entity": 7112, "train": 18541, "validation": 4791, "test": 4485}


@pytest.mark.shared
@pytest.mark.parametrize("name", ["wned-dev-kilt", "wned-test_without_answers-kilt"])
def test_real_released_records(shared: Path, name: str) -> None:
    """Made again out of their contexts they are the same, and a document's mentions are in one split."""
    lines = (shared / f"data/kilt/wned/{name}.jsonl").read_bytes().decode("utf-8").split("\n")
    records = [json.loads(line) for line in lines if line.strip()]
    assert len(records) == 5
    for number, record in enumerate(records):
        meta = record["meta"]
        title = record["output"][0]["answer"] if "output" in record else "unknown"
        own = re.sub("^[^_]*_", "", record["id"])
        example = mention_example(own, meta["left_context"], meta["mention"], meta["right_context"], title)
        assert example.input == record["input"]
        assert len(example.input.split()) <= MAX_TOKENS
        assert {key: getattr(example.meta, key) for key in meta} == meta
        assert own == f"{own.rpartition(':')[0]}:{number}"
    assert len({re.sub("^[^_]*_|:[0-9]*$", "", record["id"]) for record in records}) == 1
