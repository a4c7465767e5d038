"""knowledge-source: a Wikipedia dump to tables of paragraphs, pages, titles and rejects."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from kiltetl.pipelines.arguments import Argument, Parser, date, positive, share
from kiltetl.pipelines.console import Console, parsed, run_command, size, table
from kiltetl.pipelines.launch import launch, use_beam_options
from kiltetl.schemas.errors import InputError
from kiltetl.schemas.manifests import INDEX, MANIFEST, TABLES, versions
from kiltetl.schemas.reasons import (
    DUPLICATE_PAGE,
    LOSSES,
    MALFORMED_PAGE,
    NOT_WIKITEXT,
    OTHER_NAMESPACE,
    PAGE_FAILED,
    RECORD_TOO_LARGE,
    REDIRECT,
)
from kiltetl.transforms.files.checksums import digests, sample_digest
from kiltetl.transforms.files.paths import (
    basename,
    changed_at,
    check_filesystem,
    exists,
    expand,
    join,
)
from kiltetl.transforms.files.progress import watched
from kiltetl.transforms.files.shards import shard_name
from kiltetl.transforms.files.streams import read_json
from kiltetl.transforms.jobs.dump_parts import plan_parts
from kiltetl.transforms.jobs.knowledge_source import KnowledgeSourceJob, is_whole, shards_in
from kiltetl.transforms.jobs.staging import Staging, digest_of
from kiltetl.transforms.wikitext import Options
from kiltetl.transforms.wikitext.templates import compiled

if TYPE_CHECKING:
    import apache_beam as beam

_EPILOG = """\
examples:
  kiltetl knowledge-source --dump enwiki-20190801-pages-articles-multistream.xml.bz2 --output ks --workers 8
  kiltetl knowledge-source --dump 'xml/bzip2/enwiki-2026-09-01-p*.xml.bz2' --output ks
  kiltetl knowledge-source --dump gs://bucket/wiki.xml.bz2 --output gs://bucket/ks -- --runner=DataflowRunner …

A run that was stopped goes on where it was when the same command is given again.
"""


@dataclass(frozen=True)
class Settings:
    """What the command line says; see --help."""

    dump: tuple[str, ...]
    output: str
    workers: int = 1
    limit_pages: int | None = None
    part_bytes: int = 64 << 20
    dump_date: str | None = None
    tables: Literal["drop", "cells"] = "drop"
    math: Literal["source", "drop"] = "source"
    templates: str | None = None
    max_reject_share: float = 0.001
    max_record_mb: int = 64
    overwrite: bool = False
    dry_run: bool = False
    beam: tuple[str, ...] = ()


def build(root: "beam.Pipeline", job: KnowledgeSourceJob) -> None:
    """Draw the whole graph, for any Beam runner."""
    import apache_beam as beam

    from kiltetl.transforms.beam.knowledge_source import HashInput, ParsePages, Publish, ResolveTitles, ScanTitles

    parts = root | "Parts" >> beam.Create(job.parts, reshuffle=True)
    hashed = root | "Files" >> beam.Create(range(len(job.files)), reshuffle=True) | HashInput(job)
    titles = parts | ScanTitles(job) | ResolveTitles(job)
    _ = parts | ParsePages(job, titles) | Publish(job, hashed)


def run_locally(job: KnowledgeSourceJob, workers: int, arguments: Sequence[str], console: Console) -> None:
    """Run the steps of ``build`` one after the other, each part as a small graph of its own."""
    from kiltetl.transforms.beam.knowledge_source import draw_hash, draw_parse, draw_publish, draw_resolve, draw_scan
    from kiltetl.transforms.beam.runner import Workers

    whole = sum(info.size for info in job.files)
    with Workers(min(workers, len(job.parts)), arguments) as pool:
        with console.progress("checksum of the input", whole) as report, watched(report):
            pool.run_each(partial(draw_hash, job), range(len(job.files)))
        with console.progress("titles", whole) as report, watched(report):
            pool.run_each(partial(draw_scan, job), job.parts)
        with console.progress("redirects"):
            pool.run_each(partial(draw_resolve, job), [0])
        with console.progress("pages", whole) as report, watched(report):
            pool.run_each(partial(draw_parse, job), job.parts)
        with console.progress("audit"):
            pool.run_each(partial(draw_publish, job), [0])


def plan(settings: Settings) -> KnowledgeSourceJob:
    """Look at the input, cut it into parts and say what the manifest will hold."""
    check_filesystem(settings.output, write=True)
    files = tuple(info for info in expand(settings.dump) if not _NOT_A_DUMP.search(basename(info.path)))
    if not files:
        raise InputError(f"{' '.join(settings.dump)}: these are index or checksum files; name the .xml.bz2 files")
    parts = tuple(plan_parts(files, settings.part_bytes, settings.limit_pages))
    templates = read_templates(settings.templates) if settings.templates else {}
    options = Options(tables=settings.tables, math=settings.math, templates=templates)
    first = basename(files[0].path)
    day = settings.dump_date or dump_date(first)
    facts: dict[str, Any] = {
        "kind": "knowledge-source",
        "dump": {"name": first, "date": day, "files": len(files)},
        "site": asdict(parts[0].header.site),
        "versions": versions("apache-beam", "mwparserfromhell", "pyarrow"),
        "parameters": {
            "tables": settings.tables,
            "math": settings.math,
            "templates": templates,
            "limit_pages": settings.limit_pages,
            "part_bytes": settings.part_bytes,
            "max_record_mb": settings.max_record_mb,
        },
    }
    seen = [facts, [(basename(info.path), info.size, sample_digest(info)) for info in files]]
    fingerprint = digest_of(seen)
    changed = [changed_at(info.path) for info in files]
    run = digest_of([fingerprint, changed])
    staging = Staging(settings.output, "knowledge-source", run)
    return KnowledgeSourceJob(
        files,
        parts,
        staging,
        day,
        options,
        fingerprint,
        facts,
        settings.max_reject_share,
        settings.max_record_mb << 20,
    )


def read_templates(path: str) -> dict[str, str]:
    """A user's own table of templates: a JSON object, name to form (see transforms/wikitext/templates.py)."""
    table = read_json(path)
    if not isinstance(table, dict) or not all(isinstance(form, str) for form in table.values()):
        raise InputError(f'{path}: takes a JSON object of names and forms, such as {{"my quote": "“{{1}}”"}}')
    for name, form in table.items():
        try:
            compiled(form)
        except ValueError as error:
            raise InputError(f"{path}: template {name!r}: {error}") from None
    return table


