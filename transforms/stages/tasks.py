"""Stages of the tasks: a dataset's own files to its table, mapped onto a knowledge source.

The examples themselves are never shuffled. A first reading sends off what they point at (evidence
texts, titles), which is looked up, located and aligned, shard by shard of the knowledge source; a
second reading puts the findings, keyed by position, back into the examples and writes them. One
file of the source is one *part* and becomes one shard.
"""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.metrics import Metrics
from apache_beam.pvalue import AsSingleton, PCollection, TaggedOutput

from kiltetl.schemas.records import (
    BLEU_BELOW_THRESHOLD,
    FAILURES,
    LOSSES,
    MALFORMED_RECORD,
    PAGE_IS_DISAMBIGUATION,
    PAGE_NOT_IN_KNOWLEDGE_SOURCE,
    SOURCE_PAGE_MISSING,
    SOURCE_SENTENCE_MISSING,
    Evidence,
    Example,
    Reject,
    Site,
    Task,
)
from kiltetl.transforms import io
from kiltetl.transforms.align import THRESHOLD, Bleu, best_spans, tokenize_page
from kiltetl.transforms.datasets import DATASETS
from kiltetl.transforms.datasets.spec import Dataset, MalformedRow, SkipRow
from kiltetl.transforms.io import BadRow, FileInfo, InputError, ShardWriter
from kiltetl.transforms.mapping import Finding, Unmapped, map_example, provenance
from kiltetl.transforms.redirects import Located, TitleIndex
from kiltetl.transforms.runner import RunFailed, advance
from kiltetl.transforms.stages.knowledge_source import INDEX
from kiltetl.transforms.titles import normal_title

BLEU_BINS = 20


@dataclass(frozen=True, slots=True)
class KnowledgeSource:
    """A finished knowledge source: its folder, its shards and its wiki."""

    folder: str
    shards: int
    site: Site

    def path(self, table: str, part: int) -> str:
        return io.join(self.folder, io.shard_name(table, part, self.shards))


@dataclass(frozen=True, slots=True)
class TaskJob:
    """One dataset and split to map."""

    dataset_name: str
    split: str
    sources: tuple[FileInfo, ...]
    evidence: tuple[FileInfo, ...]
    knowledge_source: KnowledgeSource | None
    output: str
    keep_weak: bool
    bleu: Bleu
    max_reject_share: float
    facts: Mapping[str, Any]

    @property
    def dataset(self) -> Dataset:
        return DATASETS[self.dataset_name]

    @property
    def stage(self) -> str:
        return f"{self.dataset_name}/{self.split}"

    def staged(self, name: str) -> str:
        return io.join(self.output, "staging", self.dataset_name, self.split, name)


class Ref(NamedTuple):
    """Where an evidence stands: part of the source, example in it, output, place in its set."""

    part: int
    example: int
    output: int
    place: int


class Request(NamedTuple):
    """One evidence to be found."""

    ref: Ref
    evidence: Evidence


class Found(NamedTuple):
    """What became of it. ``bleu`` is the best span's score, None where no text was compared."""

    ref: Ref
    finding: Finding
    bleu: float | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that gives no example: by a rule (``skip``), or for it is malformed."""

    row: int
    reason: str
    detail: str
    skip: bool


# --------------------------------------------------------------------------------------------
# reading


def read_source(dataset: Dataset, path: str) -> Iterator[Sequence[Example] | Refused]:
    """For each row of a file its examples, or why it has none."""
    for number, row in io.read_rows(path, dataset.source, dataset.items, advance):
        if isinstance(row, BadRow):
            yield Refused(number, MALFORMED_RECORD, row.detail, skip=False)
            continue
        try:
            yield list(dataset.read(row))
        except SkipRow as skip:
            yield Refused(number, skip.reason, "", skip=True)
        except (MalformedRow, ValueError, IndexError) as error:
            yield Refused(number, MALFORMED_RECORD, str(error), skip=False)
        except KeyError as error:
            yield Refused(number, MALFORMED_RECORD, f"no field {error}", skip=False)
        except (TypeError, AttributeError) as error:
            yield Refused(number, MALFORMED_RECORD, f"a field of another type than expected ({error})", skip=False)


def requests(part: int, dataset: Dataset, path: str) -> Iterator[Request]:
    """The evidence that a file's examples name, with where it stands."""
    position = 0
    for read in read_source(dataset, path):
        for example in () if isinstance(read, Refused) else read:
            for number, output in enumerate(example.outputs):
                for place, evidence in enumerate(output.evidence or ()):
                    yield Request(Ref(part, position, number, place), evidence)
            position += 1


