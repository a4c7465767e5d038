"""evaluate: predictions scored with the official figures of KILT or MKQA."""

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kiltetl.pipelines.arguments import Parser, add_common_arguments, positive, split_beam_options
from kiltetl.pipelines.console import Console, run_command, size, table
from kiltetl.pipelines.launch import check_beam_options, launch
from kiltetl.schemas.errors import EvaluationError, InputError
from kiltetl.transforms.files.paths import (
    FileInfo,
    basename,
    check_filesystem,
    delete_file,
    delete_folder,
    expand,
    folder_of,
    is_local,
    join,
    list_folder,
)
from kiltetl.transforms.files.progress import watched
from kiltetl.transforms.files.streams import read_json
from kiltetl.transforms.jobs.evaluation import METRICS, PAGE, PER_EXAMPLE, EvaluationJob, Source, evaluate_here, publish
from kiltetl.transforms.metrics import kilt, mkqa
from kiltetl.transforms.metrics.bootstrap import SEED
from kiltetl.transforms.reports.scores_table import (
    kilt_leaderboard,
    kilt_rows,
    kilt_sureness,
    mkqa_rows,
    mkqa_sureness,
    warnings,
)

if TYPE_CHECKING:
    import apache_beam as beam

_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.bz2", ".jsonl.xz", ".json", ".parquet")
_NOT_RECORDS = ("rejects", "manifests", "staging")
_SPLITS = {"dev": "dev", "validation": "dev", "valid": "dev", "test": "test", "train": "train"}
_SPLIT_ORDER = ("dev", "test", "train")
_SAMPLES = 1000

_USAGE = """\
usage: kiltetl evaluate kilt|mkqa --gold PATH --predictions PATH [options] [-- BEAM OPTIONS]

evaluate: predictions scored with the official figures of KILT or MKQA.

  kilt  accuracy, EM, F1, ROUGE-L, R-precision, recall@k, … and KILT scores; the leaderboard for a folder
  mkqa  EM and F1 at the best threshold for No Answer, by language

kiltetl evaluate kilt --help and kiltetl evaluate mkqa --help say more.
"""

_KILT = """\
PATH is a file (JSON Lines, plain or compressed, or Parquet), a pattern in quotes or a folder. The
files of a folder are told apart by KILT's names in their own or their folder's (nq-dev-kilt.jsonl,
nq/validation-00000-of-00001.parquet); of several splits the dev one is taken.
A prediction is {"id": …, "output": [{"answer": …, "provenance": [{"wikipedia_id": …}, …]}]}: one
output, its pages best first.

examples:
  kiltetl evaluate kilt --gold nq-dev-kilt.jsonl --predictions predictions.jsonl --output scores
  kiltetl evaluate kilt --gold tasks --predictions predictions --bootstrap 1000 --compare baseline
  kiltetl evaluate kilt --gold trex-dev-kilt.jsonl --predictions 'shards/*.jsonl' --output scores \\
      -- --direct_num_workers=4 --direct_running_mode=multi_processing
"""

_MKQA = """\
PATH is a file or, for predictions, a folder with a file a language: en.jsonl, zh_cn.jsonl, …
A prediction is {"example_id": …, "prediction": …, "binary_answer": "yes" | "no" | null,
"no_answer_prob": …}; an empty prediction is No Answer.

examples:
  kiltetl evaluate mkqa --gold mkqa.jsonl.gz --predictions predictions --output scores
  kiltetl evaluate mkqa --gold mkqa.jsonl.gz --predictions en.jsonl --language en --bootstrap 1000
"""


@dataclass(frozen=True)
class Settings:
    """What the command line says; see --help. ``beam`` is None without a bare ``--``."""

    benchmark: str
    gold: str
    predictions: str
    dataset: str | None = None
    language: str | None = None
    ks: tuple[int, ...] = kilt.KS
    rank_keys: tuple[str, ...] = kilt.RANK_KEYS
    output: str | None = None
    strict: bool = False
    verbose: bool = False
    bootstrap: int = 0
    seed: int = SEED
    compare: str | None = None
    dry_run: bool = False
    beam: tuple[str, ...] | None = None


def build(root: "beam.Pipeline", job: EvaluationJob) -> None:
    """Draw the whole graph, for any Beam runner."""
    import apache_beam as beam

    from kiltetl.transforms.beam.evaluation import PublishScores, ScoreRecords

    sources = [*job.gold, *(source for system in job.systems for source in system)]
    _ = root | "Sources" >> beam.Create(sources) | beam.Reshuffle() | ScoreRecords(job) | PublishScores(job)


