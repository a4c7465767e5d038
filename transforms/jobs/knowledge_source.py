"""The job of a knowledge source: a dump's parts to paragraphs, pages, titles and rejects.

The unit of work is a *part*: a byte range of one file of the dump. A part's pages flow from the
file to its own shards in one step; page text is never shuffled, grouped or held. What joins
parts is small: the titles (scanned in a first pass, resolved in one place) and the summaries.

Parts are cut by the input alone, so the shards are the same bytes whatever the number of workers.
"""

import contextlib
import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any
from urllib.parse import quote

from kiltetl.schemas.arrow import records_of
from kiltetl.schemas.errors import RunFailed
from kiltetl.schemas.manifests import INDEX, MANIFEST, TABLES, Written
from kiltetl.schemas.reasons import (
    DUPLICATE_PAGE,
    FAILURES,
    LOSSES,
    MALFORMED_PAGE,
    NOT_WIKITEXT,
    OTHER_NAMESPACE,
    PAGE_FAILED,
    RECORD_TOO_LARGE,
    REDIRECT,
    SKIPS,
)
from kiltetl.schemas.records import (
    Anchor,
    History,
    PageRow,
    Paragraph,
    ParagraphRow,
    ParsedPage,
    RawPage,
    Reject,
    ScannedTitle,
    Site,
    TitleRow,
)
from kiltetl.transforms.files.checksums import digests, published_digest
from kiltetl.transforms.files.paths import (
    FileInfo,
    basename,
    join,
    list_folder,
)
from kiltetl.transforms.files.progress import advance
from kiltetl.transforms.files.shards import (
    ShardWriter,
    have_rows,
    is_arrow,
    parquet_file,
    read_table,
    shard_name,
    write_arrow,
)
from kiltetl.transforms.files.stores import at_once
from kiltetl.transforms.jobs.dump_parts import Part, read_part
from kiltetl.transforms.jobs.staging import Staging, audit, file_entries
from kiltetl.transforms.wiki.dump import MAX_PAGE, MalformedPage, redirect_fragment
from kiltetl.transforms.wiki.redirects import Located, TitleIndex, resolve_titles, title_hash
from kiltetl.transforms.wiki.titles import normal_title
from kiltetl.transforms.wikitext import Options, parse_page, remnants

_SEEN_BEFORE = (
    MALFORMED_PAGE,
    RECORD_TOO_LARGE,
    OTHER_NAMESPACE,
    NOT_WIKITEXT,
    REDIRECT,
)  # by the first pass, counted by the second
_PAGES_AT_ONCE = 64  # whose anchors are looked up together
_TEMPLATES_KEPT = 1000  # unknown template names a part reports


@dataclass(frozen=True, slots=True)
class KnowledgeSourceJob:
    """A planned build: everything that its steps need.

    Attributes:
        fingerprint: input and parameters, as the manifest says them.
        facts: what the manifest says beside counters and files (site, versions, parameters).
        max_reject_share: share of the pages that may fail, 0 to 1.
        max_page: bytes of XML that a page may have.
    """

    files: tuple[FileInfo, ...]
    parts: tuple[Part, ...]
    staging: Staging
    dump_date: str | None
    options: Options
    fingerprint: str
    facts: Mapping[str, Any]
    max_reject_share: float
    max_page: int = MAX_PAGE

    def staged(self, table: str, part: int) -> str:
        return self.staging.path(_staged(table, part))

    def shard(self, table: str, part: int) -> str:
        """Name of a shard once it is published."""
        return shard_name(table, part, len(self.parts))


def _staged(table: str, part: int) -> str:
    return f"{table}-{part:05d}.parquet"


def _staged_files(written: Mapping[str, Written], part: int) -> dict[str, Written]:
    return {_staged(table, part): one for table, one in written.items()}


def hash_input(job: KnowledgeSourceJob, number: int) -> dict[str, Any]:
    """Digest of one file of the dump, held against a checksum file beside it where there is one."""
    info = job.files[number]
    published = published_digest(info.path)
    algorithms = {"sha1"} | ({published[0]} if published else set())
    found = digests(info.path, sorted(algorithms), advance)
    if published and found[published[0]] != published[1]:
        raise RunFailed(
            f"{info.path}: its {published[0]} is {found[published[0]]}, but {published[2]} says {published[1]}; "
            "fetch the file again"
        )
    before = job.staging.left("input", number)
    if before is not None and before["sha1"] != found["sha1"]:
        raise RunFailed(
            f"{info.path}: was changed while it was read, by this run or an earlier one that it would go on from; "
            "--overwrite starts anew"
        )
    summary = {
        "name": basename(info.path),
        "size": info.size,
        "sha1": found["sha1"],
        "verified_against": basename(published[2]) if published else None,
    }
    job.staging.leave("input", number, summary)
    return summary


