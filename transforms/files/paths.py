"""Paths: local ones, addresses of stores (gs://, s3://, hdfs://), and of the web, to read."""

import contextlib
import errno
import fnmatch
import glob
import os
import posixpath
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.stores import at_once, store_of
from kiltetl.transforms.files.web import serves_ranges, web_size

HTTP = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file and its size in bytes."""

    path: str
    size: int


def is_local(path: str) -> bool:
    return "://" not in path


def join(folder: str, *names: str) -> str:
    """A path below ``folder``, in the way of its filesystem."""
    return os.path.join(folder, *names) if is_local(folder) else posixpath.join(folder, *names)


def basename(path: str) -> str:
    return os.path.basename(path) if is_local(path) else posixpath.basename(path)


def is_same(one: str, other: str) -> bool:
    """Whether two paths name one place, however they are written; local links are followed."""
    if is_local(one) and is_local(other):
        return os.path.realpath(one) == os.path.realpath(other)
    return one.rstrip("/") == other.rstrip("/")


def folder_of(path: str) -> str:
    return os.path.dirname(path) if is_local(path) else posixpath.dirname(path)


def file_error(path: str, error: OSError) -> InputError:
    """What to say of a file that cannot be read."""
    text = error.strerror or str(error)
    return InputError(text if text.startswith(path) else f"{path}: {text}")


def check_filesystem(path: str, write: bool = False) -> None:
    """InputError, before any work starts, if no filesystem for the path is installed.

    With ``write`` also if the path, an output folder, cannot be made or written to; nothing of it is left.
    """
    if is_local(path):
        if write:
            _check_writable(path)
        return
    if path.startswith(HTTP):
        if write:
            raise InputError(f"{path}: nothing is written to the web; give a local path, gs://, s3:// or hdfs://")
        return
    store = store_of(path)
    if write:
        try:
            next(iter(store.listing(f"{path.rstrip('/')}/", deep=False)), None)
        except OSError as error:
            raise file_error(path, error) from None


def _check_writable(folder: str) -> None:
    """InputError if a local folder cannot be made or written to; tried there or in the nearest folder above."""
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".kiltetl-", dir=_nearest(folder)))
    except OSError as error:
        if error.errno in FULL_DISK:
            raise full_disk(folder, error) from None
        raise unwritable(folder, error) from None


FULL_DISK = (errno.ENOSPC, errno.EDQUOT)


def _nearest(path: str) -> str:
    """The path, or the nearest above it that exists."""
    path = os.path.abspath(path)
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


def unwritable(folder: str, error: OSError) -> InputError:
    place = _nearest(folder)
    if os.path.isdir(place):
        reason = error.strerror or str(error)
    else:
        reason = f"{'a file' if os.path.isfile(place) else 'something that is no folder'} is in the way"
        reason += "" if place == os.path.abspath(folder) else f", {place}"
    return InputError(f"{folder}: this folder cannot be made or written to ({reason}); name another one for the output")


def expand(patterns: Iterable[str]) -> list[FileInfo]:
    """The files that paths or glob patterns name, each once, in the order of the patterns, then by name.

    A path that exists is that file, whatever characters its name has.
    """
    files: dict[str, FileInfo] = {}
    for pattern in patterns:
        if pattern.startswith(HTTP):
            files.setdefault(pattern, FileInfo(pattern, web_size(pattern)))
        elif is_local(pattern):
            for info in _expand_local(pattern):
                files.setdefault(os.path.abspath(info.path), info)
        else:
            for info in _expand_remote(pattern):
                files.setdefault(info.path, info)
    return list(files.values())


_WILDCARD = re.compile(r"[*?\[]")


def _expand_remote(pattern: str) -> list[FileInfo]:
    store = store_of(pattern)
    try:
        with contextlib.suppress(FileNotFoundError):
            return [FileInfo(pattern, store.size(pattern))]
        wildcard = _WILDCARD.search(pattern)
        fits = _remote_pattern(pattern)
        found = store.listing(pattern[: wildcard.start()]) if wildcard else ()
        matched = [FileInfo(path, size) for path, size in found if fits.fullmatch(path) and not path.endswith("/")]
    except OSError as error:
        raise file_error(pattern, error) from None
    if not matched:
        raise InputError(f"{pattern}: no such file")
    return matched


def _remote_pattern(pattern: str) -> "re.Pattern[str]":
    """A pattern of addresses: ``*`` within a name, ``**`` across them, ``?`` and ``[…]`` one character."""
    parts = re.split(r"(\*\*|\*|\?|\[[^\]/]+\])", pattern)
    forms = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(forms.get(part) or _characters(part) for part in parts))


def _characters(part: str) -> str:
    """A regular expression for a text of a pattern, or for one of the characters in its brackets."""
    if not (part.startswith("[") and part.endswith("]")):
        return re.escape(part)
    inside = part[1:-1]
    sign = "^" if inside.startswith("!") else ""
    listed = re.escape(inside[len(sign) :]).replace(r"\-", "-")
    return f"[{sign}{listed}]"


def _expand_local(pattern: str) -> list[FileInfo]:
    if os.path.isdir(pattern):
        raise InputError(f"{pattern}: a folder; name the files in it, for example {join(pattern, '*')}")
    if os.path.exists(pattern):
        paths = [pattern]
    else:
        paths = sorted(path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path))
    if not paths:
        raise InputError(f"{pattern}: no such file; give a local path, a pattern in quotes, gs://, s3:// or https://")
    for path in paths:
        if not os.path.isfile(path):
            raise InputError(f"{path}: not a regular file; it is read more than once and from any place")
    return [FileInfo(path, os.path.getsize(path)) for path in paths]


def full_disk(path: str, error: Any) -> OSError:
    return OSError(error.errno, f"{path}: {error.strerror}; make room and give the same command again")


def move_all(pairs: Sequence[tuple[str, str]]) -> None:
    """Give files their names, (source, target) each, replacing what stands there.

    In a store a file is copied, many at once, and its source stays: what holds the sources goes as a whole.
    """
    near = [pair for pair in pairs if is_local(pair[1])]
    for source, target in near:
        os.replace(source, target)
    at_once(lambda pair: store_of(pair[1]).copy(*pair), [pair for pair in pairs if not is_local(pair[1])])


def exists(path: str) -> bool:
    if is_local(path):
        return os.path.exists(path)
    try:
        store_of(path).size(path)
    except FileNotFoundError:
        return False
    return True


def is_folder(path: str) -> bool:
    """Whether a folder stands there; in a store, whether there are files below it."""
    if is_local(path):
        return os.path.isdir(path)
    return not path.startswith(HTTP) and any(store_of(path).listing(f"{path.rstrip('/')}/"))


def delete_files(paths: Iterable[str]) -> None:
    """Delete files, those that are there."""
    far: dict[str, list[str]] = {}
    for path in paths:
        if is_local(path):
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)
        else:
            far.setdefault(path.partition("://")[0], []).append(path)
    for some in far.values():
        store_of(some[0]).delete(some)


def make_folder(path: str) -> None:
    """Make a folder with those above it, where the filesystem has folders; InputError if it cannot be."""
    if is_local(path):
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            if error.errno in FULL_DISK:
                raise full_disk(path, error) from None
            raise unwritable(path, error) from None


def delete_folder(path: str) -> None:
    """Delete a folder with all that is in it, if it is there; OSError if something of it stays."""
    if is_local(path):
        if os.path.islink(path):  # what it leads to is not ours
            os.remove(path)
        elif os.path.isdir(path):
            shutil.rmtree(path)
        return
    store = store_of(path)
    store.delete([name for name, _ in store.listing(f"{path.rstrip('/')}/")])


def file_sizes(folder: str) -> Mapping[str, int]:
    """Name to size of the files directly in a folder, by name; none if there is no folder."""
    if is_local(folder):
        if not os.path.isdir(folder):
            return {}
        with os.scandir(folder) as found:
            return dict(sorted((one.name, one.stat().st_size) for one in found if one.is_file()))
    prefix = f"{folder.rstrip('/')}/"
    listed = store_of(folder).listing(prefix, deep=False)
    return dict(sorted((path[len(prefix) :], size) for path, size in listed if not path.endswith("/")))


def list_folder(path: str, pattern: str = "*") -> list[str]:
    """Names of the files directly in a folder that fit a pattern, sorted; [] if there is no folder."""
    return [name for name in file_sizes(path) if fnmatch.fnmatch(name, pattern)]


def changed_at(path: str) -> int | None:
    """When a local file was last changed_at, in nanoseconds; None for one that is not local."""
    return os.stat(path).st_mtime_ns if is_local(path) else None


def file_size(path: str) -> int:
    return os.path.getsize(path) if is_local(path) else store_of(path).size(path)


def has_parts(path: str) -> bool:
    """Whether a file can be read from any place at the cost of what is read alone."""
    return not path.startswith(HTTP) or serves_ranges(path)


def absolute(path: str, base: Path) -> str:
    """A path of a configuration file, relative to the file's folder; addresses stay as they are."""
    if not is_local(path):
        return path
    path = os.path.normpath(os.path.join(base, path))
    return os.path.join(".", path) if path.startswith("-") else path
