"""``report.html`` of an evaluation: its figures, what a reader should know of them, and its pictures.

One file that loads nothing, built of the same elements as the report of a build.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kiltetl.transforms.reports import markup
from kiltetl.transforms.reports.charts import Picture
from kiltetl.transforms.reports.scores import DISPLAYS
from kiltetl.transforms.reports.scores_display import Section, Table

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
        summary: the content of ``metrics.json``.
        pictures: those of its benchmark.
    """
    display = DISPLAYS[summary["benchmark"]]
    strict = summary["mode"] == "strict"
    body = markup.element(
        "body",
        {},
        markup.element(
            "header",
            {},
            markup.element("h1", {}, display.title),
            markup.element("p", {"class": "note" if strict else "quiet"}, _STRICT if strict else _OFFICIAL),
            markup.element("p", {}, markup.code(summary["signature"])),
        ),
        markup.element(
            "main", {}, *(_section(one, "bootstrap" in summary) for one in display.sections(summary, pictures))
        ),
    )
    return markup.document(display.title, body, _OWN_STYLE)


def _section(section: Section, sure: bool) -> markup.Element:
    tables = [_table(table) for table in section.tables if table.rows]
    if section.says_how_sure and sure:
        tables.append(markup.element("p", {"class": "quiet"}, _SURE))
    return markup.element(
        "section",
        {},
        markup.element("h2", {}, section.title),
        *(markup.element("p", {"class": "note", "role": "note"}, line) for line in section.notes),
        *tables,
        markup.element("div", {"class": "charts"}, *map(_chart, section.pictures)) if section.pictures else None,
    )


def _table(table: Table) -> markup.Element:
    head, *rows = [[cell.strip() for cell in row] for row in table.rows]
    of = [markup.row(*row, left=table.left) for row in rows]
    return markup.table(table.caption, head, [("", of)], left=table.left)


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