# --------------------------------------------------------------------------------------------
# Which file holds what


def find(path: str) -> list[FileInfo]:
    """The files of records that a path, pattern or folder names; a folder's own and those of its folders."""
    if not _is_folder(path):
        return expand([path])
    found: list[FileInfo] = []
    for pattern in (join(path, "*"), join(path, "*", "*")):
        try:
            matched = expand([pattern])
        except InputError:
            continue  # nothing at this depth
        found += [
            info
            for info in matched
            if info.path.endswith(_SUFFIXES) and basename(folder_of(info.path)) not in _NOT_RECORDS
        ]
    # what an evaluation wrote is no input
    found = [info for info in found if basename(info.path) not in (METRICS, PER_EXAMPLE)]
    if not found:
        raise InputError(f"{path}: no file of records in this folder; they end in {', '.join(_SUFFIXES)}")
    return list({info.path: info for info in found}.values())


def _is_folder(path: str) -> bool:
    if is_local(path):
        return os.path.isdir(path)
    return not path.startswith("http") and not any(sign in path for sign in "*?[") and bool(list_folder(path))


def _stem(path: str) -> str:
    name = basename(path).lower()
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)


def dataset_of(path: str) -> str | None:
    """KILT's name in the name of a file or its folder; the longest of several."""
    for text in (_stem(path), basename(folder_of(path)).lower()):
        named = [name for name in kilt.LEADING_METRIC if re.search(rf"(?<![a-z0-9]){name}(?![a-z0-9])", text)]
        if named:
            return max(named, key=len)
    return None


def _split_of(path: str) -> str | None:
    for part in re.split(r"[^a-z]+", _stem(path)):
        if part in _SPLITS:
            return _SPLITS[part]
    return None


def language_in(path: str) -> str | None:
    """MKQA's code at the beginning or end of a file's name, however it is spelt."""
    parts = [part for part in re.split(r"[^a-z]+", _stem(path)) if part]
    for count in (2, 1):
        for piece in (parts[:count], parts[-count:]):
            if "_".join(piece) in mkqa.LANGUAGES:
                return "_".join(piece)
    return None


def _kilt_gold(settings: Settings, console: Console) -> dict[str, list[FileInfo]]:
    files = find(settings.gold)
    by_name: dict[str, list[FileInfo]] = {}
    if not _is_folder(settings.gold):
        name = settings.dataset or dataset_of(files[0].path) or _stem(files[0].path)
        return {name: files}
    for info in files:
        named = dataset_of(info.path)
        if named is not None and settings.dataset in (None, named):
            by_name.setdefault(named, []).append(info)
    if not by_name:
        if settings.dataset is not None and not any(dataset_of(info.path) for info in files):
            return {settings.dataset: files}
        known = ", ".join(kilt.LEADING_METRIC)
        raise InputError(f"{settings.gold}: no file is named after a dataset of KILT ({known}); see --dataset")
    for name, infos in by_name.items():
        splits = {_split_of(info.path) for info in infos}
        if len(splits) > 1:
            chosen = next((split for split in _SPLIT_ORDER if split in splits), None)
            by_name[name] = [info for info in infos if _split_of(info.path) == chosen]
            console.say(f"{name}: the {chosen} split is taken; name the files to take another")
    return {name: by_name[name] for name in kilt.LEADING_METRIC if name in by_name}


def _kilt_predictions(path: str, option: str, names: Sequence[str], console: Console) -> dict[str, list[FileInfo]]:
    files = find(path)
    named = {info.path: dataset_of(info.path) for info in files}
    if len(names) == 1:
        # one dataset: its own files among those of others, else all of them, as shards
        mine = [info for info in files if named[info.path] == names[0]]
        return {names[0]: mine or files}
    found: dict[str, list[FileInfo]] = {}
    for info in files:
        name = named[info.path]
        if name in names:
            found.setdefault(str(name), []).append(info)
        else:
            console.warn(f"{info.path}: left out, its name says none of {', '.join(names)}")
    if not found:
        raise InputError(f"{option} {path}: the gold folder has {', '.join(names)}; name the files of predictions so")
    return found


