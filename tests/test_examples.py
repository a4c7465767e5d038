"""The examples: packed as they should be, and every reason to leave something out occurs in them."""

import bz2
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha1
from pathlib import Path
from typing import Any

import miniwiki
import pytest

from kiltetl.pipelines.build import read_config
from kiltetl.schemas.arrow import table_of
from kiltetl.schemas.records import (
    BLEU_BELOW_THRESHOLD,
    DUPLICATE_PAGE,
    FAILURES,
    LOSSES,
    MALFORMED_PAGE,
    MALFORMED_RECORD,
    NO_ANSWER,
    NO_SHORT_ANSWER,
    NOT_ENOUGH_INFO,
    NOT_WIKITEXT,
    OTHER_NAMESPACE,
    PAGE_FAILED,
    PAGE_IS_DISAMBIGUATION,
    PAGE_NOT_IN_KNOWLEDGE_SOURCE,
    REDIRECT,
    REDIRECT_CYCLE,
    REDIRECT_TARGET_MISSING,
    REDIRECT_TO_OTHER_NAMESPACE,
    SHORT_ANSWER_TOO_LONG,
    SKIPS,
    SOURCE_PAGE_MISSING,
    SOURCE_SENTENCE_MISSING,
    Evidence,
    ParsedPage,
    RawPage,
    Reject,
    ScannedTitle,
    Task,
    TitleRow,
)
from kiltetl.transforms import io
from kiltetl.transforms.align import THRESHOLD, best_span
from kiltetl.transforms.datasets import DATASETS
from kiltetl.transforms.datasets.spec import Dataset, MalformedRow, SkipRow
from kiltetl.transforms.dump import MalformedPage, pages, read_header, redirect_fragment
from kiltetl.transforms.mapping import Finding, Unmapped, map_example, provenance
from kiltetl.transforms.redirects import resolve_titles, title_hash
from kiltetl.transforms.titles import normal_title
from kiltetl.transforms.wikitext import parse_page

FOLDER = miniwiki.EXAMPLES

# ---------------------------------------------------------------------------------------------
# The files


def test_packed_files_are_those_of_the_source() -> None:
    for name, content in miniwiki.example_files((FOLDER / "miniwiki.xml").read_bytes()).items():
        assert (FOLDER / name).read_bytes() == content, f"examples/{name}: run python tests/miniwiki.py"


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
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 150_000


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
# The wiki


@dataclass
class Wiki:
    """The encyclopedia as the pipeline would have it."""

    articles: dict[str, ParsedPage] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    titles: dict[str, TitleRow] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    read: int = 0


@pytest.fixture(scope="module")
def wiki() -> Wiki:
    xml = (FOLDER / "miniwiki.xml").read_bytes()
    header, rooted = read_header([(True, xml)])
    found, kept, scanned = Wiki(), dict[int, RawPage](), list[ScannedTitle]()
    for page in pages([(True, xml)], header, rooted):
        found.read += 1
        if isinstance(page, MalformedPage):
            found.reasons[MALFORMED_PAGE] += 1
        elif page.namespace:
            found.reasons[OTHER_NAMESPACE] += 1
        elif page.redirect is None and page.model != "wikitext":
            found.reasons[NOT_WIKITEXT] += 1
        else:
            target = page.redirect and normal_title(page.redirect, header.site)
            fragment = redirect_fragment(page.text, header) if target else None
            hashes = title_hash(page.title), title_hash(target) if target else 0
            scanned.append(
                ScannedTitle(
                    page.page_id, page.revision_id, page.ordinal, page.title, hashes[0], target, hashes[1], fragment
                )
            )
            kept[page.ordinal] = page
    resolution = resolve_titles([table_of(ScannedTitle, scanned)], header.site)
    for ordinal in resolution.duplicates[0]:
        found.reasons[DUPLICATE_PAGE] += 1
        del kept[ordinal]
    found.titles = {row.title: row for row in resolution.title_rows(0)}
    found.reasons.update(reject.reason for reject in resolution.rejects(0))
    for page in kept.values():
        if page.redirect is None:
            found.articles[page.title] = parse_page(page.title, page.text, header.site)
            found.ids[page.title] = str(page.page_id)
        else:
            found.reasons[REDIRECT] += 1
    return found


