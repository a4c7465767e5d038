"""Work done (bytes read), reported by any process of a run and watched by one."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator

from kiltetl.transforms.files.scratch import scratch_folder

_PROGRESS = "KILTETL_PROGRESS"  # names a file that grows by a byte for each _STEP of work, by any process
_STEP = 1 << 16
_pending = 0


def advance(amount: int) -> None:
    """Report work done (bytes read), from any process; where nobody watches, nothing happens."""
    global _pending
    path = os.environ.get(_PROGRESS)
    if path:
        _pending += amount
        steps, _pending = divmod(_pending, _STEP)
        if steps:
            with contextlib.suppress(OSError), open(path, "ab") as file:
                file.write(b"." * steps)


@contextlib.contextmanager
def watchable() -> Iterator[None]:
    """While the block runs, processes that it starts can report to ``watched``."""
    if os.environ.get(_PROGRESS):
        yield
        return
    with scratch_folder() as folder:
        path = os.environ[_PROGRESS] = os.path.join(folder, "progress")
        with open(path, "wb"):
            pass
        try:
            yield
        finally:
            os.environ.pop(_PROGRESS, None)


@contextlib.contextmanager
def watched(report: Callable[[int], None]) -> Iterator[None]:
    """While the block runs, ``report`` is told a few times a second of the work done since."""
    with watchable():
        path = os.environ[_PROGRESS]
        told = os.path.getsize(path)
        ended = threading.Event()

        def watch() -> None:
            nonlocal told
            while not ended.wait(0.2):
                with contextlib.suppress(FileNotFoundError):
                    now = os.path.getsize(path)
                    report((now - told) * _STEP)
                    told = now

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
