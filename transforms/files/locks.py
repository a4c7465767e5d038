"""One writer at a time."""

import contextlib
import importlib
import os
from collections.abc import Iterator
from typing import IO, Any

from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.paths import is_local

fcntl: Any
try:
    fcntl = importlib.import_module("fcntl")
except ImportError:  # not on Windows: two runs into one folder are not told apart there
    fcntl = None


@contextlib.contextmanager
def locked(folder: str, what: str) -> Iterator[None]:
    """While the block runs, no other run on this machine writes the same into a local folder.

    InputError if one does. The lock ends with its process, however that ends.
    """
    if not is_local(folder) or fcntl is None:
        yield
        return
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f".kiltetl-{what}.lock")
    while True:
        with open(path, "a") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(
                    f"{folder}: another run is writing {what} there; wait for it, or give another --output"
                ) from None
            if not _is_at(path, stream):  # the run before deleted it as this one opened it: a third may lock anew
                continue
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(path)
            return


def _is_at(path: str, stream: IO[str]) -> bool:
    """Whether the file that is open is the one that stands under its name."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(stream.fileno()))
    except FileNotFoundError:
        return False
