"""Rows of every format, and what spoils one of them alone."""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import random
import sys
import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import ijson
import pytest

from kiltetl.schemas.errors import InputError
from kiltetl.schemas.reasons import RECORD_TOO_DEEP, RECORD_TOO_LARGE
from kiltetl.transforms.files.rows import BadRow, _Halves, _items_by_events, _plain, read_lines, read_rows
from tests.support.sharing import soak

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
    assert found[1][1].detail.startswith("lists and objects" if line.startswith(b"[[[[") else "not JSON: ")


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
    assert sum(told) == path.stat().st_size


def test_an_error_of_the_reader_of_rows_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"1\n2\n")
    with pytest.raises(OSError, match="mine"):  # noqa: PT012
        for _ in read_rows(str(path)):
            raise OSError("mine")


# --------------------------------------------------------------------------------------------
# packed files: damage is no end

PACKERS = {"gz": partial(gzip.compress, mtime=0), "bz2": bz2.compress, "xz": lzma.compress}
LINES = [b'{"row": %d, "text": "%s"}\n' % (i, bytes([97 + i % 26]) * (i % 50)) for i in range(200)]


def packed(kind: str, *pieces: list[bytes]) -> bytes:
    return b"".join(PACKERS[kind](b"".join(lines)) for lines in pieces)


