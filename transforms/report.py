"""What a build made, from its manifests: ``report.json``, ``report.html`` and the table of a terminal.

Three pure functions: ``summarize`` adds up what the manifests say, ``render`` and ``terminal_rows``
show the sum. The page is one file that loads nothing: its style and charts stand inside, and no
text reaches it unescaped, since it is built as a tree of elements.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from kiltetl.schemas.records import FAILURES, LOSSES, REMNANTS, SKIPS
from kiltetl.transforms import html

Manifest: TypeAlias = Mapping[str, Any]

SPLITS: Final = ("train", "validation", "test")
TOP_TEMPLATES: Final = 25
THRESHOLD: Final = 0.5  # where a manifest does not give its own

_KIND = "kind:"  # prefix of the counters of the paragraphs' kinds
_REMNANT = "text:"  # prefix of the counters of paragraphs with what looks like a remnant of wikitext
_TERMINAL: Final = [
    "dataset", "split", "read", "skipped", "failed", "examples", "mapped", "bare", "dropped", "mean BLEU", "reasons"
]  # fmt: skip
_SUMS = ("bare", "read", "used", "examples", "written", "outputs", "answers", "evidence_sets", "spans")
_AVERAGES = (
    # name, counter above, counter below; the paper's APS, APN, APP and AAN
    ("spans_per_set", "spans", "evidence_sets"),
    ("sets_per_record", "evidence_sets", "written"),
    ("pages_per_record", "record_pages", "written"),
    ("answers_per_record", "answers", "written"),
)


# --------------------------------------------------------------------------------------------
# The sum


def summarize(knowledge_source: Manifest | None, tasks: Sequence[Manifest]) -> dict[str, Any]:
    """The content of ``report.json``: sorted, the same for the same manifests, without NaN.

    Args:
        knowledge_source: its manifest, None where the build has none.
        tasks: the manifests of the tasks, one for each dataset and split, in any order.

    A share is in percent. It and every mean are None where there is nothing to divide by.
    """
    ordered = sorted(tasks, key=_order)
    datasets = [
        {"dataset": name, "task": group[0].get("task"), "splits": [_split(task) for task in group]}
        for name, group in ((n, list(g)) for n, g in groupby(ordered, key=lambda task: str(task.get("dataset"))))
    ]
    summary = {
        "knowledge_source": None if knowledge_source is None else _knowledge_source(knowledge_source),
        "datasets": datasets,
        "totals": _tally(ordered) | {"splits": _totals_by_split(ordered)},
        "notes": list(_notes(knowledge_source, ordered)),
    }
    cleaned: dict[str, Any] = _clean(summary)
    return cleaned


def _order(task: Manifest) -> tuple[str, int, str, str]:
    rest = json.dumps(task, sort_keys=True, default=str)
    return str(task.get("dataset")), *_place(str(task.get("split"))), rest


def _place(split: str) -> tuple[int, str]:
    """Sorts train, validation and test before any other."""
    return SPLITS.index(split) if split in SPLITS else len(SPLITS), split


def _knowledge_source(manifest: Manifest) -> dict[str, Any]:
    counters: Mapping[str, int] = manifest.get("counters") or {}
    reasons = {*SKIPS, *LOSSES, *FAILURES}
    templates: Mapping[str, int] = manifest.get("unknown_templates") or {}
    top = sorted(templates.items(), key=lambda item: (-item[1], item[0]))[:TOP_TEMPLATES]
    site = manifest.get("site") or {}
    dump = manifest.get("dump") or {}
    return {
        "dump": {key: dump.get(key) for key in ("name", "date")},
        "site": {key: site.get(key) for key in ("name", "dbname", "language", "base")},
        "versions": manifest.get("versions") or {},
        "parameters": manifest.get("parameters") or {},
        "fingerprint": manifest.get("fingerprint"),
        "inputs": manifest.get("inputs") or [],
        "counts": {k: n for k, n in counters.items() if k not in reasons and not k.startswith((_KIND, _REMNANT))},
        "kinds": {k.removeprefix(_KIND): n for k, n in counters.items() if k.startswith(_KIND)},
        "remnants_per_10000": {
            name: _ratio(10_000 * counters.get(_REMNANT + name, 0), counters.get("paragraphs")) for name in REMNANTS
        },
        "anchors_resolved_percent": _percent(counters.get("anchors_resolved"), counters.get("anchors")),
        "reasons": {
            "skipped": {k: n for k, n in counters.items() if k in SKIPS and n},
            "lost": {k: n for k, n in counters.items() if k in LOSSES and n},
            "failed": {k: n for k, n in counters.items() if k in FAILURES and n},
        },
        "unknown_templates": {
            "names": len(templates),
            "uses": sum(templates.values()),
            "top": [{"name": name, "count": count} for name, count in top],
        },
        "tables": _tables(manifest.get("files") or ()),
    }


def _tables(files: Iterable[Manifest]) -> dict[str, dict[str, int]]:
    """Shards, rows and bytes of each table; ``pages-00000-of-00004.parquet`` is a shard of ``pages``."""
    tables: dict[str, Counter[str]] = {}
    for file in files:
        name = re.split(r"-[0-9]|\.", str(file.get("name")).rpartition("/")[2])[0]
        tables.setdefault(name, Counter()).update(files=1, rows=file.get("rows") or 0, bytes=file.get("bytes") or 0)
    return {name: {key: counted[key] for key in ("files", "rows", "bytes")} for name, counted in tables.items()}


def _split(task: Manifest) -> dict[str, Any]:
    counters: Mapping[str, int] = task.get("counters") or {}
    published = task.get("published") or {}
    source = task.get("knowledge_source")
    return _tally([task]) | {
        "split": task.get("split"),
        "pages": counters.get("pages"),
        "averages": {name: _ratio(counters.get(above), counters.get(below)) for name, above, below in _AVERAGES},
        "released": task.get("released") or {},
        "borrowed": task.get("borrowed") or {},
        "remarks": task.get("remarks") or {},
        "published": {
            "size": published.get("size"),
            "drop_percent": published.get("drop_percent"),
            "averages": published.get("averages") or {},
        },
        "parameters": task.get("parameters") or {},
        "versions": task.get("versions") or {},
        "inputs": task.get("inputs") or [],
        "evidence": task.get("evidence") or [],
        "knowledge_source": source
        and {"dump": (source.get("dump") or {}).get("name"), "fingerprint": source.get("fingerprint")},
    }


def _tally(tasks: Sequence[Manifest]) -> dict[str, Any]:
    """What the manifests of some tasks add up to.

    Malformed rows never became examples, so the share dropped is that of the losses alone.
    """
    counters = _added(task.get("counters") for task in tasks)
    skipped = _added(task.get("skipped") for task in tasks)
    rejected = _added(task.get("rejected") for task in tasks)
    dropped = {reason: count for reason, count in rejected.items() if reason in LOSSES}
    failed = {reason: count for reason, count in rejected.items() if reason not in LOSSES}
    return {key: counters[key] for key in _SUMS} | {
        "skipped": sum(skipped.values()),
        "failed": sum(failed.values()),
        "dropped": sum(dropped.values()),
        "dropped_percent": _percent(sum(dropped.values()), counters["examples"]),
        "reasons": {
            "skipped": skipped + _added(task.get("skipped_merging") for task in tasks),
            "dropped": dropped,
            "failed": failed,
            "sets": {reason: n for reason, n in _added(t.get("sets") for t in tasks).items() if reason != "mapped"},
        },
        "bleu": _bleu(tasks),
    }


def _bleu(tasks: Sequence[Manifest]) -> dict[str, Any]:
    scores = [task.get("bleu") or {} for task in tasks]
    histograms = [score.get("histogram") or () for score in scores]
    bins = max(map(len, histograms), default=0)
    count, exact, below = (
        sum(score.get(key) or 0 for score in scores) for key in ("count", "exact", "below_threshold")
    )
    return {
        "count": count,
        "mean": _ratio(math.fsum(score.get("sum") or 0.0 for score in scores), count, 6),
        "exact": exact,
        "exact_percent": _percent(exact, count),
        "below_threshold": below,
        "below_threshold_percent": _percent(below, count),
        "threshold": next(filter(None, ((task.get("parameters") or {}).get("threshold") for task in tasks)), THRESHOLD),
        "histogram": [sum(h[i] for h in histograms if i < len(h)) for i in range(bins)],
        "unfound": _added(score.get("unfound") for score in scores),
        "nearest": [one for score in scores for one in score.get("nearest") or ()] if len(tasks) == 1 else [],
    }


def _totals_by_split(ordered: Sequence[Manifest]) -> dict[str, Any]:
    """Sums for each split; and the mean share dropped beside the paper's, over the datasets that have one."""
    totals = {}
    for split in sorted({str(task.get("split")) for task in ordered}):
        tasks = [task for task in ordered if str(task.get("split")) == split]
        pairs = [
            (share, published)
            for task in tasks
            if (published := (task.get("published") or {}).get("drop_percent")) is not None
            and (share := _tally([task])["dropped_percent"]) is not None
        ]
        totals[split] = _tally(tasks) | {
            "mean_dropped_percent": _ratio(math.fsum(share for share, _ in pairs), len(pairs)),
            "mean_published_drop_percent": _ratio(math.fsum(published for _, published in pairs), len(pairs)),
        }
    return totals


