"""build: knowledge source, tasks and report in one go, as a configuration file says."""

import sys
from collections.abc import Sequence

from kiltetl.pipelines import knowledge_source, report, tasks
from kiltetl.pipelines.arguments import Parser, add_common_arguments, split_beam_options
from kiltetl.pipelines.config import plan_of
from kiltetl.pipelines.console import Console, run_command, table
from kiltetl.pipelines.launch import use_beam_options
from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.paths import check_filesystem, join
from kiltetl.transforms.jobs.reader import open_knowledge_source
from kiltetl.transforms.reports.build_summary import terminal_rows

_EPILOG = """\
The configuration is TOML; paths in it are relative to its own folder:

  output = "out"
  workers = 2

  [knowledge_source]                 # or: path = "DIR" of one that is built already
  dump = ["enwiki-20190801-pages-articles-multistream.xml.bz2"]

  [[task]]
  dataset = "hotpotqa"
  split = "dev"
  source = ["hotpot_dev_distractor_v1.json"]

Keys are the options of kiltetl knowledge-source and kiltetl tasks, with _ for -. examples/build.toml
is a model with comments.
"""


def check(path: str, source_folder: str | None, stages: Sequence[tasks.Settings]) -> None:
    """InputError for what is wrong with a task, before anything is built; names the task."""
    before: set[str] = set()
    for number, one in enumerate(stages, 1):
        try:
            dataset = tasks.check(one).dataset
            if dataset.needs_knowledge_source and source_folder is None:
                raise InputError(f"{dataset.name} is mapped onto pages: the file needs a [knowledge_source]")
            lender = dataset.ids_of if one.mkqa_provenance == one.output else None
            if lender is not None and lender not in before and not tasks.mapped(one.output, lender):
                raise InputError(
                    f"mkqa_provenance = true takes the evidence of {lender}: put a [[task]] of {lender} before it"
                )
            before.add(dataset.name)
        except InputError as error:
            raise InputError(f"{path}: [[task]] number {number}: {error}") from None


def execute(
    path: str,
    console: Console,
    output: str | None = None,
    dry_run: bool = False,
    overwrite: bool = False,
    beam: tuple[str, ...] = (),
) -> None:
    """Run what a configuration file asks for; ``output`` is taken before the file's own."""
    use_beam_options(beam)
    asked = plan_of(path, output, dry_run, overwrite, beam)
    source, found, folder, output = asked.source, asked.tasks, asked.source_folder, asked.output
    check_filesystem(output, write=True)
    check(path, folder, found)
    if source is None and folder is not None:
        open_knowledge_source(folder)  # InputError if none is there
    manifest = knowledge_source.execute(source, console) if source else None
    if dry_run:
        if source is None and folder is not None:
            console.say(f"{folder}: already built")
        for one in found:
            console.say(f"then {one.dataset} {one.split}: {' '.join(one.source or one.from_kilt)}")
        return
    for one in found:
        tasks.execute(one, console)
    summary = report.execute(output, console)
    if manifest:
        console.say("\n" + knowledge_source.summary(manifest))
    if found:
        console.say("\n" + table(terminal_rows(summary)))
    console.say(f"\nshards in {output}\nreport in {join(output, 'report.html')}")


def _command(arguments: Sequence[str]) -> None:
    own, beam = split_beam_options(arguments)
    parser = Parser(__doc__ or "", _EPILOG, "kiltetl build")
    parser.add_argument("config", metavar="CONFIG.toml", help="what to build")
    parser.add_argument("--output", metavar="DIR", help="folder to write to, instead of the configuration's")
    parser.add_argument("--overwrite", action="store_true", help="replace a knowledge source of another dump")
    add_common_arguments(parser)
    found = parser.parse_args(own)
    console = Console(found.quiet, not found.no_color)
    execute(found.config, console, found.output, found.dry_run, found.overwrite, beam)


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(_command, arguments)


if __name__ == "__main__":
    sys.exit(main())
