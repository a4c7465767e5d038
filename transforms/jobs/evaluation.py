"""An evaluation from files to files: in this process, or as a graph for predictions in many shards.

Both ways score each record by the same ``Scorer`` and hand the scores, in the order of the gold file,
to the same ``publish``; so the figures are the same. There are one or two *systems*: that of
``--predictions`` and that of ``--compare``.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias

import pyarrow.parquet as pq

from kiltetl.schemas.arrow import records_of
from kiltetl.schemas.errors import EvaluationError, InputError, MalformedRecord
from kiltetl.transforms.files.paths import FileInfo, exists, file_size, join, list_folder
from kiltetl.transforms.files.progress import advance
from kiltetl.transforms.files.rows import BadRow, read_rows
from kiltetl.transforms.files.shards import ShardWriter, parquet_file, read_table
from kiltetl.transforms.files.stores import at_once
from kiltetl.transforms.files.streams import open_binary, replacing, write_text
from kiltetl.transforms.jobs.staging import Staging
from kiltetl.transforms.metrics.scorer import (
    EXTRA,
    MISSING,
    TWICE,
    TWICE_GOLD,
    Golds,
    Scorer,
    named_ids,
    read_golds,
    score_name,
)
from kiltetl.transforms.reports.charts import as_png, file_name
from kiltetl.transforms.reports.scores import DISPLAYS
from kiltetl.transforms.reports.scores_page import render

BUCKET_BYTES: Final = 64 << 20  # of predictions, for one shard of scores
MAX_BUCKETS: Final = 500
METRICS: Final = "metrics.json"
PER_EXAMPLE: Final = "per_example.parquet"
PAGE: Final = "report.html"
PICTURES: Final = "pictures"
_COMPRESSION: Final[Mapping[str, Any]] = {"compression": "zstd", "compression_level": 3}

System: TypeAlias = Any  # what its scorer makes of a system


@dataclass(frozen=True, slots=True)
class Source:
    """A file of gold records (``system`` None) or of a system's predictions; ``name`` None = all names."""

    name: str | None
    info: FileInfo
    number: int
    system: int | None = None


