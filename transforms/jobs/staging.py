"""How a job leaves its work: one protocol for all of them.

1. **One writer.** ``writing`` holds the lock of what is written and first finishes what a run before
   had decided.
2. **Marks.** Each part writes its files into the staging folder, inside the output, and then a mark
   with its summary and the sizes of those files. A part whose mark stands is not done again, unless
   the mark is of another run or one of its files is gone or cut off.
3. **Audit.** When all marks stand, the job compares what they count with what was written.
4. **Decision.** ``publish`` writes down in the staging folder what is to happen. From then on it
   does happen: whoever comes next finishes it, however often it is cut off.
5. **Publication.** The old manifests go, the old tables go, the new tables get their names, the new
   manifests are written, the staging folder goes. So what stood there ends when its successor is
   whole, and a manifest never stands beside tables that are not its own.
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kiltetl.schemas.errors import InputError, RunFailed
from kiltetl.transforms.files.locks import locked
from kiltetl.transforms.files.paths import (
    delete_file,
    delete_folder,
    exists,
    file_size,
    folder_of,
    is_folder,
    join,
    make_folder,
    move,
)
from kiltetl.transforms.files.streams import read_json, write_json

DECISION: Final = "publication.json"
BEGUN: Final = "begun.json"
_LONGEST_NAME: Final = 255  # bytes


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
        """While the block runs, no other run on this machine writes the same; InputError if one does."""
        with locked(self.output, self.name):
            self.finish()
            yield

    def clear(self) -> None:
        """Forget what was left, to begin anew."""
        delete_folder(self.folder)

    def begin(self) -> None:
        """Say that work begins which may go on elsewhere."""
        write_json(self.path(BEGUN), {"run": self.run})

    def has_ended(self) -> bool:
        """Whether work that began has been published: its folder is gone."""
        return not exists(self.path(BEGUN))

    # ----------------------------------------------------------------------------------------
    # marks

    def leave(self, step: str, part: int, summary: Mapping[str, Any], files: Iterable[str] = ()) -> None:
        """Leave a part's mark: what it counted, and the files in the staging folder that go with it."""
        sizes = {name: file_size(self.path(name)) for name in files}
        write_json(self.path(_mark(step, part)), {"run": self.run, "summary": summary, "files": sizes})

    def left(self, step: str, part: int) -> dict[str, Any] | None:
        """The summary that a finished part left; None where it has to be done, or its work is damaged."""
        path = self.path(_mark(step, part))
        if not exists(path):
            return None
        try:
            mark = read_json(path)
            if mark["run"] != self.run or not isinstance(mark["summary"], dict):
                return None
            if any(file_size(self.path(name)) != size for name, size in mark["files"].items()):
                return None
            summary: dict[str, Any] = mark["summary"]
        except (InputError, OSError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
            return None
        return summary

    def summary(self, step: str, part: int) -> dict[str, Any]:
        """The summary of a part that must be done by now; RunFailed if it is not."""
        found = self.left(step, part)
        if found is None:
            raise RunFailed(f"part {part} of step {step} left no mark in {self.folder}; give the same command again")
        return found

    # ----------------------------------------------------------------------------------------
    # publication

    def publish(self, files: Mapping[str, str], manifests: Mapping[str, Any], stale: Iterable[str] = ()) -> None:
        """Replace what stands in the output by what was staged.

        Args:
            files: name in the staging folder to path below the output, with ``/``.
            manifests: path below the output to content, JSON values; the last one tells that all is there.
            stale: paths below the output of files that go, such as those of a table of more shards.
        """
        decision = {
            "files": [[name, path, file_size(self.path(name))] for name, path in files.items()],
            "stale": sorted(set(stale) - set(files.values()) - set(manifests)),
            "manifests": [[path, content] for path, content in manifests.items()],
        }
        write_json(self.path(DECISION), decision)
        self.finish()

    def finish(self) -> bool:
        """Carry out what was decided, if something was; whether it was."""
        decision = self._decision()
        if decision is None:
            return False
        files, stale, manifests = decision
        waiting = any(exists(self.path(name)) for name, _, _ in files)
        if waiting or not all(_is_written(join(self.output, path), content) for path, content in manifests):
            for path in (*(path for path, _ in reversed(manifests)), *stale):
                delete_file(join(self.output, path))
            for folder in dict.fromkeys(folder_of(join(self.output, path)) for _, path, _ in files):
                make_folder(folder)
            for name, path, size in files:
                self._place(self.path(name), join(self.output, path), size)
            for path, content in manifests:
                write_json(join(self.output, path), content)
        self.clear()
        return True

    def _place(self, staged: str, final: str, size: int) -> None:
        if is_folder(final):
            raise InputError(f"{final}: a folder is in the way; move it, and give the same command again")
        if exists(staged):
            move(staged, final)
        elif not exists(final) or file_size(final) != size:
            raise RunFailed(f"{final}: its successor {staged} is gone; delete that folder and give the command again")

    def _decision(self) -> tuple[list[tuple[str, str, int]], list[str], list[tuple[str, Any]]] | None:
        """What was decided; None where nothing was, or no decision of ours stands there."""
        path = self.path(DECISION)
        if not exists(path):
            return None
        try:
            found = read_json(path)
            files = [(_name(name), _below(place), int(size)) for name, place, size in found["files"]]
            stale = [_below(place) for place in found["stale"]]
            manifests = [(_below(place), content) for place, content in found["manifests"]]
        except (InputError, LookupError, TypeError, ValueError, OverflowError, RecursionError):
            return None
        return files, stale, manifests


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


def _is_written(path: str, content: Any) -> bool:
    if not exists(path):
        return False
    try:
        return bool(read_json(path) == content)
    except InputError:
        return False


def audit(subject: str, checks: Iterable[tuple[str, int, int]]) -> None:
    """RunFailed for the first (what, one side, other side) whose sides differ.

    >>> audit("the build does not add up", [("rows", 2, 3)])
    Traceback (most recent call last):
    kiltetl.schemas.errors.RunFailed: the build does not add up: rows: 2 against 3
    """
    for what, left, right in checks:
        if left != right:
            raise RunFailed(f"{subject}: {what}: {left:,} against {right:,}")


def entries(files: Sequence[tuple[str, str, int]]) -> list[dict[str, Any]]:
    """What a manifest says of files: (name, path where it stands now, rows) to name, rows and bytes."""
    return [{"name": name, "rows": rows, "bytes": file_size(path)} for name, path, rows in files]
