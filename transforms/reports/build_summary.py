"""What a build made, from its manifests: the content of ``report.json`` and the table of a terminal."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, TypeAlias

from kiltetl.schemas.reasons import FAILURES, LOSSES, REMNANTS, SKIPS
from kiltetl.schemas.splits import split_order
from kiltetl.transforms.reports.readable import by_count, number

Manifest: TypeAlias = Mapping[str, Any]

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
    return str(task.get("dataset")), *split_order(str(task.get("split"))), rest


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
        "anchors_resolved_percent": percent(counters.get("anchors_resolved"), counters.get("anchors")),
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
    counters = added(task.get("counters") for task in tasks)
    skipped = added(task.get("skipped") for task in tasks)
    rejected = added(task.get("rejected") for task in tasks)
    dropped = {reason: count for reason, count in rejected.items() if reason in LOSSES}
    failed = {reason: count for reason, count in rejected.items() if reason not in LOSSES}
    return {key: counters[key] for key in _SUMS} | {
        "skipped": sum(skipped.values()),
        "failed": sum(failed.values()),
        "dropped": sum(dropped.values()),
        "dropped_percent": percent(sum(dropped.values()), counters["examples"]),
        "reasons": {
            "skipped": skipped + added(task.get("skipped_merging") for task in tasks),
            "dropped": dropped,
            "failed": failed,
            "sets": {reason: n for reason, n in added(t.get("sets") for t in tasks).items() if reason != "mapped"},
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
        "exact_percent": percent(exact, count),
        "below_threshold": below,
        "below_threshold_percent": percent(below, count),
        "threshold": next(filter(None, ((task.get("parameters") or {}).get("threshold") for task in tasks)), THRESHOLD),
        "histogram": [sum(h[i] for h in histograms if i < len(h)) for i in range(bins)],
        "unfound": added(score.get("unfound") for score in scores),
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


def added(counts: Iterable[Mapping[str, int] | None]) -> Counter[str]:
    """The sum, without what occurred nowhere."""
    total = Counter[str]()
    for one in counts:
        total.update(one or {})
    return +total


def _ratio(above: float | None, below: float | None, digits: int = 4) -> float | None:
    return round(above / below, digits) if above is not None and below else None


def percent(part: float | None, whole: float | None) -> float | None:
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


def terminal_rows(report: Manifest) -> list[list[str]]:
    """A heading and a row for each dataset and split; long lists of reasons go on in rows of their own.

    "bare" counts the examples written without the provenance they named (train), "mapped" the other ones.
    """
    rows = [_TERMINAL]
    for dataset in report["datasets"]:
        for split in dataset["splits"]:
            counts = dict(split) | {"mapped": split["written"] - split["bare"]}
            numbers = [number(counts[key]) for key in _TERMINAL[2:9]]
            kinds = ("dropped", "skipped", "failed") if split["dropped"] else ("sets", "skipped", "failed")
            counted = [(r, n) for key in kinds for r, n in by_count(split["reasons"][key])]
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