def check_format(dataset: Dataset, path: str, rows: int = 20) -> None:
    """InputError if not one of the first rows of a file is what the dataset's rows look like."""
    problem: Refused | None = None
    for number, read in enumerate(read_source(dataset, path)):
        if not isinstance(read, Refused) or read.skip:
            return
        problem = problem or read
        if number + 1 == rows:
            break
    if problem is None:
        raise InputError(f"{path}: holds no record; expected {_expected(dataset)}")
    raise InputError(f"{path}, record {problem.row}: {problem.detail}; expected {_expected(dataset)}")


def _expected(dataset: Dataset) -> str:
    form = "one JSON object a line" if dataset.source == "jsonl" else "a JSON list of objects"
    return f"{dataset.name}'s format, {form}, such as {dataset.row_example}"


# --------------------------------------------------------------------------------------------
# finding


def look_up(request: Request, pages: Iterable[Sequence[str]]) -> Request | Found:
    """The request with the text of its sentence, out of the pages of that key (one, as a rule)."""
    evidence = request.evidence
    candidates = sorted(pages)
    if not candidates:
        return Found(request.ref, Unmapped(SOURCE_PAGE_MISSING, "not among the pages of --evidence"))
    number = evidence.sentence if evidence.sentence is not None else -1
    for sentences in candidates:
        if 0 <= number < len(sentences) and sentences[number].strip():
            return Request(request.ref, _with_text(evidence, sentences[number]))
    longest = max(len(sentences) for sentences in candidates)
    return Found(
        request.ref, Unmapped(SOURCE_SENTENCE_MISSING, f"the page has {longest} sentences, or this one is empty")
    )


def _with_text(evidence: Evidence, text: str) -> Evidence:
    return Evidence(evidence.title, text, evidence.source_page, evidence.sentence, evidence.meta)


def page_rows(path: str, wanted: Iterable[str]) -> Iterator[tuple[str, list[str], list[tuple[str, ...]]]]:
    """(page id, texts, sections) of the wanted pages of a shard of paragraphs, in file order."""
    ids = pc.SetLookupOptions(value_set=pa.array(sorted(wanted), pa.string()))
    current: str | None = None
    texts: list[str] = []
    sections: list[tuple[str, ...]] = []
    with io.parquet_file(path) as file:
        for group in range(file.num_row_groups):
            column = file.read_row_group(group, columns=["wikipedia_id"]).column(0)
            hits = pc.call_function("is_in", [column], ids)
            if not pc.any(hits).as_py():
                continue
            rows = file.read_row_group(group, columns=["wikipedia_id", "text", "section"]).filter(hits)
            for page, text, section in zip(*(rows.column(i).to_pylist() for i in range(3)), strict=True):
                if page != current:
                    if current is not None:
                        yield current, texts, sections
                    current, texts, sections = page, [], []
                texts.append(text)
                sections.append(tuple(section))
    if current is not None:
        yield current, texts, sections


