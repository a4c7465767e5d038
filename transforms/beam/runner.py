"""How a graph is run: on this machine, safely, or on any other Beam runner.

The local runner is built by hand, for three measured faults of Beam 2.77: ``DirectRunner`` may
switch to another engine that it tries to download; with several workers a timed flush loses rows
in silence (its timer thread clears a buffer that a writer still fills; off at limit 0, see
``tests/beam/test_runner.py``); and worker processes do not get the pipeline's options. Several *threads*
in one process are refused: they share the fault and gain nothing from Python.
"""

import contextlib
import ctypes
import logging
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, StandardOptions, TestOptions
from apache_beam.portability.api import beam_provision_api_pb2 as provision
from apache_beam.runners.portability.fn_api_runner import fn_runner, worker_handlers
from apache_beam.runners.portability.portable_runner import JobServiceHandle
from apache_beam.runners.runner import PipelineState
from apache_beam.transforms import environments

from kiltetl.schemas.errors import DumpError, InputError, RunFailed

Item = TypeVar("Item")
Draw = Callable[[beam.Pipeline], Any]

# Beam takes runner names in any case, and all of these for its own runner on this machine.
_LOCAL_RUNNERS = ("", "direct", "directrunner", "fnapirunner", "switchingdirectrunner", "bundlebaseddirectrunner")


def beam_options(arguments: Sequence[str]) -> PipelineOptions:
    """Beam's options, with every argument known to Beam; InputError names one that is not."""
    options = PipelineOptions(list(arguments))
    parsers: list[Any] = []
    logging.getLogger("apache_beam.options.pipeline_options").setLevel(logging.ERROR)
    options.get_all_options(add_extra_args_fn=parsers.append)
    _, unknown = parsers[0].parse_known_args(list(arguments))
    if unknown:
        raise InputError(f"{' '.join(unknown)}: not an option of Apache Beam {beam.__version__}")
    return options


def runs_here(options: PipelineOptions) -> bool:
    """Whether the graph runs on this machine, under ``local_runner``."""
    return (options.view_as(StandardOptions).runner or "").lower() in _LOCAL_RUNNERS


def local_runner(options: PipelineOptions) -> fn_runner.FnApiRunner:
    """Beam's in-memory runner, without its faults; one process, or as many as direct_num_workers says."""
    direct = options.view_as(DirectOptions)
    if direct.direct_running_mode == "multi_threading":
        raise InputError("--direct_running_mode=multi_threading loses rows and is refused: use --workers N")
    worker_handlers.DATA_BUFFER_TIME_LIMIT_MS = 0
    environment = None
    if direct.direct_num_workers > 1:
        # what multi_processing would set up, less the workers' own logs (errors reach the runner)
        direct.direct_running_mode = "in_memory"
        command = f"exec {_bound()}{shlex.quote(sys.executable)} -c {shlex.quote(_beam_worker())} 2>{os.devnull}"
        environment = environments.SubprocessSDKEnvironment.from_command_string(command)
    encoded = JobServiceHandle.encode_pipeline_options(options.get_all_options())
    return fn_runner.FnApiRunner(
        default_environment=environment,
        provision_info=fn_runner.ExtendedProvisionInfo(provision.ProvisionInfo(pipeline_options=encoded)),
    )


def _beam_worker() -> str:
    """The program of a worker: Beam's own, with this process's import path, so that it runs this very code."""
    path = [entry or os.getcwd() for entry in sys.path]
    return (
        f"import sys; sys.path[:] = {path!r}; "
        "from apache_beam.runners.worker import sdk_worker_main; sdk_worker_main.main(sys.argv)"
    )


def _bound() -> str:
    """What makes a command end with the process that gave it, where the system has it (Linux)."""
    return f"{shlex.quote(tool)} --pdeathsig KILL " if (tool := shutil.which("setpriv")) else ""


