"""The annotation campaign, without files: which passages are judged, and what the judgements say."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kiltetl.schemas.reasons import CHOSEN, LOW_OVERLAP, NO_EVIDENCE_FOUND, NO_PLACE, NOT_JUDGED, SHARES_A_PARAGRAPH
from kiltetl.schemas.records import (
    Output,
    OutputMeta,
    PartialEvidence,
    PartialEvidenceMeta,
    Provenance,
    ProvenanceMeta,
    Task,
    TaskMeta,
)
from kiltetl.transforms.annotation.judgements import (
    Annotated,
    Judgement,
    agreement,
    annotate,
    below_control,
    cohen_kappa,
    control,
    is_enough,
    is_flagged,
    is_in,
    judgement_of,
)
from kiltetl.transforms.annotation.passages import (
    Passage,
    PassageText,
    choose,
    gold_passages,
    overlap,
    passage_of,
    text_of,
)

VOTES = st.lists(st.booleans(), min_size=1, max_size=12)


def passage(page: str, start: int = 1, end: int | None = None) -> Passage:
    return Passage(page, start, start if end is None else end)


def judged(where: Passage, votes: str, spans: Sequence[str] = (), question: str = "q") -> list[Judgement]:
    """A judgement for each letter of ``votes``, y or n, by the annotators a, b, c, …"""
    return [
        Judgement(question, where, chr(ord("a") + i), vote == "y", (spans[i],) if i < len(spans) and spans[i] else ())
        for i, vote in enumerate(votes)
    ]


def span(page: str, paragraph: int, end: int | None = None, start_character: int | None = 0) -> Provenance:
    return Provenance(
        bleu_score=1.0,
        start_character=start_character,
        start_paragraph_id=paragraph,
        end_character=start_character and 5,
        end_paragraph_id=paragraph if end is None else end,
        meta=ProvenanceMeta(),
        section="Section::::Abstract.",
        title=f"Page {page}",
        wikipedia_id=page,
    )


def task(*outputs: Output, dataset: str = "nq") -> Task:
    return Task("q", "Why?", TaskMeta(), outputs, dataset, "validation", "en")


def output(answer: str | None, *spans: Provenance) -> Output:
    return Output(answer, OutputMeta(), spans or None)


QUESTION = task(output("a kite", span("1", 1)), output("the tethered kite"), output(None, span("1", 1), span("2", 4)))
TEXTS = {
    passage("1"): PassageText("Page 1", "Section::::Abstract.", "A kite is a tethered craft – held up by wind."),
    passage("3"): PassageText("Page 3", "Section::::History.", "Kites are old."),
    passage("4"): PassageText("Page 4", "Section::::Use.", None),
}


# ---------------------------------------------------------------------------------------------
# rows


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"wikipedia_id": "12", "start_paragraph_id": 3, "end_paragraph_id": 5}, Passage("12", 3, 5)),
        ({"wikipedia_id": 12, "start_paragraph_id": 0}, Passage("12", 0, 0)),
        ({"wikipedia_id": " 12 ", "start_paragraph_id": 3, "end_paragraph_id": None}, Passage("12", 3, 3)),
        ({"wikipedia_id": "", "start_paragraph_id": 3}, "wikipedia_id is ''"),
        ({"wikipedia_id": True, "start_paragraph_id": 3}, "wikipedia_id is True"),
        ({"wikipedia_id": "1", "start_paragraph_id": -1}, "start_paragraph_id is -1"),
        ({"wikipedia_id": "1", "start_paragraph_id": "3"}, "start_paragraph_id is '3'"),
        ({"wikipedia_id": "1", "start_paragraph_id": 3, "end_paragraph_id": 2}, "ends at paragraph 2, before"),
    ],
)
def test_passage_of(row: dict[str, Any], expected: Any) -> None:
    if isinstance(expected, Passage):
        assert passage_of(row) == expected
    else:
        with pytest.raises(ValueError, match=expected):
            passage_of(row)


ROW = {"id": 5, "wikipedia_id": "1", "start_paragraph_id": 1, "annotator": 7, "enough_evidence": "Yes"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Judgement("5", passage("1"), "7", True)),
        ({"enough_evidence": False, "evidence_span": " "}, Judgement("5", passage("1"), "7", False)),
        ({"enough_evidence": "no", "evidence_span": "x y"}, Judgement("5", passage("1"), "7", False, ("x y",))),
        ({"evidence_span": ["x", "", "y"]}, Judgement("5", passage("1"), "7", True, ("x", "y"))),
        ({"enough_evidence": "perhaps"}, "enough_evidence is 'perhaps', not yes or no"),
        ({"enough_evidence": 1}, "enough_evidence is 1"),
        ({"annotator": None}, "annotator is None"),
        ({"id": ""}, "id is ''"),
        ({"evidence_span": [1]}, "evidence_span is"),
        ({"evidence_span": {}}, "evidence_span is"),
    ],
)
def test_judgement_of(changes: dict[str, Any], expected: Any) -> None:
    if isinstance(expected, Judgement):
        assert judgement_of(ROW | changes) == expected
    else:
        with pytest.raises(ValueError, match=expected):
            judgement_of(ROW | changes)


def test_text_of() -> None:
    assert text_of({"title": "A", "section": "S", "text": "t"}) == PassageText("A", "S", "t")
    assert text_of({"title": "A", "section": "S"}) == PassageText("A", "S", None)
    assert text_of({"title": "A"}) is None


# ---------------------------------------------------------------------------------------------
# candidates


@pytest.mark.parametrize(
    ("answers", "text", "expected"),
    [
        (["a kite"], "The KITE, flown.", 1.0),
        (["one two three four five six seven eight nine ten"], "ten! eleven", 0.1),
        (["one two three four five six seven eight nine ten eleven"], "ten", 1 / 11),
        (["unseen words", "held up by wind"], "by wind", 0.5),
        (["wind wind wind rain"], "wind", 0.5),
        (["the"], "the", 0.0),
        ([], "text", 0.0),
    ],
)
def test_overlap(answers: list[str], text: str, expected: float) -> None:
    assert overlap(answers, text) == pytest.approx(expected, abs=1e-15)


def test_gold_passages_are_those_of_the_datasets_own_evidence() -> None:
    added = output(None, span("9", 1, start_character=None))
    whole = output("x", replace(span("8", 1), start_paragraph_id=None))
    wide = output("y", span("2", 3, 5))
    assert gold_passages(task(*QUESTION.output, added, whole, wide)) == [passage("1"), passage("2", 4)]
    assert gold_passages(task(output("a", span("1", 2)), output(None, span("3", 1)))) == [passage("3"), passage("1", 2)]


def test_a_title_is_a_passage_only_where_there_is_no_other() -> None:
    title = output("Kite", span("1", 0))
    assert gold_passages(task(title)) == [passage("1", 0)]
    assert gold_passages(task(title, output(None, span("1", 2)))) == [passage("1", 2)]


def test_choose_four_of_those_with_enough_words() -> None:
    ranked = [("1", 1.0), ("5", 0.09), ("6", 0.1), ("7", 0.5), ("6", 1.0), ("8", 0.9)]
    retrieved = [(passage(page), share) for page, share in ranked]
    chosen, fates = choose("q", gold_passages(QUESTION), retrieved)
    assert fates == [SHARES_A_PARAGRAPH, LOW_OVERLAP, CHOSEN, CHOSEN, SHARES_A_PARAGRAPH, NO_PLACE]
    assert set(chosen) == {passage("1"), passage("2", 4), passage("6"), passage("7")}


def test_choose_more_gold_where_too_little_was_retrieved() -> None:
    gold = [passage(str(page)) for page in range(5)]
    assert set(choose("q", gold, [(passage("9"), 1.0)])[0]) == {*gold[:3], passage("9")}
    assert len(choose("q", gold, [])[0]) == 4
    assert choose("q", [], []) == ([], [])
    assert set(choose("q", gold, [(passage(p), 1.0) for p in "789"], controls=0)[0]) == {
        *(passage(p) for p in "789"),
        gold[0],
    }


def test_the_order_tells_nothing_of_the_gold() -> None:
    gold, others = [passage("1")], [(passage(page), 1.0) for page in "567"]
    places = [choose(f"q{i}", gold, others)[0].index(gold[0]) for i in range(400)]
    assert all(60 < places.count(place) < 140 for place in range(4))
    assert choose("q1", gold, others) == choose("q1", gold, others)


PASSAGES = st.builds(passage, st.sampled_from("abc"), st.integers(0, 9))


@given(
    st.lists(PASSAGES, unique=True, max_size=4),
    st.lists(st.tuples(PASSAGES, st.floats(0, 1)), max_size=12),
    st.integers(1, 6),
    st.integers(0, 6),
)
def test_laws_of_choosing(
    gold: list[Passage], retrieved: list[tuple[Passage, float]], places: int, controls: int
) -> None:
    chosen, fates = choose("q", gold, retrieved, places, controls)
    assert len(chosen) == len(set(chosen)) <= places
    assert len(fates) == len(retrieved)
    assert not any(one.shares(other) for one in chosen for other in chosen if one != other)
    picked = {p for (p, _), fate in zip(retrieved, fates, strict=True) if fate == CHOSEN}
    assert set(chosen) <= picked | set(gold)
    assert picked <= {p for p, share in retrieved if share >= 0.1}
    if len(chosen) < places:
        assert set(gold) <= set(chosen)


# ---------------------------------------------------------------------------------------------
# votes and agreement


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        *[("", False), ("y", False), ("yy", True), ("yn", False), ("yyn", True), ("ynn", False), ("yyy", True)],
        *[("yynn", False), ("yyyn", True), ("yyyynn", True), ("yyynn", False)],
    ],
)
def test_two_of_three(votes: str, expected: bool) -> None:
    assert is_enough([vote == "y" for vote in votes]) is expected


@pytest.mark.parametrize(
    ("yes_yes", "yes_no", "no_yes", "no_no", "kappa"),
    [
        (20, 5, 10, 15, 0.4),  # the standard example: observed 0.7, by chance 0.5
        (45, 15, 25, 15, 0.1304348),
        (25, 35, 5, 35, 0.2592593),
        (1, 0, 0, 1, 1.0),
        (0, 1, 1, 0, -1.0),
        (5, 0, 0, 0, None),
        (0, 0, 0, 5, None),
        (5, 5, 0, 0, 0.0),
        (0, 0, 0, 0, None),
    ],
)
def test_kappa(yes_yes: int, yes_no: int, no_yes: int, no_no: int, kappa: float | None) -> None:
    first = [True] * (yes_yes + yes_no) + [False] * (no_yes + no_no)
    second = [True] * yes_yes + [False] * yes_no + [True] * no_yes + [False] * no_no
    found = cohen_kappa(first, second)
    assert found == (None if kappa is None else pytest.approx(kappa, abs=1e-7))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40))
def test_laws_of_kappa(votes: list[tuple[bool, bool]]) -> None:
    first, second = [vote[0] for vote in votes], [vote[1] for vote in votes]
    kappa = cohen_kappa(first, second)
    assert kappa == cohen_kappa(second, first)
    assert kappa == cohen_kappa([not vote for vote in first], [not vote for vote in second])
    assert kappa == cohen_kappa(first[::-1], second[::-1])
    assert kappa is None or -1 <= kappa <= 1
    assert (kappa is None) == (len({*first, *second}) < 2)
    if kappa is not None:
        assert (kappa == 1) == (first == second)


def test_agreement_is_the_mean_over_pairs() -> None:
    judgements = [
        Judgement("q", passage(str(i)), name, vote == "y")
        for name, votes in {"a": "yynn", "b": "ynnn", "c": "yy--", "d": "---y"}.items()
        for i, vote in enumerate(votes)
        if vote != "-"
    ]
    found = agreement(judgements)
    # a-b: 0.5 on 4; a-c: one vote throughout; a-d: 0 on 1; b-c: 0 on 2; b-d: 0 on 1
    assert (found["pairs"], found["pairs_without_kappa"]) == (5, 1)
    assert found["kappa"] == pytest.approx(0.5 / 4)
    assert found["kappa_weighted"] == pytest.approx(0.5 * 4 / 8)
    assert found["observed"] == pytest.approx((3 + 2 + 0 + 1 + 0) / 10)
    assert agreement(reversed(judgements)) == found
    assert agreement([]) == {
        "pairs": 0, "pairs_without_kappa": 0, "kappa": None, "kappa_weighted": None, "observed": None,
    }  # fmt: skip


@given(st.lists(st.builds(Judgement, st.sampled_from("pq"), PASSAGES, st.sampled_from("abcd"), st.booleans())))
def test_laws_of_agreement(judgements: list[Judgement]) -> None:
    found = agreement(judgements)
    for name in ("kappa", "kappa_weighted"):
        assert found[name] is None or -1 <= found[name] <= 1
    assert (found["kappa"] is None) == (found["pairs"] == found["pairs_without_kappa"])


def test_control() -> None:
    judgements = judged(passage("1"), "yyn") + judged(passage("2", 4, 5), "ynn") + judged(passage("7"), "nnn")
    quality = control(judgements, {"q": gold_passages(QUESTION)})
    assert quality == {
        "passages": 2,
        "accepted": 1,
        "accepted_share": 0.5,
        "judgements": 6,
        "enough": 3,
        "annotators": {
            "a": {"judgements": 2, "enough": 2},
            "b": {"judgements": 2, "enough": 1},
            "c": {"judgements": 2, "enough": 0},
        },
    }
    assert below_control(quality, 0) == set()
    assert below_control(quality, 0.5) == {"c"}
    assert below_control(quality, 0.51) == {"b", "c"}
    assert control(judgements, {})["accepted_share"] is None


# ---------------------------------------------------------------------------------------------
# records


def test_accepted_and_partial() -> None:
    spans = ["tethered craft - held", "Highlight the text here", "KITE  is"]
    judgements = [
        *judged(passage("1"), "yyn", spans),
        *judged(passage("3"), "ynn", ["kites are old", "Kites"]),
        *judged(passage("4"), "nnn", ["whatever"]),
    ]
    found = annotate(QUESTION, judgements, TEXTS)
    assert found.task is not None
    assert found.task.output[:3] == QUESTION.output
    assert found.task.output[3:] == (
        Output(
            None,
            OutputMeta(),
            (
                Provenance(
                    bleu_score=None,
                    start_character=None,
                    start_paragraph_id=1,
                    end_character=None,
                    end_paragraph_id=1,
                    meta=ProvenanceMeta(evidence_span=("tethered craft - held", "KITE  is")),
                    section="Section::::Abstract.",
                    title="Page 1",
                    wikipedia_id="1",
                ),
            ),
        ),
    )
    assert found.task.meta.partial_evidence == (
        PartialEvidence(1, 1, "Page 3", "Section::::History.", "3", PartialEvidenceMeta(("kites are old", "Kites"))),
    )
    assert (found.accepted, found.partial, found.refused) == ((passage("1"),), (passage("3"),), (passage("4"),))
    (stray,) = found.strays  # CASES F13: the instruction to annotators is no evidence
    assert (stray.annotator, stray.spans) == ("b", ("Highlight the text here",))
    assert gold_passages(found.task) == gold_passages(QUESTION)


def test_doing_it_twice_adds_nothing() -> None:
    judgements = judged(passage("1"), "yyn") + judged(passage("3"), "ynn")
    once = annotate(QUESTION, judgements, TEXTS).task
    assert once is not None
    assert annotate(once, judgements, TEXTS).task == once


ELI5 = task(output("Because the wind lifts it."), dataset="eli5")


@pytest.mark.parametrize(
    ("given", "judgements", "expected"),
    [
        (QUESTION, [], None),
        (ELI5, [], NOT_JUDGED),
        (QUESTION, judged(passage("1"), "ynn"), NO_EVIDENCE_FOUND),
        (QUESTION, judged(passage("1"), "nnn") + judged(passage("3"), "yyn"), None),
        (QUESTION, judged(passage("3"), "nnn"), None),  # its own evidence was not judged
        (ELI5, judged(passage("3"), "ynn"), NO_EVIDENCE_FOUND),
        (ELI5, judged(passage("3"), "yny"), None),
    ],
)
def test_questions_that_are_left_out(given: Task, judgements: list[Judgement], expected: str | None) -> None:
    found = annotate(given, judgements, TEXTS)
    assert found.reason == expected
    assert (found.task is None) == (expected is not None)


def test_rouge_l_of_answer_and_passage() -> None:
    answer = "Wind holds it up and it is tied to the ground with one line that somebody has in the hand all the time"
    question = task(output("no"), output(answer), dataset="eli5")
    found = annotate(question, judged(passage("1"), "yyy"), TEXTS)
    # of 20 and 11 distinct words one, for "is" and "up" stand in another order
    assert found.rouge == pytest.approx(2 * 1 / (20 + 11), abs=1e-6)
    assert is_flagged(found)
    found = annotate(task(output("A kite is held up by wind."), dataset="eli5"), judged(passage("1"), "yyy"), TEXTS)
    assert found.rouge == pytest.approx(2 * 7 / (7 + 11), abs=1e-6)
    assert not is_flagged(found)
    found = annotate(ELI5, judged(passage("4"), "yyy"), TEXTS)
    assert (found.rouge, is_flagged(found)) == (None, False)
    assert not is_flagged(Annotated(None, NOT_JUDGED))


@pytest.mark.parametrize(
    ("span", "text", "expected"),
    [
        ('over 1971–72, "It', "singles over 1971-72, “It Don't", True),
        ("two\n words", "Two words.", True),
        ("two words", "two other words", False),
        ("…", "anything", True),
    ],
)
def test_highlights_are_in_the_passage(span: str, text: str, expected: bool) -> None:
    assert is_in(span, text) is expected


@given(VOTES, st.permutations(range(3)))
def test_more_evidence_never_harms(votes: list[bool], order: list[int]) -> None:
    if is_enough(votes):
        assert is_enough([*votes, True])
    assert is_enough(votes) == is_enough(votes[::-1])
