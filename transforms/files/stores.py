"""Object stores: the buckets of gs:// and s3://, each by its maker's client, and what else Beam's filesystems open.

There is one client a process. A file is written whole, by one upload under its own name: readers never see a
part of it, so nothing is written under another name, copied and deleted.

Beam's own way to buckets makes a client a call and waits for minutes where credentials are missing; it is used
for other filesystems alone (hdfs://). Beam's options (``--s3_endpoint_url``, ``--project`` …) hold for both.
"""

import contextlib
import importlib.util
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO, Final, Protocol, TypeVar, cast

import smart_open

from kiltetl.schemas.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")

_AT_ONCE: Final = 32  # requests
_DELETED_AT_ONCE: Final = {"s3": 1000, "gs": 100}  # by one request
_CREDENTIALS_WAIT: Final = 8.0  # seconds that a look for credentials may take
_WHOLE: Final = 256 << 20  # bytes that one request uploads
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


def store_of(path: str) -> Store:
    """The store of an address; InputError where an extra or credentials for it are missing."""
    scheme = scheme_of(path)
    with _LOCK:
        key = (scheme, os.getpid(), _settings())
        if key not in _STORES:
            _STORES[key] = _KINDS.get(scheme, BeamStore)(path)
        return _STORES[key]


def missing_extra(path: str) -> InputError:
    """What to say where nothing that is installed opens an address."""
    scheme = scheme_of(path)
    if scheme in _EXTRAS:
        return InputError(f"{path}: reading or writing it needs an extra: pip install '{_EXTRAS[scheme]}'")
    return InputError(
        f"{path}: nothing here opens {scheme}:// addresses; give a local path, gs://, s3:// or hdfs://, "
        "or to read from https://"
    )


def at_once(action: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """An action on each of many files, many at once; the first error ends it."""
    if len(items) < 2:
        return [action(item) for item in items]
    with ThreadPoolExecutor(min(_AT_ONCE, len(items))) as pool:
        futures = [pool.submit(action, item) for item in items]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()


_OPTIONS: Final = (
    "s3_access_key_id", "s3_secret_access_key", "s3_session_token", "s3_endpoint_url", "s3_region_name",
    "s3_api_version", "s3_verify", "s3_disable_ssl", "project", "impersonate_service_account",
)  # fmt: skip


def _settings() -> tuple[Any, ...]:
    """Beam's options for stores, where this process has some: set by a command, and by Beam in its workers."""
    global _known
    module = sys.modules.get("apache_beam.io.filesystems")
    options = None if module is None else module.FileSystems._pipeline_options
    if options is not _known[0]:
        values = {} if options is None else options if isinstance(options, dict) else options.get_all_options()
        _known = options, tuple(values.get(name) for name in _OPTIONS)
    return _known[1]


_known: tuple[Any, tuple[Any, ...]] = (None, (None,) * len(_OPTIONS))


def _option(name: str) -> Any:
    return _settings()[_OPTIONS.index(name)]


def _key(path: str) -> tuple[str, str]:
    bucket, _, key = path.partition("://")[2].partition("/")
    return bucket, key


def _batches(paths: Sequence[str], scheme: str) -> list[tuple[str, list[str]]]:
    """(bucket, keys) for each request that deletes."""
    keys: dict[str, list[str]] = {}
    for path in paths:
        bucket, key = _key(path)
        keys.setdefault(bucket, []).append(key)
    size = _DELETED_AT_ONCE[scheme]
    return [(bucket, some[i : i + size]) for bucket, some in keys.items() for i in range(0, len(some), size)]


# --------------------------------------------------------------------------------------------
# Amazon S3, and what speaks its language

_S3_CREDENTIALS: Final = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for a store that is not Amazon's also "
    "-- --s3_endpoint_url=URL"
)
_S3_REFUSALS: Final = frozenset(
    ("401", "403", "AccessDenied", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken",
     "InvalidToken", "TokenRefreshRequired", "AuthorizationHeaderMalformed")
)  # fmt: skip
_S3_ABSENT: Final = frozenset(("404", "NoSuchKey", "NotFound"))
_S3_CHANGED: Final = frozenset(("412", "409", "PreconditionFailed", "ConditionalRequestConflict"))


