"""The Arrow side of the records: schemas, rows to tables and back, documentation.

Everything here is derived from the dataclasses of ``kiltetl.schemas.records``.
"""

import dataclasses
import numbers
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain
from operator import attrgetter
from typing import Any, TypeVar

import pyarrow as pa

from kiltetl.schemas.errors import RecordError
from kiltetl.schemas.records import Inline

Record = TypeVar("Record")

_SCALARS: dict[Any, pa.DataType] = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
_WIDTHS = {"int32": pa.int32(), "int64": pa.int64(), "float32": pa.float32()}


# What a scalar column takes; pyarrow itself would cut 1.5 to 1 and take bytes for text.
_TAKES: dict[Any, type] = {str: str, bool: bool, int: numbers.Integral, float: numbers.Real}


class _Misfit(Exception):
    """A RecordError under way: the column's path, from the outside in, and what is wrong."""

    def __init__(self, path: str, wrong: str) -> None:
        super().__init__(path, wrong)
        self.path, self.wrong = path, wrong


@dataclasses.dataclass(frozen=True)
class Column:
    """One column, or one member of a struct."""

    name: str
    type: pa.DataType
    nullable: bool
    doc: str
    item: Any  # the dataclass, scalar or sequence behind it
    get: Callable[[Any], Any]

    @property
    def field(self) -> pa.Field:
        return pa.field(self.name, self.type, self.nullable, {"description": self.doc} if self.doc else None)


def _unwrap(hint: Any) -> tuple[Any, list[Any], bool]:
    """A type hint without Annotated and Optional, what was annotated, and whether None is allowed."""
    extras: list[Any] = []
    nullable = False
    while True:
        origin = typing.get_origin(hint)
        if origin is typing.Annotated:
            extras += hint.__metadata__
            hint = hint.__origin__
        elif origin in (typing.Union, types.UnionType):
            members = [member for member in typing.get_args(hint) if member is not type(None)]
            if len(members) != 1:
                raise TypeError(f"a column has one type, not {hint}")
            hint, nullable = members[0], True
        else:
            return hint, extras, nullable


def _data_type(hint: Any, extras: Sequence[Any] = ()) -> pa.DataType:
    width = [_WIDTHS[extra] for extra in extras if isinstance(extra, str) and extra in _WIDTHS]
    if width:
        return width[0]
    if hint in _SCALARS:
        return _SCALARS[hint]
    if typing.get_origin(hint) is tuple:
        item, item_extras, nullable = _unwrap(typing.get_args(hint)[0])
        return pa.list_(pa.field("item", _data_type(item, item_extras), nullable))
    return pa.struct([column.field for column in columns_of(hint)])


@cache
def columns_of(cls: type) -> tuple[Column, ...]:
    """The columns of a record class, in order; fields marked Inline are replaced by their own."""
    hints = typing.get_type_hints(cls, include_extras=True)
    columns: list[Column] = []
    for member in dataclasses.fields(cls):
        hint, extras, nullable = _unwrap(hints[member.name])
        if any(isinstance(extra, Inline) for extra in extras):
            for inner in columns_of(hint):
                getter = attrgetter(f"{member.name}.{inner.name}")
                columns.append(dataclasses.replace(inner, get=getter))
            continue
        doc = " ".join(extra for extra in extras if isinstance(extra, str) and extra not in _WIDTHS)
        data_type = _data_type(hint, extras)
        columns.append(Column(member.name, data_type, nullable, doc, hint, attrgetter(member.name)))
    return tuple(columns)


@cache
def schema_of(cls: type) -> pa.Schema:
    """The Arrow schema of a record class; each field's documentation is its metadata."""
    doc = " ".join((cls.__doc__ or "").split())
    return pa.schema([column.field for column in columns_of(cls)], {"description": doc})


