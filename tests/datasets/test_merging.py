"""The adapters that merge rows, split by a hash or read dialogues: what each must get right, by value."""

import json
import pickle
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kiltetl.schemas.records import Evidence, Example, ExampleOutput, OutputMeta, TaskMeta
from kiltetl.transforms.datasets import DATASETS, trex
from kiltetl.transforms.datasets.eli5 import DATASET as ELI5
from kiltetl.transforms.datasets.hashing import stable_id, stable_share
from kiltetl.transforms.datasets.spec import Dataset, Row, Rule
from kiltetl.transforms.datasets.structured_zeroshot import DATASET as ZERO_SHOT
from kiltetl.transforms.datasets.trex import DATASET as TREX
from kiltetl.transforms.datasets.triviaqa import DATASET as TRIVIAQA
from kiltetl.transforms.datasets.wikidata import PROPERTY_LABELS, property_labels
from kiltetl.transforms.datasets.wow import DATASET as WOW
from tests.support.adapters import examples_of, merges, one, records, rows, told, used, why


def configured(dataset: Dataset, **files: Sequence[str]) -> Dataset:
    assert dataset.options is not None
    return dataset.options.configure({name.replace("_", "-"): lines for name, lines in files.items()})


def rule_of(dataset: Dataset) -> Rule | None:
    """The dataset's rule over all records."""
    return None if dataset.merge is None else dataset.merge.rule


def counted(dataset: Dataset, examples: Iterable[Example]) -> dict[str, int]:
    """What the records count for, each under a name of its own."""
    rule = rule_of(dataset)
    assert rule is not None
    return dict(map(rule.count, examples))


def settled(dataset: Dataset, counts: Mapping[str, int]) -> Dataset:
    rule = rule_of(dataset)
    assert rule is not None
    return rule.settle(dataset, counts)


def split(dataset: Dataset, example: Example) -> str:
    assert dataset.split_of is not None
    return dataset.split_of(example)


def answers(example: Example) -> list[tuple[str | None, list[str]]]:
    """Each output's answer with the pages of its evidence."""
    return [(output.answer, [e.title for e in output.evidence or ()]) for output in example.outputs]


# ---------------------------------------------------------------------------------------------
# stable numbers, properties


@given(st.text(), st.integers())
def test_a_stable_share_is_a_share_and_stable(text: str, seed: int) -> None:
    assert 0 <= stable_share(text, seed) < 1
    assert stable_share(text, seed) == stable_share(text, seed)


def test_stable_values_never_change() -> None:
    """Ids and splits that were published depend on these."""
    assert stable_id("spouse", "Foo Bar") == "85f1af1e1149c0ea"
    assert stable_id("a", ["b", None]) != stable_id("a", ["b"], None)
    assert stable_share("Q30-P36") == SHARE
    assert stable_share("Q30-P36", seed=1) != SHARE


SHARE = 0.7731946343448187


def test_property_labels() -> None:
    assert PROPERTY_LABELS["P131"] == "located in the administrative territorial entity"
    assert all(name[0] == "P" and name[1:].isdigit() and label for name, label in PROPERTY_LABELS.items())
    assert len(set(PROPERTY_LABELS.values())) == len(PROPERTY_LABELS)
    found = property_labels(["P17\tnation", " ", "P99999\tflies over"])
    assert (found["P17"], found["P99999"], found["P26"]) == ("nation", "flies over", "spouse")
    with pytest.raises(ValueError, match="such as P17"):
        property_labels(["P17 nation"])


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if dataset.options])
def test_a_configured_dataset_travels(name: str) -> None:
    """Workers get it pickled; without files it reads like the dataset itself."""
    dataset = configured(DATASETS[name])
    assert pickle.loads(pickle.dumps(dataset)).name == name
    if rule_of(dataset) is not None:
        assert pickle.loads(pickle.dumps(settled(dataset, {"P17": 2}))).name == name


# ---------------------------------------------------------------------------------------------
# T-REx

ENTITY = "http://www.wikidata.org/entity/"


