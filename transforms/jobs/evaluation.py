"""An evaluation from files to files: in this process, or as a graph for predictions in many shards.

Both ways score each record by the same function and hand the scores, in the order of the gold
file, to the same ``publish``; so the figures are the same. What is evaluated has a *name*: a
dataset of KILT or a language of MKQA. There are one or two *systems*: that of ``--predictions``
and that of ``--compare``.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from kiltetl.schemas.arrow import columns_of, records_of
from kiltetl.schemas.errors import EvaluationError, InputError, MalformedRecord
from kiltetl.schemas.records import KiltScore, MkqaScore
from kiltetl.transforms.files.paths import FileInfo, exists, file_size, join, make_folder
from kiltetl.transforms.files.progress import advance
from kiltetl.transforms.files.rows import BadRow, read_rows
from kiltetl.transforms.files.shards import ROW_GROUP, ShardWriter, parquet_file, read_table
from kiltetl.transforms.files.streams import open_binary, read_json, replacing, write_json, write_text
from kiltetl.transforms.metrics import kilt, mkqa
from kiltetl.transforms.reports.charts import as_png, pictures_of_kilt, pictures_of_mkqa
from kiltetl.transforms.reports.scores_page import render
from kiltetl.transforms.reports.scores_table import summarize_kilt, summarize_mkqa

BUCKET_BYTES: Final = 64 << 20  # of predictions, for one shard of scores
MAX_BUCKETS: Final = 500
METRICS: Final = "metrics.json"
PER_EXAMPLE: Final = "per_example.parquet"
PAGE: Final = "report.html"

KiltSystem: TypeAlias = Mapping[str, kilt.Evaluation]
System: TypeAlias = KiltSystem | mkqa.Evaluation
Score: TypeAlias = KiltScore | MkqaScore


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
        protocol: KILT's; for MKQA only its ``strict`` counts.
        output: folder for the results, None for none.
        bootstrap, seed: samples, none at 0.
        verbose: MKQA's figures without a threshold too.
    """

    benchmark: str
    names: tuple[str, ...]
    gold: tuple[Source, ...]
    systems: tuple[tuple[Source, ...], ...]
    protocol: kilt.Protocol
    output: str | None = None
    bootstrap: int = 0
    seed: int = 0
    verbose: bool = False

    def gold_of(self, name: str) -> list[Source]:
        return [source for source in self.gold if source.name in (None, name)]

    def staged(self, name: str) -> str:
        return join(self.output or "", "staging-evaluation", name)

    @property
    def buckets(self) -> int:
        size = sum(source.info.size for system in self.systems for source in system)
        return max(1, min(MAX_BUCKETS, -(-size // BUCKET_BYTES)))


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


def evaluate_here(job: EvaluationJob) -> list[System]:
    """Score every system. InputError for what is wrong with the files."""
    reader = Reader()
    try:
        if job.benchmark == "kilt":
            return [_kilt_system(job, system, reader) for system in job.systems]
        notes: Counter[str] = Counter()
        golds = mkqa.read_gold(reader.read(job.gold), notes, job.names)
        _check_gold_languages(job, golds)
        return [_mkqa_system(job, system, golds, notes, reader) for system in job.systems]
    except MalformedRecord as error:
        raise InputError(f"{reader.where}: {error}") from None


def _kilt_system(job: EvaluationJob, system: Sequence[Source], reader: Reader) -> KiltSystem:
    found = {}
    for name in job.names:
        try:
            found[name] = kilt.evaluate(
                reader.read(job.gold_of(name)),
                reader.read(source for source in system if source.name == name),
                ks=job.protocol.ks,
                rank_keys=job.protocol.rank_keys,
                strict=job.protocol.strict,
            )
        except MalformedRecord:
            raise
        except EvaluationError as error:
            raise InputError(_in_files(job, name, system, str(error))) from None
    return found


def _mkqa_system(
    job: EvaluationJob, system: Sequence[Source], golds: mkqa.Golds, notes: Counter[str], reader: Reader
) -> mkqa.Evaluation:
    noted, extra = Counter(notes), list[str]()
    languages = {}
    for name in job.names:
        try:
            languages[name] = mkqa.evaluate_language(
                golds[name],
                reader.read(source for source in system if source.name == name),
                name,
                job.protocol.strict,
                noted,
                extra,
            )
        except MalformedRecord:
            raise
        except EvaluationError as error:
            raise InputError(_in_files(job, name, system, str(error))) from None
    return mkqa.Evaluation(languages, job.protocol.strict, dict(sorted(noted.items())), extra)


def _check_gold_languages(job: EvaluationJob, found: Iterable[str]) -> None:
    absent = sorted(set(job.names) - set(found))
    if absent:
        raise InputError(f"{job.gold[0].info.path}: no answers in {', '.join(absent)}")


def _in_files(job: EvaluationJob, name: str, system: Sequence[Source], message: str) -> str:
    """The message after the file that it is about."""
    about = job.gold_of(name) if message.startswith("the gold") else [s for s in system if s.name == name]
    return f"{about[0].info.path}{' …' if len(about) > 1 else ''}: {message}"


def publish(job: EvaluationJob, systems: Sequence[System]) -> dict[str, Any]:
    """Write metrics.json, per_example.parquet, report.html and the pictures; the content of the first.

    Without a folder for the results nothing is written.
    """
    first, other = systems[0], systems[1] if len(systems) > 1 else None
    if isinstance(first, mkqa.Evaluation):
        assert other is None or isinstance(other, mkqa.Evaluation)
        summary = summarize_mkqa(first, other, job.bootstrap, job.seed, job.verbose)
        pictures = pictures_of_mkqa(first)
    else:
        assert not isinstance(other, mkqa.Evaluation)
        summary = summarize_kilt(first, other, job.bootstrap, job.seed)
        pictures = pictures_of_kilt(first)
    if job.output is None:
        return summary
    make_folder(job.output)
    table = join(job.output, PER_EXAMPLE)
    if isinstance(first, mkqa.Evaluation):
        with ShardWriter(table, MkqaScore) as writer:
            for row in first.rows():
                writer.write(row)
    else:
        _write_kilt_scores(table, first, job.protocol.names)
    try:
        for name, image in as_png(pictures).items():
            with replacing(join(job.output, "pictures", name)) as stream:
                stream.write(image)
    except ImportError:
        summary["pictures"] = "in report.html only; PNG files need: pip install matplotlib"
    write_text(join(job.output, PAGE), render(summary, pictures))
    # NaN is no JSON: better no file than one that cannot be read
    json.dumps(summary, allow_nan=False)
    write_json(join(job.output, METRICS), summary)
    return summary


def kilt_scores_schema(names: Sequence[str]) -> pa.Schema:
    """The columns of KiltScore after ``dataset``, each figure a column of its own."""
    fields = [pa.field("dataset", pa.string(), False, {"description": "Name of the dataset."})]
    fields += [column.field for column in columns_of(KiltScore) if column.name != "scores"]
    described = {"description": "A figure of this example, 0 to 1."}
    return pa.schema([*fields, *(pa.field(name, pa.float64(), False, described) for name in names)])


def _write_kilt_scores(path: str, system: KiltSystem, names: Sequence[str]) -> None:
    schema = kilt_scores_schema(names)
    plain = [name for name in schema.names if name not in names and name != "dataset"]
    with replacing(path) as stream, pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        for dataset, of in system.items():
            for start in range(0, len(of.rows), ROW_GROUP):
                rows = of.rows[start : start + ROW_GROUP]
                columns: list[Sequence[Any]] = [[dataset] * len(rows)]
                columns += [[getattr(row, name) for row in rows] for name in plain]
                columns += zip(*(row.scores for row in rows), strict=True)
                arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
                writer.write_table(pa.table(arrays, schema=schema))


_TWICE_GOLD = "the gold ids are not unique"
_TWICE = "there is more than one prediction"
_MISSING = "there is no prediction"
_EXTRA = "extra"
_KEPT = 20  # ids a bucket names of each problem

Key: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Given:
    """A record in the join: what was read of it, and where it stood. ``system`` None = gold."""

    system: int | None
    position: int
    value: Any
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scored:
    """What the join gives for one id and system: a score, or a problem with the id."""

    name: str
    system: int
    score: Score | None = None
    problem: str = ""
    id: str = ""
    position: int = 0
    notes: tuple[str, ...] = ()


def read_given(job: EvaluationJob, source: Source) -> Iterator[tuple[Key, Given]]:
    """The records of one file by name and id."""
    reader = Reader()
    first = source.number << 40
    try:
        for offset, record in enumerate(reader.read([source])):
            position = first + offset
            if job.benchmark == "mkqa" and source.system is None:
                id = mkqa.example_id(record, "gold")
                for language, texts, noted in mkqa.gold_texts(record):
                    if language in job.names:
                        yield (language, id), Given(None, position, texts, tuple(noted))
            elif job.benchmark == "mkqa":
                notes: Counter[str] = Counter()
                prediction = mkqa.read_prediction(record, position, notes)
                yield (
                    (source.name or "", prediction.example_id),
                    Given(source.system, position, prediction, tuple(notes)),
                )
            elif source.system is None:
                id = kilt.read_id(record, "gold", offset + 1)
                gold = kilt.read_gold(record, id, job.protocol)
                yield (source.name or "", id), Given(None, position, gold, gold.notes)
            else:
                id = kilt.read_id(record, "prediction", offset + 1)
                yield (source.name or "", id), Given(source.system, position, record)
    except MalformedRecord as error:
        raise InputError(f"{reader.where}: {error}") from None


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
                yield Scored(name, system, problem=_EXTRA, id=id, position=one.position, notes=one.notes)
        elif len(golds) > 1:
            yield Scored(name, system, problem=_TWICE_GOLD, id=id, position=golds[1].position)
        elif not mine:
            yield Scored(name, system, problem=_MISSING, id=id, position=golds[0].position)
        elif len(mine) > 1:
            yield Scored(name, system, problem=_TWICE, id=id, position=mine[1].position)
        else:
            notes = (*golds[0].notes, *mine[0].notes)
            if job.benchmark == "mkqa":
                score: Score = mkqa.score_prediction(mine[0].value, golds[0].value, name)
                yield Scored(name, system, score, position=golds[0].position, notes=notes)
            else:
                try:
                    scored, noted = kilt.score_record(golds[0].value, mine[0].value, job.protocol, golds[0].position)
                except MalformedRecord as error:
                    raise InputError(f"{name}: {error}") from None
                yield Scored(name, system, scored, position=golds[0].position, notes=(*notes, *noted))


def write_bucket(job: EvaluationJob, bucket: int, scored: Iterable[Scored]) -> None:
    """The scores of a bucket as shards, and its notes and problems beside them."""
    notes: dict[str, Counter[str]] = {}
    problems: dict[str, list[tuple[int, str]]] = {}
    counts: Counter[str] = Counter()
    cls: type[Any] = MkqaScore if job.benchmark == "mkqa" else KiltScore
    writers: dict[str, tuple[ShardWriter[Any], ShardWriter[Position]]] = {}
    with ExitStack() as stack:
        for one in scored:
            place = f"{one.system}-{one.name}"
            if one.notes:
                notes.setdefault(place, Counter()).update(one.notes)
            if one.score is None:
                named = f"{place}-{one.problem}"
                counts[named] += 1
                problems[named] = sorted([*problems.get(named, ()), (one.position, one.id)])[:_KEPT]
                continue
            if place not in writers:
                path = job.staged(f"scores-{place}-{bucket:05d}.parquet")
                order = job.staged(f"order-{place}-{bucket:05d}.parquet")
                writers[place] = (
                    stack.enter_context(ShardWriter(path, cls)),
                    stack.enter_context(ShardWriter(order, Position)),
                )
            writers[place][0].write(one.score)
            writers[place][1].write(Position(one.position))
    content = {"notes": {k: dict(v) for k, v in notes.items()}, "problems": problems, "counts": dict(counts)}
    write_json(job.staged(f"bucket-{bucket:05d}.json"), content)


@dataclass(frozen=True, slots=True)
class Position:
    """Where the gold record of a score stood."""

    gold: int


def gather(job: EvaluationJob, buckets: Iterable[int]) -> list[System]:
    """The systems' scores out of the shards, as ``evaluate_here`` gives them, with the same errors."""
    numbers = sorted(buckets)
    said = [read_json(job.staged(f"bucket-{number:05d}.json")) for number in numbers]
    systems: list[System] = []
    for number, sources in enumerate(job.systems):
        languages: dict[str, mkqa.LanguageScores] = {}
        datasets: dict[str, kilt.Evaluation] = {}
        all_notes: Counter[str] = Counter()
        all_extra: list[str] = []
        for name in job.names:
            place = f"{number}-{name}"
            for problem in (_TWICE_GOLD, _TWICE, _MISSING):
                ids, count = _named(said, f"{place}-{problem}")
                if count:
                    about = f"{name}: {problem}" if job.benchmark == "mkqa" and problem != _TWICE_GOLD else problem
                    raise InputError(_in_files(job, name, sources, f"{about} for {kilt.named_ids(ids, count=count)}"))
            notes = sum((Counter(one["notes"].get(place, {})) for one in said), Counter[str]())
            extra, count = _named(said, f"{place}-{_EXTRA}")
            if count:
                notes[kilt.EXTRA if job.benchmark == "kilt" else mkqa.EXTRA] += count
            rows = _staged_rows(job, place, numbers)
            if job.benchmark == "mkqa":
                languages[name] = mkqa.LanguageScores.of(_renumbered(rows), job.protocol.strict)
                all_notes += notes
                all_extra += extra
            else:
                scores = [replace(row, position=place) for place, row in enumerate(rows)]
                datasets[name] = kilt.Evaluation(job.protocol, scores, dict(sorted(notes.items())), extra)
        systems.append(
            mkqa.Evaluation(languages, job.protocol.strict, dict(sorted(all_notes.items())), all_extra)
            if job.benchmark == "mkqa"
            else datasets
        )
    return systems


def _named(said: Sequence[Mapping[str, Any]], problem: str) -> tuple[list[str], int]:
    """The first ids that have a problem, by position, and how many have it."""
    found = sorted(tuple(one) for bucket in said for one in bucket["problems"].get(problem, ()))
    return [id for _, id in found[:_KEPT]], sum(bucket["counts"].get(problem, 0) for bucket in said)


def _staged_rows(job: EvaluationJob, place: str, buckets: Sequence[int]) -> list[Any]:
    """The scores of a name and system in the order of the gold file."""
    rows: list[tuple[int, Any]] = []
    cls: type[Any] = MkqaScore if job.benchmark == "mkqa" else KiltScore
    for bucket in buckets:
        path = job.staged(f"scores-{place}-{bucket:05d}.parquet")
        if exists(path):
            order = read_table(job.staged(f"order-{place}-{bucket:05d}.parquet")).column(0).to_pylist()
            rows += zip(order, records_of(cls, read_table(path)), strict=True)
    return [row for _, row in sorted(rows, key=lambda one: one[0])]


def _renumbered(rows: Sequence[MkqaScore]) -> list[MkqaScore]:
    """The same with positions in the prediction files from 0, without gaps."""
    places = {position: place for place, position in enumerate(sorted(row.position for row in rows))}
    return [replace(row, position=places[row.position]) for row in rows]