def _array(hint: Any, data_type: pa.DataType, values: Sequence[Any]) -> pa.Array:
    """Values of one column to an Arrow array. Lists and structs are built from flat children."""
    if not (pa.types.is_list(data_type) or pa.types.is_struct(data_type)):
        for kind in set(map(type, values)):
            takes = issubclass(kind, _TAKES[hint]) and (kind is not bool or hint is bool)
            if not takes and kind is not type(None):
                raise TypeError(f"a {kind.__name__} in a column of {data_type}")
        return pa.array(values, data_type)
    kinds = set(map(type, values))
    nulls = pa.array([value is None for value in values], pa.bool_()) if type(None) in kinds else None
    if pa.types.is_list(data_type):
        for kind in kinds:
            if not issubclass(kind, (tuple, list, type(None))):  # a str has items, too
                raise TypeError(f"a {kind.__name__} in a column of lists")
        lists = values if nulls is None else [value or () for value in values]
        flat = list(chain.from_iterable(lists))
        if not data_type.value_field.nullable and type(None) in set(map(type, flat)):
            raise TypeError("null inside a list")
        item, _, _ = _unwrap(typing.get_args(hint)[0])
        items = _array(item, data_type.value_type, flat)
        offsets = pa.array(list(accumulate(map(len, lists), initial=0)), pa.int32())
        return pa.ListArray.from_arrays(offsets, items, type=data_type, mask=nulls)
    columns = columns_of(hint)
    children = [_column(column, values) for column in columns]
    return pa.StructArray.from_arrays(children, fields=[column.field for column in columns], mask=nulls)


def _column(column: Column, owners: Sequence[Any]) -> pa.Array:
    """One column of the records that own its values (None: a null struct, which owns none)."""
    try:
        if type(None) in set(map(type, owners)):
            values = [None if owner is None else column.get(owner) for owner in owners]
        else:
            values = list(map(column.get, owners))
    except AttributeError as error:
        raise _Misfit(column.name, f"is missing: {error}") from None
    try:
        array = _array(column.item, column.type, values)
    except _Misfit as misfit:
        raise _Misfit(f"{column.name}.{misfit.path}", misfit.wrong) from None
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        for value in values:
            try:
                _array(column.item, column.type, [value])
            except Exception:
                raise _Misfit(column.name, f"takes {_type_name(column.type)}, not {_short(value)}") from None
        raise _Misfit(column.name, f"does not fit: {error}") from None
    if not column.nullable and array.null_count:
        for value, owner in zip(values, owners, strict=True):
            if value is None and owner is not None:
                raise _Misfit(column.name, "takes no null")
    return array


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else text[:300] + "…"


def table_of(cls: type[Record], rows: Sequence[Record]) -> pa.Table:
    """Records to a table with the schema of ``cls``; RecordError names a column that does not fit."""
    kind: type = cls
    columns = columns_of(kind)
    try:
        arrays = [_column(column, rows) for column in columns]
    except _Misfit as misfit:
        for row in rows:
            try:
                for column in columns:
                    _column(column, [row])
            except _Misfit as found:
                raise RecordError(f"column {found.path!r} {found.wrong}, in record {_short(row)}") from None
        raise RecordError(f"column {misfit.path!r} {misfit.wrong}") from None
    return pa.Table.from_arrays(arrays, schema=schema_of(kind))


@cache
def _members(cls: type) -> tuple[tuple[str, Any, bool], ...]:
    """(name, bare type, whether it is Inline) of each field of a record class."""
    hints = typing.get_type_hints(cls, include_extras=True)
    members = []
    for member in dataclasses.fields(cls):
        hint, extras, _ = _unwrap(hints[member.name])
        members.append((member.name, hint, any(isinstance(extra, Inline) for extra in extras)))
    return tuple(members)


def record_of(cls: type[Record], values: Mapping[str, Any]) -> Record:
    """One record out of plain values (dicts and lists), as JSON or ``to_pylist`` give them."""
    kind: type = cls
    arguments = {
        name: record_of(hint, values) if inline else _value(hint, values[name]) for name, hint, inline in _members(kind)
    }
    return cls(**arguments)


