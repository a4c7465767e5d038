"""KILT's scores for a reader: the leaderboard, every figure of a dataset, and what its scores depend on."""

from collections.abc import Iterator, Sequence
from typing import Final

from kiltetl.transforms.metrics.kilt_scorer import Evaluations, by_answer_length, by_evidence_size
from kiltetl.transforms.reports.charts import Picture
from kiltetl.transforms.reports.scores_display import Display, Section, Table
from kiltetl.transforms.reports.scores_table import (
    NONE,
    Rows,
    Summary,
    compared_cells,
    interval,
    percent,
    sureness,
    warnings,
)

_CLASSES: Final = {
    "answer_length": ("words of the shortest gold answer", by_answer_length),
    "evidence_size": ("pages of the smallest evidence set", by_evidence_size),
}


def _pictures(evaluations: Evaluations, summary: Summary) -> list[Picture]:
    """For each dataset its own figure and R-precision, by the answer's length and by the evidence set's size."""
    found = []
    for dataset, of in evaluations.items():
        leading = summary["datasets"][dataset]["leading_metric"] or "f1"
        for what, (label, classes) in _CLASSES.items():
            ours, precision = list(classes(of, leading)), list(classes(of, "Rprec"))
            if ours:
                found.append(
                    Picture(
                        of=dataset,
                        what=what,
                        kind="bars",
                        title=f"{dataset}: score by {label}",
                        x_label=label,
                        labels=tuple(f"{name} ({count:,})" for name, count, _ in ours),
                        values={
                            leading: [100 * mean for _, _, mean in ours],
                            "R-precision": [100 * mean for _, _, mean in precision],
                        },
                    )
                )
    return found


def _tables(summary: Summary) -> list[Rows]:
    datasets = list(summary["datasets"].values())
    if len(datasets) > 1:
        tables = [_leaderboard(summary), _sureness(summary)]
    else:
        tables = [_figures(datasets[0]), _leaderboard(summary) if datasets[0]["leading_metric"] else []]
    return [rows for rows in tables if rows]


def _warnings(summary: Summary) -> list[str]:
    return [
        f"{name}: {line}" for name, of in summary["datasets"].items() for line in warnings(of["notes"], of["extra_ids"])
    ]


def _sections(summary: Summary, pictures: Sequence[Picture]) -> Iterator[Section]:
    tables = [
        Table("Each dataset by its own metric", _leaderboard(summary)),
        Table("How sure it is", _sureness(summary), left=2),
    ]
    yield Section("Leaderboard", tables=tables, says_how_sure=True)
    for dataset, of in summary["datasets"].items():
        yield Section(
            dataset,
            warnings(of["notes"], of["extra_ids"]),
            [Table("Every figure", _figures(of))],
            pictures=[picture for picture in pictures if picture.of == dataset],
        )


def _leaderboard(summary: Summary) -> Rows:
    """One row a dataset, each by its own metric, in percent, as KILT's leaderboard."""
    rows = [["dataset", "records", "metric", "score", "R-precision", "recall@5", "KILT score"]]
    for name, of in summary["datasets"].items():
        leading, metrics = of["leading_metric"], of["metrics"]
        rows.append(
            [
                name,
                f"{of['examples']:,}",
                leading or NONE,
                percent(metrics.get(leading)),
                percent(metrics["Rprec"]),
                percent(metrics.get("recall@5")),
                percent(metrics.get(f"KILT-{leading}")),
            ]
        )
    return rows


def _figures(of: Summary) -> Rows:
    """Every figure of one dataset in percent, with its interval and the comparison, if there are."""
    rows = [["figure", "%"]]
    intervals, comparison = of.get("intervals"), of.get("comparison")
    sure = comparison is not None and any(one and "p_value" in one for one in comparison.values())
    rows[0] += ["95 % interval"] if intervals else []
    rows[0] += ["other", "difference"] if comparison else []
    rows[0] += ["95 % interval", "p"] if sure else []
    for figure, value in of["metrics"].items():
        row = [figure, percent(value)]
        if intervals:
            row.append(interval(intervals[figure], 100))
        if comparison:
            row += compared_cells(comparison[figure], 100, sure)
        rows.append(row)
    return rows


def _sureness(summary: Summary) -> Rows:
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
    return sureness("dataset", shown, 100)


KILT: Final = Display("KILT evaluation", tuple(_CLASSES), _pictures, _tables, _warnings, _sections)
