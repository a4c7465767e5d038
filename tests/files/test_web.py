"""Files on the web, from a server of our own."""

import contextlib
import hashlib
import http.server
import io
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.checksums import digests
from kiltetl.transforms.files.paths import (
    FileInfo,
    expand,
)
from kiltetl.transforms.files.rows import BadRow, read_rows
from kiltetl.transforms.files.streams import (
    open_binary,
)

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