def mention(uri: str, form: str | None, boundaries: Sequence[int] | None = None) -> Row:
    return {"uri": ENTITY + uri if uri.startswith("Q") else uri, "surfaceform": form, "boundaries": boundaries}


def triple(subject: Row, relation: str, object_: Row, sentence: int = 0) -> Row:
    return {"sentence_id": sentence, "subject": subject, "predicate": {"uri": ENTITY + relation}, "object": object_}


def document(text: str, *triples: Row, title: str = "Page") -> Row:
    return {"title": title, "text": text, "sentences_boundaries": [[0, len(text)]], "triples": triples}


ISLAND, OZ, SEA = mention("Q42", "Kite Island"), mention("Q7", "Oz"), mention("Q9", "Wind Sea")


@pytest.mark.parametrize(
    ("text", "boundaries", "form", "expected"),
    [
        ("Used .45 in rounds", [5, 9], ".45", (5, 8)),
        ("Used .45 in rounds", [5, 8], ".45", (5, 8)),
        ("Used .45 in rounds", [4, 7], ".45", (5, 8)),
        ("Used .45 in rounds", [0, 3], ".45", (5, 8)),
        ("Oz, Oz and Oz", [5, 7], "Oz", (4, 6)),
        ("Oz, Oz and Oz", [10, 12], "Oz", (11, 13)),
        ("Used .45 in rounds of old", [20, 23], ".45", None),
        ("It is in Oz", [0, 2], "Kite Island", None),
        ("Oz", None, "Oz", None),
        ("Oz", [0, 2], None, None),
        ("Oz", [0, 2], "", None),
    ],
)
def test_trex_boundaries(text: str, boundaries: list[int] | None, form: str | None, expected: Any) -> None:
    assert trex.realigned(text, boundaries, form) == expected


def test_trex_equal_triples_are_one_output() -> None:
    fact = triple(ISLAND, "P17c", OZ)
    (record,) = records(TREX, document("Kite Island is in Oz.", fact, fact))
    assert record.id == "Q42-P17"
    assert record.input == "Kite Island [SEP] country"
    assert record.outputs == (
        ExampleOutput("Oz", (Evidence("Page", text="Kite Island is in Oz."),), OutputMeta(entity="Q7")),
    )
    assert record.meta == TaskMeta(obj_surface=("Oz",), sub_surface=("Kite Island",), subj_aliases=())


@pytest.mark.parametrize(
    "fact",
    [
        triple(ISLAND, "P460", ISLAND),
        triple(ISLAND, "P571", mention("1900-01-01T00:00:00Z^^http://www.w3.org/2001/XMLSchema#dateTime", "1900")),
        triple(ISLAND, "instance-of", OZ),
        triple(ISLAND, "P17", mention("Q7", " ")),
        triple(ISLAND, "P17", mention("Q7", None)),
    ],
    ids=["itself", "date", "no property", "blank", "no name"],
)
def test_trex_what_is_no_fact(fact: Row) -> None:
    assert why(TREX, document("Kite Island is in Oz.", fact)) == "no-fact"


def test_trex_facts_of_a_pair_are_merged_object_by_object() -> None:
    first = document("Kite Island is in Oz.", triple(ISLAND, "P17", OZ), title="Kite Island")
    second = document("The isle lies by the Wind Sea of Ozia.", title="Wind Sea")
    isle = mention("Q42", "The isle")
    second["triples"] = [triple(isle, "P17", SEA), triple(isle, "P17", mention("Q7", "Ozia"))]
    third = document("Oz has Kite Island.", triple(ISLAND, "P17", OZ), title="Oz")
    (record,) = records(TREX, first, second, third)
    assert record.input == "Kite Island [SEP] country"
    assert answers(record) == [
        ("Oz", ["Kite Island"]),
        ("Oz", ["Wind Sea"]),
        ("Oz", ["Oz"]),
        ("Wind Sea", ["Wind Sea"]),
    ]
    assert record.meta.sub_surface == ("Kite Island", "The isle")
    assert record.meta.obj_surface == ("Oz", "Ozia", "Wind Sea")


