"""Pictures of an evaluation: what they show (``Picture``) and as PNG files.

``kiltetl.transforms.scores_page`` draws the same into a page. matplotlib, the extra
``[plots]``, is imported only when a PNG is drawn.
"""

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kiltetl.transforms.metrics import kilt, mkqa

_COLORS: Final = ("#2f6690", "#c8693a", "#59616b")


@dataclass(frozen=True, slots=True)
class Picture:
    """One chart.

    Attributes:
        name: stem of its file.
        kind: ``bars`` (values in percent beside each other for each label) or ``lines`` (values in
            percent over x) or ``counts`` (numbers of examples in bins).
        labels: what the bars stand for; for counts, the bins.
        x: where the points of lines lie, the edges of bins (one more than values).
        values: by the name of what is shown.
        mark: an x to be marked, such as the threshold.
    """

    name: str
    kind: str
    title: str
    x_label: str
    values: Mapping[str, list[float | None]]
    labels: tuple[str, ...] = ()
    x: tuple[float, ...] = ()
    mark: float | None = None


def pictures_of_kilt(evaluations: Mapping[str, kilt.Evaluation]) -> list[Picture]:
    """For each dataset its own figure and R-precision, by the answer's length and by the evidence set's size."""
    found = []
    for dataset, of in evaluations.items():
        leading = kilt.LEADING_METRIC.get(dataset, "f1")
        for what, label, classes in (
            ("answer_length", "words of the shortest gold answer", kilt.by_answer_length),
            ("evidence_size", "pages of the smallest evidence set", kilt.by_evidence_size),
        ):
            ours, precision = list(classes(of, leading)), list(classes(of, "Rprec"))
            if ours:
                found.append(
                    Picture(
                        name=f"{dataset}_{what}",
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


def pictures_of_mkqa(evaluation: mkqa.Evaluation) -> list[Picture]:
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
                f"{language}_f1_by_threshold",
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
                f"{language}_no_answer_prob",
                "counts",
                f"{language}: examples by no_answer_prob",
                "no_answer_prob",
                counts,
                x=tuple(bins["edges"]),
                mark=of.threshold,
            )
        )
    return found


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
        files[f"{picture.name}.png"] = stream.getvalue()
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
