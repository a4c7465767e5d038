"""Files: names, patterns, whole or not at all, rows of every format, checksums, shards, the web."""

import bz2
import contextlib
import errno
import gzip
import hashlib
import http.server
import io
import json
import lzma
import os
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from kiltetl.schemas.arrow import records_of, schema_of
from kiltetl.schemas.errors import InputError, RecordError
from kiltetl.schemas.records import PageRow, Paragraph, ParagraphRow, Reject, Task
from kiltetl.transforms.files import paths, shards, streams
from kiltetl.transforms.files import web as web_files
from kiltetl.transforms.files.checksums import digests, published_digest, sample_digest
from kiltetl.transforms.files.paths import (
    FileInfo,
    absolute,
    basename,
    check_filesystem,
    delete_file,
    delete_folder,
    exists,
    expand,
    file_size,
    folder_of,
    is_local,
    join,
    list_folder,
    make_folder,
    move,
)
from kiltetl.transforms.files.rows import BadRow, _Halves, read_lines, read_rows
from kiltetl.transforms.files.shards import (
    ShardWriter,
    footer_rows,
    have_rows,
    map_arrow,
    parquet_file,
    read_table,
    shard_name,
    write_arrow,
)
from kiltetl.transforms.files.streams import (
    CountingStream,
    local_copy,
    open_binary,
    read_json,
    replacing,
    write_json,
    write_text,
)
from kiltetl.transforms.files.web import WebStream

ODD = [
    "a b.xml",
    "ü ñ 北.xml",
    "a[1].xml",
    "star*.xml",
    "q?.xml",
    "#hash%20.xml",
    "back\\slash.xml",
    "{x}.xml",
    "-dash.xml",
]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --------------------------------------------------------------------------------------------
# names


def test_names() -> None:
    assert join("a", "b", "c") == os.path.join("a", "b", "c")
    assert join("gs://b/x", "y") == "gs://b/x/y"
    assert basename("gs://b/x/y.z") == "y.z"
    assert folder_of("gs://b/x/y.z") == "gs://b/x"
    assert basename(os.path.join("a", "b.c")) == "b.c"
    assert folder_of("b.c") == ""
    assert shard_name("paragraphs", 3, 42) == "paragraphs-00003-of-00042.parquet"
    assert absolute("x/y", Path("base")) == os.path.join("base", "x", "y")
    assert absolute("/x", Path("base")) == "/x"
    assert absolute("gs://x", Path("base")) == "gs://x"
    assert is_local("C:\\kilt\\out")


