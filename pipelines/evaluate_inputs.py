"""What ``kiltetl evaluate`` is given, whatever the benchmark: its settings and files of records."""

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kiltetl.pipelines.arguments import Parser
from kiltetl.pipelines.console import Console
from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.paths import FileInfo, basename, expand, folder_of, is_folder, join
from kiltetl.transforms.jobs.evaluation import METRICS, PER_EXAMPLE
from kiltetl.transforms.jobs.reader import check_tables
from kiltetl.transforms.metrics.bootstrap import SEED
from kiltetl.transforms.metrics.kilt import KS, RANK_KEYS
from kiltetl.transforms.metrics.scorer import Scorer

_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.bz2", ".jsonl.xz", ".json", ".parquet")
_NOT_RECORDS = re.compile(r"rejects|manifests|staging|\.kiltetl-.*")


@dataclass(frozen=True)
class Settings:
    """What the command line says; see --help. ``beam`` is None without a bare ``--``."""

    benchmark: str
    gold: str
    predictions: str
    dataset: str | None = None
    language: str | None = None
    ks: tuple[int, ...] = KS
    rank_keys: tuple[str, ...] = RANK_KEYS
    output: str | None = None
    strict: bool = False
    verbose: bool = False
    bootstrap: int = 0
    seed: int = SEED
    compare: str | None = None
    dry_run: bool = False
    beam: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Plan:
    """How to score, and which files hold what: gold records by name, None = of all names, and each system's."""

    scorer: Scorer[Any, Any]
    gold: dict[str | None, list[FileInfo]]
    systems: list[dict[str, list[FileInfo]]]


class Benchmark(Protocol):
    """What the command line knows of a benchmark."""

    epilog: str

    def add_options(self, parser: Parser) -> None:
        """Its own options, each a field of ``Settings``."""

    def plan(self, settings: Settings, places: Sequence[tuple[str, str]], console: Console) -> Plan:
        """What is given for it; ``places`` are (option, path) of each system's predictions."""
        ...


def find(path: str) -> list[FileInfo]:
    """The files of records that a path, pattern or folder names; a folder's own and those of its folders."""
    if not is_folder(path):
        return expand([path])
    found: list[FileInfo] = []
    for tasks in (path, join(path, "tasks"), folder_of(path.rstrip("/"))):
        check_tables(tasks)
    folder = glob.escape(path)
    for pattern in (join(folder, "*"), join(folder, "*", "*")):
        try:
            matched = expand([pattern])
        except InputError:
            continue  # nothing at this depth
        found += [
            info
            for info in matched
            if info.path.endswith(_SUFFIXES) and not _NOT_RECORDS.fullmatch(basename(folder_of(info.path)))
        ]
    # what an evaluation wrote is no input
    found = [info for info in found if basename(info.path) not in (METRICS, PER_EXAMPLE)]
    if not found:
        raise InputError(f"{path}: no file of records in this folder; they end in {', '.join(_SUFFIXES)}")
    return list({info.path: info for info in found}.values())


def stem(path: str) -> str:
    name = basename(path).lower()
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)