def align_shard(
    source: KnowledgeSource, part: int, wanted: Iterable[tuple[Request, Located]], bleu: Bleu
) -> Iterator[Found]:
    """What becomes of the requests whose pages lie in one shard; each page is tokenised once."""
    by_page: dict[str, list[tuple[Request, Located]]] = {}
    for request, located in wanted:
        by_page.setdefault(located.wikipedia_id, []).append((request, located))
    pages = io.read_table(source.path("pages", part), ["wikipedia_id", "is_disambiguation"])
    ambiguous = set(pages.filter(pages.column("is_disambiguation")).column("wikipedia_id").to_pylist())
    texts_wanted = {page for page, asked in by_page.items() if any(r.evidence.text is not None for r, _ in asked)}
    for page, asked in by_page.items():
        for request, located in asked:
            if request.evidence.text is None and page in ambiguous:
                yield Found(request.ref, Unmapped(PAGE_IS_DISAMBIGUATION))
            elif request.evidence.text is None:
                yield Found(request.ref, provenance(request.evidence, page, located.wikipedia_title))
    for page, texts, sections in page_rows(source.path("paragraphs", part), texts_wanted):
        asked = [(request, located) for request, located in by_page[page] if request.evidence.text is not None]
        evidences = list(dict.fromkeys(request.evidence.text or "" for request, _ in asked))
        spans = dict(
            zip(evidences, best_spans(tokenize_page(texts, source.site.language), evidences, bleu), strict=True)
        )
        for request, located in asked:
            span = spans[request.evidence.text or ""]
            score = 0.0 if span is None else span.bleu_score
            if page in ambiguous and score < THRESHOLD:
                detail = f"best span scores {score:.6g}"
                yield Found(request.ref, Unmapped(PAGE_IS_DISAMBIGUATION, detail), score)
            elif span is None:
                yield Found(request.ref, Unmapped(BLEU_BELOW_THRESHOLD, "no word in common"), score)
            else:
                section = sections[span.paragraph_id]
                found = provenance(request.evidence, page, located.wikipedia_title, span, section)
                yield Found(request.ref, found, score)


# --------------------------------------------------------------------------------------------
# writing


def assemble(part: int, job: TaskJob, found: Iterable[Found]) -> dict[str, Any]:
    """Read a file again, put the findings into its examples and write its shards; the summary."""
    findings: dict[Ref, Found] = {one.ref: one for one in found}
    dataset, path = job.dataset, job.sources[part].path
    counts: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    histogram = [0] * BLEU_BINS
    bleu_sum, exact, compared = 0.0, 0, 0
    position = 0
    with (
        ShardWriter(job.staged(f"tasks-{part:05d}.parquet"), Task) as tasks,
        ShardWriter(job.staged(f"rejects-{part:05d}.parquet"), Reject) as rejects,
    ):
        for read in read_source(dataset, path):
            counts["read"] += 1
            if isinstance(read, Refused):
                (skipped if read.skip else rejected)[read.reason] += 1
                if not read.skip:
                    rejects.write(Reject(job.stage, f"{io.basename(path)}:{read.row}", read.reason, read.detail))
                continue
            counts["used"] += 1
            for example in read:
                mine = []
                for number, output in enumerate(example.outputs):
                    refs = [Ref(part, position, number, place) for place in range(len(output.evidence or ()))]
                    mine.append([findings[ref] for ref in refs])
                position += 1
                counts["examples"] += 1
                for one in (one for set_ in mine for one in set_ if one.bleu is not None):
                    score = min(1.0, one.bleu or 0.0)
                    histogram[min(BLEU_BINS - 1, int(score * BLEU_BINS))] += 1
                    bleu_sum, compared, exact = bleu_sum + score, compared + 1, exact + (score > 1 - 1e-9)
                record = map_example(
                    example, [[one.finding for one in set_] for set_ in mine], dataset.name, job.split, job.keep_weak
                )
                if isinstance(record, Reject):
                    rejected[record.reason] += 1
                    rejects.write(record)
                    continue
                tasks.write(record)
                counts["outputs"] += len(record.output)
                counts["answers"] += len({output.answer for output in record.output} - {None})
                counts["evidence_sets"] += sum(output.provenance is not None for output in record.output)
                spans = [span for output in record.output for span in output.provenance or ()]
                counts["spans"] += len(spans)
                counts["record_pages"] += len({span.wikipedia_id for span in spans})
    counts["written"], counts["rejects"] = tasks.count, rejects.count
    summary = {
        "counters": dict(counts),
        "skipped": dict(skipped),
        "rejected": dict(rejected),
        "bleu": {"histogram": histogram, "sum": bleu_sum, "count": compared, "exact": exact},
    }
    io.write_json(job.staged(f"part-{part:05d}.json"), summary)
    return summary


