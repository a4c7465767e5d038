"""Buckets, from servers on this machine: whole files, few requests, one writer, errors that say what to do."""

import hashlib
import http.server
import importlib.util
import io
import json
import os
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kiltetl.schemas.errors import InputError, RunFailed
from kiltetl.transforms.files import locks, store, store_gcs, stores
from kiltetl.transforms.files.checksums import digests, published_digest
from kiltetl.transforms.files.locks import locked
from kiltetl.transforms.files.paths import (
    FileInfo,
    check_filesystem,
    delete_files,
    delete_folder,
    exists,
    expand,
    file_size,
    file_sizes,
    join,
    list_folder,
    move_all,
)
from kiltetl.transforms.files.scratch import machine_copy
from kiltetl.transforms.files.stores import at_once, store_of
from kiltetl.transforms.files.streams import open_binary, open_whole, read_json, replacing, write_json, write_text
from tests.support.buckets import MemoryFileSystem


@pytest.fixture(params=["s3", "gs", "memory"])
def folder(request: pytest.FixtureRequest, buckets: dict[str, str]) -> str:
    """A folder of its own in a bucket."""
    root = buckets.get(request.param, f"{MemoryFileSystem.scheme()}://host")
    return f"{root}/{uuid.uuid4().hex}"


def test_files(folder: str) -> None:
    path = join(folder, "deep", "ü ñ [1].json")
    assert not exists(path)
    write_json(path, {"a": 1})
    assert exists(path)
    assert read_json(path) == {"a": 1}
    assert file_size(path) == len('{\n  "a": 1\n}\n')
    write_text(path, "new")
    write_text(join(folder, "deep", "er", "x"), "")
    assert file_sizes(join(folder, "deep")) == {"ü ñ [1].json": 3}
    assert list_folder(join(folder, "deep"), "*.json") == ["ü ñ [1].json"]
    assert list_folder(join(folder, "nothing")) == []
    assert expand([path]) == [FileInfo(path, 3)]
    assert read_text(join(folder, "deep", "er", "x")) == b""
    delete_files([path, join(folder, "none")])
    delete_files([path])
    assert file_sizes(join(folder, "deep")) == {}


def read_text(path: str) -> bytes:
    with open_binary(path) as stream:
        return stream.read()


def test_patterns(folder: str) -> None:
    for name in ("b.xml", "a.xml", "c.txt", "d/e.xml", "ab.xml"):
        write_text(join(folder, name), name)
    for pattern, found in (
        ("*.xml", ["a.xml", "ab.xml", "b.xml"]),
        ("?.xml", ["a.xml", "b.xml"]),
        ("[!a].xml", ["b.xml"]),
        ("**.xml", ["a.xml", "ab.xml", "b.xml", "d/e.xml"]),
        ("d/*", ["d/e.xml"]),
    ):
        infos = expand([join(folder, pattern)])
        assert [info.path.removeprefix(f"{folder}/") for info in infos] == found
        assert [info.size for info in infos] == list(map(len, found))
    with pytest.raises(InputError, match="no such file"):
        expand([join(folder, "*.gz")])
    with pytest.raises(InputError, match=r"none\.xml: no such file"):
        open_binary(join(folder, "none.xml"))


def test_a_file_is_whole_or_not_there(folder: str) -> None:
    path = join(folder, "x")
    with pytest.raises(ZeroDivisionError), replacing(path) as stream:  # noqa: PT012
        stream.write(b"half")
        raise ZeroDivisionError
    assert not exists(path)
    with replacing(path) as stream:
        stream.write(b"who")
        assert not exists(path)
        stream.write(memoryview(b"le"))
    assert read_text(path) == b"whole"
    assert file_sizes(folder) == {"x": 5}
    assert stream.written(3) == {"rows": 3, "bytes": 5, "sha256": hashlib.sha256(b"whole").hexdigest()}


def test_reading_at_any_place(folder: str) -> None:
    drawn = random.Random(5)
    data = drawn.randbytes(3 << 20)
    path = join(folder, "x.bin")
    with replacing(path) as stream:
        stream.write(data)
    with open_binary(path) as stream:
        for _ in range(60):
            start, size = drawn.randrange(len(data) + 10), drawn.choice([0, 1, 100, 70_000, 1 << 20])
            assert stream.seek(start) == start
            assert stream.read(size) == data[start : start + size]
        assert stream.seek(-3, io.SEEK_END) == len(data) - 3
        assert stream.read() == data[-3:]
    with open_whole(path) as stream:
        assert stream.read() == data
    with machine_copy(path) as one, machine_copy(path) as two:
        assert one == two
        assert Path(one).read_bytes() == data
    assert not Path(one).exists()


def test_what_is_published_beside_a_file(folder: str) -> None:
    write_text(join(folder, "x"), "x")
    write_text(join(folder, "SHA1SUMS"), f"{digests(join(folder, 'x'), ['sha1'])['sha1']}  x\n")
    found = published_digest(join(folder, "x"))
    assert found == ("sha1", digests(join(folder, "x"), ["sha1"])["sha1"], join(folder, "SHA1SUMS"))


