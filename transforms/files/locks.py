"""One writer at a time."""

import contextlib
import importlib
import json
import os
import platform
import threading
import time
from collections.abc import Iterator
from typing import IO, Any, Final

from kiltetl.schemas.errors import InputError, RunFailed
from kiltetl.transforms.files.paths import is_local, join
from kiltetl.transforms.files.store import Store
from kiltetl.transforms.files.stores import store_of

BEAT: Final = 5.0  # seconds between two signs of life of a writer into a store
DEAD: Final = 30.0  # seconds without one, after which its lock is taken over

fcntl: Any
try:
    fcntl = importlib.import_module("fcntl")
except ImportError:  # not on Windows: two runs into one folder are not told apart there
    fcntl = None


@contextlib.contextmanager
def locked(folder: str, what: str) -> Iterator[None]:
    """While the block runs, no other run writes the same into a folder: of this machine, or of any into a store.

    InputError if one does. A local lock ends with its process, however that ends; one in a store is taken over when
    its holder gives no sign of life.
    """
    if not is_local(folder):
        with _leased(folder, what):
            yield
        return
    if fcntl is None:
        yield
        return
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f".kiltetl-{what}.lock")
    while True:
        with open(path, "a") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise _taken(folder, what) from None
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


def _taken(folder: str, what: str, by: str = "") -> InputError:
    return InputError(f"{folder}: another run{by} is writing {what} there; wait for it, or give another --output")


@contextlib.contextmanager
def _leased(folder: str, what: str) -> Iterator[None]:
    """The lock of a store: a file that is written on condition that it is not there, or is still the same.

    Its holder writes it anew every ``BEAT`` seconds. No clock is compared with another's.
    """
    path, store = join(folder, f".kiltetl-{what}.lock"), store_of(folder)
    lease = _Lease(store, path, _take(store, path, folder, what))
    thread = threading.Thread(target=lease.keep, daemon=True)
    thread.start()
    try:
        yield
    finally:
        lease.ended.set()
        thread.join()
        if not lease.lost:
            with contextlib.suppress(OSError, InputError):
                store.delete([path])
    if lease.lost:
        raise RunFailed(f"{folder}: lost the lock to another run while {what} was written; give the command again")


def _take(store: Store, path: str, folder: str, what: str) -> str:
    version = store.put(path, _holder(), None)
    while version is None:
        try:
            before, holder = store.version(path), _shown(store.read(path, 0, 1000))
        except FileNotFoundError:  # given back just now
            version = store.put(path, _holder(), None)
            continue
        until = time.monotonic() + DEAD
        while time.monotonic() < until:
            time.sleep(min(BEAT, DEAD))
            try:
                if store.version(path) != before:
                    raise _taken(folder, what, holder)
            except FileNotFoundError:
                break
        else:
            version = store.put(path, _holder(), before)
            continue
        version = store.put(path, _holder(), None)
    return version


def _holder() -> bytes:
    return json.dumps({"machine": platform.node(), "process": os.getpid(), "at": time.time_ns()}).encode()


def _shown(data: bytes) -> str:
    try:
        holder = json.loads(data)
        return f" (process {int(holder['process'])} on {str(holder['machine'])[:100]})"
    except (ValueError, LookupError, TypeError):
        return ""


class _Lease:
    """A lock in a store while it is held."""

    def __init__(self, store: Store, path: str, version: str) -> None:
        self._store, self._path, self._version = store, path, version
        self.ended = threading.Event()
        self.lost = False

    def keep(self) -> None:
        """Give signs of life until the end, or until somebody else has the lock."""
        while not self.ended.wait(BEAT):
            with contextlib.suppress(OSError):  # the store may answer the next time
                sign = _holder()
                version = self._store.put(self._path, sign, self._version)
                if version is None:  # somebody else's, or ours, of which the answer was lost
                    if self._store.read(self._path, 0, len(sign) + 1) != sign:
                        self.lost = True
                        return
                    version = self._store.version(self._path)
                self._version = version
