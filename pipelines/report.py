"""report: what was built, as one page (report.html) and as data (report.json)."""

import glob
import sys
from collections.abc import Sequence
from typing import Any

from kiltetl.pipelines.arguments import Parser, add_common_arguments, split_beam_options
from kiltetl.pipelines.console import Console, run_command
from kiltetl.pipelines.launch import use_beam_options
from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.paths import check_filesystem, expand, folder_of, join
from kiltetl.transforms.files.streams import read_json, write_json, write_text
from kiltetl.transforms.reports.build_page import render
from kiltetl.transforms.reports.build_summary import summarize

_EPILOG = """\
DIR is what kiltetl build, knowledge-source or tasks wrote, or a folder that holds several of these: the
manifests in it and in its folders, one level deep, are read. The report is written into DIR.

examples:
  kiltetl report out
  kiltetl report s3://bucket/out -- --s3_endpoint_url=https://host
"""


def find_manifests(folder: str) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """The manifest of the knowledge source, if any, and those of the tasks, by name."""
    sources: dict[str, dict[str, Any]] = {}
    for path in [*_files(folder, "manifest.json"), *_files(folder, "*", "manifest.json")]:
        found = read_json(path)
        if isinstance(found, dict) and found.get("kind") == "knowledge-source":
            sources[folder_of(path)] = found
    if len(sources) > 1:
        raise InputError(f"{folder}: several knowledge sources, {', '.join(sources)}; name the folder of one build")
    tasks: dict[tuple[Any, Any], tuple[str, dict[str, Any]]] = {}
    own = _files(folder, "manifests", "*.json")
    for path in [*own, *_files(folder, "*", "manifests", "*.json")]:
        found = read_json(path)
        if not isinstance(found, dict) or found.get("kind") != "tasks":
            continue
        before, _ = tasks.setdefault((found["dataset"], found["split"]), (path, found))
        if before != path and before not in own:  # what DIR itself holds stands before what was made of it
            raise InputError(f"{folder}: the same split twice, {before} and {path}; name the folder of one build")
    return next(iter(sources.values()), None), [found for _, found in tasks.values()]


def _files(folder: str, *names: str) -> list[str]:
    """Files below a folder that fit, sorted; [] where none does."""
    pattern = join(glob.escape(folder), *names)
    try:
        return sorted(info.path for info in expand([pattern]))
    except InputError:
        return []


def execute(folder: str, console: Console, dry_run: bool = False) -> dict[str, Any]:
    """Write report.html and report.json into the folder; the report."""
    check_filesystem(folder)
    source, tasks = find_manifests(folder)
    if source is None and not tasks:
        raise InputError(
            f"{folder}: no manifest of a knowledge source or of tasks in it; give the folder that a build wrote"
        )
    page, data = join(folder, "report.html"), join(folder, "report.json")
    report = summarize(source, tasks)
    if dry_run:
        console.say(f"would write:\n  {page}\n  {data}")
        return report
    check_filesystem(folder, write=True)
    write_json(data, report)
    write_text(page, render(report))
    return report


def _command(arguments: Sequence[str]) -> None:
    parser = Parser(__doc__ or "", _EPILOG, "kiltetl report")
    parser.add_argument("folder", metavar="DIR", help="what a build wrote")
    add_common_arguments(parser)
    own, beam = split_beam_options(arguments)
    found = parser.parse_args(own)
    use_beam_options(beam)
    console = Console(found.quiet, not found.no_color)
    execute(found.folder, console, found.dry_run)
    if not found.dry_run:
        console.say(f"{join(found.folder, 'report.html')}\n{join(found.folder, 'report.json')}")


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(_command, arguments)


if __name__ == "__main__":
    sys.exit(main())
