"""The report: its numbers, and a page that is whole, escaped and needs nothing from elsewhere."""

import json
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

import pytest

from kiltetl.transforms.reports.build_page import render
from kiltetl.transforms.reports.build_summary import summarize, terminal_rows

HISTOGRAM = [1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 6]
HOSTILE = "<script>alert('x')</script>&\"\u202e\x00\ud800"

SOURCE = {
    "kind": "knowledge-source",
    "dump": {"name": "xxwiki-20240101", "date": "2024-01-01", "files": 1},
    "site": {"language": "xx", "dbname": "xxwiki", "name": "Wikipedia", "base": "https://xx.wikipedia.org/wiki/Main"},
    "versions": {"kiltetl": "0.1", "apache-beam": "2.77.0"},
    "parameters": {"limit_pages": None},
    "inputs": [{"name": "xxwiki.xml.bz2", "size": 1_500_000, "sha1": "ab" * 20, "verified_against": None}],
    "fingerprint": "f1",
    "counters": {
        "read": 20,
        "articles": 10,
        "pages": 9,
        "paragraphs": 40,
        "kind:title": 9,
        "kind:paragraph": 31,
        "text:markup": 1,
        "titles": 12,
        "redirects": 3,
        "anchors": 8,
        "anchors_resolved": 6,
        "redirect": 5,
        "other-namespace": 5,
        "redirect-cycle": 2,
        "page-failed": 1,
        "malformed-page": 0,
    },
    "unknown_templates": {"b": 4, "a": 4, HOSTILE: 9},
    "files": [
        {"name": "pages-00000-of-00002.parquet", "rows": 4, "bytes": 100},
        {"name": "pages-00001-of-00002.parquet", "rows": 5, "bytes": 200},
        {"name": "out/titles-00000-of-00001.parquet", "rows": 12, "bytes": 50},
    ],
}


def task(dataset: str = "fever", split: str = "validation", **changes: Any) -> dict[str, Any]:
    """A manifest: 20 rows, of which 6 are skipped and 2 malformed; 12 examples, of which 3 are lost."""
    return {
        "kind": "tasks",
        "dataset": dataset,
        "task": "fact checking",
        "split": split,
        "inputs": [{"name": f"{dataset}.jsonl", "size": 999, "sha1": "cd" * 20}],
        "evidence": [],
        "knowledge_source": {"dump": {"name": "xxwiki-20240101"}, "fingerprint": "f1"},
        "versions": {"kiltetl": "0.1"},
        "parameters": {"threshold": 0.5, "keep_weak": False, "signature": "BLEU|c:lc"},
        "counters": {
            "read": 20,
            "used": 12,
            "examples": 12,
            "written": 9,
            "outputs": 11,
            "evidence_sets": 10,
            "spans": 12,
            "answers": 18,
            "pages": 7,
        },
        "skipped": {"not-enough-info": 5, "no-answer": 1},
        "rejected": {"bleu-below-threshold": 2, "page-not-in-knowledge-source": 1, "malformed-record": 2},
        "bleu": {"histogram": HISTOGRAM, "exact": 3, "count": 12, "sum": 9.0, "below_threshold": 3},
        "published": {"size": 10_444, "drop_percent": 26.03},
        "files": [],
    } | changes


NOTHING = task(counters={}, skipped={}, rejected={}, bleu={}, published={}, knowledge_source=None)
ZERO = task(
    counters=dict.fromkeys(task()["counters"], 0),
    skipped={"no-answer": 0},
    rejected={"malformed-record": 0},
    bleu={"histogram": [0] * 20, "exact": 0, "count": 0, "sum": 0.0, "below_threshold": 0},
    published={"size": None, "drop_percent": None},
)


def only(report: Mapping[str, Any]) -> Any:
    """The one split of a report."""
    ((split,),) = (dataset["splits"] for dataset in report["datasets"])
    return split


