"""What a dataset adapter is.

An adapter is one small file: a docstring that shows one raw row and its source, a pure function
``read`` and a ``DATASET``. It opens nothing and knows nothing of the knowledge source; what its
rows point at is described as ``Evidence`` and mapped by the pipeline, the same way for all. All that
is known of a dataset stands there: no module outside this package names one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.records import Example, SourcePage
from kiltetl.schemas.splits import SPLITS

Row = Mapping[str, Any]
Lines = Iterable[str]
LeadingMetric = Literal["accuracy", "em", "f1", "rougel"]

AVERAGES: Final = ("spans_per_set", "sets_per_record", "pages_per_record", "answers_per_record")

_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TAKEN: Final = ("anchors", "manifests", "rejects")  # folders beside those of the datasets


class SkipRow(Exception):
    """Raised by ``read`` for a row that a rule of the benchmark leaves out; ``reason`` is counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def id_of(name: str, value: Any) -> str:
    """The id in a field, a text or a whole number; MalformedRow for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise MalformedRow(f"{name} is {value!r}, not a number")
    return str(value)


def texts_of(name: str, value: Any) -> Sequence[str]:
    """The list of texts in a field, none for null; MalformedRow for anything else, such as a text or an object."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise MalformedRow(f"{name} is {value!r}, not a list of texts")
    return value


@dataclass(frozen=True, slots=True)
class Json:
    """Files of JSON: one object a line, or a document with a list at ``items``.

    Attributes:
        items: path of the list in ijson's notation ("item" = the top-level list); None for lines.
    """

    items: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Files of text.

    Attributes:
        parse: makes rows out of decoded lines (without their ends), as a stream. ValueError for a file
            of another format.
        companion: for a dataset whose texts stand in files beside its own: the path of the one that a
            row needs, from the folder of the row's file and with ``/``. The reader adds what is in it
            to the row as ``text``: decoded from UTF-8, line ends as they are; without the file the
            row has none. A path that leaves the folder above that of the row's file is refused.
            Rows that need the same file follow one another.
    """

    parse: Callable[[Lines], Iterator[Row]]
    companion: Callable[[Row], str] | None = None


@dataclass(frozen=True, slots=True)
class EvidenceFiles:
    """Files of its own, one JSON object a line, in which a dataset's evidence text stands.

    Attributes:
        read: one row of them to pages. ``Evidence.source_page`` is looked up among their keys.
        example: one raw row, for the error a user sees who names a file of another format.
        required: whether no row can be mapped without them.
    """

    read: Callable[[Row], Iterator[SourcePage]]
    example: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that depends on all records of a dataset.

    Attributes:
        count: what a record (after merge) counts for: a name and a number.
        settle: the dataset, given the numbers of all files summed by name.
    """

    count: Callable[[Example], tuple[str, int]]
    settle: "Callable[[Dataset, Mapping[str, int]], Dataset]"