def _mkqa_predictions(path: str, option: str, language: str | None) -> dict[str, list[FileInfo]]:
    files = find(path)
    found: dict[str, list[FileInfo]] = {}
    if language is not None:
        mine = [info for info in files if language_in(info.path) == language] if _is_folder(path) else files
        if not mine:
            raise InputError(f"{option} {path}: no file is named after {language}, such as {language}.jsonl")
        return {language: mine}
    for info in files:
        code = language_in(info.path)
        if code is None and len(files) == 1 and not _is_folder(path):
            raise InputError(f"{info.path}: say its language with --language, one of {' '.join(mkqa.LANGUAGES)}")
        if code is None:
            code = mkqa.language_of(_stem(info.path))  # an error, with a hint at what is meant
        found.setdefault(code, []).append(info)
    return {code: found[code] for code in mkqa.LANGUAGES if code in found}


def _sources(found: dict[str, list[FileInfo]], system: int | None = None) -> tuple[Source, ...]:
    files = [(name, info) for name, infos in found.items() for info in infos]
    return tuple(Source(name, info, number, system) for number, (name, info) in enumerate(files))


def plan(settings: Settings, console: Console) -> EvaluationJob:
    """Look at the input; InputError for what the user can mend."""
    protocol = kilt.Protocol(settings.ks, settings.rank_keys, settings.strict)
    places = [("--predictions", settings.predictions)]
    places += [("--compare", settings.compare)] if settings.compare else []
    if settings.benchmark == "kilt":
        gold = _kilt_gold(settings, console)
        given = [_kilt_predictions(path, option, tuple(gold), console) for option, path in places]
        gold_sources = _sources({name: infos for name, infos in gold.items() if name in given[0]})
        for name in gold:
            if name not in given[0]:
                console.warn(f"{name}: no predictions, left out")
    else:
        language = mkqa.language_of(settings.language) if settings.language else None
        given = [_mkqa_predictions(path, option, language) for option, path in places]
        gold_sources = tuple(Source(None, info, number) for number, info in enumerate(find(settings.gold)))
    names = tuple(given[0])
    for found in given[1:]:
        absent = [name for name in names if name not in found]
        if absent:
            raise InputError(f"--compare {settings.compare}: no predictions for {', '.join(absent)}")
    if settings.output is not None:
        check_filesystem(settings.output)
    return EvaluationJob(
        benchmark=settings.benchmark,
        names=names,
        gold=gold_sources,
        systems=tuple(_sources({name: found[name] for name in names}, system) for system, found in enumerate(given)),
        protocol=protocol,
        output=settings.output,
        bootstrap=settings.bootstrap or (_SAMPLES if settings.compare else 0),
        seed=settings.seed,
        verbose=settings.verbose,
    )


# --------------------------------------------------------------------------------------------
# The command


def execute(settings: Settings, console: Console) -> dict[str, Any] | None:
    """Score the predictions; the content of metrics.json, None after a dry run."""
    check_beam_options(settings.beam or ())
    if settings.beam is not None and settings.output is None:
        raise InputError("a run on Beam needs a folder for its results: --output DIR")
    try:
        job = plan(settings, console)
    except EvaluationError as error:
        raise InputError(str(error)) from None
    if settings.dry_run:
        console.say(_describe(job))
        return None
    read = sum(source.info.size for source in _all_sources(job))
    if settings.beam is None:
        with console.progress(f"evaluate {job.benchmark}", read) as report, watched(report):
            systems = evaluate_here(job)
        return publish(job, systems)
    path = join(job.output or "", METRICS)
    delete_folder(job.staged(""))
    delete_file(path)
    if not launch(partial(build, job=job), settings.beam, console, f"evaluate {job.benchmark}", read, [path]):
        return None
    summary: dict[str, Any] = read_json(path)
    return summary


def _all_sources(job: EvaluationJob) -> Iterable[Source]:
    yield from job.gold
    for system in job.systems:
        yield from system


def _describe(job: EvaluationJob) -> str:
    lines = ["would read:"]
    lines += [f"  {source.info.path}  {size(source.info.size)}" for source in _all_sources(job)]
    if job.output is not None:
        lines += ["would write:", *(f"  {join(job.output, name)}" for name in (METRICS, PER_EXAMPLE, PAGE))]
    lines.append(f"would score: {', '.join(job.names)}")
    return "\n".join(lines)


def _say_kilt(summary: dict[str, Any], console: Console) -> None:
    datasets = summary["datasets"]
    if len(datasets) == 1:
        console.say(table(kilt_rows(next(iter(datasets.values())))))
        console.say()
    if len(datasets) > 1 or next(iter(datasets.values()))["leading_metric"]:
        console.say(table(kilt_leaderboard(summary)))
    sureness = kilt_sureness(summary) if len(datasets) > 1 else []
    if sureness:
        console.say()
        console.say(table(sureness))
    for name, of in datasets.items():
        for line in warnings(of["notes"], of["extra_ids"]):
            console.warn(f"{name}: {line}")


