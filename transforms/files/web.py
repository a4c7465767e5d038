"""A file on a web server, as a seekable stream."""

import io
from collections.abc import Callable
from typing import Any

import smart_open

from kiltetl.schemas.errors import InputError

_WEB_TIMEOUT = 60  # seconds without a byte


class WebStream(io.RawIOBase):
    """A file on a web server. Whatever goes wrong is an InputError, and the end is where the server says it is."""

    def __init__(self, path: str) -> None:
        self._path = path
        parameters = {"timeout": _WEB_TIMEOUT}
        self._stream: Any = None  # until it is open
        self._stream = smart_open.open(path, "rb", compression="disable", transport_params=parameters)
        self._length = int(getattr(self._stream, "content_length", -1) or -1)

    def _try(self, action: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return action(*arguments)
        except Exception as error:  # of requests, urllib3, smart_open
            raise InputError(
                f"{self._path}: the server broke off or cannot send parts of a file ({error}); "
                "try again, or fetch the file and give its local path"
            ) from None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data: bytes = self._try(self._stream.read, size)
        if (size < 0 or (size and not data)) and self.tell() < self._length:
            raise InputError(f"{self._path}: the server sent {self.tell():,} of {self._length:,} bytes; try again")
        return data

    def readinto(self, buffer: Any, /) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return int(self._try(self._stream.seek, offset, whence))

    def tell(self) -> int:
        return int(self._stream.tell())

    def close(self) -> None:
        if not self.closed and self._stream is not None:
            self._stream.close()
        super().close()


def web_size(path: str) -> int:
    """Size of a file in bytes, as its server says."""
    with WebStream(path) as stream:
        return stream.seek(0, io.SEEK_END)
