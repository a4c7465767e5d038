"""evaluate: predictions scored with the official figures of KILT or MKQA."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kiltetl.pipelines.arguments import Parser, add_common_arguments, positive, split_beam_options
from kiltetl.pipelines.console import Console, run_command, size, table
from kiltetl.pipelines.evaluate_inputs import Benchmark, Settings
from kiltetl.pipelines.evaluate_kilt import Kilt
from kiltetl.pipelines.evaluate_mkqa import Mkqa
from kiltetl.pipelines.launch import end, launch, use_beam_options
from kiltetl.schemas.errors import EvaluationError, InputError
from kiltetl.transforms.files.paths import FileInfo, absolute, check_filesystem, join
from kiltetl.transforms.files.progress import watched
from kiltetl.transforms.files.streams import read_json
from kiltetl.transforms.jobs.evaluation import METRICS, PAGE, PER_EXAMPLE, EvaluationJob, Source, evaluate_here, publish
from kiltetl.transforms.metrics.bootstrap import SEED
from kiltetl.transforms.reports.scores import DISPLAYS

if TYPE_CHECKING:
    import apache_beam as beam

BENCHMARKS: Final[Mapping[str, Benchmark]] = {"kilt": Kilt(), "mkqa": Mkqa()}
_SAMPLES = 1000

_USAGE = """\
usage: kiltetl evaluate kilt|mkqa --gold PATH --predictions PATH [options] [-- BEAM OPTIONS]

evaluate: predictions scored with the official figures of KILT or MKQA.

  kilt  accuracy, EM, F1, ROUGE-L, R-precision, recall@k, … and KILT scores; the leaderboard for a folder
  mkqa  EM and F1 at the best threshold for No Answer, by language

