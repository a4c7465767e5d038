"""Files on the web, from a server of our own that breaks off, drips, sends on, compresses and changes its mind."""

import contextlib
import gzip
import hashlib
import http.server
import io
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files import web as web_files
from kiltetl.transforms.files.checksums import digests
from kiltetl.transforms.files.paths import FileInfo, expand, has_parts
from kiltetl.transforms.files.ranged import FIRST, MOST, RangedStream
from kiltetl.transforms.files.rows import BadRow, read_rows
from kiltetl.transforms.files.streams import open_binary
from kiltetl.transforms.jobs.dump_parts import plan_parts
from tests.support.miniwiki import Page, dump_xml, multistream

DATA = random.Random(1).randbytes(1 << 21)
ROWS = b"{}\nno row\n" * 20_000
DUMP = multistream(dump_xml([Page(f"Page {i}", "text " * 500) for i in range(60)]), 5)[0]


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves DATA, as the first part of the path says: see ``test_`` for what each means."""

    asked: list[tuple[str, str | None]] = []  # noqa: RUF012

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        kind, wanted = self.path.split("/")[1], self.headers.get("Range")
        before = [path for path, _ in self.asked].count(self.path)
        self.asked.append((self.path, wanted))
        whole = {"xml.bz2": DUMP, "x.jsonl": ROWS}.get(self.path[-7:], DATA)
        if kind == "gone":
            self.send_error(404)
        elif kind == "busy" and before % 3:
            self.send_error(503)
        elif kind == "forbidden":
            self.send_error(403)
        elif kind == "sent-on":
            self.send_response(302)
            self.send_header("Location", {"near": "/ranges/x", "round": "/sent-on/round"}.get(
                self.path.split("/")[2], self.path.partition("=")[2]))  # fmt: skip
            self.end_headers()
        elif kind == "packed":
            self._answer(200, gzip.compress(whole), {"Content-Encoding": "gzip"})
        elif kind == "unsaid":  # the size is told of the first answer alone
            body = whole + b"more" if self.path.endswith("more") else whole[: len(whole) // 2]
            self._answer(200, body, {}, len(whole) if wanted else None)
        elif wanted and kind not in ("none", "nolength", "short"):
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, end = int(first), min(int(last or len(whole) - 1), len(whole) - 1)
            if start >= len(whole):
                self._answer(416, b"", {"Content-Range": f"bytes */{len(whole)}"})
                return
            if kind == "elsewhere" and start:
                start -= 1
            named = {"Content-Range": f"bytes {start}-{end}/{len(whole)}", "ETag": '"one"'}
            if kind == "changed" and before:
                named["ETag"] = '"two"'
            body = whole[start : end + 1]
            sent = body
            if kind == "cut" or (kind == "cut-once" and before % 2):
                sent = body[:100_000]
            if kind == "stopped" and start + len(body) > 70_000:
                sent = body[: max(0, 70_000 - start)]
            if kind == "more":
                sent = body + b"more than was announced"
            self._answer(206, sent, named, None if kind == "more" else len(body), drip=kind == "drips" and before > 0)
        else:
            announced = None if kind == "nolength" else len(whole)
            sent = whole[: len(whole) // 2] if kind == "short" and (before % 3 or "for-ever" in self.path) else whole
            self._answer(200, sent + (b"more" if kind == "none" else b""), {}, announced)

    def _answer(
        self, status: int, body: bytes, headers: dict[str, str], announced: int | None = None, drip: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if announced is not None or status == 416 or "Content-Encoding" in headers:
            self.send_header("Content-Length", str(len(body) if announced is None else announced))
        self.end_headers()
        with contextlib.suppress(OSError):
            if drip:
                for byte in body:
                    self.wfile.write(bytes([byte]))
                    time.sleep(0.02)
            self.wfile.write(body)


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between tries, which take no time."""
    pauses: list[float] = []
    real = time.sleep
    quick = lambda seconds: real(seconds) if seconds < 0.1 else pauses.append(seconds)  # noqa: E731
    monkeypatch.setattr(web_files.time, "sleep", quick)
    Handler.asked.clear()
    return pauses


def read_all(address: str) -> bytes:
    with open_binary(address) as stream:
        return stream.read()