def rows_or_error(path: Path, data: bytes) -> list[Any] | str:
    path.write_bytes(data)
    try:
        return [row for _, row in read_rows(str(path))]
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("kind", PACKERS)
def test_files_of_several_streams(kind: str, tmp_path: Path) -> None:
    whole = [json.loads(line) for line in LINES]
    path = tmp_path / "x"
    for pieces in ([LINES], [LINES[:7], LINES[7:]], [LINES[:50], [], LINES[50:51], LINES[51:], []]):
        assert rows_or_error(path, packed(kind, *pieces)) == whole
    assert rows_or_error(path, packed(kind, LINES) + bytes(8)) == whole  # zeros behind the end, in fours
    cut = b"".join(LINES)[:-30]
    assert rows_or_error(path, packed(kind, [cut])) == rows_or_error(path, cut)


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("streams", [1, 3])
def test_a_flipped_bit_loses_no_row_in_silence(kind: str, streams: int, tmp_path: Path) -> None:
    whole = [json.loads(line) for line in LINES]
    size = -(-len(LINES) // streams)
    data = packed(kind, *(LINES[i : i + size] for i in range(0, len(LINES), size)))
    drawn = random.Random(streams)
    found = []
    for bit in drawn.sample(range(8 * len(data)), 250):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        found.append(rows_or_error(tmp_path / "x", bytes(damaged)))
    # a head that says gzip no more is text, of which no row can be read
    assert all(one == whole or isinstance(one, str) or BadRow in map(type, one) for one in found)
    assert sum(str(one).startswith(f"{tmp_path / 'x'}: ") for one in found) > 200


@pytest.mark.parametrize("kind", PACKERS)
def test_a_file_that_is_cut_or_has_junk_behind_it(kind: str, tmp_path: Path) -> None:
    first, second = packed(kind, LINES[:100]), packed(kind, LINES[100:])
    for cut in (*range(1, 30), len(second) // 2, *range(len(second) - 12, len(second))):
        assert "cut off or damaged" in rows_or_error(tmp_path / "x", first + second[:cut])
    other = packed("bz2" if kind != "bz2" else "gz", LINES)
    for junk in (b"x", b"junk" * 20, b'{"row": 1}\n', other, first[:3]):
        assert "cut off or damaged" in rows_or_error(tmp_path / "x", first + junk)


@pytest.mark.parametrize(
    ("head", "kind", "command"),
    [
        (b"7z\xbc\xaf\x27\x1c", "7z", "7z x"),
        (b"PK\x03\x04", "zip", "unzip"),
        (b"\x28\xb5\x2f\xfd", "zstd", "zstd -d"),
        (bytes(257) + b"ustar", "tar", "tar -xf"),
        (b"Rar!\x1a\x07\x00", "rar", "unrar x"),
    ],
)
def test_what_is_packed_otherwise_is_told_by_its_bytes(head: bytes, kind: str, command: str, tmp_path: Path) -> None:
    found = rows_or_error(tmp_path / "x.jsonl", head + bytes(600))
    assert found == f"{tmp_path / 'x.jsonl'}: packed as {kind}, which is not read; unpack it first: {command}"
    assert rows_or_error(tmp_path / "x.7z", b'{"row": 1}\n') == [{"row": 1}]


# --------------------------------------------------------------------------------------------
# records that are too large or too deep: bounded, and none beside them is lost


@pytest.mark.parametrize("pack", PACK)
def test_a_line_that_is_too_large_is_passed_over(pack: str, tmp_path: Path) -> None:
    long = json.dumps({"a": "x" * 3_000_000}).encode()
    path = tmp_path / "x"
    path.write_bytes(PACK[pack](b'{"a": 1}\n' + long + b'\n{"a": 2}\n' + b"[" * 3_000_000))  # type: ignore[operator]
    (one, first), (two, large), (three, last), (four, open_) = read_rows(str(path), most=1 << 20)
    assert (one, first, three, last) == (1, {"a": 1}, 3, {"a": 2})
    for number, row, size in ((two, large, 3_000_010), (four, open_, 3_000_000)):
        assert row == BadRow(f"{size:,} bytes or more, and --max-record-mb allows 1,048,576", RECORD_TOO_LARGE), number
    exact = b'{"a": 1}'
    assert rows_or_error_most(path, exact + b"\n" + exact, len(exact)) == [{"a": 1}, {"a": 1}]
    assert [type(row) for row in rows_or_error_most(path, exact + b"\n" + exact, len(exact) - 1)] == [BadRow] * 2


def rows_or_error_most(path: Path, data: bytes, most: int) -> list[Any]:
    path.write_bytes(data)
    return [row for _, row in read_rows(str(path), most=most)]


def test_memory_is_that_of_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b'{"a": 1}\n' + b"[" * 40_000_000 + b'\n{"a": 2}\n')
    tracemalloc.start()
    try:
        assert [type(row) for _, row in read_rows(str(path), most=1 << 20)] == [dict, BadRow, dict]
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def nested(depth: int) -> str:
    return '{"a":[' * (depth // 2) + "[]" * (depth % 2) + "]}" * (depth // 2)


def test_a_line_that_is_too_deep_spoils_no_other(tmp_path: Path) -> None:
    found = rows(tmp_path, f"1\n{nested(100_000)}\n{nested(400)}\n2".encode())
    assert found[1][1] == BadRow("lists and objects are nested too deep", RECORD_TOO_DEEP)
    assert [row for _, row in found[:1] + found[2:]] == [1, json.loads(nested(400)), 2]


@pytest.mark.parametrize("items", ["Data.item", *soak("item", "a.b.item")])
def test_an_item_that_is_too_deep_or_too_large_spoils_no_other(items: str, tmp_path: Path) -> None:
    deep, large = nested(100_000), json.dumps({"a": ["y" * 1000] * 2000})
    values = ['{"x": 1}', deep, "[[]]", large, '"z"', nested(400), "null"]
    document = f"[{', '.join(values)}]"
    for name in reversed(items.split(".")[:-1]):
        document = f'{{"other": [{deep}, 1], "{name}": {document}, "later": {{"item": 3}}}}'
    path = tmp_path / "x.json"
    path.write_text(document)
    tracemalloc.start()
    try:
        found = list(read_rows(str(path), "json", items, most=1 << 20))
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    assert [number for number, _ in found] == list(range(1, 8))
    (_, _, _, bad, _, _, _) = [row for _, row in found]
    assert isinstance(bad, BadRow)
    assert bad.reason == RECORD_TOO_LARGE
    assert found[1][1] == BadRow("lists and objects are nested deeper than 500", RECORD_TOO_DEEP)
    assert [found[i][1] for i in (0, 2, 4, 5, 6)] == [json.loads(values[i]) for i in (0, 2, 4, 5, 6)]


def test_an_item_that_is_too_deep_far_into_a_document(tmp_path: Path) -> None:
    """Those before it were read already, and are not read again."""
    rows_before = [{"row": i, "text": "x" * 100} for i in range(5000)]
    document = json.dumps(rows_before)[:-1] + f", {nested(1000)}, 7]"
    path = tmp_path / "x.json"
    path.write_text(document)
    found = list(read_rows(str(path), "json"))
    assert [number for number, _ in found] == list(range(1, 5003))
    assert [row for _, row in found[:5000]] == rows_before
    assert [type(row) for _, row in found[5000:]] == [BadRow, int]


def test_one_text_that_is_too_large_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([1, "x" * (3 << 20), 2]))
    with pytest.raises(InputError, match=r"x\.json, after record 1: a single text of more than --max-record-mb"):
        list(read_rows(str(path), "json", most=1 << 20))


def test_items_by_events_are_those_of_the_quick_way() -> None:
    drawn = random.Random(3)

    def value(depth: int) -> Any:
        kind = drawn.randrange(8 if depth else 6)
        if kind > 5:
            return [value(depth - 1) for _ in range(drawn.randrange(4))]
        if kind > 4 and depth:
            return {drawn.choice(["a", "b", "item", "ü"]): value(depth - 1) for _ in range(drawn.randrange(4))}
        return drawn.choice([None, True, 0, -7, 1.5, "x", "", "[{", 10**30])

    for _ in range(400):
        document = json.dumps(value(5)).encode()
        for items in ("item", "a.item", "item.item", "a.b.item", "item.a"):
            quick = [_plain(row) for row in ijson.items(io.BytesIO(document), items)]
            assert list(_items_by_events(io.BytesIO(document), items, 1 << 20)) == quick, (document, items)