class S3Store:
    """s3://bucket/key, by boto3."""

    def __init__(self, path: str) -> None:
        if importlib.util.find_spec("boto3") is None:
            raise missing_extra(path)
        from boto3.s3.transfer import TransferConfig
        from boto3.session import Session
        from botocore.config import Config

        given = {
            "region_name": _option("s3_region_name"),
            "api_version": _option("s3_api_version"),
            "endpoint_url": _option("s3_endpoint_url"),
            "aws_access_key_id": _option("s3_access_key_id"),
            "aws_secret_access_key": _option("s3_secret_access_key"),
            "aws_session_token": _option("s3_session_token"),
            "verify": _option("s3_verify"),
        }
        config = Config(
            connect_timeout=5, read_timeout=60, retries={"max_attempts": 5, "mode": "standard"},
            max_pool_connections=_AT_ONCE,
        )  # fmt: skip
        self._whole = TransferConfig(multipart_threshold=_WHOLE, multipart_chunksize=_WHOLE)
        with self._errors(path):
            self._client: Any = Session().client(
                "s3",
                use_ssl=not _option("s3_disable_ssl"),
                config=config,
                **{name: value for name, value in given.items() if value is not None},
            )

    @contextlib.contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        from boto3.exceptions import Boto3Error
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

        try:
            yield
        except ClientError as error:
            code = _code(error)
            if code in _S3_ABSENT:
                raise FileNotFoundError(f"{path}: no such file") from None
            if code in _S3_REFUSALS:
                raise InputError(f"{path}: the store refuses ({_said(error)}); {_S3_CREDENTIALS}") from None
            if code == "NoSuchBucket":
                raise InputError(f"{path}: there is no bucket {_key(path)[0]}") from None
            raise OSError(f"{path}: {_said(error)}") from None
        except (NoCredentialsError, PartialCredentialsError) as error:
            raise InputError(f"{path}: no credentials ({error}); {_S3_CREDENTIALS}") from None
        except (BotoCoreError, Boto3Error, ValueError) as error:
            raise OSError(f"{path}: {error}") from None

    def size(self, path: str) -> int:
        bucket, key = _key(path)
        with self._errors(path):
            return int(self._client.head_object(Bucket=bucket, Key=key)["ContentLength"])

    def listing(self, prefix: str, deep: bool = True) -> Iterator[tuple[str, int]]:
        bucket, key = _key(prefix)
        asked = {"Bucket": bucket, "Prefix": key} | ({} if deep else {"Delimiter": "/"})
        with self._errors(prefix):
            for page in self._client.get_paginator("list_objects_v2").paginate(**asked):
                yield from ((f"s3://{bucket}/{one['Key']}", int(one["Size"])) for one in page.get("Contents", ()))

    def read(self, path: str, start: int, end: int) -> bytes:
        bucket, key = _key(path)
        from botocore.exceptions import ClientError

        with self._errors(path):
            try:
                answer = self._client.get_object(Bucket=bucket, Key=key, Range=f"bytes={start}-{end - 1}")
            except ClientError as error:
                if _code(error) == "InvalidRange":  # behind the end, as any byte of an empty file is
                    return b""
                raise
            return bytes(answer["Body"].read())

    def stream(self, path: str) -> BinaryIO:
        with self._errors(path):
            given = {"client": self._client, "defer_seek": True}
            return cast(BinaryIO, smart_open.open(path, "rb", compression="disable", transport_params=given))

    def upload(self, path: str, stream: BinaryIO) -> None:
        bucket, key = _key(path)
        with self._errors(path):
            self._client.upload_fileobj(stream, bucket, key, Config=self._whole)

    def put(self, path: str, data: bytes, version: str | None) -> str | None:
        from botocore.exceptions import ClientError

        bucket, key = _key(path)
        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
        with self._errors(path):
            try:
                return str(self._client.put_object(Bucket=bucket, Key=key, Body=data, **condition)["ETag"])
            except ClientError as error:
                if _code(error) in _S3_CHANGED or (version is not None and _code(error) in _S3_ABSENT):
                    return None
                raise

    def version(self, path: str) -> str:
        bucket, key = _key(path)
        with self._errors(path):
            return str(self._client.head_object(Bucket=bucket, Key=key)["ETag"])

    def copy(self, source: str, target: str) -> None:
        (bucket, key), (to, name) = _key(source), _key(target)
        with self._errors(source):
            self._client.copy_object(Bucket=to, Key=name, CopySource={"Bucket": bucket, "Key": key})

    def delete(self, paths: Sequence[str]) -> None:
        for bucket, keys in _batches(paths, "s3"):
            with self._errors(f"s3://{bucket}/{keys[0]}"):
                asked = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
                for one in self._client.delete_objects(Bucket=bucket, Delete=asked).get("Errors", ()):
                    raise OSError(f"s3://{bucket}/{one['Key']}: cannot be deleted ({one['Code']})")


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _said(error: Any) -> str:
    said = error.response.get("Error", {})
    return f"{said.get('Code')}: {said.get('Message')}" if said.get("Message") else str(said.get("Code"))


