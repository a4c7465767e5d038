"""Schemas, tables and documentation, all derived from the dataclasses."""

import dataclasses
import os
import re
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kiltetl.schemas import arrow
from kiltetl.schemas.arrow import columns_of, markdown_of, record_of, records_of, schema_of, schema_text, table_of
from kiltetl.schemas.errors import RecordError
from kiltetl.schemas.records import (
    Anchor,
    Float32,
    History,
    Inline,
    Int32,
    Output,
    OutputMeta,
    PageRow,
    Paragraph,
    ParagraphRow,
    Provenance,
    ProvenanceMeta,
    Reject,
    ScannedTitle,
    Task,
    TaskMeta,
    TitleRow,
)

TABLES: list[type] = [ParagraphRow, PageRow, TitleRow, Reject, Task, ScannedTitle]
GOLDEN = Path(__file__).parent


# --------------------------------------------------------------------------------------------
# golden texts: a change of the format is a change of these files


@pytest.mark.parametrize("cls", [ParagraphRow, PageRow, TitleRow, Reject, Task])
def test_schema_text(cls: type) -> None:
    """KILTETL_WRITE_GOLDEN=1 writes the files anew."""
    path = GOLDEN / f"{cls.__name__}.txt"
    if os.environ.get("KILTETL_WRITE_GOLDEN"):
        path.write_text(schema_text(cls), encoding="utf-8")
    assert schema_text(cls) == path.read_text(encoding="utf-8")


def test_every_golden_text_has_its_class() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {"ParagraphRow", "PageRow", "TitleRow", "Reject", "Task"}


def test_an_inline_field_is_spread_into_columns() -> None:
    names = schema_of(ParagraphRow).names
    assert names[:4] == ["wikipedia_id", "wikipedia_title", "paragraph_id", "kind"]
    assert "paragraph" not in names


@pytest.mark.parametrize("cls", TABLES)
def test_schemas_carry_their_documentation(cls: type) -> None:
    schema = schema_of(cls)
    assert schema.metadata[b"description"].decode() == " ".join((cls.__doc__ or "").split())

    def check(fields: list[pa.Field]) -> None:
        for field in fields:
            assert field.metadata[b"description"].decode().endswith("."), field.name
            inner = field.type.value_type if pa.types.is_list(field.type) else field.type
            if pa.types.is_struct(inner):
                check([inner.field(i) for i in range(inner.num_fields)])

    check(list(schema))


@pytest.mark.parametrize("cls", TABLES)
def test_columns_are_nullable_where_the_class_says_so(cls: type) -> None:
    for column in columns_of(cls):
        assert schema_of(cls).field(column.name).nullable == column.nullable
    if cls is Task:
        schema = schema_of(cls)
        output = schema.field("output").type.value_type
        assert not schema.field("output").nullable
        assert output.field("answer").nullable
        assert output.field("provenance").nullable
        assert not output.field("provenance").type.value_field.nullable
        assert not output.field("meta").nullable


def test_markdown() -> None:
    text = markdown_of(PageRow)
    assert text.startswith("| column | type | meaning |\n| --- | --- | --- |\n| `wikipedia_id` | string | Id of")
    assert "| `categories` | list<string> |" in text
    assert "| `history.parentid` | int64, null allowed |" in text
    assert "| `output[].provenance[].meta.fever_page_id` | string, null allowed |" in markdown_of(Task)
    for cls in TABLES:
        rows = markdown_of(cls).splitlines()
        assert len(rows) == 2 + len(schema_text(cls).splitlines())
        assert all(len(re.findall(r"(?<!\\)\|", row)) == 4 for row in rows)


# --------------------------------------------------------------------------------------------
# round trips


