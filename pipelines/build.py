"""build: knowledge source, tasks and report in one go, as a configuration file says."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from kiltetl.pipelines import knowledge_source, report, tasks
from kiltetl.pipelines.console import Console, Parser, add_common_arguments, run_command, split_beam_options, table
from kiltetl.transforms import io
from kiltetl.transforms.io import InputError
from kiltetl.transforms.report import terminal_rows

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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

_SOURCE_KEYS = {f.name for f in fields(knowledge_source.Settings)} - {"output", "beam", "dry_run", "part_bytes"}
_TASK_KEYS = {f.name for f in fields(tasks.Settings)} - {"output", "beam", "dry_run", "knowledge_source"}


def read_config(path: str) -> dict[str, Any]:
    """A configuration file; InputError names what is wrong with it."""
    try:
        with open(path, "rb") as stream:
            config = tomllib.load(stream)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    _check(path, "the file", config, {"output", "workers", "knowledge_source", "task"})
    if not isinstance(config.get("output"), str):
        raise InputError(f'{path}: output is missing; name a folder, such as output = "out"')
    if not isinstance(config.get("task", []), list):
        raise InputError(f"{path}: write [[task]] with two brackets, once for each dataset and split")
    return config


def _check(path: str, where: str, found: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(found) - known)
    if unknown:
        raise InputError(f"{path}: {where} has {', '.join(unknown)}; known are {', '.join(sorted(known))}")


def _paths(path: str, where: str, value: Any) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise InputError(f'{path}: {where} takes paths in a list, such as ["a.jsonl"], not {value!r}')
    return tuple(_absolute(one, path) for one in values)


def _absolute(path: str, config: str) -> str:
    """A path of a configuration file, relative to that file's folder; addresses stay as they are."""
    return os.path.normpath(os.path.join(os.path.dirname(config), path)) if io.is_local(path) else path


def settings_of(
    path: str, output: str | None, dry_run: bool, overwrite: bool, beam: tuple[str, ...]
) -> tuple[knowledge_source.Settings | None, list[tasks.Settings], str]:
    """Settings of the stages that a configuration asks for, and its output folder."""
    config = read_config(path)
    output = output or _absolute(config["output"], path)
    workers = config.get("workers", 1)
    given = dict(config.get("knowledge_source", {}))
    source: knowledge_source.Settings | None = None
    source_folder: str | None = None
    if "path" in given:
        _check(path, "[knowledge_source] with path", given, {"path"})
        source_folder = _absolute(given["path"], path)
    elif given:
        _check(path, "[knowledge_source]", given, _SOURCE_KEYS | {"part_mb"})
        if "dump" not in given:
            raise InputError(f"{path}: [knowledge_source] names no dump (nor the path of one that is built)")
        source_folder = io.join(output, "knowledge_source")
        part_mb = given.pop("part_mb", 64)
        if "templates" in given:
            given["templates"] = _absolute(str(given["templates"]), path)
        given = {"workers": workers, "overwrite": overwrite, **given, "dump": _paths(path, "dump", given["dump"])}
        source = knowledge_source.Settings(
            **given, output=source_folder, part_bytes=part_mb << 20, dry_run=dry_run, beam=beam
        )
    found = []
    for number, one in enumerate(config.get("task", []), 1):
        where = f"[[task]] number {number}"
        _check(path, where, one, _TASK_KEYS)
        for key in ("dataset", "split", "source"):
            if key not in one and not (key == "source" and "from_kilt" in one):
                raise InputError(f"{path}: {where} has no {key}")
        paths: dict[str, Any] = {
            key: _paths(path, f"{where}, {key}", one[key]) for key in ("source", "evidence", "from_kilt") if key in one
        }
        paths.setdefault("source", ())
        nq = one.get("mkqa_provenance")
        if nq is not None and nq is not True and not isinstance(nq, str):
            raise InputError(f"{path}: {where}, mkqa_provenance takes a folder of tasks, or true for this build's own")
        if nq is not None:
            paths["mkqa_provenance"] = io.join(output, "tasks") if nq is True else _absolute(nq, path)
        if "files" in one:
            if not isinstance(one["files"], dict):
                raise InputError(f'{path}: {where}, files takes names and paths, such as {{ relations = "r.txt" }}')
            paths["files"] = tuple((name, _absolute(str(file), path)) for name, file in one["files"].items())
        found.append(
            tasks.Settings(
                **{"workers": workers, **one, **paths},
                output=io.join(output, "tasks"),
                knowledge_source=source_folder,
                dry_run=dry_run,
                beam=beam,
            )
        )
    return source, found, output


def execute(
    path: str,
    console: Console,
    output: str | None = None,
    dry_run: bool = False,
    overwrite: bool = False,
    beam: tuple[str, ...] = (),
) -> None:
    """Run what a configuration file asks for; ``output`` is taken before the file's own."""
    source, found, output = settings_of(path, output, dry_run, overwrite, beam)
    manifest = knowledge_source.execute(source, console) if source else None
    if dry_run:
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
    console.say(f"\nshards in {output}\nreport in {io.join(output, 'report.html')}")


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
