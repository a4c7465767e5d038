"""What shows the evaluation of a benchmark (``Display``), and what a page of it is made of."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kiltetl.transforms.reports.charts import Picture
from kiltetl.transforms.reports.scores_table import Rows, Summary


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a page, left out where it has no rows; the first ``left`` columns hold text."""

    caption: str
    rows: Rows
    left: int = 1


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page.

    Attributes:
        notes: what a reader should know of it.
        says_how_sure: with what intervals and p-values are, where there are any.
    """

    title: str
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()
    says_how_sure: bool = False
    pictures: Sequence[Picture] = ()


@dataclass(frozen=True, slots=True)
class Display:
    """How a benchmark is shown; its evaluation is what its ``Scorer`` made, its summary what metrics.json holds.

    Attributes:
        title: of the page.
        pictured: what its pictures show, ``Picture.what``.
        pictures: of an evaluation, given its summary.
        tables: for a terminal.
        warnings: what a reader should know of, a line each.
        sections: of the page, given the pictures.
    """

    title: str
    pictured: tuple[str, ...]
    pictures: Callable[[Any, Summary], list[Picture]]
    tables: Callable[[Summary], list[Rows]]
    warnings: Callable[[Summary], list[str]]
    sections: Callable[[Summary, Sequence[Picture]], Iterator[Section]]
