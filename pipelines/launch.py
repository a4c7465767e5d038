"""A command's graph launched: on this machine, or on the Beam runner that its options name.

Beam is imported here, when there is something to run, so that a mistake in what was given costs nothing.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kiltetl.pipelines.console import Console
from kiltetl.transforms.files.paths import exists
from kiltetl.transforms.files.progress import watched

if TYPE_CHECKING:
    import apache_beam as beam


def check_beam_options(arguments: Sequence[str]) -> None:
    """InputError for what stands after a bare ``--`` and is no option of Beam."""
    if arguments:
        from kiltetl.transforms.beam.runner import beam_options

        beam_options(arguments)


def launch(
    draw: "Callable[[beam.Pipeline], Any]",
    arguments: Sequence[str],
    console: Console,
    what: str,
    size: int,
    leaves: Sequence[str],
    workers: int = 1,
    locally: Callable[[], None] | None = None,
    gone: Sequence[str] = (),
) -> bool:
    """Run a graph; False where it was submitted and goes on elsewhere.

    Args:
        draw: draws it, given the pipeline.
        arguments: Beam's options.
        what, size: of the progress: what is done, and the bytes that it reads.
        leaves: the files that tell of its end.
        workers: processes on this machine.
        locally: another way to do the same on this machine.
        gone: files that are there until its end, where what it leaves may stand there from before.
    """
    from kiltetl.transforms.beam.runner import beam_options, run, runs_here

    options = beam_options(arguments)
    if not runs_here(options):
        run(draw, options)
        if all(map(exists, leaves)) and not any(map(exists, gone)):
            return True
        console.say(f"submitted; {' and '.join(leaves)} {'is' if len(leaves) == 1 else 'are'} written when it is done")
        return False
    if locally is not None:
        locally()
    else:
        with console.progress(what, size) as report, watched(report):
            run(draw, options, workers)
    return True
