"""Bytes and texts of files.

Files are written under a temporary name and renamed, so that what stands under its own name is whole.
"""

import contextlib
import hashlib
import io
import json
import os
import uuid
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.paths import (
    FULL_DISK,
    HTTP,
    basename,
    check_filesystem,
    delete_file,
    filesystem_error,
    filesystems,
    folder_of,
    full_disk,
    is_local,
    make_folder,
    move,
    unwritable,
)
from kiltetl.transforms.files.web import WebStream

_PLAIN = "uncompressed"


def open_binary(path: str) -> BinaryIO:
    """A seekable stream of the file's own bytes, never decompressed."""
    try:
        if path.startswith(HTTP):
            return cast(BinaryIO, WebStream(path))
        if is_local(path):
            return open(path, "rb")
        return cast(BinaryIO, filesystems().open(path, compression_type=_PLAIN))
    except (OSError, ValueError) as error:
        raise filesystem_error(path, error) from None


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


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A stream to write; the file appears under its name when the block ends without an error."""
    temporary = f"{path}.{uuid.uuid4().hex[:8]}.tmp"
    if is_local(path):
        make_folder(folder_of(path) or ".")
    else:
        check_filesystem(path, write=True)
    try:
        stream: Any = (
            open(temporary, "wb")  # noqa: SIM115
            if is_local(path)
            else filesystems().create(temporary, compression_type=_PLAIN)
        )
    except OSError as error:
        if getattr(error, "errno", None) in FULL_DISK:
            raise full_disk(path, error) from None
        if is_local(path) and isinstance(error, OSError):
            raise unwritable(folder_of(path) or ".", error) from None
        raise filesystem_error(path, error) from None
    try:
        with stream:
            yield cast(BinaryIO, stream)
        move(temporary, path)
    except BaseException as error:
        with contextlib.suppress(Exception):
            delete_file(temporary)
        if isinstance(error, OSError) and error.errno in FULL_DISK:
            raise full_disk(path, error) from None
        raise


def write_text(path: str, text: str) -> None:
    with replacing(path) as stream:
        stream.write(text.encode())


def write_json(path: str, value: Any) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n")


def read_json(path: str) -> Any:
    with open_binary(path) as stream:
        try:
            return json.loads(stream.read())
        except ValueError as error:
            raise InputError(f"{path}: not JSON ({error})") from None


def local_copy(path: str, folder: str) -> str:
    """A local path with the file's content: the path itself, or a copy in ``folder``."""
    if is_local(path):
        return path
    target = os.path.join(folder, hashlib.sha1(path.encode()).hexdigest() + "-" + basename(path))
    if not os.path.exists(target):
        with open_binary(path) as source, replacing(target) as copy:
            while data := source.read(1 << 24):
                copy.write(data)
    return target


def read_text(path: str) -> str:
    """A UTF-8 text file, line ends as they are."""
    with open_binary(path) as stream:
        return stream.read().decode("utf-8", "replace")