class Page(HTMLParser):
    """Fails on tags that do not match; keeps the elements with their attributes, and the text shown."""

    VOID = frozenset({"meta"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), attrs
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style" and data.strip():
            self.text.append(data.strip())

    def every(self, tag: str) -> Iterator[dict[str, str | None]]:
        return (attributes for name, attributes in self.elements if name == tag)


# --------------------------------------------------------------------------------------------
# report.json


def test_numbers_of_a_split() -> None:
    split = only(summarize(SOURCE, [task()]))
    got = {key: split[key] for key in ("read", "used", "skipped", "failed", "examples", "written", "dropped", "pages")}
    assert got == {
        "read": 20,
        "used": 12,
        "skipped": 6,
        "failed": 2,
        "examples": 12,
        "written": 9,
        "dropped": 3,
        "pages": 7,
    }
    assert split["dropped_percent"] == 25.0  # of the examples, which malformed rows never became
    assert split["reasons"] == {
        "skipped": {"no-answer": 1, "not-enough-info": 5},
        "dropped": {"bleu-below-threshold": 2, "page-not-in-knowledge-source": 1},
        "failed": {"malformed-record": 2},
        "sets": {},
    }
    assert split["published"] == {"averages": {}, "drop_percent": 26.03, "size": 10_444}
    assert split["bleu"] == {
        "count": 12,
        "mean": 0.75,
        "exact": 3,
        "exact_percent": 25.0,
        "below_threshold": 3,
        "below_threshold_percent": 25.0,
        "threshold": 0.5,
        "histogram": HISTOGRAM,
        "nearest": [],
        "unfound": {},
    }


def test_averages_stand_where_the_counters_allow() -> None:
    assert only(summarize(None, [task()]))["averages"] == {
        "spans_per_set": 1.2,
        "sets_per_record": 1.1111,
        "pages_per_record": None,
        "answers_per_record": 2.0,
    }
    more = task(counters=task()["counters"] | {"record_pages": 18})
    assert only(summarize(None, [more]))["averages"]["pages_per_record"] == 2.0
    assert set(only(summarize(None, [ZERO]))["averages"].values()) == {None}
    nothing = only(summarize(None, [NOTHING]))
    assert {*nothing["averages"].values(), nothing["pages"]} == {None}


def test_a_reason_without_a_name_counts_as_a_failure() -> None:
    split = only(summarize(None, [task(rejected={"bleu-below-threshold": 1, "strange": 4})]))
    assert (split["dropped"], split["failed"]) == (1, 4)


def test_numbers_of_a_knowledge_source() -> None:
    source = summarize(SOURCE, [])["knowledge_source"]
    assert source["counts"] == {
        "anchors": 8,
        "anchors_resolved": 6,
        "articles": 10,
        "pages": 9,
        "paragraphs": 40,
        "read": 20,
        "redirects": 3,
        "titles": 12,
    }
    assert source["kinds"] == {"paragraph": 31, "title": 9}
    assert source["remnants_per_10000"] == {"markup": 250.0, "empty parentheses": 0.0, "space before punctuation": 0.0}
    assert source["anchors_resolved_percent"] == 75.0
    assert source["reasons"] == {
        "failed": {"page-failed": 1},
        "lost": {"redirect-cycle": 2},
        "skipped": {"other-namespace": 5, "redirect": 5},
    }
    assert source["tables"] == {
        "pages": {"bytes": 300, "files": 2, "rows": 9},
        "titles": {"bytes": 50, "files": 1, "rows": 12},
    }
    assert source["unknown_templates"] == {
        "names": 3,
        "uses": 17,
        "top": [{"count": 9, "name": HOSTILE}, {"count": 4, "name": "a"}, {"count": 4, "name": "b"}],
    }


def test_totals_add_up_and_the_mean_share_stands_beside_the_papers() -> None:
    weak = task("nq", rejected={"bleu-below-threshold": 6}, published={"size": 1, "drop_percent": 16.03})
    unpublished = task("mkqa", rejected={}, published={"size": None, "drop_percent": None})
    totals = summarize(SOURCE, [task(), task(split="train"), weak, unpublished])["totals"]
    assert (totals["read"], totals["examples"], totals["dropped"], totals["failed"]) == (80, 48, 12, 4)
    assert totals["dropped_percent"] == 25.0
    assert totals["bleu"]["mean"] == 0.75
    assert totals["bleu"]["histogram"] == [4 * number for number in HISTOGRAM]
    assert list(totals["splits"]) == ["train", "validation"]
    validation = totals["splits"]["validation"]
    assert validation["examples"] == 36
    assert validation["mean_dropped_percent"] == 37.5  # 25 and 50; mkqa has no published share
    assert validation["mean_published_drop_percent"] == 21.03


def test_order_is_of_names_and_splits_not_of_the_manifests() -> None:
    tasks = [task(d, s) for d in ("nq", "fever") for s in ("test", "other", "validation", "train")]
    report = summarize(SOURCE, tasks)
    names = [(d["dataset"], [s["split"] for s in d["splits"]]) for d in report["datasets"]]
    splits = ["train", "validation", "test", "other"]
    assert names == [("fever", splits), ("nq", splits)]
    again = summarize(dict(reversed(SOURCE.items())), tasks[::-1])
    assert json.dumps(report) == json.dumps(again)
    assert render(report) == render(again)
    assert render(report) == render(json.loads(json.dumps(report)))


def test_no_number_that_json_lacks() -> None:
    odd = task(
        bleu={"histogram": HISTOGRAM, "exact": 0, "count": 12, "sum": float("nan"), "below_threshold": 0},
        published={"size": None, "drop_percent": float("inf")},
    )
    split = only(summarize(SOURCE, [odd]))
    assert split["bleu"]["mean"] is None
    assert split["published"]["drop_percent"] is None
    json.dumps(summarize(SOURCE, [odd]), allow_nan=False)


def test_a_task_mapped_onto_another_knowledge_source_is_noted() -> None:
    other = task(knowledge_source={"dump": {"name": "yywiki"}, "fingerprint": "f2"})
    report = summarize(SOURCE, [task("nq"), other, task("mkqa", knowledge_source=None)])
    (note,) = report["notes"]
    assert note.startswith("fever/validation was mapped onto another knowledge source (dump yywiki, fingerprint f2)")
    assert note in Page(render(report)).text


# --------------------------------------------------------------------------------------------
# report.html


@pytest.mark.parametrize(
    "report",
    [
        summarize(None, []),
        summarize({}, []),
        summarize(SOURCE, []),
        summarize(None, [task()]),
        summarize(None, [NOTHING]),
        summarize(SOURCE, [ZERO]),
        summarize(SOURCE, [task(), task(split="train"), ZERO, task("mkqa", published={})]),
        summarize(SOURCE, [task(HOSTILE, HOSTILE, task=HOSTILE, skipped={HOSTILE: 1}, rejected={HOSTILE: 2})]),
    ],
    ids=["empty", "bare", "source", "task", "nothing", "zero", "several", "hostile"],
)
def test_page_is_well_formed_and_loads_nothing(report: dict[str, Any]) -> None:
    html = render(report)
    html.encode()  # no lone surrogate
    page = Page(html)
    tags = {tag for tag, _ in page.elements}
    assert html.startswith("<!DOCTYPE html>\n<html")
    assert not tags & {"script", "link", "img", "iframe", "object", "base"}
    assert "url(" not in html
    assert "@import" not in html
    assert "\x00" not in html
    for _, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes)
        assert "src" not in attributes
        assert attributes.get("href", "#")[:1] == "#"  # type: ignore[index]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert not re.search(r"\bnan\b|\bNone\b", html)
    assert all(attributes.get("scope") in {"col", "row"} for attributes in page.every("th"))
    assert len(list(page.every("caption"))) == len(list(page.every("table")))


