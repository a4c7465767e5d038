"""What is written of an evaluation: the content of ``metrics.json`` and the tables of a terminal."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from kiltetl.schemas import VERSION
from kiltetl.transforms.metrics import bootstrap, kilt, mkqa

Summary: TypeAlias = Mapping[str, Any]

_NONE: Final = "-"
_NAMED_EXTRA: Final = 20


def _frame(kind: str, strict: bool, signature: str, number: int, seed: int) -> dict[str, Any]:
    frame: dict[str, Any] = {
        "benchmark": kind,
        "mode": "strict" if strict else "official",
        "signature": signature + (f"|bootstrap:{number},seed:{seed}" if number else ""),
        "version": VERSION,
    }
    if number:
        frame["bootstrap"] = {"samples": number, "seed": seed, "confidence": bootstrap.CONFIDENCE}
    return frame


def _round(pair: tuple[float, float] | None, digits: int) -> list[float] | None:
    return None if pair is None else [round(value, digits) for value in pair]


def _difference(
    observed: float | None, other: float | None, values: bootstrap.Floats | None, digits: int
) -> dict[str, float | None] | None:
    """One system against another: the other's figure, the difference and, with samples, how sure it is."""
    if observed is None or other is None:
        return None
    found: dict[str, float | None] = {"other": other, "difference": round(observed - other, 12)}
    if values is not None:
        said = bootstrap.difference(observed - other, values)
        if said is not None:
            rounded = {name: round(value, digits) for name, value in dataclasses.asdict(said).items()}
            found |= {"low": rounded["low"], "high": rounded["high"], "p_value": round(said.p_value, 6)}
    return found


# --------------------------------------------------------------------------------------------
# KILT


def summarize_kilt(
    evaluations: Mapping[str, kilt.Evaluation],
    others: Mapping[str, kilt.Evaluation] | None = None,
    number: int = 0,
    seed: int = bootstrap.SEED,
) -> dict[str, Any]:
    """The content of ``metrics.json``, by dataset; figures from 0 to 1.

    Args:
        evaluations, others: a system and another to compare it with, by dataset.
        number, seed: samples of the bootstrap, none at 0.
    """
    protocol = next(iter(evaluations.values())).protocol
    datasets = {}
    for name, of in evaluations.items():
        other = (others or {}).get(name)
        entry: dict[str, Any] = {
            "examples": len(of.rows),
            "leading_metric": kilt.LEADING_METRIC.get(name),
            "metrics": of.metrics,
            "notes": dict(of.notes),
            "extra_ids": list(of.extra[:_NAMED_EXTRA]),
        }
        drawn = drawn_other = None
        if number and of.rows:
            drawn = bootstrap.samples(kilt.statistic(of), len(of.rows), number, seed)
            entry["intervals"] = {
                figure: _round(bootstrap.interval(drawn[:, i]), 6) for i, figure in enumerate(protocol.names)
            }
            if other is not None:
                drawn_other = bootstrap.samples(kilt.statistic(other), len(of.rows), number, seed)
        if other is not None:
            entry["comparison"] = {
                figure: _difference(
                    of.metrics[figure],
                    other.metrics[figure],
                    None if drawn is None or drawn_other is None else drawn[:, i] - drawn_other[:, i],
                    6,
                )
                for i, figure in enumerate(protocol.names)
            }
        datasets[name] = entry
    return _frame("kilt", protocol.strict, protocol.signature, number, seed) | {"datasets": datasets}


def kilt_leaderboard(summary: Summary) -> list[list[str]]:
    """One row a dataset, each by its own metric, in percent, as KILT's leaderboard."""
    rows = [["dataset", "records", "metric", "score", "R-precision", "recall@5", "KILT score"]]
    for name, of in summary["datasets"].items():
        leading, metrics = of["leading_metric"], of["metrics"]
        rows.append(
            [
                name,
                f"{of['examples']:,}",
                leading or _NONE,
                _percent(metrics.get(leading)),
                _percent(metrics["Rprec"]),
                _percent(metrics.get("recall@5")),
                _percent(metrics.get(f"KILT-{leading}")),
            ]
        )
    return rows


