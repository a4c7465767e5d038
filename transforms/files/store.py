"""What a store of files is: the buckets of gs:// and s3://, and what else Beam's filesystems open."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Final, Protocol

from kiltetl.schemas.errors import InputError

AT_ONCE: Final = 32  # requests
_DELETED_AT_ONCE: Final = {"s3": 1000, "gs": 100}  # by one request
_EXTRAS: Final = {"gs": "kiltetl[gcp]", "s3": "kiltetl[aws]", "hdfs": "apache-beam[hadoop]"}


class Store(Protocol):
    """Files by their addresses. What is not there is a FileNotFoundError, other trouble an OSError or InputError."""

    def size(self, path: str) -> int: ...

    def listing(self, prefix: str, deep: bool = True) -> Iterator[tuple[str, int]]:
        """(address, size) of the files whose addresses begin so, sorted; not ``deep``: without a further ``/``."""
        ...

    def read(self, path: str, start: int, end: int) -> bytes: ...

    def stream(self, path: str) -> BinaryIO:
        """The whole file, from its start on, by one request where that can be."""
        ...

    def upload(self, path: str, stream: BinaryIO) -> None: ...

    def put(self, path: str, data: bytes, version: str | None) -> str | None:
        """Write a small file if it still is of a version (None: if it is not there); its new version, None if not."""
        ...

    def version(self, path: str) -> str: ...

    def copy(self, source: str, target: str) -> None: ...

    def delete(self, paths: Sequence[str]) -> None:
        """Delete files; those that are not there are passed over."""
        ...


def scheme_of(path: str) -> str:
    return path.partition("://")[0]


def missing_extra(path: str) -> InputError:
    """What to say where nothing that is installed opens an address."""
    scheme = scheme_of(path)
    if scheme in _EXTRAS:
        return InputError(f"{path}: reading or writing it needs an extra: pip install '{_EXTRAS[scheme]}'")
    return InputError(
        f"{path}: nothing here opens {scheme}:// addresses; give a local path, gs://, s3:// or hdfs://, "
        "or to read from https://"
    )


_OPTIONS: Final = (
    "s3_access_key_id", "s3_secret_access_key", "s3_session_token", "s3_endpoint_url", "s3_region_name",
    "s3_api_version", "s3_verify", "s3_disable_ssl", "project", "impersonate_service_account",
)  # fmt: skip


def settings() -> tuple[Any, ...]:
    """Beam's options for stores, where this process has some: set by a command, and by Beam in its workers."""
    global _known
    module = sys.modules.get("apache_beam.io.filesystems")
    options = None if module is None else module.FileSystems._pipeline_options
    if options is not _known[0]:
        values = {} if options is None else options if isinstance(options, dict) else options.get_all_options()
        _known = options, tuple(values.get(name) for name in _OPTIONS)
    return _known[1]


_known: tuple[Any, tuple[Any, ...]] = (None, (None,) * len(_OPTIONS))


def option(name: str) -> Any:
    return settings()[_OPTIONS.index(name)]


def key_of(path: str) -> tuple[str, str]:
    bucket, _, key = path.partition("://")[2].partition("/")
    return bucket, key


def batches(paths: Sequence[str], scheme: str) -> list[tuple[str, list[str]]]:
    """(bucket, keys) for each request that deletes."""
    keys: dict[str, list[str]] = {}
    for path in paths:
        bucket, key = key_of(path)
        keys.setdefault(bucket, []).append(key)
    size = _DELETED_AT_ONCE[scheme]
    return [(bucket, some[i : i + size]) for bucket, some in keys.items() for i in range(0, len(some), size)]
