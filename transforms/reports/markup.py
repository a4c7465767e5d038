"""An HTML page in one file that loads nothing: its style and drawings stand inside.

It is built as a tree of elements, so no text reaches it unescaped.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias
from xml.etree import ElementTree

Element: TypeAlias = ElementTree.Element
Child: TypeAlias = "Element | str | None"

_NOT_TEXT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LINES = {"meta", "title", "style", "header", "section", "table", "tbody", "tr", "figure", "svg", "details", "p", "h2"}

_STYLE = """
:root { color-scheme: light dark; --ground: #fbfbf9; --card: #fff; --text: #1d2126; --quiet: #59616b;
  --line: #dfe2e5; --mapped: #2f6690; --weak: #c8693a; --note: #fff6e3; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171a; --card: #1b1f23; --text: #e5e7e9; --quiet: #9ea7b0; --line: #343a41;
    --mapped: #74aad6; --weak: #e2935f; --note: #332b1a; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
header, main { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.5rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .25rem; letter-spacing: -.01em; }
h2 { font-size: 1.25rem; margin: 0 0 .25rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p { margin: 0 0 1rem; max-width: 50rem; }
section > :last-child { margin-bottom: 0; }
.quiet { color: var(--quiet); }
a { color: var(--mapped); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: 1.25rem; margin: 1.5rem 0; }
dl { display: flex; flex-wrap: wrap; gap: .75rem 2.25rem; margin: 1.25rem 0 0; }
dt { color: var(--quiet); font-size: .8125rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); gap: 1.25rem 2.5rem;
  align-items: start; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); gap: 1rem 1.5rem;
  margin-top: 1.25rem; }
.wide { overflow-x: auto; }
.wide + .wide, .wide + p, .wide + .charts { margin-top: 1.25rem; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .5rem 0; }
th, td { text-align: left; font-weight: 400; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: baseline; }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--quiet); font-size: .8125rem; }
.n { text-align: right; white-space: nowrap; }
#templates ~ .wide { max-width: 32rem; }
.long { min-width: 11rem; overflow-wrap: anywhere; }
.in > th:first-child { padding-left: 1rem; color: var(--quiet); }
tbody.sum th, tbody.sum td { font-weight: 600; }
code { font: .8125rem/1.4 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
figure { margin: 0; max-width: 25rem; }
figcaption { font-size: .875rem; font-weight: 600; padding: .5rem 0; }
figcaption span { font-weight: 400; color: var(--quiet); }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--quiet); font-size: 12px; font-family: inherit; font-variant-numeric: tabular-nums; }
svg .label { fill: var(--text); }
.grid { stroke: var(--line); }
.axis { stroke: var(--quiet); }
.cut { stroke: var(--text); stroke-dasharray: 4 3; }
.mapped { fill: var(--mapped); }
.weak { fill: var(--weak); }
details { margin-top: 1rem; }
summary { cursor: pointer; color: var(--quiet); font-size: .875rem; }
.note { background: var(--note); border-left: 4px solid var(--weak); padding: .6rem .9rem; max-width: none; }
@media (max-width: 34rem) {
  header, main { padding-left: .75rem; padding-right: .75rem; }
  section { padding: 1rem .875rem; }
}
@media print {
  :root { --ground: #fff; --card: #fff; --text: #000; --quiet: #444; --line: #bbb; --mapped: #2f6690; --weak: #c8693a; }
  :root { color-scheme: light; }
  body { font-size: 10.5pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  header, main { max-width: none; padding: 0; }
  section { border: 0; padding: 0; }
  .wide { overflow: visible; }
  details { display: none; }
  tr, figure, h2 { break-inside: avoid; }
  h2, caption { break-after: avoid; }
}
"""


def document(title: str, body: Element, style: str = "") -> str:
    """The page as HTML, a line for each larger element; ``style`` is added to the common one."""
    policy = {"http-equiv": "Content-Security-Policy", "content": "default-src 'none'; style-src 'unsafe-inline'"}
    head = element(
        "head",
        {},
        element("meta", {"charset": "utf-8"}),
        element("meta", policy),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", {}, title),
        element("style", {}, _STYLE + style),
    )
    page = element("html", {"lang": "en"}, head, body)
    for one in page.iter():
        if one.tag in _LINES and not one.tail:
            one.tail = "\n"
    return f"<!DOCTYPE html>\n{ElementTree.tostring(page, encoding='unicode', method='html')}\n"


def element(tag: str, attributes: Mapping[str, str], *children: Child) -> Element:
    """An element; strings among the children are its text, escaped when the page is written."""
    element = ElementTree.Element(tag, {name: shown(value) for name, value in attributes.items()})
    last: Element | None = None
    for child in children:
        if isinstance(child, str):
            if last is None:
                element.text = (element.text or "") + shown(child)
            else:
                last.tail = (last.tail or "") + shown(child)
        elif child is not None:
            element.append(child)
            last = child
    return element


def shown(text: str) -> str:
    """Without what no page may hold, such as control characters and lone surrogates."""
    return _NOT_TEXT.sub("\N{REPLACEMENT CHARACTER}", text)


def name(text: object) -> Element:
    """A name from the data, kept apart from the writing direction around it."""
    return element("bdi", {}, str(text))


def code(text: object) -> Element:
    return element("code", {}, name(text))


def long(text: object) -> Element:
    """A name that may be broken anywhere."""
    return element("div", {"class": "long"}, code(text))


def table(
    caption: str, heads: Sequence[Child], bodies: Sequence[tuple[str, Sequence[Element]]], left: int = 1
) -> Element:
    """A table that scrolls where it is wider than the page; ``left`` columns are aligned to the left."""
    cells = [
        element("th", {"scope": "col"} | ({} if i < left else {"class": "n"}), head) for i, head in enumerate(heads)
    ]
    groups = [element("tbody", {"class": name} if name else {}, *rows) for name, rows in bodies if rows]
    head = element("thead", {}, element("tr", {}, *cells))
    table = element("table", {}, element("caption", {}, caption), head, *groups)
    return element("div", {"class": "wide", "tabindex": "0", "role": "region", "aria-label": caption}, table)


def row(head: Child, *cells: Child, left: int = 1, inner: bool = False) -> Element:
    """A row; cells after the first ``left`` columns hold numbers."""
    values = [element("td", {} if i < left else {"class": "n"}, cell) for i, cell in enumerate(cells, start=1)]
    return element("tr", {"class": "in"} if inner else {}, element("th", {"scope": "row"}, head), *values)


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Element:
    return element(
        "line", {"class": kind} | {k: f"{v:g}" for k, v in zip(("x1", "y1", "x2", "y2"), (x1, y1, x2, y2), strict=True)}
    )


def label(kind: str, x: float, y: float, anchor: str, text: str) -> Element:
    return element("text", {"class": kind, "x": f"{x:g}", "y": f"{y:g}", "text-anchor": anchor}, text)