@pytest.mark.parametrize("name", ODD)
def test_paths_with_odd_characters(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "my folder [1]"
    path = str(folder / name)
    write_text(path, "tëxt")
    assert names(folder) == [name]
    assert expand([path]) == [FileInfo(path, 5)]
    assert exists(path)
    assert file_size(path) == 5
    assert digests(path, ["md5"]) == {"md5": hashlib.md5("tëxt".encode()).hexdigest()}
    assert list_folder(str(folder)) == [name]
    move(path, path + ".moved")
    delete_file(path + ".moved")
    delete_file(path + ".moved")
    assert names(folder) == []
    delete_folder(str(folder))
    delete_folder(str(folder))
    assert not folder.exists()
    assert list_folder(str(folder)) == []


def test_patterns(tmp_path: Path) -> None:
    for name in ("b.xml", "a.xml", "c.txt", ".hidden.xml", "d.xml"):
        (tmp_path / name).write_text(name)
    (tmp_path / "folder.xml").mkdir()
    (tmp_path / "folder.xml" / "deep.xml").write_text("x")
    at = str(tmp_path) + os.sep
    assert [basename(info.path) for info in expand([at + "*.xml"])] == ["a.xml", "b.xml", "d.xml"]
    assert [basename(info.path) for info in expand([at + "d.xml", at + "*.xml"])] == ["d.xml", "a.xml", "b.xml"]
    assert [basename(info.path) for info in expand([at + "**/deep.xml"])] == ["deep.xml"]
    assert [basename(info.path) for info in expand([at + "[ab].xml"])] == ["a.xml", "b.xml"]
    assert len(expand([at + "a.xml", at + os.path.join(".", "a.xml"), at + "a.*"])) == 1
    assert expand([at + "a.xml"]) == [FileInfo(at + "a.xml", 5)]


def test_patterns_that_name_no_file(tmp_path: Path) -> None:
    for pattern, message in (
        (str(tmp_path), "a folder; name the files in it, for example"),
        (str(tmp_path / "nope.xml"), "no such file"),
        (str(tmp_path / "*.xml"), "no such file"),
        ("", "no such file"),
    ):
        with pytest.raises(InputError) as error:
            expand([pattern])
        assert str(error.value).startswith(f"{pattern}: ")
        assert message in str(error.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes on this system")
def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        expand([str(tmp_path / "pipe")])


@pytest.mark.parametrize(
    ("path", "extra"),
    [("gs://bucket/x", "kiltetl[gcp]"), ("s3://bucket/x", "kiltetl[aws]"), ("hdfs://host/x", "apache-beam[hadoop]")],
)
def test_filesystems_of_extras(path: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case I9: before any work starts."""

    def absent(_: str) -> None:
        if path.startswith("gs"):
            raise ValueError("Unable to get filesystem from specified path, please …")
        if path.startswith("hdfs"):
            raise BeamIOError(
                "Unable to get the Filesystem", {path: ImportError("Failed to import hdfs. You can install")}
            )

    monkeypatch.setattr(FileSystems, "get_filesystem", absent)
    monkeypatch.setattr(paths, "_has_boto", lambda: False)
    for action in (check_filesystem, lambda p: expand([p]), lambda p: write_text(p, "x")):
        with pytest.raises(InputError) as error:
            action(path)
        assert str(error.value) == f"{path}: reading or writing it needs an extra: pip install '{extra}'"


@pytest.mark.parametrize("path", ["ftp://host/x", "file:///tmp/x", "abfs://x/y"])
def test_filesystems_that_nobody_knows(path: str) -> None:
    with pytest.raises(InputError, match=rf"^{path}: nothing here opens {path.partition(':')[0]}:// addresses; give"):
        expand([path])


def test_nothing_is_written_to_the_web() -> None:
    with pytest.raises(InputError, match="http://127"):
        write_text("http://127.0.0.1:1/x", "x")
    with pytest.raises(InputError):
        check_filesystem("https://x/y", write=True)
    check_filesystem("https://x/y")
    check_filesystem("anything local")


def test_an_address_that_cannot_be_opened_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(web_files.smart_open, "open", refuse)
    stream = WebStream.__new__(WebStream)
    with pytest.raises(OSError, match="no route to host"):
        stream.__init__("https://host/file")  # type: ignore[misc]
    stream.close()
    assert stream.closed


@pytest.mark.parametrize("name", ["nope", "."])
def test_what_cannot_be_opened(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        open_binary(str(tmp_path / name))
    assert str(error.value) == f"{tmp_path / name}: " + (
        "No such file or directory" if name == "nope" else "Is a directory"
    )


# --------------------------------------------------------------------------------------------
# writing


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "x.json"
    with replacing(str(path)) as stream:
        stream.write(b"{")
        assert not path.exists()
        stream.write(b"}")
    assert path.read_bytes() == b"{}"
    assert names(path.parent) == ["x.json"]


def test_a_file_is_replaced_or_stays(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(str(path)) as stream:  # noqa: PT012
        stream.write(b"new")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x"]
    write_text(str(path), "new")
    assert path.read_text() == "new"


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"file: this folder cannot be made or written to \(a file is in the way\)"):
        write_text(str(tmp_path / "file" / "x"), "x")


@pytest.mark.parametrize("below", ["", "a/b"])
def test_an_output_folder_that_cannot_be_made(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("x")
    folder = join(str(tmp_path / "file"), below) if below else str(tmp_path / "file")
    where = rf", {tmp_path / 'file'}" if below else ""
    said = rf"^{folder}: this folder cannot be made or written to \(a file is in the way{where}\); name another one"
    for action in (partial(check_filesystem, write=True), make_folder):
        with pytest.raises(InputError, match=said):
            action(folder)
    assert names(tmp_path) == ["file"]


@pytest.mark.skipif(sys.platform != "linux", reason="a place that nobody can write to")
def test_an_output_folder_where_nobody_may_write() -> None:
    for action in (partial(check_filesystem, write=True), make_folder):
        with pytest.raises(InputError, match=r"^/proc/x/y: this folder cannot be made or written to \(.+\); name"):
            action("/proc/x/y")


def test_a_check_leaves_nothing(tmp_path: Path) -> None:
    check_filesystem(str(tmp_path / "a" / "b"), write=True)
    assert names(tmp_path) == []


def test_a_disk_that_is_full_is_no_mistake_of_the_user(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    with (
        pytest.raises(OSError, match=rf"{path}: No space left on device; ") as failed,
        replacing(path),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert failed.value.errno == errno.ENOSPC
    assert names(tmp_path) == []


def test_json(tmp_path: Path) -> None:
    path = str(tmp_path / "x.json")
    write_json(path, {"b": "ü", "a": [1, None]})
    assert Path(path).read_text(encoding="utf-8") == '{\n  "a": [\n    1,\n    null\n  ],\n  "b": "ü"\n}\n'
    assert read_json(path) == {"a": [1, None], "b": "ü"}
    write_text(path, "{")
    with pytest.raises(InputError, match="not JSON"):
        read_json(path)


def test_counting_stream(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"0123456789")
    told: list[int] = []
    with open(path, "rb") as stream:
        counting = CountingStream(stream, told.append)
        assert counting.read(4) == b"0123"
        assert counting.seek(-2, io.SEEK_END) == 8
        assert io.BufferedReader(counting).read() == b"89"
        assert counting.tell() == 10
    assert sum(told) == 6


def test_local_copy(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    assert local_copy(path, str(tmp_path / "copies")) == path


# --------------------------------------------------------------------------------------------
# checksums


DIGESTS = {name: hashlib.new(name, b"data").hexdigest() for name in ("md5", "sha1", "sha256")}


@pytest.mark.parametrize(
    ("listing", "text", "algorithm"),
    [
        ("SHA256SUMS", "{sha256}  dump.xml.bz2\n", "sha256"),
        ("SHA1SUMS", "{sha1} *dump.xml.bz2\r\n", "sha1"),
        ("MD5SUMS", "# made today\n\n{md5}  ./sub/dump.xml.bz2", "md5"),
        ("xxwiki-20190801-sha1sums.txt", "{other}  other.xml.bz2\n{sha1}  dump.xml.bz2\n", "sha1"),
        ("xxwiki-20190801-md5sums.txt", "{md5}  dump.xml.bz2\n", "md5"),
        ("sha256sums.txt", "\ufeff{SHA256}  dump.xml.bz2\n", "sha256"),
        ("SHA256SUMS", "SHA256 (dump.xml.bz2) = {sha256}\n", "sha256"),
        ("SHA256SUMS", "{sha256}  notdump.xml.bz2\n{sha256}  dump.xml.bz2.part\n", None),
        ("SHA256SUMS", "{sha1}  dump.xml.bz2\n", None),
        ("SHA256SUMS", "<html>\x00 404 {sha256}</html>", None),
        ("SUMS", "{sha256}  dump.xml.bz2\n", None),
        ("notes-sha256.txt", "{sha256}  dump.xml.bz2\n", None),
    ],
)
def test_published_digests(listing: str, text: str, algorithm: str | None, tmp_path: Path) -> None:
    path = tmp_path / "dump.xml.bz2"
    path.write_bytes(b"data")
    text = text.format(**DIGESTS, SHA256=DIGESTS["sha256"].upper(), other="0" * 40)
    (tmp_path / listing).write_text(text, encoding="utf-8")
    (tmp_path / "sha1sums").mkdir()
    expected = None if algorithm is None else (algorithm, DIGESTS[algorithm], str(tmp_path / listing))
    assert published_digest(str(path)) == expected


def test_the_strongest_published_digest_is_taken(tmp_path: Path) -> None:
    for name in ("md5", "sha1", "sha256"):
        (tmp_path / f"{name}sums.txt").write_text(f"{DIGESTS[name]}  dump.xml\n")
    found = published_digest(str(tmp_path / "dump.xml"))
    assert found
    assert found[:2] == ("sha256", DIGESTS["sha256"])
    assert published_digest(str(tmp_path / "other.xml")) is None
    assert published_digest(str(tmp_path / "nowhere" / "dump.xml")) is None
    assert published_digest("https://host/dump.xml") is None


def test_published_digest_beside_a_bare_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("SHA1SUMS").write_text(f"{DIGESTS['sha1']}  dump.xml\n")
    assert published_digest("dump.xml") == ("sha1", DIGESTS["sha1"], "SHA1SUMS")


def test_digests(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"data")
    told: list[int] = []
    assert digests(str(path), ["md5", "sha1", "sha256"], told.append) == DIGESTS
    assert sum(told) == 4
    info = FileInfo(str(path), 4)
    assert sample_digest(info) == hashlib.sha1(b"datadata").hexdigest()


# --------------------------------------------------------------------------------------------
# rows


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


# --------------------------------------------------------------------------------------------
# shards


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


def test_other_filesystems_are_used_through_beam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The branches for gs:// and s3://, on a folder that plays the bucket."""
    for module in (paths, streams):
        monkeypatch.setattr(module, "is_local", lambda path: False)
    folder = str(tmp_path / "bucket")
    FileSystems.mkdirs(folder)
    path = join(folder, "x.parquet")
    write(Path(path), 3)
    write(Path(path), 4)
    assert exists(path)
    assert footer_rows(path) == 4
    assert file_size(path) == os.path.getsize(path)
    assert list_folder(folder, "*.parquet") == ["x.parquet"]
    assert expand([join(folder, "*")]) == [FileInfo(path, os.path.getsize(path))]
    write_text(join(folder, "SHA1SUMS"), f"{digests(path, ['sha1'])['sha1']}  x.parquet\n")
    assert published_digest(path)
    copy = local_copy(path, str(tmp_path / "copies"))
    assert copy != path
    assert Path(copy).read_bytes() == Path(path).read_bytes()
    assert local_copy(path, str(tmp_path / "copies")) == copy
    with pytest.raises(ZeroDivisionError), replacing(join(folder, "y")):
        raise ZeroDivisionError
    delete_file(path)
    assert names(tmp_path / "bucket") == ["SHA1SUMS"]
    delete_folder(folder)
    assert not os.path.exists(folder)


# --------------------------------------------------------------------------------------------
# the web


DATA = bytes((*range(32, 256), *range(32))) * 4000


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves DATA: with ranges, without them, without a length, or cut off; the path says which."""

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path.startswith("/gone"):
            self.send_error(404)
            return
        wanted, body, status = self.headers.get("Range"), DATA, 200
        if wanted and self.path.startswith("/ranges"):
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, end = int(first), int(last or len(DATA) - 1)
            if start >= len(DATA):
                self.send_response(416)
                self.end_headers()
                return
            body, status = DATA[start : end + 1], 206
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{start + len(body) - 1}/{len(DATA)}")
        if not self.path.startswith("/nolength"):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body[: len(body) // 2] if self.path.startswith("/short") else body)


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_file_on_the_web(web: str) -> None:
    """Case I9: read completely, from any place."""
    address = f"{web}/ranges/dump.xml.bz2"
    assert expand([address, address]) == [FileInfo(address, len(DATA))]
    with open_binary(address) as stream:
        assert stream.read(3) == DATA[:3]
        assert stream.seek(500_001) == 500_001
        assert stream.read(1000) == DATA[500_001:501_001]
        assert stream.seek(-5, io.SEEK_END) == len(DATA) - 5
        assert stream.read(100) == DATA[-5:]
        assert stream.read(100) == b""
        assert stream.seek(0) == 0
        assert stream.read() == DATA
    assert digests(address, ["sha1"])["sha1"] == hashlib.sha1(DATA).hexdigest()


def test_rows_on_the_web(web: str) -> None:
    found = list(read_rows(f"{web}/ranges/x.jsonl"))
    assert found
    assert all(isinstance(row, BadRow) for _, row in found)


@pytest.mark.parametrize("kind", ["none", "nolength"])
def test_a_server_that_knows_no_ranges(web: str, kind: str) -> None:
    with open_binary(f"{web}/{kind}/x") as stream:
        assert stream.read() == DATA
    with open_binary(f"{web}/{kind}/x") as stream:
        stream.read(10)
        with pytest.raises(InputError, match=f"{web}/{kind}/x: the server .* cannot send parts of a file"):
            stream.seek(500_001)


def test_a_size_that_no_server_tells(web: str) -> None:
    with pytest.raises(InputError, match="fetch the file and give its local path"):
        expand([f"{web}/nolength/x"])


@pytest.mark.parametrize("size", [-1, 1 << 16])
def test_an_answer_that_is_cut_off(web: str, size: int) -> None:
    """Case I9: a partial read is no end."""
    with open_binary(f"{web}/short/x") as stream, pytest.raises(InputError, match=f"{web}/short/x: the server"):
        list(iter(lambda: stream.read(size), b""))


def test_an_address_where_nothing_is(web: str) -> None:
    """Case A13."""
    address = f"{web}/gone/xxwiki-20190101.xml.bz2"
    for action in (open_binary, lambda path: expand([path])):
        with pytest.raises(InputError) as error:
            action(address)
        assert str(error.value).startswith(f"{address}: 404")
        assert "some months only: give the address of a newer one, or a local path" in str(error.value)


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"^http://127.0.0.1:9/x: "):
        open_binary("http://127.0.0.1:9/x")