def test_many_files_are_copied_and_deleted(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_DELETED_AT_ONCE", {"s3": 7, "gs": 7})  # so that more than one request deletes
    names = [f"part-{number:05d}" for number in range(20)]
    at_once(lambda name: write_text(join(folder, "staging", name), name), names)
    write_text(join(folder, "staging-other"), "not of the folder")
    move_all([(join(folder, "staging", name), join(folder, name)) for name in names])
    assert list(file_sizes(folder)) == [*names, "staging-other"]
    assert read_text(join(folder, names[7])) == names[7].encode()
    delete_folder(join(folder, "staging"))
    assert list(file_sizes(join(folder, "staging"))) == []
    assert list(file_sizes(folder)) == [*names, "staging-other"]
    delete_folder(folder)
    delete_folder(folder)
    assert file_sizes(folder) == {}


def test_an_address_has_one_client_a_process(buckets: dict[str, str]) -> None:
    for scheme in ("s3", "gs"):
        assert store_of(f"{scheme}://one/x") is store_of(f"{scheme}://two/y")


def test_the_first_error_of_many_ends_them() -> None:
    done = []

    def act(number: int) -> int:
        if number == 3:
            raise OSError("three")
        done.append(number)
        return number * 2

    assert at_once(act, [1, 2]) == [2, 4]
    with pytest.raises(OSError, match="three"):
        at_once(act, range(200))


# --------------------------------------------------------------------------------------------
# one writer


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "BEAT", 0.02)
    monkeypatch.setattr(locks, "DEAD", 0.3)


@pytest.fixture(params=["s3", "memory"])  # Google's emulator writes without looking at conditions
def place(request: pytest.FixtureRequest, buckets: dict[str, str]) -> str:
    root = buckets.get(request.param, f"{MemoryFileSystem.scheme()}://host")
    return f"{root}/{uuid.uuid4().hex}"


def test_one_writer_into_a_bucket(place: str, quick: None) -> None:
    with locked(place, "tables"):
        assert json.loads(read_text(join(place, ".kiltetl-tables.lock")))["process"] == os.getpid()
        with (
            pytest.raises(InputError, match=rf"{place}: another run \(process {os.getpid()} on .*\) is writing tables"),
            locked(place, "tables"),
        ):
            pass
        with locked(place, "others"):
            pass
    assert file_sizes(place) == {}
    with locked(place, "tables"):
        pass


def test_a_lock_of_a_killed_run_is_taken_over(place: str, quick: None) -> None:
    for left in ('{"process": 3, "machine": "m"}', "{", ""):
        write_text(join(place, ".kiltetl-tables.lock"), left)
        with locked(place, "tables"):
            assert json.loads(read_text(join(place, ".kiltetl-tables.lock")))["process"] == os.getpid()
        assert file_sizes(place) == {}


def test_of_many_that_take_over_one_gets_it(place: str, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    if place.startswith("memory"):
        pytest.skip("without conditional writes there is no promise")
    write_text(join(place, ".kiltetl-tables.lock"), "left")
    at_work, most, got = 0, 0, 0
    guard = threading.Lock()

    def work() -> None:
        nonlocal at_work, most, got
        try:
            with locked(place, "tables"):
                with guard:
                    at_work, got = at_work + 1, got + 1
                    most = max(most, at_work)
                time.sleep(1)
                with guard:
                    at_work -= 1
        except InputError:
            pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, got >= 1) == (1, True)


def test_a_lock_that_another_has_taken_is_said(place: str, quick: None) -> None:
    with (  # noqa: PT012
        pytest.raises(RunFailed, match="lost the lock to another run while tables was written"),
        locked(place, "tables"),
    ):
        write_text(join(place, ".kiltetl-tables.lock"), "another's")
        time.sleep(0.3)
    assert read_text(join(place, ".kiltetl-tables.lock")) == b"another's"


