"""The tables of an evaluation, for a terminal and for a page: their cells, and those that are alike."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

Summary: TypeAlias = Mapping[str, Any]  # the content of metrics.json
Rows: TypeAlias = list[list[str]]  # the first one a heading

NONE: Final = "-"


def sureness(
    head: str,
    lines: Sequence[tuple[str, str, float | None, Mapping[str, Any], Mapping[str, Any] | None]],
    scale: float,
) -> Rows:
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
        row = [name, figure, NONE if value is None else f"{scale * value:.2f}"]
        if intervals:
            row.append(interval(pairs.get(figure), scale))
        if compared:
            row += compared_cells((comparison or {}).get(figure), scale, sure)
        rows.append(row)
    return aligned(rows)


def percent(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.2f}"


def plain(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def interval(pair: Sequence[float] | None, scale: float) -> str:
    return NONE if pair is None else f"{scale * pair[0]:.2f} to {scale * pair[1]:.2f}"


def compared_cells(one: Mapping[str, float] | None, scale: float, sure: bool) -> list[str]:
    if one is None:
        return [NONE] * (4 if sure else 2)
    cells = [f"{scale * one['other']:.2f}", f"{scale * one['difference']:+.2f}"]
    if sure:
        known = "p_value" in one
        cells += [interval((one["low"], one["high"]), scale), f"{one['p_value']:.4f}"] if known else [NONE] * 2
    return cells


def aligned(rows: Rows) -> Rows:
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