kiltetl evaluate kilt --help and kiltetl evaluate mkqa --help say more.
"""


def build(root: "beam.Pipeline", job: EvaluationJob) -> None:
    """Draw the whole graph, for any Beam runner."""
    import apache_beam as beam

    from kiltetl.transforms.beam.evaluation import PublishScores, ScoreRecords

    sources = [*job.gold, *(source for system in job.systems for source in system)]
    _ = root | "Sources" >> beam.Create(sources) | beam.Reshuffle() | ScoreRecords(job) | PublishScores(job)


def plan(settings: Settings, console: Console) -> EvaluationJob:
    """Look at the input; InputError for what the user can mend."""
    places = [("--predictions", settings.predictions)]
    places += [("--compare", settings.compare)] if settings.compare else []
    try:
        given = BENCHMARKS[settings.benchmark].plan(settings, places, console)
    except EvaluationError as error:
        raise InputError(str(error)) from None
    names = tuple(given.systems[0])
    for found in given.systems[1:]:
        absent = [name for name in names if name not in found]
        if absent:
            raise InputError(f"--compare {settings.compare}: no predictions for {', '.join(absent)}")
    if settings.output is not None:
        check_filesystem(settings.output, write=True)
    return EvaluationJob(
        scorer=given.scorer,
        names=names,
        gold=_sources(given.gold),
        systems=tuple(
            _sources({name: found[name] for name in names}, system) for system, found in enumerate(given.systems)
        ),
        output=settings.output,
        bootstrap=settings.bootstrap or (_SAMPLES if settings.compare else 0),
        seed=settings.seed,
    )


def _sources(found: Mapping[Any, list[FileInfo]], system: int | None = None) -> tuple[Source, ...]:
    files = [(name, info) for name, infos in found.items() for info in infos]
    return tuple(Source(name, info, number, system) for number, (name, info) in enumerate(files))


# --------------------------------------------------------------------------------------------
# The command


def execute(settings: Settings, console: Console) -> dict[str, Any] | None:
    """Score the predictions; the content of metrics.json, None after a dry run."""
    use_beam_options(settings.beam or ())
    if settings.beam is not None and settings.output is None:
        raise InputError("a run on Beam needs a folder for its results: --output DIR")
    job = plan(settings, console)
    if settings.dry_run:
        console.say(_describe(job))
        return None
    if settings.output is None:
        return publish(job, _score_here(job, settings, console))
    with job.staging.writing():
        job.staging.clear()  # what a run before has left: reading takes longer than scoring, so it is no use
        if settings.beam is None:
            summary = publish(job, _score_here(job, settings, console))
            end(job.staging, console)
            return summary
        return _score_on_beam(job, settings, console)


def _score_here(job: EvaluationJob, settings: Settings, console: Console) -> list[Any]:
    with console.progress(_progress(settings), _size(job)) as report, watched(report):
        return evaluate_here(job)


def _score_on_beam(job: EvaluationJob, settings: Settings, console: Console) -> dict[str, Any] | None:
    path = join(settings.output or "", METRICS)
    draw = partial(build, job=job)
    if not launch(
        draw,
        job.staging,
        settings.beam or (),
        console,
        _progress(settings),
        _size(job),
        [path],
        reads=[source.info.path for source in _all_sources(job)],
    ):
        return None
    summary: dict[str, Any] = read_json(path)
    return summary


def _progress(settings: Settings) -> str:
    return f"evaluate {settings.benchmark}"


def _size(job: EvaluationJob) -> int:
    return sum(source.info.size for source in _all_sources(job))


def _all_sources(job: EvaluationJob) -> Iterable[Source]:
    yield from job.gold
    for system in job.systems:
        yield from system


def _describe(job: EvaluationJob) -> str:
    lines = ["would read:"]
    lines += [f"  {source.info.path}  {size(source.info.size)}" for source in _all_sources(job)]
    if job.output is not None:
        lines += ["would write:", *(f"  {join(job.output, name)}" for name in (METRICS, PER_EXAMPLE, PAGE))]
    lines.append(f"would score: {', '.join(job.names)}")
    return "\n".join(lines)


def _say(summary: dict[str, Any], benchmark: str, console: Console) -> None:
    display = DISPLAYS[benchmark]
    console.say("\n\n".join(map(table, display.tables(summary))))
    for line in display.warnings(summary):
        console.warn(line)


def parse_arguments(arguments: Sequence[str]) -> tuple[Settings, Console]:
    own, beam_arguments = split_beam_options(arguments)
    if not own or own[0] not in BENCHMARKS:
        raise InputError("say what to evaluate: kiltetl evaluate kilt or kiltetl evaluate mkqa; see --help")
    benchmark = BENCHMARKS[own[0]]
    parser = Parser(__doc__ or "", benchmark.epilog, f"kiltetl evaluate {own[0]}")
    parser.add_argument("--gold", required=True, metavar="PATH", help="gold records")
    parser.add_argument("--predictions", required=True, metavar="PATH", help="predictions of the same ids")
    parser.add_argument("--compare", metavar="PATH", help="predictions of another system, for a paired bootstrap")
    benchmark.add_options(parser)
    parser.add_argument("--output", metavar="DIR", help=f"folder for {METRICS}, {PER_EXAMPLE}, {PAGE} and pictures")
    parser.add_argument("--strict", action="store_true", help="sensible figures where the official ones are odd")
    parser.add_argument(
        "--bootstrap",
        type=positive,
        default=0,
        metavar="N",
        help=f"95 %% intervals from N samples; {_SAMPLES} is usual",
    )
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"seed of the samples ({SEED})")
    add_common_arguments(parser)
    found = vars(parser.parse_args(own[1:]))
    console = Console(found.pop("quiet"), not found.pop("no_color"))
    if beam_arguments:  # workers elsewhere have another working folder
        for name in ("gold", "predictions", "compare", "output"):
            found[name] = found[name] and absolute(found[name], Path.cwd())
    return Settings(own[0], **found, beam=beam_arguments if "--" in list(arguments) else None), console


def _command(arguments: Sequence[str]) -> None:
    if list(arguments[:1]) in (["-h"], ["--help"]):
        print(_USAGE, end="")
        return
    settings, console = parse_arguments(arguments)
    summary = execute(settings, console)
    if summary is None:
        return
    _say(summary, settings.benchmark, console)
    if settings.strict:
        console.say("\nstrict mode: not to be set beside published figures")
    console.say(f"\n{summary['signature']}")
    if settings.output is not None:
        console.say("\n".join(join(settings.output, name) for name in (METRICS, PER_EXAMPLE, PAGE)))
        if "pictures" in summary:
            console.say(f"pictures: {summary['pictures']}")


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(_command, arguments)


if __name__ == "__main__":
    sys.exit(main())
