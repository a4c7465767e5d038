"""tasks: one dataset's original files to its table, mapped onto a knowledge source."""

import hashlib
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kiltetl.pipelines.arguments import Argument, Parser, positive, share
from kiltetl.pipelines.console import Console, parsed, run_command, size, table
from kiltetl.pipelines.launch import launch, use_beam_options
from kiltetl.schemas.errors import InputError
from kiltetl.schemas.manifests import SourceEntry, versions
from kiltetl.schemas.splits import SPLITS, split_called
from kiltetl.transforms.alignment.bleu import THRESHOLD, Bleu, signature
from kiltetl.transforms.datasets import DATASETS, find_dataset
from kiltetl.transforms.datasets.spec import Dataset, Options
from kiltetl.transforms.files.checksums import digests, recorded, sample_digest
from kiltetl.transforms.files.paths import (
    FileInfo,
    basename,
    changed_at,
    check_filesystem,
    exists,
    expand,
    join,
)
from kiltetl.transforms.files.progress import watched
from kiltetl.transforms.files.rows import read_lines
from kiltetl.transforms.files.shards import shard_name
from kiltetl.transforms.files.streams import read_json
from kiltetl.transforms.jobs import tasks_steps as steps
from kiltetl.transforms.jobs.examples import check_evidence, check_format
from kiltetl.transforms.jobs.reader import manifest_path, open_knowledge_source, read_task_manifest
from kiltetl.transforms.jobs.staging import Staging, digest_of
from kiltetl.transforms.jobs.tasks_borrowed import Tables
from kiltetl.transforms.jobs.tasks_job import TaskJob
from kiltetl.transforms.jobs.tasks_write import already_mapped
from kiltetl.transforms.kilt_release.source import released
from kiltetl.transforms.reports.build_summary import summarize, terminal_rows

if TYPE_CHECKING:
    import apache_beam as beam


_EPILOG = """\
examples:
  kiltetl tasks --dataset hotpotqa --split dev --source hotpot_dev_distractor_v1.json \\
      --knowledge-source ks --output tasks
  kiltetl tasks --dataset fever --split train --source train.jsonl --evidence 'wiki-pages/*.jsonl' \\
      --knowledge-source ks --output tasks --workers 4
  kiltetl tasks --dataset wow --split dev --from-kilt wow-dev-kilt.jsonl --knowledge-source ks --output tasks
  kiltetl tasks --dataset mkqa --split dev --source mkqa.jsonl.gz --mkqa-provenance tasks --output tasks

KILT's dev is the split validation, the name that data-set loaders know; --split dev means it.
"""


