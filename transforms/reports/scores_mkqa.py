"""MKQA's scores for a reader: a row a language and one for their mean, and how they depend on the threshold."""

from collections.abc import Iterator, Sequence
from typing import Final

from kiltetl.transforms.metrics.mkqa_scorer import Evaluation
from kiltetl.transforms.reports.charts import Picture
from kiltetl.transforms.reports.scores_display import Display, Section, Table
from kiltetl.transforms.reports.scores_table import Rows, Summary, aligned, plain, sureness, warnings

_CURVE: Final = "f1_by_threshold"
_COUNTS: Final = "no_answer_prob"


def _pictures(evaluation: Evaluation, summary: Summary) -> list[Picture]:
    """For each language the F1 over thresholds, and the histograms of ``no_answer_prob``."""
    found = []
    for language, of in evaluation.languages.items():
        if not of.ids:
            continue
        curve, bins = of.curve(), of.histogram()
        values = {name: curve[name] for name in ("overall", "answerable", "unanswerable")}
        x = tuple(one for one in curve["threshold"] if one is not None)
        found.append(
            Picture(
                language,
                _CURVE,
                "lines",
                f"{language}: F1 over thresholds",
                "threshold: what lies above becomes No Answer",
                values,
                x=x,
                mark=of.threshold,
            )
        )
        counts: dict[str, list[float | None]] = {name: [*bins[name]] for name in ("answerable", "unanswerable")}
        found.append(
            Picture(
                language,
                _COUNTS,
                "counts",
                f"{language}: examples by no_answer_prob",
                "no_answer_prob",
                counts,
                x=tuple(bins["edges"]),
                mark=of.threshold,
            )
        )
    return found


def _tables(summary: Summary) -> list[Rows]:
    return [rows for rows in (_figures(summary), _sureness(summary)) if rows]


def _warnings(summary: Summary) -> list[str]:
    macro = summary["macro_average"]
    missing = ", ".join(macro["missing"])
    over = f"the macro average is over {macro['languages']} of {macro['of']} languages; missing: {missing}"
    return [*([over] if missing else []), *warnings(summary["notes"], summary["extra_ids"])]


def _sections(summary: Summary, pictures: Sequence[Picture]) -> Iterator[Section]:
    notes = warnings(summary["notes"], summary["extra_ids"])
    missing = ", ".join(summary["macro_average"]["missing"])
    if missing:
        notes.append(f"Without predictions: {missing}. The macro average is over the others.")
    tables = [
        Table("Figures at the best threshold, in percent", _figures(summary)),
        Table("How sure they are", _sureness(summary), left=2),
    ]
    yield Section("Languages", notes, tables, says_how_sure=True)
    if pictures:
        yield Section("Thresholds", pictures=pictures)


def _figures(summary: Summary) -> Rows:
    """One row a language and one for the macro average, in percent."""
    macro = summary["macro_average"]
    names = list(macro["metrics"])
    rows = [["language", "records", *names]]
    lines = [(name, f"{of['examples']:,}", of) for name, of in summary["languages"].items()]
    for label, count, of in [*lines, (_whole(summary), "", macro)]:
        rows.append([label, count, *(plain(of["metrics"][name]) for name in names)])
    return aligned(rows)


def _sureness(summary: Summary) -> Rows:
    """best_f1 and best_em with their intervals and the comparison; [] if there are none."""
    shown = [
        (label, figure, of["metrics"][figure], of.get("intervals", {}), of.get("comparison"))
        for label, of in [*summary["languages"].items(), (_whole(summary), summary["macro_average"])]
        for figure in ("best_em", "best_f1")
    ]
    return sureness("language", shown, 1)


def _whole(summary: Summary) -> str:
    macro = summary["macro_average"]
    return f"macro average ({macro['languages']} of {macro['of']})"


MKQA: Final = Display("MKQA evaluation", (_CURVE, _COUNTS), _pictures, _tables, _warnings, _sections)
