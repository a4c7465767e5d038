"""The files of a dataset to examples, as a stream, however the dataset holds its rows.

A dataset whose records are made of several rows is read in two steps: each file's examples are dealt
out over buckets by a hash of their key, in the staging folder; then each bucket, small enough to be
held, is put together. Nothing is shuffled by the runner.
"""

import json
import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Final

from kiltetl.schemas.arrow import misfit, record_of
from kiltetl.schemas.errors import InputError, MalformedRow
from kiltetl.schemas.manifests import Written
from kiltetl.schemas.reasons import MALFORMED_RECORD, OTHER_SPLIT
from kiltetl.schemas.records import Example, SourcePage
from kiltetl.transforms.datasets.hashing import stable_share
from kiltetl.transforms.datasets.spec import Dataset, Json, SkipRow, Text
from kiltetl.transforms.files.paths import FileInfo, exists, folder_of, join
from kiltetl.transforms.files.progress import advance
from kiltetl.transforms.files.rows import MAX_RECORD, BadRow, read_lines, read_rows
from kiltetl.transforms.files.streams import read_text, replacing

BUCKET_BYTES = 64 << 20  # of the files' own bytes, for a dataset whose rows are merged


@dataclass(frozen=True, slots=True)
class Refused:
    """A row (or key) that gives no example: by a rule (``skip``), or for it is malformed.

    ``error`` is the kind of error that left the adapter, empty for one that it raised to say what is wrong.
    """

    row: int
    reason: str
    detail: str
    skip: bool
    error: str = ""


Read = Sequence[Example] | Refused


def read_source(dataset: Dataset, path: str, most: int = MAX_RECORD) -> Iterator[Read]:
    """For each row of a file its examples, or why it has none; one of more than ``most`` bytes has none."""
    has_input = dataset.shape is None or dataset.shape.has_input
    for number, row in _rows(dataset, path, most):
        if isinstance(row, BadRow):
            yield Refused(number, row.reason, row.detail, skip=False)
            continue
        try:
            if not isinstance(row, Mapping):
                raise MalformedRow(f"the row is a {type(row).__name__}, not an object")
            yield [_checked(example, has_input) for example in dataset.read(row)]
        except SkipRow as skip:
            yield Refused(number, skip.reason, "", skip=True)
        except _BREAKS as error:
            yield Refused(number, MALFORMED_RECORD, _problem(error), skip=False, error=_kind(error))


_BREAKS: Final = (MalformedRow, KeyError, IndexError, TypeError, ValueError, AttributeError)


def _problem(error: Exception) -> str:
    """What is wrong with a row of which an adapter raised this."""
    if isinstance(error, KeyError):
        return f"no field {error}"
    if isinstance(error, (TypeError, AttributeError)):
        return f"a field of another type than expected ({error})"
    return str(error)


def _kind(error: Exception) -> str:
    return "" if isinstance(error, MalformedRow) else type(error).__name__


def _checked(example: Example, has_input: bool = True) -> Example:
    """The example, if each of its values is of its type; MalformedRow names what is not."""
    found = misfit(example)
    if found is not None:
        raise MalformedRow(f"the example's {found}")
    answers = [("answer", output.answer) for output in example.outputs if output.answer is not None]
    for name, text in (("id", example.id), ("input", example.input), *answers):
        if not text.strip(_UNSEEN) and (text or has_input or name != "input"):
            raise MalformedRow(f"the example's {name} is blank: {text!r}")
    return example


# white space, and what a reader does not see: zero width, soft hyphens, marks of direction, fillers
_UNSEEN: Final = "".join(
    chr(code)
    for first, last in (
        (0x09, 0x0D), (0x1C, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0xAD, 0xAD), (0x034F, 0x034F), (0x061C, 0x061C),
        (0x115F, 0x1160), (0x1680, 0x1680), (0x17B4, 0x17B5), (0x180B, 0x180E), (0x2000, 0x200F), (0x2028, 0x202F),
        (0x205F, 0x2064), (0x2066, 0x2069), (0x3000, 0x3000), (0x3164, 0x3164), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0),
    )
    for code in range(first, last + 1)
)  # fmt: skip


def _rows(dataset: Dataset, path: str, most: int) -> Iterator[tuple[int, Any]]:
    source = dataset.source
    if isinstance(source, Json):
        form = ("jsonl", "item") if source.items is None else ("json", source.items)
        yield from read_rows(path, *form, advance, most)
        return
    rows = enumerate(_parsed(source, path), 1)
    if source.companion is None:
        yield from rows
        return
    last: tuple[str, str | None] = ("", None)
    for number, row in rows:
        try:
            name = _companion(path, source.companion(row))
        except (KeyError, ValueError, TypeError) as error:
            yield number, BadRow(f"no file beside it can be named for this row ({error})")
            continue
        if name != last[0]:
            last = (name, read_text(name) if exists(name) else None)
        yield number, row if last[1] is None else {**row, "text": last[1]}


