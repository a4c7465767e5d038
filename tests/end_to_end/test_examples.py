"""The examples: packed as they should be, and built: every reason to leave something out occurs in them."""

import bz2
import re
from collections import Counter
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path
from typing import Any

from kiltetl.pipelines.config import read_config
from kiltetl.schemas.reasons import (
    BLEU_BELOW_THRESHOLD,
    DUPLICATE_PAGE,
    FAILURES,
    LOSSES,
    MALFORMED_PAGE,
    MALFORMED_RECORD,
    NEGATIVE_EXAMPLE,
    NO_ANSWER,
    NO_ENTITY,
    NO_EVIDENCE,
    NO_FACT,
    NO_PAGE,
    NO_PASSAGE,
    NO_SHORT_ANSWER,
    NOT_ENOUGH_INFO,
    NOT_WIKITEXT,
    OTHER_NAMESPACE,
    OTHER_SPLIT,
    PAGE_FAILED,
    PAGE_IS_DISAMBIGUATION,
    PAGE_NOT_IN_KNOWLEDGE_SOURCE,
    RARE_RELATION,
    RECORD_TOO_DEEP,
    RECORD_TOO_LARGE,
    REDIRECT,
    REDIRECT_CYCLE,
    REDIRECT_TARGET_MISSING,
    REDIRECT_TO_OTHER_NAMESPACE,
    SHORT_ANSWER_TOO_LONG,
    SKIPS,
    SOURCE_PAGE_MISSING,
    SOURCE_SENTENCE_MISSING,
    SPAN_NOT_IN_PAGE,
    TOO_MANY_PROVENANCES,
)
from kiltetl.schemas.records import RawPage
from kiltetl.transforms.alignment.bleu import THRESHOLD
from kiltetl.transforms.datasets import DATASETS
from kiltetl.transforms.datasets.spec import Text
from kiltetl.transforms.wiki.dump import MalformedPage, pages, read_header
from tests.support import miniwiki
from tests.support.example_build import ExampleBuild

FOLDER = miniwiki.EXAMPLES
REASONS = {*SKIPS, *LOSSES, *FAILURES}

# ---------------------------------------------------------------------------------------------
# The files


def test_packed_files_are_those_of_the_source() -> None:
    for name, content in miniwiki.example_files((FOLDER / "miniwiki.xml").read_bytes()).items():
        assert (FOLDER / name).read_bytes() == content, f"examples/{name}: run python -m tests.support.miniwiki"


def test_checksums() -> None:
    text = (FOLDER / miniwiki.SUMS).read_text()
    named = {name: digest for digest, name in re.findall(r"^([0-9a-f]{40})  (\S+)$", text, re.MULTILINE)}
    assert named == {name: sha1((FOLDER / name).read_bytes()).hexdigest() for name in (miniwiki.DUMP, miniwiki.INDEX)}


def test_multistream() -> None:
    dump, xml = (FOLDER / miniwiki.DUMP).read_bytes(), (FOLDER / "miniwiki.xml").read_bytes()
    streams, rest = [], dump
    while rest:
        decompressor = bz2.BZ2Decompressor()
        streams.append(decompressor.decompress(rest))
        rest = decompressor.unused_data
    assert b"".join(streams) == xml
    assert streams[0].endswith(b"</siteinfo>\n")
    assert streams[-1] == b"</mediawiki>\n"
    assert all(stream.startswith(b"  <page>\n") and stream.endswith(b"</page>\n") for stream in streams[1:-1])


def test_index() -> None:
    dump, index = (FOLDER / miniwiki.DUMP).read_bytes(), bz2.decompress((FOLDER / miniwiki.INDEX).read_bytes())
    entries = [line.split(":", 2) for line in index.decode().splitlines()]
    assert len(entries) == 64  # all but the two malformed pages
    for offset, page_id, title in entries:
        stream = bz2.BZ2Decompressor().decompress(dump[int(offset) :]).decode()
        assert re.search(f"<title>{re.escape(title)}</title>\n    <ns>[0-9]+</ns>\n    <id>{page_id}</id>", stream)


def test_size() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 250_000