def kilt_rows(of: Summary) -> list[list[str]]:
    """Every figure of one dataset in percent, with its interval and the comparison, if there are."""
    rows = [["figure", "%"]]
    intervals, comparison = of.get("intervals"), of.get("comparison")
    sure = comparison is not None and any(one and "p_value" in one for one in comparison.values())
    rows[0] += ["95 % interval"] if intervals else []
    rows[0] += ["other", "difference"] if comparison else []
    rows[0] += ["95 % interval", "p"] if sure else []
    for figure, value in of["metrics"].items():
        row = [figure, _percent(value)]
        if intervals:
            row.append(_interval(intervals[figure], 100))
        if comparison:
            row += _compared(comparison[figure], 100, sure)
        rows.append(row)
    return rows


def kilt_sureness(summary: Summary) -> list[list[str]]:
    """Each dataset's own figures with their intervals and the comparison; [] if there are none."""
    lines = [
        (dataset, figure, of)
        for dataset, of in summary["datasets"].items()
        for figure in (of["leading_metric"], "Rprec", f"KILT-{of['leading_metric']}")
        if figure in of["metrics"]
    ]
    shown = [
        (dataset, figure, of["metrics"][figure], of.get("intervals", {}), of.get("comparison"))
        for dataset, figure, of in lines
    ]
    return _sureness("dataset", shown, 100)


# --------------------------------------------------------------------------------------------
# MKQA


def summarize_mkqa(
    evaluation: mkqa.Evaluation,
    other: mkqa.Evaluation | None = None,
    number: int = 0,
    seed: int = bootstrap.SEED,
    verbose: bool = True,
) -> dict[str, Any]:
    """The content of ``metrics.json``, by language; figures in percent, None over nothing.

    Args:
        evaluation, other: a system and another to compare it with.
        number, seed: samples of the bootstrap, none at 0.
        verbose: with the figures that no threshold enters.
    """
    shown = (*mkqa.BEST, *mkqa.PLAIN) if verbose else mkqa.BEST
    sampled = [name for name in mkqa.BEST if name != "best_f1_threshold"]
    languages: dict[str, Any] = {}
    drawn: dict[str, bootstrap.Floats] = {}
    drawn_other: dict[str, bootstrap.Floats] = {}
    for language, of in evaluation.languages.items():
        entry: dict[str, Any] = {
            "examples": len(of.ids),
            "metrics": {name: evaluation.metrics[language][name] for name in shown},
        }
        if number and of.ids:
            drawn[language] = bootstrap.samples(of.sample_figures, len(of.ids), number, seed)
            entry["intervals"] = _intervals(drawn[language], sampled)
        if other is not None and language in other.languages:
            if number and of.ids:
                there = other.languages[language]
                drawn_other[language] = bootstrap.samples(there.sample_figures, len(there.ids), number, seed)
            entry["comparison"] = _comparison(
                evaluation.metrics[language], other.metrics[language],
                drawn.get(language), drawn_other.get(language), sampled,
            )  # fmt: skip
        languages[language] = entry
    macro: dict[str, Any] = {
        "languages": len(languages),
        "of": len(mkqa.LANGUAGES),
        "missing": list(evaluation.missing),
        "metrics": {name: evaluation.macro_average[name] for name in shown},
    }
    if drawn:
        macro["intervals"] = _intervals(_average(drawn), sampled)
    if other is not None and set(other.languages) == set(languages):
        macro["comparison"] = _comparison(
            evaluation.macro_average, other.macro_average,
            _average(drawn) if drawn else None, _average(drawn_other) if drawn_other else None, sampled,
        )  # fmt: skip
    return _frame("mkqa", evaluation.strict, evaluation.signature, number, seed) | {
        "languages": languages,
        "macro_average": macro,
        "notes": dict(evaluation.notes),
        "extra_ids": list(evaluation.extra[:_NAMED_EXTRA]),
    }


def _average(drawn: Mapping[str, bootstrap.Floats]) -> bootstrap.Floats:
    """The macro average in each sample, over the languages that have the figure there."""
    values = np.array(list(drawn.values()))
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    sums = np.where(known, values, 0.0).sum(axis=0)
    averages: bootstrap.Floats = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return averages