# files that stand beside a dump and that a pattern takes in with it: indexes and checksums
_NOT_A_DUMP = re.compile(r"-index\d*\.txt|(md5|sha\d+)sums?([-_][^.]*)?(\.(txt|json))?$", re.IGNORECASE)


def dump_date(name: str) -> str | None:
    """ISO date in a dump's file name (``enwiki-20190801-…``, ``enwiki-2026-09-01-…``), None without one."""
    found = re.search(r"-(\d{4})-?(\d\d)-?(\d\d)(?=-|\.)", name)
    return f"{found[1]}-{found[2]}-{found[3]}" if found else None


def execute(settings: Settings, console: Console) -> dict[str, Any] | None:
    """Build the knowledge source, or find that it is there; the manifest, None after a dry run."""
    use_beam_options(settings.beam)
    job = plan(settings)
    if settings.dry_run:
        if _standing(job, settings, console) is None:
            console.say(_describe(job, settings))
        return None
    with job.staging.writing():
        found = _standing(job, settings, console)
        if found is None:
            return _build(job, settings, console)
        job.staging.clear()  # of a run that ended between its last two steps
        return found


def _standing(job: KnowledgeSourceJob, settings: Settings, console: Console) -> dict[str, Any] | None:
    """The manifest of the same knowledge source, if it stands there; InputError if another is in the way."""
    path = join(settings.output, MANIFEST)
    manifest = _read_manifest(path, settings.overwrite) if exists(path) else None
    if manifest is not None:
        same = manifest.get("fingerprint") == job.fingerprint
        # checksums of a whole dump take minutes: a dry run goes by sizes and samples alone
        same = same and (settings.dry_run or _same_input(job, manifest))
        if same and is_whole(settings.output, manifest):
            console.say(f"{settings.output}: already built from this dump with these parameters; nothing to do")
            return manifest
        if not same and not settings.overwrite:
            raise InputError(
                f"{settings.output}: holds a knowledge source of another dump or other parameters; "
                "give another --output, or --overwrite to replace it"
            )
    known = {basename(file["name"]) for file in (manifest or {}).get("files", [])}
    strangers = set(shards_in(settings.output)) - known
    if strangers and not settings.overwrite:
        raise InputError(
            f"{join(settings.output, min(strangers))}: a shard of an unfinished or other build is in the way; "
            "give another --output, or --overwrite to replace it"
        )
    return None


def _build(job: KnowledgeSourceJob, settings: Settings, console: Console) -> dict[str, Any] | None:
    if settings.overwrite:
        job.staging.clear()
    path = join(settings.output, MANIFEST)
    locally = partial(run_locally, job, settings.workers, settings.beam, console)
    draw = partial(build, job=job)
    if not launch(
        draw,
        job.staging,
        settings.beam,
        console,
        "build",
        1,
        [path],
        reads=[info.path for info in job.files],
        locally=locally,
    ):
        return None
    manifest: dict[str, Any] = read_json(path)
    if not manifest["counters"].get("articles"):
        console.warn(f"{settings.output}: no article was found; the tables are there with 0 rows")
    return manifest