def test_dump_xml_writes_what_the_reader_reads() -> None:
    given = [
        miniwiki.Page("A & B", "x < y & [[z]]\n\n'''ü'''"),
        miniwiki.Page("Q", "#REDIRECT [[A & B#C]]", redirect="A & B", revision_id=5, parent_id=4, timestamp=""),
        miniwiki.Page("Talk:A", "", 77, 1, model=""),
        miniwiki.Page(None, "lost"),
        miniwiki.Page("No id", "lost", None),
    ]
    for namespaces in (miniwiki.NAMESPACES, None):
        xml = miniwiki.dump_xml(given, namespaces)
        header, rooted = read_header([(True, xml)])
        first, second, third, *bad = pages([(True, xml)], header, rooted)
        time = "2019-07-01T12:00:00Z"
        assert first == RawPage(0, 1, "A & B", 0, None, 1001, None, time, "wikitext", given[0].text)
        assert second == RawPage(1, 2, "Q", 0, "A & B", 5, 4, "", "wikitext", given[1].text)
        assert third == RawPage(2, 77, "Talk:A", 1, None, 1003, None, time, "wikitext", "")
        assert [type(page) for page in bad] == [MalformedPage, MalformedPage]
        assert header.site.dbname == ("miniwiki" if namespaces else "enwiki")


# ---------------------------------------------------------------------------------------------
# The build


WIKI = {
    OTHER_NAMESPACE: 4,
    REDIRECT: 13,
    NOT_WIKITEXT: 1,
    DUPLICATE_PAGE: 1,
    MALFORMED_PAGE: 2,
    REDIRECT_CYCLE: 2,
    REDIRECT_TARGET_MISSING: 1,
    REDIRECT_TO_OTHER_NAMESPACE: 1,
}
LOST = {BLEU_BELOW_THRESHOLD: 1, PAGE_NOT_IN_KNOWLEDGE_SOURCE: 1, PAGE_IS_DISAMBIGUATION: 1}
NOT_THERE = {SOURCE_PAGE_MISSING: 1, SOURCE_SENTENCE_MISSING: 1}
UNLINKED = {PAGE_NOT_IN_KNOWLEDGE_SOURCE: 1, PAGE_IS_DISAMBIGUATION: 1}
BAD = {MALFORMED_RECORD: 1}

# For each task: rows read, skipped, rejected and records written.
EXPECTED: dict[tuple[str, str], tuple[int, dict[str, int], dict[str, int], int]] = {
    ("fever", "train"): (16, {NOT_ENOUGH_INFO: 1}, {MALFORMED_RECORD: 2}, 13),
    ("fever", "validation"): (
        16,
        {NO_ANSWER: 1, NOT_ENOUGH_INFO: 1},
        {
            **NOT_THERE,
            **BAD,
            BLEU_BELOW_THRESHOLD: 1,
            NO_EVIDENCE: 1,
            PAGE_IS_DISAMBIGUATION: 1,
            PAGE_NOT_IN_KNOWLEDGE_SOURCE: 2,
        },
        6,
    ),
    ("aidayago2", "train"): (29, {NO_ENTITY: 4, OTHER_SPLIT: 13}, {**UNLINKED, **BAD}, 9),
    ("aidayago2", "validation"): (29, {NO_ENTITY: 4, OTHER_SPLIT: 17}, {**UNLINKED, **BAD}, 5),
    ("aidayago2", "test"): (7, {NO_ENTITY: 1}, {PAGE_NOT_IN_KNOWLEDGE_SOURCE: 1}, 5),
    ("wned", "validation"): (19, {NO_ENTITY: 3, OTHER_SPLIT: 7}, {**UNLINKED, MALFORMED_RECORD: 2}, 5),
    ("wned", "test"): (19, {NO_ENTITY: 3, OTHER_SPLIT: 7}, {MALFORMED_RECORD: 2, PAGE_NOT_IN_KNOWLEDGE_SOURCE: 1}, 6),
    ("cweb", "validation"): (18, {NO_ENTITY: 2, OTHER_SPLIT: 6}, {**UNLINKED, **BAD}, 7),
    ("cweb", "test"): (18, {NO_ENTITY: 2, OTHER_SPLIT: 9}, {**BAD, PAGE_NOT_IN_KNOWLEDGE_SOURCE: 1}, 5),
    ("trex", "train"): (17, {NO_FACT: 2, OTHER_SPLIT: 8, TOO_MANY_PROVENANCES: 22}, BAD, 8),
    ("trex", "validation"): (17, {NO_FACT: 2, OTHER_SPLIT: 13, TOO_MANY_PROVENANCES: 22}, {**LOST, **BAD}, 2),
    ("trex", "test"): (
        17,
        {NO_FACT: 1, OTHER_SPLIT: 10, RARE_RELATION: 6, TOO_MANY_PROVENANCES: 22},
        {**BAD, BLEU_BELOW_THRESHOLD: 1},
        2,
    ),
    ("structured_zeroshot", "train"): (23, {NEGATIVE_EXAMPLE: 2, OTHER_SPLIT: 12}, BAD, 6),
    ("structured_zeroshot", "validation"): (23, {NEGATIVE_EXAMPLE: 2, OTHER_SPLIT: 15}, {**LOST, **BAD}, 2),
    ("structured_zeroshot", "test"): (23, {NEGATIVE_EXAMPLE: 2, OTHER_SPLIT: 14}, {**BAD, BLEU_BELOW_THRESHOLD: 1}, 4),
    ("nq", "train"): (13, {NO_SHORT_ANSWER: 1, SHORT_ANSWER_TOO_LONG: 1}, {MALFORMED_RECORD: 2}, 9),
    ("nq", "validation"): (12, {NO_SHORT_ANSWER: 1, SHORT_ANSWER_TOO_LONG: 1}, {**LOST, **BAD}, 6),
    ("hotpotqa", "train"): (11, {}, BAD, 10),
    ("hotpotqa", "validation"): (10, {NO_ANSWER: 1}, {**LOST, **NOT_THERE, **BAD}, 3),
    ("triviaqa", "train"): (9, {NO_PAGE: 1}, BAD, 7),
    ("triviaqa", "validation"): (9, {NO_ANSWER: 1, NO_PAGE: 1}, {**LOST, **BAD}, 3),
    ("eli5", "train"): (12, {NO_ANSWER: 2}, {MALFORMED_RECORD: 2}, 8),
    ("eli5", "validation"): (9, {NO_ANSWER: 1}, {**LOST, **BAD, SPAN_NOT_IN_PAGE: 1}, 3),
    ("wow", "train"): (5, {NO_PASSAGE: 1}, BAD, 6),
    ("wow", "validation"): (3, {NO_PASSAGE: 1}, LOST, 2),
    ("wow", "test"): (2, {}, {PAGE_NOT_IN_KNOWLEDGE_SOURCE: 1}, 3),
    ("mkqa", "validation"): (9, {}, BAD, 208),
}


