"""A command's graph launched: on this machine, or on the Beam runner that its options name.

Beam is imported here, when there is something to run, so that a mistake in what was given costs nothing.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kiltetl.pipelines.console import Console
from kiltetl.transforms.files.progress import watched
from kiltetl.transforms.jobs.staging import Staging

if TYPE_CHECKING:
    import apache_beam as beam


def check_beam_options(arguments: Sequence[str]) -> None:
    """InputError for what stands after a bare ``--`` and is no option of Beam."""
    if arguments:
        from kiltetl.transforms.beam.runner import beam_options

        beam_options(arguments)


def launch(
    draw: "Callable[[beam.Pipeline], Any]",
    staging: Staging,
    arguments: Sequence[str],
    console: Console,
    what: str,
    size: int,
    leaves: Sequence[str],
    workers: int = 1,
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
        locally: another way to do the same on this machine.
    """
    from kiltetl.transforms.beam.runner import beam_options, run, runs_here

    options = beam_options(arguments)
    if not runs_here(options):
        staging.begin()
        run(draw, options)
        if staging.has_ended():
            return True
        console.say(f"submitted; {' and '.join(leaves)} {'is' if len(leaves) == 1 else 'are'} written when it is done")
        return False
    if locally is not None:
        locally()
    else:
        with console.progress(what, size) as report, watched(report):
            run(draw, options, workers)
    return True
