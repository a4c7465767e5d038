"""report: what was built, as one page (report.html) and as data (report.json)."""

import sys
from collections.abc import Sequence
from typing import Any

from kiltetl.pipelines.console import Console, Parser, add_common_arguments, run_command
from kiltetl.transforms import io
from kiltetl.transforms.io import InputError
from kiltetl.transforms.report import render, summarize

_EPILOG = """\
DIR is what kiltetl build, knowledge-source or tasks wrote: all manifests in it and in its folders
knowledge_source and tasks are read. The report is written into DIR.

example:
  kiltetl report out
"""


def find_manifests(folder: str) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """The manifest of the knowledge source, if any, and those of the tasks, by name."""
    source = None
    tasks = []
    for place in (folder, io.join(folder, "knowledge_source"), io.join(folder, "tasks")):
        if "manifest.json" in io.list_folder(place, "manifest.json"):
            source = io.read_json(io.join(place, "manifest.json"))
        manifests = io.join(place, "manifests")
        tasks += [io.read_json(io.join(manifests, name)) for name in io.list_folder(manifests, "*.json")]
    return source, tasks


def execute(folder: str, console: Console, dry_run: bool = False) -> dict[str, Any]:
    """Write report.html and report.json into the folder; the report."""
    source, tasks = find_manifests(folder)
    if source is None and not tasks:
        raise InputError(
            f"{folder}: no manifest of a knowledge source or of tasks in it; give the folder that a build wrote"
        )
    page, data = io.join(folder, "report.html"), io.join(folder, "report.json")
    report = summarize(source, tasks)
    if dry_run:
        console.say(f"would write:\n  {page}\n  {data}")
        return report
    io.write_json(data, report)
    io.write_text(page, render(report))
    return report


def _command(arguments: Sequence[str]) -> None:
    parser = Parser(__doc__ or "", _EPILOG, "kiltetl report")
    parser.add_argument("folder", metavar="DIR", help="what a build wrote")
    add_common_arguments(parser)
    found = parser.parse_args(list(arguments))
    console = Console(found.quiet, not found.no_color)
    execute(found.folder, console, found.dry_run)
    if not found.dry_run:
        console.say(f"{io.join(found.folder, 'report.html')}\n{io.join(found.folder, 'report.json')}")


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(_command, arguments)


if __name__ == "__main__":
    sys.exit(main())