def _value(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if typing.get_origin(hint) is tuple:
        item, _, _ = _unwrap(typing.get_args(hint)[0])
        return tuple(_value(item, element) for element in value)
    return record_of(hint, value) if isinstance(hint, type) and dataclasses.is_dataclass(hint) else value


def records_of(cls: type[Record], table: pa.Table) -> Iterator[Record]:
    """The inverse of ``table_of``."""
    for values in table.to_pylist():
        yield record_of(cls, values)


def schema_text(cls: type) -> str:
    """The schema as indented text, one field a line: name, type, ``?`` where null is allowed."""
    lines: list[str] = []

    def add(columns: Sequence[Column], depth: int) -> None:
        for column in columns:
            inner, shown = column.item, _type_name(column.type)
            lines.append(f"{'  ' * depth}{column.name}: {shown}{'?' if column.nullable else ''}")
            if typing.get_origin(inner) is tuple:
                inner, _, _ = _unwrap(typing.get_args(inner)[0])
            if dataclasses.is_dataclass(inner):
                add(columns_of(typing.cast(type, inner)), depth + 1)

    add(columns_of(cls), 0)
    return "\n".join(lines) + "\n"


def _type_name(data_type: pa.DataType) -> str:
    if pa.types.is_list(data_type):
        return f"list<{_type_name(data_type.value_type)}>"
    return "struct" if pa.types.is_struct(data_type) else str(data_type)


def markdown_of(cls: type) -> str:
    """The columns as a Markdown table, nested ones with dotted names."""
    lines = ["| column | type | meaning |", "| --- | --- | --- |"]

    def add(columns: Sequence[Column], prefix: str) -> None:
        for column in columns:
            inner, mark = column.item, ""
            if typing.get_origin(inner) is tuple:
                inner, _, _ = _unwrap(typing.get_args(inner)[0])
                mark = "[]"
            null = ", null allowed" if column.nullable else ""
            doc = column.doc.replace("|", "\\|")
            lines.append(f"| `{prefix}{column.name}` | {_type_name(column.type)}{null} | {doc} |")
            if dataclasses.is_dataclass(inner):
                add(columns_of(typing.cast(type, inner)), f"{prefix}{column.name}{mark}.")

    add(columns_of(cls), "")
    return "\n".join(lines) + "\n"


# --------------------------------------------------------------------------------------------
# whether a record fits, before it is written

_NAMES = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


@cache
def _typed_members(cls: type) -> tuple[tuple[str, Any, tuple[Any, ...], bool], ...]:
    hints = typing.get_type_hints(cls, include_extras=True)
    found = ((member.name, *_unwrap(hints[member.name])) for member in dataclasses.fields(cls))
    return tuple((name, hint, tuple(extras), nullable) for name, hint, extras, nullable in found)


def misfit(record: Any) -> str | None:
    """What in a record is not of the type that its class says; None where all fits.

    >>> from kiltetl.schemas.records import TaskMeta
    >>> misfit(TaskMeta(type=7))
    'type is 7, not a text'
    """
    kind: Any = type(record)
    for name, hint, extras, nullable in _typed_members(kind):
        found: str | None = _misfit(getattr(record, name), hint, extras, nullable)
        if found is not None:
            return name + found
    return None


def _misfit(value: Any, hint: Any, extras: Sequence[Any], nullable: bool) -> str | None:
    if value is None:
        return None if nullable else " is missing"
    if hint in _SCALARS:
        fits = isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
        if fits and isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                return f" holds half of a character: {value[:60]!r}"
        if fits and hint is int and isinstance(value, int):
            bits = 31 if "int32" in extras else 63
            fits = -(1 << bits) <= value < 1 << bits
        if not fits and not (hint is float and isinstance(value, int) and not isinstance(value, bool)):
            return f" is {_short(value)}, not {_NAMES[hint]}"
        return None
    if typing.get_origin(hint) is tuple:
        if not isinstance(value, tuple):
            return f" is {_short(value)}, not a list"
        inner = _unwrap(typing.get_args(hint)[0])
        return next((f"[{i}]{found}" for i, one in enumerate(value) if (found := _misfit(one, *inner))), None)
    if type(value) is not hint:
        return f" is {_short(value)}, not {hint.__name__}"
    found = misfit(value)
    return None if found is None else f".{found}"
