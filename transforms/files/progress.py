"""Work done (bytes read), reported by any process of a run and watched by one."""

import atexit
import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator

_PROGRESS = "KILTETL_PROGRESS"  # names a file that grows by a byte for each _STEP of work, by any process
_STEP = 1 << 16
_pending = 0
_progress_folder = ""  # where this process made that file


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
def watched(report: Callable[[int], None]) -> Iterator[None]:
    """While the block runs, ``report`` is told a few times a second of the work done since."""
    global _progress_folder
    path = os.environ.get(_PROGRESS)
    if not path or not os.path.exists(path):
        folder = _progress_folder = tempfile.mkdtemp(prefix="kiltetl-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = os.environ[_PROGRESS] = os.path.join(folder, "progress")
        with open(path, "wb"):
            pass
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
    except BaseException as error:
        if not isinstance(error, Exception) and _progress_folder == os.path.dirname(path):
            shutil.rmtree(_progress_folder, ignore_errors=True)  # the process may end without its last rites
            os.environ.pop(_PROGRESS, None)
        raise
    finally:
        ended.set()
        thread.join()