def test_hostile_names_are_text() -> None:
    html = render(summarize(SOURCE, [task(HOSTILE)]))
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert "<script" not in html
    assert [text for text in Page(html).text if text == shown] == [shown] * 3  # overview, section, template


def test_links_lead_to_the_sections() -> None:
    page = Page(render(summarize(SOURCE, [task("fever"), task("nq")])))
    ids = {attributes.get("id") for _, attributes in page.elements}
    assert [link["href"] for link in page.every("a")] == ["#dataset-fever", "#dataset-nq"]
    assert {"dataset-fever", "dataset-nq"} <= ids


def test_page_shows_the_numbers() -> None:
    text = Page(render(summarize(SOURCE, [task()]))).text
    for shown in ("KILT on Wikipedia", "xxwiki-20240101", "2024-01-01", "apache-beam 2.77.0, kiltetl 0.1", "10,444"):
        assert shown in text
    joined = "\n".join(text)
    assert "published share\n26.03\N{NO-BREAK SPACE}%" in joined
    assert "share dropped\n25.00\N{NO-BREAK SPACE}%" in joined
    assert "bleu-below-threshold\nloss\n2" in joined
    assert "not-enough-info\nskip\n5" in joined
    assert "malformed-record\nfailure\n2" in joined
    assert "that lead to a page (75.00\N{NO-BREAK SPACE}%)\n6" in joined
    assert "xxwiki.xml.bz2\nknowledge source\n" + "ab" * 20 + "\n1.5 MB" in joined