def test_a_file_on_the_web(web: str) -> None:
    """Case I9: read completely, from any place."""
    address = f"{web}/ranges/dump"
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
    assert all(wanted and wanted.startswith("bytes=") for _, wanted in Handler.asked)


def test_rows_on_the_web(web: str) -> None:
    found = list(read_rows(f"{web}/ranges/x.jsonl"))
    assert [number for number, _ in found] == list(range(1, 40_001))
    assert [isinstance(row, BadRow) for _, row in found] == [False, True] * 20_000


@pytest.mark.parametrize("kind", ["cut-once", "busy"])
def test_what_breaks_off_goes_on_from_there(web: str, kind: str, waited: list[float]) -> None:
    with open_binary(f"{web}/{kind}/x") as stream:
        stream.seek(1000)
        assert stream.read(500_000) == DATA[1000:501_000]
    assert waited


def test_every_answer_may_be_cut_as_long_as_something_comes(web: str) -> None:
    with open_binary(f"{web}/cut/x") as stream:
        assert stream.read() == DATA


@pytest.mark.parametrize("kind", ["stopped", "elsewhere"])
def test_after_five_tries_the_address_and_the_byte_are_named(web: str, kind: str, waited: list[float]) -> None:
    byte = {"stopped": "70,000", "elsewhere": "1,000"}[kind]
    with open_binary(f"{web}/{kind}/x") as stream:
        stream.seek(1000)
        with pytest.raises(InputError, match=rf"^{web}/{kind}/x: at byte {byte}: the server .*, 5 times; try again"):
            stream.read(500_000)
    assert waited[-4:] == [0.5, 1, 2, 4]


def test_no_more_bytes_than_were_asked_for(web: str) -> None:
    with open_binary(f"{web}/more/x") as stream:
        assert stream.read(10) + stream.read() == DATA
    assert read_all(f"{web}/unsaid/more") == DATA
    assert read_all(f"{web}/none/x") == DATA


def test_a_server_that_drips(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_files, "SILENCE", 0.1)
    with (
        open_binary(f"{web}/drips/x") as stream,
        pytest.raises(InputError, match=r"at byte \d+: the server sends less than 1000 bytes a second, 5 times"),
    ):
        stream.read(100)