@dataclass(frozen=True, slots=True)
class EvaluationJob:
    """What is evaluated, and how.

    Attributes:
        names: the datasets, or the languages.
        output: folder for the results, None for none.
        bootstrap, seed: samples, none at 0.
    """

    scorer: Scorer[Any, Any]
    names: tuple[str, ...]
    gold: tuple[Source, ...]
    systems: tuple[tuple[Source, ...], ...]
    output: str | None = None
    bootstrap: int = 0
    seed: int = 0

    @property
    def staging(self) -> Staging:
        return Staging(self.output or "", "evaluation")

    @property
    def buckets(self) -> int:
        size = sum(source.info.size for system in self.systems for source in system)
        return max(1, min(MAX_BUCKETS, -(-size // BUCKET_BYTES)))

    def gold_of(self, name: str) -> tuple[Source, ...]:
        return tuple(source for source in self.gold if source.name in (None, name))

    def names_in(self, source: Source) -> tuple[str, ...]:
        """The names that a file may hold gold records for."""
        return self.names if source.name is None else (source.name,)


class Reader:
    """The records of some files, one after the other; ``where`` says which one was read last."""

    def __init__(self) -> None:
        self.where = ""

    def read(self, sources: Iterable[Source]) -> Iterator[Any]:
        for source in sources:
            path = source.info.path
            records = _parquet_records(path) if _is_parquet(path) else read_rows(path, report=advance)
            unit = "row" if _is_parquet(path) else "line"
            for number, record in records:
                self.where = f"{path}, {unit} {number}"
                if isinstance(record, BadRow):
                    raise InputError(f"{self.where}: {record.detail}")
                yield record


def _is_parquet(path: str) -> bool:
    with open_binary(path) as stream:
        return stream.read(4) == b"PAR1"


def _parquet_records(path: str) -> Iterator[tuple[int, Any]]:
    """Rows of a Parquet file in the nesting of the published records, where null is no key at all."""
    number = 0
    with parquet_file(path) as file:
        known = set(file.schema_arrow.names)
        wanted = [c for c in ("id", "example_id", "input", "output", "answers", "language", "prediction",
                              "binary_answer", "no_answer_prob") if c in known]  # fmt: skip
        for batch in file.iter_batches(batch_size=1000, columns=wanted):
            for row in batch.to_pylist():
                number += 1
                if isinstance(row.get("output"), list):
                    row["output"] = [_without_nulls(output) for output in row["output"]]
                yield number, row
        advance(file_size(path))


def _without_nulls(output: Any) -> Any:
    if not isinstance(output, dict):
        return output
    kept = {key: value for key, value in output.items() if value is not None}
    if isinstance(kept.get("provenance"), list):
        kept["provenance"] = [{k: v for k, v in span.items() if v is not None} for span in kept["provenance"]]
    return kept


# --------------------------------------------------------------------------------------------
# In this process


def evaluate_here(job: EvaluationJob) -> list[System]:
    """Score every system. InputError for what is wrong with the files."""
    reader = Reader()
    parts: list[dict[str, Any]] = [{} for _ in job.systems]
    for name, golds in _golds(job, reader):
        for scored, system in zip(parts, job.systems, strict=True):
            mine = _of_name(system, name)
            with _errors_named(reader, mine):
                scored[name] = score_name(job.scorer, name, golds, reader.read(mine))
    return [job.scorer.evaluation(scored) for scored in parts]


def _golds(job: EvaluationJob, reader: Reader) -> Iterator[tuple[str, Golds]]:
    """Gold by name; files that hold that of many names are read once."""
    names_by_files: dict[tuple[Source, ...], list[str]] = {}
    for name in job.names:
        names_by_files.setdefault(job.gold_of(name), []).append(name)
    for sources, names in names_by_files.items():
        with _errors_named(reader, sources):
            found = read_golds(job.scorer, reader.read(sources), names)
        _check_names(job, [name for name in names if not found[name].by_id])
        yield from found.items()


def _check_names(job: EvaluationJob, without_gold: Sequence[str]) -> None:
    """InputError for names that have no gold in files that might hold it; a file of one name may be empty."""
    if without_gold and job.gold[0].name is None:
        raise InputError(f"{job.gold[0].info.path}: no answers in {', '.join(sorted(without_gold))}")


def _of_name(system: Iterable[Source], name: str) -> list[Source]:
    return [source for source in system if source.name == name]


@contextmanager
def _errors_named(reader: Reader, sources: Sequence[Source]) -> Iterator[None]:
    """EvaluationError within the block becomes InputError that names the record or the files it is about."""
    try:
        yield
    except MalformedRecord as error:
        raise InputError(f"{reader.where}: {error}") from None
    except EvaluationError as error:
        raise InputError(f"{_shown(sources)}: {error}") from None


def _shown(sources: Sequence[Source]) -> str:
    return f"{sources[0].info.path}{' …' if len(sources) > 1 else ''}"


def publish(job: EvaluationJob, systems: Sequence[System]) -> dict[str, Any]:
    """Write per_example.parquet, report.html, the pictures and, last, metrics.json; the content of that.

    What an evaluation before has left there is replaced, all at once, and its other pictures go. Without a
    folder for the results nothing is written.
    """
    first, other = systems[0], systems[1] if len(systems) > 1 else None
    summary = job.scorer.summary(first, other, job.bootstrap, job.seed)
    if job.output is None:
        return summary
    json.dumps(summary, allow_nan=False)  # NaN is no JSON: better no result than one that cannot be read
    staging = job.staging
    rows = 0
    with (
        replacing(staging.path(PER_EXAMPLE)) as stream,
        pq.ParquetWriter(stream, job.scorer.schema(), **_COMPRESSION) as writer,
    ):
        for table in job.scorer.tables(first):
            writer.write_table(table)
            rows += table.num_rows
    files = {PER_EXAMPLE: (PER_EXAMPLE, stream.written(rows))}
    pictures = DISPLAYS[job.scorer.benchmark].pictures(first, summary)
    try:
        for name, image in as_png(pictures).items():
            with replacing(staging.path(name)) as stream:
                stream.write(image)
            files[name] = (f"{PICTURES}/{name}", stream.written())
    except ImportError:
        summary["pictures"] = "in report.html only; PNG files need: pip install matplotlib"
    files[PAGE] = (PAGE, write_text(staging.path(PAGE), render(summary, pictures)))
    staging.publish(files, {METRICS: summary}, _pictures_in(job.output))
    return summary


def _pictures_in(output: str) -> list[str]:
    """The pictures of evaluations that stand in a folder, of whatever benchmark."""
    patterns = [file_name("*", what) for display in DISPLAYS.values() for what in display.pictured]
    names = [name for one in patterns for name in list_folder(join(output, PICTURES), one)]
    return [f"{PICTURES}/{name}" for name in names if "\\" not in name]


# --------------------------------------------------------------------------------------------
# As a graph: a join by name and id, in buckets

Key: TypeAlias = tuple[str, str]

_STEP: Final = "bucket"
_KEPT: Final = 20  # ids a bucket names of each problem


@dataclass(frozen=True, slots=True)
class Given:
    """A record in the join: what was read of it, and where it stood. ``system`` None = gold."""

    system: int | None
    position: int
    said: Any
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scored:
    """What the join gives for one id and system: a score, or a problem with the id."""

    name: str
    system: int
    score: Any = None
    problem: str = ""
    id: str = ""
    position: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """Where the gold record of a score stood."""

    gold: int


def read_given(job: EvaluationJob, source: Source) -> Iterator[tuple[Key, Given]]:
    """The records of one file by name and id."""
    reader = Reader()
    first = source.number << 40
    with _errors_named(reader, [source]):
        for offset, record in enumerate(reader.read([source])):
            position = first + offset
            if source.system is None:
                for name, id, said, notes in job.scorer.read_gold(record, offset + 1, job.names_in(source)):
                    yield (name, id), Given(None, position, said, tuple(notes))
            else:
                id, said, notes = job.scorer.read_prediction(record, offset + 1)
                yield (source.name or "", id), Given(source.system, position, said, tuple(notes))


def score_given(job: EvaluationJob, key: Key, gold: Sequence[Given], given: Iterable[Given]) -> Iterator[Scored]:
    """What becomes of one id, for each system."""
    name, id = key
    golds = sorted(gold, key=lambda one: one.position)
    by_system: dict[int, list[Given]] = {number: [] for number in range(len(job.systems))}
    for one in sorted(given, key=lambda one: one.position):
        by_system[one.system or 0].append(one)
    for system, mine in by_system.items():
        if not golds:
            for one in mine:
                yield Scored(name, system, problem=EXTRA, id=id, position=one.position, notes=one.notes)
        elif len(golds) > 1:
            yield Scored(name, system, problem=TWICE_GOLD, id=id, position=golds[1].position)
        elif not mine:
            yield Scored(name, system, problem=MISSING, id=id, position=golds[0].position)
        elif len(mine) > 1:
            yield Scored(name, system, problem=TWICE, id=id, position=mine[1].position)
        else:
            place, own = golds[0].position, mine[0]
            try:
                score, noted = job.scorer.score_one(name, golds[0].said, own.said, place, own.position)
            except MalformedRecord as error:
                raise InputError(f"{name}: {error}") from None
            yield Scored(name, system, score, position=place, notes=(*golds[0].notes, *own.notes, *noted))


def write_bucket(job: EvaluationJob, bucket: int, scored: Iterable[Scored]) -> None:
    """The scores of a bucket as shards, and its notes and problems in its mark."""
    notes: dict[str, Counter[str]] = {}
    problems: dict[str, list[tuple[int, str]]] = {}
    counts: Counter[str] = Counter()
    writers: dict[str, tuple[ShardWriter[Any], ShardWriter[Position]]] = {}
    with ExitStack() as stack:
        for one in scored:
            place = _place(job, one.system, one.name)
            if one.notes:
                notes.setdefault(place, Counter()).update(one.notes)
            if one.score is None:
                named = f"{place}:{one.problem}"
                counts[named] += 1
                problems[named] = sorted([*problems.get(named, ()), (one.position, one.id)])[:_KEPT]
                continue
            if place not in writers:
                names = _shards(place, bucket)
                scores, order = (job.staging.path(name) for name in names)
                writers[place] = (
                    stack.enter_context(ShardWriter(scores, job.scorer.score)),
                    stack.enter_context(ShardWriter(order, Position)),
                )
            writers[place][0].write(one.score)
            writers[place][1].write(Position(one.position))
    summary = {"notes": {k: dict(v) for k, v in notes.items()}, "problems": problems, "counts": dict(counts)}
    files = {
        name: writer.written
        for place, both in writers.items()
        for name, writer in zip(_shards(place, bucket), both, strict=True)
    }
    job.staging.leave(_STEP, bucket, summary, files)


def _place(job: EvaluationJob, system: int, name: str) -> str:
    return f"{system}-{job.names.index(name)}"


def _shards(place: str, bucket: int) -> tuple[str, str]:
    """Names of the files that hold the scores of a bucket, and where their gold records stood."""
    return f"scores-{place}-{bucket:05d}.parquet", f"order-{place}-{bucket:05d}.parquet"


def gather(job: EvaluationJob, buckets: Iterable[int]) -> list[System]:
    """The systems' scores out of the shards, as ``evaluate_here`` gives them, with the same errors."""
    numbers = sorted(buckets)
    said = at_once(partial(job.staging.summary, _STEP), numbers)
    systems: list[System] = []
    for number, sources in enumerate(job.systems):
        parts = {}
        without_gold: list[str] = []
        for name in job.names:
            place = _place(job, number, name)
            for problem, about, files in (
                (TWICE_GOLD, "", job.gold_of(name)),
                (TWICE, job.scorer.about(name), _of_name(sources, name)),
                (MISSING, job.scorer.about(name), _of_name(sources, name)),
            ):
                ids, count = _named(said, f"{place}:{problem}")
                if count:
                    raise InputError(f"{_shown(files)}: {about}{problem} for {named_ids(ids, count=count)}")
            notes = sum((Counter(one["notes"].get(place, {})) for one in said), Counter[str]())
            extra, count = _named(said, f"{place}:{EXTRA}")
            if count:
                notes[EXTRA] += count
            rows = _staged_rows(job, place, numbers)
            without_gold += [] if rows else [name]
            parts[name] = job.scorer.gather(name, rows, dict(sorted(notes.items())), extra)
        _check_names(job, without_gold)
        systems.append(job.scorer.evaluation(parts))
    return systems


def _named(said: Sequence[Mapping[str, Any]], problem: str) -> tuple[list[str], int]:
    """The first ids that have a problem, by position, and how many have it."""
    found = sorted(tuple(one) for bucket in said for one in bucket["problems"].get(problem, ()))
    return [id for _, id in found[:_KEPT]], sum(bucket["counts"].get(problem, 0) for bucket in said)


def _staged_rows(job: EvaluationJob, place: str, buckets: Sequence[int]) -> list[Any]:
    """The scores of a name and system in the order of the gold file, with positions from 0, without gaps."""
    rows: list[tuple[int, Any]] = []
    for bucket in buckets:
        scores, order = (job.staging.path(name) for name in _shards(place, bucket))
        if exists(scores):
            golds = read_table(order).column(0).to_pylist()
            rows += zip(golds, records_of(job.scorer.score, read_table(scores)), strict=True)
    places = {position: place for place, position in enumerate(sorted(row.position for _, row in rows))}
    return [replace(row, position=places[row.position]) for _, row in sorted(rows, key=lambda one: one[0])]
