"""A dump cut into parts, and the pages of a part.

A *part* is a byte range of one file of the dump, by the input alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from kiltetl.schemas.errors import DumpError, InputError
from kiltetl.schemas.records import RawPage
from kiltetl.transforms.files.paths import FileInfo, has_parts
from kiltetl.transforms.files.progress import advance
from kiltetl.transforms.files.streams import CountingStream, open_binary
from kiltetl.transforms.jobs.reader import located, read_dump_header
from kiltetl.transforms.wiki.dump import MAX_PAGE, Header, MalformedPage, pages
from kiltetl.transforms.wiki.ranges import decompressed, is_splittable, range_chunks


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


def plan_parts(files: Sequence[FileInfo], part_bytes: int, limit_pages: int | None = None) -> list[Part]:
    """Cut a dump into parts of about ``part_bytes`` of the files' own bytes.

    Plain XML and multistream bz2 are cut; gz, xz and single-stream bz2 cannot be and are one part a
    file. With ``limit_pages`` only the head of the first file is read, as one part.
    """
    parts: list[Part] = []
    for info in files:
        header, rooted = read_dump_header(info.path)
        with open_binary(info.path) as stream:
            try:
                splits = rooted and has_parts(info.path) and is_splittable(stream)
            except DumpError as error:
                raise InputError(located(info.path, error)) from None
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


def read_part(part: Part, most: int = MAX_PAGE) -> Iterator[RawPage | MalformedPage]:
    """The pages of a part, in order; DumpError names the file that is cut off or damaged."""
    with open_binary(part.path) as raw:
        stream: Any = CountingStream(raw, advance)
        if part.splits:
            chunks = range_chunks(stream, part.start, part.end)
        else:
            chunks = ((True, chunk) for chunk in decompressed(stream))
        try:
            yield from islice(pages(chunks, part.header, part.rooted, most), part.limit)
        except DumpError as error:
            raise DumpError(located(part.path, error)) from None
