"""Shards: the same bytes for the same rows, whole or not there; Arrow files; filesystems of others."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kiltetl.schemas.arrow import records_of, schema_of
from kiltetl.schemas.errors import InputError, RecordError
from kiltetl.schemas.records import PageRow, Paragraph, ParagraphRow, Reject, Task
from kiltetl.transforms.files import shards
from kiltetl.transforms.files.shards import (
    ShardWriter,
    footer_rows,
    have_rows,
    map_arrow,
    parquet_file,
    read_table,
    write_arrow,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def reject(number: int, text: str = "x") -> Reject:
    return Reject("pages", str(number), "page-failed", text)


def write(path: Path, count: int, **options: Any) -> ShardWriter[Reject]:
    with ShardWriter(str(path), Reject, **options) as shard:
        for number in range(count):
            shard.write(reject(number))
    return shard


def test_shards(tmp_path: Path) -> None:
    path = tmp_path / "rejects.parquet"
    shard = write(path, 25)
    assert shard.count == 25
    assert footer_rows(str(path)) == 25
    table = read_table(str(path))
    assert table.schema.equals(schema_of(Reject), check_metadata=True)
    assert list(records_of(Reject, table)) == [reject(number) for number in range(25)]
    assert read_table(str(path), ["reason"]).column_names == ["reason"]
    with parquet_file(str(path)) as file:
        assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert names(tmp_path) == ["rejects.parquet"]


@pytest.mark.parametrize("cls", [Reject, PageRow, ParagraphRow, Task])
def test_a_shard_without_rows(cls: type, tmp_path: Path) -> None:
    """Case I5."""
    path = tmp_path / "empty.parquet"
    with ShardWriter(str(path), cls) as shard:
        pass
    assert shard.count == 0
    assert footer_rows(str(path)) == 0
    table = pq.read_table(path)
    assert table.num_rows == 0
    assert table.schema.equals(schema_of(cls), check_metadata=False)


def test_row_groups_by_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "ROW_GROUP", 10)
    path = tmp_path / "x.parquet"
    write(path, 25)
    metadata = pq.read_metadata(path)
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [10, 10, 5]
    write(path, 20)
    assert pq.read_metadata(path).num_row_groups == 2


def test_row_groups_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case I7."""
    monkeypatch.setattr(shards, "ROW_GROUP_BYTES", 1000)
    path = tmp_path / "x.parquet"
    sizes = [1, 400, 700, 5000, 999, 1, 3]
    with ShardWriter(str(path), Reject, lambda row: len(row.detail)) as shard:
        for number, size in enumerate(sizes):
            shard.write(reject(number, "x" * size))
    metadata = pq.read_metadata(path)
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [3, 1, 2, 1]
    assert [len(row.detail) for row in records_of(Reject, pq.read_table(path))] == sizes


def test_same_rows_same_bytes(tmp_path: Path) -> None:
    anchors = ()
    for name in ("a.parquet", "b.parquet"):
        with ShardWriter(str(tmp_path / name), ParagraphRow) as shard:
            for number in range(500):
                shard.write(
                    ParagraphRow("1", "T", Paragraph(number, "paragraph", None, ("A",), f"text {number}", anchors))
                )
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_a_shard_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "ROW_GROUP", 10)
    path = tmp_path / "x.parquet"
    with pytest.raises(ZeroDivisionError), ShardWriter(str(path), Reject) as shard:  # noqa: PT012
        for number in range(25):
            shard.write(reject(number))
        raise ZeroDivisionError
    assert names(tmp_path) == []
    write(path, 3)
    before = path.read_bytes()
    with pytest.raises(RecordError, match="record Reject"), ShardWriter(str(path), Reject) as shard:  # noqa: PT012
        shard.write(reject(1))
        shard.write(Reject("pages", 5, "x", "y"))  # type: ignore[arg-type]
    assert names(tmp_path) == ["x.parquet"]
    assert path.read_bytes() == before


def test_a_record_that_does_not_fit_amid_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "ROW_GROUP", 2)
    with pytest.raises(RecordError), ShardWriter(str(tmp_path / "x.parquet"), Reject) as shard:  # noqa: PT012
        for number in range(9):
            shard.write(reject(number, None if number == 4 else "x"))  # type: ignore[arg-type]
    assert names(tmp_path) == []


def test_a_shard_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError), ShardWriter(str(tmp_path / "file" / "x.parquet"), Reject):
        raise AssertionError
    with pytest.raises(TypeError), ShardWriter(str(tmp_path / "x.parquet"), int):
        raise AssertionError
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("data", [b"", b"PAR1", b"no Parquet", b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_what_is_no_shard(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(data)
    for action in (footer_rows, read_table, map_arrow):
        with pytest.raises(InputError, match=r"x\.parquet: not a whole (Parquet|Arrow) file"):
            action(str(tmp_path / "x.parquet"))
    write(tmp_path / "y.parquet", 25)
    assert have_rows([(str(tmp_path / "y.parquet"), 25)])
    assert not have_rows([(str(tmp_path / "y.parquet"), 24)])
    for other in ("x.parquet", "none.parquet"):
        assert not have_rows([(str(tmp_path / "y.parquet"), 25), (str(tmp_path / other), 25)])


def test_arrow_files(tmp_path: Path) -> None:
    write(tmp_path / "x.parquet", 5)
    table = read_table(str(tmp_path / "x.parquet"))
    path = str(tmp_path / "x.arrow")
    write_arrow(path, table)
    assert map_arrow(path).equals(table)
    write_arrow(path, table.slice(0, 0))
    assert map_arrow(path).num_rows == 0
