"""Rows of every format, and what spoils one of them alone."""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.rows import BadRow, _Halves, read_lines, read_rows

PACK = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def rows(tmp_path: Path, data: bytes, *arguments: str) -> list[tuple[int, Any]]:
    path = tmp_path / "rows"
    path.write_bytes(data)
    return list(read_rows(str(path), *arguments))


@pytest.mark.parametrize("pack", PACK)
def test_json_lines(pack: str, tmp_path: Path) -> None:
    data = b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"a": "\xc3\xbc"}\n[1, 2]\n"x"\nnull'
    assert rows(tmp_path, PACK[pack](data)) == [(1, {"a": 1}), (4, {"a": "ü"}), (5, [1, 2]), (6, "x"), (7, None)]


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b'{"a": 1} x',
        b"{'a': 1}",
        b'{"a": "\xff"}',
        b'{"a": "\xed\xa0\x80"}',
        '{"a": 1}'.encode("utf-16-be"),
        b'{"a": "\\ud800"}',
        b'{"a": ["\\uDC00 x"]}',
        b"[" * 100_000,
        b"1" * 10_000,
        b"\0",
        b"<html>",
    ],
)
def test_a_broken_line_spoils_no_other(line: bytes, tmp_path: Path) -> None:
    found = rows(tmp_path, b'{"a": 1}\n' + line + b'\n{"a": 2}\n')
    assert [found[0], found[2]] == [(1, {"a": 1}), (3, {"a": 2})]
    assert found[1][0] == 2
    assert isinstance(found[1][1], BadRow)
    assert found[1][1].detail.startswith("not JSON: ")


ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_files_that_are_not_utf_8(encoding: str, pack: str, tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(PACK[pack]('[{"a": "ü"}]\n[{"a": 2}]\n'.encode(encoding)))
    for read in (read_rows(str(path)), read_rows(str(path), "json"), read_lines(str(path))):
        with pytest.raises(InputError, match=r"/rows: not UTF-8 text \(it starts as UTF-16 or UTF-32 does\)"):
            next(iter(read))


def test_numbers_and_escapes_of_json_lines(tmp_path: Path) -> None:
    line = b'{"big": 12345678901234567890123, "x": 1.5, "e": 1e3, "s": "\\ud83d\\ude00\\u00fc\\\\ud800"}\n'
    assert rows(tmp_path, line) == [(1, {"big": 12345678901234567890123, "x": 1.5, "e": 1000.0, "s": "😀ü\\ud800"})]


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize(
    ("document", "items"),
    [
        ('[{"a": 1}, {"a": 2.5}]', "item"),
        ('\ufeff\n[{"a": 1}, {"a": 2.5}]\n', "item"),
        ('{"Version": 1, "Data": [{"a": 1}, {"a": 2.5}], "Tail": []}', "Data.item"),
        ('{"x": {"y": [{"a": 1}, {"a": 2.5}]}}', "x.y.item"),
        ('[[{"a": 1}], [{"a": 2.5}]]', "item.item"),
    ],
)
def test_json_documents(document: str, items: str, pack: str, tmp_path: Path) -> None:
    assert rows(tmp_path, PACK[pack](document.encode()), "json", items) == [(1, {"a": 1}), (2, {"a": 2.5})]


def test_numbers_of_json_documents(tmp_path: Path) -> None:
    """Annotation ids exceed 64 bits."""
    document = (
        b'[{"id": 13034520411283482713, "big": [12345678901234567890123, {"x": -0.5}], "f": 1e3, "n": null, "t": true}]'
    )
    ((number, row),) = rows(tmp_path, document, "json")
    assert number == 1
    assert row == {
        "id": 13034520411283482713,
        "big": [12345678901234567890123, {"x": -0.5}],
        "f": 1000.0,
        "n": None,
        "t": True,
    }
    assert type(row["f"]) is float
    assert type(row["big"][1]["x"]) is float
    json.dumps(row)
    assert rows(tmp_path, b"[1.5, 2]", "json") == [(1, 1.5), (2, 2)]


@pytest.mark.parametrize(
    "half", [r"\ud83d", r"\uDC00 x", r"\udc00\ud83d", r"\\\uD800", r"\ud800\ud83d\ude00", r"\ud800\u0041", r"\ud800\n"]
)
def test_half_a_surrogate_pair_spoils_no_other_row(half: str, tmp_path: Path) -> None:
    document = rf'[{{"a": ["😀?"]}}, {{"a": [{{"b": "{half}"}}]}}, {{"{half}": 1}}, {{"a": "\ud83d\ude00\uffff"}}]'
    bad = BadRow("not JSON: half a surrogate pair")
    expected = [(1, {"a": ["😀?"]}), (2, bad), (3, bad), (4, {"a": "😀\uffff"})]
    assert rows(tmp_path, document.encode(), "json") == expected
    assert rows(tmp_path, f'{{"Half": "{half}", "Data": {document}}}'.encode(), "json", "Data.item") == expected


@pytest.mark.parametrize(
    "value",
    ["1" + "0" * 4300, "9" * 4301, "-" + "9" * 5000, "[" * 1500 + "]" * 1500, '{"a":' * 1500 + "1" + "}" * 1500],
)
@pytest.mark.parametrize("row", ['{"a": %s}', '{"a": [{"b": %s}]}', "%s"])
def test_a_value_that_is_too_much_spoils_no_other_row(value: str, row: str, tmp_path: Path) -> None:
    bound = sys.get_int_max_str_digits()
    lines = ['{"a": 1}', row % value, f'{{"a": {"9" * 4300}}}']
    for source, text in (("json", f"[{', '.join(lines)}]"), ("jsonl", "\n".join(lines))):
        found = rows(tmp_path, text.encode(), source)
        assert [number for number, _ in found] == [1, 2, 3]
        assert found[0][1] == {"a": 1}
        assert isinstance(found[1][1], BadRow)
        assert found[2][1] == {"a": int("9" * 4300)}
    with pytest.raises(InputError, match="the JSON document has no list at 'Data'"):
        rows(tmp_path, f'{{"Other": [{"9" * 5000}]}}'.encode(), "json", "Data.item")
    assert sys.get_int_max_str_digits() == bound


def test_an_exponent_that_no_number_has(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"after record 1: holds a number with too large an exponent"):
        rows(tmp_path, b'[{"a": 1e9}, {"a": 1e99999999999999999999}]', "json")


@pytest.mark.parametrize("text", [r"\uD83D\uDE00", r"\\ud800", r"\\\ud83d\ude00?", r"\u00fc\n\"", "\uffff北"])
@pytest.mark.parametrize("count", [1, 2, 5, 6, 7, 11, 12, 13, 1 << 16])
def test_an_escape_is_read_whole_wherever_a_read_ends(text: str, count: int) -> None:
    value = json.loads(f'"{text}"')
    halves = _Halves(io.BytesIO(rf'["{text}", "{text * 20}", "{text}\uD800", "{text}"]'.encode()))
    pieces = iter(partial(halves.read, count), b"")
    assert json.loads(b"".join(pieces)) == [value, value * 20, value + halves.MARK, value]


@pytest.mark.parametrize(("document", "items"), [(b"[]", "item"), (b'{"Data": []}', "Data.item")])
def test_an_empty_list(document: bytes, items: str, tmp_path: Path) -> None:
    assert rows(tmp_path, document, "json", items) == []


@pytest.mark.parametrize(
    ("document", "items", "message"),
    [
        (b'{"data": [1]}', "Data.item", "the JSON document has no list at 'Data'"),
        (b'{"Data": {"x": [1]}}', "Data.item", "has no list at 'Data'"),
        (b'{"a": 1}', "item", "has no list at 'its top'"),
        (b"[1, 2", "item", "after record 2: not a JSON document (parse error: premature EOF)"),
        (b"[1, 2] x", "item", "after record 2: not a JSON document (parse error: trailing garbage)"),
        (b'{"a": 1}\n{"a": 2}\n', "item", "not a JSON document"),
        (b"", "item", "after record 0: not a JSON document"),
        (b'["\xff"]', "item", "not a JSON document (lexical error: invalid bytes in UTF8 string)"),
    ],
)
def test_json_documents_that_cannot_be_read(document: bytes, items: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        rows(tmp_path, document, "json", items)
    assert str(error.value).startswith(str(tmp_path / "rows"))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("source", ["jsonl", "json"])
@pytest.mark.parametrize("pack", ["gz", "bz2", "xz"])
def test_compressed_rows_that_are_cut_off_or_damaged(pack: str, source: str, tmp_path: Path) -> None:
    lines = [json.dumps({"n": number, "x": hashlib.sha1(bytes([number])).hexdigest()}) for number in range(200)]
    data = PACK[pack](("[" + ",\n".join(lines) + "]" if source == "json" else "\n".join(lines)).encode())
    assert len(rows(tmp_path, data, source)) == 200
    middle = len(data) // 2
    for broken in (data[:middle], data[:-2], data[:middle] + b"\xff" * 8 + data[middle + 8 :]):
        with pytest.raises(InputError) as error:
            rows(tmp_path, broken, source)
        assert str(error.value).startswith(str(tmp_path / "rows"))


def test_rows_report_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(b"1\n2\n"))
    told: list[int] = []
    assert len(list(read_rows(str(path), report=told.append))) == 2
    assert sum(told) >= path.stat().st_size


def test_lines_are_not_read_byte_by_byte(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": 1}\n' * 10_000)
    told: list[int] = []
    assert len(list(read_rows(str(path), report=told.append))) == 10_000
    assert len(told) < 10
    assert sum(told) - 6 == path.stat().st_size


def test_an_error_of_the_reader_of_rows_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"1\n2\n")
    with pytest.raises(OSError, match="mine"):  # noqa: PT012
        for _ in read_rows(str(path)):
            raise OSError("mine")
