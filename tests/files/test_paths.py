"""Files: names, patterns, places that cannot be written to; a file is whole or not at all."""

import errno
import hashlib
import io
import os
import sys
from functools import partial
from pathlib import Path

import pytest

from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.checksums import digests
from kiltetl.transforms.files.paths import (
    FileInfo,
    absolute,
    basename,
    check_filesystem,
    delete_files,
    delete_folder,
    exists,
    expand,
    file_size,
    folder_of,
    is_local,
    join,
    list_folder,
    make_folder,
    move_all,
)
from kiltetl.transforms.files.shards import (
    shard_name,
)
from kiltetl.transforms.files.streams import (
    CountingStream,
    open_binary,
    read_json,
    replacing,
    write_json,
    write_text,
)

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
    move_all([(path, path + ".moved")])
    delete_files([path + ".moved"])
    delete_files([path + ".moved"])
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


def test_nothing_is_written_to_the_web() -> None:
    with pytest.raises(InputError, match="http://127"):
        write_text("http://127.0.0.1:1/x", "x")
    with pytest.raises(InputError):
        check_filesystem("https://x/y", write=True)
    check_filesystem("https://x/y")
    check_filesystem("anything local")


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