def test_a_server_that_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(web_files, "SILENCE", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
        with pytest.raises(InputError, match=rf"^{address}: at byte 0: .*, 5 times"):
            open_binary(address)


def test_a_file_that_changes_while_it_is_read(web: str) -> None:
    with (
        open_binary(f"{web}/changed/x") as stream,
        pytest.raises(InputError, match=f"^{web}/changed/x: was changed on the server while it was read"),
    ):
        stream.read(1 << 20)


@pytest.mark.parametrize("target", ["https://127.0.0.1:1/x", "file:///etc/hosts", "ftp://127.0.0.1/x"])
def test_no_server_sends_on_to_another_scheme(web: str, target: str) -> None:
    for action in (open_binary, lambda path: expand([path])):
        with pytest.raises(InputError, match=f"the server sends on to {target}; give that address, if you trust it"):
            action(f"{web}/sent-on/to={target}")


def test_a_server_that_sends_on(web: str) -> None:
    assert read_all(f"{web}/sent-on/near") == DATA
    with pytest.raises(InputError, match="the server sends on more than 10 times"):
        open_binary(f"{web}/sent-on/round")


def test_a_transfer_that_the_server_packs_comes_as_gzip(web: str) -> None:
    """Of which readers tell it by its first bytes, and where it is cut off."""
    assert gzip.decompress(read_all(f"{web}/packed/x")) == DATA


@pytest.mark.parametrize("kind", ["none", "nolength"])
def test_a_server_that_knows_no_ranges(web: str, kind: str) -> None:
    with open_binary(f"{web}/{kind}/x") as stream:
        assert stream.read(6) == DATA[:6]
        assert stream.seek(0) == 0
        assert stream.read() == DATA
    assert len(Handler.asked) == 2  # whether it knows ranges, and the file
    with open_binary(f"{web}/{kind}/x") as stream:
        for start in (500_001, 1_500_000, 10, 600_000):
            stream.seek(start)
            assert stream.read(1000) == DATA[start : start + 1000]
        stream.seek(len(DATA) + 5)
        assert stream.read(5) == b""


def test_a_file_of_a_server_without_ranges_is_one_part(web: str) -> None:
    for kind, several in (("ranges", True), ("none", False)):
        address = f"{web}/{kind}/wiki.xml.bz2"
        assert has_parts(address) == several
        (info,) = expand([address])
        parts = plan_parts([info], 1 << 10)
        assert (len(parts) > 1) == several
        assert all(part.splits == several for part in parts)


def test_a_size_that_no_server_tells(web: str) -> None:
    with pytest.raises(InputError, match=f"^{web}/nolength/x: the server does not tell the size of the file; fetch it"):
        expand([f"{web}/nolength/x"])
    with open_binary(f"{web}/nolength/x") as stream, pytest.raises(InputError, match="does not tell the size"):
        stream.seek(0, io.SEEK_END)


@pytest.mark.parametrize("size", [-1, 1 << 16])
def test_an_answer_that_is_cut_off(web: str, size: int) -> None:
    """Case I9: a partial read is no end; without ranges it begins anew."""
    with open_binary(f"{web}/short/x") as stream:
        assert b"".join(iter(lambda: stream.read(size), b"")) == DATA
    with (
        open_binary(f"{web}/short/for-ever") as stream,
        pytest.raises(InputError, match=r"at byte 1,048,576: the server broke off, 5 times"),
    ):
        list(iter(lambda: stream.read(size), b""))


def test_a_body_that_ends_early_without_a_word(web: str) -> None:
    with (
        open_binary(f"{web}/unsaid/half") as stream,
        pytest.raises(InputError, match=r"at byte 1,048,576: the server sent 1,048,576 of 2,097,152 bytes, 5 times"),
    ):
        stream.read()


def test_an_address_where_nothing_is(web: str) -> None:
    """Case A13."""
    address = f"{web}/gone/xxwiki-20190101.xml.bz2"
    for action in (open_binary, lambda path: expand([path])):
        with pytest.raises(InputError) as error:
            action(address)
        assert str(error.value).startswith(f"{address}: 404")
        assert "some months only: give the address of a newer one, or a local path" in str(error.value)
    with pytest.raises(InputError, match=f"^{web}/forbidden/x: 403 Forbidden$"):
        open_binary(f"{web}/forbidden/x")


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"^http://127.0.0.1:9/x: at byte 0: .*[Cc]onnection refused, 5 times"):
        open_binary("http://127.0.0.1:9/x")
    with pytest.raises(InputError, match=r"^http://\[/x: "):
        open_binary("http://[/x")


# --------------------------------------------------------------------------------------------
# ranges


def test_requests_grow_while_reading_goes_straight_on() -> None:
    size, asked = 100 << 20, []

    def fetch(start: int, end: int) -> bytes:
        asked.append((start, end - start))
        return bytes(end - start)

    stream = RangedStream(size, fetch)
    while stream.read(1 << 18):
        pass
    lengths = [length for _, length in asked]
    assert lengths[:2] == [1 << 18, 1 << 18]
    assert max(lengths) == MOST
    assert len(asked) < 20
    assert sum(lengths) == size
    stream.seek(5)
    asked.clear()
    stream.read(1)
    assert asked == [(5, FIRST)]
    with pytest.raises(ValueError, match="there is no byte -1"):
        stream.seek(-1)


def test_any_reads_give_the_bytes_that_stand_there(tmp_path: Path) -> None:
    drawn = random.Random(7)
    data = drawn.randbytes(300_000)
    stream = RangedStream(len(data), lambda start, end: data[start:end])
    (tmp_path / "x").write_bytes(data)
    with open(tmp_path / "x", "rb") as plain:
        for _ in range(500):
            if drawn.random() < 0.5:
                place = drawn.randrange(320_000)
                assert stream.seek(place) == plain.seek(place)
            size = drawn.choice([0, 1, 100, 66_000, 200_000, -1])
            assert stream.read(size) == plain.read(size)
            assert stream.tell() == plain.tell()


def test_a_store_that_gives_nothing_is_no_end() -> None:
    with pytest.raises(OSError, match="no bytes came from 0 on"):
        RangedStream(10, lambda start, end: b"").read()
