"""Checksums that are published beside a file, and those of what is read."""

import hashlib
from pathlib import Path

import pytest

from kiltetl.transforms.files.checksums import digests, published_digest, sample_digest
from kiltetl.transforms.files.paths import (
    FileInfo,
)

DIGESTS = {name: hashlib.new(name, b"data").hexdigest() for name in ("md5", "sha1", "sha256")}


@pytest.mark.parametrize(
    ("listing", "text", "algorithm"),
    [
        ("SHA256SUMS", "{sha256}  dump.xml.bz2\n", "sha256"),
        ("SHA1SUMS", "{sha1} *dump.xml.bz2\r\n", "sha1"),
        ("MD5SUMS", "# made today\n\n{md5}  ./sub/dump.xml.bz2", "md5"),
        ("xxwiki-20190801-sha1sums.txt", "{other}  other.xml.bz2\n{sha1}  dump.xml.bz2\n", "sha1"),
        ("xxwiki-20190801-md5sums.txt", "{md5}  dump.xml.bz2\n", "md5"),
        ("sha256sums.txt", "\ufeff{SHA256}  dump.xml.bz2\n", "sha256"),
        ("SHA256SUMS", "SHA256 (dump.xml.bz2) = {sha256}\n", "sha256"),
        ("SHA256SUMS", "{sha256}  notdump.xml.bz2\n{sha256}  dump.xml.bz2.part\n", None),
        ("SHA256SUMS", "{sha1}  dump.xml.bz2\n", None),
        ("SHA256SUMS", "<html>\x00 404 {sha256}</html>", None),
        ("SUMS", "{sha256}  dump.xml.bz2\n", None),
        ("notes-sha256.txt", "{sha256}  dump.xml.bz2\n", None),
    ],
)
def test_published_digests(listing: str, text: str, algorithm: str | None, tmp_path: Path) -> None:
    path = tmp_path / "dump.xml.bz2"
    path.write_bytes(b"data")
    text = text.format(**DIGESTS, SHA256=DIGESTS["sha256"].upper(), other="0" * 40)
    (tmp_path / listing).write_text(text, encoding="utf-8")
    (tmp_path / "sha1sums").mkdir()
    expected = None if algorithm is None else (algorithm, DIGESTS[algorithm], str(tmp_path / listing))
    assert published_digest(str(path)) == expected


def test_the_strongest_published_digest_is_taken(tmp_path: Path) -> None:
    for name in ("md5", "sha1", "sha256"):
        (tmp_path / f"{name}sums.txt").write_text(f"{DIGESTS[name]}  dump.xml\n")
    found = published_digest(str(tmp_path / "dump.xml"))
    assert found
    assert found[:2] == ("sha256", DIGESTS["sha256"])
    assert published_digest(str(tmp_path / "other.xml")) is None
    assert published_digest(str(tmp_path / "nowhere" / "dump.xml")) is None
    assert published_digest("https://host/dump.xml") is None


def test_published_digest_beside_a_bare_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("SHA1SUMS").write_text(f"{DIGESTS['sha1']}  dump.xml\n")
    assert published_digest("dump.xml") == ("sha1", DIGESTS["sha1"], "SHA1SUMS")


def test_digests(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"data")
    told: list[int] = []
    assert digests(str(path), ["md5", "sha1", "sha256"], told.append) == DIGESTS
    assert sum(told) == 4
    info = FileInfo(str(path), 4)
    assert sample_digest(info) == hashlib.sha1(b"datadata").hexdigest()
