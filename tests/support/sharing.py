"""What many tests read and few seconds make: made once a run of the tests, whatever the number of its processes."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


class Once:
    """Calls ``make(folder)`` for a name the first time that any process of the run asks for it, and never again.

    The folder is for all: what is done to its files is done to other tests, so copy what has to change.
    """

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        own = factory.getbasetemp()
        self._root = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def __call__(self, name: str, make: Callable[[Path], object]) -> Path:
        folder, whole = self._root / f"once-{name}", self._root / f"once-{name}.whole"
        with open(self._root / f"once-{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not whole.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a process in which it failed
                folder.mkdir()
                make(folder)
                whole.touch()
        return folder
