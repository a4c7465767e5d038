"""A command's graph launched: on this machine, or on the Beam runner that its options name.

Beam is imported here, when there is something to run, so that a mistake in what was given costs nothing.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kiltetl.pipelines.console import Console
from kiltetl.schemas.errors import InputError, RunFailed
from kiltetl.transforms.files.paths import is_local
from kiltetl.transforms.files.progress import watched
from kiltetl.transforms.jobs.staging import Staging

if TYPE_CHECKING:
    import apache_beam as beam


def use_beam_options(arguments: Sequence[str]) -> None:
    """Have the options after a bare ``--`` hold for all files from now on; InputError for one that Beam has not."""
    if arguments:
        from kiltetl.transforms.beam.runner import beam_options, use_for_files

        use_for_files(beam_options(arguments))


def launch(
    draw: "Callable[[beam.Pipeline], Any]",
    staging: Staging,
    arguments: Sequence[str],
    console: Console,
    what: str,
    size: int,
    leaves: Sequence[str],
    workers: int = 1,
    reads: Sequence[str] = (),
    locally: Callable[[], None] | None = None,
) -> bool:
    """Run a graph; False where it was submitted and goes on elsewhere.

    Args:
        draw: draws it, given the pipeline.
        staging: of its job.
        arguments: Beam's options.
        what, size: of the progress: what is done, and the bytes that it reads.
        leaves: the manifests that it ends with.
        workers: processes on this machine.
        reads: the files and folders that its workers read.
        locally: another way to do the same on this machine.

    Raises:
        InputError: the workers are elsewhere and a path is of this machine, or they may still be at work.
        RunFailed: the run failed, or its workers wrote where nobody finds it.
    """
    from kiltetl.transforms.beam.runner import beam_options, goes_on, run, runner_name, runs_here, see_this_machine

    options = beam_options(arguments)
    if runs_here(options):
        if locally is not None:
            locally()
        else:
            with console.progress(what, size) as report, watched(report):
                run(draw, options, workers)
    else:
        near = [path for path in (*reads, staging.output) if is_local(path)]
        if near and not see_this_machine(options):
            raise InputError(
                f"{near[0]}: the workers of {runner_name(options)} do not see the files of this machine; "
                "give gs://, s3:// or hdfs:// addresses"
            )
        if goes_on(options):
            staging.begin()
        run(draw, options)
        if goes_on(options):
            they = "is" if len(leaves) == 1 else "are"
            console.say(f"submitted; {' and '.join(leaves)} {they} written when it is done")
            return False
    if staging.finish() is None:
        raise RunFailed(
            f"the run ended, but {leaves[-1]} is not there: its workers wrote to {staging.folder} on machines of "
            "their own; give a folder that all of them see"
        )
    end(staging, console)
    return True


def end(staging: Staging, console: Console) -> None:
    """Delete the staging folder of a job that is done, or say that it stays."""
    try:
        staging.clear()
    except OSError as error:
        console.warn(f"{staging.folder} is done with, but could not be deleted ({error}); delete it")
