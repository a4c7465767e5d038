"""Digests of files, and those that are published beside them."""

import hashlib
import re
from collections.abc import Callable, Iterable

from kiltetl.schemas.manifests import InputEntry
from kiltetl.transforms.files.paths import HTTP, FileInfo, basename, folder_of, join, list_folder
from kiltetl.transforms.files.streams import open_binary


def digests(
    path: str, algorithms: Iterable[str], report: Callable[[int], None] = lambda amount: None
) -> dict[str, str]:
    """Hexadecimal digests of a file by algorithm name; ``report`` is told the bytes read."""
    hashes = {name: hashlib.new(name) for name in algorithms}
    with open_binary(path) as stream:
        while data := stream.read(1 << 22):
            report(len(data))
            for digest in hashes.values():
                digest.update(data)
    return {name: digest.hexdigest() for name, digest in hashes.items()}


def recorded(files: Iterable[FileInfo]) -> list[InputEntry]:
    """What a manifest says of files that were read."""
    return [
        {"name": basename(one.path), "size": one.size, "sha1": digests(one.path, ["sha1"])["sha1"]} for one in files
    ]


def sample_digest(info: FileInfo, length: int = 1 << 16) -> str:
    """SHA-1 of the first and last bytes of a file: tells most changes, in no time."""
    with open_binary(info.path) as stream:
        head = stream.read(length)
        stream.seek(max(0, info.size - length))
        return hashlib.sha1(head + stream.read(length)).hexdigest()


def published_digest(path: str) -> tuple[str, str, str] | None:
    """(algorithm, digest, file that says so) from a checksum file beside the path, None without one.

    Known are SHA256SUMS, SHA1SUMS, MD5SUMS and Wikimedia's ``WIKI-DATE-sha1sums.txt`` and ``-md5sums.txt``,
    in the format of coreutils (``DIGEST  NAME``) or BSD (``SHA256 (NAME) = DIGEST``).
    """
    if path.startswith(HTTP):
        return None
    folder, name = folder_of(path), basename(path)
    candidates = list_folder(folder or ".", "*[sS][uU][mM][sS]*")
    for algorithm, length in (("sha256", 64), ("sha1", 40), ("md5", 32)):
        for candidate in candidates:
            if algorithm not in candidate.lower():
                continue
            listing = join(folder, candidate)
            with open_binary(listing) as stream:
                for line in stream.read().decode("utf-8-sig", "replace").splitlines():
                    found = _CHECKSUM.match(line.strip())
                    if found:
                        digest, listed = found["digest"] or found["bsd"], found["name"] or found["file"]
                        if len(digest) == length and re.split(r"[/\\]", listed)[-1] == name:
                            return algorithm, digest.lower(), listing
    return None


_CHECKSUM = re.compile(
    r"(?P<digest>[0-9a-fA-F]{32,64})\s+\*?(?P<name>.+)|\w+ \((?P<file>.+)\) = (?P<bsd>[0-9a-fA-F]{32,64})$"
)
