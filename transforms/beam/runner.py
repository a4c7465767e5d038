"""How a graph is run: on this machine, safely, or on any other Beam runner.

The local runner is built by hand, for three measured faults of Beam 2.77: ``DirectRunner`` may
switch to another engine that it tries to download; with several workers a timed flush loses rows
in silence (its timer thread clears a buffer that a writer still fills; off at limit 0, see
``tests/beam/test_runner.py``); and worker processes do not get the pipeline's options. Several *threads*
in one process are refused: they share the fault and gain nothing from Python.
"""

import contextlib
import ctypes
import io
import logging
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import sys
import threading
import time
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
from typing import Any, Final, TypeVar

import apache_beam as beam
import grpc
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import (
    DirectOptions,
    PipelineOptions,
    PortableOptions,
    StandardOptions,
    TestOptions,
)
from apache_beam.portability.api import beam_job_api_pb2, beam_job_api_pb2_grpc
from apache_beam.portability.api import beam_provision_api_pb2 as provision
from apache_beam.runners.portability.fn_api_runner import fn_runner, worker_handlers
from apache_beam.runners.portability.portable_runner import JobServiceHandle
from apache_beam.runners.runner import PipelineState
from apache_beam.transforms import environments

from kiltetl.schemas.errors import DumpError, InputError, RunFailed
from kiltetl.transforms.files.progress import watchable
from kiltetl.transforms.files.scratch import scratch_folder
from kiltetl.transforms.files.streams import write_text

Item = TypeVar("Item")
Draw = Callable[[beam.Pipeline], Any]

# Beam takes runner names in any case, and all of these for its own runner on this machine.
_LOCAL_RUNNERS = ("direct", "directrunner", "fnapirunner", "switchingdirectrunner", "bundlebaseddirectrunner")
# These hand the graph to a job server, which may have options that Beam's Python does not know.
_PORTABLE_RUNNERS = ("portablerunner", "flinkrunner", "sparkrunner", "prismrunner", "samzarunner")
_BEAM_THREADS: Final = ("run_worker", "beam_control_read", "read_grpc_client_inputs")  # the first waits for a process
_SERVER_WAIT: Final = 20  # seconds
_DEBUG: Final = "KILTETL_DEBUG"  # in the environment: all that Beam says is shown
_KILLED: Final = "a worker process was killed, perhaps for want of memory: try fewer --workers"


def beam_options(arguments: Sequence[str]) -> PipelineOptions:
    """Beam's options; InputError names an argument that neither Beam knows nor, where one is named, its job server."""
    options = PipelineOptions(list(arguments))
    parsers: list[Any] = []
    logging.getLogger("apache_beam.options.pipeline_options").setLevel(logging.ERROR)
    options.get_all_options(add_extra_args_fn=parsers.append)
    _, unknown = parsers[0].parse_known_args(list(arguments))
    if unknown and runner_name(options).lower() in _PORTABLE_RUNNERS:
        known = _server_options(options.view_as(PortableOptions).job_endpoint)
        unknown = [one for one in unknown if known is not None and one.startswith("-") and _name(one) not in known]
    if unknown:
        raise InputError(f"{' '.join(unknown)}: not an option of Apache Beam {beam.__version__}")
    return options


def _name(argument: str) -> str:
    return argument.lstrip("-").partition("=")[0]


def _server_options(endpoint: str | None) -> frozenset[str] | None:
    """Names of the options of the job server's own, as it tells them; None where none is named or answers."""
    if not endpoint:
        return None
    with grpc.insecure_channel(endpoint) as channel:
        service = beam_job_api_pb2_grpc.JobServiceStub(channel)
        try:
            told = service.DescribePipelineOptions(
                beam_job_api_pb2.DescribePipelineOptionsRequest(), timeout=_SERVER_WAIT, wait_for_ready=True
            )
        except grpc.RpcError:
            raise InputError(f"--job_endpoint={endpoint}: no job server answers there") from None
    return frozenset(one.name for one in told.options)


def use_for_files(options: PipelineOptions) -> None:
    """Have options (credentials, an endpoint) hold for all files that this process opens from now on."""
    FileSystems.set_options(options)


def runner_name(options: PipelineOptions) -> str:
    return options.view_as(StandardOptions).runner or "DirectRunner"


def runs_here(options: PipelineOptions) -> bool:
    """Whether the graph runs on this machine, under ``local_runner``."""
    return runner_name(options).lower() in _LOCAL_RUNNERS


def see_this_machine(options: PipelineOptions) -> bool:
    """Whether the workers may see the files of this machine: those of a cloud and those in containers do not."""
    if runner_name(options).lower() not in _PORTABLE_RUNNERS:
        return runs_here(options)
    return (options.view_as(PortableOptions).environment_type or "DOCKER").upper() != "DOCKER"


def goes_on(options: PipelineOptions) -> bool:
    """Whether the graph is given to a runner without waiting for its end, or only drawn."""
    return bool(options.view_as(StandardOptions).no_wait_until_finish or options.view_as(TestOptions).dry_run)


