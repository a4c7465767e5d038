"""Stages of the knowledge source: a dump's parts to paragraphs, pages, titles and rejects.

The unit of work is a *part*: a byte range of one file of the dump. A part's pages flow from the
file to its own shards inside one stage; page text is never shuffled, grouped or held. What joins
parts is small: the titles (scanned in a first pass, resolved in one place) and the summaries.

Parts are cut by the input alone, so the shards are the same bytes whatever the number of workers.
Each part leaves its shards and then a marker in the staging folder; a part whose marker is there
is not done again.
"""

import contextlib
import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote

from kiltetl.schemas.arrow import records_of
from kiltetl.schemas.errors import DamagedDump, DumpError, InputError, RunFailed
from kiltetl.schemas.manifests import INDEX, MANIFEST, TABLES
from kiltetl.schemas.reasons import (
    DUPLICATE_PAGE,
    LOSSES,
    MALFORMED_PAGE,
    NOT_WIKITEXT,
    OTHER_NAMESPACE,
    PAGE_FAILED,
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
    delete_file,
    delete_folder,
    exists,
    file_size,
    join,
    make_folder,
    move,
)
from kiltetl.transforms.files.progress import advance
from kiltetl.transforms.files.shards import (
    ShardWriter,
    footer_rows,
    have_rows,
    is_arrow,
    parquet_file,
    read_table,
    shard_name,
    write_arrow,
)
from kiltetl.transforms.files.streams import CountingStream, open_binary, read_json, write_json
from kiltetl.transforms.wiki.dump import Header, MalformedPage, pages, read_header, redirect_fragment
from kiltetl.transforms.wiki.ranges import decompressed, is_splittable, range_chunks, utf8
from kiltetl.transforms.wiki.redirects import Located, TitleIndex, resolve_titles, title_hash
from kiltetl.transforms.wiki.titles import normal_title
from kiltetl.transforms.wikitext import Options, parse_page, remnants

_SEEN_BEFORE = (MALFORMED_PAGE, OTHER_NAMESPACE, NOT_WIKITEXT, REDIRECT)  # by the first pass, counted by the second
_PAGES_AT_ONCE = 64  # whose anchors are looked up together
_TEMPLATES_KEPT = 1000  # unknown template names a part reports


@dataclass(frozen=True, slots=True)
class Part:
    """One byte range of one file. ``splits`` is false where the file is read whole, from its start."""

    number: int
    path: str
    start: int
    end: int
    splits: bool
    header: Header
    rooted: bool
    limit: int | None = None  # pages to read, None = all


@dataclass(frozen=True, slots=True)
class Staging:
    """Where parts leave their work, and what must agree for it to be used again.

    Attributes:
        folder: a folder of our own inside the output.
        output, shards: where the tables go at last, and in how many shards each.
        fingerprint: input and parameters, as the manifest says them.
        run: what must agree for a part's work to be used again: the fingerprint and, for local
            files, when they were last changed.
    """

    folder: str
    output: str
    shards: int
    fingerprint: str
    run: str
    dump_date: str | None
    options: Options

    def path(self, name: str, number: int, suffix: str = "parquet") -> str:
        return join(self.folder, f"{name}-{number:05d}.{suffix}")

    def final(self, table: str, number: int) -> str:
        return join(self.output, shard_name(table, number, self.shards))

    def placed(self, table: str, number: int) -> str:
        """Where a shard stands: in the staging folder, or, once published, under its name."""
        path = self.path(table, number)
        return path if exists(path) else self.final(table, number)

    def index(self) -> str:
        path = join(self.folder, INDEX)
        return path if exists(path) else join(self.output, INDEX)

    def marker(self, stage: str, number: int) -> dict[str, Any] | None:
        """Summary that a finished part left; None where it has to be done, or its work is damaged."""
        path = self.path(stage, number, "json")
        if not exists(path):
            return None
        try:
            found = read_json(path)
            if found["run"] != self.run or not isinstance(found["summary"], dict):
                return None
            if not have_rows((self.placed(table, at), rows) for table, at, rows in found["shards"]):
                return None
            if stage == "resolve" and file_size(self.index()) != found["summary"]["index_bytes"]:
                return None
        except (InputError, OSError, LookupError, TypeError, ValueError):
            return None
        summary: dict[str, Any] = found["summary"]
        return summary

    def leave(
        self, stage: str, number: int, summary: dict[str, Any], shards: Sequence[tuple[str, int, int]] = ()
    ) -> None:
        """Leave a part's marker: its summary, and (table, number, rows) of the shards that go with it."""
        write_json(self.path(stage, number, "json"), {"run": self.run, "summary": summary, "shards": shards})