def publish(job: TaskJob) -> dict[str, Any]:
    """Check that everything adds up, give the shards their names and write the manifest, last.

    Raises:
        RunFailed: a count does not add up, an id occurs twice, or too many rows are malformed.
    """
    summaries = [io.read_json(job.staged(f"part-{part:05d}.json")) for part in range(len(job.sources))]
    counts, skipped, rejected = (
        sum((Counter(summary[name]) for summary in summaries), Counter[str]())
        for name in ("counters", "skipped", "rejected")
    )
    histogram = [sum(bins) for bins in zip(*(summary["bleu"]["histogram"] for summary in summaries), strict=True)]
    compared = sum(summary["bleu"]["count"] for summary in summaries)
    failed = sum(rejected[reason] for reason in FAILURES)
    lost = sum(rejected[reason] for reason in LOSSES)
    shards = [job.staged(f"tasks-{part:05d}.parquet") for part in range(len(job.sources))]
    reject_shards = [job.staged(f"rejects-{part:05d}.parquet") for part in range(len(job.sources))]
    rows, reject_rows = [io.footer_rows(p) for p in shards], [io.footer_rows(p) for p in reject_shards]
    for what, left, right in (
        ("rows read = used + skipped + malformed", counts["read"], counts["used"] + skipped.total() + failed),
        ("examples = written + rejected", counts["examples"], counts["written"] + lost),
        ("rows of the table", counts["written"], sum(rows)),
        ("rows of rejects", failed + lost, sum(reject_rows)),
    ):
        if left != right:
            raise RunFailed(f"{job.stage} does not add up: {what}: {left:,} against {right:,}")
    if counts["read"] and failed / counts["read"] > job.max_reject_share:
        first = next(
            row for path in reject_shards for row in io.read_table(path).to_pylist() if row["reason"] in FAILURES
        )
        raise RunFailed(
            f"{job.stage}: {failed:,} of {counts['read']:,} rows are malformed, more than --max-reject-share "
            f"{job.max_reject_share:g} allows; {first['source_id']}: {first['detail']}"
        )
    twice = _repeated(shards)
    if twice:
        shown = ", ".join(f"{key} ({language})" for key, language in twice[:5])
        raise RunFailed(f"{job.stage}: ids occur more than once: {shown}{' …' if len(twice) > 5 else ''}")

    files = _publish_shards(shards, rows, io.join(job.output, job.dataset_name), job.split)
    reject_files = _publish_shards(
        reject_shards, reject_rows, io.join(job.output, "rejects", job.dataset_name), job.split
    )
    manifest = {
        **job.facts,
        "counters": dict(sorted(counts.items())),
        "skipped": dict(sorted(skipped.items())),
        "rejected": dict(sorted(rejected.items())),
        "bleu": {
            "histogram": histogram,
            "sum": sum(summary["bleu"]["sum"] for summary in summaries),
            "count": compared,
            "exact": sum(summary["bleu"]["exact"] for summary in summaries),
            "below_threshold": sum(histogram[: int(BLEU_BINS * THRESHOLD)]),
        },
        "files": files,
        "reject_files": reject_files,
    }
    io.write_json(manifest_path(job.output, job.dataset_name, job.split), manifest)
    io.delete_folder(job.staged(""))
    return manifest


