"""``report.html`` of a build: one page that loads nothing, built of elements."""

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from kiltetl.schemas.splits import split_order
from kiltetl.transforms.reports import markup
from kiltetl.transforms.reports.build_summary import Manifest, added, percent
from kiltetl.transforms.reports.readable import NONE, by_count, decimal, number, share, size

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
    body = markup.element(
        "body",
        {},
        _header(title, source, report),
        markup.element(
            "main",
            {},
            *(markup.element("p", {"class": "note", "role": "note"}, note) for note in report["notes"]),
            _overview(report),
            None if source is None else _source_section(source),
            *(_dataset_section(dataset) for dataset in report["datasets"]),
            None if source is None else _templates_section(source["unknown_templates"]),
            _inputs_section(report),
        ),
    )
    return markup.document(title, body)


def _header(title: str, source: Manifest | None, report: Manifest) -> markup.Element:
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
        markup.element("div", {}, markup.element("dt", {}, label), markup.element("dd", {}, markup.name(value)))
        for label, value in facts
        if value
    ]
    return markup.element(
        "header",
        {},
        markup.element("h1", {}, markup.name(title)),
        markup.element("p", {"class": "quiet"}, lead),
        markup.element("dl", {}, *pairs) if pairs else None,
    )


def _overview(report: Manifest) -> markup.Element:
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
        markup.row(
            markup.element("a", {"href": f"#{_anchor(dataset)}"}, markup.name(dataset["dataset"])),
            markup.name(split["split"]),
            *(number(split[key]) for key in ("read", "examples", "written", "dropped")),
            share(split["dropped_percent"]),
            share(split["published"]["drop_percent"]),
            decimal(split["bleu"]["mean"], 3),
            left=2,
        )
        for dataset in report["datasets"]
        for split in dataset["splits"]
    ]
    totals = report["totals"]
    sums = markup.row(
        "Total",
        "",
        *(number(totals[key]) for key in ("read", "examples", "written", "dropped")),
        share(totals["dropped_percent"]),
        "",
        decimal(totals["bleu"]["mean"], 3),
        left=2,
    )
    means = [
        f"{split}: {share(of['mean_dropped_percent'])}, published {share(of['mean_published_drop_percent'])}"
        for split, of in sorted(totals["splits"].items(), key=lambda item: split_order(item[0]))
        if of["mean_dropped_percent"] is not None
    ]
    return markup.element(
        "section",
        {"aria-labelledby": "overview"},
        markup.element("h2", {"id": "overview"}, "Overview"),
        markup.table("Examples by dataset and split", heads, [("", rows), ("sum", [sums])], left=2)
        if rows
        else markup.element("p", {"class": "quiet"}, "No dataset was mapped."),
        markup.element("p", {}, f"Mean share dropped of the datasets with a published one: {'; '.join(means)}.")
        if means
        else None,
        markup.element("h3", {}, "How to read it"),
        markup.element("p", {}, _HOW_TO_READ),
    )


def _anchor(dataset: Manifest) -> str:
    return "dataset-" + quote(markup.shown(str(dataset["dataset"])), safe="")


def _source_section(source: Manifest) -> markup.Element:
    counts = source["counts"]
    known = [key for key, _, _ in _BUILT]
    built = []
    for key, label, inner in _BUILT:
        if key not in counts:
            continue
        note = f"{label} ({share(source['anchors_resolved_percent'])})" if key == "anchors_resolved" else label
        built.append(markup.row(note, number(counts[key]), inner=inner))
        if key == "paragraphs":
            kinds = source["kinds"]
            built += [
                markup.row(_KIND_NAMES.get(kind, kind), number(kinds[kind]), inner=True)
                for kind in sorted(kinds, key=lambda kind: ([*_KIND_NAMES, kind].index(kind), kind))
            ]
    built += [markup.row(markup.code(key), number(count)) for key, count in counts.items() if key not in known]
    left_out = [
        markup.row(markup.code(reason), kind, number(count), left=2)
        for key, kind in (("skipped", "skip"), ("lost", "loss"), ("failed", "failure"))
        for reason, count in by_count(source["reasons"][key])
    ]
    tables = [
        markup.row(markup.code(name), number(of["files"]), number(of["rows"]), size(of["bytes"]))
        for name, of in source["tables"].items()
    ]
    remnants = [markup.row(name, decimal(share, 1)) for name, share in source["remnants_per_10000"].items()]
    return markup.element(
        "section",
        {"aria-labelledby": "knowledge-source"},
        markup.element("h2", {"id": "knowledge-source"}, "Knowledge source"),
        markup.element(
            "div",
            {"class": "pair"},
            markup.table("What was built", ["What", "Count"], [("", built)]) if built else None,
            markup.element(
                "div",
                {},
                markup.table("What was left out", ["Reason", "Kind", "Count"], [("", left_out)], left=2)
                if left_out
                else None,
                markup.table("Tables written", ["Table", "Files", "Rows", "Size"], [("", tables)]) if tables else None,
                markup.table(
                    "Remnants of wikitext, or what looks so", ["What", "Of 10,000 paragraphs"], [("", remnants)]
                ),
            ),
        ),
    )


