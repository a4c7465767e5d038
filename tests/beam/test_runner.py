"""The local runner: it keeps every row, says a failure in one line, and refuses what it does not know."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.metrics import Metrics
from apache_beam.options.pipeline_options import DirectOptions
from apache_beam.runners.portability.fn_api_runner import fn_runner, worker_handlers

from kiltetl.schemas.errors import DumpError, InputError, RunFailed
from kiltetl.transforms.beam.runner import Workers, beam_options, local_runner, run, runs_here
from kiltetl.transforms.files.progress import advance, watched
from tests.support.checkout import ENVIRONMENT
from tests.support.sharing import soak

# --------------------------------------------------------------------------------------------
# options


def test_options_that_beam_does_not_know() -> None:
    for arguments in (
        ["--runer=DirectRunner"],
        ["--no_such_option"],
        ["stray"],
        ["--runner=DirectRunner", "--temp", "x"],
    ):
        with pytest.raises(InputError, match=r"not an option of Apache Beam 2\."):
            beam_options(arguments)


def test_options_that_beam_knows() -> None:
    options = beam_options(["--runner=DirectRunner", "--direct_num_workers=3", "--job_name", "x"])
    assert runs_here(options)
    assert options.view_as(DirectOptions).direct_num_workers == 3
    assert runs_here(beam_options([]))
    assert runs_here(beam_options(["--runner=FnApiRunner"]))
    assert not runs_here(beam_options(["--runner=DataflowRunner"]))
    assert not runs_here(beam_options(["--runner=FlinkRunner"]))


def test_threads_are_refused() -> None:
    with pytest.raises(InputError, match="multi_threading loses rows and is refused: use --workers N"):
        run(lambda root: root | beam.Create([1]), beam_options(["--direct_running_mode=multi_threading"]), 2)


def draw_slowly(root: beam.Pipeline) -> None:
    _ = root | beam.Create(range(100)) | beam.Reshuffle() | beam.Map(slowly)


def slowly(item: int) -> int:
    time.sleep(0.1)
    return item


def test_the_runner_is_the_safe_one() -> None:
    worker_handlers.DATA_BUFFER_TIME_LIMIT_MS = 1000
    assert isinstance(local_runner(beam_options([])), fn_runner.FnApiRunner)
    assert worker_handlers.DATA_BUFFER_TIME_LIMIT_MS == 0


# --------------------------------------------------------------------------------------------
# runs


@pytest.mark.parametrize("workers", [1, 2])
def test_counters(workers: int) -> None:
    def count(number: int) -> int:
        Metrics.counter("numbers", "odd" if number % 2 else "even").inc()
        return number

    def draw(root: beam.Pipeline) -> None:
        _ = root | beam.Create(range(7)) | beam.Map(count)

    assert run(draw, beam_options([]), workers) == {"numbers/even": 4, "numbers/odd": 3}


@pytest.mark.parametrize(
    ("error", "message", "workers"),
    [
        (DumpError("a.xml: the file ends before </mediawiki>: it is cut off"), None, 1),
        (DumpError("a.xml: the file ends before </mediawiki>: it is cut off"), None, 2),
        (InputError("x.jsonl: the data is cut off (Error: 5)"), None, 1),
        (RunFailed("it does not add up: 3 against 4"), None, 1),
        (ValueError("two\nlines"), "ValueError: two", 1),
        (KeyError("a b"), 'KeyError: "a b"', 1),
        (pa.ArrowInvalid("two\nlines"), "ArrowInvalid: two", 1),
        (
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
            "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: bad",
            2,
        ),
        pytest.param(ValueError("two\nlines"), "ValueError: two", 2, marks=pytest.mark.soak),
        pytest.param(KeyError("a b"), 'KeyError: "a b"', 2, marks=pytest.mark.soak),
        pytest.param(AssertionError(), "AssertionError", 2, marks=pytest.mark.soak),
    ],
)
def test_a_failure_is_said_in_one_line(error: Exception, message: str | None, workers: int) -> None:
    def fail(number: int) -> int:
        if number == 3:
            raise error
        return number

    def draw(root: beam.Pipeline) -> None:
        _ = root | beam.Create(range(5)) | "A [name]" >> beam.Map(fail)

    with pytest.raises((RunFailed, InputError, DumpError)) as failed:
        run(draw, beam_options([]), workers)
    assert str(failed.value) == (message or str(error))


@pytest.mark.parametrize("runs", [1, *soak(3)])
def test_every_row_arrives(runs: int) -> None:
    """20,000 rows of 3 KB (150,000 in each of several runs) through a GroupByKey, two processes.

    With Beam's own setting (a flush each second, by a timer that clears what is being written) some
    are lost, and the run ends well.
    """

    parts = 20 if runs == 1 else 150

    def rows(part: int) -> Iterator[tuple[int, bytes]]:
        body = b"%08d" % part * 375
        for number in range(1000):
            yield (part + number) % parts, body

    def count(group: tuple[int, Iterable[bytes]]) -> None:
        sizes = [len(body) for body in group[1]]
        Metrics.counter("rows", "count").inc(len(sizes))
        Metrics.counter("rows", "bytes").inc(sum(sizes))

    def draw(root: beam.Pipeline) -> None:
        numbers = root | beam.Create(range(parts), reshuffle=True)
        made = numbers | beam.FlatMap(rows).with_output_types(tuple[int, bytes])
        _ = made | beam.GroupByKey() | beam.Map(count)

    for _ in range(runs):
        assert run(draw, beam_options([]), 2) == {"rows/count": parts * 1000, "rows/bytes": parts * 3_000_000}
        assert worker_handlers.DATA_BUFFER_TIME_LIMIT_MS == 0


# --------------------------------------------------------------------------------------------
# many small graphs


def leave(folder: str, number: int) -> None:
    advance(1 << 16)
    Path(folder, f"{number}-{os.getpid()}").touch()


def draw_mark(folder: str, root: beam.Pipeline, number: int) -> None:
    """A graph that leaves a file that says which process ran it."""
    _ = root | beam.Create([number]) | beam.Map(partial(leave, folder))


def refuse(number: int) -> None:
    raise DumpError(f"file {number} is cut off")


def draw_failure(root: beam.Pipeline, number: int) -> None:
    _ = root | beam.Create([number]) | beam.Map(refuse)


def leave_the_world(_: int) -> None:
    os._exit(9)


def draw_death(root: beam.Pipeline, number: int) -> None:
    _ = root | beam.Create([number]) | beam.Map(leave_the_world)


@pytest.mark.parametrize("count", [1, 2])
def test_workers_run_each_item_once(count: int, tmp_path: Path) -> None:
    told: list[int] = []
    with Workers(count) as pool, watched(told.append):
        pool.run_each(partial(draw_mark, str(tmp_path)), range(5))
        pool.run_each(partial(draw_mark, str(tmp_path)), range(5, 8))
        time.sleep(0.5)
    found = sorted(path.name.split("-") for path in tmp_path.iterdir())
    assert [number for number, _ in found] == [str(number) for number in range(8)]
    processes = {process for _, process in found}
    assert (processes == {str(os.getpid())}) == (count == 1)
    assert len(processes) <= count
    assert sum(told) == 8 << 16


@pytest.mark.parametrize("count", [1, 2])
def test_a_failure_of_one_item(count: int) -> None:
    with Workers(count) as pool, pytest.raises((RunFailed, DumpError)) as failed:
        pool.run_each(draw_failure, [7])
    assert str(failed.value) == "file 7 is cut off"


def call(folder: str, number: int) -> None:
    if number == 9:
        raise InputError("nine is none")
    if number == 8:
        raise ValueError("eight is none")
    Path(folder, f"{number}-{os.getpid()}").touch()


@pytest.mark.parametrize("count", [1, 2])
def test_workers_call_each_item_once(count: int, tmp_path: Path) -> None:
    with Workers(count, ["--direct_num_workers=1"]) as pool:
        pool.call_each(partial(call, str(tmp_path)), range(6))
        for number, kind, said in ((9, InputError, "nine is none"), (8, RunFailed, "ValueError: eight is none")):
            with pytest.raises(kind, match=f"^{said}$"):
                pool.call_each(partial(call, str(tmp_path)), [number])
    found = sorted(path.name.split("-") for path in tmp_path.iterdir())
    assert [number for number, _ in found] == list("012345")
    assert ({process for _, process in found} == {str(os.getpid())}) == (count == 1)


def test_a_process_that_is_killed() -> None:
    with Workers(2) as pool, pytest.raises(RunFailed, match="a worker process was killed, perhaps for want of memory"):
        pool.run_each(draw_death, [1, 2])


# --------------------------------------------------------------------------------------------
# a run that is stopped

POOL = """
import functools, signal, sys
from tests.support import sleepers
from kiltetl.transforms.beam.runner import Workers
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with Workers(2) as pool:
        pool.run_each(functools.partial(sleepers.draw_sleep, {folder!r}), range(4))
