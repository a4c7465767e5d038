"""Any other address, by Beam's filesystems."""

import io
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, cast

from kiltetl.transforms.files.store import missing_extra


class BeamStore:
    """Any other address, by Beam's filesystems. A file is written under another name and renamed."""

    def __init__(self, path: str) -> None:
        from apache_beam.io.filesystems import FileSystems
        from apache_beam.options.pipeline_options import PipelineOptions

        if FileSystems._pipeline_options is None:
            FileSystems.set_options(PipelineOptions([]))
        self._files: Any = FileSystems
        try:
            self._files.get_filesystem(path)
        except (ValueError, ImportError, OSError):
            raise missing_extra(path) from None

    def size(self, path: str) -> int:
        if not self._files.exists(path):
            raise FileNotFoundError(f"{path}: no such file")
        return int(self._files.get_filesystem(path).metadata(path).size_in_bytes)

    def listing(self, prefix: str, deep: bool = True) -> Iterator[tuple[str, int]]:
        found = self._files.get_filesystem(prefix)._list(prefix)  # its public way takes patterns, which names may hold
        for path, size in sorted((str(one.path), int(one.size_in_bytes)) for one in found):
            if path.startswith(prefix) and (deep or "/" not in path[len(prefix) :]):
                yield path, size

    def read(self, path: str, start: int, end: int) -> bytes:
        with self._files.open(path, compression_type="uncompressed") as stream:
            stream.seek(start)
            return bytes(stream.read(end - start))

    def stream(self, path: str) -> BinaryIO:
        return cast(BinaryIO, self._files.open(path, compression_type="uncompressed"))

    def upload(self, path: str, stream: BinaryIO) -> None:
        temporary = f"{path}.{os.getpid()}-{threading.get_ident()}.tmp"
        with self._files.create(temporary, compression_type="uncompressed") as target:
            while data := stream.read(1 << 24):
                target.write(data)
        if self._files.exists(path):
            self._files.delete([path])
        self._files.rename([temporary], [path])

    def put(self, path: str, data: bytes, version: str | None) -> str | None:
        """Without a promise: these filesystems have no conditional write."""
        there = self.version(path) if self._files.exists(path) else None
        if there != version:
            return None
        self.upload(path, io.BytesIO(data))
        return self.version(path)

    def version(self, path: str) -> str:
        try:
            return str(self._files.last_updated(path))
        except OSError:
            raise FileNotFoundError(f"{path}: no such file") from None

    def copy(self, source: str, target: str) -> None:
        if self._files.exists(target):
            self._files.delete([target])
        self._files.copy([source], [target])

    def delete(self, paths: Sequence[str]) -> None:
        there = [path for path in paths if self._files.exists(path)]
        if there:
            self._files.get_filesystem(there[0]).delete(there)