def _read_manifest(path: str, overwrite: bool) -> dict[str, Any]:
    """A manifest that stands in the output; {} for a damaged one that is to be replaced."""
    try:
        manifest: Any = read_json(path)
        if isinstance(manifest, dict):
            found: dict[str, Any] = manifest
            return found
        raise InputError(f"{path}: not a manifest; --overwrite replaces what stands there")
    except InputError:
        if overwrite:
            return {}
        raise


def _same_input(job: KnowledgeSourceJob, manifest: dict[str, Any]) -> bool:
    recorded = [entry.get("sha1") for entry in manifest.get("inputs", [])]
    return recorded == [digests(info.path, ["sha1"])["sha1"] for info in job.files]


def _describe(job: KnowledgeSourceJob, settings: Settings) -> str:
    whole = sum(info.size for info in job.files)
    lines = [
        "would read:",
        *(f"  {info.path}  {size(info.size)}" for info in job.files),
        f"in {len(job.parts)} part(s); wiki {job.facts['site']['dbname'] or 'unnamed'}, "
        f"language {job.facts['site']['language']}, date {job.facts['dump']['date'] or 'unknown'}",
        "would write:",
        *(f"  {join(settings.output, shard_name(kind, 0, len(job.parts)))} …" for kind in TABLES),
        f"  {join(settings.output, INDEX)}",
        f"  {join(settings.output, MANIFEST)}",
        f"would need: about {size(whole * 2)} of disk, {settings.workers} process(es)",
    ]
    return "\n".join(lines)


def summary(manifest: dict[str, Any]) -> str:
    """The counts a person wants to see."""
    counters = manifest["counters"]
    lost = [reason for reason in LOSSES if counters.get(reason)]
    pages = (OTHER_NAMESPACE, NOT_WIKITEXT, DUPLICATE_PAGE, MALFORMED_PAGE, RECORD_TOO_LARGE, PAGE_FAILED)
    counted = [
        ("pages read", counters.get("read", 0)),
        ("  articles", counters.get("articles", 0)),
        ("  redirects", counters.get(REDIRECT, 0)),
        *((f"  {reason}", counters[reason]) for reason in pages if counters.get(reason)),
        ("paragraphs", counters.get("paragraphs", 0)),
        ("titles", counters.get("titles", 0)),
        ("redirects that lead nowhere", sum(counters[reason] for reason in lost)),
        *((f"  {reason}", counters[reason]) for reason in lost),
        ("anchors", counters.get("anchors", 0)),
        ("  that lead to a page", counters.get("anchors_resolved", 0)),
    ]
    unproven = sum(one.get("verified_against") is None for one in manifest["inputs"])
    if unproven:
        counted.append(("files that no checksum proves", unproven))
    return table([["knowledge source", "count"], *([label, f"{count:,}"] for label, count in counted)])


ARGUMENTS = (
    Argument("--dump", "dump files: paths or patterns", "paths", "PATTERN", required=True),
    Argument("--output", "folder for the tables", "path", "DIR", required=True),
    Argument("--workers", "processes on this machine (1)", "number", "N", positive, default=1),
    Argument("--limit-pages", "read only the first N pages of the first file, for a trial", "number", "N", positive),
    Argument("--part-mb", "size of a part, hence of a shard, in MB of dump (64)", "number", "MB", positive, default=64),
    Argument("--dump-date", "date of the dump, where its name does not say", metavar="YYYY-MM-DD", type=date),
    Argument("--tables", "table cells as rows, or not (drop)", choices=("drop", "cells"), default="drop"),
    Argument("--math", "formulas as TeX, or not (source)", choices=("source", "drop"), default="source"),
    Argument("--templates", "JSON: further templates to render, name to form", "path", "FILE"),
    Argument("--max-reject-share", "share of failed pages allowed (0.001)", "number", "SHARE", share, default=0.001),
    Argument(
        "--max-record-mb",
        "size of the largest page in MB of XML; a larger one fails (64)",
        "number",
        "MB",
        positive,
        default=64,
    ),
    Argument("--overwrite", "replace what stands in the output folder", "flag"),
)


def settings_of(values: Mapping[str, Any]) -> Settings:
    """The settings of values by the names of ``ARGUMENTS``, and of the settings that are none."""
    given = dict(values)
    if "part_mb" in given:
        given["part_bytes"] = given.pop("part_mb") << 20
    return Settings(**given)


def parse_arguments(arguments: Sequence[str]) -> tuple[Settings, Console]:
    values, console = parsed(Parser(__doc__ or "", _EPILOG, "kiltetl knowledge-source"), ARGUMENTS, arguments)
    return settings_of(values), console


def _command(arguments: Sequence[str]) -> None:
    settings, console = parse_arguments(arguments)
    manifest = execute(settings, console)
    if manifest is not None:
        console.say(summary(manifest))
        console.say(f"\nshards in {settings.output}")


def main(arguments: Sequence[str] | None = None) -> int:
    return run_command(_command, arguments)


if __name__ == "__main__":
    sys.exit(main())
