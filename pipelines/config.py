"""A configuration file: TOML to the typed settings of the stages that it asks for."""

import argparse
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kiltetl.pipelines import knowledge_source, tasks
from kiltetl.pipelines.arguments import Argument, number_of, positive, text_of
from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.paths import absolute, join
from kiltetl.transforms.files.streams import open_binary

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# what a build says of its stages, not the file
_NOT_OF_THE_FILE = ("output", "knowledge_source")


@dataclass(frozen=True)
class Plan:
    """What a configuration asks for: the settings of its stages, in order, and where the results go."""

    output: str
    source: knowledge_source.Settings | None
    tasks: tuple[tasks.Settings, ...]
    source_folder: str | None


def read_config(path: str) -> dict[str, Any]:
    """A configuration file; InputError names what is wrong with it."""
    with open_binary(path) as stream:
        try:
            config: dict[str, Any] = tomllib.load(stream)
        except ValueError as error:  # not TOML, or not UTF-8
            raise InputError(f"{path}: not TOML: {error}") from None
        except RecursionError:
            raise InputError(f"{path}: lists or tables are nested too deep") from None
    _check_keys(f"{path}: the file", config, {"output", "workers", "knowledge_source", "task"})
    if not config.get("output") or not isinstance(config["output"], str) or "\0" in config["output"]:
        raise InputError(f'{path}: output is missing; name a folder, such as output = "out"')
    try:
        positive(number_of("workers", config.get("workers", 1)))
    except (argparse.ArgumentTypeError, InputError) as error:
        raise InputError(f"{path}: workers: {error}") from None
    if not isinstance(config.get("knowledge_source", {}), dict):
        raise InputError(f"{path}: write [knowledge_source] once, in single brackets, with its keys below")
    task = config.get("task", [])
    if not isinstance(task, list) or not all(isinstance(one, dict) for one in task):
        raise InputError(f"{path}: write [[task]] with two brackets, once for each dataset and split")
    return config


def _check_keys(where: str, found: Mapping[str, Any], known: Collection[str]) -> None:
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise InputError(f"{where} has {', '.join(unknown)}; known are {', '.join(sorted(known))}")


def _values(
    where: str, given: Mapping[str, Any], arguments: Sequence[Argument], workers: Any, folder: Path
) -> dict[str, Any]:
    """The values of a table by the names of its command's arguments; those that it does not give, their defaults."""
    known = {argument.name: argument for argument in arguments if argument.name not in _NOT_OF_THE_FILE}
    _check_keys(where, given, known)
    try:
        return {name: known[name].configured(value, folder) for name, value in {"workers": workers, **given}.items()}
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def plan_of(path: str, output: str | None, dry_run: bool, overwrite: bool, beam: tuple[str, ...]) -> Plan:
    """The settings of what a configuration asks for; ``output`` is taken before the file's own."""
    config = read_config(path)
    path = os.path.abspath(path) if beam else path  # workers elsewhere have another working folder
    folder = Path(path).parent
    output = absolute(output, Path.cwd() if beam else Path()) if output else absolute(config["output"], folder)
    workers = config.get("workers", 1)
    said: dict[str, Any] = {"dry_run": dry_run, "beam": beam}
    source, source_folder = _source_of(path, config.get("knowledge_source", {}), output, workers, overwrite, said)
    stages = []
    for number, one in enumerate(config.get("task", []), 1):
        where = f"{path}: [[task]] number {number}"
        _check_keys(where, one, [a.name for a in tasks.ARGUMENTS if a.name not in _NOT_OF_THE_FILE])
        for key in ("dataset", "split", "source"):
            if key not in one and not (key == "source" and "from_kilt" in one):
                raise InputError(f"{where} has no {key}")
        own = join(output, "tasks")
        lent = one.get("mkqa_provenance", "")
        if lent is not True and not isinstance(lent, str):
            raise InputError(f"{where}: mkqa_provenance takes a folder of tasks, or true for this build's own")
        given = {key: value for key, value in one.items() if key != "mkqa_provenance" or value is not True}
        values = {"source": ()} | _values(where, given, tasks.ARGUMENTS, workers, folder)
        if lent is True:
            values["mkqa_provenance"] = own
        stages.append(tasks.Settings(**values, output=own, knowledge_source=source_folder, **said))
    return Plan(output, source, tuple(stages), source_folder)


def _source_of(
    path: str, given: Mapping[str, Any], output: str, workers: Any, overwrite: bool, said: dict[str, Any]
) -> tuple[knowledge_source.Settings | None, str | None]:
    """Settings of the knowledge source that is to be built, if one is; and its folder."""
    where, folder = f"{path}: [knowledge_source]", Path(path).parent
    if "path" in given:
        _check_keys(f"{where} with path", given, {"path"})
        try:
            return None, absolute(text_of("path", given["path"]), folder)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
    if not given:
        return None, None
    _check_keys(where, given, [a.name for a in knowledge_source.ARGUMENTS if a.name not in _NOT_OF_THE_FILE])
    if not given.get("dump"):
        raise InputError(f"{where} names no dump (nor the path of one that is built)")
    values = _values(where, given, knowledge_source.ARGUMENTS, workers, folder)
    if overwrite:
        values["overwrite"] = True
    own = join(output, "knowledge_source")
    return knowledge_source.settings_of(values | {"output": own} | said), own
