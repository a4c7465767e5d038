"""Stages of the tasks: a dataset's own files to its table, mapped onto a knowledge source.

The examples themselves are never shuffled. A first reading sends off what they point at (evidence
texts, titles), which is looked up, located and aligned, shard by shard of the knowledge source; a
second reading puts the findings, keyed by position, back into the examples and writes them. A
*part* is one file of the source, or one bucket where rows are merged, and becomes one shard.
"""

import json
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

from kiltetl.schemas.arrow import record_of
from kiltetl.schemas.records import (
    BLEU_BELOW_THRESHOLD,
    FAILURES,
    PAGE_IS_DISAMBIGUATION,
    PAGE_NOT_IN_KNOWLEDGE_SOURCE,
    SOURCE_PAGE_MISSING,
    SOURCE_SENTENCE_MISSING,
    Evidence,
    Reject,
    Site,
    Span,
    Task,
)
from kiltetl.transforms import io
from kiltetl.transforms.align import THRESHOLD, Bleu, best_spans, joined, tokenize_page
from kiltetl.transforms.datasets.spec import Dataset
from kiltetl.transforms.io import FileInfo, InputError, ShardWriter
from kiltetl.transforms.mapping import Finding, Unmapped, checked, map_example, provenance, set_losses
from kiltetl.transforms.quality import NEAR, Quality, added
from kiltetl.transforms.redirects import Located, TitleIndex
from kiltetl.transforms.released import kind
from kiltetl.transforms.runner import RunFailed, advance
from kiltetl.transforms.stages.borrowed import Tables, evidence_sets, with_sets
from kiltetl.transforms.stages.knowledge_source import INDEX, MANIFEST
from kiltetl.transforms.stages.sources import (
    Read,
    Refused,
    bucket_count,
    deal_out,
    merged,
    of_split,
    read_pages,
    read_source,
)
from kiltetl.transforms.titles import normal_title

_COUNTERS = (
    "answers",
    "bare",
    "evidence_sets",
    "examples",
    "outputs",
    "read",
    "record_pages",
    "rejects",
    "spans",
    "used",
    "written",
)


_GROUPS = "groups.json"
_ANEW = "give the command that built it again"


@dataclass(frozen=True, slots=True)
class KnowledgeSource:
    """A finished knowledge source: its folder, its shards and its wiki."""

    folder: str
    shards: int
    site: Site

    def path(self, table: str, part: int) -> str:
        return io.join(self.folder, io.shard_name(table, part, self.shards))


def open_knowledge_source(folder: str) -> tuple[KnowledgeSource, dict[str, Any]]:
    """A finished knowledge source, and what a task's manifest says of it."""
    path = io.join(folder, MANIFEST)
    io.check_filesystem(folder)
    if not io.exists(path):
        raise InputError(f"{folder}: no knowledge source, or an unfinished one: build it with kiltetl knowledge-source")
    manifest = io.read_json(path)
    if not isinstance(manifest, dict) or manifest.get("kind") != "knowledge-source":
        raise InputError(f"{path}: the manifest of something else")
    try:
        names = [str(file["name"]) for file in manifest["files"]]
        site = record_of(Site, manifest["site"])
        about = {"dump": manifest["dump"], "fingerprint": manifest["fingerprint"]}
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: a damaged manifest; {_ANEW}") from None
    there = set(io.list_folder(folder))
    for name in (*names, INDEX):
        if name not in there:
            raise InputError(f"{io.join(folder, name)}: not there, though the knowledge source has it; {_ANEW}")
    return KnowledgeSource(folder, sum(name.startswith("pages-") for name in names), site), about


@dataclass(frozen=True, slots=True)
class TaskJob:
    """One dataset and split to map. A part is a source file, or a bucket where rows are merged."""

    dataset: Dataset
    split: str
    sources: tuple[FileInfo, ...]
    evidence: tuple[FileInfo, ...]
    knowledge_source: KnowledgeSource | None
    output: str
    keep_weak: bool
    bleu: Bleu
    span_rows: int  # rows of a page that one span may run over
    max_reject_share: float
    facts: Mapping[str, Any]
    borrowed: Tables | None = None  # nq's, whose provenance the rows of mkqa get

    @property
    def stage(self) -> str:
        return f"{self.dataset.name}/{self.split}"

    @property
    def metadata(self) -> dict[str, str]:
        """What the Parquet files of the table say of how it was made."""
        signature = self.facts["parameters"]["signature"]
        return {"signature": signature} if signature else {}

    @property
    def parts(self) -> int:
        return len(self.sources) if self.dataset.key is None else bucket_count(self.sources)

    @property
    def staging(self) -> str:
        """A folder of our own, in the output."""
        return io.join(self.output, f".kiltetl-staging-{self.dataset.name}-{self.split}")

    def staged(self, name: str) -> str:
        return io.join(self.staging, name)


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
    """What became of it. ``bleu`` is the best span's score, None where no text was compared.

    ``texts`` are evidence and span, where the score is close to the threshold.
    """

    ref: Ref
    finding: Finding
    bleu: float | None = None
    texts: tuple[str, str] | None = None


