"""Amazon S3, and what speaks its language, by boto3."""

import contextlib
import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Final, cast

import smart_open

from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.store import AT_ONCE, batches, key_of, missing_extra, option

_WHOLE: Final = 256 << 20  # bytes that one request uploads
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
            "region_name": option("s3_region_name"),
            "api_version": option("s3_api_version"),
            "endpoint_url": option("s3_endpoint_url"),
            "aws_access_key_id": option("s3_access_key_id"),
            "aws_secret_access_key": option("s3_secret_access_key"),
            "aws_session_token": option("s3_session_token"),
            "verify": option("s3_verify"),
        }
        config = Config(
            connect_timeout=5, read_timeout=60, retries={"max_attempts": 5, "mode": "standard"},
            max_pool_connections=AT_ONCE,
        )  # fmt: skip
        self._whole = TransferConfig(multipart_threshold=_WHOLE, multipart_chunksize=_WHOLE)
        with self._errors(path):
            self._client: Any = Session().client(
                "s3",
                use_ssl=not option("s3_disable_ssl"),
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
                raise InputError(f"{path}: there is no bucket {key_of(path)[0]}") from None
            raise OSError(f"{path}: {_said(error)}") from None
        except (NoCredentialsError, PartialCredentialsError) as error:
            raise InputError(f"{path}: no credentials ({error}); {_S3_CREDENTIALS}") from None
        except (BotoCoreError, Boto3Error, ValueError) as error:
            raise OSError(f"{path}: {error}") from None

    def size(self, path: str) -> int:
        bucket, key = key_of(path)
        with self._errors(path):
            return int(self._client.head_object(Bucket=bucket, Key=key)["ContentLength"])

    def listing(self, prefix: str, deep: bool = True) -> Iterator[tuple[str, int]]:
        bucket, key = key_of(prefix)
        asked = {"Bucket": bucket, "Prefix": key} | ({} if deep else {"Delimiter": "/"})
        with self._errors(prefix):
            for page in self._client.get_paginator("list_objects_v2").paginate(**asked):
                yield from ((f"s3://{bucket}/{one['Key']}", int(one["Size"])) for one in page.get("Contents", ()))

    def read(self, path: str, start: int, end: int) -> bytes:
        bucket, key = key_of(path)
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
        bucket, key = key_of(path)
        with self._errors(path):
            self._client.upload_fileobj(stream, bucket, key, Config=self._whole)

    def put(self, path: str, data: bytes, version: str | None) -> str | None:
        from botocore.exceptions import ClientError

        bucket, key = key_of(path)
        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
        with self._errors(path):
            try:
                return str(self._client.put_object(Bucket=bucket, Key=key, Body=data, **condition)["ETag"])
            except ClientError as error:
                if _code(error) in _S3_CHANGED or (version is not None and _code(error) in _S3_ABSENT):
                    return None
                raise

    def version(self, path: str) -> str:
        bucket, key = key_of(path)
        with self._errors(path):
            return str(self._client.head_object(Bucket=bucket, Key=key)["ETag"])

    def copy(self, source: str, target: str) -> None:
        (bucket, key), (to, name) = key_of(source), key_of(target)
        with self._errors(source):
            self._client.copy_object(Bucket=to, Key=name, CopySource={"Bucket": bucket, "Key": key})

    def delete(self, paths: Sequence[str]) -> None:
        for bucket, keys in batches(paths, "s3"):
            with self._errors(f"s3://{bucket}/{keys[0]}"):
                asked = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
                for one in self._client.delete_objects(Bucket=bucket, Delete=asked).get("Errors", ()):
                    raise OSError(f"s3://{bucket}/{one['Key']}: cannot be deleted ({one['Code']})")


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _said(error: Any) -> str:
    said = error.response.get("Error", {})
    return f"{said.get('Code')}: {said.get('Message')}" if said.get("Message") else str(said.get("Code"))
