"""Stores by their addresses.

There is one client a process. A file is written whole, by one upload under its own name: readers never see a
part of it, so nothing is written under another name, copied and deleted.

Beam's own way to buckets makes a client a call and waits for minutes where credentials are missing; it is used
for other filesystems alone (hdfs://). Beam's options (``--s3_endpoint_url``, ``--project`` …) hold for both.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from kiltetl.transforms.files.store import AT_ONCE, Store, scheme_of, settings
from kiltetl.transforms.files.store_beam import BeamStore
from kiltetl.transforms.files.store_gcs import GcsStore
from kiltetl.transforms.files.store_s3 import S3Store

Item = TypeVar("Item")
Result = TypeVar("Result")


def store_of(path: str) -> Store:
    """The store of an address; InputError where an extra or credentials for it are missing."""
    scheme = scheme_of(path)
    with _LOCK:
        key = (scheme, os.getpid(), settings())
        if key not in _STORES:
            _STORES[key] = _KINDS.get(scheme, BeamStore)(path)
        return _STORES[key]


def at_once(action: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """An action on each of many files, many at once; the first error ends it."""
    if len(items) < 2:
        return [action(item) for item in items]
    with ThreadPoolExecutor(min(AT_ONCE, len(items))) as pool:
        futures = [pool.submit(action, item) for item in items]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()


_KINDS: Final[dict[str, Callable[[str], Store]]] = {"s3": S3Store, "gs": GcsStore}
_STORES: Final[dict[tuple[str, int, tuple[Any, ...]], Store]] = {}
_LOCK: Final = threading.Lock()