@dataclass(frozen=True)
class Settings:
    """What the command line says; see --help."""

    dataset: str
    split: str
    source: tuple[str, ...]
    output: str
    evidence: tuple[str, ...] = ()
    from_kilt: tuple[str, ...] = ()
    knowledge_source: str | None = None
    mkqa_provenance: str | None = None
    files: tuple[tuple[str, str], ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    workers: int = 1
    keep_weak: bool = False
    bleu: Bleu = "sacrebleu"
    max_span_paragraphs: int = 1
    max_reject_share: float = 0.001
    max_record_mb: int = 64
    overwrite: bool = False
    dry_run: bool = False
    beam: tuple[str, ...] = ()


def build(root: "beam.Pipeline", job: TaskJob) -> None:
    """Draw the whole graph, for any Beam runner."""
    import apache_beam as beam

    from kiltetl.transforms.beam.tasks import (
        AlignEvidence,
        AssembleExamples,
        GatherExamples,
        LocatePages,
        LookUpSentences,
        PublishTasks,
        ReadRequests,
    )

    parts = root | "Sources" >> beam.Create(range(len(job.sources)), reshuffle=True)
    if job.dataset.merge is not None:
        parts = parts | GatherExamples(job)
    found = []
    if job.knowledge_source is not None:
        asked = parts | ReadRequests(job)
        if job.dataset.evidence is not None:
            asked, missing = asked | LookUpSentences(job)
            found.append(missing)
        located, unknown = asked | LocatePages(job.knowledge_source)
        found += [unknown, located | AlignEvidence(job.knowledge_source, job.bleu, job.span_rows)]
    _ = parts | AssembleExamples(job, found) | PublishTasks(job)


def run_locally(job: TaskJob, workers: int, arguments: Sequence[str], console: Console) -> None:
    """Do the same in steps from file to file, a part at a time a process: see ``jobs.tasks_steps``."""
    from kiltetl.transforms.beam.runner import Workers

    source, merge = job.knowledge_source, job.dataset.merge
    read, parts = sum(info.size for info in job.sources), range(job.parts)
    shards = 0 if source is None else source.shards

    def each(what: str, work: int, step: Callable[[TaskJob, int], None], numbers: Sequence[int]) -> None:
        with console.progress(f"{job.stage}: {what}", work) as report, watched(report):
            pool.call_each(partial(step, job), numbers)

    with Workers(min(workers, max(len(parts), len(job.sources), len(job.evidence), shards)), arguments) as pool:
        if merge is not None:
            each("rows", read, steps.gather, range(len(job.sources)))
            if merge.rule is not None:
                each("numbers", 1, steps.count, parts)
                each("rule", 1, steps.settle, [0])
        if source is not None:
            each("evidence", read, steps.ask, parts)
            if job.dataset.evidence is not None:
                each(
                    "sentences", sum(info.size for info in job.evidence), steps.look_up_pages, range(len(job.evidence))
                )
            each("pages", 1, steps.place, parts)
            each("spans", source.size, steps.align, range(shards))
        each("records", read, steps.assemble, parts)
        each("audit", 1, steps.publish, [0])


@dataclass(frozen=True)
class Checked:
    """What a command names, looked at: dataset, split and files."""

    dataset: Dataset
    split: str
    sources: tuple[FileInfo, ...]
    evidence: tuple[FileInfo, ...]


def _dataset(settings: Settings) -> Dataset:
    try:
        return find_dataset(settings.dataset)
    except InputError as error:
        raise InputError(f"--dataset {error}") from None


def check(settings: Settings) -> Checked:
    """Look at what is named, but for the knowledge source; InputError for what the user can mend."""
    dataset = _dataset(settings)
    split = split_called(settings.split)
    if split is None or split not in dataset.splits:
        names = ", ".join("validation (dev)" if name == "validation" else name for name in dataset.splits)
        raise InputError(f"--split {settings.split}: {dataset.name} has {names}")
    if bool(settings.source) == bool(settings.from_kilt):
        raise InputError("name the dataset's original files with --source, or its released ones with --from-kilt")
    if settings.from_kilt:
        dataset = released(dataset, split)
    sources = tuple(expand(settings.from_kilt or settings.source))
    evidence = tuple(expand(settings.evidence)) if settings.evidence else ()
    if evidence and dataset.evidence is None:
        raise InputError(f"--evidence: {dataset.name} carries its evidence in its own files")
    dataset = _configured(dataset, dict(settings.files), dict(settings.options))
    if dataset.evidence is not None and dataset.evidence.required and not evidence:
        raise InputError(
            f"{dataset.name} keeps its evidence in files of its own: name them with --evidence; {dataset.homepage}"
        )
    if settings.mkqa_provenance is not None and dataset.ids_of is None:
        takers = " or ".join(one.name for one in DATASETS.values() if one.ids_of is not None)
        raise InputError(f"--mkqa-provenance: goes with --dataset {takers} --source alone, whose ids are another's")
    for info in sources:
        check_format(dataset, info.path)
    for info in evidence[:1]:  # of many thousands
        check_evidence(dataset, info.path)
    return Checked(dataset, split, sources, evidence)


def plan(settings: Settings) -> TaskJob:
    """Look at the input and say what the manifest will hold; InputError for what the user can mend."""
    checked = check(settings)
    dataset, split, sources, evidence = checked.dataset, checked.split, checked.sources, checked.evidence
    source, about = None, None
    if dataset.needs_knowledge_source:
        if settings.knowledge_source is None:
            raise InputError(f"{dataset.name} is mapped onto pages: name them with --knowledge-source DIR")
        source = open_knowledge_source(settings.knowledge_source)
        about = source.about
    borrowed = None
    if settings.mkqa_provenance is not None and dataset.ids_of is not None:
        borrowed, about = _borrowed(dataset.ids_of, settings.mkqa_provenance)
    check_filesystem(settings.output, write=True)
    language = source.site.language if source else "en"
    facts = {
        "kind": "tasks",
        "dataset": dataset.name,
        "task": dataset.task,
        "split": split,
        "inputs": recorded(sources),
        "option_files": {name: digests(path, ["sha1"])["sha1"] for name, path in sorted(settings.files)},
        "evidence": [{"name": basename(i.path), "size": i.size, "sample": sample_digest(i)} for i in evidence],
        "from_kilt": bool(settings.from_kilt),
        "mkqa_provenance": None if borrowed is None else [digests(one, ["sha1"])["sha1"] for one in borrowed.tasks],
        "knowledge_source": about,
        "versions": versions("apache-beam", "pyarrow", "sacrebleu"),
        "parameters": {
            "threshold": THRESHOLD,
            "keep_weak": settings.keep_weak,
            "max_record_mb": settings.max_record_mb,
            "max_span_paragraphs": settings.max_span_paragraphs,
            "options": dict(sorted(settings.options)),
            "signature": signature(settings.bleu, language) if source else None,
        },
        "published": {
            "size": dataset.published.size.get(split),
            "drop_percent": dataset.published.drop.get(split),
            "averages": dataset.published.averages_by_name(),
        },
        **_adapter(settings.dataset),
    }
    changed = [changed_at(info.path) for info in (*sources, *evidence)]
    run = digest_of([facts, changed])
    return TaskJob(
        dataset=dataset,
        split=split,
        sources=sources,
        evidence=evidence,
        knowledge_source=source,
        staging=Staging(settings.output, f"{dataset.name}-{split}", run),
        keep_weak=settings.keep_weak,
        bleu=settings.bleu,
        span_rows=settings.max_span_paragraphs,
        max_reject_share=settings.max_reject_share,
        max_record=settings.max_record_mb << 20,
        facts=facts,
        borrowed=borrowed,
    )


def _adapter(name: str) -> dict[str, Any]:
    """What a manifest says of a dataset of somebody's own: where it stands, and a digest of the module there."""
    module, colon, _ = name.partition(":")
    if not colon:
        return {}
    try:
        source = inspect.getsource(sys.modules[module])
    except OSError:  # compiled code alone
        return {"adapter": {"name": name, "sha1": None}}
    return {"adapter": {"name": name, "sha1": hashlib.sha1(source.encode("utf-8", "surrogatepass")).hexdigest()}}


def mapped(folder: str, dataset: str) -> list[str]:
    """The manifests of the splits of a dataset that are mapped in a folder of tasks."""
    paths = (manifest_path(folder, dataset, split) for split in sorted(SPLITS))
    return [path for path in paths if exists(path)]


def _borrowed(lender: str, folder: str) -> tuple[Tables, SourceEntry | None]:
    """The tables of a dataset in a folder of tasks, and the knowledge source that they were mapped onto."""
    paths = mapped(folder, lender)
    if not paths:
        raise InputError(
            f"{folder}: no tables of {lender} in it; map them first: kiltetl tasks --dataset {lender} --output {folder}"
        )
    manifests = [read_task_manifest(path) for path in paths]
    onto = [one["knowledge_source"] for one in manifests]
    sources = {str(one and one["fingerprint"]): one for one in onto}
    if len(sources) > 1:
        names = " and ".join(map(basename, paths))
        raise InputError(f"{folder}: {names} were mapped onto different knowledge sources; map them anew")
    tables = Tables(
        tuple(join(folder, lender, file["name"]) for one in manifests for file in one["files"]),
        tuple(join(folder, "rejects", lender, file["name"]) for one in manifests for file in one["reject_files"]),
    )
    missing = next((path for path in (*tables.tasks, *tables.rejects) if not exists(path)), None)
    if missing is not None:
        raise InputError(f"{missing}: not there, though a manifest names it; map {lender} anew")
    return tables, next(iter(sources.values()))


def _configured(dataset: Dataset, files: dict[str, str], options: dict[str, str]) -> Dataset:
    """The dataset with its option files and options."""
    takes = dataset.options
    for flag, what, given, known in (
        ("--file", "option file", files, {} if takes is None else takes.files),
        ("--option", "option", options, {} if takes is None else takes.values),
    ):
        for name in given:
            if name not in known:
                names = ", ".join(known) or "none"
                raise InputError(f"{flag} {name}: {dataset.name} takes no such {what}; it takes {names}")
    if not (files or options) or takes is None:
        return dataset
    lines = {name: list(read_lines(path)) for name, path in files.items()}
    try:
        return takes.configure(lines | {name: [value] for name, value in options.items()})
    except ValueError as error:
        raise InputError(f"{', '.join([*files.values(), *map('--option '.__add__, options)])}: {error}") from None


def execute(settings: Settings, console: Console) -> dict[str, Any] | None:
    """Map the dataset; its manifest, None after a dry run."""
    use_beam_options(settings.beam)
    job = plan(settings)
    read = sum(info.size for info in (*job.sources, *job.sources, *job.evidence))
    if settings.dry_run:
        console.say(_describe(job, settings))
        return None
    with job.staging.writing():
        return _map(job, settings, read, console)


def _map(job: TaskJob, settings: Settings, read: int, console: Console) -> dict[str, Any] | None:
    if settings.overwrite:
        job.staging.clear()
    done = None if settings.overwrite else already_mapped(job)
    if done is not None:
        job.staging.clear()  # of a run that ended between its last two steps
        console.say(f"{job.stage}: already mapped, from these files onto this knowledge source; nothing to do")
        return done
    path = manifest_path(job.output, job.dataset.name, job.split)
    if job.knowledge_source is not None:
        source = job.knowledge_source
        read += source.size
    draw = partial(build, job=job)
    files = [info.path for info in (*job.sources, *job.evidence)]
    reads = files + ([] if job.knowledge_source is None else [job.knowledge_source.folder])
    locally = partial(run_locally, job, settings.workers, settings.beam, console)
    if not launch(draw, job.staging, settings.beam, console, job.stage, read, [path], reads=reads, locally=locally):
        return None
    manifest: dict[str, Any] = read_json(path)
    counters, sets = manifest["counters"], manifest["sets"]
    if not counters["written"] or (sets and not sets.get("mapped")):
        why = (
            Counter(manifest["skipped"])
            + Counter(manifest["skipped_merging"])
            + Counter(manifest["rejected"])
            + Counter(sets if counters["written"] else {})
        )
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in why.most_common())
        console.warn(f"{job.stage}: not one example could be mapped ({reasons or 'none was read'})")
    return manifest


