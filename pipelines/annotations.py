"""annotations: passages for people to judge, and their judgements as provenance."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kiltetl.pipelines.arguments import Parser, add_common_arguments, positive, share, split_beam_options
from kiltetl.pipelines.console import Console, run_command, size, table
from kiltetl.pipelines.launch import launch, use_beam_options
from kiltetl.schemas.errors import InputError
from kiltetl.schemas.manifests import versions
from kiltetl.schemas.reasons import (
    CHOSEN,
    LOW_OVERLAP,
    NO_PLACE,
    PASSAGE_NOT_FOUND,
    SHARES_A_PARAGRAPH,
    UNKNOWN_QUESTION,
)
from kiltetl.schemas.splits import TEST, VALIDATION, split_called
from kiltetl.transforms.annotation.judgements import ANNOTATIONS, LOW_ROUGE
from kiltetl.transforms.annotation.passages import CONTROLS, MIN_OVERLAP, PASSAGES
from kiltetl.transforms.datasets import DATASETS, find_dataset
from kiltetl.transforms.datasets.spec import Dataset
from kiltetl.transforms.files.checksums import recorded
from kiltetl.transforms.files.paths import (
    FileInfo,
    check_filesystem,
    expand,
    is_same,
    join,
)
from kiltetl.transforms.files.streams import read_json
from kiltetl.transforms.jobs.annotation_candidates import DEPTH, CandidateJob, read_questions
from kiltetl.transforms.jobs.annotation_judgements import REPORT, ApplyJob, check_judgements, read_judgements, titled
from kiltetl.transforms.jobs.reader import KnowledgeSource, TaskTable, manifest_path, open_knowledge_source, open_table
from kiltetl.transforms.jobs.staging import Staging, digest_of

if TYPE_CHECKING:
    import apache_beam as beam

_ANNOTATED = tuple(name for name, dataset in DATASETS.items() if dataset.annotated)

_USAGE = f"""\
usage: kiltetl annotations candidates --tasks DIR --knowledge-source DIR --dataset NAME --split SPLIT
                                      --passages FILE … --output DIR [options] [-- BEAM OPTIONS]
       kiltetl annotations [apply] --tasks DIR --judgements FILE … [--output DIR] [options] [-- BEAM OPTIONS]

annotations: passages for people to judge, and their judgements as provenance ({" and ".join(_ANNOTATED)}).

  candidates  the passages to judge, out of those that retrieval systems found
  apply       judgements put into the tables: provenance, partial evidence, agreement (the default)

kiltetl annotations candidates --help and kiltetl annotations apply --help say more.
"""

_CANDIDATES = """\
A passage is a line {"id": question, "wikipedia_id": "12", "start_paragraph_id": 3, "end_paragraph_id": 3,
"rank": 1}; end and rank may be left out. Several files are merged by rank. What is written has the
question and the passage's title, section and text; the dataset's own passages are among them, unmarked.

example:
  kiltetl annotations candidates --tasks tasks --knowledge-source ks --dataset nq --split dev \\
      --passages tfidf.jsonl dpr.jsonl --output campaign
"""

_APPLY = """\
A judgement is a line {"id": question, "wikipedia_id": "12", "start_paragraph_id": 3, "end_paragraph_id": 3,
"annotator": "a1", "enough_evidence": "yes", "evidence_span": "the part that shows it"}. Titles, sections
and texts come from the knowledge source, or from the same record if it keeps those of candidates.

examples:
  kiltetl annotations --tasks tasks --judgements round1.jsonl round2.jsonl --knowledge-source ks
  kiltetl annotations apply --tasks tasks --judgements nq.jsonl --dataset nq --split dev --output annotated