"""

GRAPH = """
import functools, sys
from tests.support import sleepers
import apache_beam as beam
from kiltetl.transforms.beam.runner import beam_options, run
def draw(root):
    root | beam.Create(range(4), reshuffle=True) | beam.Map(functools.partial(sleepers.sleep, {folder!r}))
run(draw, beam_options([]), 2)
"""


def alive(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone ends processes with their parent")
@pytest.mark.parametrize("code", [POOL, GRAPH])
@pytest.mark.soak
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_the_run(tmp_path: Path, code: str, ending: signal.Signals) -> None:
    if code == GRAPH and (ending == signal.SIGINT or not shutil.which("setpriv")):
        pytest.skip("Ctrl-C is for the whole group; without setpriv, Beam's workers end when they miss the runner")
    (tmp_path / "pids").mkdir()
    (tmp_path / "code.py").write_text(code.format(folder=str(tmp_path / "pids")))
    command = [sys.executable, "-c", (tmp_path / "code.py").read_text()]
    if code == POOL:  # spawned processes read the main module again: it must be a file
        command = [sys.executable, str(tmp_path / "code.py")]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and not list((tmp_path / "pids").iterdir()):
        time.sleep(0.05)
    workers = [path.name for path in (tmp_path / "pids").iterdir()]
    assert workers
    assert str(process.pid) not in workers
    assert all(map(alive, workers))
    process.send_signal(ending)
    process.wait(30)  # of work that takes two minutes
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and any(map(alive, workers)):
        time.sleep(0.05)
    workers = [path.name for path in (tmp_path / "pids").iterdir()]
    assert not [worker for worker in workers if alive(worker)]


@pytest.mark.parametrize("delay", [0.0, 0.2, *soak(1.0, 3.0)])
def test_a_worker_that_is_killed_ends_the_run(delay: float, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """At any time: Beam would wait for it for ever."""
    started: list[Any] = []
    real = subprocess.Popen

    class Worker(real):  # type: ignore[misc,valid-type]
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            if len(started) < 1:
                started.append(self)
                threading.Timer(delay, self.kill).start()

    monkeypatch.setattr(subprocess, "Popen", Worker)
    with pytest.raises(RunFailed, match="a worker process was killed, perhaps for want of memory: try fewer --workers"):
        run(draw_slowly, beam_options([]), 2)
    assert "return code" not in capsys.readouterr().err
    assert len(started) == 1


@pytest.mark.parametrize("name", ["DirectRunner", "directrunner", "direct", "FnApiRunner", "BundleBasedDirectRunner"])
def test_every_spelling_of_the_local_runner_is_the_safe_one(name: str) -> None:
    assert runs_here(beam_options([f"--runner={name}"]))
    assert not runs_here(beam_options(["--runner=DataflowRunner"]))