def _parsed(source: Text, path: str) -> Iterator[Any]:
    try:
        yield from source.parse(read_lines(path, advance))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def _companion(path: str, name: str) -> str:
    """Path of a file beside a source file; ValueError if it leaves the folder above that file's."""
    parts = posixpath.normpath(name).split("/")
    if posixpath.isabs(name) or "\\" in name or "\0" in name or parts[:2] == ["..", ".."]:
        raise ValueError(f"{name!r} leads out of the dataset's folder")
    return join(folder_of(path), *posixpath.normpath(name).split("/"))


def check_format(dataset: Dataset, path: str, rows: int = 20) -> None:
    """InputError if not one of the first rows of a file is what the dataset's rows look like."""
    problem: Refused | None = None
    try:
        for number, read in enumerate(read_source(dataset, path)):
            if not isinstance(read, Refused) or read.skip:
                return
            problem = problem or read
            if number + 1 == rows:
                break
    except InputError as error:
        raise InputError(f"{error}; expected {expected_format(dataset)}") from None
    if problem is None:
        raise InputError(f"{path}: holds no record; expected {expected_format(dataset)}")
    raise InputError(f"{path}, record {problem.row}: {problem.detail}; expected {expected_format(dataset)}")


def read_pages(dataset: Dataset, number: int, row: Any) -> Sequence[SourcePage] | Refused:
    """The pages of a row of the dataset's evidence files, or why it has none."""
    assert dataset.evidence is not None
    try:
        if isinstance(row, BadRow):
            return Refused(number, row.reason, f"no page of {dataset.name}'s: {row.detail}", skip=False)
        return list(dataset.evidence.read(row))
    except _BREAKS as error:
        detail = f"no page of {dataset.name}'s: {_problem(error)}"
        return Refused(number, MALFORMED_RECORD, detail, skip=False, error=_kind(error))


def check_evidence(dataset: Dataset, path: str, rows: int = 20) -> None:
    """InputError if not one of the first rows of an evidence file is what the dataset's are."""
    assert dataset.evidence is not None
    expected = f"expected {dataset.name}'s evidence, one JSON object a line, such as {dataset.evidence.example}"
    problem: Refused | None = None
    try:
        for number, row in islice(read_rows(path), rows):
            found = read_pages(dataset, number, row)
            if not isinstance(found, Refused):
                return
            problem = problem or found
    except InputError as error:
        raise InputError(f"{error}; {expected}") from None
    if problem is not None:
        raise InputError(f"{path}, record {problem.row}: {problem.detail}; {expected}")


def expected_format(dataset: Dataset) -> str:
    """What a file of the dataset looks like, for an error."""
    form = "text"
    if isinstance(dataset.source, Json):
        form = "one JSON object a line" if dataset.source.items is None else "a JSON list of objects"
    return f"{dataset.name}'s format, {form}, such as {dataset.row_example}"


def of_split(dataset: Dataset, split: str, read: Read) -> Read:
    """Only what belongs to the split, for a dataset that is split by ``split_of``."""
    if dataset.split_of is None or isinstance(read, Refused):
        return read
    mine = [example for example in read if dataset.split_of(example) == split]
    return mine if mine or not read else Refused(0, OTHER_SPLIT, "", skip=True)


# --------------------------------------------------------------------------------------------
# datasets whose rows are merged


def bucket_count(sources: Sequence[FileInfo]) -> int:
    """Number of buckets: by the input alone, so that the shards are."""
    return max(1, -(-sum(info.size for info in sources) // BUCKET_BYTES))


def deal_out(
    dataset: Dataset, path: str, pieces: Sequence[str], most: int = MAX_RECORD
) -> tuple[Counter[str], list[tuple[int, Refused]], list[Written]]:
    """Write a file's examples, each to the piece that its key falls to; counts, malformed rows, and the pieces."""
    assert dataset.merge is not None
    counts: Counter[str] = Counter()
    refused: list[tuple[int, Refused]] = []
    with ExitStack() as stack:
        streams = [stack.enter_context(replacing(piece)) for piece in pieces]
        for read in read_source(dataset, path, most):
            counts["read"] += 1
            if isinstance(read, Refused):
                counts[f"skipped:{read.reason}" if read.skip else f"rejected:{read.reason}"] += 1
                if not read.skip:
                    refused.append((counts["read"], read))
                continue
            counts["used"] += 1
            for example in read:
                key = dataset.merge.key(example)
                line = json.dumps([key, asdict(example)], ensure_ascii=False, separators=(",", ":"))
                streams[int(stable_share(key) * len(streams))].write(line.encode() + b"\n")
                counts["dealt"] += 1
    return counts, refused, [stream.written() for stream in streams]


def merged(dataset: Dataset, pieces: Sequence[str]) -> Iterator[tuple[int, Read]]:
    """(number of examples merged, what they gave) for each key of a bucket, in order of first appearance."""
    assert dataset.merge is not None
    together: dict[str, list[Example]] = {}
    for piece in pieces:
        for _, row in read_rows(piece):
            key, values = row
            together.setdefault(key, []).append(record_of(Example, values))
    for number, examples in enumerate(together.values(), 1):
        try:
            yield len(examples), list(dataset.merge.merge(examples))
        except SkipRow as skip:
            yield len(examples), Refused(number, skip.reason, "", skip=True)