def _notes(knowledge_source: Manifest | None, ordered: Sequence[Manifest]) -> Iterator[str]:
    """What a reader has to know before trusting the numbers."""
    if knowledge_source is None:
        return
    for task in ordered:
        used = task.get("knowledge_source")
        if used and used.get("fingerprint") != knowledge_source.get("fingerprint"):
            dump = (used.get("dump") or {}).get("name") or "unnamed"
            yield (
                f"{task.get('dataset')}/{task.get('split')} was mapped onto another knowledge source "
                f"(dump {dump}, fingerprint {used.get('fingerprint')}) than the one of this report."
            )


def _added(counts: Iterable[Mapping[str, int] | None]) -> Counter[str]:
    """The sum, without what occurred nowhere."""
    total = Counter[str]()
    for one in counts:
        total.update(one or {})
    return +total


def _ratio(above: float | None, below: float | None, digits: int = 4) -> float | None:
    return round(above / below, digits) if above is not None and below else None


def _percent(part: float | None, whole: float | None) -> float | None:
    return None if part is None else _ratio(100 * part, whole)


def _clean(value: Any) -> Any:
    """Plain JSON values with sorted keys; None for what JSON has no number for."""
    if isinstance(value, Mapping):
        return {str(key): _clean(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, (list, tuple)):
        return [_clean(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


# --------------------------------------------------------------------------------------------
# The table of a terminal


def terminal_rows(report: Manifest) -> list[list[str]]:
    """A heading and a row for each dataset and split; long lists of reasons go on in rows of their own.

    "bare" counts the examples written without the provenance they named (train), "mapped" the other ones.
    """
    rows = [_TERMINAL]
    for dataset in report["datasets"]:
        for split in dataset["splits"]:
            counts = dict(split) | {"mapped": split["written"] - split["bare"]}
            numbers = [_number(counts[key]) for key in _TERMINAL[2:9]]
            kinds = ("dropped", "skipped", "failed") if split["dropped"] else ("sets", "skipped", "failed")
            counted = [(r, n) for key in kinds for r, n in _by_count(split["reasons"][key])]
            reasons = _lines([f"{reason} {count:,}" for reason, count in counted], 60)
            mean = "-" if split["bleu"]["mean"] is None else f"{split['bleu']['mean']:.3f}"
            rows.append([str(dataset["dataset"]), str(split["split"]), *numbers, mean, reasons[0]])
            rows += [[""] * 10 + [more] for more in reasons[1:]]
    return rows


def _lines(parts: Sequence[str], width: int) -> list[str]:
    """The parts with commas between them, in lines that are broken after a comma; one line at least."""
    lines = [""]
    for i, part in enumerate(parts, start=1):
        part += "," if i < len(parts) else ""
        if lines[-1] and len(lines[-1]) + 1 + len(part) > width:
            lines.append(part)
        else:
            lines[-1] = f"{lines[-1]} {part}".lstrip()
    return lines


def _by_count(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


# --------------------------------------------------------------------------------------------
# Numbers as a person reads them

_NONE = "–"


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:,}"


def _share(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}\N{NO-BREAK SPACE}%"


def _decimal(value: float | None, digits: int = 2) -> str:
    return _NONE if value is None else f"{value:.{digits}f}"


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


# --------------------------------------------------------------------------------------------
# The page

_BUILT = (
    ("read", "Pages read, of every namespace", False),
    ("articles", "articles", True),
    ("redirects", "redirects", True),
    ("pages", "Pages written", False),
    ("disambiguations", "disambiguation pages", True),
    ("paragraphs", "Paragraphs", False),
    ("titles", "Titles", False),
    ("anchors", "Anchors", False),
    ("anchors_resolved", "that lead to a page", True),
    ("guards", "Bounds on size or nesting that took effect", False),
    ("rejects", "Rejects written", False),
)
_KIND_NAMES = {"title": "titles", "section": "headings", "paragraph": "text paragraphs", "list_item": "list items"}

_HOW_TO_READ = (
    "A skip follows a rule of the benchmark, such as a claim without enough information, and is only counted. "
    "A loss is a fact of the data: the page is gone from this dump, or its text changed so much that no span "
    "reaches the threshold. A failure is malformed input or an error. Losses and failures are rows of the rejects. "
    "The share dropped is that of the losses among the examples; the published one, of the KILT paper, counts "
    "missing pages too. The charts show the BLEU of the best span for each evidence that was looked for in its page, "
    "kept or not. In train an example stays without provenance where its evidence was not found."
)


def render(report: Manifest) -> str:
    """``report.html``: one page that needs no network and no script.

    Args:
        report: what ``summarize`` returns.
    """
    source = report["knowledge_source"]
    site = (source or {}).get("site") or {}
    wiki = site.get("name") or site.get("dbname")
    title = f"KILT on {wiki}" if wiki else "KILT build report"
    body = html.element(
        "body",
        {},
        _header(title, source, report),
        html.element(
            "main",
            {},
            *(html.element("p", {"class": "note", "role": "note"}, note) for note in report["notes"]),
            _overview(report),
            None if source is None else _source_section(source),
            *(_dataset_section(dataset) for dataset in report["datasets"]),
            None if source is None else _templates_section(source["unknown_templates"]),
            _inputs_section(report),
        ),
    )
    return html.document(title, body)


def _header(title: str, source: Manifest | None, report: Manifest) -> html.Element:
    lead = "What the build read, wrote and left out."
    versions: Mapping[str, str]
    if source is None:
        dumps = sorted(
            {str(used["dump"]) for d in report["datasets"] for s in d["splits"] if (used := s["knowledge_source"])}
        )
        facts = [("Mapped onto", ", ".join(dumps))] if dumps else []
        versions = next((s["versions"] for d in report["datasets"] for s in d["splits"]), {})
    else:
        site, dump = source["site"], source["dump"]
        facts = [
            ("Wiki", site["dbname"]),
            ("Language", site["language"]),
            ("Dump", dump["name"]),
            ("Date", dump["date"]),
            ("Address", site["base"]),
            ("Fingerprint", source["fingerprint"]),
        ]
        versions = source["versions"]
    facts.append(("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())))
    pairs = [
        html.element("div", {}, html.element("dt", {}, label), html.element("dd", {}, html.name(value)))
        for label, value in facts
        if value
    ]
    return html.element(
        "header",
        {},
        html.element("h1", {}, html.name(title)),
        html.element("p", {"class": "quiet"}, lead),
        html.element("dl", {}, *pairs) if pairs else None,
    )


def _overview(report: Manifest) -> html.Element:
    heads = [
        "Dataset",
        "Split",
        "Read",
        "Examples",
        "Written",
        "Dropped",
        "Share dropped",
        "Published share",
        "Mean BLEU",
    ]
    rows = [
        html.row(
            html.element("a", {"href": f"#{_anchor(dataset)}"}, html.name(dataset["dataset"])),
            html.name(split["split"]),
            *(_number(split[key]) for key in ("read", "examples", "written", "dropped")),
            _share(split["dropped_percent"]),
            _share(split["published"]["drop_percent"]),
            _decimal(split["bleu"]["mean"], 3),
            left=2,
        )
        for dataset in report["datasets"]
        for split in dataset["splits"]
    ]
    totals = report["totals"]
    sums = html.row(
        "Total",
        "",
        *(_number(totals[key]) for key in ("read", "examples", "written", "dropped")),
        _share(totals["dropped_percent"]),
        "",
        _decimal(totals["bleu"]["mean"], 3),
        left=2,
    )
    means = [
        f"{split}: {_share(of['mean_dropped_percent'])}, published {_share(of['mean_published_drop_percent'])}"
        for split, of in sorted(totals["splits"].items(), key=lambda item: _place(item[0]))
        if of["mean_dropped_percent"] is not None
    ]
    return html.element(
        "section",
        {"aria-labelledby": "overview"},
        html.element("h2", {"id": "overview"}, "Overview"),
        html.table("Examples by dataset and split", heads, [("", rows), ("sum", [sums])], left=2)
        if rows
        else html.element("p", {"class": "quiet"}, "No dataset was mapped."),
        html.element("p", {}, f"Mean share dropped of the datasets with a published one: {'; '.join(means)}.")
        if means
        else None,
        html.element("h3", {}, "How to read it"),
        html.element("p", {}, _HOW_TO_READ),
    )


def _anchor(dataset: Manifest) -> str:
    return "dataset-" + quote(html.shown(str(dataset["dataset"])), safe="")


def _source_section(source: Manifest) -> html.Element:
    counts = source["counts"]
    known = [key for key, _, _ in _BUILT]
    built = []
    for key, label, inner in _BUILT:
        if key not in counts:
            continue
        note = f"{label} ({_share(source['anchors_resolved_percent'])})" if key == "anchors_resolved" else label
        built.append(html.row(note, _number(counts[key]), inner=inner))
        if key == "paragraphs":
            kinds = source["kinds"]
            built += [
                html.row(_KIND_NAMES.get(kind, kind), _number(kinds[kind]), inner=True)
                for kind in sorted(kinds, key=lambda kind: ([*_KIND_NAMES, kind].index(kind), kind))
            ]
    built += [html.row(html.code(key), _number(count)) for key, count in counts.items() if key not in known]
    left_out = [
        html.row(html.code(reason), kind, _number(count), left=2)
        for key, kind in (("skipped", "skip"), ("lost", "loss"), ("failed", "failure"))
        for reason, count in _by_count(source["reasons"][key])
    ]
    tables = [
        html.row(html.code(name), _number(of["files"]), _number(of["rows"]), _size(of["bytes"]))
        for name, of in source["tables"].items()
    ]
    remnants = [html.row(name, _decimal(share, 1)) for name, share in source["remnants_per_10000"].items()]
    return html.element(
        "section",
        {"aria-labelledby": "knowledge-source"},
        html.element("h2", {"id": "knowledge-source"}, "Knowledge source"),
        html.element(
            "div",
            {"class": "pair"},
            html.table("What was built", ["What", "Count"], [("", built)]) if built else None,
            html.element(
                "div",
                {},
                html.table("What was left out", ["Reason", "Kind", "Count"], [("", left_out)], left=2)
                if left_out
                else None,
                html.table("Tables written", ["Table", "Files", "Rows", "Size"], [("", tables)]) if tables else None,
                html.table(
                    "Remnants of wikitext, or what looks so", ["What", "Of 10,000 paragraphs"], [("", remnants)]
                ),
            ),
        ),
    )


def _dataset_section(dataset: Manifest) -> html.Element:
    splits = dataset["splits"]
    anchor = _anchor(dataset)
    heads: list[html.Child] = [html.name(split["split"]) for split in splits]
    charts = html.element("div", {"class": "charts"}, *(_chart(split) for split in splits if split["bleu"]["count"]))
    if not len(charts):
        charts = html.element(
            "p", {"class": "quiet"}, "No evidence was looked for by its text, hence there is no BLEU."
        )
    beside, below = (None, charts) if len(charts) > 1 else (charts, None)
    return html.element(
        "section",
        {"aria-labelledby": anchor},
        html.element("h2", {"id": anchor}, html.name(dataset["dataset"])),
        html.element("p", {"class": "quiet"}, html.name(dataset["task"])) if dataset["task"] else None,
        html.element(
            "div",
            {"class": "pair"},
            html.table("Counts by split", ["What", *heads], _counts(splits)),
            html.element("div", {}, _reasons_table(splits, heads), beside),
        ),
        below,
        _quality_table(splits),
        _bins_table(splits),
        *(_nearest(split) for split in splits if split["bleu"]["nearest"]),
    )


def _counts(splits: Sequence[Manifest]) -> list[tuple[str, list[html.Element]]]:
    def row(label: str, *values: str, inner: bool = False) -> html.Element:
        return html.row(label, *values, inner=inner)

    def counts(key: str) -> list[str]:
        return [_number(split[key]) for split in splits]

    def paper(label: str, values: Sequence[str]) -> list[html.Element]:
        return [] if all(value == _NONE for value in values) else [row(label, *values, inner=True)]

    published = [split["published"] for split in splits]
    rows = [
        row("Rows read", *counts("read")),
        row("skipped by a rule", *counts("skipped"), inner=True),
        row("failed", *counts("failed"), inner=True),
        row("used", *counts("used"), inner=True),
    ]
    examples = [
        row("Examples", *counts("examples")),
        row("written", *counts("written"), inner=True),
        row("without the provenance they named", *counts("bare"), inner=True),
        *paper("published size", [_number(one["size"]) for one in published]),
        row("dropped", *counts("dropped"), inner=True),
        row("share dropped", *(_share(split["dropped_percent"]) for split in splits), inner=True),
        *paper("published share", [_share(one["drop_percent"]) for one in published]),
    ]
    bleu = [
        row("Spans scored", *(_number(split["bleu"]["count"]) for split in splits)),
        row("mean BLEU", *(_decimal(split["bleu"]["mean"], 3) for split in splits), inner=True),
        row("exactly 1", *(_share(split["bleu"]["exact_percent"]) for split in splits), inner=True),
        row("below the threshold", *(_share(split["bleu"]["below_threshold_percent"]) for split in splits), inner=True),
    ]
    labels = {
        "spans_per_set": "Spans in an evidence set",
        "sets_per_record": "Evidence sets of a record",
        "pages_per_record": "Pages of a record",
        "answers_per_record": "Answers of a record",
    }
    averages = []
    for name, label in labels.items():
        if any(split["averages"][name] for split in splits):
            averages.append(row(label, *(_decimal(split["averages"][name]) for split in splits)))
            averages += paper("published", [_decimal(one["averages"].get(name)) for one in published])
    if any(split["pages"] for split in splits):
        averages.append(row("Distinct pages", *counts("pages")))
    scored = any(split["bleu"]["count"] for split in splits)
    remarks = sorted({name for split in splits for name in split["remarks"]})
    origins = [
        *_origins(splits, "released", "Released evidence", ("aligned", "checked", "whole-page")),
        *_origins(splits, "borrowed", "Provenance of Natural Questions", ("mapped",)),
        *(html.row(name, *(_number(split["remarks"].get(name, 0)) for split in splits)) for name in remarks),
    ]
    return [("", rows), ("", examples), ("", bleu if scored else []), ("", averages), ("", origins)]


def _origins(splits: Sequence[Manifest], key: str, label: str, summed: Sequence[str]) -> Iterator[html.Element]:
    """Where provenance comes from that was not mapped from original files: a sum, and each count."""
    names = sorted({name for split in splits for name in split[key]})
    if names:
        yield html.row(label, *(_number(sum(split[key].get(name, 0) for name in summed)) for split in splits))
    for name in names:
        yield html.row(name, *(_number(split[key].get(name, 0)) for split in splits), inner=True)


def _reasons_table(splits: Sequence[Manifest], heads: Sequence[html.Child]) -> html.Element:
    rows = []
    for key, kind in (("skipped", "skip"), ("dropped", "loss"), ("failed", "failure"), ("sets", "evidence set")):
        total = _added(split["reasons"][key] for split in splits)
        for reason, _ in _by_count(total):
            counts = (_number(split["reasons"][key].get(reason, 0)) for split in splits)
            rows.append(html.row(html.code(reason), kind, *counts, left=2))
    if not rows:
        return html.element("p", {"class": "quiet"}, "Nothing was left out.")
    return html.table("What was left out, and why", ["Reason", "Kind", *heads], [("", rows)], left=2)


# The chart of one histogram: bars from 0 to 1, the part below the threshold in a colour of its own.

_WIDTH, _HEIGHT = 340.0, 222.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 334.0, 34.0, 190.0


def _chart(split: Manifest) -> html.Element:
    bleu = split["bleu"]
    histogram, threshold = bleu["histogram"], bleu["threshold"]
    published = split["published"]["drop_percent"]
    label = f"{_share(bleu['below_threshold_percent'])} under {threshold:g}"
    if published is not None:
        label += f"; dropped {_share(split['dropped_percent'])}, published {_share(published)}"
    name = str(split["split"])
    top = _ceiling(max(histogram, default=0) / bleu["count"])
    cut = _across(threshold)
    svg = html.element(
        "svg",
        {"viewBox": f"0 0 {_WIDTH:g} {_HEIGHT:g}", "role": "img"},
        html.element("title", {}, f"BLEU of the best spans, {name}: {label}"),
        *_axes(top),
        *_bars(histogram, bleu["count"], top, threshold),
        html.line("cut", cut, _TOP - 12, cut, _BOTTOM),
        html.label("label", cut, _TOP - 20, "middle", label),
    )
    facts = (
        f"{_number(bleu['count'])} spans, mean {_decimal(bleu['mean'], 3)}, {_share(bleu['exact_percent'])} exactly 1"
    )
    caption = html.element("figcaption", {}, "BLEU, ", html.name(name), html.element("span", {}, f" · {facts}"))
    return html.element("figure", {}, caption, svg)


def _across(bleu: float) -> float:
    return _LEFT + bleu * (_RIGHT - _LEFT)


def _ceiling(share: float) -> float:
    """The top of the upward axis: the next step over the highest bar."""
    return next((step for step in (0.05, 0.1, 0.2, 0.4, 0.6, 0.8) if share <= step), 1.0)


def _axes(top: float) -> Iterator[html.Element]:
    for part in (0.0, 0.5, 1.0):
        y = _BOTTOM - part * (_BOTTOM - _TOP)
        yield html.line("grid" if part else "axis", _LEFT, y, _RIGHT, y)
        yield html.label("", _LEFT - 6, y + 4, "end", f"{100 * part * top:g}\N{NO-BREAK SPACE}%")
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        yield html.label("", _across(tick), _BOTTOM + 16, "middle", f"{tick:g}")
    yield html.label("", _across(0.5), _BOTTOM + 30, "middle", "BLEU of the best span")


def _bars(histogram: Sequence[int], count: int, top: float, threshold: float) -> Iterator[html.Element]:
    bins = len(histogram)
    width = (_RIGHT - _LEFT) / max(bins, 1)
    for i, number in enumerate(histogram):
        height = number / count / top * (_BOTTOM - _TOP)
        place = {"x": f"{_across(i / bins) + 0.75:.2f}", "y": f"{_BOTTOM - height:.3f}"}
        shape = place | {"width": f"{width - 1.5:.2f}", "height": f"{height:.3f}"}
        kind = "weak" if (i + 0.5) / bins < threshold else "mapped"
        hint = f"{i / bins:.2f} to {(i + 1) / bins:.2f}: {number:,} ({_share(100 * number / count)})"
        yield html.element("rect", shape | {"class": kind}, html.element("title", {}, hint))


def _quality_table(splits: Sequence[Manifest]) -> html.Element | None:
    """How well each evidence was found: the share of every band, and of what was compared with nothing."""
    found = [split["bleu"] for split in splits]
    wholes = [bleu["count"] + sum(bleu["unfound"].values()) for bleu in found]
    if not any(wholes):
        return None

    def band(label: str, counts: Sequence[int], inner: bool = False) -> html.Element:
        cells = [f"{_number(n)} ({_share(_percent(n, whole))})" for n, whole in zip(counts, wholes, strict=True)]
        return html.row(label, *cells, inner=inner)

    def between(bleu: Manifest, low: float, high: float) -> int:
        bins = len(bleu["histogram"])
        return sum(bleu["histogram"][round(low * bins) : round(high * bins)])

    rows = [
        band("exactly 1", [bleu["exact"] for bleu in found]),
        band("0.9 to 1", [between(bleu, 0.9, 1) - bleu["exact"] for bleu in found]),
        band("0.5 to 0.9", [between(bleu, 0.5, 0.9) for bleu in found]),
        band("under 0.5", [between(bleu, 0, 0.5) for bleu in found]),
    ]
    reasons = sorted({reason for bleu in found for reason in bleu["unfound"]})
    rows += [band(reason, [bleu["unfound"].get(reason, 0) for bleu in found]) for reason in reasons]
    heads = [html.name(split["split"]) for split in splits]
    return html.table("Every evidence by the BLEU of its best span", ["BLEU", *heads], [("", rows)])


def _nearest(split: Manifest) -> html.Element:
    """Evidence and span side by side, around the threshold, so that a person sees what it does."""
    rows = [
        html.element(
            "tr",
            {},
            html.element("th", {"scope": "row"}, _decimal(one["bleu"], 3)),
            html.element("td", {}, html.shown(one["title"])),
            html.element("td", {}, html.shown(one["evidence"])),
            html.element("td", {}, html.shown(one["span"])),
        )
        for one in split["bleu"]["nearest"]
    ]
    caption = f"{split['split']}: the examples nearest the threshold"
    table = html.table(caption, ["BLEU", "Page", "Evidence", "Best span"], [("", rows)], left=4)
    return html.element("details", {}, html.element("summary", {}, caption), table)


def _bins_table(splits: Sequence[Manifest]) -> html.Element | None:
    """The charts' numbers, for who cannot see them."""
    scored = [split for split in splits if split["bleu"]["count"]]
    bins = max((len(split["bleu"]["histogram"]) for split in scored), default=0)
    if not bins:
        return None
    rows = [
        html.row(
            f"{i / bins:.2f} to {(i + 1) / bins:.2f}",
            *(_number(h[i] if i < len(h := split["bleu"]["histogram"]) else 0) for split in scored),
        )
        for i in range(bins)
    ]
    heads = [html.name(split["split"]) for split in scored]
    table = html.table("Spans by BLEU; a bin holds its lower bound, the last one both", ["BLEU", *heads], [("", rows)])
    return html.element("details", {}, html.element("summary", {}, "The charts in numbers"), table)


def _templates_section(templates: Manifest) -> html.Element | None:
    if not templates["top"]:
        return None
    rows = [html.row(html.long(one["name"]), _number(one["count"])) for one in templates["top"]]
    return html.element(
        "section",
        {"aria-labelledby": "templates"},
        html.element("h2", {"id": "templates"}, "Unknown templates"),
        html.element(
            "p",
            {"class": "quiet"},
            f"Templates that left no text because the parser does not know them: {_number(templates['names'])} names, "
            f"used {_number(templates['uses'])} times.",
        ),
        html.table(f"The most used {len(rows)}", ["Template", "Uses"], [("", rows)]),
    )


def _inputs_section(report: Manifest) -> html.Element | None:
    source = report["knowledge_source"]
    files = [("knowledge source", one) for one in (source or {}).get("inputs", [])]
    files += [
        (f"{dataset['dataset']} {split['split']}", one)
        for dataset in report["datasets"]
        for split in dataset["splits"]
        for one in (*split["inputs"], *split["evidence"])
    ]
    if not files:
        return None
    rows = [
        html.row(
            html.long(one.get("name")),
            html.name(use),
            html.long(one.get("sha1") or _NONE),
            _size(one.get("size") or 0),
            left=3,
        )
        for use, one in files
    ]
    signatures = sorted(
        {
            str(s["parameters"]["signature"])
            for d in report["datasets"]
            for s in d["splits"]
            if s["parameters"].get("signature")
        }
    )
    return html.element(
        "section",
        {"aria-labelledby": "inputs"},
        html.element("h2", {"id": "inputs"}, "Made from"),
        html.table("Files read", ["File", "For", "SHA-1", "Size"], [("", rows)], left=3),
        *(html.element("p", {"class": "quiet"}, "Score: ", html.code(signature)) for signature in signatures),
    )