def _repeated(shards: Sequence[str]) -> list[tuple[str, str]]:
    """(id, language) pairs that occur more than once, sorted."""
    table = pa.concat_tables([io.read_table(path, ["id", "language"]) for path in shards])
    counted = table.group_by(["id", "language"]).aggregate([([], "count_all")])
    twice = counted.filter(pc.greater(counted.column("count_all"), 1))
    return sorted(zip(twice.column("id").to_pylist(), twice.column("language").to_pylist(), strict=True))


def manifest_path(output: str, dataset: str, split: str) -> str:
    return io.join(output, "manifests", f"{dataset}-{split}.json")


def _publish_shards(shards: Sequence[str], rows: Sequence[int], folder: str, split: str) -> list[dict[str, Any]]:
    """Move the shards that hold rows to their final names; one without rows stands for an empty table."""
    io.make_folder(folder)
    for name in io.list_folder(folder, f"{split}-*.parquet"):
        io.delete_file(io.join(folder, name))
    kept = [(path, count) for path, count in zip(shards, rows, strict=True) if count] or [(shards[0], 0)]
    files = []
    for number, (path, count) in enumerate(kept):
        name = io.shard_name(split, number, len(kept))
        size = io.file_size(path)
        io.move(path, io.join(folder, name))
        files.append({"name": name, "rows": count, "bytes": size})
    return files


# --------------------------------------------------------------------------------------------
# the same, as Beam transforms


class ReadRequests(beam.PTransform):
    """Number of a source file -> Requests."""

    def __init__(self, job: TaskJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, parts: PCollection[int]) -> PCollection[Request]:
        return parts | beam.FlatMap(self._read) | beam.Reshuffle()

    def _read(self, part: int) -> Iterator[Request]:
        for request in requests(part, self._job.dataset, self._job.sources[part].path):
            Metrics.counter(self._job.stage, "evidence").inc()
            yield request