def test_a_lock_whose_answer_was_lost_is_still_held(place: str, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store wrote the sign of life, and the client, which did not hear of it, tried again."""
    mine = store_of(place)
    real, lost = mine.put, []

    def put(path: str, data: bytes, version: str | None) -> str | None:
        if version is not None and not lost:
            lost.append(real(path, data, version))
        return real(path, data, version)

    monkeypatch.setattr(mine, "put", put)
    with locked(place, "tables"):
        time.sleep(0.2)
    assert lost
    assert file_sizes(place) == {}


def test_google_is_asked_for_a_generation(buckets: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    from google.api_core.exceptions import PreconditionFailed
    from google.cloud.storage import Blob

    asked: list[int] = []

    def upload(self: Any, data: bytes, if_generation_match: int, **_: Any) -> None:
        asked.append(if_generation_match)
        if if_generation_match == 7:
            raise PreconditionFailed("changed")

    monkeypatch.setattr(Blob, "upload_from_string", upload)
    monkeypatch.setattr(Blob, "generation", 9)
    mine = store_of(buckets["gs"])
    assert mine.put(f"{buckets['gs']}/x", b"", None) == "9"
    assert mine.put(f"{buckets['gs']}/x", b"", "9") == "9"
    assert mine.put(f"{buckets['gs']}/x", b"", "7") is None
    assert asked == [0, 9, 7]


# --------------------------------------------------------------------------------------------
# what is missing or wrong


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients as a new process makes them."""
    monkeypatch.setattr(stores, "_STORES", {})


ACTIONS: list[Callable[[str], Any]] = [
    lambda path: check_filesystem(path, write=True),
    lambda path: expand([path]),
    lambda path: expand([f"{path}*"]),
    lambda path: write_text(path, "x"),
    open_binary,
    lambda path: locked(path, "x").__enter__(),
]


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_bucket_that_is_not_there(scheme: str, action: Callable[[str], Any], buckets: dict[str, str]) -> None:
    with pytest.raises(InputError, match=rf"^{scheme}://no-such-bucket/x[^:]*: (there is no bucket|no such file)"):
        action(f"{scheme}://no-such-bucket/x")


@pytest.mark.parametrize("action", ACTIONS)
def test_no_credentials_for_amazon(
    action: Callable[[str], Any], buckets: dict[str, str], anew: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"^s3://b/x.*: no credentials \(.*\); set AWS_ACCESS_KEY_ID and AWS_SECRET"):
        action("s3://b/x")


@pytest.mark.parametrize("action", ACTIONS)
def test_wrong_credentials_for_amazon(
    action: Callable[[str], Any], buckets: dict[str, str], anew: None, refusing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", refusing)
    with pytest.raises(InputError, match=r"^s3://b/x.*: the store refuses \(.*\); set AWS_ACCESS_KEY_ID"):
        action("s3://b/x")


@pytest.mark.parametrize("action", ACTIONS)
def test_no_credentials_for_google(
    action: Callable[[str], Any], buckets: dict[str, str], anew: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("STORAGE_EMULATOR_HOST")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(InputError, match=r"^gs://b/x.*: no credentials that hold \(.*none.json.*\); give credentials"):
        action("gs://b/x")


def test_a_look_for_credentials_that_takes_too_long(
    buckets: dict[str, str], anew: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Off Google's machines their server does not answer."""
    import google.auth

    monkeypatch.delenv("STORAGE_EMULATOR_HOST")
    monkeypatch.setattr(store_gcs, "_CREDENTIALS_WAIT", 0.05)
    ended = threading.Event()

    def default(**_: object) -> None:
        ended.wait(10)
        raise OSError("no answer")

    monkeypatch.setattr(google.auth, "default", default)
    with pytest.raises(InputError, match=r"^gs://b/x: no credentials that hold \(none were found in time\); give"):
        expand(["gs://b/x"])
    ended.set()


def test_wrong_credentials_for_google(
    buckets: dict[str, str], anew: None, refusing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", refusing)
    for action in ACTIONS:
        with pytest.raises(InputError, match=r"^gs://b/x.*: the store refuses \(.*\); give credentials"):
            action("gs://b/x")


@pytest.fixture(scope="module")
def refusing() -> Iterator[str]:
    """A server that refuses everything."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b"" if self.command == "HEAD" else b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
            self.send_response(403)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer  # noqa: N815

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("path", "extra", "module"),
    [
        ("gs://bucket/x", "kiltetl[gcp]", "google.cloud"),
        ("s3://bucket/x", "kiltetl[aws]", "boto3"),
        ("hdfs://host/x", "apache-beam[hadoop]", None),
    ],
)
def test_extras_that_are_missing(
    path: str, extra: str, module: str | None, anew: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case I9: before any work starts."""
    if module is not None:
        for name in [name for name in sys.modules if name == module or name.startswith(f"{module}.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, module, None)
    elif importlib.util.find_spec("hdfs") is not None:
        pytest.skip("hdfs is installed")
    for action in ACTIONS:
        with pytest.raises(InputError) as error:
            action(path)
        assert str(error.value).endswith(f": reading or writing it needs an extra: pip install '{extra}'")


@pytest.mark.parametrize("path", ["ftp://host/x", "file:///tmp/x", "abfs://x/y"])
def test_stores_that_nobody_knows(path: str, anew: None) -> None:
    for action in ACTIONS:
        with pytest.raises(InputError, match=rf"nothing here opens {path.partition(':')[0]}:// addresses; give"):
            action(path)


def test_a_deletion_that_fails_is_said(buckets: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = f"{buckets['s3']}/{uuid.uuid4().hex}"
    write_text(join(folder, "x"), "x")
    client = store_of(folder)._client  # type: ignore[attr-defined]
    answer = {"Errors": [{"Key": "x", "Code": "AccessDenied"}]}
    monkeypatch.setattr(client, "delete_objects", lambda **_: answer)
    with pytest.raises(OSError, match=r"/x: cannot be deleted \(AccessDenied\)"):
        delete_folder(folder)