TEXT = st.text(st.characters(codec="utf-8"), max_size=8)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field, by its type."""
    inner, extras, nullable = arrow._unwrap(hint)
    if inner is bool:
        found: st.SearchStrategy[Any] = st.booleans()
    elif inner is int:
        bits = 31 if "int32" in extras else 63
        found = st.integers(-(1 << bits), (1 << bits) - 1)
    elif inner is float:
        found = st.floats(width=32 if "float32" in extras else 64, allow_nan=False)
    elif inner is str:
        found = TEXT
    elif typing.get_origin(inner) is tuple:
        found = st.lists(values(typing.get_args(inner)[0]), max_size=3).map(tuple)
    else:
        found = records(inner)
    return st.none() | found if nullable else found


def records(cls: Any) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(cls, include_extras=True)
    return st.builds(cls, **{member.name: values(hints[member.name]) for member in dataclasses.fields(cls)})


@dataclass(frozen=True, slots=True)
class Part:
    name: Annotated[str, "A name."]
    weight: Annotated[Float32 | None, "A weight."]
    tags: Annotated[tuple[str, ...] | None, "Tags."] = None


@dataclass(frozen=True, slots=True)
class Whole:
    """What the tables of the project do not have: a struct that may be null, lists of lists, lists with nulls."""

    id: Annotated[str, "Id."]
    part: Annotated[Part | None, "A part or a | between two."]
    grid: Annotated[tuple[tuple[int, ...], ...] | None, "Lists of lists."]
    gaps: Annotated[tuple[str | None, ...], "A list that may hold null."]
    small: Annotated[Int32, "Small."]
    inner: Annotated[Part, Inline()]


@pytest.mark.parametrize("cls", [*TABLES, Whole])
@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_round_trip(cls: type, data: st.DataObject) -> None:
    rows = data.draw(st.lists(records(cls), max_size=3))
    table = table_of(cls, rows)
    assert table.schema.equals(schema_of(cls), check_metadata=True)
    table.validate(full=True)
    assert list(records_of(cls, table)) == rows


@pytest.mark.parametrize("cls", [*TABLES, Whole])
def test_no_rows(cls: type) -> None:
    table = table_of(cls, [])
    assert table.num_rows == 0
    assert table.schema.equals(schema_of(cls), check_metadata=True)
    assert list(records_of(cls, table)) == []


def task(**changes: Any) -> Task:
    provenance = Provenance(1.0, 0, 0, 4, 0, ProvenanceMeta(), None, "Foo", "1")
    output = Output("yes", OutputMeta(), (provenance,))
    return dataclasses.replace(Task("id-7", "Q?", TaskMeta(), (output,), "nq", "train", "en"), **changes)


def test_null_and_an_empty_list_are_kept_apart() -> None:
    """Case I6."""
    rows = [
        task(output=()),
        task(output=(Output(None, OutputMeta(), None), Output("", OutputMeta(), ()))),
        task(meta=TaskMeta(obj_surface=(), sub_surface=None)),
    ]
    table = table_of(Task, rows)
    found = table.to_pylist()
    assert found[0]["output"] == []
    assert [output["provenance"] for output in found[1]["output"]] == [None, []]
    assert [output["answer"] for output in found[1]["output"]] == [None, ""]
    assert (found[2]["meta"]["obj_surface"], found[2]["meta"]["sub_surface"]) == ([], None)
    assert list(records_of(Task, table)) == rows


def test_record_of_plain_values() -> None:
    row = dataclasses.asdict(task())
    assert record_of(Task, row) == task()
    flat = {"wikipedia_id": "1", "wikipedia_title": "T"} | dataclasses.asdict(Paragraph(0, "title", None, (), "T"))
    assert record_of(ParagraphRow, flat) == ParagraphRow("1", "T", Paragraph(0, "title", None, (), "T"))


def test_numbers_of_numpy() -> None:
    import numpy as np

    row = dataclasses.replace(task().output[0].provenance[0], bleu_score=np.float32(0.5), start_character=np.int64(3))  # type: ignore[index]
    (found,) = records_of(Provenance, table_of(Provenance, [row]))
    assert (found.bleu_score, found.start_character) == (0.5, 3)


# --------------------------------------------------------------------------------------------
# what does not fit


def output(**changes: Any) -> tuple[Output, ...]:
    return (dataclasses.replace(task().output[0], **changes),)


def provenance(**changes: Any) -> tuple[Output, ...]:
    found = task().output[0].provenance
    assert found
    return output(provenance=(dataclasses.replace(found[0], **changes),))


MISFITS = [
    (task(input=5), "input", "takes string, not 5"),
    (task(input=b"x"), "input", "takes string, not b'x'"),
    (task(input=None), "input", "takes no null"),
    (task(input="\ud800"), "input", "takes string, not '\\ud800'"),
    (task(output=None), "output", "takes no null"),
    (task(output=5), "output", "takes list<struct>, not 5"),
    (task(output="yes"), "output", "takes list<struct>, not 'yes'"),
    (task(output=(None,)), "output", "takes list<struct>, not (None,)"),
    (task(output=({"answer": "x"},)), "output.answer", "is missing"),
    (task(meta=None), "meta", "takes no null"),
    (task(meta={}), "meta.left_context", "is missing"),
    (task(meta=TaskMeta(obj_surface="abc")), "meta.obj_surface", "takes list<string>, not 'abc'"),  # type: ignore[arg-type]
    (task(meta=TaskMeta(obj_surface=("a", None))), "meta.obj_surface", "not ('a', None)"),  # type: ignore[arg-type]
    (task(meta=TaskMeta(obj_surface=("a", 3))), "meta.obj_surface", "not ('a', 3)"),  # type: ignore[arg-type]
    (task(output=output(answer=7)), "output.answer", "takes string, not 7"),
    (task(output=output(meta=None)), "output.meta", "takes no null"),
    (task(output=provenance(title=None)), "output.provenance.title", "takes no null"),
    (task(output=provenance(bleu_score="1")), "output.provenance.bleu_score", "takes float, not '1'"),
    (task(output=provenance(start_character=1.5)), "output.provenance.start_character", "takes int32, not 1.5"),
    (task(output=provenance(start_character=1 << 40)), "output.provenance.start_character", "takes int32, not 1099"),
    (task(output=provenance(start_character=True)), "output.provenance.start_character", "takes int32, not True"),
    (task(output=provenance(meta=OutputMeta())), "output.provenance.meta.fever_page_id", "is missing"),
]


@pytest.mark.parametrize(("row", "column", "message"), MISFITS)
def test_errors_name_column_value_and_record(row: Task, column: str, message: str) -> None:
    """Case I6."""
    rows = [task(id="before"), dataclasses.replace(row, id="the-bad-one"), task(id="after")]
    with pytest.raises(RecordError) as error:
        table_of(Task, rows)
    text = str(error.value)
    assert text.startswith(f"column {column!r} ")
    assert message in text
    assert "in record Task(id='the-bad-one'" in text
    assert error.value.__suppress_context__ or error.value.__context__ is None


def test_errors_are_short() -> None:
    with pytest.raises(RecordError) as error:
        table_of(Task, [task(input=["x" * 100_000])])
    assert len(str(error.value)) < 1000


def test_errors_in_what_is_spread_into_columns() -> None:
    anchor = Anchor("Foo", "Foo", None, 0, 3, "Foo")
    good = Paragraph(1, "paragraph", None, (), "Foo", (anchor,))
    assert table_of(ParagraphRow, [ParagraphRow("1", "T", good)]).num_rows == 1
    bad = dataclasses.replace(good, anchors=(dataclasses.replace(anchor, end="3"),))  # type: ignore[arg-type]
    with pytest.raises(RecordError, match=r"column 'anchors.end' takes int32, not '3', in record ParagraphRow\(wikip"):
        table_of(ParagraphRow, [ParagraphRow("1", "T", bad)])
    with pytest.raises(RecordError, match="column 'paragraph_id' is missing"):
        table_of(ParagraphRow, [ParagraphRow("1", "T", None)])  # type: ignore[arg-type]


def test_a_record_of_another_class() -> None:
    with pytest.raises(RecordError, match="column 'title' is missing"):
        table_of(TitleRow, [Reject("titles", "x", "y", "z")])  # type: ignore[list-item]


def test_an_integer_beyond_64_bits() -> None:
    history = History(1 << 70, None, 2, None, "", "")
    with pytest.raises(RecordError, match=r"column 'history.pageid' takes int64, not 11805\d+, in record PageRow"):
        table_of(PageRow, [PageRow("1", "T", (), False, 1, history)])


def test_a_column_has_one_type() -> None:
    @dataclass(frozen=True)
    class Both:
        x: Annotated[int | str, "Either."]

    with pytest.raises(TypeError, match="a column has one type"):
        schema_of(Both)