def _intervals(drawn: bootstrap.Floats, names: Sequence[str]) -> dict[str, Any]:
    return {name: _round(bootstrap.interval(drawn[:, i]), 4) for i, name in enumerate(names)}


def _comparison(
    ours: Mapping[str, float | None],
    theirs: Mapping[str, float | None],
    drawn: bootstrap.Floats | None,
    drawn_other: bootstrap.Floats | None,
    names: Sequence[str],
) -> dict[str, Any]:
    sure = drawn is not None and drawn_other is not None and drawn.shape == drawn_other.shape
    return {
        name: _difference(
            ours[name],
            theirs[name],
            drawn[:, i] - drawn_other[:, i] if sure and drawn is not None and drawn_other is not None else None,
            4,
        )
        for i, name in enumerate(names)
    }


def mkqa_rows(summary: Summary) -> list[list[str]]:
    """One row a language and one for the macro average, in percent."""
    macro = summary["macro_average"]
    names = list(macro["metrics"])
    whole = f"macro average ({macro['languages']} of {macro['of']})"
    rows = [["language", "records", *names]]
    lines = [(name, f"{of['examples']:,}", of) for name, of in summary["languages"].items()]
    for label, count, of in [*lines, (whole, "", macro)]:
        rows.append([label, count, *(_plain(of["metrics"][name]) for name in names)])
    return _aligned(rows)


def mkqa_sureness(summary: Summary) -> list[list[str]]:
    """best_f1 and best_em with their intervals and the comparison; [] if there are none."""
    macro = summary["macro_average"]
    lines = [*summary["languages"].items(), (f"macro average ({macro['languages']} of {macro['of']})", macro)]
    shown = [
        (label, figure, of["metrics"][figure], of.get("intervals", {}), of.get("comparison"))
        for label, of in lines
        for figure in ("best_em", "best_f1")
    ]
    return _sureness("language", shown, 1)


# --------------------------------------------------------------------------------------------
# Cells


def _sureness(
    head: str,
    lines: Sequence[tuple[str, str, float | None, Mapping[str, Any], Mapping[str, Any] | None]],
    scale: float,
) -> list[list[str]]:
    """(name, figure, value, intervals, comparison) as a table; [] where there is nothing to say."""
    intervals = any(line[3] for line in lines)
    compared = any(line[4] for line in lines)
    if not intervals and not compared:
        return []
    sure = intervals and compared
    rows = [[head, "figure", "%"]]
    rows[0] += ["95 % interval"] if intervals else []
    rows[0] += ["other", "difference"] if compared else []
    rows[0] += ["95 % interval", "p"] if sure else []
    for name, figure, value, pairs, comparison in lines:
        row = [name, figure, _NONE if value is None else f"{scale * value:.2f}"]
        if intervals:
            row.append(_interval(pairs.get(figure), scale))
        if compared:
            row += _compared((comparison or {}).get(figure), scale, sure)
        rows.append(row)
    return _aligned(rows)


def _percent(value: float | None) -> str:
    return _NONE if value is None else f"{100 * value:.2f}"


def _plain(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}"


def _interval(pair: Sequence[float] | None, scale: float) -> str:
    return _NONE if pair is None else f"{scale * pair[0]:.2f} to {scale * pair[1]:.2f}"


def _compared(one: Mapping[str, float] | None, scale: float, sure: bool) -> list[str]:
    if one is None:
        return [_NONE] * (4 if sure else 2)
    cells = [f"{scale * one['other']:.2f}", f"{scale * one['difference']:+.2f}"]
    if sure:
        known = "p_value" in one
        cells += [_interval((one["low"], one["high"]), scale), f"{one['p_value']:.4f}"] if known else [_NONE] * 2
    return cells


def _aligned(rows: list[list[str]]) -> list[list[str]]:
    """Cells after the first column filled up from the left, so that signs do not push numbers about."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [[row[0], *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))] for row in rows]


def warnings(notes: Mapping[str, int], extra: Sequence[str]) -> list[str]:
    """What a reader should know of, a line each; ids that were left out are named."""
    lines = []
    for note, count in notes.items():
        named = f": {', '.join(map(repr, extra[:5]))}{', …' if count > 5 else ''}" if note.endswith("left out") else ""
        lines.append(f"{count:,} {note}{named}")
    return lines