def plan_parts(files: Sequence[FileInfo], part_bytes: int, limit_pages: int | None = None) -> list[Part]:
    """Cut a dump into parts of about ``part_bytes`` of the files' own bytes.

    Plain XML and multistream bz2 are cut; gz, xz and single-stream bz2 cannot be and are one part a
    file. With ``limit_pages`` only the head of the first file is read, as one part.
    """
    parts: list[Part] = []
    for info in files:
        with open_binary(info.path) as stream:
            try:
                header, rooted = read_header(utf8((True, chunk) for chunk in decompressed(stream)))
                splits = is_splittable(stream) and rooted
            except DumpError as error:
                raise InputError(_located(info.path, error)) from None
        if limit_pages is not None:
            return [Part(0, info.path, 0, info.size, False, header, rooted, limit_pages)]
        starts = [0]
        if splits:
            starts = list(range(0, max(1, info.size - part_bytes // 2), part_bytes))  # no tiny last part
        first = parts[0] if parts else None
        if (
            first
            and "" not in (header.site.dbname, first.header.site.dbname)
            and (header.site.dbname != first.header.site.dbname)
        ):
            raise InputError(
                f"{info.path}: of the wiki {header.site.dbname}, but {first.path} is of {first.header.site.dbname}; "
                "build one knowledge source for each"
            )
        for start, end in zip(starts, [*starts[1:], info.size], strict=True):
            parts.append(Part(len(parts), info.path, start, end, splits, header, rooted))
    return parts


def read_part(part: Part) -> Iterator[RawPage | MalformedPage]:
    """The pages of a part, in order; DumpError names the file that is cut off or damaged."""
    with open_binary(part.path) as raw:
        stream: Any = CountingStream(raw, advance)
        if part.splits:
            chunks = range_chunks(stream, part.start, part.end)
        else:
            chunks = ((True, chunk) for chunk in decompressed(stream))
        try:
            yield from islice(pages(chunks, part.header, part.rooted), part.limit)
        except DumpError as error:
            raise DumpError(_located(part.path, error)) from None


def _located(path: str, error: DumpError) -> str:
    remedy = "; fetch the file again and compare its checksum" if isinstance(error, DamagedDump) else ""
    return f"{path}: {error}{remedy}"


def hash_input(number: int, info: FileInfo, staging: Staging) -> dict[str, Any]:
    """Digest of one file of the dump, held against a checksum file beside it where there is one."""
    published = published_digest(info.path)
    algorithms = {"sha1"} | ({published[0]} if published else set())
    found = digests(info.path, sorted(algorithms), advance)
    if published and found[published[0]] != published[1]:
        raise RunFailed(
            f"{info.path}: its {published[0]} is {found[published[0]]}, but {published[2]} says {published[1]}; "
            "fetch the file again"
        )
    before = staging.marker("input", number)
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
    staging.leave("input", number, summary)
    return summary


def scan_part(part: Part, staging: Staging) -> dict[str, Any]:
    """First pass, the only one that reads the dump: what it holds of namespace 0, to the staging folder.

    Titles, ids and redirect targets go to one file, articles with their text to another, from which the
    second pass reads them in a small part of the time that bz2 and XML take.
    """
    done = staging.marker("scan", part.number)
    if done is not None:
        advance(part.end - part.start)
        return done
    site = part.header.site
    counts: Counter[str] = Counter()
    with (
        _rare_collection(),
        ShardWriter(staging.path("scan", part.number), ScannedTitle) as titles,
        ShardWriter(staging.path("articles", part.number), RawPage, _page_weight, temporary=True) as articles,
        ShardWriter(staging.path("page-rejects", part.number), Reject) as rejects,
    ):
        for page in read_part(part):
            counts["read"] += 1
            if isinstance(page, MalformedPage):
                counts[MALFORMED_PAGE] += 1
                name = page.title or f"page {page.ordinal} of {basename(part.path)}"
                rejects.write(Reject("pages", name, MALFORMED_PAGE, page.detail))
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
    written = {"scan": titles.count, "articles": articles.count, "page-rejects": rejects.count}
    staging.leave("scan", part.number, dict(counts), [(table, part.number, rows) for table, rows in written.items()])
    return dict(counts)


def _articles(part: Part, staging: Staging) -> Iterator[RawPage]:
    """The articles of a part as the first pass left them."""
    with parquet_file(staging.path("articles", part.number)) as file:
        groups, size = file.num_row_groups, part.end - part.start
        for group in range(groups):
            yield from records_of(RawPage, file.read_row_group(group))
            advance(size * (group + 1) // groups - size * group // groups)
        if not groups:
            advance(size)


def resolve(parts: Sequence[Part], staging: Staging) -> dict[str, Any]:
    """Titles of the whole dump to the table ``titles``, the index, and what is a duplicate."""
    done = staging.marker("resolve", 0)
    if done is not None:
        return done
    scans = (read_table(staging.path("scan", part.number)) for part in parts)
    resolution = resolve_titles(scans, parts[0].header.site)
    written = 0
    shards = []
    for part in parts:
        with ShardWriter(staging.path("titles", part.number), TitleRow) as shard:
            for row in resolution.title_rows(part.number):
                shard.write(row)
        written += shard.count
        shards.append(("titles", part.number, shard.count))
        with ShardWriter(staging.path("title-rejects", part.number), Reject) as rejects:
            for reject in resolution.rejects(part.number):
                rejects.write(reject)
        shards.append(("title-rejects", part.number, rejects.count))
    write_arrow(join(staging.folder, INDEX), resolution.index)
    summary = {
        "counts": dict(resolution.counts),
        "titles": written,
        "index_bytes": file_size(join(staging.folder, INDEX)),
        "duplicates": {str(number): sorted(ordinals) for number, ordinals in resolution.duplicates.items()},
    }
    staging.leave("resolve", 0, summary, shards)
    return summary


def parse_part(
    part: Part, staging: Staging, index: TitleIndex, duplicates: Mapping[str, Sequence[int]]
) -> dict[str, Any]:
    """Second pass: the articles of a part to its shards of paragraphs, pages and rejects."""
    done = staging.marker("parse", part.number)
    if done is not None:
        advance(part.end - part.start)
        return done
    site = part.header.site
    scanned = left_by(staging, "scan", part.number)
    replaced = frozenset(duplicates.get(str(part.number), ()))
    counts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    with (
        _rare_collection(),
        ShardWriter(staging.path("paragraphs", part.number), ParagraphRow, _weight) as paragraphs,
        ShardWriter(staging.path("pages", part.number), PageRow) as page_rows,
        ShardWriter(staging.path("rejects", part.number), Reject) as rejects,
    ):
        for found_before in ("title-rejects", "page-rejects"):
            for reject in records_of(Reject, read_table(staging.path(found_before, part.number))):
                rejects.write(reject)
        parsed = _parsed(_articles(part, staging), site, staging.options, replaced, counts, rejects)
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
                        history=_history(raw, site, title, staging.dump_date),
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
    written = {"paragraphs": paragraphs.count, "pages": page_rows.count, "rejects": rejects.count}
    staging.leave("parse", part.number, summary, [(table, part.number, count) for table, count in written.items()])
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


def publish(
    inputs: int, parts: Sequence[Part], staging: Staging, output: str, facts: Mapping[str, Any], max_reject_share: float
) -> dict[str, Any]:
    """Check that everything adds up, give the shards their names and write the manifest, last.

    Args:
        facts: what the manifest says beside counters and files (inputs, site, versions, parameters).

    Raises:
        RunFailed: a count does not add up, or too large a share of the pages failed.
    """
    read = [left_by(staging, "input", number) for number in range(inputs)]
    scans = [left_by(staging, "scan", part.number) for part in parts]
    resolved = left_by(staging, "resolve", 0)
    parsed = [left_by(staging, "parse", part.number) for part in parts]
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

    files = []
    for table in TABLES:
        for part in parts:
            name = staging.placed(table, part.number)
            files.append((table, part.number, name, footer_rows(name), file_size(name)))
    rows = {table: sum(rows for kind, _, _, rows, _ in files if kind == table) for table in TABLES}
    failed = counts[MALFORMED_PAGE] + counts[PAGE_FAILED]
    skipped = sum(counts[reason] for reason in SKIPS)
    lost = sum(titles[reason] for reason in LOSSES)
    _audit("pages read = articles + skipped + rejected", counts["read"], counts["articles"] + skipped + failed)
    _audit(
        "titles scanned = articles + redirects + duplicates",
        sum(s.get("titles", 0) for s in scans),
        counts["articles"] + counts[PAGE_FAILED] + titles["redirects"] + titles[DUPLICATE_PAGE],
    )
    _audit(
        "redirects = titles that lead to a page + rejects", titles["redirects"], rows["titles"] - titles["pages"] + lost
    )
    _audit("rows of paragraphs", counts["paragraphs"], rows["paragraphs"])
    _audit("rows of pages = articles", counts["articles"], rows["pages"])
    _audit("rows of titles", resolved["titles"], rows["titles"])
    _audit("rows of rejects = failures + redirects that lead nowhere", failed + lost, rows["rejects"])
    if counts["read"] and failed / counts["read"] > max_reject_share:
        raise RunFailed(
            f"{failed:,} of {counts['read']:,} pages failed, more than --max-reject-share {max_reject_share:g} allows; "
            f"their titles and reasons are in {join(staging.folder, 'rejects-*.parquet')}"
        )

    make_folder(output)
    _clear(output)
    published = []
    for table, number, name, count, size in files:
        if name != staging.final(table, number):
            move(name, staging.final(table, number))
        published.append({"name": basename(staging.final(table, number)), "rows": count, "bytes": size})
    if staging.index() != join(output, INDEX):
        move(staging.index(), join(output, INDEX))
    manifest = {
        **facts,
        "inputs": read,
        "fingerprint": staging.fingerprint,
        "counters": dict(sorted(counts.items())),
        "unknown_templates": dict(sorted(unknown.most_common(100), key=lambda item: (-item[1], item[0]))),
        "files": published,
    }
    write_json(join(output, MANIFEST), manifest)
    delete_folder(staging.folder)
    return manifest


def is_whole(output: str, manifest: Mapping[str, Any]) -> bool:
    """Whether the tables that a manifest names stand there with their rows, and the index."""
    try:
        tables = [(join(output, basename(file["name"])), file["rows"]) for file in manifest["files"]]
        return have_rows(tables) and is_arrow(join(output, INDEX))
    except (KeyError, TypeError):
        return False


def _clear(output: str) -> None:
    """Delete the tables that a manifest names, it last: what stood there ends as its successor is whole."""
    path = join(output, MANIFEST)
    if exists(path):
        with contextlib.suppress(InputError, KeyError, TypeError):
            for file in read_json(path)["files"]:
                delete_file(join(output, basename(file["name"])))
        delete_file(join(output, INDEX))
        delete_file(path)


def left_by(staging: Staging, stage: str, number: int) -> dict[str, Any]:
    summary = staging.marker(stage, number)
    if summary is None:
        raise RunFailed(f"part {number} of stage {stage} left no marker in {staging.folder}")
    return summary


def _audit(what: str, left: int, right: int) -> None:
    if left != right:
        raise RunFailed(f"the build does not add up: {what}: {left:,} against {right:,}")
