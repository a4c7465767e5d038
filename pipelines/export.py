"""export: tables in the form of the released files, for tools that read those."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from kiltetl.pipelines.arguments import Parser, add_common_arguments, split_beam_options
from kiltetl.pipelines.console import Console, run_command, size, table
from kiltetl.pipelines.launch import use_beam_options
from kiltetl.schemas.arrow import records_of
from kiltetl.schemas.errors import InputError
from kiltetl.schemas.records import Task
from kiltetl.schemas.splits import split_called, split_order
from kiltetl.transforms.datasets import DATASETS, find_dataset
from kiltetl.transforms.datasets.spec import Shape
from kiltetl.transforms.files.paths import check_filesystem, file_size, join, list_folder
from kiltetl.transforms.files.shards import parquet_file
from kiltetl.transforms.files.streams import replacing
from kiltetl.transforms.jobs.reader import open_table, read_task_manifest
from kiltetl.transforms.kilt_release.write import file_name, line_of, to_kilt

_BATCH = 500  # records held at a time

_USAGE = """\
usage: kiltetl export kilt-jsonl [options]

Tables in the form of the released files, for tools that read those.

  kilt-jsonl  KILT's JSON Lines: hotpotqa-dev-kilt.jsonl and so on

kiltetl export kilt-jsonl --help says more.
"""

_EPILOG = """\
The names and the shape are the release's: nq-train-kilt.jsonl, triviaqa-dev_id-kilt.jsonl, and
NAME-test_without_answers-kilt.jsonl where no record of a test split has an output. A null of the table is no
key; a provenance that is a whole page has wikipedia_id and title alone. What the tables have beyond the release
keeps its name, so that kiltetl tasks --from-kilt reads all of it back: level and type of hotpotqa, questions of
triviaqa, meta of outputs, original_title, language. --strict-release leaves it out.

examples:
  kiltetl export kilt-jsonl --tasks out/tasks --output kilt
  kiltetl export kilt-jsonl --tasks out/tasks --output kilt --dataset hotpotqa nq --split dev --strict-release