def scan_part(job: KnowledgeSourceJob, part: Part) -> dict[str, Any]:
    """First pass, the only one that reads the dump: what it holds of namespace 0, to the staging folder.

    Titles, ids and redirect targets go to one file, articles with their text to another, from which the
    second pass reads them in a small part of the time that bz2 and XML take.
    """
    done = job.staging.left("scan", part.number)
    if done is not None:
        advance(part.end - part.start)
        return done
    site = part.header.site
    counts: Counter[str] = Counter()
    with (
        _rare_collection(),
        ShardWriter(job.staged("scan", part.number), ScannedTitle) as titles,
        ShardWriter(job.staged("articles", part.number), RawPage, _page_weight, temporary=True) as articles,
        ShardWriter(job.staged("page-rejects", part.number), Reject) as rejects,
    ):
        for page in read_part(part, job.max_page):
            counts["read"] += 1
            if isinstance(page, MalformedPage):
                counts[page.reason] += 1
                name = page.title or f"page {page.ordinal} of {basename(part.path)}"
                rejects.write(Reject("pages", name, page.reason, page.detail))
            elif page.namespace != 0:
                counts[OTHER_NAMESPACE] += 1
            elif page.redirect is None and page.model != "wikitext":
                counts[NOT_WIKITEXT] += 1
            elif not (title := normal_title(page.title, site)):
                counts[MALFORMED_PAGE] += 1
                rejects.write(Reject("pages", page.title, MALFORMED_PAGE, "nothing is left of its title"))
            else:
                target = None if page.redirect is None else normal_title(page.redirect, site)
                titles.write(
                    ScannedTitle(
                        page_id=page.page_id,
                        revision_id=page.revision_id,
                        ordinal=page.ordinal,
                        title=title,
                        title_hash=title_hash(title),
                        target=target,
                        target_hash=0 if target is None else title_hash(target),
                        fragment=None if target is None else redirect_fragment(page.text, part.header),
                    )
                )
                if target is None:
                    articles.write(page)
                else:
                    counts[REDIRECT] += 1
    counts["titles"] = titles.count
    files = {"scan": titles.written, "articles": articles.written, "page-rejects": rejects.written}
    job.staging.leave("scan", part.number, dict(counts), _staged_files(files, part.number))
    return dict(counts)


