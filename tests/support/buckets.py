"""Buckets on this machine: servers that speak as Amazon's and Google's do, and a filesystem of Beam's in memory."""

import contextlib
import io
import logging
import os
from collections.abc import Iterator
from typing import Any

import pytest
from apache_beam.io.filesystem import BeamIOError, FileMetadata, FileSystem

BUCKET = "bucket-one"


@contextlib.contextmanager
def servers() -> Iterator[dict[str, str]]:
    """Start both; scheme to the address of an empty bucket. The environment says where they are, as a user's would."""
    moto = pytest.importorskip("moto.server", reason="needs moto[server], part of the dev extra")
    emulator = pytest.importorskip("gcp_storage_emulator.server", reason="part of the dev extra")
    for name in ("werkzeug", "gcp_storage_emulator"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    amazon = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    amazon.start()
    host, port = amazon.get_host_and_port()
    google = emulator.create_server("127.0.0.1", 0, in_memory=True, default_bucket=BUCKET)
    google.start()
    given = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key-one",
        "AWS_SECRET_ACCESS_KEY": "secret-one",
        "AWS_DEFAULT_REGION": "us-east-1",
        "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{google._api._httpd.server_address[1]}",
        "GOOGLE_CLOUD_PROJECT": "project-one",
    }
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        import boto3

        boto3.client("s3").create_bucket(Bucket=BUCKET)
        yield {"s3": f"s3://{BUCKET}", "gs": f"gs://{BUCKET}"}
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        google.stop()
        amazon.stop()


class MemoryFileSystem(FileSystem):
    """Beam's filesystem for memory:// addresses; its files are gone with the process."""

    files: dict[str, bytes] = {}  # noqa: RUF012

    @classmethod
    def scheme(cls) -> str:
        return "memory"

    def has_dirs(self) -> bool:
        return False

    def join(self, basepath: str, *paths: str) -> str:
        return "/".join([basepath, *paths])

    def split(self, path: str) -> tuple[str, str]:
        head, _, tail = path.rpartition("/")
        return head, tail

    def mkdirs(self, path: str) -> None:
        raise NotImplementedError

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        for name, data in self.files.items():
            if name.startswith(dir_or_prefix):
                yield FileMetadata(name, len(data))

    def create(self, path: str, mime_type: str = "", compression_type: str = "") -> Any:
        files = self.files

        class Written(io.BytesIO):
            def close(self) -> None:
                files[path] = self.getvalue()
                super().close()

        return Written()

    def open(self, path: str, mime_type: str = "", compression_type: str = "") -> Any:
        if path not in self.files:
            raise FileNotFoundError(path)
        return io.BytesIO(self.files[path])

    def copy(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        for source, target in zip(source_file_names, destination_file_names, strict=True):
            self.files[target] = self.files[source]

    def rename(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        self.copy(source_file_names, destination_file_names)
        self.delete(source_file_names)

    def exists(self, path: str) -> bool:
        return path in self.files

    def size(self, path: str) -> int:
        return len(self.files[path])

    def last_updated(self, path: str) -> int:
        if path not in self.files:
            raise BeamIOError(path)
        return hash(self.files[path])

    def checksum(self, path: str) -> str:
        raise NotImplementedError

    def metadata(self, path: str) -> FileMetadata:
        return FileMetadata(path, len(self.files[path]))

    def delete(self, paths: list[str]) -> None:
        for path in paths:
            del self.files[path]
