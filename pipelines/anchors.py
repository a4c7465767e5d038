"""anchors: the links of a knowledge source as training data for entity linking."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kiltetl.pipelines.arguments import Parser, add_common_arguments, positive, share, split_beam_options
from kiltetl.pipelines.console import Console, run_command, table
from kiltetl.pipelines.launch import launch, use_beam_options
from kiltetl.schemas.errors import InputError
from kiltetl.schemas.manifests import versions
from kiltetl.transforms.datasets.hashing import SEED
from kiltetl.transforms.datasets.mentions import MAX_TOKENS
from kiltetl.transforms.entity_links import DEV_SHARE, NAME, SPLITS
from kiltetl.transforms.files.paths import check_filesystem, join
from kiltetl.transforms.files.progress import watched
from kiltetl.transforms.files.streams import read_json
from kiltetl.transforms.jobs.entity_links import AnchorJob, link_shard, publish
from kiltetl.transforms.jobs.reader import manifest_path, open_knowledge_source
from kiltetl.transforms.jobs.staging import Staging, digest_of
from kiltetl.transforms.reports.build_summary import summarize, terminal_rows

if TYPE_CHECKING:
    import apache_beam as beam

_EPILOG = """\
Every link that leads to a page becomes a record of the table of the tasks: the linked text as mention in
its paragraph, at most 256 tokens in all. The pages are split into train and validation by a hash.

examples:
  kiltetl anchors --knowledge-source ks --output tasks --workers 4
  kiltetl anchors --knowledge-source ks --output tasks --sample 0.05 --dev-share 0.001

A run that was stopped goes on where it was when the same command is given again.
"""


@dataclass(frozen=True)
class Settings:
    """What the command line says; see --help."""

    knowledge_source: str
    output: str
    dev_share: float = DEV_SHARE
    sample: float = 1.0
    workers: int = 1
    dry_run: bool = False
    beam: tuple[str, ...] = ()


def build(root: "beam.Pipeline", job: AnchorJob) -> None:
    """Draw the whole graph, for any Beam runner."""
    import apache_beam as beam

    from kiltetl.transforms.beam.entity_links import LinkAnchors, PublishAnchors

    parts = root | "Shards" >> beam.Create(range(job.source.shards), reshuffle=True)
    _ = parts | LinkAnchors(job) | PublishAnchors(job)


def run_locally(job: AnchorJob, workers: int, arguments: Sequence[str], console: Console) -> None:
    """Run the stages of ``build`` one after the other, a shard at a time a process."""
    from kiltetl.transforms.beam.runner import Workers

    parts = range(job.source.shards)
    whole = job.source.size
    with (
        Workers(min(workers, len(parts)), arguments) as pool,
        console.progress(NAME, whole) as report,
        watched(report),
    ):
        pool.call_each(partial(link_shard, job), parts)
    with console.progress("audit"):
        publish(job)


def plan(settings: Settings) -> AnchorJob:
    """Look at the input; InputError for what the user can mend."""
    source = open_knowledge_source(settings.knowledge_source)
    about = source.about
    check_filesystem(settings.output, write=True)
    facts: dict[str, Any] = {
        "inputs": [],
        "knowledge_source": about,
        "versions": versions("apache-beam", "pyarrow"),
        "parameters": {
            "dev_share": settings.dev_share,
            "sample": settings.sample,
            "max_tokens": MAX_TOKENS,
            "seed": SEED,
        },
    }
    return AnchorJob(
        source, Staging(settings.output, NAME, digest_of(facts)), settings.dev_share, settings.sample, facts
    )


def execute(settings: Settings, console: Console) -> list[dict[str, Any]] | None:
    """Write the tables; the manifests of the splits, None after a dry run."""
    use_beam_options(settings.beam)
    job = plan(settings)
    paths = [manifest_path(job.output, NAME, split) for split in SPLITS]
    if settings.dry_run:
        console.say(_describe(job, settings, paths))
        return None
    with job.staging.writing():
        return _link(job, settings, paths, console)


def _link(job: AnchorJob, settings: Settings, paths: Sequence[str], console: Console) -> list[dict[str, Any]] | None:
    locally = partial(run_locally, job, settings.workers, settings.beam, console)
    if not launch(
        partial(build, job=job),
        job.staging,
        settings.beam,
        console,
        NAME,
        1,
        paths,
        reads=[job.source.folder],
        locally=locally,
    ):
        return None
    manifests = [read_json(path) for path in paths]
    if not any(manifest["counters"]["written"] for manifest in manifests):
        console.warn(f"{settings.knowledge_source}: no link leads to a page; the tables are there with 0 rows")
    return manifests


def _describe(job: AnchorJob, settings: Settings, manifests: Sequence[str]) -> str:
    lines = [
        "would read:",
        f"  {job.source.folder}  ({job.source.shards} shards)",
        "would write:",
        *(f"  {join(job.output, *job.shard(name, 0).split('/'))} …" for name in (*SPLITS, "rejects")),
        *(f"  {path}" for path in manifests),
        f"would need: {settings.workers} process(es)",
    ]
    return "\n".join(lines)


def parse_arguments(arguments: Sequence[str]) -> tuple[Settings, Console]:
    own, beam_arguments = split_beam_options(arguments)
    parser = Parser(__doc__ or "", _EPILOG, "kiltetl anchors")
    parser.add_argument("--knowledge-source", required=True, metavar="DIR", help="what kiltetl knowledge-source wrote")
    parser.add_argument("--output", required=True, metavar="DIR", help="folder for the tables")
    parser.add_argument(
        "--dev-share",
        type=share,
        default=DEV_SHARE,
        metavar="SHARE",
        help=f"share of pages in validation ({DEV_SHARE})",
    )
    parser.add_argument(
        "--sample", type=share, default=1.0, metavar="SHARE", help="share of the links that become records (1)"
    )
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="processes on this machine (1)")
    add_common_arguments(parser)
    found = parser.parse_args(own)
    if found.sample == 0:
        raise InputError("--sample 0: no link would become a record; give a share above 0")
    settings = Settings(
        knowledge_source=found.knowledge_source,
        output=found.output,
        dev_share=found.dev_share,
        sample=found.sample,
        workers=found.workers,
        dry_run=found.dry_run,
        beam=beam_arguments,
    )
    return settings, Console(found.quiet, not found.no_color)


def _command(arguments: Sequence[str]) -> None:
    settings, console = parse_arguments(arguments)
    manifests = execute(settings, console)
    if manifests is not None:
        console.say(table(terminal_rows(summarize(None, manifests))))
        console.say(f"\nshards in {join(settings.output, NAME)}")


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(_command, arguments)


if __name__ == "__main__":
    sys.exit(main())