def test_reasons_of_the_wiki(wiki: Wiki) -> None:
    assert wiki.reasons == {
        OTHER_NAMESPACE: 4,
        REDIRECT: 13,
        NOT_WIKITEXT: 1,
        DUPLICATE_PAGE: 1,
        MALFORMED_PAGE: 2,
        REDIRECT_CYCLE: 2,
        REDIRECT_TARGET_MISSING: 1,
        REDIRECT_TO_OTHER_NAMESPACE: 1,
    }
    not_read = sum(wiki.reasons[reason] for reason in (*SKIPS, MALFORMED_PAGE))
    assert wiki.read == len(wiki.articles) + not_read == 66


def test_titles_of_the_wiki(wiki: Wiki) -> None:
    page_id = wiki.ids["Lighthouse of Alexandria"]
    assert wiki.titles["Pharos"] == TitleRow("Pharos", page_id, "Lighthouse of Alexandria", None, True, 2)
    assert wiki.titles["Smeaton's Tower"].fragment == "Smeaton's lighthouse"
    assert wiki.titles["Augustin Fresnel"].wikipedia_title == "Augustin-Jean Fresnel"
    assert sum(row.is_redirect for row in wiki.titles.values()) == 13 - 4
    assert len(wiki.titles) == len(wiki.articles) + 9


def test_constructs_of_the_wiki(wiki: Wiki) -> None:
    rows = [row for page in wiki.articles.values() for row in page.paragraphs]
    texts = {row.text for row in rows}
    assert {row.kind for row in rows} == {"title", "section", "paragraph", "list_item"}
    assert {row.list_marker for row in rows} >= {None, "-", "1.", "2.", "7."}
    assert max(len(row.section) for row in rows) == 3
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
    assert [title for title, page in wiki.articles.items() if page.is_disambiguation] == ["Mercury"]
    assert wiki.articles["Tide"].unknown_templates == {"tide table": 1}
    assert wiki.articles["Lighthouse"].categories == ("Lighthouses", "Towers", "Navigation, aids to")
    assert wiki.articles["Bay of Fundy"].categories == ("Bays",), "the newer of two revisions"


def test_links_of_the_wiki(wiki: Wiki) -> None:
    seen = Counter[str]()
    for title, page in wiki.articles.items():
        for row in page.paragraphs:
            for anchor in row.anchors:
                assert row.text[anchor.start : anchor.end] == anchor.text
                leads = wiki.titles.get(anchor.wikipedia_title)
                seen["red" if leads is None else "redirect" if leads.is_redirect else "page"] += 1
                assert anchor.wikipedia_title != title, "a self link is no link"
                seen["trail"] += anchor.text == "buses"
                seen["astral"] += anchor.text == "𐌲𐌿𐍄𐌰𐌽𐍃"
    assert set(+seen) == {"red", "redirect", "page", "trail", "astral"}


# ---------------------------------------------------------------------------------------------
# The datasets


@dataclass
class Outcome:
    """What comes of one task of build.toml."""

    rows: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    malformed: int = 0
    tasks: list[Task] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)

    def facts(self) -> tuple[Any, ...]:
        rejected = Counter(reject.reason for reject in self.rejects)
        return self.rows, dict(self.skipped), self.malformed, len(self.tasks), dict(rejected)

    def unmapped(self) -> set[str]:
        reasons = (output.meta.unmapped_reason for task in self.tasks for output in task.output)
        return {reason for reason in reasons if reason}


