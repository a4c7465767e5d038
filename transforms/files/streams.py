"""Bytes and texts of files.

A local file is written under a temporary name and renamed, one of a store by one upload, so that what stands under
its own name is whole.
"""

import contextlib
import hashlib
import io
import json
import tempfile
import uuid
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

from kiltetl.schemas.errors import InputError
from kiltetl.schemas.manifests import Written
from kiltetl.transforms.files.paths import (
    FULL_DISK,
    HTTP,
    delete_files,
    file_error,
    folder_of,
    full_disk,
    is_local,
    make_folder,
    move_all,
    unwritable,
)
from kiltetl.transforms.files.ranged import RangedStream
from kiltetl.transforms.files.stores import store_of
from kiltetl.transforms.files.web import open_web


def open_binary(path: str) -> BinaryIO:
    """A seekable stream of the file's own bytes, never decompressed."""
    try:
        if path.startswith(HTTP):
            return cast(BinaryIO, open_web(path))
        if is_local(path):
            return open(path, "rb")
        store = store_of(path)
        return cast(BinaryIO, RangedStream(store.size(path), lambda start, end: store.read(path, start, end)))
    except OSError as error:
        raise file_error(path, error) from None
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def open_whole(path: str) -> BinaryIO:
    """A stream of the file's own bytes that is read from its start to its end."""
    if is_local(path) or path.startswith(HTTP):
        return open_binary(path)
    try:
        return store_of(path).stream(path)
    except OSError as error:
        raise file_error(path, error) from None


class CountingStream(io.RawIOBase):
    """A stream that reports each number of bytes read, for progress."""

    def __init__(self, stream: BinaryIO, report: Callable[[int], None]) -> None:
        self._stream, self._report = stream, report

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(size)
        self._report(len(data))
        return data

    def readinto(self, buffer: Any, /) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


class NewFile(io.RawIOBase):
    """A file that is written, from its start to its end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self.size = 0

    def written(self, rows: int = 0) -> Written:
        """What is known of what was written so far."""
        return {"rows": rows, "bytes": self.size, "sha256": self._hash.hexdigest()}

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._hash.update(data)
        written = memoryview(data).nbytes
        self._stream.write(data)
        self.size += written
        return written

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._stream.flush()


@contextlib.contextmanager
def replacing(path: str) -> Iterator[NewFile]:
    """A stream to write; the file appears under its name when the block ends without an error."""
    if not is_local(path):
        with tempfile.TemporaryFile(prefix="kiltetl-") as stream:
            yield NewFile(cast(BinaryIO, stream))
            stream.seek(0)
            store_of(path).upload(path, cast(BinaryIO, stream))
        return
    temporary = f"{path}.{uuid.uuid4().hex[:8]}.tmp"
    make_folder(folder_of(path) or ".")
    try:
        local = open(temporary, "wb")  # noqa: SIM115
    except OSError as error:
        if error.errno in FULL_DISK:
            raise full_disk(path, error) from None
        raise unwritable(folder_of(path) or ".", error) from None
    try:
        with local:
            yield NewFile(local)
        move_all([(temporary, path)])
    except BaseException as error:
        with contextlib.suppress(OSError):
            delete_files([temporary])
        if isinstance(error, OSError) and error.errno in FULL_DISK:
            raise full_disk(path, error) from None
        raise


def write_text(path: str, text: str) -> Written:
    with replacing(path) as stream:
        stream.write(text.encode("utf-8", "backslashreplace"))  # names of files may be no UTF-8
    return stream.written()


def write_json(path: str, value: Any) -> Written:
    return write_text(path, json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n")


def read_json(path: str) -> Any:
    with open_binary(path) as stream:
        try:
            return json.loads(stream.read())
        except ValueError as error:
            raise InputError(f"{path}: not JSON ({error})") from None


def read_text(path: str) -> str:
    """A UTF-8 text file, line ends as they are."""
    with open_binary(path) as stream:
        return stream.read().decode("utf-8", "replace")