"""


@dataclass(frozen=True)
class Settings:
    """What the command line says; see --help."""

    tasks: str
    output: str
    datasets: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    strict_release: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class Split:
    """One dataset and split to write: its shards in order, with their rows."""

    dataset: str
    split: str
    shards: tuple[str, ...]
    rows: int
    shape: Shape | None = None


def plan(settings: Settings) -> list[Split]:
    """The tables that are asked for; InputError for what the user can mend."""
    check_filesystem(settings.tasks)
    check_filesystem(settings.output, write=True)
    own = {name: find_dataset(name) for name in settings.datasets if ":" in name}
    asked = tuple(own[name].name if name in own else name for name in settings.datasets)
    shapes = {one.name: one.shape for one in (*DATASETS.values(), *own.values())}
    places = (settings.tasks, join(settings.tasks, "tasks"))
    found: list[Split] = []
    for place in places:
        for name in list_folder(join(place, "manifests"), "*.json"):
            found.append(_split(place, join(place, "manifests", name)))
        if found:
            break
    if not found:
        raise InputError(f"{settings.tasks}: no tables of kiltetl tasks in it; give the folder that it wrote")
    there = sorted({one.dataset for one in found})
    for name in asked:
        if name not in there:
            raise InputError(f"--dataset {name}: not in {settings.tasks}, which has {', '.join(there)}")
    wanted = [
        replace(one, shape=shapes.get(one.dataset))
        for one in found
        if one.dataset in (asked or there) and one.split in (settings.splits or (one.split,))
    ]
    if not wanted:
        raise InputError(f"--split {' '.join(settings.splits)}: none of {', '.join(asked or there)} has it")
    return sorted(wanted, key=lambda one: (one.dataset, *split_order(one.split)))


def _split(folder: str, path: str) -> Split:
    manifest = read_task_manifest(path)
    table = open_table(folder, manifest["dataset"], manifest["split"])
    if table is None:
        raise InputError(f"{path}: the manifest of a table that stands elsewhere")
    rows = sum(file["rows"] for file in manifest["files"])
    return Split(table.dataset, table.split, tuple(shard.path for shard in table.shards), rows)


def records(split: Split) -> Iterator[Task]:
    """The records of a split, in order."""
    for shard in split.shards:
        with parquet_file(shard) as file:
            for batch in file.iter_batches(batch_size=_BATCH):
                yield from records_of(Task, pa.Table.from_batches([batch]))


def _has_output(split: Split) -> bool:
    """Whether any record has an output; only a test split need be looked at."""
    return split.split != "test" or any(record.output for record in records(split))


def execute(settings: Settings, console: Console) -> list[tuple[str, int, int]]:
    """Write the files; name, records and bytes of each."""
    splits = plan(settings)
    names = [file_name(one.dataset, one.split, one.shape, _has_output(one)) for one in splits]
    if settings.dry_run:
        console.say("would read:")
        for one in splits:
            for shard in one.shards:
                console.say(f"  {shard}  {size(file_size(shard))}")
        console.say("would write:")
        for one, name in zip(splits, names, strict=True):
            console.say(f"  {join(settings.output, name)}  {one.rows:,} records")
        return []
    written = []
    total = sum(file_size(shard) for one in splits for shard in one.shards)
    with console.progress("export", total) as report:
        for one, name in zip(splits, names, strict=True):
            path, count, length = join(settings.output, name), 0, 0
            each = sum(map(file_size, one.shards)) / max(one.rows, 1)
            with replacing(path) as stream:
                for record in records(one):
                    line = line_of(to_kilt(record, one.shape, settings.strict_release))
                    stream.write(line)
                    count, length = count + 1, length + len(line)
                    report(round(each * count) - round(each * (count - 1)))
            written.append((name, count, length))
    return written


def _split_name(text: str) -> str:
    name = split_called(text)
    if name is None:
        raise InputError(f"--split {text}: known are train, dev (= validation) and test")
    return name


def parse_arguments(arguments: Sequence[str]) -> tuple[Settings, Console]:
    own, beam = split_beam_options(arguments)
    if own[:1] != ["kilt-jsonl"]:
        raise InputError("say what to export: kiltetl export kilt-jsonl; see --help")
    parser = Parser(__doc__ or "", _EPILOG, "kiltetl export kilt-jsonl")
    parser.add_argument("--tasks", required=True, metavar="DIR", help="what kiltetl tasks (or build) wrote")
    parser.add_argument("--output", required=True, metavar="DIR", help="folder for the files")
    parser.add_argument(
        "--dataset",
        nargs="+",
        default=[],
        metavar="NAME",
        help="these alone (all); package.module:DATASET for one whose files have a shape of their own",
    )
    parser.add_argument("--split", nargs="+", default=[], metavar="SPLIT", help="train, dev (= validation), test (all)")
    parser.add_argument(
        "--strict-release", action="store_true", help="only the keys that the released files of the dataset have"
    )
    add_common_arguments(parser)
    found: Any = parser.parse_args(own[1:])
    use_beam_options(beam)
    settings = Settings(
        tasks=found.tasks,
        output=found.output,
        datasets=tuple(found.dataset),
        splits=tuple(_split_name(one) for one in found.split),
        strict_release=found.strict_release,
        dry_run=found.dry_run,
    )
    return settings, Console(found.quiet, not found.no_color)


def _command(arguments: Sequence[str]) -> None:
    if list(arguments[:1]) in (["-h"], ["--help"]):
        print(_USAGE, end="")
        return
    settings, console = parse_arguments(arguments)
    written = execute(settings, console)
    if written:
        rows = [[name, f"{count:,}", size(length)] for name, count, length in written]
        console.say(table([["file", "records", "size"], *rows]))
        console.say(f"\nfiles in {settings.output}")


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(_command, arguments)


if __name__ == "__main__":
    sys.exit(main())
