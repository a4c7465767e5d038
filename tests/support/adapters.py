"""Adapters on rows, through the reader that the jobs use: what each row gives, and the records merged of them."""

import gzip
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kiltetl.schemas.records import Example, SourcePage
from kiltetl.transforms.datasets.spec import Dataset, Json, Row
from kiltetl.transforms.jobs.examples import Read, Refused, check_format, deal_out, merged, read_pages, read_source
from tests.support.checkout import ROOT

FOLDER = ROOT / "tests" / "datasets"


def rows(path: Path) -> list[Any]:
    """What a file of the tests holds."""
    if path.suffix == ".json":
        return list(json.loads(path.read_text("utf-8")))
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in content.decode("utf-8").split("\n") if line.strip()]


def reads(dataset: Dataset, *given: Any, beside: Mapping[str, str] | None = None) -> list[Read]:
    """What each row gives: rows of JSON, or lines of text, in a file of the dataset's form.

    ``beside`` are files in its folder, name to text.
    """
    with tempfile.TemporaryDirectory() as folder:
        return list(read_source(dataset, _written(dataset, Path(folder), given, beside or {})))


def merges(dataset: Dataset, *given: Any) -> list[Read]:
    """What each key of the rows gives, for a dataset whose rows are merged."""
    with tempfile.TemporaryDirectory() as folder:
        return _merged(dataset, _written(dataset, Path(folder), given, {}), folder)


def records(dataset: Dataset, *given: Any) -> list[Example]:
    """All examples of rows, merged where the dataset merges them."""
    return examples_of(reads(dataset, *given) if dataset.merge is None else merges(dataset, *given))


def one(dataset: Dataset, row: Any, beside: Mapping[str, str] | None = None) -> Example:
    """The one example of a row."""
    (read,) = reads(dataset, row, beside=beside)
    assert not isinstance(read, Refused), read
    (example,) = read
    return example


def why(dataset: Dataset, row: Any, beside: Mapping[str, str] | None = None) -> str:
    """Why a row gives nothing: the reason of a rule, or what is wrong with it."""
    (read,) = reads(dataset, row, beside=beside)
    return told(read)


def told(read: Read) -> str:
    """Why there is nothing."""
    assert isinstance(read, Refused), read
    return read.reason if read.skip else read.detail


def pages(dataset: Dataset, row: Row) -> Sequence[SourcePage]:
    """The pages of a row of evidence files."""
    found = read_pages(dataset, 1, row)
    assert not isinstance(found, Refused), found
    return found


def used(dataset: Dataset, path: Path) -> tuple[list[Example], Counter[str]]:
    """The records of a file, and why rows of it are left out; none may be malformed."""
    found = list(read_source(dataset, str(path)))
    skipped: Counter[str] = Counter()
    for read in found:
        if isinstance(read, Refused):
            assert read.skip, read
            skipped[read.reason] += 1
    examples = records_of(dataset, path)
    check(examples)
    return examples, skipped


def records_of(dataset: Dataset, path: Path) -> list[Example]:
    """All examples of a file, merged where the dataset merges them."""
    if dataset.merge is None:
        return examples_of(read_source(dataset, str(path)))
    with tempfile.TemporaryDirectory() as folder:
        return examples_of(_merged(dataset, str(path), folder))


def check_lines(dataset: Dataset, *lines: str) -> None:
    """InputError for lines that are not of the dataset's format, as a command has it."""
    with tempfile.TemporaryDirectory() as folder:
        check_format(dataset, _written(dataset, Path(folder), lines, {}))


def examples_of(found: Iterable[Read]) -> list[Example]:
    """The examples among what rows give."""
    return [example for read in found if not isinstance(read, Refused) for example in read]


def _written(dataset: Dataset, folder: Path, given: Sequence[Any], beside: Mapping[str, str]) -> str:
    path = folder / "raw"
    if not isinstance(dataset.source, Json):
        path.write_bytes("\n".join(given).encode("utf-8"))
    elif dataset.source.items is None:
        path.write_text("".join(json.dumps(row) + "\n" for row in given), "utf-8")
    else:
        document: Any = list(given)
        for name in reversed(dataset.source.items.split(".")[:-1]):
            document = {name: document}
        path.write_text(json.dumps(document), "utf-8")
    for name, text in beside.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text.encode("utf-8"))
    return str(path)


def _merged(dataset: Dataset, path: str, folder: str) -> list[Read]:
    piece = str(Path(folder) / "piece")
    deal_out(dataset, path, [piece])
    return [read for _, read in merged(dataset, [piece])]


def check(examples: Iterable[Example]) -> None:
    """What holds for the examples of any dataset."""
    keys = Counter((example.id, example.language) for example in examples)
    assert max(keys.values(), default=1) == 1
    for example in examples:
        assert isinstance(example.id, str)
        assert example.id
        assert example.input.strip()
        assert example.outputs
        for output in example.outputs:
            assert output.answer != ""
            assert output.answer or output.evidence or output.meta.answer_type
            assert output.evidence is None or output.evidence
            for evidence in output.evidence or ():
                assert evidence.title
                assert evidence.text is None or (evidence.text == evidence.text.strip() != "")
                assert evidence.text is None or evidence.source_page is None
                assert (evidence.source_page is None) == (evidence.sentence is None)


NOT_RELEASED = {
    "111897": {
        # The page is in the snapshot, where the release has two other sets of it: the sentence scored under 0.5.
        (("Telemundo", 0),),
        # Two facts: one of the sentences scored under 0.5, or the second page is not in the snapshot.
        (("Telemundo", 4), ("Hispanic_and_Latino_Americans", 0)),
    },
    # The one set of a record of train, whose answer stays; as above.
    "75397": {(("Nikolaj_Coster-Waldau", 7), ("Fox_Broadcasting_Company", 0))},
}
"""Evidence sets of real claims that the released record of the claim lacks, and why."""

RENAMED = {
    "Random House Tower": "Penguin Random House Tower",
    "Robert Erskine Childers": "Erskine Childers (author)",
    "A Rather Blustery Day": "Winnie the Pooh and the Blustery Day",
}
"""Titles in HotpotQA, and those that the same pages have in the snapshot of the release."""