@dataclass(frozen=True, slots=True)
class Merge:
    """Records that are made of several rows, of one file or of many.

    Attributes:
        key: examples with the same key are brought together, in input order.
        merge: the examples of one key, which are few, to records; called once a key. May raise SkipRow.
        rule: one over all records, if there is one: it takes a reading of its own.
    """

    key: Callable[[Example], str]
    merge: Callable[[Sequence[Example]], Iterator[Example]]
    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may set with --file NAME=PATH and --option NAME=VALUE.

    Attributes:
        configure: the dataset for what is given: name to the lines of the file, or to the value as one
            line. ValueError says what is wrong with them.
        files: names of files, each with a line of help.
        values: names of values, each with a line of help that tells the default.

    Raises:
        ValueError: there is nothing to set, or a name is that of a file and of a value.
    """

    configure: "Callable[[Mapping[str, Sequence[str]]], Dataset]"
    files: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.files and not self.values:
            raise ValueError("options without the name of a file or of a value")
        both = sorted(set(self.files) & set(self.values))
        if both:
            raise ValueError(f"{', '.join(both)}: the name of an option file and of a value")


@dataclass(frozen=True, slots=True)
class Shape:
    """How KILT's released files of a dataset look, where they differ from one another.

    Attributes:
        record, output, span: the keys under ``meta`` of a record, an output and a provenance.
        span_in_train: whether a provenance of train has its meta.
        has_input: whether records have their input.
        file_suffix: what a file's name has behind the split.
        section_first: whether the section of a span stands before its place, not behind it.
        empty_meta: whether a span has its ``meta`` even where that is empty.
    """

    record: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    span: tuple[str, ...] = ()
    span_in_train: bool = True
    has_input: bool = True
    file_suffix: str = ""
    section_first: bool = False
    empty_meta: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """What the paper reports of a dataset.

    Attributes:
        size: records a split.
        drop: share of a split that the mapping discards, in percent.
        averages: spans of an evidence set, evidence sets, pages and answers of a record.
    """

    size: Mapping[str, int] = field(default_factory=dict)
    drop: Mapping[str, float] = field(default_factory=dict)
    averages: tuple[float, float, float, float] | None = None

    def averages_by_name(self) -> dict[str, float]:
        """The averages, by the names that manifests have for them."""
        return dict(zip(AVERAGES, self.averages or (), strict=False))


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
        row_example: one raw row, for the error a user sees who names a file of another format.
        licence: of the original data.
        homepage: where the original files are.
        usage: one line: which of its files are --source, --evidence, --file, and which split is which.
        source: how its files hold rows.
        evidence: for a dataset whose evidence text stands in files of its own.
        needs_knowledge_source: False for a dataset that names no page.
        needs_evidence: False for a dataset whose records of dev and test stay without evidence.
        merge: for a dataset whose records are made of several rows.
        split_of: for a dataset whose authors published no split: the split that an example (after
            merge) belongs to; the others are passed over. Depends on the example alone.
        options: for a dataset of which something can be set.
        remark: what is counted of a record that is written, in a word; None for most.
        ids_of: the dataset whose ids it has, and whose mapped evidence its records may take.
        annotated: whether its evidence is judged in the annotation campaign.
        long_answers: whether its answers are long enough to be compared with a passage by ROUGE-L.
        leading_metric: the metric by which KILT's leaderboard ranks predictions for it; None for a dataset
            that has no leaderboard.
        shape: of its released files; None for a dataset that KILT did not release.
        published: what the paper reports.

    Raises:
        ValueError: two of these contradict each other, or the name, a split or the metric is none.

    >>> from kiltetl import Evidence, Example, ExampleOutput
    >>> def read(row):
    ...     answer = ExampleOutput(row["a"], (Evidence(row["page"], text=row["sentence"]),))
    ...     yield Example(str(row["id"]), row["q"], (answer,))
    >>> mine = Dataset("mine", "open-domain QA", read, ("validation",), "{…}", "CC0", "https://example.org")
    >>> row = {"id": 1, "q": "What holds up a kite?", "a": "the wind", "page": "Kite", "sentence": "Wind lifts kites."}
    >>> [example.outputs[0].evidence[0].title for example in mine.read(row)]
    ['Kite']
    """

    name: str
    task: str
    read: Callable[[Row], Iterator[Example]]
    splits: tuple[str, ...]
    row_example: str
    licence: str
    homepage: str
    usage: str = ""
    source: Json | Text = Json()
    evidence: EvidenceFiles | None = None
    needs_knowledge_source: bool = True
    needs_evidence: bool = True
    merge: Merge | None = None
    split_of: Callable[[Example], str] | None = None
    options: Options | None = None
    remark: Callable[[Example], str | None] | None = None
    ids_of: str | None = None
    annotated: bool = False
    long_answers: bool = False
    leading_metric: LeadingMetric | None = None
    shape: Shape | None = None
    published: Published = Published()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name.lower() in _TAKEN:
            raise ValueError(
                f"a dataset cannot be named {self.name!r}: folders are called by its name; "
                f"take letters, digits, _ and -, and none of {', '.join(_TAKEN)}"
            )
        wrong = self._contradiction()
        if wrong is not None:
            raise ValueError(f"{self.name}: {wrong}")

    def _contradiction(self) -> str | None:
        """What of it cannot be, None if all can."""
        if not self.splits or len(set(self.splits)) < len(self.splits) or not set(self.splits) <= set(SPLITS):
            return f"splits are {self.splits!r}, not one or more of {', '.join(SPLITS)}, each once"
        figures = {*self.published.size, *self.published.drop} - set(self.splits)
        if figures:
            return f"figures are published of {', '.join(sorted(figures))}, which is none of its splits"
        if self.leading_metric is not None and self.leading_metric not in get_args(LeadingMetric):
            return f"the leading metric {self.leading_metric!r} is none of {', '.join(get_args(LeadingMetric))}"
        if self.evidence is not None and not self.needs_knowledge_source:
            return "it has evidence files, but names no page to map their text onto (needs_knowledge_source)"
        if self.ids_of is not None and (self.needs_knowledge_source or self.ids_of == self.name):
            return f"it cannot take the evidence of {self.ids_of}: only one that names no page takes another's"
        if self.ids_of is not None and not _NAME.fullmatch(self.ids_of):
            return f"{self.ids_of!r} is the name of no dataset"
        return None