def outcome(task: dict[str, Any], wiki: Wiki) -> Outcome:
    dataset, found = DATASETS[task["dataset"]], Outcome()
    split = {"dev": "validation"}.get(task["split"], task["split"])
    sentences = dict(source_pages(dataset, task.get("evidence", ())))
    for path in task["source"]:
        for _, row in io.read_rows(str(FOLDER / path), dataset.source, dataset.items):
            found.rows += 1
            try:
                examples = list(dataset.read(row))
            except SkipRow as skip:
                found.skipped[skip.reason] += 1
                continue
            except (MalformedRow, KeyError, IndexError, TypeError, ValueError, AttributeError):
                found.malformed += 1
                continue
            for example in examples:
                findings = [[find(one, sentences, wiki) for one in o.evidence or ()] for o in example.outputs]
                record = map_example(example, findings, dataset.name, split)
                if isinstance(record, Task):
                    found.tasks.append(record)
                else:
                    found.rejects.append(record)
    return found


def source_pages(dataset: Dataset, patterns: list[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for pattern in patterns:
        assert list(FOLDER.glob(pattern)), f"no file is named by {pattern}"
        for path in FOLDER.glob(pattern):
            for _, row in io.read_rows(str(path)):
                for page in dataset.read_evidence(row) if dataset.read_evidence else ():
                    yield page.key, page.sentences


def find(evidence: Evidence, sentences: dict[str, tuple[str, ...]], wiki: Wiki) -> Finding:
    text = evidence.text
    if text is None:
        if evidence.source_page not in sentences:
            return Unmapped(SOURCE_PAGE_MISSING)
        text = "".join(sentences[evidence.source_page][evidence.sentence or 0 :][:1])
        if not text:
            return Unmapped(SOURCE_SENTENCE_MISSING)
    title = wiki.titles.get(normal_title(evidence.title))
    if title is None:
        return Unmapped(PAGE_NOT_IN_KNOWLEDGE_SOURCE)
    page = wiki.articles[title.wikipedia_title]
    span = best_span([row.text for row in page.paragraphs], text)
    if page.is_disambiguation and (span is None or span.bleu_score < THRESHOLD):
        return Unmapped(PAGE_IS_DISAMBIGUATION)
    if span is None:
        return Unmapped(BLEU_BELOW_THRESHOLD)
    section = page.paragraphs[span.paragraph_id].section
    return provenance(evidence, title.wikipedia_id, title.wikipedia_title, span, section)


@pytest.fixture(scope="module")
def outcomes(wiki: Wiki) -> dict[tuple[str, str], Outcome]:
    tasks = read_config(str(FOLDER / "build.toml"))["task"]
    return {(task["dataset"], task["split"]): outcome(task, wiki) for task in tasks}


# For each task: rows, skipped, malformed, records, rejected.
EXPECTED: dict[tuple[str, str], tuple[Any, ...]] = {
    ("fever", "train"): (16, {NOT_ENOUGH_INFO: 1}, 2, 13, {}),
    ("fever", "dev"): (
        15,
        {NOT_ENOUGH_INFO: 1, NO_ANSWER: 1},
        1,
        6,
        {
            BLEU_BELOW_THRESHOLD: 1,
            PAGE_NOT_IN_KNOWLEDGE_SOURCE: 2,
            PAGE_IS_DISAMBIGUATION: 1,
            SOURCE_PAGE_MISSING: 1,
            SOURCE_SENTENCE_MISSING: 1,
        },
    ),
    ("hotpotqa", "train"): (11, {}, 1, 10, {}),
    ("hotpotqa", "dev"): (
        10,
        {NO_ANSWER: 1},
        1,
        3,
        {
            BLEU_BELOW_THRESHOLD: 1,
            PAGE_NOT_IN_KNOWLEDGE_SOURCE: 1,
            PAGE_IS_DISAMBIGUATION: 1,
            SOURCE_PAGE_MISSING: 1,
            SOURCE_SENTENCE_MISSING: 1,
        },
    ),
    ("nq", "train"): (13, {NO_SHORT_ANSWER: 1, SHORT_ANSWER_TOO_LONG: 1}, 2, 9, {}),
    ("nq", "dev"): (
        12,
        {NO_SHORT_ANSWER: 1, SHORT_ANSWER_TOO_LONG: 1},
        1,
        6,
        {BLEU_BELOW_THRESHOLD: 1, PAGE_NOT_IN_KNOWLEDGE_SOURCE: 1, PAGE_IS_DISAMBIGUATION: 1},
    ),
    ("mkqa", "dev"): (9, {}, 1, 8 * 26, {}),
}


def test_counts_of_the_datasets(outcomes: dict[tuple[str, str], Outcome]) -> None:
    assert {key: found.facts() for key, found in outcomes.items()} == EXPECTED


def test_every_reason_occurs(wiki: Wiki, outcomes: dict[tuple[str, str], Outcome]) -> None:
    seen = set(wiki.reasons)
    for found in outcomes.values():
        seen |= set(found.skipped) | {reject.reason for reject in found.rejects}
        seen |= {MALFORMED_RECORD} if found.malformed else set()
    assert seen == {*SKIPS, *LOSSES, *FAILURES} - {PAGE_FAILED}


def test_train_keeps_what_dev_drops(outcomes: dict[tuple[str, str], Outcome]) -> None:
    of_evidence = {
        BLEU_BELOW_THRESHOLD,
        PAGE_NOT_IN_KNOWLEDGE_SOURCE,
        PAGE_IS_DISAMBIGUATION,
        SOURCE_PAGE_MISSING,
        SOURCE_SENTENCE_MISSING,
    }
    assert outcomes["fever", "train"].unmapped() == outcomes["hotpotqa", "train"].unmapped() == of_evidence
    assert outcomes["fever", "dev"].unmapped() == outcomes["hotpotqa", "dev"].unmapped() == set()


def test_spans_are_verbatim_edited_renamed_and_deep(outcomes: dict[tuple[str, str], Outcome]) -> None:
    for name in ("fever", "hotpotqa", "nq"):
        spans = [
            span
            for split in ("train", "dev")
            for task in outcomes[name, split].tasks
            for output in task.output
            for span in output.provenance or ()
        ]
        scores = [span.bleu_score or 0 for span in spans]
        assert sum(score > 1 - 1e-9 for score in scores) >= 5, name
        assert sum(THRESHOLD <= score < 0.99 for score in scores) >= 3, name
        assert min(scores) >= THRESHOLD
        assert any(span.meta.original_title for span in spans), name
        assert any(span.section != "Section::::Abstract." for span in spans), name


def test_mkqa_shares_questions_with_nq(outcomes: dict[tuple[str, str], Outcome]) -> None:
    nq = {task.id for split in ("train", "dev") for task in outcomes["nq", split].tasks}
    mkqa = outcomes["mkqa", "dev"].tasks
    assert len({task.id for task in mkqa} & nq) == 2
    kinds = {output.meta.answer_type for task in mkqa for output in task.output}
    assert kinds == {
        *("entity", "date", "number", "number_with_unit"),
        *("short_phrase", "binary", "unanswerable", "long_answer"),
    }


def test_every_file_is_used() -> None:
    config = read_config(str(FOLDER / "build.toml"))
    patterns = [*config["knowledge_source"]["dump"]]
    for task in config["task"]:
        patterns += [*task["source"], *task.get("evidence", ())]
    used = {path for pattern in patterns for path in FOLDER.glob(pattern)}
    others = {"README.md", "build.toml", "miniwiki.xml", miniwiki.INDEX, miniwiki.SUMS}
    assert {path for path in FOLDER.rglob("*") if path.is_file()} == used | {FOLDER / Path(name) for name in others}