def test_counts_of_the_datasets(example_build: ExampleBuild) -> None:
    found = {}
    for path in (example_build.output / "tasks" / "manifests").iterdir():
        manifest = example_build.manifest(f"tasks/manifests/{path.name}")
        counters = manifest["counters"]
        key = (manifest["dataset"], manifest["split"])
        skipped = Counter(manifest["skipped"]) + Counter(manifest["skipped_merging"])
        found[key] = (counters["read"], dict(skipped), manifest["rejected"], counters["written"])
        assert len(example_build.tasks(*key)) == counters["written"]
        assert (
            Counter(row["reason"] for row in example_build.rows("tasks/rejects/{}/{}-*".format(*key)))
            == manifest["rejected"]
        )
    assert found == EXPECTED


def test_every_reason_occurs(example_build: ExampleBuild) -> None:
    seen = set(WIKI).union(*(skipped.keys() | rejected.keys() for _, skipped, rejected, _ in EXPECTED.values()))
    assert seen == REASONS - {PAGE_FAILED, RECORD_TOO_DEEP, RECORD_TOO_LARGE}
    assert {reason for reason in REASONS if re.search(rf"(?<![a-z-]){reason}s? +[0-9]", example_build.printed)} == seen


# ---------------------------------------------------------------------------------------------
# The wiki


def test_reasons_of_the_wiki(example_build: ExampleBuild) -> None:
    counters = example_build.manifest("knowledge_source/manifest.json")["counters"]
    assert {reason: counters[reason] for reason in REASONS & counters.keys()} == WIKI
    not_read = sum(counters[reason] for reason in WIKI if reason in {*SKIPS, *FAILURES})
    assert counters["read"] == counters["pages"] + not_read == 66


def test_titles_of_the_wiki(example_build: ExampleBuild) -> None:
    titles = example_build.titles()
    pharos = titles["Pharos"]
    assert (pharos["wikipedia_title"], pharos["is_redirect"], pharos["hops"]) == ("Lighthouse of Alexandria", True, 2)
    assert pharos["wikipedia_id"] == titles["Lighthouse of Alexandria"]["wikipedia_id"]
    assert titles["Smeaton's Tower"]["fragment"] == "Smeaton's lighthouse"
    assert titles["Augustin Fresnel"]["wikipedia_title"] == "Augustin-Jean Fresnel"
    redirects = sum(row["is_redirect"] for row in titles.values())
    assert redirects == 13 - 4
    assert len(titles) == redirects + len(example_build.rows("knowledge_source/pages-*"))