# --------------------------------------------------------------------------------------------
# reading


def gather_file(job: TaskJob, number: int) -> None:
    """First step for a dataset whose rows are merged: one file's examples to the buckets."""
    info = job.sources[number]
    pieces = [job.staged(f"piece-{bucket:05d}-{number:05d}.jsonl") for bucket in range(job.parts)]
    counts, refused = deal_out(job.dataset, info.path, pieces)
    with ShardWriter(job.staged(f"gather-rejects-{number:05d}.parquet"), Reject) as rejects:
        for row, one in refused:
            rejects.write(Reject(job.stage, f"{io.basename(info.path)}:{row}", one.reason, one.detail))
    io.write_json(job.staged(f"gather-{number:05d}.json"), dict(counts))


def read_part(job: TaskJob, part: int) -> Iterator[tuple[int, Read]]:
    """(rows or examples taken in, what they gave) of a part: a source file, or a bucket of merged examples."""
    if job.dataset.key is None:
        for read in read_source(job.dataset, job.sources[part].path):
            yield 1, of_split(job.dataset, job.split, read)
    else:
        dataset = job.dataset
        if dataset.settle is not None:
            dataset = dataset.settle(dataset, io.read_json(job.staged(_GROUPS)))
        for count, read in merged(dataset, _pieces(job, part)):
            yield count, of_split(dataset, job.split, read)


def count_groups(job: TaskJob, part: int) -> Counter[str]:
    """The numbers that the merged examples of a bucket count for, by name."""
    assert job.dataset.group is not None
    counts: Counter[str] = Counter()
    for _, read in merged(job.dataset, _pieces(job, part)):
        for name, number in map(job.dataset.group, () if isinstance(read, Refused) else read):
            counts[name] += number
    return counts


def _pieces(job: TaskJob, part: int) -> list[str]:
    return [job.staged(f"piece-{part:05d}-{number:05d}.jsonl") for number in range(len(job.sources))]


def requests(job: TaskJob, part: int) -> Iterator[Request]:
    """The evidence that a part's examples name, with where it stands."""
    position = 0
    for _, read in read_part(job, part):
        for example in () if isinstance(read, Refused) else read:
            for number, output in enumerate(example.outputs):
                for place, evidence in enumerate(output.evidence or ()):
                    yield Request(Ref(part, position, number, place), evidence)
            position += 1