def run(draw: Draw, options: PipelineOptions, workers: int = 1) -> dict[str, int]:
    """Draw a graph and run it to its end.

    Args:
        draw: is given the pipeline.
        workers: processes on this machine (ignored by other runners, which have options of their own).

    Returns:
        Committed values of the graph's counters, ``namespace/name`` to value.
    """
    if runs_here(options):
        if workers > 1:
            options.view_as(DirectOptions).direct_num_workers = workers
        _silence()
        threading.excepthook = _thread_failed
        pipeline = beam.Pipeline(runner=local_runner(options), options=options)
    else:
        pipeline = beam.Pipeline(options=options)
    draw(pipeline)
    try:
        result = pipeline.run()
        if options.view_as(StandardOptions).no_wait_until_finish or options.view_as(TestOptions).dry_run:
            return {}
        state = result.wait_until_finish()
    except (InputError, RunFailed, DumpError) as error:
        raise type(error)(_cause(f"{type(error).__name__}: {error}")) from error
    except Exception as error:
        raise RunFailed(_cause(f"{type(error).__name__}: {error}")) from error
    if state != PipelineState.DONE:
        raise RunFailed(f"the pipeline ended in state {state}")
    counters = result.metrics().query()["counters"]
    return {f"{c.key.metric.namespace}/{c.key.metric.name}": c.committed for c in counters}


def _cause(text: str) -> str:
    """What went wrong, out of the traceback that Beam makes the message of its own error."""
    lines = text.strip().splitlines()
    heads = [line for line in lines if re.match(r"[A-Za-z_][\w.]*(Error|Failed|Exception|Exit)\b", line)]
    traced = [  # the line below the code of a traceback, whatever the error's name
        line
        for before, line in pairwise(lines)
        if before.startswith("    ") and re.match(r"[A-Za-z_][\w.]*(:|$)", line)
    ]
    last = (traced or heads or lines[:1])[-1]
    # Beam writes the step into the error's first argument, also within the quotes of one that shows it so
    last = re.sub(r"\s*\[while running \\?'.*?\\?'\]", "", last)
    last = re.sub(r"\s*\[while running .*$", "", last)
    return re.sub(r"^((RuntimeError|(kiltetl\.[\w.]*\.)?(DumpError|InputError|RunFailed)): )+", "", last)


def _silence() -> None:
    """Beam logs an error with its traceback and raises it too; a command says it once, in a line."""
    logging.getLogger().setLevel(logging.ERROR)  # clients that are not installed are warned of
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    """The threads that wait for Beam's worker processes say that these were ended, which the run says itself."""
    if failed.thread is None or failed.thread.name != "run_worker":
        threading.__excepthook__(failed)


def _start_worker() -> None:
    """In each process of a pool: an end with its parent, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to handle
    parent = multiprocessing.parent_process()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if parent is not None and parent.pid != os.getppid():
        os._exit(1)  # it ended before
    _silence()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C comes after the block; processes that it starts never get it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run_item(draw: Callable[[beam.Pipeline, Any], Any], item: Any, arguments: Sequence[str]) -> None:
    run(partial(_draw_item, draw, item), beam_options(arguments))


def _draw_item(draw: Callable[[beam.Pipeline, Any], Any], item: Any, root: beam.Pipeline) -> None:
    draw(root, item)


class Workers:
    """Runs small graphs side by side, each in one of ``count`` processes (in this one for a count of 1).

    A context manager. Processes are spawned, so a ``draw`` must be a function of a module, or a
    partial of one.
    """

    def __init__(self, count: int, arguments: Sequence[str] = ()) -> None:
        self._arguments = tuple(arguments)
        self._pool: Executor
        if count > 1:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(count, context, initializer=_start_worker)
            with _interrupts_held():
                for _ in range(count):  # a process is started when there is work for it: all at once, not one by one
                    self._pool.submit(_silence)
        else:
            self._pool = ThreadPoolExecutor(1, initializer=_silence)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        interrupted = kind is not None and not issubclass(kind, Exception)
        if interrupted:  # parts under way are given up: none counts before its marker stands
            for process in list((getattr(self._pool, "_processes", None) or {}).values()):
                process.kill()
        # a thread cannot be killed: it is left behind, and the process ends without it
        self._pool.shutdown(wait=not interrupted or isinstance(self._pool, ProcessPoolExecutor), cancel_futures=True)

    def run_each(self, draw: Callable[[beam.Pipeline, Item], Any], items: Sequence[Item]) -> None:
        """Run one graph for each item.

        The first failure ends the run; items under way are finished, the others not begun.
        """
        with _interrupts_held():
            waiting: set[Future[None]] = {self._pool.submit(_run_item, draw, item, self._arguments) for item in items}
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
        except BrokenExecutor:
            raise RunFailed("a worker process was killed, perhaps for want of memory: try fewer --workers") from None
        finally:
            for future in waiting:
                future.cancel()
