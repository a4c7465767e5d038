"""The threshold rule, set by set and split by split."""

from collections.abc import Sequence

import pytest

from kiltetl.schemas.reasons import (
    BLEU_BELOW_THRESHOLD,
    PAGE_NOT_IN_KNOWLEDGE_SOURCE,
    SOURCE_SENTENCE_MISSING,
    SPAN_NOT_IN_PAGE,
)
from kiltetl.schemas.records import (
    Evidence,
    Example,
    ExampleOutput,
    OutputMeta,
    Place,
    Provenance,
    ProvenanceMeta,
    Reject,
    Span,
    Task,
    TaskMeta,
)
from kiltetl.transforms.alignment.mapping import Finding, Unmapped, checked, map_example, provenance, section_path

GONE = Unmapped(PAGE_NOT_IN_KNOWLEDGE_SOURCE)


def example(*outputs: tuple[str | None, Sequence[str]]) -> Example:
    """An example whose outputs are answers with the titles of their evidence."""
    return Example("7", "q", tuple(ExampleOutput(a, tuple(evidence(t) for t in ts) or None) for a, ts in outputs))


def evidence(title: str) -> Evidence:
    return Evidence(title, text=f"a sentence of {title}")


def span(title: str, score: float | None) -> Provenance:
    return provenance(evidence(title), "12", title, None if score is None else Span(3, 5, 9, score), ("History",))


def summary(result: Task | Reject) -> list[tuple[str | None, list[float | None] | None, str | None]] | str:
    """Answers, scores and lost sets of a record, or the reason why there is none."""
    if isinstance(result, Reject):
        return result.reason
    return [
        (o.answer, None if o.provenance is None else [p.bleu_score for p in o.provenance], o.meta.unmapped_reason)
        for o in result.output
    ]


HIGH, WEAK, EDGE = span("A", 0.9), span("A", 0.4), span("A", 0.5)
UNDER = span("A", 0.49999999999)
PAGE = provenance(Evidence("A"), "12", "A")

ONE = example(("x", ["A"]))
PAIR = example(("x", ["A", "B"]))
SETS = example(("x", ["A"]), ("x", ["B"]))
ALIAS = example(("x", ["A"]), ("y", []), ("z", []))
ANSWERS = example(("x", ["A"]), ("y", ["B"]), (None, ["C"]))
BARE = example(("x", []), ("y", []))
LOW, MISSING = BLEU_BELOW_THRESHOLD, PAGE_NOT_IN_KNOWLEDGE_SOURCE

CASES: list[tuple[str, Example, list[list[Finding]], object, object]] = [
    # name, example, findings, in validation and test, in train
    ("mapped", ONE, [[HIGH]], [("x", [0.9], None)], [("x", [0.9], None)]),
    ("at the threshold", ONE, [[EDGE]], [("x", [0.5], None)], [("x", [0.5], None)]),
    ("compared before rounding", ONE, [[UNDER]], LOW, [("x", None, LOW)]),
    ("weak", ONE, [[WEAK]], LOW, [("x", None, LOW)]),
    ("page gone", ONE, [[GONE]], MISSING, [("x", None, MISSING)]),
    ("one weak fact unmaps the set", PAIR, [[HIGH, WEAK]], LOW, [("x", None, LOW)]),
    ("the first loss gives the reason", PAIR, [[GONE, WEAK]], MISSING, [("x", None, MISSING)]),
    ("a set of two", PAIR, [[HIGH, EDGE]], [("x", [0.9, 0.5], None)], [("x", [0.9, 0.5], None)]),
    (
        "an alternative set goes with its output, in train its answer stays",
        SETS,
        [[WEAK], [HIGH]],
        [("x", [0.9], None)],
        [("x", None, LOW), ("x", [0.9], None)],
    ),
    ("equal answers without provenance are given once", SETS, [[GONE], [WEAK]], MISSING, [("x", None, MISSING)]),
    (
        "aliases stay beside a mapped set",
        ALIAS,
        [[HIGH], [], []],
        [("x", [0.9], None), ("y", None, None), ("z", None, None)],
        [("x", [0.9], None), ("y", None, None), ("z", None, None)],
    ),
    (
        "aliases alone are no record",
        ALIAS,
        [[WEAK], [], []],
        LOW,
        [("x", None, LOW), ("y", None, None), ("z", None, None)],
    ),
    (
        "a further annotator's answer stays, an output with nothing left goes",
        ANSWERS,
        [[HIGH], [WEAK], [GONE]],
        [("x", [0.9], None), ("y", None, LOW)],
        [("x", [0.9], None), ("y", None, LOW)],
    ),
    (
        "a set without an answer is a mapped set",
        ANSWERS,
        [[WEAK], [GONE], [HIGH]],
        [("x", None, LOW), ("y", None, MISSING), (None, [0.9], None)],
        [("x", None, LOW), ("y", None, MISSING), (None, [0.9], None)],
    ),
    ("nothing left", example((None, ["A"])), [[WEAK]], LOW, LOW),
    (
        "no evidence named",
        BARE,
        [[], []],
        [("x", None, None), ("y", None, None)],
        [("x", None, None), ("y", None, None)],
    ),
    ("No Answer", example((None, [])), [[]], [(None, None, None)], [(None, None, None)]),
    ("symbols", example(("∞", ["A"]), ("$", [])), [[HIGH], []], [("∞", [0.9], None), ("$", None, None)], ...),
]