def read_evidence(job: TaskJob, number: int, needed: frozenset[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(key, sentences) of the pages that are needed of one of the dataset's evidence files."""
    info = job.evidence[number]
    rows = 0
    with ShardWriter(job.staged(f"evidence-rejects-{number:05d}.parquet"), Reject) as rejects:
        for rows, row in io.read_rows(info.path, report=advance):
            pages = read_pages(job.dataset, rows, row)
            if isinstance(pages, Refused):
                name = f"{io.basename(info.path)}:{rows}"
                rejects.write(Reject(f"{job.stage}/evidence", name, pages.reason, pages.detail))
                continue
            yield from ((page.key, page.sentences) for page in pages if page.key in needed)
    io.write_json(job.staged(f"evidence-{number:05d}.json"), {"read": rows, "malformed": rejects.count})


# --------------------------------------------------------------------------------------------
# finding


def look_up(request: Request, pages: Iterable[tuple[str, ...]]) -> Request | Found:
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
    source: KnowledgeSource, part: int, wanted: Iterable[tuple[Request, Located]], bleu: Bleu, span_rows: int = 1
) -> Iterator[Found]:
    """What becomes of the requests whose pages lie in one shard; each page is tokenised once."""
    by_page: dict[str, list[tuple[Request, Located]]] = {}
    placed: dict[str, list[tuple[Request, Located]]] = {}
    for request, located in wanted:
        pile = by_page if request.evidence.place is None else placed
        pile.setdefault(located.wikipedia_id, []).append((request, located))
    if placed:
        yield from check_shard(source, part, placed)
    pages = io.read_table(source.path("pages", part), ["wikipedia_id", "is_disambiguation"])
    ambiguous = set(pages.filter(pages.column("is_disambiguation")).column("wikipedia_id").to_pylist())
    there = set(pages.column("wikipedia_id").to_pylist())
    for page in set(by_page) - there:  # its title is known, but it failed to be parsed
        gone = Unmapped(PAGE_NOT_IN_KNOWLEDGE_SOURCE, "the page is among the rejects of the knowledge source")
        yield from (Found(request.ref, gone) for request, _ in by_page.pop(page))
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
        tokens = joined(tokenize_page(texts, source.site.language), span_rows)
        spans = dict(zip(evidences, best_spans(tokens, evidences, bleu), strict=True))
        for request, located in asked:
            text = request.evidence.text or ""
            span = spans[text]
            score = 0.0 if span is None else span.bleu_score
            shown = (text, _text_of(span, texts)) if span and abs(score - THRESHOLD) <= NEAR else None
            if page in ambiguous and score < THRESHOLD:
                detail = f"best span scores {score:.6g}"
                yield Found(request.ref, Unmapped(PAGE_IS_DISAMBIGUATION, detail), score, shown)
            elif span is None:
                yield Found(request.ref, Unmapped(BLEU_BELOW_THRESHOLD, "no word in common"), score)
            else:
                section = sections[span.paragraph_id]
                found = provenance(request.evidence, page, located.wikipedia_title, span, section)
                yield Found(request.ref, found, score, shown)


def check_shard(
    source: KnowledgeSource, part: int, placed: Mapping[str, Sequence[tuple[Request, Located]]]
) -> Iterator[Found]:
    """What becomes of released evidence, of which only the place is known, on the pages of one shard."""
    for page, texts, sections in page_rows(source.path("paragraphs", part), placed):
        for request, located in placed[page]:
            yield Found(request.ref, checked(request.evidence, page, located.wikipedia_title, texts, sections))


def _text_of(span: Span, texts: Sequence[str]) -> str:
    last = span.paragraph_id if span.end_paragraph_id is None else span.end_paragraph_id
    if last == span.paragraph_id:
        return texts[last][span.start_character : span.end_character]
    middle = texts[span.paragraph_id + 1 : last]
    return "\n".join([texts[span.paragraph_id][span.start_character :], *middle, texts[last][: span.end_character]])


# --------------------------------------------------------------------------------------------
# writing


def assemble(part: int, job: TaskJob, found: Iterable[Found]) -> dict[str, Any]:
    """Read a part again, put the findings into its examples and write its shards; the summary."""
    findings: dict[Ref, Found] = {one.ref: one for one in found}
    counts: Counter[str] = Counter()
    quality = Quality()
    borrowed = evidence_sets(job.borrowed, example_ids(job, part)) if job.borrowed else {}
    position = 0
    with (
        ShardWriter(job.staged(f"tasks-{part:05d}.parquet"), Task, _weight, job.metadata) as tasks,
        ShardWriter(job.staged(f"rejects-{part:05d}.parquet"), Reject) as rejects,
    ):
        for taken, read in read_part(job, part):
            counts["read"] += taken
            if isinstance(read, Refused):
                counts[f"skipped:{read.reason}" if read.skip else f"rejected:{read.reason}"] += taken
                if not read.skip:
                    name = f"{io.basename(job.sources[part].path)}:{read.row}"
                    rejects.write(Reject(job.stage, name, read.reason, read.detail))
                continue
            counts["used"] += taken
            for example in read:
                mine = [
                    [findings[Ref(part, position, number, place)] for place in range(len(output.evidence or ()))]
                    for number, output in enumerate(example.outputs)
                ]
                position += 1
                counts["examples"] += 1
                for output, set_ in zip(example.outputs, mine, strict=True):
                    for evidence, one in zip(output.evidence or (), set_, strict=True):
                        _rate(quality, example.id, evidence, one)
                        counts.update(_brought_over(evidence, one))
                one_by_one = [[one.finding for one in set_] for set_ in mine]
                lost_sets = list(set_losses(example, one_by_one, job.split, job.keep_weak))
                counts.update(f"sets:{reason or 'mapped'}" for reason in lost_sets)
                record = map_example(
                    example,
                    one_by_one,
                    job.dataset.name,
                    job.split,
                    job.keep_weak,
                    needs_evidence=job.knowledge_source is not None and job.dataset.needs_evidence,
                )
                if isinstance(record, Reject):
                    counts[f"lost:{record.reason}"] += 1
                    rejects.write(record)
                    continue
                counts["bare"] += bool(lost_sets) and None not in lost_sets
                counts["own_sets"] += sum(output.provenance is not None for output in record.output)
                if job.borrowed is not None:
                    sets = borrowed[record.id]
                    record = record if isinstance(sets, str) else with_sets(record, sets)
                    counts[f"borrowed:{sets if isinstance(sets, str) else 'mapped'}"] += 1
                tasks.write(record)
                remark = None if job.dataset.remark is None else job.dataset.remark(example)
                if remark is not None:
                    counts[f"remarks:{remark}"] += 1
                spans = [span for output in record.output for span in output.provenance or ()]
                counts["spans"] += len(spans)
                counts["record_pages"] += len({span.wikipedia_id for span in spans})
                counts["outputs"] += len(record.output)
                counts["answers"] += len({output.answer for output in record.output} - {None})
                counts["evidence_sets"] += sum(output.provenance is not None for output in record.output)
    counts["written"], counts["rejects"] = tasks.count, rejects.count
    summary = {"counts": dict(counts), "bleu": quality.summary()}
    io.write_json(job.staged(f"part-{part:05d}.json"), summary)
    return summary


def _rate(quality: Quality, example_id: str, evidence: Evidence, one: Found) -> None:
    if one.bleu is None:
        if isinstance(one.finding, Unmapped):
            quality.add_unfound(one.finding.reason)
        return
    score = min(1.0, one.bleu)
    quality.add(score)
    if one.texts is not None:
        quality.show(example_id, evidence.title, score, *one.texts)


def example_ids(job: TaskJob, part: int) -> set[str]:
    """Ids of the examples of a part."""
    return {example.id for _, read in read_part(job, part) if not isinstance(read, Refused) for example in read}


def _brought_over(evidence: Evidence, one: Found) -> Iterator[str]:
    """Counts of what became of released evidence; none for that of original files."""
    how = kind(evidence)
    if how is not None:
        yield f"released:{how}"
        if isinstance(one.finding, Unmapped):
            yield f"released:{how}, not found"
        elif one.finding.wikipedia_id != evidence.wikipedia_id:
            yield "released:page of another id"


def _weight(task: Task) -> int:
    meta = task.meta
    return len(task.input) + len(meta.left_context or "") + len(meta.right_context or "") + 200 * len(task.output)


def publish(job: TaskJob) -> dict[str, Any]:
    """Check that everything adds up, give the shards their names and write the manifest, last.

    Raises:
        RunFailed: a count does not add up, an id occurs twice, or too many rows are malformed.
    """
    summaries = [io.read_json(job.staged(f"part-{part:05d}.json")) for part in range(job.parts)]
    counts = sum((Counter(summary["counts"]) for summary in summaries), Counter[str]())
    shards = [job.staged(f"tasks-{part:05d}.parquet") for part in range(job.parts)]
    reject_shards = [job.staged(f"rejects-{part:05d}.parquet") for part in range(job.parts)]
    checks = []
    if job.dataset.key is not None:
        numbers = range(len(job.sources))
        dealt = sum((Counter(io.read_json(job.staged(f"gather-{n:05d}.json"))) for n in numbers), Counter[str]())
        checks.append(("examples of all rows = examples merged", dealt["dealt"], counts["read"]))
        for name in ("read", "used"):
            counts[name] = dealt[name]
        merging = _by_reason(counts, "skipped")  # of examples, not of rows
        counts = Counter({name: n for name, n in counts.items() if not name.startswith("skipped:")})
        counts += Counter({name: n for name, n in dealt.items() if ":" in name})
        counts["rejects"] += dealt.total() - sum(n for name, n in dealt.items() if not name.startswith("rejected:"))
        reject_shards += [job.staged(f"gather-rejects-{n:05d}.parquet") for n in numbers]
    else:
        merging = Counter()
    evidence = Counter[str]()
    for number in range(len(job.evidence)):
        evidence += Counter(io.read_json(job.staged(f"evidence-{number:05d}.json")))
        reject_shards.append(job.staged(f"evidence-rejects-{number:05d}.parquet"))
    skipped, failures, losses = (_by_reason(counts, kind) for kind in ("skipped", "rejected", "lost"))
    failed, lost = failures.total(), losses.total()
    rows, reject_rows = [io.footer_rows(p) for p in shards], [io.footer_rows(p) for p in reject_shards]
    checks += [
        (
            "rows read = used + skipped + malformed",
            counts["read"],
            counts["used"] + skipped.total() + failed,
        ),
        ("examples = written + rejected", counts["examples"], counts["written"] + lost),
        ("evidence sets mapped = written", counts["sets:mapped"], counts["own_sets"]),
        ("rows of the table", counts["written"], sum(rows)),
        ("rows of rejects", failed + lost + evidence["malformed"], sum(reject_rows)),
    ]
    for what, left, right in checks:
        if left != right:
            raise RunFailed(f"{job.stage} does not add up: {what}: {left:,} against {right:,}")
    if counts["read"] and failed / counts["read"] > job.max_reject_share:
        raise RunFailed(
            f"{job.stage}: {failed:,} of {counts['read']:,} rows are malformed, more than --max-reject-share "
            f"{job.max_reject_share:g} allows; {_first_failure(reject_shards, job.stage)}"
        )
    if evidence["malformed"] > evidence["read"] * job.max_reject_share:
        raise RunFailed(
            f"{job.stage}: {evidence['malformed']:,} of {evidence['read']:,} evidence rows are no pages of "
            f"{job.dataset.name}'s, more than --max-reject-share {job.max_reject_share:g} allows; "
            f"{_first_failure(reject_shards, f'{job.stage}/evidence')}"
        )
    twice = _repeated(shards)
    if twice:
        shown = ", ".join(f"{key} ({language})" for key, language in twice[:5])
        raise RunFailed(f"{job.stage}: ids occur more than once: {shown}{' …' if len(twice) > 5 else ''}")

    io.delete_file(manifest_path(job.output, job.dataset.name, job.split))  # what stood there ends here
    files = _publish_shards(shards, rows, io.join(job.output, job.dataset.name), job.split)
    reject_files = _publish_shards(
        reject_shards, reject_rows, io.join(job.output, "rejects", job.dataset.name), job.split
    )
    manifest = {
        **job.facts,
        "counters": {name: counts[name] for name in _COUNTERS},
        "skipped": dict(sorted(skipped.items())),
        "skipped_merging": dict(sorted(merging.items())),
        "sets": dict(sorted(_by_reason(counts, "sets").items())),
        "rejected": dict(sorted((failures + losses).items())),
        "evidence_rows": dict(evidence),
        **{
            name: dict(sorted(found.items()))
            for name in ("released", "borrowed", "remarks")
            if (found := _by_reason(counts, name))
        },
        "bleu": added([summary["bleu"] for summary in summaries]).summary(),
        "files": files,
        "reject_files": reject_files,
    }
    io.write_json(manifest_path(job.output, job.dataset.name, job.split), manifest)
    io.delete_folder(job.staging)
    return manifest


def _first_failure(reject_shards: Sequence[str], stage: str) -> str:
    rows = (row for path in reject_shards for row in io.read_table(path).to_pylist())
    return next(
        f"{row['source_id']}: {row['detail']}" for row in rows if row["stage"] == stage and row["reason"] in FAILURES
    )


def _by_reason(counts: Mapping[str, int], kind: str) -> Counter[str]:
    return Counter({name.partition(":")[2]: n for name, n in counts.items() if name.startswith(f"{kind}:") and n})


def _repeated(shards: Sequence[str]) -> list[tuple[str, str]]:
    """(id, language) pairs that occur more than once, sorted."""
    table = pa.concat_tables([io.read_table(path, ["id", "language"]) for path in shards])
    counted = table.group_by(["id", "language"]).aggregate([([], "count_all")])
    twice = counted.filter(pc.greater(counted.column("count_all"), 1))
    return sorted(zip(twice.column("id").to_pylist(), twice.column("language").to_pylist(), strict=True))


def already_mapped(job: TaskJob) -> dict[str, Any] | None:
    """The manifest of the same files, parameters and knowledge source, if its shards are there, with their rows.

    None too where manifest or shards are damaged: the table is mapped anew.
    """
    path = manifest_path(job.output, job.dataset.name, job.split)
    if not io.exists(path):
        return None
    facts = json.loads(json.dumps(job.facts))
    folders = {"files": job.dataset.name, "reject_files": io.join("rejects", job.dataset.name)}
    try:
        manifest: dict[str, Any] = io.read_json(path)
        if any(manifest[name] != value for name, value in facts.items()):
            return None
        shards = [
            (io.join(job.output, folder, one["name"]), one["rows"])
            for key, folder in folders.items()
            for one in manifest[key]
        ]
    except (InputError, KeyError, TypeError):
        return None
    return manifest if io.have_rows(shards) else None


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


class GatherExamples(beam.PTransform):
    """Numbers of source files -> numbers of parts: buckets of examples that are merged."""

    def __init__(self, job: TaskJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, files: PCollection[int]) -> PCollection[int]:
        parts = (
            files | beam.Map(self._gather) | beam.CombineGlobally(sum) | beam.FlatMap(self._parts) | beam.Reshuffle()
        )
        if self._job.dataset.settle is None:
            return parts
        counts = parts | "Count" >> beam.Map(self._count) | "Sum" >> beam.CombineGlobally(_summed)
        return counts | "Settle" >> beam.FlatMap(self._settle) | "Spread" >> beam.Reshuffle()

    def _gather(self, number: int) -> int:
        gather_file(self._job, number)
        return 1

    def _count(self, part: int) -> Counter[str]:
        return count_groups(self._job, part)

    def _settle(self, counts: Mapping[str, int]) -> Iterable[int]:
        io.write_json(self._job.staged(_GROUPS), counts)
        return self._parts(0)

    def _parts(self, _: int) -> Iterable[int]:
        return range(self._job.parts)


def _summed(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    return sum(map(Counter, counts), Counter[str]())


class ReadRequests(beam.PTransform):
    """Number of a part -> Requests."""

    def __init__(self, job: TaskJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, parts: PCollection[int]) -> PCollection[Request]:
        return parts | beam.FlatMap(self._read) | beam.Reshuffle()

    def _read(self, part: int) -> Iterator[Request]:
        for request in requests(self._job, part):
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
            | "Files" >> beam.Create(range(len(self._job.evidence)), reshuffle=True)
            | "ReadPages" >> beam.FlatMap(self._read, AsSingleton(needed))
        )
        looked_up = (
            (by_key, pages) | beam.CoGroupByKey() | "Pick" >> beam.FlatMap(_pick).with_outputs("found", main="asked")
        )
        direct = asked | "Direct" >> beam.Filter(_has_no_key)
        return Findings((direct, looked_up.asked) | beam.Flatten(), looked_up.found)

    def _read(self, number: int, needed: frozenset[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        return read_evidence(self._job, number, needed)


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
        evidence, site = request.evidence, self._source.site
        located = None
        if evidence.wikipedia_id is not None and site.dbname == "enwiki":  # whose ids released records have
            located = self._index.with_id(evidence.wikipedia_id)
        if located is None:
            title = normal_title(evidence.title, site)
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

    def __init__(self, source: KnowledgeSource, bleu: Bleu, span_rows: int) -> None:
        super().__init__()
        self._source, self._bleu, self._span_rows = source, bleu, span_rows

    def expand(self, located: PCollection[tuple[int, tuple[Request, Located]]]) -> PCollection[Found]:
        return located | beam.GroupByKey() | beam.FlatMapTuple(self._align)

    def _align(self, part: int, wanted: Iterable[tuple[Request, Located]]) -> Iterator[Found]:
        yield from align_shard(self._source, part, wanted, self._bleu, self._span_rows)
        advance(io.file_size(self._source.path("paragraphs", part)))


class AssembleExamples(beam.PTransform):
    """Numbers of parts, with all that was found -> number of records written, a part."""

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
        for name, value in summary["counts"].items():
            Metrics.counter(self._job.stage, name).inc(value)
        return int(summary["counts"].get("written", 0))


def _part_of(found: Found) -> tuple[int, Found]:
    return found.ref.part, found


class PublishTasks(beam.PTransform):
    """Numbers of records of all parts -> one number, once the manifest stands."""

    def __init__(self, job: TaskJob) -> None:
        super().__init__()
        self._job = job

    def expand(self, written: PCollection[int]) -> PCollection[int]:
        return written | beam.CombineGlobally(sum) | beam.Map(self._publish)

    def _publish(self, written: int) -> int:
        publish(self._job)
        return written
