"""build: knowledge source, tasks and report in one go, as a configuration file says."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from kiltetl.pipelines import knowledge_source, report, tasks
from kiltetl.pipelines.arguments import Parser, add_common_arguments, positive, share, split_beam_options
from kiltetl.pipelines.console import Console, run_command, table
from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.paths import absolute, check_filesystem, join
from kiltetl.transforms.jobs.reader import open_knowledge_source
from kiltetl.transforms.reports.build_summary import terminal_rows

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

_NO_KEYS = {"help", "quiet", "no_color", "dry_run", "output", "knowledge_source"}  # the command's, not the file's
_PATHS = ("PATTERN", "PATH", "FILE", "DIR")  # what the commands call the values that are paths


def read_config(path: str) -> dict[str, Any]:
    """A configuration file; InputError names what is wrong with it."""
    try:
        with open(path, "rb") as stream:
            config: dict[str, Any] = tomllib.load(stream)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # not TOML, or not UTF-8
        raise InputError(f"{path}: not TOML: {error}") from None
    _check_keys(f"{path}: the file", config, {"output", "workers", "knowledge_source", "task"})
    if not config.get("output") or not isinstance(config["output"], str):
        raise InputError(f'{path}: output is missing; name a folder, such as output = "out"')
    try:
        positive(_text("workers", config.get("workers", 1), int))
    except (argparse.ArgumentTypeError, InputError) as error:
        raise InputError(f"{path}: workers: {error}") from None
    if not isinstance(config.get("knowledge_source", {}), dict):
        raise InputError(f"{path}: write [knowledge_source] once, in single brackets, with its keys below")
    task = config.get("task", [])
    if not isinstance(task, list) or not all(isinstance(one, dict) for one in task):
        raise InputError(f"{path}: write [[task]] with two brackets, once for each dataset and split")
    return config


def _check_keys(where: str, found: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(found) - known)
    if unknown:
        raise InputError(f"{where} has {', '.join(unknown)}; known are {', '.join(sorted(known))}")


# --------------------------------------------------------------------------------------------
# tables as command lines, so that one parser judges both


def _keys(parser: Parser) -> dict[str, argparse.Action]:
    """The keys of a table: the options of its command, with ``files`` and ``options`` for --file and --option."""
    return {
        f"{action.dest}s" if action.dest in ("file", "option") else action.dest: action
        for action in parser._actions
        if action.dest not in _NO_KEYS
    }


def _arguments(given: Mapping[str, Any], keys: Mapping[str, argparse.Action], config: str) -> Iterator[str]:
    """A table as arguments of its command. InputError for values of a kind that the command line has no word for."""
    for key, value in given.items():
        action = keys[key]
        option = action.option_strings[-1]
        if key == "files":
            if not isinstance(value, dict):
                raise InputError(f'{key} takes names and paths, such as {{ relations = "r.txt" }}, not {value!r}')
            for name, file in value.items():
                yield f"{option}={name}={absolute(_text(f'{key}, {name}', file), Path(config).parent)}"
        elif key == "options":
            if not isinstance(value, dict):
                raise InputError(f"{key} takes names and numbers, such as {{ min-facts = 500 }}, not {value!r}")
            for name, number in value.items():
                yield f"{option}={name}={_text(f'{key}, {name}', number, int)}"
        elif action.nargs == 0:
            if not isinstance(value, bool):
                raise InputError(f"{key} takes true or false, not {value!r}")
            if value:
                yield option
        elif action.nargs == "+":
            values = value if isinstance(value, list) else [value]
            if not all(isinstance(one, str) and one for one in values):
                raise InputError(f'{key} takes paths in a list, such as ["a.jsonl"], not {value!r}')
            if values:
                yield from (option, *(absolute(one, Path(config).parent) for one in values))
        else:
            text = _text(key, value, action.type)
            yield f"{option}={absolute(text, Path(config).parent) if action.metavar in _PATHS else text}"


def _text(key: str, value: Any, kind: Any = None) -> str:
    """A value as a command line has it; ``kind`` is the type of the argument, None for text."""
    numeric = kind in (int, positive, share)
    if numeric and isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if not numeric and isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if not numeric and isinstance(value, str) and value:
        return value
    raise InputError(f"{key} takes {'a number' if numeric else 'text'}, not {value!r}")


def _parsed(where: str, parser: Parser, given: Mapping[str, Any], config: str, *more: str) -> argparse.Namespace:
    """A table, parsed by its command's parser; ``more`` are arguments that are not the table's."""
    keys = _keys(parser)
    _check_keys(where, given, set(keys))
    try:
        found: argparse.Namespace = parser.parse_args([*_arguments(given, keys, config), *more])
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    return found


def settings_of(
    path: str, output: str | None, dry_run: bool, overwrite: bool, beam: tuple[str, ...]
) -> tuple[knowledge_source.Settings | None, list[tasks.Settings], str]:
    """Settings of the stages that a configuration asks for, and its output folder."""
    config = read_config(path)
    output = output or absolute(config["output"], Path(path).parent)
    common = {"workers": config.get("workers", 1)}
    more = ["--dry-run"] if dry_run else []
    given = config.get("knowledge_source", {})
    source: knowledge_source.Settings | None = None
    source_folder: str | None = None
    where = f"{path}: [knowledge_source]"
    if "path" in given:
        _check_keys(f"{where} with path", given, {"path"})
        try:
            source_folder = absolute(_text("path", given["path"]), Path(path).parent)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
    elif given:
        _check_keys(where, given, set(_keys(knowledge_source.parser())))
        if not given.get("dump"):
            raise InputError(f"{where} names no dump (nor the path of one that is built)")
        source_folder = join(output, "knowledge_source")
        if overwrite:
            given = {**given, "overwrite": True}
        found = _parsed(where, knowledge_source.parser(), common | given, path, f"--output={source_folder}", *more)
        source = knowledge_source.settings_of(found, beam)
    stages = []
    for number, one in enumerate(config.get("task", []), 1):
        where = f"{path}: [[task]] number {number}"
        _check_keys(where, one, set(_keys(tasks.parser())))
        for key in ("dataset", "split", "source"):
            if key not in one and not (key == "source" and "from_kilt" in one):
                raise InputError(f"{where} has no {key}")
        own = join(output, "tasks")
        arguments = [f"--output={own}", *more]
        if source_folder is not None:
            arguments.append(f"--knowledge-source={source_folder}")
        if one.get("mkqa_provenance") is True:
            one = {key: value for key, value in one.items() if key != "mkqa_provenance"}
            arguments.append(f"--mkqa-provenance={own}")
        elif not isinstance(one.get("mkqa_provenance", ""), str):
            raise InputError(f"{where}: mkqa_provenance takes a folder of tasks, or true for this build's own")
        try:
            stages.append(tasks.settings_of(_parsed(where, tasks.parser(), common | one, path, *arguments), beam))
        except InputError as error:
            raise InputError(str(error) if str(error).startswith(where) else f"{where}: {error}") from None
    return source, stages, output


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
    source, found, output = settings_of(path, output, dry_run, overwrite, beam)
    check_filesystem(output, write=True)
    folder = next((one.knowledge_source for one in found), None)
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