def _describe(job: TaskJob, settings: Settings) -> str:
    lines = ["would read:", *(f"  {info.path}  {size(info.size)}" for info in (*job.sources, *job.evidence))]
    if job.knowledge_source:
        lines.append(f"  {job.knowledge_source.folder}  ({job.knowledge_source.shards} shards)")
    lines += [
        "would write:",
        f"  {join(job.output, job.dataset.name, shard_name(job.split, 0, len(job.sources)))} …",
        f"  {join(job.output, 'rejects', job.dataset.name, shard_name(job.split, 0, len(job.sources)))} …",
        f"  {manifest_path(job.output, job.dataset.name, job.split)}",
        f"would need: {settings.workers} process(es)",
    ]
    return "\n".join(lines)


def _takes() -> list[tuple[str, Options]]:
    """What can be set of the built-in datasets, by their names."""
    return [(name, dataset.options) for name, dataset in DATASETS.items() if dataset.options is not None]


ARGUMENTS = (
    Argument(
        "--dataset",
        f"{', '.join(sorted(DATASETS))}, or package.module:DATASET of your own",
        metavar="NAME",
        required=True,
    ),
    Argument("--split", "train, dev (= validation) or test", metavar="SPLIT", required=True),
    Argument("--source", "the dataset's original files", "paths", "PATH"),
    Argument("--from-kilt", "instead: its released KILT files (JSON Lines)", "paths", "PATH"),
    Argument("--evidence", "its own evidence files, if it has some", "paths", "PATH"),
    Argument(
        "--file",
        "an option file of the dataset: "
        + "; ".join(f"{name}: {', '.join(takes.files)}" for name, takes in _takes() if takes.files),
        "named paths",
        "NAME=PATH",
        key="files",
    ),
    Argument(
        "--option",
        "a number in the rules of the dataset: "
        + "; ".join(
            f"{name}: {', '.join(f'{value}, {text}' for value, text in takes.values.items())}"
            for name, takes in _takes()
            if takes.values
        ),
        "named numbers",
        "NAME=VALUE",
        key="options",
    ),
    Argument("--knowledge-source", "what kiltetl knowledge-source wrote", "path", "DIR"),
    Argument(
        "--mkqa-provenance",
        "a folder of tasks, of which the rows get the provenance of the same id: "
        + "; ".join(f"{d.name}: of {d.ids_of}" for d in DATASETS.values() if d.ids_of),
        "path",
        "DIR",
    ),
    Argument("--output", "folder for the tables", "path", "DIR", required=True),
    Argument("--workers", "processes on this machine (1)", "number", "N", positive, default=1),
    Argument("--keep-weak", "train: keep spans below the threshold (default: answer without provenance)", "flag"),
    Argument(
        "--bleu",
        "sacrebleu's sentence BLEU of span against evidence, or what the released bleu_score is (sacrebleu)",
        choices=("sacrebleu", "released"),
        default="sacrebleu",
    ),
    Argument(
        "--max-span-paragraphs",
        "consecutive rows of a page that one span may run over (1, as KILT)",
        "number",
        "N",
        positive,
        default=1,
    ),
    Argument("--max-reject-share", "share of malformed rows allowed (0.001)", "number", "SHARE", share, default=0.001),
    Argument(
        "--max-record-mb",
        "size of the largest row in MB; a larger one is malformed (64)",
        "number",
        "MB",
        positive,
        default=64,
    ),
    Argument("--overwrite", "map again even if nothing has changed", "flag"),
)


def parse_arguments(arguments: Sequence[str]) -> tuple[Settings, Console]:
    values, console = parsed(Parser(__doc__ or "", _EPILOG, "kiltetl tasks"), ARGUMENTS, arguments)
    return Settings(**values), console


def _command(arguments: Sequence[str]) -> None:
    settings, console = parse_arguments(arguments)
    manifest = execute(settings, console)
    if manifest is not None:
        console.say(table(terminal_rows(summarize(None, [manifest]))))
        if "borrowed" in manifest:
            counts = ", ".join(f"{k} {n:,}" for k, n in manifest["borrowed"].items())
            console.say(f"\nprovenance of {find_dataset(settings.dataset).ids_of}: {counts}")
        for remark, count in manifest.get("remarks", {}).items():
            console.say(f"\n{remark}: {count:,}")
        console.say(f"\nshards in {join(settings.output, manifest['dataset'])}")


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(_command, arguments)


if __name__ == "__main__":
    sys.exit(main())