def test_trex_labels_and_aliases_of_entities() -> None:
    """As released: the label once a sentence, then the aliases without evidence."""
    labels = ["Q7\tUnion of Oz\tOz\tOzia\tOz", "Q42\tIsland of Kites\tThe isle", "Q9\tWind Sea\tOz"]
    dataset = configured(TREX, entity_labels=labels, relation_labels=["P17\tstate"])
    page = document("Kite Island is in Oz.", triple(ISLAND, "P17", OZ), triple(ISLAND, "P17", SEA))
    (record,) = records(dataset, page, {**page, "title": "Other"})
    assert record.input == "Island of Kites [SEP] state"
    assert answers(record) == [
        ("Union of Oz", ["Page"]),
        ("Union of Oz", ["Other"]),
        ("Oz", []),
        ("Ozia", []),
        ("Wind Sea", ["Page"]),
        ("Wind Sea", ["Other"]),
    ]
    assert record.meta.subj_aliases == ("The isle",)
    assert record.meta.obj_surface == ("Oz", "Wind Sea")


@pytest.mark.parametrize(("count", "left"), [(20, True), (21, False)])
def test_trex_a_fact_of_more_than_20_sentences_is_left_out(count: int, left: bool) -> None:
    pages = [document("Kite Island is in Oz.", triple(ISLAND, "P17", OZ), title=str(i)) for i in range(count)]
    (read,) = merges(TREX, *pages)
    if left:
        (record,) = examples_of([read])
        assert len(record.outputs) == 20
    else:
        assert told(read) == "too-many-provenances"
    (record,) = records(TREX, *pages, document("Kite Island, Wind Sea.", triple(ISLAND, "P17", SEA)))
    assert {output.meta.entity for output in record.outputs} == ({"Q7", "Q9"} if left else {"Q9"})
    assert len(records(configured(TREX, max_provenances=[str(count)]), *pages)) == 1
    assert not records(configured(TREX, max_provenances=["19"]), *pages)


def test_trex_the_same_sentence_again_is_no_further_provenance() -> None:
    page = document("Kite Island is in Oz.", *[triple(mention("Q42", f"isle {i}"), "P17", OZ) for i in range(30)])
    (record,) = records(TREX, page)
    assert len(record.outputs) == 1
    assert record.input == "isle 0 [SEP] country"


def test_trex_rare_relations() -> None:
    page = document("Kite Island is in Oz.", triple(ISLAND, "P17", OZ), triple(ISLAND, "P17", SEA))
    page["triples"] += (triple(ISLAND, "P206", SEA),)
    counts = counted(TREX, records(TREX, page))
    assert counts == {"P17": 2, "P206": 1}
    assert [record.id for record in records(settled(configured(TREX, min_facts=["2"]), counts), page)] == ["Q42-P17"]
    for least, kept in ((999, True), (1000, True), (1001, False)):
        dataset = settled(configured(TREX, min_facts=[str(least)]), {"P17": 1000})
        assert bool(records(dataset, page)) == kept
    assert not records(settled(TREX, {"P17": 999}), page)
    assert records(settled(TREX, {"P17": 1000}), page)
    assert [told(read) for read in merges(settled(TREX, counts), page)] == ["rare-relation", "rare-relation"]
    named = configured(TREX, relations=["P17", ""])
    assert rule_of(named) is None
    assert [record.id for record in records(named, page)] == ["Q42-P17"]
    assert rule_of(configured(TREX, relations=["P17"], min_facts=["2"])) is not None
    assert why(configured(TREX, relations=["P1"]), page) == "no-fact"


def test_trex_an_unknown_property_keeps_its_id_and_can_be_counted() -> None:
    known, unknown = records(
        TREX, document("Kite Island is in Oz.", triple(ISLAND, "P17", OZ), triple(ISLAND, "P99999", OZ))
    )
    assert unknown.input == "Kite Island [SEP] P99999"
    assert TREX.remark is not None
    assert (TREX.remark(known), TREX.remark(unknown)) == (None, "relation without a label")