@pytest.mark.parametrize("split", ["validation", "test", "train"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_rule(case: tuple[str, Example, list[list[Finding]], object, object], split: str) -> None:
    _, given, found, strict, train = case
    expected = train if split == "train" and train is not ... else strict
    assert summary(map_example(given, found, "nq", split)) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([[WEAK]], [("x", [0.4], None)]),
        ([[span("A", 0.0)]], [("x", [0.0], None)]),
        ([[GONE]], [("x", None, MISSING)]),
    ],
)
def test_weak_spans_are_kept_on_request_in_train_only(found: list[list[Finding]], expected: object) -> None:
    assert summary(map_example(ONE, found, "nq", "train", keep_weak=True)) == expected
    assert isinstance(map_example(ONE, found, "nq", "validation", keep_weak=True), Reject)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_entity_linking_has_no_score_and_needs_its_page(split: str) -> None:
    mention = Example("1", "[START_ENT] A [END_ENT]", (ExampleOutput("A", (Evidence("A"),)),))
    assert summary(map_example(mention, [[PAGE]], "aidayago2", split)) == [("A", [None], None)]
    assert summary(map_example(mention, [[GONE]], "aidayago2", split)) == MISSING
    assert summary(map_example(mention, [[GONE]], "aidayago2", split, keep_weak=True)) == MISSING


def test_the_record_carries_what_the_example_has() -> None:
    given = Example("7", "q", (ExampleOutput("x", meta=OutputMeta(entity="Q7")),), TaskMeta(language="km"), "km")
    task = map_example(given, [[]], "mkqa", "validation")
    assert isinstance(task, Task)
    assert (task.id, task.input, task.dataset, task.split, task.language) == ("7", "q", "mkqa", "validation", "km")
    assert task.meta == TaskMeta(language="km")
    assert task.output[0].meta == OutputMeta(entity="Q7")


def test_a_reject_names_the_evidence() -> None:
    """A fact with a bad sentence number spoils its own record only, and says so."""
    facts = (Evidence("Foo", source_page="Foo", sentence=9), Evidence("Bar", text="Three."))
    given = Example("h1", "q", (ExampleOutput("yes", facts),))
    missing = Unmapped(SOURCE_SENTENCE_MISSING, "the page has 2 sentences")
    assert map_example(given, [[missing, span("Bar", 1.0)]], "hotpotqa", "validation") == Reject(
        "hotpotqa/validation", "h1", SOURCE_SENTENCE_MISSING, "'Foo', sentence 9: the page has 2 sentences"
    )
    assert summary(map_example(given, [[missing, span("Bar", 1.0)]], "hotpotqa", "train")) == [
        ("yes", None, SOURCE_SENTENCE_MISSING)
    ]
    assert map_example(ONE, [[WEAK]], "nq", "test") == Reject(
        "nq/test", "7", BLEU_BELOW_THRESHOLD, "'A': best span scores 0.4"
    )
    assert map_example(ONE, [[GONE]], "nq", "test") == Reject("nq/test", "7", MISSING, "'A'")