def test_constructs_of_the_wiki(example_build: ExampleBuild) -> None:
    rows = example_build.rows("knowledge_source/paragraphs-*")
    articles = {row["wikipedia_title"]: row for row in example_build.rows("knowledge_source/pages-*")}
    texts = {row["text"] for row in rows}
    assert {row["kind"] for row in rows} == {"title", "section", "paragraph", "list_item"}
    assert {row["list_marker"] for row in rows} >= {None, "-", "1.", "2.", "7."}
    assert max(len(row["section"]) for row in rows) == 3
    assert "Automation" not in texts, "an empty section"
    assert "of paper, or" in texts, "a list in a list"
    assert "The sailor has come home from the sea, and the hunter has come home from the hill." in texts, "a quote"
    joined = "\n".join(texts)
    for part, what in (
        ("920 millimetres (36 in)", "convert"),
        ("Φάρος", "lang"),
        ("الإسكندرية", "right to left"),
        ("𐌲𐌿𐍄𐌰𐌽𐍃", "astral"),
        ("''Paris''", "nowiki"),
        ('"Jekyll &amp; Hyde"', "entities, decoded once"),
    ):
        assert part in joined, what
    for part in ("{{", "}}", "{|", "<ref", "thumb", "<!--", "A. Keeper", "~~~~", "\x01", "\x02"):
        assert part not in joined
    assert [title for title, page in articles.items() if page["is_disambiguation"]] == ["Mercury"]
    assert example_build.manifest("knowledge_source/manifest.json")["unknown_templates"] == {"tide table": 1}
    assert articles["Lighthouse"]["categories"] == ["Lighthouses", "Towers", "Navigation, aids to"]
    assert articles["Bay of Fundy"]["categories"] == ["Bays"], "the newer of two revisions"


def test_links_of_the_wiki(example_build: ExampleBuild) -> None:
    titles, seen = example_build.titles(), Counter[str]()
    for row in example_build.rows("knowledge_source/paragraphs-*"):
        for anchor in row["anchors"]:
            assert row["text"][anchor["start"] : anchor["end"]] == anchor["text"]
            assert anchor["wikipedia_title"] != row["wikipedia_title"], "a self link is no link"
            leads = titles.get(anchor["href"])
            seen["red" if anchor["wikipedia_id"] is None else "page"] += 1
            seen["redirect"] += leads is not None and leads["is_redirect"]
            seen["trail"] += anchor["text"] == "buses"
            seen["astral"] += anchor["text"] == "𐌲𐌿𐍄𐌰𐌽𐍃"
    assert set(+seen) == {"red", "redirect", "page", "trail", "astral"}


# ---------------------------------------------------------------------------------------------
# The records