def local_runner(options: PipelineOptions, lifeline: str = "") -> fn_runner.FnApiRunner:
    """Beam's in-memory runner, without its faults; one process, or as many as direct_num_workers says.

    The worker processes end when the file ``lifeline`` goes.
    """
    direct = options.view_as(DirectOptions)
    if direct.direct_running_mode == "multi_threading":
        raise InputError("--direct_running_mode=multi_threading loses rows and is refused: use --workers N")
    worker_handlers.DATA_BUFFER_TIME_LIMIT_MS = 0
    environment = None
    if direct.direct_num_workers > 1:
        # what multi_processing would set up, less the workers' own logs (errors reach the runner)
        direct.direct_running_mode = "in_memory"
        program = shlex.quote(_beam_worker(lifeline))
        command = f"exec {_bound()}{shlex.quote(sys.executable)} -c {program} 2>{os.devnull}"
        environment = environments.SubprocessSDKEnvironment.from_command_string(command)
    encoded = JobServiceHandle.encode_pipeline_options(options.get_all_options())
    return fn_runner.FnApiRunner(
        default_environment=environment,
        provision_info=fn_runner.ExtendedProvisionInfo(provision.ProvisionInfo(pipeline_options=encoded)),
    )


def _beam_worker(lifeline: str) -> str:
    """The program of a worker: Beam's own, with this process's import path, so that it runs this very code."""
    path = [entry or os.getcwd() for entry in sys.path]
    return (
        f"import sys; sys.path[:] = {path!r}; "
        f"from kiltetl.transforms.beam.runner import live_with; live_with({lifeline!r}); "
        "from apache_beam.runners.worker import sdk_worker_main; sdk_worker_main.main(sys.argv)"
    )


def live_with(lifeline: str) -> None:
    """In a worker process: end when a file goes, without which Beam would wait for it."""

    def watch() -> None:
        while os.path.exists(lifeline):
            time.sleep(0.1)
        os._exit(1)

    if lifeline:
        threading.Thread(target=watch, daemon=True).start()


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
    try:
        with _worker_processes() as lifeline:
            if runs_here(options):
                if workers > 1:
                    options.view_as(DirectOptions).direct_num_workers = workers
                pipeline = beam.Pipeline(runner=local_runner(options, lifeline), options=options)
            else:
                pipeline = beam.Pipeline(options=options)
            draw(pipeline)
            with _silenced(runs_here(options)):
                result = pipeline.run()
                if goes_on(options):
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


@contextlib.contextmanager
def _worker_processes() -> Iterator[str]:
    """While the block runs, a worker process of Beam's local runner that is killed ends it: Beam waits for ever.

    Gives the lifeline of those processes.
    """
    before, killed = threading.excepthook, threading.Event()
    on_main = threading.current_thread() is threading.main_thread()

    def failed(what: threading.ExceptHookArgs) -> None:
        name = "" if what.thread is None else what.thread.name
        if name not in _BEAM_THREADS:
            before(what)
        elif name == _BEAM_THREADS[0] and not killed.is_set():
            killed.set()
            os.remove(lifeline)
            if on_main:  # a signal, since nothing else wakes a thread that waits for a lock
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    stack = contextlib.ExitStack()
    lifeline = os.path.join(stack.enter_context(scratch_folder()), "run")
    write_text(lifeline, "")
    threading.excepthook = failed
    try:
        yield lifeline
    except BaseException as error:
        if killed.is_set() and not isinstance(error, (InputError, RunFailed, DumpError)):
            raise RunFailed(_KILLED) from None
        raise
    finally:
        killed.set()  # that workers end now is no failure
        stack.close()
        threading.excepthook = before


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


@contextlib.contextmanager
def _silenced(here: bool) -> Iterator[None]:
    """While the block runs, nothing that Beam and its engines say of an error is printed: it is raised, too."""
    if os.environ.get(_DEBUG):
        yield
        return
    _silence()
    if here:
        yield
        return
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # where workers of this very process print tracebacks
            yield
    finally:
        logging.disable(before)


def _silence() -> None:
    """Beam logs an error with its traceback and raises it too; a command says it once, in a line."""
    logging.getLogger().setLevel(logging.ERROR)  # clients that are not installed are warned of
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)


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


def _call_item(function: Callable[[Any], Any], item: Any, arguments: Sequence[str]) -> None:
    if arguments:
        use_for_files(beam_options(arguments))
    try:
        function(item)
    except (InputError, RunFailed, DumpError):
        raise
    except Exception as error:
        raise RunFailed(f"{type(error).__name__}: {error}") from error


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
        self._watched = contextlib.ExitStack()
        self._watched.enter_context(watchable())
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
        self._watched.close()

    def call_each(self, function: Callable[[Item], Any], items: Sequence[Item]) -> None:
        """Call a function with each item, without a graph around it; as ``run_each`` else."""
        self._each(partial(_call_item, function), items)

    def run_each(self, draw: Callable[[beam.Pipeline, Item], Any], items: Sequence[Item]) -> None:
        """Run one graph for each item.

        The first failure ends the run; items under way are finished, the others not begun.
        """
        self._each(partial(_run_item, draw), items)

    def _each(self, function: Callable[[Item, Sequence[str]], None], items: Sequence[Item]) -> None:
        with _interrupts_held():
            waiting: set[Future[None]] = {self._pool.submit(function, item, self._arguments) for item in items}
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
        except BrokenExecutor:
            raise RunFailed(_KILLED) from None
        finally:
            for future in waiting:
                future.cancel()
