"""Temporary files of this machine: shared by its processes, gone with the last of them, however it ends.

Each is held by a lock that its processes share. What nobody holds was left by a killed process: the next one
deletes it.
"""

import contextlib
import hashlib
import importlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any, Final

from kiltetl.transforms.files.paths import basename, is_local
from kiltetl.transforms.files.streams import open_whole, replacing

fcntl: Any
try:
    fcntl = importlib.import_module("fcntl")
except ImportError:  # not on Windows: there nothing of killed processes is found
    fcntl = None

_PREFIX: Final = "kiltetl-"
_LOCK: Final = "in-use"


@contextlib.contextmanager
def scratch_folder(name: str = "") -> Iterator[str]:
    """A folder for temporary files: of this process alone, or of all that give the same name."""
    root = os.path.join(tempfile.gettempdir(), f"{_PREFIX}{os.getuid() if hasattr(os, 'getuid') else ''}")
    os.makedirs(root, mode=0o700, exist_ok=True)
    _sweep(root)
    folder, lock = _held(root, name)
    try:
        yield folder
    finally:
        _release(folder, lock)


def _held(root: str, name: str) -> tuple[str, int]:
    """A folder and its lock, shared."""
    while True:
        folder = os.path.join(root, name) if name else tempfile.mkdtemp(dir=root)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, _LOCK)
        with contextlib.suppress(FileNotFoundError):  # swept as it was made
            lock = os.open(path, os.O_RDWR | os.O_CREAT)
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_SH)
            if os.path.exists(path) and os.path.samestat(os.stat(path), os.fstat(lock)):
                return folder, lock
            os.close(lock)


def _release(folder: str, lock: int) -> None:
    try:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # another process holds it
        pass
    finally:
        os.close(lock)


def _sweep(root: str) -> None:
    """Delete what nobody holds."""
    if fcntl is None:
        return
    for name in os.listdir(root):
        folder = os.path.join(root, name)
        with contextlib.suppress(OSError):
            lock = os.open(os.path.join(folder, _LOCK), os.O_RDWR)
            _release(folder, lock)


@contextlib.contextmanager
def machine_copy(path: str, version: str = "") -> Iterator[str]:
    """A local path with a file's content: the path itself, or a copy that this machine's processes share.

    ``version`` tells contents apart that stood under one address one after the other.
    """
    if is_local(path):
        yield path
        return
    name = hashlib.sha256(f"{path}\0{version}".encode("utf-8", "surrogatepass")).hexdigest()
    with scratch_folder(name) as folder:
        target = os.path.join(folder, basename(path))
        with _alone(os.path.join(folder, "fetching")):
            if not os.path.exists(target):
                with open_whole(path) as source, replacing(target) as copy:
                    while data := source.read(1 << 24):
                        copy.write(data)
        yield target


@contextlib.contextmanager
def _alone(path: str) -> Iterator[None]:
    """While the block runs, no other process or thread runs it for the same path."""
    with open(path, "a") as stream:
        if fcntl is not None:
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
