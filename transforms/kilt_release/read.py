"""Records of the released JSON Lines as rows of our table. Unknown keys are passed over."""

import math
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from typing import Any, Final, TypeVar, get_args, get_origin

from kiltetl.schemas.arrow import Column, columns_of
from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.records import Output, OutputMeta, Task, TaskMeta
from kiltetl.transforms.kilt_release.write import language_of

Record = TypeVar("Record")
_INT32: Final = range(-(2**31), 2**31)
_IDS: Final = ("id", "wikipedia_id", "annotation_id")  # numbers are understood, our table has text
_BLANK: Final = ("input", "title", "section")  # the empty text where the key is absent


def from_kilt(record: Mapping[str, Any], dataset: str, split: str) -> Task:
    """A record of the release (or one of ours) as a row of our table.

    Ids that are numbers become text, scores are at most 1, an absent input is the empty text. An empty
    provenance is none, and an output that holds nothing is left out.

    Raises:
        MalformedRow: a value of another type; an id or answer without text; a key that must be there.
    """
    known = {**record, "dataset": dataset, "split": split}
    meta = record.get("meta") or {}
    known["language"] = record["language"] if "language" in record else language_of(meta, TaskMeta())
    task = _read(Task, known, "")
    outputs = tuple(replace(output, provenance=output.provenance or None) for output in task.output)
    nothing = Output(None, OutputMeta(), None)
    return replace(task, output=tuple(output for output in outputs if output != nothing))


def _read(cls: type[Record], given: Any, where: str) -> Record:
    """A record class out of plain values, each checked."""
    if not isinstance(given, Mapping):
        raise MalformedRow(f"{where} is {given!r:.60}, not an object")
    kind: type = cls
    values = {
        column.name: _value(column, given.get(column.name), f"{where}.{column.name}".lstrip("."))
        for column in columns_of(kind)
    }
    return cls(**values)


def _value(column: Column, value: Any, where: str) -> Any:
    if value is None:
        if column.nullable:
            return None
        if is_dataclass(column.item):
            return _read(column.item, {}, where)  # type: ignore[arg-type]
        if column.name in _BLANK:
            return ""
        if get_origin(column.item) is tuple:
            return ()
        raise MalformedRow(f"there is no {where}")
    if column.name in _IDS and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    value = _item(column.item, value, where)
    if column.name in ("id", "wikipedia_id", "answer") and not value.strip():
        raise MalformedRow(f"{where} is {value!r}, not a text")
    return min(1.0, value) if column.name == "bleu_score" else value


def _item(item: Any, value: Any, where: str) -> Any:
    """A value of a type: record class, sequence or scalar."""
    if is_dataclass(item):
        return _read(item, value, where)  # type: ignore[arg-type]
    if get_origin(item) is tuple:
        if not isinstance(value, (list, tuple)):
            raise MalformedRow(f"{where} is {value!r:.60}, not a list")
        return tuple(_item(get_args(item)[0], one, f"{where}[{i}]") for i, one in enumerate(value))
    if item is float and isinstance(value, int) and not isinstance(value, bool) and value in _INT32:
        value = float(value)
    fits = isinstance(value, item) and (item is bool or not isinstance(value, bool))
    if not fits or (item is int and value not in _INT32) or (item is float and not math.isfinite(value)):
        raise MalformedRow(f"{where} is {value!r:.60}, not a {_NAMES[item]}")
    return value


_NAMES: Final[Mapping[Any, str]] = {str: "text", bool: "truth value", int: "whole number", float: "number"}
