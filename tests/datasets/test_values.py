"""Values of another kind than a dataset has, at every place of its rows: malformed, or of no matter."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from kiltetl.schemas.records import Example
from kiltetl.transforms.datasets import DATASETS
from kiltetl.transforms.datasets.mkqa import LANGUAGES
from kiltetl.transforms.datasets.spec import Json, SkipRow
from kiltetl.transforms.jobs.examples import _BREAKS, _checked
from tests.support.adapters import FOLDER

JSON = [name for name, dataset in DATASETS.items() if isinstance(dataset.source, Json)]
# a value, and the texts that would show that it was taken apart or for something else
WRONG: list[tuple[Any, set[str]]] = [
    ("qxz", {"q", "x", "z"}),
    ({"qxz": "y"}, {"qxz"}),
    ({"qxz": ["y"]}, {"qxz"}),
    (True, {"True"}),
    (1.5, {"1.5"}),
    ([["qxz"]], {"qxz"}),
    ("  ", {"  ", " "}),
    ("\u200b", {"\u200b"}),
    ("\u3164\u00a0", {"\u3164\u00a0"}),
    ("", {""}),
]


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a dataset's fixture that are objects."""
    source = DATASETS[name].source
    assert isinstance(source, Json)
    if source.items is None:
        lines = (FOLDER / name / "raw.jsonl").read_text("utf-8").split("\n")
        found = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
    else:
        found = json.loads((FOLDER / name / "raw.json").read_text("utf-8"))
        for key in source.items.split(".")[:-1]:
            found = found[key]
    return [row for row in found if isinstance(row, dict)]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*at, key))


def read(name: str, row: Any) -> list[Example] | None:
    """The examples of a row; None of one that is skipped or malformed."""
    try:
        return [_checked(example) for example in DATASETS[name].read(row)]
    except (SkipRow, *_BREAKS):
        return None


def texts(examples: list[Example]) -> set[str]:
    return {
        text for one in examples for text in (one.id, one.input, *(o.answer for o in one.outputs)) if text is not None
    }


@pytest.mark.parametrize("name", JSON)
def test_values_of_another_kind(name: str) -> None:
    tried = 0
    for row in rows(name)[:4]:
        right = read(name, row)
        if right is None:
            continue
        for at in places(row):
            if name == "mkqa" and set(at) & set(LANGUAGES[2:]):
                continue  # the languages are read alike
            for value, signs in WRONG:
                changed = copy.deepcopy(row)
                holder: Any = changed
                for key in at[:-1]:
                    holder = holder[key]
                holder[at[-1]] = value
                found = read(name, changed)
                tried += 1
                if found is not None and isinstance(value, str) == isinstance(_at(row, at), str) and value == "qxz":
                    continue  # a text for a text
                assert found is None or not (texts(found) - texts(right)) & signs, (at, value)
    assert tried > 50


def _at(row: Any, at: tuple[Any, ...]) -> Any:
    for key in at:
        row = row[key]
    return row