def _dataset_section(dataset: Manifest) -> markup.Element:
    splits = dataset["splits"]
    anchor = _anchor(dataset)
    heads: list[markup.Child] = [markup.name(split["split"]) for split in splits]
    charts = markup.element("div", {"class": "charts"}, *(_chart(split) for split in splits if split["bleu"]["count"]))
    if not len(charts):
        charts = markup.element(
            "p", {"class": "quiet"}, "No evidence was looked for by its text, hence there is no BLEU."
        )
    beside, below = (None, charts) if len(charts) > 1 else (charts, None)
    return markup.element(
        "section",
        {"aria-labelledby": anchor},
        markup.element("h2", {"id": anchor}, markup.name(dataset["dataset"])),
        markup.element("p", {"class": "quiet"}, markup.name(dataset["task"])) if dataset["task"] else None,
        markup.element(
            "div",
            {"class": "pair"},
            markup.table("Counts by split", ["What", *heads], _counts(splits)),
            markup.element("div", {}, _reasons_table(splits, heads), beside),
        ),
        below,
        _quality_table(splits),
        _bins_table(splits),
        *(_nearest(split) for split in splits if split["bleu"]["nearest"]),
    )


def _counts(splits: Sequence[Manifest]) -> list[tuple[str, list[markup.Element]]]:
    def row(label: str, *values: str, inner: bool = False) -> markup.Element:
        return markup.row(label, *values, inner=inner)

    def counts(key: str) -> list[str]:
        return [number(split[key]) for split in splits]

    def paper(label: str, values: Sequence[str]) -> list[markup.Element]:
        return [] if all(value == NONE for value in values) else [row(label, *values, inner=True)]

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
        *paper("published size", [number(one["size"]) for one in published]),
        row("dropped", *counts("dropped"), inner=True),
        row("share dropped", *(share(split["dropped_percent"]) for split in splits), inner=True),
        *paper("published share", [share(one["drop_percent"]) for one in published]),
    ]
    bleu = [
        row("Spans scored", *(number(split["bleu"]["count"]) for split in splits)),
        row("mean BLEU", *(decimal(split["bleu"]["mean"], 3) for split in splits), inner=True),
        row("exactly 1", *(share(split["bleu"]["exact_percent"]) for split in splits), inner=True),
        row("below the threshold", *(share(split["bleu"]["below_threshold_percent"]) for split in splits), inner=True),
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
            averages.append(row(label, *(decimal(split["averages"][name]) for split in splits)))
            averages += paper("published", [decimal(one["averages"].get(name)) for one in published])
    if any(split["pages"] for split in splits):
        averages.append(row("Distinct pages", *counts("pages")))
    scored = any(split["bleu"]["count"] for split in splits)
    remarks = sorted({name for split in splits for name in split["remarks"]})
    origins = [
        *_origins(splits, "released", "Released evidence", ("aligned", "checked", "whole-page")),
        *_origins(splits, "borrowed", "Provenance of Natural Questions", ("mapped",)),
        *(markup.row(name, *(number(split["remarks"].get(name, 0)) for split in splits)) for name in remarks),
    ]
    return [("", rows), ("", examples), ("", bleu if scored else []), ("", averages), ("", origins)]


def _origins(splits: Sequence[Manifest], key: str, label: str, summed: Sequence[str]) -> Iterator[markup.Element]:
    """Where provenance comes from that was not mapped from original files: a sum, and each count."""
    names = sorted({name for split in splits for name in split[key]})
    if names:
        yield markup.row(label, *(number(sum(split[key].get(name, 0) for name in summed)) for split in splits))
    for name in names:
        yield markup.row(name, *(number(split[key].get(name, 0)) for split in splits), inner=True)


def _reasons_table(splits: Sequence[Manifest], heads: Sequence[markup.Child]) -> markup.Element:
    rows = []
    for key, kind in (("skipped", "skip"), ("dropped", "loss"), ("failed", "failure"), ("sets", "evidence set")):
        total = added(split["reasons"][key] for split in splits)
        for reason, _ in by_count(total):
            counts = (number(split["reasons"][key].get(reason, 0)) for split in splits)
            rows.append(markup.row(markup.code(reason), kind, *counts, left=2))
    if not rows:
        return markup.element("p", {"class": "quiet"}, "Nothing was left out.")
    return markup.table("What was left out, and why", ["Reason", "Kind", *heads], [("", rows)], left=2)


# The chart of one histogram: bars from 0 to 1, the part below the threshold in a colour of its own.

_WIDTH, _HEIGHT = 340.0, 222.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 334.0, 34.0, 190.0


def _chart(split: Manifest) -> markup.Element:
    bleu = split["bleu"]
    histogram, threshold = bleu["histogram"], bleu["threshold"]
    published = split["published"]["drop_percent"]
    label = f"{share(bleu['below_threshold_percent'])} under {threshold:g}"
    if published is not None:
        label += f"; dropped {share(split['dropped_percent'])}, published {share(published)}"
    name = str(split["split"])
    top = _ceiling(max(histogram, default=0) / bleu["count"])
    cut = _across(threshold)
    svg = markup.element(
        "svg",
        {"viewBox": f"0 0 {_WIDTH:g} {_HEIGHT:g}", "role": "img"},
        markup.element("title", {}, f"BLEU of the best spans, {name}: {label}"),
        *_axes(top),
        *_bars(histogram, bleu["count"], top, threshold),
        markup.line("cut", cut, _TOP - 12, cut, _BOTTOM),
        markup.label("label", cut, _TOP - 20, "middle", label),
    )
    facts = f"{number(bleu['count'])} spans, mean {decimal(bleu['mean'], 3)}, {share(bleu['exact_percent'])} exactly 1"
    caption = markup.element("figcaption", {}, "BLEU, ", markup.name(name), markup.element("span", {}, f" · {facts}"))
    return markup.element("figure", {}, caption, svg)


def _across(bleu: float) -> float:
    return _LEFT + bleu * (_RIGHT - _LEFT)


def _ceiling(share: float) -> float:
    """The top of the upward axis: the next step over the highest bar."""
    return next((step for step in (0.05, 0.1, 0.2, 0.4, 0.6, 0.8) if share <= step), 1.0)


def _axes(top: float) -> Iterator[markup.Element]:
    for part in (0.0, 0.5, 1.0):
        y = _BOTTOM - part * (_BOTTOM - _TOP)
        yield markup.line("grid" if part else "axis", _LEFT, y, _RIGHT, y)
        yield markup.label("", _LEFT - 6, y + 4, "end", f"{100 * part * top:g}\N{NO-BREAK SPACE}%")
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        yield markup.label("", _across(tick), _BOTTOM + 16, "middle", f"{tick:g}")
    yield markup.label("", _across(0.5), _BOTTOM + 30, "middle", "BLEU of the best span")


def _bars(histogram: Sequence[int], count: int, top: float, threshold: float) -> Iterator[markup.Element]:
    bins = len(histogram)
    width = (_RIGHT - _LEFT) / max(bins, 1)
    for i, spans in enumerate(histogram):
        height = spans / count / top * (_BOTTOM - _TOP)
        place = {"x": f"{_across(i / bins) + 0.75:.2f}", "y": f"{_BOTTOM - height:.3f}"}
        shape = place | {"width": f"{width - 1.5:.2f}", "height": f"{height:.3f}"}
        kind = "weak" if (i + 0.5) / bins < threshold else "mapped"
        hint = f"{i / bins:.2f} to {(i + 1) / bins:.2f}: {spans:,} ({share(100 * spans / count)})"
        yield markup.element("rect", shape | {"class": kind}, markup.element("title", {}, hint))


def _quality_table(splits: Sequence[Manifest]) -> markup.Element | None:
    """How well each evidence was found: the share of every band, and of what was compared with nothing."""
    found = [split["bleu"] for split in splits]
    wholes = [bleu["count"] + sum(bleu["unfound"].values()) for bleu in found]
    if not any(wholes):
        return None

    def band(label: str, counts: Sequence[int], inner: bool = False) -> markup.Element:
        cells = [f"{number(n)} ({share(percent(n, whole))})" for n, whole in zip(counts, wholes, strict=True)]
        return markup.row(label, *cells, inner=inner)

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
    heads = [markup.name(split["split"]) for split in splits]
    return markup.table("Every evidence by the BLEU of its best span", ["BLEU", *heads], [("", rows)])


def _nearest(split: Manifest) -> markup.Element:
    """Evidence and span side by side, around the threshold, so that a person sees what it does."""
    rows = [
        markup.element(
            "tr",
            {},
            markup.element("th", {"scope": "row"}, decimal(one["bleu"], 3)),
            markup.element("td", {}, markup.shown(one["title"])),
            markup.element("td", {}, markup.shown(one["evidence"])),
            markup.element("td", {}, markup.shown(one["span"])),
        )
        for one in split["bleu"]["nearest"]
    ]
    caption = f"{split['split']}: the examples nearest the threshold"
    table = markup.table(caption, ["BLEU", "Page", "Evidence", "Best span"], [("", rows)], left=4)
    return markup.element("details", {}, markup.element("summary", {}, caption), table)


def _bins_table(splits: Sequence[Manifest]) -> markup.Element | None:
    """The charts' numbers, for who cannot see them."""
    scored = [split for split in splits if split["bleu"]["count"]]
    bins = max((len(split["bleu"]["histogram"]) for split in scored), default=0)
    if not bins:
        return None
    rows = [
        markup.row(
            f"{i / bins:.2f} to {(i + 1) / bins:.2f}",
            *(number(h[i] if i < len(h := split["bleu"]["histogram"]) else 0) for split in scored),
        )
        for i in range(bins)
    ]
    heads = [markup.name(split["split"]) for split in scored]
    table = markup.table(
        "Spans by BLEU; a bin holds its lower bound, the last one both", ["BLEU", *heads], [("", rows)]
    )
    return markup.element("details", {}, markup.element("summary", {}, "The charts in numbers"), table)


def _templates_section(templates: Manifest) -> markup.Element | None:
    if not templates["top"]:
        return None
    rows = [markup.row(markup.long(one["name"]), number(one["count"])) for one in templates["top"]]
    return markup.element(
        "section",
        {"aria-labelledby": "templates"},
        markup.element("h2", {"id": "templates"}, "Unknown templates"),
        markup.element(
            "p",
            {"class": "quiet"},
            f"Templates that left no text because the parser does not know them: {number(templates['names'])} names, "
            f"used {number(templates['uses'])} times.",
        ),
        markup.table(f"The most used {len(rows)}", ["Template", "Uses"], [("", rows)]),
    )


def _inputs_section(report: Manifest) -> markup.Element | None:
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
        markup.row(
            markup.long(one.get("name")),
            markup.name(use),
            markup.long(one.get("sha1") or NONE),
            size(one.get("size") or 0),
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
    return markup.element(
        "section",
        {"aria-labelledby": "inputs"},
        markup.element("h2", {"id": "inputs"}, "Made from"),
        markup.table("Files read", ["File", "For", "SHA-1", "Size"], [("", rows)], left=3),
        *(markup.element("p", {"class": "quiet"}, "Score: ", markup.code(signature)) for signature in signatures),
    )