class LookUpSentences(beam.PTransform):
    """Requests -> Requests, with texts out of the dataset's own evidence files; ``found``: those not there.

    The keys that are needed are broadcast to the files, so only their sentences travel.
    """

    def __init__(self, job: TaskJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, asked: PCollection[Request]) -> "Findings":
        by_key = asked | "Key" >> beam.FlatMap(_source_key)
        needed = by_key | beam.Keys() | beam.CombineGlobally(_KeySet())
        pages = (
            asked.pipeline
            | "Files" >> beam.Create(self._job.evidence, reshuffle=True)
            | "ReadPages" >> beam.FlatMap(self._read, AsSingleton(needed))
        )
        looked_up = (
            (by_key, pages) | beam.CoGroupByKey() | "Pick" >> beam.FlatMap(_pick).with_outputs("found", main="asked")
        )
        direct = asked | "Direct" >> beam.Filter(_has_no_key)
        return Findings((direct, looked_up.asked) | beam.Flatten(), looked_up.found)

    def _read(self, info: FileInfo, needed: frozenset[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        read = self._job.dataset.read_evidence
        assert read is not None
        for number, row in io.read_rows(info.path, "jsonl", report=advance):
            if isinstance(row, BadRow):
                raise RunFailed(f"{info.path}:{number}: {row.detail}")
            try:
                for page in read(row):
                    if page.key in needed:
                        yield page.key, page.sentences
            except (MalformedRow, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
                raise RunFailed(f"{info.path}:{number}: not a page of {self._job.dataset_name}'s ({error})") from error


class Findings(NamedTuple):
    """What is still to be found, and what became of the rest."""

    asked: PCollection[Any]
    found: PCollection[Found]


def _source_key(request: Request) -> Iterator[tuple[str, Request]]:
    if request.evidence.text is None and request.evidence.source_page is not None:
        yield request.evidence.source_page, request


def _has_no_key(request: Request) -> bool:
    return request.evidence.text is not None or request.evidence.source_page is None


def _pick(joined: tuple[str, tuple[Iterable[Request], Iterable[tuple[str, ...]]]]) -> Iterator[Any]:
    _, (asked, pages) = joined
    pages = list(pages)
    for request in asked:
        result = look_up(request, pages)
        yield TaggedOutput("found", result) if isinstance(result, Found) else result


class _KeySet(beam.CombineFn):
    def create_accumulator(self) -> set[str]:
        return set()

    def add_input(self, keys: set[str], key: str) -> set[str]:
        keys.add(key)
        return keys

    def merge_accumulators(self, sets: Iterable[set[str]]) -> set[str]:
        return set().union(*sets)

    def extract_output(self, keys: set[str]) -> frozenset[str]:
        return frozenset(keys)


class LocatePages(beam.PTransform):
    """Requests -> (part of the knowledge source, (Request, Located)); ``found``: those without a page."""

    def __init__(self, source: KnowledgeSource) -> None:
        super().__init__()
        self._source = source

    def expand(self, asked: PCollection[Request]) -> Findings:
        located = asked | beam.ParDo(_Locate(self._source)).with_outputs("found", main="asked")
        return Findings(located.asked, located.found)


class _Locate(beam.DoFn):
    def __init__(self, source: KnowledgeSource) -> None:
        self._source = source

    def setup(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        path = io.local_copy(io.join(self._source.folder, INDEX), self._folder.name)
        self._index = TitleIndex(io.map_arrow(path))

    def process(self, request: Request) -> Iterator[Any]:
        title = normal_title(request.evidence.title, self._source.site)
        located = self._index.find([title]).get(title)
        if located is None:
            yield TaggedOutput("found", Found(request.ref, Unmapped(PAGE_NOT_IN_KNOWLEDGE_SOURCE)))
        else:
            yield located.part, (request, located)

    def teardown(self) -> None:
        del self._index
        self._folder.cleanup()


class AlignEvidence(beam.PTransform):
    """(part, (Request, Located)) -> Found: evidence is grouped by shard, page text stays where it is."""

    def __init__(self, source: KnowledgeSource, bleu: Bleu) -> None:
        super().__init__()
        self._source, self._bleu = source, bleu

    def expand(self, located: PCollection[tuple[int, tuple[Request, Located]]]) -> PCollection[Found]:
        return located | beam.GroupByKey() | beam.FlatMapTuple(self._align)

    def _align(self, part: int, wanted: Iterable[tuple[Request, Located]]) -> Iterator[Found]:
        yield from align_shard(self._source, part, wanted, self._bleu)
        advance(io.file_size(self._source.path("paragraphs", part)))


class AssembleExamples(beam.PTransform):
    """Numbers of source files, with all that was found -> number of records written, a file."""

    def __init__(self, job: TaskJob, found: Sequence[PCollection[Found]]) -> None:
        super().__init__()
        self._job, self._found = job, found

    def expand(self, parts: PCollection[int]) -> PCollection[int]:
        keyed = {str(i): found | f"Key{i}" >> beam.Map(_part_of) for i, found in enumerate(self._found)}
        keyed["part"] = parts | "KeyParts" >> beam.Map(lambda part: (part, part))
        return keyed | beam.CoGroupByKey() | beam.MapTuple(self._assemble)

    def _assemble(self, part: int, joined: Mapping[str, Iterable[Any]]) -> int:
        found = (one for tag, group in joined.items() if tag != "part" for one in group)
        summary = assemble(part, self._job, found)
        for name, value in summary["counters"].items():
            Metrics.counter(self._job.stage, name).inc(value)
        return int(summary["counters"].get("written", 0))


def _part_of(found: Found) -> tuple[int, Found]:
    return found.ref.part, found


class PublishTasks(beam.PTransform):
    """Numbers of records of all files -> one number, once the manifest stands."""

    def __init__(self, job: TaskJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, written: PCollection[int]) -> PCollection[int]:
        return written | beam.CombineGlobally(sum) | beam.Map(self._publish)

    def _publish(self, written: int) -> int:
        publish(self._job)
        return written
