"""What a dataset adapter is.

An adapter is one small file: a docstring that shows one raw row and its source, a pure function
``read`` and a ``DATASET``. It opens nothing and knows nothing of the knowledge source; what its
rows point at is described as ``Evidence`` and mapped by the pipeline, the same way for all.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from kiltetl.schemas.records import Example, SourcePage

Row = Mapping[str, Any]
Lines = Iterable[str]
LeadingMetric = Literal["accuracy", "em", "f1", "rougel"]

_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TAKEN: Final = ("anchors", "manifests", "rejects")  # folders beside those of the datasets


class SkipRow(Exception):
    """Raised by ``read`` for a row that a rule of the benchmark leaves out; ``reason`` is counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset of the benchmark.

    Attributes:
        name: KILT's own file stem. Folders and files are called by it: at most 64 of a to z, A to Z, 0 to 9, _
            and -, the first a letter or a digit, and none that the tables beside it have.
        task: the task it belongs to, as the paper names it.
        read: one raw row to examples, in order (mkqa: one a language). Raises SkipRow for a
            rule of the benchmark and MalformedRow for a row that breaks the format. Any
            KeyError, IndexError, TypeError or ValueError that escapes counts as malformed too.
        splits: those of train, validation, test that the dataset has.
        source: how its files hold rows: one JSON object a line; JSON with a list at ``items`` (a
            path in ijson's notation, "item" = the top-level list); or text, of which ``parse``
            makes rows out of its decoded lines (without their ends), as a stream.
        companion: for a dataset whose texts stand in files beside its own: the path of the one that a
            row needs, from the folder of the row's file and with ``/``. The reader adds what is in it
            to the row as ``text``: decoded from UTF-8, line ends as they are; without the file the
            row has none. A path that leaves the folder above that of the row's file is refused.
            Rows that need the same file follow one another.
        row_example: one raw row, for the error a user sees who names a file of another format.
        usage: one line: which of its files are --source, --evidence, --file, and which split is which.
        read_evidence: for a dataset whose evidence text stands in files of its own: one row of
            those files to pages. ``Evidence.source_page`` is looked up among their keys.
        evidence_example: one raw row of them, for an error too.
        evidence_required: whether no row can be mapped without those files.
        needs_knowledge_source: False for a dataset that names no page.
        needs_evidence: False for a dataset whose records of dev and test stay without evidence.
        key, merge: for a dataset whose records are made of several rows: examples with the same
            key are brought together, in input order, and merged. What is given to merge is small
            (the examples of one key); it is called once a key.
        split_of: for a dataset whose authors published no split: the split that an example (after
            merge) belongs to; the others are passed over. Depends on the example alone.
        group, settle: for a dataset with a rule over all its records (after merge): what a record counts
            for, a name and a number, and the dataset once the numbers of all files are summed by name.
        files: names of option files that ``configure`` takes, each with a line of help.
        options: names of values that ``configure`` takes, each with a line of help that tells the default.
        configure: the dataset for given option files, name to its lines, and values, as one line each.
        remark: what is counted of a record that is written, in a word; None for most.
        leading_metric: the metric by which KILT's leaderboard ranks predictions for it; None for a dataset
            that has no leaderboard.
        published_drop: share of dev and test that the paper's mapping discards, in percent.
        published_averages: what the paper reports: spans of an evidence set, evidence sets, pages and
            answers of a record.
        published_size: records a split in the paper.
        licence: of the original data.
        homepage: where the original files are.

    Raises:
        ValueError: the name is no such name, or no leaderboard ranks by that metric.
    """

    name: str
    task: str
    read: Callable[[Row], Iterator[Example]]
    splits: tuple[str, ...]
    row_example: str
    licence: str
    homepage: str
    usage: str = ""
    source: Literal["jsonl", "json", "text"] = "jsonl"
    items: str = "item"
    parse: Callable[[Lines], Iterator[Row]] | None = None
    companion: Callable[[Row], str] | None = None
    read_evidence: Callable[[Row], Iterator[SourcePage]] | None = None
    evidence_example: str = ""
    evidence_required: bool = False
    needs_knowledge_source: bool = True
    needs_evidence: bool = True
    key: Callable[[Example], str] | None = None
    merge: Callable[[Sequence[Example]], Iterator[Example]] | None = None
    split_of: Callable[[Example], str] | None = None
    group: Callable[[Example], tuple[str, int]] | None = None
    settle: "Callable[[Dataset, Mapping[str, int]], Dataset] | None" = None
    files: Mapping[str, str] | None = None
    options: Mapping[str, str] | None = None
    configure: "Callable[[Mapping[str, Sequence[str]]], Dataset] | None" = None
    remark: Callable[[Example], str | None] | None = None
    leading_metric: LeadingMetric | None = None
    published_averages: tuple[float, float, float, float] | None = None
    published_size: Mapping[str, int] | None = None
    published_drop: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name.lower() in _TAKEN:
            raise ValueError(
                f"a dataset cannot be named {self.name!r}: folders are called by its name; "
                f"take letters, digits, _ and -, and none of {', '.join(_TAKEN)}"
            )
        if self.leading_metric is not None and self.leading_metric not in get_args(LeadingMetric):
            known = ", ".join(get_args(LeadingMetric))
            raise ValueError(f"{self.name}: the leading metric {self.leading_metric!r} is none of {known}")
