"""A file that is read by ranges, as a seekable stream: of a bucket or of a web server."""

import io
from collections.abc import Callable
from typing import Any, Final

FIRST: Final = 1 << 16  # bytes of the first request after a jump: a footer, a header
MOST: Final = 1 << 23  # bytes of one request, where reading goes straight on


class RangedStream(io.RawIOBase):
    """A seekable stream over ``fetch(start, end)``, which gives the bytes [start, end) of a file of ``size`` bytes.

    A request asks for more the longer reading goes straight on, up to ``MOST``, so that a footer costs little and
    a whole file few requests. Each read gives all that was asked for, but at the end of the file.
    """

    def __init__(self, size: int, fetch: Callable[[int, int], bytes]) -> None:
        self._size, self._fetch = size, fetch
        self._position = 0
        self._start, self._data = 0, b""  # what was fetched last, and where it stands
        self._window = FIRST

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError(f"there is no byte {base + offset}")
        self._position = base + offset
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, self._size - self._position)
        wanted = left if size is None or size < 0 else min(size, left)
        pieces = []
        while wanted:
            piece = self._held(wanted) or self._fetched(wanted)
            pieces.append(piece)
            self._position += len(piece)
            wanted -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: Any, /) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _held(self, wanted: int) -> bytes:
        offset = self._position - self._start
        return self._data[offset : offset + wanted] if 0 <= offset < len(self._data) else b""

    def _fetched(self, wanted: int) -> bytes:
        straight_on = bool(self._data) and self._position == self._start + len(self._data)
        self._window = min(MOST, self._window * 4) if straight_on else FIRST
        end = min(self._size, self._position + max(wanted, self._window))
        self._start, self._data = self._position, self._fetch(self._position, end)
        if not self._data:
            raise OSError(f"no bytes came from {self._position:,} on")
        return self._data[:wanted]
