"""Pictures of an evaluation: what they show (``Picture``) and as PNG files.

``kiltetl.transforms.reports.scores_page`` draws the same into a page. matplotlib, the extra
``[plots]``, is imported only when a PNG is drawn.
"""

import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

SEPARATOR: Final = r"[/\\]"  # of folders, which a name may hold
_COLORS: Final = ("#2f6690", "#c8693a", "#59616b")


@dataclass(frozen=True, slots=True)
class Picture:
    """One chart.

    Attributes:
        of: what is evaluated: a dataset or a language.
        what: what is shown of it, in letters and underscores.
        kind: ``bars`` (values in percent beside each other for each label) or ``lines`` (values in
            percent over x) or ``counts`` (numbers of examples in bins).
        labels: what the bars stand for; for counts, the bins.
        x: where the points of lines lie, the edges of bins (one more than values).
        values: by the name of what is shown.
        mark: an x to be marked, such as the threshold.
    """

    of: str
    what: str
    kind: str
    title: str
    x_label: str
    values: Mapping[str, list[float | None]]
    labels: tuple[str, ...] = ()
    x: tuple[float, ...] = ()
    mark: float | None = None

    @property
    def file(self) -> str:
        """Name of its file."""
        return file_name(self.of, self.what)


def file_name(of: str, what: str) -> str:
    """Name of a picture's file; with ``*`` for ``of``, the pattern of all that show the same."""
    return f"{re.sub(SEPARATOR, '_', of)}_{what}.png"


def as_png(pictures: Iterable[Picture]) -> dict[str, bytes]:
    """The pictures by file name. ImportError without matplotlib."""
    from matplotlib.figure import Figure

    files = {}
    for picture in pictures:
        figure = Figure(figsize=(6, 3.6), layout="constrained")
        axes = figure.add_subplot()
        _draw(picture, axes)
        axes.set_title(picture.title, fontsize=11)
        axes.set_xlabel(picture.x_label)
        axes.spines[["top", "right"]].set_visible(False)
        if picture.mark is not None:
            axes.axvline(picture.mark, color="#1d2126", linestyle="--", linewidth=1)
        axes.legend(frameon=False, fontsize=9)
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=120, metadata={"Software": None})
        files[picture.file] = stream.getvalue()
    return files


def _draw(picture: Picture, axes: Any) -> None:
    shown = list(zip(picture.values.items(), _COLORS, strict=False))
    if picture.kind == "lines":
        for (name, values), color in shown:
            known = [(x, y) for x, y in zip(picture.x, values, strict=True) if y is not None]
            axes.plot([x for x, _ in known], [y for _, y in known], color=color, label=name, drawstyle="steps-post")
    elif picture.kind == "counts":
        for (name, values), color in shown:
            axes.stairs(values, picture.x, color=color, label=name, fill=True, alpha=0.5)
    else:
        width = 0.8 / len(shown)
        for place, ((name, values), color) in enumerate(shown):
            axes.bar([i + place * width for i in range(len(values))], values, width, color=color, label=name)
        axes.set_xticks([i + 0.4 - width / 2 for i in range(len(picture.labels))], picture.labels, fontsize=8)
    if picture.kind == "counts":
        axes.set_ylabel("examples")
    else:
        axes.set_ylabel("%")
        axes.set_ylim(0, 100)
