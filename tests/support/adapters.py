"""Adapters on rows: what each row gives, and the records that are merged of them."""

import contextlib
import dataclasses
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.records import Example
from kiltetl.transforms.datasets.spec import Dataset, Row, SkipRow
from tests.support.checkout import ROOT

FOLDER = ROOT / "tests" / "datasets"


def rows(path: Path) -> list[Any]:
    if path.suffix == ".json":
        return list(json.loads(path.read_text("utf-8")))
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in content.decode("utf-8").split("\n") if line.strip()]


def plain(value: Any) -> Any:
    """A record as JSON holds it, without what is None or empty."""
    if dataclasses.is_dataclass(value):
        fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {name: found for name, found in fields.items() if found is not None and found != {}}
    return [plain(one) for one in value] if isinstance(value, tuple) else value


def outcome(read: Callable[[Any], Iterator[Any]], row: Any) -> Any:
    """What a row gives: its records, the reason it is left out for, or what is wrong with it."""
    try:
        return [plain(record) for record in read(row)]
    except SkipRow as skip:
        return {"skipped": skip.reason}
    except MalformedRow as problem:
        return {"malformed": str(problem)}
    except (KeyError, IndexError, TypeError, ValueError) as problem:
        return {"malformed": type(problem).__name__}


def fixture(dataset: Dataset) -> list[Any]:
    """The rows of the dataset's own file."""
    path = FOLDER / dataset.name / f"raw.{dataset.source}"
    if dataset.parse is not None:
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
        return [with_companion(dataset, path.parent, row) for row in dataset.parse(lines)]
    if dataset.source == "json":
        found = json.loads(path.read_text("utf-8"))
        for name in dataset.items.split(".")[:-1]:
            found = found[name]
        return list(found)
    return rows(path)


def with_companion(dataset: Dataset, folder: Path, row: Row) -> Row:
    """The row with what is in the file beside its own that it needs."""
    file = None if dataset.companion is None else folder / dataset.companion(row)
    return row if file is None or not file.is_file() else {**row, "text": file.read_bytes().decode("utf-8")}


def groups(dataset: Dataset, examples: Iterable[Example]) -> list[list[Example]]:
    """Examples that the dataset makes one record of; each alone where it merges none."""
    found: dict[str, list[Example]] = {}
    for number, example in enumerate(examples):
        found.setdefault(dataset.key(example) if dataset.key else str(number), []).append(example)
    return list(found.values())


def merged(dataset: Dataset, examples: Iterable[Example]) -> list[Example]:
    """The records of examples, without those that merging leaves out."""
    found: list[Example] = []
    for group in groups(dataset, examples):
        with contextlib.suppress(SkipRow):
            found += dataset.merge(group) if dataset.merge else group
    return found


def used_rows(dataset: Dataset, given: Iterable[Row]) -> Iterator[Example]:
    for row in given:
        try:
            yield from list(dataset.read(row))
        except (SkipRow, MalformedRow, KeyError, IndexError, TypeError, ValueError):
            continue


def outcomes(dataset: Dataset) -> list[Any]:
    """Of every fixture row, then of every record merged of them, then of every row of the evidence files."""
    found = [outcome(dataset.read, row) for row in fixture(dataset)]
    if dataset.merge is not None:
        found += [outcome(dataset.merge, group) for group in groups(dataset, used_rows(dataset, fixture(dataset)))]
    if dataset.read_evidence is not None:
        found += [outcome(dataset.read_evidence, row) for row in rows(FOLDER / dataset.name / "evidence.jsonl")]
    return found


def one(dataset: Dataset, row: Row) -> Example:
    (example,) = dataset.read(row)
    return example


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


def used(dataset: Dataset, path: Path) -> tuple[list[Example], Counter[str]]:
    examples: list[Example] = []
    skipped: Counter[str] = Counter()
    for row in rows(path):
        try:
            examples += dataset.read(row)
        except SkipRow as skip:
            skipped[skip.reason] += 1
    found = merged(dataset, examples)
    check(found)
    return found, skipped


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
