"""A file on a web server, as a seekable stream.

What breaks off is asked for again from where it broke off. Bytes come as the server stores them: a transfer that
it compresses is gzip, which readers tell by its first bytes.
"""

import io
import itertools
import re
import time
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import requests

from kiltetl.schemas import VERSION
from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.ranged import RangedStream

TRIES: Final = 5
BACK_OFF: Final = 0.5  # seconds before the second try, twice as many before each further one
SILENCE: Final = 60.0  # seconds without a byte
SLOWEST: Final = 1000  # bytes a second, over each such time
_CHUNK: Final = 1 << 16
_KEPT: Final = 1 << 20  # bytes of the beginning of a file that comes in one piece
_REDIRECTIONS: Final = 10
_PASSING: Final = frozenset((408, 425, 429, 500, 502, 503, 504))  # answers of a server that may do better soon
_GONE: Final = "servers keep a dump for some months only: give the address of a newer one, or a local path"
_REMEDY: Final = "try again, or fetch the file and give its local path"


def open_web(path: str) -> "RangedStream | OneWayStream":
    """A stream of a file's bytes; InputError for whatever goes wrong, now or later.

    From a server that sends no ranges it can be read in one direction alone.
    """
    file = _WebFile(path)
    if file.ranges:
        return RangedStream(file.size, file.fetch)
    return OneWayStream(file)


def web_size(path: str) -> int:
    """Size of a file in bytes, as its server says; InputError where it does not."""
    file = _WebFile(path)
    if file.size < 0:
        raise InputError(f"{path}: the server does not tell the size of the file; fetch it and give its local path")
    return file.size


def serves_ranges(path: str) -> bool:
    """Whether the server sends parts of the file."""
    return _WebFile(path).ranges


class _Broken(Exception):
    """A try that another may do better than."""


class _WebFile:
    """What a server says of a file: its size (-1: nothing), whether it sends ranges, which version it is."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._session = requests.Session()
        self._session.headers.update({"User-Agent": f"kiltetl/{VERSION}", "Accept-Encoding": "identity"})
        self._address, self._version = path, ""
        for number in itertools.count(1):
            try:
                with self._ask({"Range": "bytes=0-0"}) as answer:
                    self.ranges, self.size = self._told(answer)
                return
            except _Broken as error:
                self._wait(number, 0, error)

    def _told(self, answer: requests.Response) -> tuple[bool, int]:
        found = re.fullmatch(r"bytes (\d+-\d+|\*)/(\d+)", answer.headers.get("Content-Range", ""))
        if answer.status_code in (206, 416) and found:
            self._version = _version(answer)
            return True, int(found[2])
        if answer.status_code == 200:
            length = answer.headers.get("Content-Length", "")
            return False, int(length) if length.isdigit() else -1
        raise _Broken(f"an answer of status {answer.status_code} without a size")

    def _ask(self, headers: dict[str, str]) -> requests.Response:
        """The server's answer, its body still to come; redirections stay within http or https, as it was."""
        for _ in range(_REDIRECTIONS):
            try:
                answer = self._session.get(
                    self._address, headers=headers, stream=True, timeout=SILENCE, allow_redirects=False
                )
            except (requests.ConnectionError, requests.Timeout) as error:
                raise _Broken(_reason(error)) from None
            except (requests.RequestException, ValueError) as error:
                raise InputError(f"{self.path}: {_reason(error)}") from None
            if not answer.is_redirect:
                break
            answer.close()
            target = urljoin(self._address, answer.headers["Location"])
            if urlsplit(target).scheme != urlsplit(self._address).scheme:
                raise InputError(f"{self.path}: the server sends on to {target}; give that address, if you trust it")
            self._address = target
        else:
            raise InputError(f"{self.path}: the server sends on more than {_REDIRECTIONS} times")
        if answer.status_code in _PASSING:
            answer.close()
            raise _Broken(f"{answer.status_code} {answer.reason}")
        if answer.status_code >= 400 and answer.status_code != 416:
            answer.close()
            remedy = f"; {_GONE}" if answer.status_code in (404, 410) else ""
            raise InputError(f"{self.path}: {answer.status_code} {answer.reason}{remedy}")
        return answer

    def _wait(self, number: int, byte: int, error: Exception) -> None:
        """Before another try; InputError after the last."""
        if number == TRIES:
            raise InputError(f"{self.path}: at byte {byte:,}: {error}, {TRIES} times; {_REMEDY}") from None
        time.sleep(BACK_OFF * 2 ** (number - 1))

    def fetch(self, start: int, end: int) -> bytes:
        """The bytes [start, end); what was cut off is asked for again from there, ``TRIES`` times in a row."""
        data = bytearray()
        number = 0
        while len(data) < end - start:
            before = len(data)
            try:
                self._fetch_on(data, start, end)
            except _Broken as error:
                number = 1 if len(data) - before >= _CHUNK else number + 1
                self._wait(number, start + len(data), error)
        return bytes(data)

    def _fetch_on(self, data: bytearray, start: int, end: int) -> None:
        first = start + len(data)
        with self._ask({"Range": f"bytes={first}-{end - 1}"}) as answer:
            found = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
            if answer.status_code != 206 or not found or int(found[1]) != first:
                raise _Broken(f"the server answers {answer.status_code} and not with the bytes that were asked for")
            if _version(answer) != self._version:
                raise InputError(f"{self.path}: was changed on the server while it was read; {_REMEDY}")
            for piece in _pieces(answer.raw):
                data += piece[: end - start - len(data)]
                if len(data) == end - start:
                    return
        raise _Broken("the server broke off")