def articles_of(job: KnowledgeSourceJob, part: Part) -> Iterator[RawPage]:
    """The articles of a part as the first pass left them."""
    with parquet_file(job.staged("articles", part.number)) as file:
        groups, size = file.num_row_groups, part.end - part.start
        for group in range(groups):
            yield from records_of(RawPage, file.read_row_group(group))
            advance(size * (group + 1) // groups - size * group // groups)
        if not groups:
            advance(size)


def resolve(job: KnowledgeSourceJob) -> dict[str, Any]:
    """Titles of the whole dump to the table ``titles``, the index, and what is a duplicate."""
    done = job.staging.left("resolve", 0)
    if done is not None:
        return done
    scans = (read_table(job.staged("scan", part.number)) for part in job.parts)
    resolution = resolve_titles(scans, job.parts[0].header.site)
    written, files = 0, dict[str, Written]()
    for part in job.parts:
        with ShardWriter(job.staged("titles", part.number), TitleRow) as shard:
            for row in resolution.title_rows(part.number):
                shard.write(row)
        written += shard.count
        files |= _staged_files({"titles": shard.written}, part.number)
        with ShardWriter(job.staged("title-rejects", part.number), Reject) as rejects:
            for reject in resolution.rejects(part.number):
                rejects.write(reject)
        files |= _staged_files({"title-rejects": rejects.written}, part.number)
    files[INDEX] = write_arrow(job.staging.path(INDEX), resolution.index)
    summary = {
        "counts": dict(resolution.counts),
        "titles": written,
        "duplicates": {str(number): sorted(ordinals) for number, ordinals in resolution.duplicates.items()},
    }
    job.staging.leave("resolve", 0, summary, files)
    return summary


def parse_part(
    job: KnowledgeSourceJob, part: Part, index: TitleIndex, duplicates: Mapping[str, Sequence[int]]
) -> dict[str, Any]:
    """Second pass: the articles of a part to its shards of paragraphs, pages and rejects."""
    done = job.staging.left("parse", part.number)
    if done is not None:
        advance(part.end - part.start)
        return done
    site = part.header.site
    scanned = job.staging.summary("scan", part.number)
    replaced = frozenset(duplicates.get(str(part.number), ()))
    counts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    with (
        _rare_collection(),
        ShardWriter(job.staged("paragraphs", part.number), ParagraphRow, _weight) as paragraphs,
        ShardWriter(job.staged("pages", part.number), PageRow) as page_rows,
        ShardWriter(job.staged("rejects", part.number), Reject) as rejects,
    ):
        for found_before in ("title-rejects", "page-rejects"):
            for reject in records_of(Reject, read_table(job.staged(found_before, part.number))):
                rejects.write(reject)
        parsed = _parsed(articles_of(job, part), site, job.options, replaced, counts, rejects)
        while batch := list(islice(parsed, _PAGES_AT_ONCE)):
            found = index.find(a.wikipedia_title for _, _, page in batch for p in page.paragraphs for a in p.anchors)
            for raw, title, page in batch:
                page_id = str(raw.page_id)
                counts["articles"] += 1
                counts["guards"] += page.guards
                counts["disambiguations"] += page.is_disambiguation
                unknown.update(page.unknown_templates)
                kinds.update([paragraph.kind for paragraph in page.paragraphs])
                for paragraph in page.paragraphs:
                    for remnant in remnants(paragraph.text):
                        counts[f"text:{remnant}"] += 1
                    if paragraph.anchors:
                        paragraph = _resolved(paragraph, found)
                        counts["anchors"] += len(paragraph.anchors)
                        counts["anchors_resolved"] += sum(a.wikipedia_id is not None for a in paragraph.anchors)
                    paragraphs.write(ParagraphRow(page_id, title, paragraph))
                page_rows.write(
                    PageRow(
                        wikipedia_id=page_id,
                        wikipedia_title=title,
                        categories=page.categories,
                        is_disambiguation=page.is_disambiguation,
                        paragraph_count=len(page.paragraphs),
                        history=_history(raw, site, title, job.dump_date),
                    )
                )
    counts.update({f"kind:{kind}": count for kind, count in kinds.items()})
    counts.update({kind: scanned[kind] for kind in ("read", *_SEEN_BEFORE) if kind in scanned})
    if replaced:  # redirects among them were not seen here
        counts[REDIRECT] -= len(replaced) - counts[DUPLICATE_PAGE]
        counts[DUPLICATE_PAGE] = len(replaced)
    counts["paragraphs"] = paragraphs.count
    counts["pages"] = page_rows.count
    counts["rejects"] = rejects.count
    summary = {"counts": dict(counts), "unknown_templates": dict(unknown.most_common(_TEMPLATES_KEPT))}
    files = {"paragraphs": paragraphs.written, "pages": page_rows.written, "rejects": rejects.written}
    job.staging.leave("parse", part.number, summary, _staged_files(files, part.number))
    return summary


def _parsed(
    articles: Iterable[RawPage],
    site: Site,
    options: Options,
    replaced: Set[int],
    counts: Counter[str],
    rejects: ShardWriter[Reject],
) -> Iterator[tuple[RawPage, str, ParsedPage]]:
    """Each article with its title and its rows, less the ``replaced`` ordinals; a failure is a reject."""
    for raw in articles:
        if raw.ordinal in replaced:
            counts[DUPLICATE_PAGE] += 1
            continue
        title = normal_title(raw.title, site)
        try:
            page = parse_page(title, raw.text, site, options)
            for paragraph in page.paragraphs:
                for a in paragraph.anchors:
                    if paragraph.text[a.start : a.end] != a.text:
                        raise AssertionError(f"anchor {a.text!r} is not at [{a.start}, {a.end}) of its paragraph")
        except Exception as error:  # whatever a page does to the parser, the build goes on
            counts[PAGE_FAILED] += 1
            rejects.write(Reject("pages", title, PAGE_FAILED, f"{type(error).__name__}: {error}"))
            continue
        yield raw, title, page


@contextlib.contextmanager
def _rare_collection() -> Iterator[None]:
    """Python's cycle collector looks at every live record each 700 new ones: a tenth of a part's time."""
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _page_weight(page: RawPage) -> int:
    return len(page.text)


def _weight(row: ParagraphRow) -> int:
    return len(row.paragraph.text) + 100 * len(row.paragraph.anchors)


def _resolved(paragraph: Paragraph, found: Mapping[str, Located]) -> Paragraph:
    """The paragraph with the page that each of its anchors leads to."""
    anchors = []
    for a in paragraph.anchors:
        page = found.get(a.wikipedia_title)
        if page is not None:
            a = Anchor(a.text, a.href, a.fragment, a.start, a.end, page.wikipedia_title, page.wikipedia_id)
        anchors.append(a)
    p = paragraph
    return Paragraph(p.paragraph_id, p.kind, p.list_marker, p.section, p.text, tuple(anchors))


def _history(page: RawPage, site: Site, title: str, dump_date: str | None) -> History:
    address = site.base.partition("/wiki/")[0] if "/wiki/" in site.base else ""
    return History(
        pageid=page.page_id,
        parentid=page.parent_id,
        revid=page.revision_id,
        pre_dump=page.timestamp[:10] <= dump_date if dump_date and page.timestamp else None,
        timestamp=page.timestamp,
        url=f"{address}/w/index.php?title={quote(title)}&oldid={page.revision_id}" if address else "",
    )


def publish(job: KnowledgeSourceJob) -> dict[str, Any]:
    """Check that everything adds up and publish; the manifest.

    Raises:
        RunFailed: a count does not add up, or too large a share of the pages failed.
    """
    staging = job.staging
    if (done := staging.finish()) is not None:
        return dict(done[-1])
    numbers = [part.number for part in job.parts]
    read = at_once(partial(staging.summary, "input"), range(len(job.files)))
    scans = at_once(partial(staging.summary, "scan"), numbers)
    resolved, resolved_files = staging.mark("resolve", 0)
    marks = at_once(partial(staging.mark, "parse"), numbers)
    parsed = [mark.summary for mark in marks]
    staged = {name: one for files in (resolved_files, *(mark.files for mark in marks)) for name, one in files.items()}
    counts: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for summary in parsed:
        counts.update(summary["counts"])
        unknown.update(summary["unknown_templates"])
    titles: Counter[str] = Counter(resolved["counts"])
    counts["titles"], counts["redirects"] = resolved["titles"], titles["redirects"]
    for reason in LOSSES:
        if titles[reason]:
            counts[reason] = titles[reason]

    shards = [(table, number) for table in TABLES for number in numbers]
    placed = {_staged(*one): (job.shard(*one), staged[_staged(*one)]) for one in shards}
    files = file_entries(placed.values())
    rows = Counter[str]()
    for (table, _), file in zip(shards, files, strict=True):
        rows[table] += file["rows"]
    failures = {reason: counts[reason] for reason in FAILURES if counts[reason]}
    failed = sum(failures.values())
    skipped = sum(counts[reason] for reason in SKIPS)
    lost = sum(titles[reason] for reason in LOSSES)
    scanned = sum(summary.get("titles", 0) for summary in scans)
    told_apart = counts["articles"] + counts[PAGE_FAILED] + titles["redirects"] + titles[DUPLICATE_PAGE]
    leading = rows["titles"] - titles["pages"]
    checks = [
        ("pages read = articles + skipped + rejected", counts["read"], counts["articles"] + skipped + failed),
        ("titles scanned = articles + redirects + duplicates", scanned, told_apart),
        ("redirects = titles that lead to a page + rejects", titles["redirects"], leading + lost),
        ("rows of paragraphs", counts["paragraphs"], rows["paragraphs"]),
        ("rows of pages = articles", counts["articles"], rows["pages"]),
        ("rows of titles", resolved["titles"], rows["titles"]),
        ("rows of rejects = failures + redirects that lead nowhere", failed + lost, rows["rejects"]),
    ]
    audit("the build does not add up", checks)
    if counts["read"] and failed / counts["read"] > job.max_reject_share:
        raise RunFailed(
            f"{failed:,} of {counts['read']:,} pages failed, more than --max-reject-share {job.max_reject_share:g} "
            f"allows: {_first_failures(job, failures)}; all titles and reasons are in "
            f"{staging.path('rejects-*.parquet')}"
        )
    manifest = {
        **job.facts,
        "inputs": read,
        "fingerprint": job.fingerprint,
        "counters": dict(sorted(counts.items())),
        "unknown_templates": dict(sorted(unknown.most_common(100), key=lambda item: (-item[1], item[0]))),
        "files": files,
        "index": file_entries([(INDEX, staged[INDEX])])[0],
    }
    index = {INDEX: (INDEX, staged[INDEX])}
    staging.publish(placed | index, {MANIFEST: manifest}, shards_in(staging.output))
    return manifest


def _first_failures(job: KnowledgeSourceJob, failures: Mapping[str, int]) -> str:
    """How many pages failed by each reason, with the first of them."""
    first: dict[str, str] = {}
    for part in job.parts:
        for reject in records_of(Reject, read_table(job.staged("rejects", part.number))):
            if reject.stage == "pages":
                first.setdefault(reject.reason, f"{reject.source_id!r} ({reject.detail})")
        if first.keys() >= failures.keys():
            break
    return "; ".join(f"{reason} {count:,}, such as {first.get(reason)}" for reason, count in failures.items())


def shards_in(output: str) -> list[str]:
    """Names of all shards of a knowledge source that stand in a folder, of whatever build."""
    return [name for table in TABLES for name in list_folder(output, f"{table}-*.parquet")]


def is_whole(output: str, manifest: Mapping[str, Any]) -> bool:
    """Whether the tables that a manifest names stand there with their rows, and the index."""
    try:
        tables = [(join(output, basename(file["name"])), file["rows"]) for file in manifest["files"]]
        return have_rows(tables) and is_arrow(join(output, INDEX))
    except (KeyError, TypeError):
        return False
