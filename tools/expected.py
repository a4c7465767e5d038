"""The expected.jsonl of a dataset's fixture, out of the reader that the jobs use: for a person to review.

    python -m tools.expected nq
    python -m tools.expected my_package.mine:DATASET tests/mine

The folder (of a built-in dataset: its own among the tests) has ``raw.jsonl``, ``raw.json`` or ``raw.text``, what
its rows need beside it and, for a dataset with evidence files, ``evidence.jsonl``. A line of ``expected.jsonl``
is what a row gives: its records in a list, without what is null or empty, ``{"skipped": reason}``, or
``{"malformed": detail}``, where an error that the adapter did not raise itself has its kind as detail. Lines for
the rows of raw come first, then those of the merged records, then those of the rows of evidence.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from kiltetl.schemas.errors import InputError
from kiltetl.transforms.datasets import find_dataset
from kiltetl.transforms.datasets.spec import Dataset
from kiltetl.transforms.files.rows import read_rows
from kiltetl.transforms.jobs.examples import Refused, deal_out, merged, read_pages, read_source

TESTS = Path(__file__).resolve().parents[1] / "tests"


def plain(value: Any) -> Any:
    """A record as JSON holds it, without what is None or empty."""
    if is_dataclass(value):
        found = {one.name: plain(getattr(value, one.name)) for one in fields(value)}
        return {name: each for name, each in found.items() if each is not None and each != {}}
    return [plain(one) for one in value] if isinstance(value, (tuple, list)) else value


def outcome(given: Sequence[Any] | Refused) -> Any:
    """What a row gives, as a line of expected.jsonl has it."""
    if not isinstance(given, Refused):
        return plain(given)
    return {"skipped": given.reason} if given.skip else {"malformed": given.error or given.detail}


def outcomes(dataset: Dataset, folder: Path) -> list[Any]:
    """The lines of expected.jsonl for the fixture in a folder."""
    (raw,) = map(str, folder.glob("raw.*"))
    found = [outcome(read) for read in read_source(dataset, raw)]
    if dataset.merge is not None:
        with tempfile.TemporaryDirectory() as staging:
            piece = str(Path(staging) / "piece.jsonl")
            deal_out(dataset, raw, [piece])
            found += [outcome(read) for _, read in merged(dataset, [piece])]
    if dataset.evidence is not None:
        rows = read_rows(str(folder / "evidence.jsonl"))
        found += [outcome(read_pages(dataset, number, row)) for number, row in rows]
    return found


def folder_of(dataset: Dataset) -> Path:
    """The fixture of a built-in dataset."""
    found = [path.parent for path in sorted(TESTS.glob(f"**/datasets/{dataset.name}/raw.*"))]
    if not found:
        raise InputError(f"no folder datasets/{dataset.name} with a file raw.* in {TESTS}; name the folder")
    return found[0]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.expected", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dataset", metavar="NAME", help="a built-in dataset, or package.module:DATASET")
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="where its fixture is")
    given = parser.parse_args(arguments)
    try:
        dataset = find_dataset(given.dataset)
        folder = given.folder or folder_of(dataset)
        if len(list(folder.glob("raw.*"))) != 1:
            raise InputError(f"{folder}: needs one file raw.jsonl, raw.json or raw.text")
        found = outcomes(dataset, folder)
    except InputError as error:
        print(f"expected: {error}", file=sys.stderr)
        return 2
    path = folder / "expected.jsonl"
    before = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line] if path.exists() else []
    kinds = Counter(next(iter(one)) if isinstance(one, dict) else "with records" for one in found)
    print(f"{path}: {len(found)} lines, {', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))}")
    if found == before:
        print("as it stands")
        return 0
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found), "utf-8")
    print("written: check every line against its row by hand before you commit it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