def test_published_averages_stand_beside_where_a_manifest_has_them() -> None:
    published = {"size": 1, "drop_percent": None, "averages": {"spans_per_set": 1.12}}
    joined = "\n".join(Page(render(summarize(None, [task(published=published)]))).text)
    assert "Spans in an evidence set\n1.20\npublished\n1.12\nEvidence sets of a record\n1.11\nAnswers" in joined


def test_bars_are_proportional_and_change_colour_at_the_threshold() -> None:
    page = Page(render(summarize(SOURCE, [task()])))
    bars = list(page.every("rect"))
    assert [bar["class"] for bar in bars] == ["weak"] * 10 + ["mapped"] * 10
    heights = [float(bar["height"] or "nan") for bar in bars]
    assert heights == pytest.approx([number * heights[0] for number in HISTOGRAM], abs=0.01)
    feet = {round(float(bar["y"] or "nan") + float(bar["height"] or "nan"), 2) for bar in bars}
    assert len(feet) == 1
    (cut,) = (line for line in page.every("line") if line["class"] == "cut")
    assert float(bars[9]["x"] or "nan") < float(cut["x1"] or "nan") < float(bars[10]["x"] or "nan")
    assert cut["x1"] == cut["x2"]


@pytest.mark.parametrize(
    ("published", "label"),
    [(26.03, "25.00 % under 0.5; dropped 25.00 %, published 26.03 %"), (None, "25.00 % under 0.5")],
)
def test_label_of_the_threshold(published: float | None, label: str) -> None:
    page = Page(render(summarize(SOURCE, [task(published={"drop_percent": published})])))
    shown = [text.replace("\N{NO-BREAK SPACE}", " ") for text in page.text]
    assert label in shown
    assert f"BLEU of the best spans, validation: {label}" in shown  # the title of the svg


def test_a_dataset_without_scores_has_no_chart() -> None:
    page = Page(render(summarize(SOURCE, [ZERO])))
    assert not list(page.every("svg"))
    assert "No evidence was looked for by its text, hence there is no BLEU." in page.text
    assert "Nothing was left out." in page.text


def test_style_serves_dark_screens_and_paper() -> None:
    html = render(summarize(None, []))
    for rule in ("prefers-color-scheme: dark", "@media print", "tabular-nums", "width=device-width"):
        assert rule in html
    names = set(re.findall(r"var\((--[a-z]+)\)", html))
    assert all(html.count(f"{name}:") == 3 for name in names - {"--note"})  # light, dark, paper


# --------------------------------------------------------------------------------------------
# The terminal


HEADING = [
    "dataset",
    "split",
    "read",
    "skipped",
    "failed",
    "examples",
    "mapped",
    "bare",
    "dropped",
    "mean BLEU",
    "reasons",
]


def test_terminal_rows() -> None:
    first = "bleu-below-threshold 2, page-not-in-knowledge-source 1,"
    large = task("nq", "dev", counters={"read": 1_234_567}, skipped={}, rejected={}, bleu={})
    assert terminal_rows(summarize(SOURCE, [large, task()])) == [
        HEADING,
        ["fever", "validation", "20", "6", "2", "12", "9", "0", "3", "0.750", first],
        [""] * 10 + ["not-enough-info 5, no-answer 1, malformed-record 2"],
        ["nq", "dev", "1,234,567", "0", "0", "0", "0", "0", "0", "-", ""],
    ]


def test_terminal_rows_of_nothing() -> None:
    assert terminal_rows(summarize(None, [])) == [HEADING]


def test_quality_and_the_examples_nearest_the_threshold() -> None:
    task = {
        "kind": "tasks", "dataset": "fever", "split": "validation", "task": "fact checking",
        "counters": {"read": 10, "examples": 10, "written": 8},
        "bleu": {
            "histogram": [0] * 9 + [1, 1] + [0] * 7 + [2, 4], "sum": 6.9, "count": 8, "exact": 3, "below_threshold": 1,
            "unfound": {"page-not-in-knowledge-source": 2},
            "nearest": [{"id": "7", "title": "A<b>", "bleu": 0.4875, "evidence": "x & y", "span": "x y"}],
        },
    }  # fmt: skip
    report = summarize(None, [task])
    (split,) = report["datasets"][0]["splits"]
    assert split["bleu"]["unfound"] == {"page-not-in-knowledge-source": 2}
    page = render(report)
    for cell in ("3 (30.0", "3 (30.0", "1 (10.0", "2 (20.0"):
        assert cell in page
    assert "A&lt;b&gt;" in page
    assert "x &amp; y" in page
    assert "0.488" in page or "0.487" in page
