"""Google Cloud Storage, by google-cloud-storage."""

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Final, cast

import smart_open

from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.store import AT_ONCE, batches, key_of, missing_extra, option

_CREDENTIALS_WAIT: Final = 8.0  # seconds that a look for credentials may take
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

        project = option("project") or os.environ.get("GOOGLE_CLOUD_PROJECT")
        self._retry: Any = DEFAULT_RETRY.with_timeout(60)
        if os.environ.get("STORAGE_EMULATOR_HOST"):
            self._client: Any = storage.Client.create_anonymous_client()
            self._client.project = project
        else:
            self._client = storage.Client(project=project, credentials=_google_credentials(path))
        adapter = self._client._http.adapters.get("https://")  # a pool of ten connections is too few
        if adapter is not None:
            adapter.init_poolmanager(AT_ONCE, AT_ONCE)

    @contextlib.contextmanager
    def _errors(self, path: str, sought: str = "file") -> Iterator[None]:
        from google.api_core import exceptions
        from google.auth.exceptions import GoogleAuthError
        from requests.exceptions import RequestException

        try:
            yield
        except exceptions.NotFound:
            if sought == "bucket":
                raise InputError(f"{path}: there is no bucket {key_of(path)[0]}") from None
            raise FileNotFoundError(f"{path}: no such file") from None
        except (exceptions.Forbidden, exceptions.Unauthorized, GoogleAuthError) as error:
            raise InputError(f"{path}: the store refuses ({error}); {_GCS_CREDENTIALS}") from None
        except (exceptions.GoogleAPIError, RequestException, ValueError) as error:
            raise OSError(f"{path}: {error}") from None

    def _blob(self, path: str) -> Any:
        bucket, name = key_of(path)
        return self._client.bucket(bucket).blob(name)

    def size(self, path: str) -> int:
        blob = self._blob(path)
        with self._errors(path):
            blob.reload(retry=self._retry, timeout=(5, 60))
        return int(blob.size)

    def listing(self, prefix: str, deep: bool = True) -> Iterator[tuple[str, int]]:
        bucket, name = key_of(prefix)
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

        for bucket, names in batches(paths, "gs"):
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
            if accounts := option("impersonate_service_account"):
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
