"""Paths: local ones, and addresses of Beam's filesystems (gs://, s3://, hdfs://) and of the web, to read.

Beam is imported when the first address is met, so that local work does without it.
"""

import contextlib
import errno
import fnmatch
import glob
import importlib.util
import os
import posixpath
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.web import web_size

HTTP = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file and its size in bytes."""

    path: str
    size: int


def is_local(path: str) -> bool:
    return "://" not in path


def filesystems() -> Any:
    """Beam's ``FileSystems``; its errors are OSError."""
    from apache_beam.io.filesystems import FileSystems

    return FileSystems


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


_EXTRAS = {"gs": "kiltetl[gcp]", "s3": "kiltetl[aws]", "hdfs": "apache-beam[hadoop]"}


def filesystem_error(path: str, error: Exception) -> InputError:
    text = str(error)
    scheme = "" if is_local(path) else path.partition("://")[0]
    if "Unable to get filesystem" in text or "install" in text or (scheme == "s3" and not _has_boto()):
        if scheme in _EXTRAS:
            return InputError(f"{path}: reading or writing it needs an extra: pip install '{_EXTRAS[scheme]}'")
        if scheme:
            return InputError(
                f"{path}: nothing here opens {scheme}:// addresses; give a local path, gs://, s3:// or hdfs://, "
                "or to read from https://"
            )
    if getattr(getattr(error, "response", None), "status_code", None) in (404, 410):
        text += "; servers keep a dump for some months only: give the address of a newer one, or a local path"
    return InputError(f"{path}: {(isinstance(error, OSError) and error.strerror) or text}")


def _has_boto() -> bool:
    return importlib.util.find_spec("boto3") is not None


def check_filesystem(path: str, write: bool = False) -> None:
    """InputError, before any work starts, if no filesystem for the path is installed.

    With ``write`` also if the path, an output folder, cannot be made or written to; nothing of it is left.
    """
    if is_local(path):
        if write:
            _check_writable(path)
        return
    if path.startswith(HTTP) and not write:
        return
    try:
        filesystems().get_filesystem(path)
    except (OSError, ValueError, ImportError) as error:
        raise filesystem_error(path, error) from None
    if path.startswith("s3://") and not _has_boto():
        raise filesystem_error(path, ImportError("boto3"))


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
            files.setdefault(pattern, FileInfo(pattern, _web_size(pattern)))
        elif is_local(pattern):
            for info in _expand_local(pattern):
                files.setdefault(os.path.abspath(info.path), info)
        else:
            check_filesystem(pattern)
            try:
                matched = filesystems().match([pattern])[0].metadata_list
            except OSError as error:
                raise filesystem_error(pattern, error) from None
            if not matched:
                raise InputError(f"{pattern}: no such file")
            for m in sorted(matched, key=lambda m: str(m.path)):
                files.setdefault(m.path, FileInfo(m.path, m.size_in_bytes))
    return list(files.values())


def _web_size(path: str) -> int:
    try:
        return web_size(path)
    except (OSError, ValueError) as error:
        raise filesystem_error(path, error) from None


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


def move(source: str, target: str) -> None:
    """Rename a file, replacing what stands there."""
    if is_local(target):
        os.replace(source, target)
        return
    if exists(target):
        filesystems().delete([target])
    filesystems().rename([source], [target])


def exists(path: str) -> bool:
    return os.path.exists(path) if is_local(path) else bool(filesystems().exists(path))


def is_folder(path: str) -> bool:
    """Whether a local folder stands there; addresses have none."""
    return is_local(path) and os.path.isdir(path)


def delete_file(path: str) -> None:
    """Delete a file, if it is there."""
    if is_local(path):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
    elif exists(path):
        filesystems().delete([path])


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
    """Delete a folder with all that is in it, if it is there."""
    if is_local(path):
        if os.path.islink(path):  # what it leads to is not ours
            os.remove(path)
        shutil.rmtree(path, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        filesystems().delete([path])


def list_folder(path: str, pattern: str = "*") -> list[str]:
    """Names of the files directly in a folder that fit a pattern, sorted; [] if there is no folder."""
    if is_local(path):
        names = [name for name in os.listdir(path) if os.path.isfile(join(path, name))] if os.path.isdir(path) else []
    else:
        names = [basename(m.path) for m in filesystems().match([join(path, "*")])[0].metadata_list]
    return sorted(name for name in names if fnmatch.fnmatch(name, pattern))


def changed_at(path: str) -> int | None:
    """When a local file was last changed_at, in nanoseconds; None for one that is not local."""
    return os.stat(path).st_mtime_ns if is_local(path) else None


def file_size(path: str) -> int:
    return os.path.getsize(path) if is_local(path) else filesystems().match([path])[0].metadata_list[0].size_in_bytes


def absolute(path: str, base: Path) -> str:
    """A path of a configuration file, relative to the file's folder; addresses stay as they are."""
    if not is_local(path):
        return path
    path = os.path.normpath(os.path.join(base, path))
    return os.path.join(".", path) if path.startswith("-") else path