# --------------------------------------------------------------------------------------------
# Google Cloud Storage

_GCS_CREDENTIALS: Final = (
    "give credentials: gcloud auth application-default login, or GOOGLE_APPLICATION_CREDENTIALS=FILE"
)


class GcsStore:
    """gs://bucket/name, by google-cloud-storage."""

    def __init__(self, path: str) -> None:
        try:
            from google.cloud import storage
        except ImportError:
            raise missing_extra(path) from None
        from google.cloud.storage.retry import DEFAULT_RETRY

        project = _option("project") or os.environ.get("GOOGLE_CLOUD_PROJECT")
        self._retry: Any = DEFAULT_RETRY.with_timeout(60)
        if os.environ.get("STORAGE_EMULATOR_HOST"):
            self._client: Any = storage.Client.create_anonymous_client()
            self._client.project = project
        else:
            self._client = storage.Client(project=project, credentials=_google_credentials(path))
        adapter = self._client._http.adapters.get("https://")  # a pool of ten connections is too few
        if adapter is not None:
            adapter.init_poolmanager(_AT_ONCE, _AT_ONCE)

    @contextlib.contextmanager
    def _errors(self, path: str, sought: str = "file") -> Iterator[None]:
        from google.api_core import exceptions
        from google.auth.exceptions import GoogleAuthError
        from requests.exceptions import RequestException

        try:
            yield
        except exceptions.NotFound:
            if sought == "bucket":
                raise InputError(f"{path}: there is no bucket {_key(path)[0]}") from None
            raise FileNotFoundError(f"{path}: no such file") from None
        except (exceptions.Forbidden, exceptions.Unauthorized, GoogleAuthError) as error:
            raise InputError(f"{path}: the store refuses ({error}); {_GCS_CREDENTIALS}") from None
        except (exceptions.GoogleAPIError, RequestException, ValueError) as error:
            raise OSError(f"{path}: {error}") from None

    def _blob(self, path: str) -> Any:
        bucket, name = _key(path)
        return self._client.bucket(bucket).blob(name)

    def size(self, path: str) -> int:
        blob = self._blob(path)
        with self._errors(path):
            blob.reload(retry=self._retry, timeout=(5, 60))
        return int(blob.size)

    def listing(self, prefix: str, deep: bool = True) -> Iterator[tuple[str, int]]:
        bucket, name = _key(prefix)
        asked: dict[str, Any] = {} if deep else {"delimiter": "/"}
        with self._errors(prefix, "bucket"):
            for blob in self._client.list_blobs(bucket, prefix=name, retry=self._retry, timeout=(5, 60), **asked):
                yield f"gs://{bucket}/{blob.name}", int(blob.size)

    def read(self, path: str, start: int, end: int) -> bytes:
        from google.api_core import exceptions

        with self._errors(path):
            try:
                # stored bytes as they are: with gzip as its encoding an object would come unpacked
                data = self._blob(path).download_as_bytes(
                    start=start, end=end - 1, raw_download=True, retry=self._retry, timeout=(5, 60), checksum=None
                )
            except exceptions.RequestRangeNotSatisfiable:  # behind the end, as any byte of an empty file is
                return b""
        return bytes(data)

    def stream(self, path: str) -> BinaryIO:
        given = {"client": self._client, "blob_open_kwargs": {"raw_download": True, "retry": self._retry}}
        with self._errors(path):
            return cast(BinaryIO, smart_open.open(path, "rb", compression="disable", transport_params=given))

    def upload(self, path: str, stream: BinaryIO) -> None:
        with self._errors(path, "bucket"):
            self._blob(path).upload_from_file(stream, rewind=True, retry=self._retry, timeout=(5, 300))

    def put(self, path: str, data: bytes, version: str | None) -> str | None:
        from google.api_core import exceptions

        blob = self._blob(path)
        with self._errors(path, "bucket"):
            try:
                blob.upload_from_string(data, if_generation_match=int(version or 0), retry=self._retry, timeout=(5, 60))
            except exceptions.PreconditionFailed:
                return None
        return str(blob.generation)

    def version(self, path: str) -> str:
        blob = self._blob(path)
        with self._errors(path):
            blob.reload(retry=self._retry, timeout=(5, 60))
        return str(blob.generation)

    def copy(self, source: str, target: str) -> None:
        blob, aim = self._blob(source), self._blob(target)
        with self._errors(source):
            token, _, _ = aim.rewrite(blob, retry=self._retry, timeout=(5, 300))
            while token is not None:
                token, _, _ = aim.rewrite(blob, token=token, retry=self._retry, timeout=(5, 300))

    def delete(self, paths: Sequence[str]) -> None:
        from google.api_core import exceptions

        for bucket, names in _batches(paths, "gs"):
            with self._errors(f"gs://{bucket}/{names[0]}"):
                batch = self._client.batch(raise_exception=False)
                with batch:
                    for name in names:
                        self._client.bucket(bucket).delete_blob(name)
                for name, answer in zip(names, batch._responses, strict=True):
                    if answer.status_code >= 400 and answer.status_code != 404:
                        error = exceptions.from_http_response(answer)
                        raise OSError(f"gs://{bucket}/{name}: cannot be deleted ({error})")


