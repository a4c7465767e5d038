"""``report.html`` of an evaluation: its figures, what a reader should know of them, and its pictures.

One file that loads nothing, built of the same elements as the report of a build.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kiltetl.transforms.reports import markup
from kiltetl.transforms.reports.charts import Picture
from kiltetl.transforms.reports.scores_table import (
    kilt_leaderboard,
    kilt_rows,
    kilt_sureness,
    mkqa_rows,
    mkqa_sureness,
    warnings,
)

_WIDTH, _HEIGHT = 340.0, 222.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 50.0, 334.0, 30.0, 170.0
_OWN_STYLE = """
.c0 { fill: var(--mapped); } .c1 { fill: var(--weak); } .c2 { fill: var(--quiet); }
.l0, .l1, .l2 { fill: none; stroke-width: 1.75; }
.l0 { stroke: var(--mapped); } .l1 { stroke: var(--weak); } .l2 { stroke: var(--quiet); }
.faint { fill-opacity: .55; }
"""
_STRICT = (
    "Strict mode: these figures deviate from the official scorer's where it is plainly wrong, and are not to be "
    "set beside published ones."
)
_OFFICIAL = "The figures are the official scorer's."
_SURE = (
    "Intervals: percentile bootstrap over examples. The p-value is that of a two-sided paired bootstrap, "
    "both systems seen on the same samples."
)


def render(summary: Mapping[str, Any], pictures: Sequence[Picture]) -> str:
    """The page.

    Args:
        summary: what ``summarize_kilt`` or ``summarize_mkqa`` returns.
        pictures: see ``kiltetl.transforms.plots``.
    """
    is_kilt = summary["benchmark"] == "kilt"
    title = "KILT evaluation" if is_kilt else "MKQA evaluation"
    strict = summary["mode"] == "strict"
    body = markup.element(
        "body",
        {},
        markup.element(
            "header",
            {},
            markup.element("h1", {}, title),
            markup.element("p", {"class": "note" if strict else "quiet"}, _STRICT if strict else _OFFICIAL),
            markup.element("p", {}, markup.code(summary["signature"])),
        ),
        markup.element("main", {}, *(_kilt(summary, pictures) if is_kilt else _mkqa(summary, pictures))),
    )
    return markup.document(title, body, _OWN_STYLE)


def _kilt(summary: Mapping[str, Any], pictures: Sequence[Picture]) -> Iterator[markup.Element]:
    sureness = kilt_sureness(summary)
    yield _section(
        "Leaderboard",
        _of_rows("Each dataset by its own metric", kilt_leaderboard(summary)),
        _of_rows("How sure it is", sureness, left=2) if sureness else None,
        _sure(summary),
    )
    for dataset, of in summary["datasets"].items():
        mine = [picture for picture in pictures if picture.name.startswith(f"{dataset}_")]
        yield _section(
            dataset,
            *_notes(of["notes"], of["extra_ids"]),
            _of_rows("Every figure", kilt_rows(of)),
            _charts(mine),
        )


def _mkqa(summary: Mapping[str, Any], pictures: Sequence[Picture]) -> Iterator[markup.Element]:
    missing = summary["macro_average"]["missing"]
    said = f"Without predictions: {', '.join(missing)}. The macro average is over the others." if missing else None
    sureness = mkqa_sureness(summary)
    yield _section(
        "Languages",
        *_notes(summary["notes"], summary["extra_ids"]),
        None if said is None else markup.element("p", {"class": "note", "role": "note"}, said),
        _of_rows("Figures at the best threshold, in percent", mkqa_rows(summary)),
        _of_rows("How sure they are", sureness, left=2) if sureness else None,
        _sure(summary),
    )
    if pictures:
        yield _section("Thresholds", _charts(pictures))


def _section(title: str, *children: markup.Child) -> markup.Element:
    return markup.element("section", {}, markup.element("h2", {}, title), *children)


def _sure(summary: Mapping[str, Any]) -> markup.Element | None:
    return markup.element("p", {"class": "quiet"}, _SURE) if "bootstrap" in summary else None


def _notes(notes: Mapping[str, int], extra: Sequence[str]) -> Iterator[markup.Element]:
    for line in warnings(notes, extra):
        yield markup.element("p", {"class": "note", "role": "note"}, line)


def _of_rows(caption: str, rows: Sequence[Sequence[str]], left: int = 1) -> markup.Element:
    cells = [[cell.strip() for cell in row] for row in rows]
    return markup.table(caption, cells[0], [("", [markup.row(*row, left=left) for row in cells[1:]])], left=left)


def _charts(pictures: Sequence[Picture]) -> markup.Element | None:
    return markup.element("div", {"class": "charts"}, *map(_chart, pictures)) if pictures else None


# --------------------------------------------------------------------------------------------
# Charts


def _chart(picture: Picture) -> markup.Element:
    if picture.kind == "counts":
        highest = max((value or 0 for values in picture.values.values() for value in values), default=0)
        top, unit = max(highest, 1.0), ""
    else:
        top, unit = 100.0, "\N{NO-BREAK SPACE}%"
    drawn = {"bars": _bars, "lines": _lines_of, "counts": _counts}[picture.kind](picture, top)
    svg = markup.element(
        "svg",
        {"viewBox": f"0 0 {_WIDTH:g} {_HEIGHT:g}", "role": "img"},
        markup.element("title", {}, picture.title),
        *(
            part
            for share in (0.0, 0.5, 1.0)
            for part in (
                markup.line("grid" if share else "axis", _LEFT, _up(share), _RIGHT, _up(share)),
                markup.label("", _LEFT - 6, _up(share) + 4, "end", f"{share * top:,.4g}{unit}"),
            )
        ),
        *drawn,
        *_legend(picture),
        markup.label("", (_LEFT + _RIGHT) / 2, _HEIGHT - 8, "middle", picture.x_label),
    )
    return markup.element("figure", {}, markup.element("figcaption", {}, picture.title), svg)


def _up(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)


def _legend(picture: Picture) -> Iterator[markup.Element]:
    x = _LEFT
    for place, name in enumerate(picture.values):
        box = {"class": f"c{place}", "x": f"{x:g}", "y": "6", "width": "10", "height": "10"}
        yield markup.element("rect", box)
        yield markup.label("label", x + 14, 15, "start", name)
        x += 30 + 7 * len(name)


def _bars(picture: Picture, top: float) -> Iterator[markup.Element]:
    slot = (_RIGHT - _LEFT) / max(len(picture.labels), 1)
    width = 0.8 * slot / max(len(picture.values), 1)
    for i, label in enumerate(picture.labels):
        for place, (name, values) in enumerate(picture.values.items()):
            share = (values[i] or 0.0) / top
            shape = {
                "class": f"c{place}",
                "x": f"{_LEFT + i * slot + 0.1 * slot + place * width:.2f}",
                "y": f"{_up(share):.2f}",
                "width": f"{width:.2f}",
                "height": f"{_BOTTOM - _up(share):.2f}",
            }
            yield markup.element("rect", shape, markup.element("title", {}, f"{label}, {name}: {100 * share:.2f} %"))
        size, _, count = label.partition(" ")
        yield markup.label("label", _LEFT + (i + 0.5) * slot, _BOTTOM + 14, "middle", size)
        yield markup.label("", _LEFT + (i + 0.5) * slot, _BOTTOM + 27, "middle", count)


def _scale(picture: Picture) -> tuple[float, float]:
    marked = picture.x if picture.mark is None else (*picture.x, picture.mark)
    low, high = min(marked), max(marked)
    return low, high if high > low else low + 1.0


def _across(x: float, low: float, high: float) -> float:
    return _LEFT + (x - low) / (high - low) * (_RIGHT - _LEFT)


def _ticks(picture: Picture) -> Iterator[markup.Element]:
    low, high = _scale(picture)
    for anchor, x in (("start", low), ("middle", (low + high) / 2), ("end", high)):
        yield markup.label("", _across(x, low, high), _BOTTOM + 15, anchor, f"{x:.4g}")
    if picture.mark is not None:
        place = _across(picture.mark, low, high)
        yield markup.line("cut", place, _TOP, place, _BOTTOM)


def _lines_of(picture: Picture, top: float) -> Iterator[markup.Element]:
    low, high = _scale(picture)
    for place, values in enumerate(picture.values.values()):
        path: list[str] = []
        for x, value in zip(picture.x, values, strict=True):
            if value is not None:
                across, up = f"{_across(x, low, high):.2f}", f"{_up(value / top):.2f}"
                # the figure holds from its threshold to the next one
                path.append(f"H{across}V{up}" if path else f"M{across} {up}")
        if path:
            yield markup.element("path", {"class": f"l{place}", "d": "".join(path) + f"H{_RIGHT:g}"})
    yield from _ticks(picture)


def _counts(picture: Picture, top: float) -> Iterator[markup.Element]:
    low, high = _scale(picture)
    for place, (name, values) in enumerate(picture.values.items()):
        for left, right, value in zip(picture.x, picture.x[1:], values, strict=False):
            share = (value or 0.0) / top
            start = _across(left, low, high)
            shape = {
                "class": f"c{place} faint",
                "x": f"{start:.2f}",
                "y": f"{_up(share):.2f}",
                "width": f"{max(_across(right, low, high) - start - 0.75, 0.5):.2f}",
                "height": f"{_BOTTOM - _up(share):.2f}",
            }
            yield markup.element(
                "rect", shape, markup.element("title", {}, f"{left:.4g} to {right:.4g}, {name}: {value:,.0f}")
            )
    yield from _ticks(picture)