def test_findings_must_fit_the_example() -> None:
    with pytest.raises(ValueError, match="zip"):
        map_example(ONE, [], "nq", "train")
    with pytest.raises(ValueError, match="zip"):
        map_example(ONE, [[HIGH, HIGH]], "nq", "train")


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ((), "Section::::Abstract."),
        (("History",), "Section::::History."),
        (("History", "Ancient history"), "Section::::History.:Ancient history."),
        (("Who are they?", "Stop!", "End"), "Section::::Who are they?:Stop!:End."),
        (("In the U.S.",), "Section::::In the U.S.."),
    ],
)
def test_section_path(section: tuple[str, ...], expected: str) -> None:
    assert section_path(section) == expected


def test_provenance_of_a_span() -> None:
    given = Evidence("Soul Food", text="t", meta=ProvenanceMeta(annotation_id="12034874153783787365"))
    assert provenance(given, "5", "Soul Food", Span(1, 0, 15, 1.0), ()) == Provenance(
        bleu_score=1.0,
        start_character=0,
        start_paragraph_id=1,
        end_character=15,
        end_paragraph_id=1,
        meta=ProvenanceMeta(annotation_id="12034874153783787365"),
        section="Section::::Abstract.",
        title="Soul Food",
        wikipedia_id="5",
    )


TEXTS = ["Kite", "A kite flies.", "It has a tail."]
SECTIONS = [(), (), ("Parts",)]
INSIDE = [(1, 0, 1, 13), (1, 12, 1, 13), (0, 0, 0, 1), (1, 13, 2, 0), (1, 2, 2, 14), (2, 0, 2, 14), (1, None, 2, None)]
OUTSIDE = [
    ((1, 0, 1, 14), "characters 0 to 14 of paragraph 1, which has 13"),
    ((1, 13, 1, 13), "characters 13 to 13 of paragraph 1, which has 13"),
    ((1, 14, 2, 3), "characters 14 to 3 of paragraph 1, which has 13 and 14"),
    ((1, 0, 2, 15), "characters 0 to 15 of paragraph 1, which has 13 and 14"),
    ((1, -1, 1, 3), "characters -1 to 3 of paragraph 1, which has 13"),
    ((2, 0, 3, 1), "paragraphs 2 to 3 of 3"),
    ((-1, 0, 1, 1), "paragraphs -1 to 1 of 3"),
    ((2, 0, 1, 1), "paragraphs 2 to 1 of 3"),
]
Numbers = tuple[int, int | None, int, int | None]  # paragraph and character of the start, then of the end


@pytest.mark.parametrize("score", [None, 0.75])
@pytest.mark.parametrize("numbers", INSIDE)
def test_a_released_span_may_end_with_its_paragraph(numbers: Numbers, score: float | None) -> None:
    found = checked(Evidence("Kite", place=Place(*numbers, score)), "5", "Kite", TEXTS, SECTIONS)
    assert isinstance(found, Provenance)
    ends = (found.start_paragraph_id, found.start_character, found.end_paragraph_id, found.end_character)
    assert ends == numbers
    assert found.section == ("Section::::Parts." if numbers[0] == 2 else "Section::::Abstract.")
    assert found.bleu_score == score


@pytest.mark.parametrize(("numbers", "detail"), OUTSIDE)
def test_a_released_span_that_leaves_its_paragraph(numbers: Numbers, detail: str) -> None:
    found = checked(Evidence("Kite", place=Place(*numbers, None)), "5", "Kite", TEXTS, SECTIONS)
    assert found == Unmapped(SPAN_NOT_IN_PAGE, detail)


def test_provenance_of_a_renamed_page_keeps_the_original_title() -> None:
    found = provenance(Evidence("Foo (band)", text="t"), "8", "Foo (group)", Span(0, 0, 3, 0.7))
    assert (found.title, found.meta.original_title) == ("Foo (group)", "Foo (band)")
    assert provenance(Evidence("Foo", text="t"), "8", "Foo", Span(0, 0, 3, 0.7)).meta.original_title is None


def test_provenance_of_a_page_has_neither_span_nor_score() -> None:
    assert provenance(Evidence("A"), "12", "A", section=("History",)) == Provenance(
        None, None, None, None, None, ProvenanceMeta(), None, "A", "12"
    )


def test_scores_are_at_most_one_and_not_rounded() -> None:
    assert provenance(evidence("A"), "1", "A", Span(0, 0, 1, 1.0000000000000004)).bleu_score == 1.0
    assert provenance(evidence("A"), "1", "A", Span(0, 0, 1, 0.49999999999)).bleu_score == 0.49999999999