def _pieces(body: Any) -> Iterator[bytes]:
    """A body as it comes; _Broken where it stops, or drips."""
    since, came = time.monotonic(), 0
    while True:
        try:
            piece = body.read1(_CHUNK)
        except Exception as error:  # of urllib3, http.client, ssl, socket
            raise _Broken("the server broke off" if "IncompleteRead" in repr(error) else _reason(error)) from None
        if not piece:
            return
        yield piece
        came += len(piece)
        took = time.monotonic() - since
        if took >= SILENCE:
            if came < SLOWEST * took:
                raise _Broken(f"the server sends less than {SLOWEST} bytes a second")
            since, came = time.monotonic(), 0


def _version(answer: requests.Response) -> str:
    return str(answer.headers.get("ETag") or answer.headers.get("Last-Modified", ""))


def _reason(error: Exception) -> str:
    """The last cause in an error of requests, which tells the rest around it."""
    inner: Any = error
    while (deeper := getattr(inner, "reason", None) or next(iter(getattr(inner, "args", ())), None)) is not None:
        if not isinstance(deeper, BaseException):
            break
        inner = deeper
    said = str(inner).rpartition(": ")[2] if "object at 0x" in str(inner) else str(inner)
    return said or type(inner).__name__


class OneWayStream(io.RawIOBase):
    """A file of a server that sends no ranges: one transfer, from the start on.

    Its first bytes are kept, so that what a file is can be looked at. To go back behind them is to begin anew.
    """

    def __init__(self, file: _WebFile) -> None:
        self._file = file
        self._position = 0
        self._head = b""
        self._body: Iterator[bytes] = iter(())
        self._answer: requests.Response | None = None
        self._rest, self._at = b"", 0  # bytes that came and were not read, and where they begin

    def _begin(self) -> None:
        self._end()
        self._answer = self._file._ask({})
        self._body, self._rest, self._at = _pieces(self._answer.raw), b"", 0

    def _end(self) -> None:
        if self._answer is not None:
            self._answer.close()
            self._answer = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if whence == io.SEEK_END and self._file.size < 0:
            raise InputError(f"{self._file.path}: the server does not tell the size of the file; {_REMEDY}")
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._file.size}[whence]
        if base + offset < 0:
            raise ValueError(f"there is no byte {base + offset}")
        self._position = base + offset
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = None if size is None or size < 0 else size
        pieces = []
        number = 0
        while wanted is None or wanted:
            try:
                piece = self._next(_CHUNK if wanted is None else wanted)
            except _Broken as error:
                number += 1
                self._file._wait(number, self._at, error)
                self._end()
                continue
            if not piece:
                break
            number = 0
            pieces.append(piece)
            self._position += len(piece)
            wanted = None if wanted is None else wanted - len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _next(self, wanted: int) -> bytes:
        """Some of the wanted bytes; none at the end of the file."""
        if self._position < len(self._head):
            return self._head[self._position : self._position + wanted]
        if self._answer is None or self._position < self._at:
            self._begin()
        while True:
            skipped = min(self._position - self._at, len(self._rest))
            self._rest, self._at = self._rest[skipped:], self._at + skipped
            if self._rest:
                piece, self._rest = self._rest[:wanted], self._rest[wanted:]
                self._at += len(piece)
                return piece
            piece = next(self._body, b"")
            if self._file.size >= 0:
                piece = piece[: self._file.size - self._at]
            if not piece:
                if self._at < self._file.size:
                    raise _Broken(f"the server sent {self._at:,} of {self._file.size:,} bytes")
                return b""
            if self._at == len(self._head) < _KEPT:
                self._head += piece
            self._rest = piece

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: Any, /) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._end()
        super().close()