@pytest.mark.parametrize("value", ["", "-1", "1.5", "many", "1000000000"])
def test_trex_bad_numbers_are_told(value: str) -> None:
    with pytest.raises(ValueError, match=f"min-facts is '{value}', not a whole number"):
        configured(TREX, min_facts=[value])


def test_trex_no_more_is_held_out_than_there_is() -> None:
    half = trex.RECORDS // 2
    everything = configured(TREX, held_out=[str(half)])
    found = Counter(split(everything, Example(f"Q{i}-P17", "x", ())) for i in range(2_000))
    assert found["train"] == 0
    assert found["test"] == pytest.approx(1_000, rel=0.1)
    for number in (half + 1, trex.RECORDS, 999_999_999):
        with pytest.raises(ValueError, match="dev and test together have at most"):
            configured(TREX, held_out=[str(number)])


@pytest.mark.parametrize("line", ["Q7", "Q7\t", "Oz\tQ7"])
def test_trex_bad_labels_are_told(line: str) -> None:
    with pytest.raises(ValueError, match="is not an entity"):
        configured(TREX, entity_labels=[line])


def test_trex_split() -> None:
    example = Example("Q42-P17", "x", ())
    twentieth = configured(TREX, held_out=[str(trex.RECORDS // 20)])
    found = Counter(split(twentieth, Example(f"Q{i}-P17", "x", ())) for i in range(20_000))
    assert found["train"] == pytest.approx(18_000, rel=0.02)
    assert found["validation"] == pytest.approx(1_000, rel=0.1)
    assert found["test"] == pytest.approx(1_000, rel=0.1)
    assert split(TREX, example) == split(configured(TREX, held_out=["5000"], seed=["0"]), example) == "train"
    third = [configured(TREX, held_out=[str(trex.RECORDS // 3)], seed=[str(seed)]) for seed in range(30)]
    assert len({split(dataset, example) for dataset in third}) == 3


# ---------------------------------------------------------------------------------------------
# Zero-Shot RE


def test_zero_shot_templates_are_grouped_and_negatives_left_out() -> None:
    assert why(ZERO_SHOT, "P26\tWho is XXX's spouse?\tFoo Bar\tNo answer here.") == "negative-example"
    (record,) = records(
        ZERO_SHOT,
        "P26\tWho is XXX's spouse?\tFoo Bar\tFoo Bar married Jane Roe.\tJane Roe",
        "P26\tWho is XXX's spouse?\tFoo Bar\tNo answer here.",
        "",
        "P26\tWhom did XXX marry?\tFoo Bar\tFoo Bar married Jane Roe.\tJane Roe\t",
    )
    assert record == Example(
        id=stable_id("P26", "Foo Bar"),
        input="Foo Bar [SEP] spouse",
        outputs=(ExampleOutput("Jane Roe", (Evidence("Foo Bar", text="Foo Bar married Jane Roe."),)),),
        meta=TaskMeta(template_questions=("Who is Foo Bar's spouse?", "Whom did Foo Bar marry?")),
    )


def relation_example(relation: str) -> Example:
    return Example(stable_id(relation), f"A [SEP] [SEP] {relation}", ())


def test_zero_shot_splits_are_disjoint_in_relations() -> None:
    relations = [f"relation {i}" for i in range(120)]
    examples = [relation_example(relation) for relation in relations]
    dataset = settled(ZERO_SHOT, counted(ZERO_SHOT, examples))
    drawn = [split(dataset, example) for example in examples]
    assert Counter(drawn) == {"train": 84, "validation": 12, "test": 24}
    other_order = settled(ZERO_SHOT, dict.fromkeys(relations[::-1], 7))
    assert [split(other_order, example) for example in examples] == drawn
    assert split(dataset, relation_example("relation of no file")) == ""
    few = settled(ZERO_SHOT, dict.fromkeys(relations[:10], 1))
    assert Counter(split(few, example) for example in examples[:10]) == {"train": 7, "validation": 1, "test": 2}


def test_zero_shot_a_split_file() -> None:
    dataset = configured(ZERO_SHOT, splits=["P26\tdev", "author\ttest", "", "P99999 \t train"], relation_labels=[])
    found = {name: split(dataset, relation_example(name)) for name in ("spouse", "author", "P99999", "other")}
    assert found == {"spouse": "validation", "author": "test", "P99999": "train", "other": ""}
    assert rule_of(dataset) is None
    with pytest.raises(ValueError, match="train, validation or test"):
        configured(ZERO_SHOT, splits=["P26\tdevelopment"])


@pytest.mark.parametrize("other", ["P26", "spouse", " spouse "])
def test_zero_shot_a_relation_is_in_one_split(other: str) -> None:
    assert rule_of(configured(ZERO_SHOT, splits=["P26\tdev", f"{other}\tvalidation"])) is None
    with pytest.raises(ValueError, match="contradicts an earlier line"):
        configured(ZERO_SHOT, splits=["P26\tdev", "author\ttest", f"{other}\ttrain"])


def test_zero_shot_labels() -> None:
    (record,) = records(configured(ZERO_SHOT, relation_labels=["P26\twed to"]), "P26\tWho is XXX?\tA\tA wed B.\tB")
    assert record.input == "A [SEP] wed to"


# ---------------------------------------------------------------------------------------------
# TriviaQA


def trivia(pages: Any, value: str = "Sunset Boulevard", **more: Any) -> Row:
    answer = {"Value": value, "Aliases": ["Sunset Blvd", value], "NormalizedAliases": ["sunset blvd"], **more}
    return {"QuestionId": "tc_33", "Question": "Which musical?", "Answer": answer, "EntityPages": pages}


def test_triviaqa_aliases_and_pages_are_one_record() -> None:
    example = one(TRIVIAQA, trivia([{"Title": "A"}, {"Title": "B"}, {"Title": "A"}]))
    assert answers(example) == [
        (answer, [page]) for answer in ("Sunset Boulevard", "Sunset Blvd", "sunset blvd") for page in "AB"
    ]
    assert [output.meta.is_primary for output in example.outputs] == [True, True, False, False, False, False]
    assert all(evidence.text == output.answer for output in example.outputs for evidence in output.evidence or ())


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ({"Title": "Etiquette &amp; Espionage"}, "Etiquette & Espionage"),
        ({"Title": "Andrew_Lloyd_Webber", "Filename": "x.txt"}, "Andrew Lloyd Webber"),
        ({"Title": "Zoe\u0308"}, "Zo\u00eb"),
        ({"Url": "http://simple.wikipedia.org/wiki/Judi_Dench"}, "Judi Dench"),
        ({"Title": None, "Url": "en.wikipedia.org/wiki/AC/DC"}, "AC/DC"),
        ({"Title": "Judi Dench", "Url": "http://simple.wikipedia.org/wiki/Dench"}, "Judi Dench"),
        ({"Title": "Angleterre", "Url": "http://fr.wikipedia.org/wiki/Angleterre"}, None),
        ({"Title": "A", "Url": "http://wikipedia.org.example/wiki/A"}, None),
        ({"Title": ""}, None),
        ({"Filename": "A.txt"}, None),
    ],
)
def test_triviaqa_pages(page: Row, title: str | None) -> None:
    if title is None:
        assert why(TRIVIAQA, trivia([page])) == "no-page"
    else:
        assert {t for _, pages in answers(one(TRIVIAQA, trivia([page]))) for t in pages} == {title}


def test_triviaqa_lists_may_be_missing() -> None:
    example = one(TRIVIAQA, trivia([{"Title": "A"}], Aliases=None, NormalizedAliases=[]))
    assert answers(example) == [("Sunset Boulevard", ["A"])]


# ---------------------------------------------------------------------------------------------
# ELI5


def test_eli5_both_forms() -> None:
    answers_ = {"a_id": ["x", "y", "z"], "text": ["One.", "[deleted]", "Two."], "score": [5, 4, -2]}
    with_votes = one(ELI5, {"q_id": "e1", "title": "Why?", "selftext": "More.", "subreddit": "s", "answers": answers_})
    alone = one(ELI5, {"id": "e2", "question": "How?", "document": "<P> d", "answer": "So."})
    assert (with_votes.id, with_votes.input, alone.id, alone.input) == ("e1", "Why?", "e2", "How?")
    assert [(o.answer, o.meta.score, o.evidence) for o in with_votes.outputs] == [("One.", 5, None), ("Two.", -2, None)]
    assert [(o.answer, o.meta.score, o.evidence) for o in alone.outputs] == [("So.", None, None)]


# ---------------------------------------------------------------------------------------------
# Wizard of Wikipedia

NOTHING = {"no_passages_used": "no_passages_used"}


def turn(speaker: str, text: str, sentence: Any = None, passage: Any = None, shown: Sequence[Row] = ()) -> Row:
    return {
        "speaker": speaker,
        "text": text,
        "checked_sentence": sentence,
        "checked_passage": passage,
        "retrieved_passages": shown,
    }


def dialogue(*turns: Row, **more: Any) -> Row:
    return {"chosen_topic": "Kite", "chosen_topic_passage": ["It flies."], "persona": "p", "dialog": turns, **more}


@pytest.mark.parametrize("nothing", [None, {}, NOTHING, {"x": "no_passages_used"}, {"x": " "}])
def test_wow_turns_without_a_chosen_sentence_give_nothing(nothing: Any) -> None:
    """Neither an example nor a number; the title "no_passages_used" is never asked for."""
    assert why(WOW, dialogue(turn("1_Apprentice", "Hi"), turn("0_Wizard", "Hi!", nothing, NOTHING))) == "no-passage"
    chosen = turn("0_Wizard", "Look", {"chosen_Kite_0": "It flies."}, {"chosen_topic_0_Kite": "Kite"})
    example = one(WOW, dialogue(turn("1_Apprentice", "Hi"), turn("0_Wizard", "Hi!", nothing), chosen))
    assert example.id.endswith("_0")
    assert example.input == "Hi\nHi!"
    assert example.outputs == (ExampleOutput("Look", (Evidence("Kite", text="It flies."),)),)


@pytest.mark.parametrize("first", ["Wizard", "Apprentice"])
def test_wow_either_may_speak_first(first: str) -> None:
    """An opening turn has no input: it counts, as in the released ids, and gives no example."""
    second = "Apprentice" if first == "Wizard" else "Wizard"
    chosen = ({"chosen_Kite_0": "It flies."}, {"chosen_topic_0_Kite": "Kite"})
    turns = [
        turn(f"{i % 2}_{who}", f"u{i}", *(chosen if who == "Wizard" else ()))
        for i, who in enumerate([first, second] * 3)
    ]
    found = [(example.id.rpartition("_")[2], example.input) for example in records(WOW, dialogue(*turns))]
    if first == "Wizard":
        assert found == [("1", "u0\nu1"), ("2", "u0\nu1\nu2\nu3")]
    else:
        assert found == [("0", "u0"), ("1", "u0\nu1\nu2"), ("2", "u0\nu1\nu2\nu3\nu4")]


@pytest.mark.parametrize(
    ("sentence", "passage", "page"),
    [
        ({"chosen_Kite_0": "It flies."}, {"chosen_topic_0_Kite": "Kite"}, "Kite"),
        ({"partner_Wind_1": "It blows."}, {"partner_passage_0_Wind": "Wind (weather)"}, "Wind (weather)"),
        ({"self_AC/DC_2": "They rock."}, {"self_3_AC/DC": "AC/DC"}, "AC/DC"),
        ({"partner_Air_1": "It blows."}, {"partner_passage_0": "Kite"}, "Wind"),
        ({"partner_Wind_power_4": "It pays."}, {}, "Wind power"),
        ({"x": "It blows."}, NOTHING, "Wind"),
    ],
    ids=["chosen", "value, not key", "not shown", "another was shown with it", "key", "shown"],
)
def test_wow_page(sentence: Row, passage: Row, page: str) -> None:
    shown = turn("1_Apprentice", "Hi", shown=[{"Wind": ["Air moves.", "It blows."]}])
    example = one(WOW, dialogue(shown, turn("0_Wizard", "Oh", sentence, passage)))
    assert answers(example) == [("Oh", [page])]


def test_wow_ids_depend_on_the_dialogue_alone() -> None:
    chosen = turn("0_Wizard", "Oh", {"chosen_Kite_0": "It flies."}, {"chosen_topic_0_Kite": "Kite"})
    ids = {
        one(WOW, dialogue(turn("1_Apprentice", text), chosen, persona=persona)).id
        for text in ("Hi", "Hello")
        for persona in ("p", "q")
        for _ in range(2)
    }
    assert len(ids) == 4
    problem = "speaker is '2_Judge', neither the wizard nor the apprentice"
    assert why(WOW, dialogue(turn("2_Judge", "Hi"))) == problem


# ---------------------------------------------------------------------------------------------
# Real records


@pytest.mark.shared
def test_real_trex_document(shared: Path) -> None:
    """Of 16 triples 12 join Andorra to itself; the others are one fact, stated in two sentences."""
    (record,), skipped = used(TREX, shared / "data/trex/re-nlg_andorra_1doc.json")
    assert not skipped
    assert (record.id, record.input) == ("Q228-P530", "Andorra [SEP] diplomatic relation")
    assert answers(record) == [("France", ["Andorra"]), ("France", ["Andorra"])]
    first, second = (output.evidence[0].text for output in record.outputs if output.evidence)
    assert first.startswith("Andorra (/")
    assert first.endswith("bordered by Spain and France.")
    assert second.startswith("It is known as a principality")
    assert second.endswith("the President of France.")


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "answers_", "pages"),
    [
        ("wikipedia-train", 39, ["England", "Judi Dench"]),
        ("wikipedia-dev", 9, ["Andrew Lloyd Webber"]),
        ("triviaqa_sample", 9, ["Andrew Lloyd Webber"]),
    ],
)
def test_real_triviaqa_questions(shared: Path, name: str, answers_: int, pages: list[str]) -> None:
    (row,) = json.loads((shared / f"data/triviaqa/{name}.json").read_text("utf-8"))["Data"]
    example = one(TRIVIAQA, row)
    assert (example.id, example.input) == (row["QuestionId"], row["Question"])
    assert len(dict.fromkeys(output.answer for output in example.outputs)) == answers_
    assert [pages_[0] for _, pages_ in answers(example)] == pages * answers_
    assert example.outputs[0].answer == row["Answer"]["Value"]


@pytest.mark.shared
def test_real_triviaqa_test_file_has_no_answers(shared: Path) -> None:
    (row,) = json.loads((shared / "data/triviaqa/wikipedia-test-without-answers.json").read_text("utf-8"))["Data"]
    assert why(TRIVIAQA, row) == "no-answer"


@pytest.mark.shared
def test_real_triviaqa_order(shared: Path) -> None:
    """Released outputs, given back as aliases and pages, come out in the released order (train keeps it)."""
    for record in rows(shared / "data/kilt/triviaqa_support_only/triviaqa-train_id-kilt.jsonl"):
        given_ = list(dict.fromkeys(output["answer"] for output in record["output"]))
        pages = {p["title"]: None for output in record["output"] for p in output.get("provenance", ())}
        row = trivia([{"Title": title} for title in pages or ["None"]], given_[0], Aliases=given_, NormalizedAliases=[])
        assert list(dict.fromkeys(answer for answer, _ in answers(one(TRIVIAQA, row)))) == given_
        ours = [(answer, title) for answer, (title,) in answers(one(TRIVIAQA, row))]
        theirs = [(o["answer"], p["title"]) for o in record["output"] for p in o.get("provenance", ())]
        assert [pair for pair in ours if pair in theirs] == theirs


@pytest.mark.shared
def test_shape_of_zero_shot_rows(shared: Path) -> None:
    content = (shared / "data/structured_zeroshot.SYNTHETIC.tsv").read_text("utf-8")
    (record,) = records(ZERO_SHOT, *content.split("\n"))
    assert record.input == "Another entity [SEP] relation_name2"
    assert [output.answer for output in record.outputs] == ["answer", "answer2"]
    assert record.meta.template_questions == ("Why was Another entity?",)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["train", "dev"])
def test_released_zero_shot_records_out_of_their_rows(shared: Path, name: str) -> None:
    """Each question as a row of the original file: merged, they are the released record."""
    found = rows(shared / f"data/kilt/structured_zeroshot/structured_zeroshot-{name}-kilt.jsonl")
    assert len(found) >= 4
    for record in found:
        subject, relation = record["input"].split(" [SEP] ")
        (output,) = record["output"]
        (span,) = output["provenance"]
        asked = record["meta"]["template_questions"]
        template = [question.replace(subject, "XXX") for question in asked]
        (ours,) = records(ZERO_SHOT, *[f"{relation}\t{q}\t{subject}\tText.\t{output['answer']}" for q in template])
        assert ours.input == record["input"]
        assert list(ours.meta.template_questions or ()) == asked
        assert answers(ours) == [(output["answer"], [span["title"]])]


@pytest.mark.shared
@pytest.mark.parametrize("name", ["train", "dev"])
def test_released_trex_records_out_of_their_triples(shared: Path, name: str) -> None:
    """Each provenance as a document, the answers as labels of the object: the released outputs, in order."""
    found = rows(shared / f"data/kilt/trex/trex-{name}-kilt.jsonl")
    assert len(found) >= 4
    for record in found:
        subject, relation = record["input"].split(" [SEP] ")
        assert relation in PROPERTY_LABELS.values()
        number = next(key for key, label in PROPERTY_LABELS.items() if label == relation)
        names = dict.fromkeys(output["answer"] for output in record["output"])
        labels = ["\t".join(["Q1", subject, *record["meta"]["subj_aliases"]]), "\t".join(["Q2", *names])]
        dataset = configured(TREX, entity_labels=labels)
        pages = [p["title"] for output in record["output"] for p in output.get("provenance", ())]
        fact = triple(mention("Q1", record["meta"]["sub_surface"][0]), number, mention("Q2", "it"))
        (ours,) = records(dataset, *[document("It is it.", fact, title=title) for title in pages])
        assert ours.input == record["input"]
        assert answers(ours) == [
            (output["answer"], [p["title"] for p in output.get("provenance", ())]) for output in record["output"]
        ]
        assert list(ours.meta.subj_aliases or ()) == record["meta"]["subj_aliases"]


@pytest.mark.shared
def test_real_wow_turns(shared: Path) -> None:
    """The turns of a real dialogue, printed by another tool, put back into the raw form."""
    yaml = pytest.importorskip("yaml")
    path = shared / "data/wow/wizard_of_wikipedia_wizard_of_wikipedia_train.yml"
    turns = [given_[0] for given_ in yaml.safe_load(path.read_text("utf-8"))["acts"]]
    row: Mapping[str, Any] = {
        "chosen_topic": turns[0]["chosen_topic"],
        "chosen_topic_passage": turns[0]["chosen_topic_passage"],
        "persona": "",
        "dialog": [
            {"speaker": f"{i % 2}_{'Apprentice' if i % 2 else 'Wizard'}", **given_} for i, given_ in enumerate(turns)
        ],
    }
    found = records(WOW, row)
    assert [example.id.rpartition("_")[2] for example in found] == ["1", "2"]
    assert [len(example.input.split("\n")) for example in found] == [2, 4]
    for example, given_ in zip(found, turns[2::2], strict=True):
        ((answer, pages),) = answers(example)
        assert answer == given_["text"]
        assert pages == list(given_["checked_passage"].values())
    assert [pages for example in found for _, pages in answers(example)] == [
        ["Science fiction film"],
        ["Time travel in fiction"],
    ]


@pytest.mark.shared
def test_released_wow_ids_count_as_ours_do(shared: Path) -> None:
    """Of 200 released turns none has less before it than its number asks for, and none nothing."""
    found = rows(shared / "data/kilt/wow/wow-dev-kilt.first200.jsonl")
    assert len(found) == 200
    for record in found:
        number, said = int(record["id"].rpartition("_")[2]), len(record["input"].split("\n"))
        assert said >= max(1, 2 * number)