def _say_mkqa(summary: dict[str, Any], console: Console) -> None:
    console.say(table(mkqa_rows(summary)))
    sureness = mkqa_sureness(summary)
    if sureness:
        console.say()
        console.say(table(sureness))
    macro = summary["macro_average"]
    if macro["missing"]:
        missing = ", ".join(macro["missing"])
        console.warn(f"the macro average is over {macro['languages']} of {macro['of']} languages; missing: {missing}")
    for line in warnings(summary["notes"], summary["extra_ids"]):
        console.warn(line)


def parse_arguments(arguments: Sequence[str]) -> tuple[Settings, Console]:
    own, beam_arguments = split_beam_options(arguments)
    if not own or own[0] not in ("kilt", "mkqa"):
        raise InputError("say what to evaluate: kiltetl evaluate kilt or kiltetl evaluate mkqa; see --help")
    benchmark = own[0]
    is_kilt = benchmark == "kilt"
    parser = Parser(__doc__ or "", _KILT if is_kilt else _MKQA, f"kiltetl evaluate {benchmark}")
    parser.add_argument("--gold", required=True, metavar="PATH", help="gold records")
    parser.add_argument("--predictions", required=True, metavar="PATH", help="predictions of the same ids")
    parser.add_argument("--compare", metavar="PATH", help="predictions of another system, for a paired bootstrap")
    if is_kilt:
        parser.add_argument("--dataset", metavar="NAME", help=", ".join(kilt.LEADING_METRIC))
        parser.add_argument(
            "--ks", type=_ks, default=kilt.KS, metavar="K,…", help="numbers of pages for the figures …@k (1,5,10,20)"
        )
        parser.add_argument(
            "--rank-keys",
            type=_keys,
            default=kilt.RANK_KEYS,
            metavar="KEY,…",
            help="what is retrieved (wikipedia_id); wikipedia_id,section; "
            "wikipedia_id,start_paragraph_id,end_paragraph_id",
        )
    else:
        parser.add_argument("--language", metavar="CODE", help=" ".join(mkqa.LANGUAGES))
        parser.add_argument("--verbose", action="store_true", help="the figures without a threshold too")
    parser.add_argument("--output", metavar="DIR", help=f"folder for {METRICS}, {PER_EXAMPLE}, {PAGE} and pictures")
    parser.add_argument("--strict", action="store_true", help="sensible figures where the official ones are odd")
    parser.add_argument(
        "--bootstrap",
        type=positive,
        default=0,
        metavar="N",
        help=f"95 %% intervals from N samples; {_SAMPLES} is usual",
    )
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"seed of the samples ({SEED})")
    add_common_arguments(parser)
    found = parser.parse_args(own[1:])
    settings = Settings(
        benchmark=benchmark,
        gold=found.gold,
        predictions=found.predictions,
        dataset=found.dataset if is_kilt else None,
        language=None if is_kilt else found.language,
        ks=found.ks if is_kilt else kilt.KS,
        rank_keys=found.rank_keys if is_kilt else kilt.RANK_KEYS,
        output=found.output,
        strict=found.strict,
        verbose=False if is_kilt else found.verbose,
        bootstrap=found.bootstrap,
        seed=found.seed,
        compare=found.compare,
        dry_run=found.dry_run,
        beam=beam_arguments if "--" in list(arguments) else None,
    )
    return settings, Console(found.quiet, not found.no_color)


def _ks(text: str) -> tuple[int, ...]:
    return tuple(positive(part) for part in text.split(","))


def _keys(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in re.split(r"[,+]", text) if part.strip())


def _command(arguments: Sequence[str]) -> None:
    if list(arguments[:1]) in (["-h"], ["--help"]):
        print(_USAGE, end="")
        return
    settings, console = parse_arguments(arguments)
    summary = execute(settings, console)
    if summary is None:
        return
    (_say_kilt if settings.benchmark == "kilt" else _say_mkqa)(summary, console)
    if settings.strict:
        console.say("\nstrict mode: not to be set beside published figures")
    console.say(f"\n{summary['signature']}")
    if settings.output is not None:
        console.say("\n".join(join(settings.output, name) for name in (METRICS, PER_EXAMPLE, PAGE)))
        if "pictures" in summary:
            console.say(f"pictures: {summary['pictures']}")


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(_command, arguments)


if __name__ == "__main__":
    sys.exit(main())
