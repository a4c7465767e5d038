"""How a graph is run: on this machine, safely, or on any other Beam runner.

The local runner is built by hand, for three measured faults of Beam 2.77: ``DirectRunner`` may
switch to another engine that it tries to download; with several workers a timed flush loses rows
in silence (its timer thread clears a buffer that a writer still fills; off at limit 0, see
``tests/test_runner.py``); and worker processes do not get the pipeline's options. Several *threads*
in one process are refused: they share the fault and gain nothing from Python.
"""

import logging
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, TypeVar

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, StandardOptions
from apache_beam.portability.api import beam_provision_api_pb2 as provision
from apache_beam.runners.portability.fn_api_runner import fn_runner, worker_handlers
from apache_beam.runners.portability.portable_runner import JobServiceHandle
from apache_beam.runners.runner import PipelineState

from kiltetl.transforms.io import InputError

Item = TypeVar("Item")
Draw = Callable[[beam.Pipeline], Any]

_LOCAL_RUNNERS = (None, "", "DirectRunner", "FnApiRunner")


class RunFailed(Exception):
    """A pipeline did not end well; the message says why."""


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


def is_local(options: PipelineOptions) -> bool:
    """Whether the graph runs on this machine, under ``local_runner``."""
    return options.view_as(StandardOptions).runner in _LOCAL_RUNNERS


def local_runner(options: PipelineOptions) -> fn_runner.FnApiRunner:
    """Beam's in-memory runner, without its faults; one process, or as many as direct_num_workers says."""
    if options.view_as(DirectOptions).direct_running_mode == "multi_threading":
        raise InputError("--direct_running_mode=multi_threading loses rows and is refused: use --workers N")
    worker_handlers.DATA_BUFFER_TIME_LIMIT_MS = 0
    encoded = JobServiceHandle.encode_pipeline_options(options.get_all_options())
    return fn_runner.FnApiRunner(
        provision_info=fn_runner.ExtendedProvisionInfo(provision.ProvisionInfo(pipeline_options=encoded))
    )


def run(draw: Draw, options: PipelineOptions, workers: int = 1) -> dict[str, int]:
    """Draw a graph and run it to its end.

    Args:
        draw: is given the pipeline.
        workers: processes on this machine (ignored by other runners, which have options of their own).

    Returns:
        Committed values of the graph's counters, ``namespace/name`` to value.
    """
    if is_local(options):
        if workers > 1:
            direct = options.view_as(DirectOptions)
            direct.direct_num_workers, direct.direct_running_mode = workers, "multi_processing"
        pipeline = beam.Pipeline(runner=local_runner(options), options=options)
    else:
        pipeline = beam.Pipeline(options=options)
    draw(pipeline)
    result = pipeline.run()
    if getattr(result, "state", None) is None or options.view_as(StandardOptions).no_wait_until_finish:
        return {}
    state = result.wait_until_finish()
    if state != PipelineState.DONE:
        raise RunFailed(f"the pipeline ended in state {state}")
    counters = result.metrics().query()["counters"]
    return {f"{c.key.metric.namespace}/{c.key.metric.name}": c.committed for c in counters}


# --------------------------------------------------------------------------------------------
# a big build on one machine: one small graph a part, in as many processes as asked for

_progress: Any = None  # shared between the processes of run_each


def advance(amount: int) -> None:
    """Report work done (bytes read); where nobody listens, nothing happens."""
    if _progress is not None:
        with _progress.get_lock():
            _progress.value += amount


def _listen(counter: Any) -> None:
    global _progress
    _progress = counter
    logging.getLogger("apache_beam").setLevel(logging.ERROR)


def _run_one(draw: Callable[[beam.Pipeline, Any], Any], item: Any, arguments: Sequence[str]) -> None:
    run(partial(_draw_item, draw, item), beam_options(arguments))


def _draw_item(draw: Callable[[beam.Pipeline, Any], Any], item: Any, root: beam.Pipeline) -> None:
    draw(root, item)


def run_each(
    draw: Callable[[beam.Pipeline, Item], Any],
    items: Sequence[Item],
    workers: int,
    arguments: Sequence[str] = (),
    report: Callable[[int], None] = lambda amount: None,
) -> None:
    """Run one graph for each item, ``workers`` at a time, each in a process of its own.

    Args:
        draw: a module-level function (or partial of one): it travels to other processes.
        arguments: Beam options for each graph.
        report: called a few times a second with the amount done since the last call.

    The first failure ends the run; the items that were under way are finished.
    """
    context = multiprocessing.get_context("spawn")
    counter = context.Value("q", 0)
    told = 0
    with ProcessPoolExecutor(min(workers, len(items)) or 1, context, initializer=_listen, initargs=(counter,)) as pool:
        waiting: set[Future[None]] = {pool.submit(_run_one, draw, item, tuple(arguments)) for item in items}
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                amount = counter.value
                report(amount - told)
                told = amount
        except BrokenProcessPool:
            raise RunFailed("a worker process was killed, perhaps for want of memory: try fewer --workers") from None
        finally:
            for future in waiting:
                future.cancel()
