"""How a job leaves its work: one protocol for all of them.

1. **One writer.** ``writing`` holds the lock of what is written and first finishes what a run before
   had decided.
2. **Marks.** Each part writes its files into the staging folder, inside the output, and then a mark
   with its summary and the sizes and checksums of those files. A part whose mark stands is not done
   again, unless the mark is of another run or one of its files is gone or was changed.
3. **Audit.** When all marks stand, the job compares what they count with what was written.
4. **Decision.** ``publish`` writes down in the staging folder what is to happen. From then on it
   does happen: whoever comes next finishes it, however often it is cut off.
5. **Publication.** The old manifests go, the old tables go, the new tables get their names, the new
   manifests are written. So what stood there ends when its successor is whole, and a manifest never
   stands beside tables that are not its own.
6. **The end.** The command that ran the job deletes the staging folder.

An engine may run any step again when a worker dies before its result is known, the last one too: what was
done is found by its mark or its decision, and nothing is done twice.
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from kiltetl.schemas.errors import InputError, RunFailed
from kiltetl.schemas.manifests import FileEntry, Written, fits
from kiltetl.transforms.files.checksums import digests
from kiltetl.transforms.files.locks import locked
from kiltetl.transforms.files.paths import (
    basename,
    delete_files,
    delete_folder,
    exists,
    file_sizes,
    folder_of,
    is_folder,
    is_local,
    join,
    make_folder,
    move_all,
)
from kiltetl.transforms.files.streams import read_json, write_json

DECISION: Final = "publication.json"
PUBLISHED: Final = "published.json"
BEGUN: Final = "begun.json"
_LONGEST_NAME: Final = 255  # bytes


class Mark(NamedTuple):
    """What a finished part left: what it counted, and its files by their names in the staging folder."""

    summary: dict[str, Any]
    files: dict[str, Written]


_Decision: TypeAlias = tuple[list[tuple[str, str, int]], list[str], list[tuple[str, Any]]]


@dataclass(frozen=True, slots=True)
class Staging:
    """The staging folder of one job.

    Attributes:
        output: the folder that the results go to.
        name: what is written there, such as ``knowledge-source`` or ``nq-validation``: jobs of different
            names write into one folder side by side.
        run: what must agree for work that was left to be used again: a digest of input and parameters.
    """

    output: str
    name: str
    run: str = ""

    @property
    def folder(self) -> str:
        return join(self.output, f".kiltetl-staging-{self.name}")

    def path(self, name: str) -> str:
        """Where a file stands until it is published."""
        return join(self.folder, name)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """While the block runs, no other run writes the same; InputError if one does, or may do so elsewhere."""
        with locked(self.output, self.name):
            if self.finish() is not None:
                self.clear()
            if exists(self.path(BEGUN)):
                raise InputError(
                    f"{self.folder}: a run that was submitted may still be at work there; if it has ended without "
                    f"a result, delete {self.path(BEGUN)} and give the same command again"
                )
            yield

    def clear(self) -> None:
        """Forget what was left: at the end, or to begin anew. OSError if something of it stays."""
        delete_folder(self.folder)

    def begin(self) -> None:
        """Say that work begins which goes on elsewhere when the command that began it has ended."""
        write_json(self.path(BEGUN), {"run": self.run})

    # ----------------------------------------------------------------------------------------
    # marks

    def leave(
        self, step: str, part: int, summary: Mapping[str, Any], files: Mapping[str, Written] | None = None
    ) -> None:
        """Leave a part's mark: what it counted, and the files in the staging folder that go with it."""
        write_json(self.path(_mark(step, part)), {"run": self.run, "summary": summary, "files": files or {}})

    def left(self, step: str, part: int) -> dict[str, Any] | None:
        """The summary that a finished part left; None where it has to be done, or its work is damaged."""
        mark = self._mark(step, part)
        if mark is None:
            return None
        whole = all(map(self._is_whole, mark.files, mark.files.values()))
        return mark.summary if whole or self._is_decided() else None

    def mark(self, step: str, part: int) -> Mark:
        """The mark of a part that must be done by now; RunFailed if it is not."""
        found = self._mark(step, part)
        if found is None:
            raise RunFailed(f"part {part} of step {step} left no mark in {self.folder}; give the same command again")
        return found

    def summary(self, step: str, part: int) -> dict[str, Any]:
        """The summary of a part that must be done by now; RunFailed if it is not."""
        return self.mark(step, part).summary

    def _mark(self, step: str, part: int) -> Mark | None:
        try:
            found = read_json(self.path(_mark(step, part)))
            files = {_name(name): _entry(entry) for name, entry in found["files"].items()}
            mine = found["run"] == self.run and isinstance(found["summary"], dict)
            return Mark(found["summary"], files) if mine else None
        except (InputError, OSError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
            return None

    def _is_whole(self, name: str, entry: Written) -> bool:
        try:
            return digests(self.path(name), ["sha256"])["sha256"] == entry["sha256"]
        except (InputError, OSError):
            return False

    # ----------------------------------------------------------------------------------------
    # publication

    def publish(
        self, files: Mapping[str, tuple[str, Written]], manifests: Mapping[str, Any], stale: Iterable[str] = ()
    ) -> None:
        """Replace what stands in the output by what was staged.

        Args:
            files: name in the staging folder to path below the output, with ``/``, and what its mark tells.
            manifests: path below the output to content, JSON values; the last one tells that all is there.
            stale: paths below the output of files that go, such as those of a table of more shards.

        Raises:
            RunFailed: a staged file is gone, or of another size.
        """
        sizes = file_sizes(self.folder)
        for name, (_, entry) in files.items():
            if sizes.get(name) != entry["bytes"]:
                there = "is gone" if name not in sizes else f"has {sizes[name]:,} bytes, not {entry['bytes']:,}"
                raise RunFailed(f"{self.path(name)}: {there}; give the same command again")
        paths = [path for path, _ in files.values()]
        decision = {
            "run": self.run,
            "files": [[name, path, entry["bytes"]] for name, (path, entry) in files.items()],
            "stale": sorted(set(stale) - set(paths) - set(manifests)),
            "manifests": [[path, content] for path, content in manifests.items()],
        }
        delete_files([self.path(PUBLISHED)])
        write_json(self.path(DECISION), decision)
        self.finish()

    def finish(self) -> list[Any] | None:
        """Carry out what was decided, as far as it is not; the manifests, None where nothing was decided."""
        decision = self._decision()
        if decision is None:
            return None
        files, stale, manifests = decision
        if not exists(self.path(PUBLISHED)):
            delete_files(join(self.output, path) for path, _ in reversed(manifests))
            delete_files(join(self.output, path) for path in stale)
            for folder in dict.fromkeys(folder_of(join(self.output, path)) for _, path, _ in files):
                make_folder(folder)
            self._place(files)
            for path, content in manifests:
                write_json(join(self.output, path), content)
            write_json(self.path(PUBLISHED), {"run": self.run})
        return [content for _, content in manifests]

    def _place(self, files: list[tuple[str, str, int]]) -> None:
        """Give staged files their names; of those that have theirs already, nothing is left to be done."""
        there = file_sizes(self.folder)
        for _, path, _ in files:
            if is_local(self.output) and is_folder(join(self.output, path)):
                raise InputError(
                    f"{join(self.output, path)}: a folder is in the way; move it, and give the same command again"
                )
        placed: dict[str, Mapping[str, int]] = {}
        for name, path, size in files:
            if name not in there:
                final = join(self.output, path)
                sizes = placed.setdefault(folder_of(final), file_sizes(folder_of(final)))
                if sizes.get(basename(final)) != size:
                    raise RunFailed(
                        f"{final}: its successor {self.path(name)} is gone; "
                        "delete that folder and give the command again"
                    )
        move_all([(self.path(name), join(self.output, path)) for name, path, _ in files if name in there])

    def _is_decided(self) -> bool:
        return self._decision(self.run) is not None

    def _decision(
        self, run: str | None = None
    ) -> tuple[list[tuple[str, str, int]], list[str], list[tuple[str, Any]]] | None:
        """What was decided, by a certain run or any; None where nothing was, or no decision of ours stands there."""
        path = self.path(DECISION)
        try:
            found = read_json(path)
            files = [(_name(name), _below(place), int(size)) for name, place, size in found["files"]]
            stale = [_below(place) for place in found["stale"]]
            manifests = [(_below(place), content) for place, content in found["manifests"]]
            return (files, stale, manifests) if run in (None, found["run"]) else None
        except (InputError, LookupError, TypeError, ValueError, OverflowError, RecursionError):
            return None


def _entry(entry: Any) -> Written:
    """What a mark says of a file, if it is that; else ValueError."""
    if not fits(entry, Written):
        raise ValueError(f"{entry!r} does not tell a file")
    return entry


def digest_of(value: Any) -> str:
    """Hexadecimal digest of JSON values: the same for the same input and parameters."""
    return hashlib.sha1(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _mark(step: str, part: int) -> str:
    return f"{step}-{part:05d}.json"


def _name(name: Any) -> str:
    """The name, if a file can have it; else ValueError."""
    if name in ("", ".", "..") or re.search(r"[/\\\0]", str(name)) or len(str(name).encode()) > _LONGEST_NAME:
        raise ValueError(f"{name!r} is no name of a file")
    return str(name)


def _below(path: Any) -> str:
    """The path, if it leads to a place below the output; else ValueError."""
    return "/".join(map(_name, str(path).split("/")))


def audit(subject: str, checks: Iterable[tuple[str, int, int]]) -> None:
    """RunFailed for the first (what, one side, other side) whose sides differ.

    >>> audit("the build does not add up", [("rows", 2, 3)])
    Traceback (most recent call last):
    kiltetl.schemas.errors.RunFailed: the build does not add up: rows: 2 against 3
    """
    for what, left, right in checks:
        if left != right:
            raise RunFailed(f"{subject}: {what}: {left:,} against {right:,}")


def file_entries(files: Iterable[tuple[str, Written]]) -> list[FileEntry]:
    """What a manifest says of files: (name, what its mark tells) each."""
    return [{"name": name, "rows": one["rows"], "bytes": one["bytes"], "sha256": one["sha256"]} for name, one in files]