"""


@dataclass(frozen=True)
class CandidateSettings:
    """What the command line says; see kiltetl annotations candidates --help."""

    tasks: str
    knowledge_source: str
    dataset: str
    split: str
    passages: tuple[str, ...]
    output: str
    places: int = PASSAGES
    controls: int = CONTROLS
    min_overlap: float = MIN_OVERLAP
    workers: int = 1
    dry_run: bool = False
    beam: tuple[str, ...] = ()


@dataclass(frozen=True)
class ApplySettings:
    """What the command line says; see kiltetl annotations apply --help."""

    tasks: str
    judgements: tuple[str, ...]
    output: str | None = None
    knowledge_source: str | None = None
    dataset: str | None = None
    split: str | None = None
    min_control: float = 0.0
    max_reject_share: float = 0.001
    workers: int = 1
    dry_run: bool = False
    beam: tuple[str, ...] = ()


def build_candidates(root: "beam.Pipeline", job: CandidateJob) -> None:
    """Draw the whole graph, for any Beam runner."""
    import apache_beam as beam

    from kiltetl.transforms.beam.annotation import ChoosePassages, FetchPassages, MeasurePassages, WriteCandidates

    parts = root | "Shards" >> beam.Create(range(job.source.shards), reshuffle=True)
    choice = parts | MeasurePassages(job) | ChoosePassages(job)
    wanted = choice | "Wanted" >> beam.Map(lambda choice: choice.wanted)
    _ = parts | FetchPassages(job.source, wanted) | WriteCandidates(job, choice)


def build_apply(root: "beam.Pipeline", job: ApplyJob) -> None:
    """Draw the whole graph, for any Beam runner."""
    import apache_beam as beam

    from kiltetl.transforms.beam.annotation import ApplyJudgements, FetchPassages

    if job.source is None:
        texts = root | "NoTexts" >> beam.Create([])
    else:
        parts = root | "Shards" >> beam.Create(range(job.source.shards), reshuffle=True)
        texts = parts | FetchPassages(job.source, root | "Wanted" >> beam.Create([job.wanted]))
    _ = texts | ApplyJudgements(job)


# --------------------------------------------------------------------------------------------
# candidates


def plan_candidates(settings: CandidateSettings) -> CandidateJob:
    """Look at the input; InputError for what the user can mend."""
    (found,) = _tables(settings.tasks, _datasets(settings.dataset), settings.split)
    source = open_knowledge_source(settings.knowledge_source)
    about = source.about
    found.check_source(source)
    if settings.controls > settings.places:
        raise InputError(f"--controls {settings.controls}: more than the {settings.places} passages of a question")
    check_filesystem(settings.output, write=True)
    passages = tuple(expand(settings.passages))
    facts = {
        "kind": "annotation-candidates",
        "dataset": found.dataset,
        "split": found.split,
        "inputs": recorded(passages),
        "knowledge_source": about,
        "versions": versions("apache-beam", "pyarrow"),
        "parameters": {
            "places": settings.places,
            "controls": settings.controls,
            "min_overlap": settings.min_overlap,
        },
    }
    job = CandidateJob(
        table=found,
        passages=passages,
        source=source,
        staging=Staging(settings.output, f"candidates-{found.name}", digest_of(facts)),
        places=settings.places,
        controls=settings.controls,
        min_overlap=settings.min_overlap,
        facts=facts,
    )
    for info in passages:
        if is_same(info.path, join(settings.output, job.passages_name)):
            raise InputError(f"--output {settings.output}: {info.path} would be replaced; give another folder")
    _, counts = read_questions(job)
    if counts["retrieved"] and counts["retrieved"] == counts[UNKNOWN_QUESTION]:
        raise InputError(
            f"{' '.join(settings.passages)}: not one passage is of a question of {found.name} in {settings.tasks}; "
            "compare the ids"
        )
    return job


def execute_candidates(settings: CandidateSettings, console: Console) -> dict[str, Any] | None:
    """Write the passages to judge; the manifest, None after a dry run."""
    use_beam_options(settings.beam)
    job = plan_candidates(settings)
    passages, path = (join(settings.output, name) for name in (job.passages_name, job.manifest_name))
    if settings.dry_run:
        read = [*job.table.shards, *job.passages]
        console.say(_describe(read, job.source, [passages, path], settings.workers))
        return None
    with job.staging.writing():
        draw, reads = partial(build_candidates, job=job), 2 * job.source.size
        if not launch(
            draw, job.staging, settings.beam, console, "passages", reads, [path], settings.workers, _read(job)
        ):
            return None
        manifest: dict[str, Any] = read_json(path)
    if not manifest["counters"].get("written"):
        console.warn(f"{job.table.name}: there is no passage to judge")
    return manifest


def _read(job: CandidateJob | ApplyJob) -> list[str]:
    """What the workers read."""
    tables = (job.table,) if isinstance(job, CandidateJob) else job.tables
    own = job.passages if isinstance(job, CandidateJob) else job.judgements
    source = [] if job.source is None else [job.source.folder]
    return [*source, *(shard.path for table in tables for shard in table.shards), *(info.path for info in own)]


def _say_candidates(settings: CandidateSettings, console: Console) -> None:
    manifest = execute_candidates(settings, console)
    if manifest is None:
        return
    counters = manifest["counters"]
    rows = [["passages to judge", "count"]]
    for name, label in (
        ("questions", "questions"),
        ("questions_with_passages", "questions with passages"),
        ("retrieved", "passages retrieved"),
        (UNKNOWN_QUESTION, "  of no question of the table"),
        (PASSAGE_NOT_FOUND, "  not in the knowledge source"),
        ("repeated", "  named twice"),
        ("too-deep", f"  of a rank beyond {DEPTH}"),
        (LOW_OVERLAP, "  with too little of an answer"),
        (SHARES_A_PARAGRAPH, "  that share a paragraph with another"),
        (NO_PLACE, "  for which no place was left"),
        (CHOSEN, "  chosen"),
        ("gold", "passages of the dataset's own"),
        ("written", "passages written"),
    ):
        rows.append([label, f"{counters.get(name, 0):,}"])
    console.say(table(rows))
    name = f"passages-{manifest['dataset']}-{manifest['split']}.jsonl"
    console.say(f"\n{join(settings.output, name)}")


# --------------------------------------------------------------------------------------------
# apply


def plan_apply(settings: ApplySettings) -> ApplyJob:
    """Look at the input; InputError for what the user can mend."""
    datasets = _datasets(settings.dataset)
    tables = _tables(settings.tasks, datasets, settings.split)
    files = tuple(expand(settings.judgements))
    check_judgements(files)
    output = settings.output or join(settings.tasks, "annotated")
    if is_same(output, settings.tasks):
        raise InputError(f"--output {output}: the tables that are read stand there; give another folder")
    check_filesystem(output, write=True)
    judgements = read_judgements(files)
    ids = {task.id for one in tables for task in one.tasks()}
    if not any(one.question in ids for one in judgements.found):
        names = " or ".join(one.name for one in tables)
        raise InputError(
            f"{' '.join(settings.judgements)}: not one judgement is of a question of {names} in {settings.tasks}; "
            "compare the ids"
        )
    source, about = None, None
    if settings.knowledge_source is not None:
        source = open_knowledge_source(settings.knowledge_source)
        about = source.about
        for one in tables:
            one.check_source(source)
    facts = {
        "inputs": recorded(files),
        "versions": versions("apache-beam", "pyarrow"),
        "parameters": {
            "min_control": settings.min_control,
            "max_reject_share": settings.max_reject_share,
            "annotations": ANNOTATIONS,
            "low_rouge_l": LOW_ROUGE,
        },
    }
    job = ApplyJob(
        tables=tables,
        datasets={one.name: one for one in datasets},
        judgements=files,
        source=source,
        staging=Staging(output, "annotations", digest_of([facts, about, [one.manifest for one in tables]])),
        min_control=settings.min_control,
        max_reject_share=settings.max_reject_share,
        facts=facts,
        wanted=frozenset(one.passage for one in judgements.found) if source else frozenset(),
    )
    if source is None:
        judgements.keep("", (one.question in ids for one in judgements.found), UNKNOWN_QUESTION)
        titled(job, judgements)
    return job


def execute_apply(settings: ApplySettings, console: Console) -> dict[str, Any] | None:
    """Put the judgements into the tables; the report, None after a dry run."""
    use_beam_options(settings.beam)
    job = plan_apply(settings)
    path = join(job.staging.output, REPORT)
    manifests = [manifest_path(job.staging.output, one.dataset, one.split) for one in job.tables]
    if settings.dry_run:
        read = [shard for one in job.tables for shard in one.shards] + list(job.judgements)
        console.say(_describe(read, job.source, [*manifests, path], settings.workers))
        return None
    with job.staging.writing():
        draw, reads = partial(build_apply, job=job), job.source.size if job.source else 1
        if not launch(
            draw, job.staging, settings.beam, console, "judgements", reads, [path], settings.workers, _read(job)
        ):
            return None
        found: dict[str, Any] = read_json(path)
    for one in job.tables:
        if one.name not in found["tables"]:
            console.warn(f"{one.name}: none of its questions was judged; the table is left out")
    for name, campaign in found["tables"].items():
        if not campaign["provenance"]:
            console.warn(f"{name}: no passage has enough evidence")
    return found


def _say_apply(settings: ApplySettings, console: Console) -> None:
    report = execute_apply(settings, console)
    if report is None:
        return
    judgements = report["judgements"]
    rows = [["table", "questions", "judged", "left out", "passages", "provenance", "partial", "kappa", "flagged"]]
    for name, found in report["tables"].items():
        numbers = [found[key] for key in ("questions", "judged")] + [sum(found["left_out"].values())]
        numbers += [found[key] for key in ("passages", "provenance", "partial_evidence")]
        kappa = found["agreement"]["kappa"]
        shown = "-" if kappa is None else f"{kappa:.3f}"
        rows.append([name, *(f"{number:,}" for number in numbers), shown, f"{found['flagged']:,}"])
    console.say(table(rows))
    quality = report["control"]
    accepted = "-" if quality["accepted_share"] is None else f"{quality['accepted_share']:.1%}"
    console.say(
        f"\n{judgements['used']:,} of {judgements['read']:,} judgements by {report['annotators']:,} annotators; "
        f"{quality['passages']:,} control passages, {accepted} accepted; {report['rejects']:,} rejects"
    )
    console.say(f"shards in {settings.output or join(settings.tasks, 'annotated')}")


# --------------------------------------------------------------------------------------------
# both


def _datasets(name: str | None) -> tuple[Dataset, ...]:
    """The dataset that is asked for, else all that are annotated."""
    asked = DATASETS.values() if name is None else (find_dataset(name),)
    found = tuple(one for one in asked if one.annotated)
    if not found:
        raise InputError(f"--dataset {name}: the campaign is of {' and '.join(_ANNOTATED)}")
    return found


def _tables(folder: str, datasets: Sequence[Dataset], split: str | None) -> tuple[TaskTable, ...]:
    wanted = None if split is None else split_called(split)
    if split is not None and wanted not in (VALIDATION, TEST):
        raise InputError(f"--split {split}: the campaign is of dev (= validation) and test")
    splits = (VALIDATION, TEST) if wanted is None else (wanted,)
    check_filesystem(folder)
    found = [open_table(folder, one.name, other) for one in datasets for other in splits]
    tables = tuple(one for one in found if one is not None)
    if not tables:
        names = " or ".join(f"{one.name}/{other}" for one in datasets for other in splits)
        raise InputError(
            f"{folder}: no finished table {names} in it; map it first with kiltetl tasks --output {folder}"
        )
    return tables


def _describe(files: Sequence[FileInfo], source: KnowledgeSource | None, writes: Sequence[str], workers: int) -> str:
    lines = ["would read:", *(f"  {info.path}  {size(info.size)}" for info in files)]
    if source is not None:
        lines.append(f"  {source.folder}  ({source.shards} shards)")
    return "\n".join([*lines, "would write:", *(f"  {path}" for path in writes), f"would need: {workers} process(es)"])


def _parser(action: str, epilog: str) -> Parser:
    parser = Parser(__doc__ or "", epilog, f"kiltetl annotations {action}")
    parser.add_argument("--tasks", required=True, metavar="DIR", help="what kiltetl tasks wrote")
    add_common_arguments(parser)
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="processes on this machine (1)")
    return parser


def parse_candidates(arguments: Sequence[str]) -> tuple[CandidateSettings, Console]:
    own, beam_arguments = split_beam_options(arguments)
    parser = _parser("candidates", _CANDIDATES)
    parser.add_argument("--knowledge-source", required=True, metavar="DIR", help="what it was mapped onto")
    parser.add_argument("--dataset", required=True, metavar="NAME", help=" or ".join(_ANNOTATED))
    parser.add_argument("--split", required=True, metavar="SPLIT", help="dev (= validation) or test")
    parser.add_argument("--passages", nargs="+", required=True, metavar="FILE", help="retrieved passages (JSON Lines)")
    parser.add_argument("--output", required=True, metavar="DIR", help="folder for the passages to judge")
    parser.add_argument(
        "--places", type=positive, default=PASSAGES, metavar="N", help=f"passages a question ({PASSAGES})"
    )
    parser.add_argument(
        "--controls",
        type=_count,
        default=CONTROLS,
        metavar="N",
        help=f"of these, how many are the dataset's own while others are left ({CONTROLS})",
    )
    parser.add_argument(
        "--min-overlap",
        type=share,
        default=MIN_OVERLAP,
        metavar="SHARE",
        help=f"share of an answer's words that a retrieved passage has ({MIN_OVERLAP})",
    )
    found = parser.parse_args(own)
    settings = CandidateSettings(
        tasks=found.tasks,
        knowledge_source=found.knowledge_source,
        dataset=found.dataset,
        split=found.split,
        passages=tuple(found.passages),
        output=found.output,
        places=found.places,
        controls=found.controls,
        min_overlap=found.min_overlap,
        workers=found.workers,
        dry_run=found.dry_run,
        beam=beam_arguments,
    )
    return settings, Console(found.quiet, not found.no_color)


def _count(text: str) -> int:
    return 0 if text == "0" else positive(text)


def parse_apply(arguments: Sequence[str]) -> tuple[ApplySettings, Console]:
    own, beam_arguments = split_beam_options(arguments)
    parser = _parser("apply", _APPLY)
    parser.add_argument("--judgements", nargs="+", required=True, metavar="FILE", help="judgements (JSON Lines)")
    parser.add_argument("--output", metavar="DIR", help="folder for the tables (annotated, in that of the tasks)")
    parser.add_argument("--knowledge-source", metavar="DIR", help="where titles, sections and texts are looked up")
    parser.add_argument("--dataset", metavar="NAME", help=f"only this one: {' or '.join(_ANNOTATED)} (both)")
    parser.add_argument("--split", metavar="SPLIT", help="only this one: dev or test (both)")
    parser.add_argument(
        "--min-control",
        type=share,
        default=0.0,
        metavar="SHARE",
        help="leave annotators out who accepted a smaller share of the control passages they judged (0)",
    )
    parser.add_argument(
        "--max-reject-share",
        type=share,
        default=0.001,
        metavar="SHARE",
        help="share of malformed or contradictory judgements allowed (0.001)",
    )
    found = parser.parse_args(own)
    settings = ApplySettings(
        tasks=found.tasks,
        judgements=tuple(found.judgements),
        output=found.output,
        knowledge_source=found.knowledge_source,
        dataset=found.dataset,
        split=found.split,
        min_control=found.min_control,
        max_reject_share=found.max_reject_share,
        workers=found.workers,
        dry_run=found.dry_run,
        beam=beam_arguments,
    )
    return settings, Console(found.quiet, not found.no_color)


def _command(arguments: Sequence[str]) -> int:
    given = list(arguments)
    if not given or given[0] in ("-h", "--help"):
        print(_USAGE, end="")
        return 0 if given else 2
    if given[0] == "candidates":
        _say_candidates(*parse_candidates(given[1:]))
    elif given[0] == "apply" or given[0].startswith("-"):
        _say_apply(*parse_apply(given[given[0] == "apply" :]))
    else:
        raise InputError(f"{given[0]}: no action of annotations; give candidates or apply")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(_command, arguments)


if __name__ == "__main__":
    sys.exit(main())