def outputs(tasks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for task in tasks:
        yield from task["output"]


def test_train_keeps_what_dev_drops(example_build: ExampleBuild) -> None:
    kept = {
        (name, split): {output["meta"]["unmapped_reason"] for output in outputs(example_build.tasks(name, split))}
        - {None}
        for name in ("fever", "hotpotqa", "nq", "triviaqa", "wow")
        for split in ("train", "validation")
    }
    assert kept["fever", "train"] == kept["hotpotqa", "train"] == {*LOST, *NOT_THERE}
    assert kept["triviaqa", "train"] >= {BLEU_BELOW_THRESHOLD, PAGE_NOT_IN_KNOWLEDGE_SOURCE}
    assert kept["wow", "train"] == {BLEU_BELOW_THRESHOLD}
    assert kept["fever", "validation"] == kept["hotpotqa", "validation"] == kept["wow", "validation"] == set()


def test_spans_are_verbatim_edited_renamed_and_deep(example_build: ExampleBuild) -> None:
    for name in ("fever", "hotpotqa", "nq", "trex", "structured_zeroshot", "triviaqa", "wow"):
        spans = [span for output in outputs(example_build.tasks(name)) for span in output["provenance"] or ()]
        scores = [span["bleu_score"] for span in spans]
        assert sum(score > 1 - 1e-9 for score in scores) >= 5, name
        assert sum(THRESHOLD <= score < 0.99 for score in scores) >= 1, name
        assert min(scores) >= THRESHOLD
        if name in ("fever", "hotpotqa", "nq"):
            assert any(span["section"] != "Section::::Abstract." for span in spans), name
        if name != "trex":
            assert any(span["meta"]["original_title"] for span in spans), name


def test_mentions_lead_to_the_page_of_today(example_build: ExampleBuild) -> None:
    moved = set()
    for task in (task for name in ("aidayago2", "wned", "cweb") for task in example_build.tasks(name)):
        assert f"[START_ENT] {task['meta']['mention']} [END_ENT]" in task["input"]
        (output,) = task["output"]
        (page,) = output["provenance"]
        assert output["answer"] == page["title"]
        assert page["start_paragraph_id"] is None
        moved.add(page["meta"]["original_title"])
    assert moved == {
        *(None, "Robert Stevenson", "Smeaton's Tower", "Dr Jekyll & Mr Hyde", "Pharos of Alexandria", "Quicksilver")
    }
    entities = [output["answer"] for output in outputs(example_build.tasks("aidayago2", "test"))]
    assert entities.count("Robert Louis Stevenson") == 2, "of CoNLL's own file"


def test_facts_are_brought_together(example_build: ExampleBuild) -> None:
    facts = {task["input"]: task for name in ("trex", "structured_zeroshot") for task in example_build.tasks(name)}
    author = facts["Treasure Island [SEP] author"]["output"]  # of structured_zeroshot: two questions, one sentence
    assert [output["answer"] for output in author] == ["Robert Louis Stevenson"]
    (author,) = (task for task in example_build.tasks("trex") if task["input"] == "Treasure Island [SEP] author")
    assert [(output["answer"], bool(output["provenance"])) for output in author["output"]] == [
        *2 * [("Robert Louis Stevenson", True)],  # in two articles
        ("R. L. Stevenson", False),
        ("Tusitala", False),
    ]
    assert author["meta"]["subj_aliases"] == ["The Sea Cook"]
    assert facts["Bell Rock Lighthouse [SEP] height"]["split"] == "test", "label and split of the option files"


def test_answers_of_the_question_sets(example_build: ExampleBuild) -> None:
    (task,) = (task for task in example_build.tasks("triviaqa") if task["id"] == "tc_101")
    found = [(output["answer"], span["title"]) for output in task["output"] for span in output["provenance"] or ()]
    assert found[:2] == [
        ("Robert Louis Stevenson", "Treasure Island"),
        ("Robert Louis Stevenson", "Strange Case of Dr Jekyll and Mr Hyde"),
    ]
    assert all(output["provenance"] is None for output in outputs(example_build.tasks("eli5", "train")))
    assert {output["meta"]["score"] for output in outputs(example_build.tasks("eli5", "train"))} >= {None, 41, -2}
    released = [
        output["provenance"][0] for output in outputs(example_build.tasks("eli5", "validation")) if output["provenance"]
    ]
    assert [span["bleu_score"] for span in released].count(None) == 1, "checked, not aligned"
    assert {span["title"] for span in released} == {"Tide", "Moon", "Lightning rod", "Kite"}


def test_mkqa_shares_questions_with_nq(example_build: ExampleBuild) -> None:
    mkqa = example_build.tasks("mkqa")
    shared = {task["id"] for task in mkqa} & {task["id"] for task in example_build.tasks("nq")}
    assert len(shared) == 2
    assert {task["id"] for task in mkqa if any(output["provenance"] for output in task["output"])} == shared
    assert {output["meta"]["answer_type"] for output in outputs(mkqa)} - {None} == {
        *("entity", "date", "number", "number_with_unit"),
        *("short_phrase", "binary", "unanswerable", "long_answer"),
    }


def test_every_file_is_used() -> None:
    config = read_config(str(FOLDER / "build.toml"))
    patterns = [*config["knowledge_source"]["dump"]]
    for task in config["task"]:
        patterns += [path for key in ("source", "from_kilt", "evidence") for path in task.get(key, ())]
        patterns += task.get("files", {}).values()
        source = DATASETS[task["dataset"]].source
        patterns += [f"{task['dataset']}/RawText/*"] if isinstance(source, Text) and source.companion else []
    used = {path for pattern in patterns for path in FOLDER.glob(pattern)}
    others = {"README.md", "build.toml", "miniwiki.xml", miniwiki.INDEX, miniwiki.SUMS}
    assert {path for path in FOLDER.rglob("*") if path.is_file()} == used | {FOLDER / Path(name) for name in others}