def _google_credentials(path: str) -> Any:
    """This machine's credentials, tried out; InputError within seconds where there are none."""
    import google.auth
    from google.auth import impersonated_credentials as impersonated
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import Request

    found: list[Any] = []

    def look() -> None:
        try:
            scopes = ["https://www.googleapis.com/auth/cloud-platform"]
            credentials, _ = google.auth.default(scopes=scopes)
            if accounts := _option("impersonate_service_account"):
                *delegates, target = accounts.split(",")
                credentials = impersonated.Credentials(credentials, target, scopes, delegates)
            credentials.refresh(Request())
            found.append(credentials)
        except (GoogleAuthError, OSError) as error:
            found.append(error)

    thread = threading.Thread(target=look, daemon=True)  # off Google's machines it waits for their server
    thread.start()
    thread.join(_CREDENTIALS_WAIT)
    if not found or isinstance(found[0], Exception):
        said = str(found[0]).splitlines()[0].partition(" To set up")[0] if found else "none were found in time"
        raise InputError(f"{path}: no credentials that hold ({said}); {_GCS_CREDENTIALS}")
    return found[0]


# --------------------------------------------------------------------------------------------
# what else Beam opens


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


_KINDS: Final[dict[str, Callable[[str], Store]]] = {"s3": S3Store, "gs": GcsStore}
_STORES: Final[dict[tuple[str, int, tuple[Any, ...]], Store]] = {}
_LOCK: Final = threading.Lock()
