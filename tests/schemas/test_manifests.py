"""What a finished job leaves: every manifest of the example build fits its class, and what does not fit is told."""

import json
from typing import Any, get_type_hints

import pytest

from kiltetl.schemas import VERSION
from kiltetl.schemas.manifests import (
    FileEntry,
    InputEntry,
    KnowledgeSourceManifest,
    SourceEntry,
    TaskManifest,
    fits,
    versions,
)
from kiltetl.schemas.splits import SPLITS, released_name, split_called, split_order
from tests.support.example_build import ExampleBuild

FILE = {"name": "a", "rows": 1, "bytes": 2}
SOURCE = {"dump": {"name": "d", "date": None, "files": 1}, "fingerprint": "f"}
TASK: dict[str, Any] = {
    "kind": "tasks", "dataset": "nq", "task": "open-domain QA", "split": "train", "inputs": [],
    "knowledge_source": SOURCE, "versions": {}, "parameters": {}, "counters": {"read": 1}, "skipped": {},
    "rejected": {}, "files": [FILE], "reject_files": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "cls", "right"),
    [
        (FILE, FileEntry, True),
        (FILE | {"more": 1}, FileEntry, True),
        (FILE | {"rows": "1"}, FileEntry, False),
        (FILE | {"rows": True}, FileEntry, False),
        (FILE | {"rows": 1.0}, FileEntry, False),
        ({"name": "a", "rows": 1}, FileEntry, False),
        ([FILE], FileEntry, False),
        (None, FileEntry, False),
        ({"name": "a", "size": 1, "sha1": "0"}, InputEntry, True),
        ({"name": "a", "size": 1, "sha1": "0", "verified_against": None}, InputEntry, True),
        ({"name": "a", "size": 1, "sha1": "0", "verified_against": 5}, InputEntry, False),
        (SOURCE, SourceEntry, True),
        (SOURCE | {"dump": {"name": "d", "date": 2019, "files": 1}}, SourceEntry, False),
        (TASK, TaskManifest, True),
        (TASK | {"knowledge_source": None}, TaskManifest, True),
        (TASK | {"knowledge_source": {}}, TaskManifest, False),
        (TASK | {"kind": "knowledge-source"}, TaskManifest, False),
        (TASK | {"files": [FILE, {}]}, TaskManifest, False),
        (TASK | {"counters": {"read": "1"}}, TaskManifest, False),
        (TASK | {"sets": {"mapped": 1}}, TaskManifest, True),
        (TASK | {"sets": []}, TaskManifest, False),
        (TASK | {"kind": "tasks"}, KnowledgeSourceManifest, False),
    ],
)
def test_what_fits(value: Any, cls: type, right: bool) -> None:
    assert fits(value, cls) is right


def test_versions() -> None:
    assert versions() == {"kiltetl": VERSION}
    assert set(versions("pyarrow")) == {"kiltetl", "pyarrow"}


def test_names_of_splits() -> None:
    assert [split_called(name) for name in ("train", "dev", "valid", "validation", "test", "Dev", "")] == [
        "train", "validation", "validation", "validation", "test", None, None,
    ]  # fmt: skip
    assert [released_name(split) for split in SPLITS] == ["train", "dev", "test"]
    assert sorted(["test", "b", "validation", "a", "train"], key=split_order) == [
        "train", "validation", "test", "a", "b",
    ]  # fmt: skip


def test_every_manifest_of_the_example_fits(example_build: ExampleBuild) -> None:
    """And the class names every key that is there."""
    manifest = json.loads((example_build.output / "knowledge_source" / "manifest.json").read_text())
    assert fits(manifest, KnowledgeSourceManifest)
    assert manifest.keys() == get_type_hints(KnowledgeSourceManifest).keys()
    paths = sorted((example_build.output / "tasks" / "manifests").glob("*.json"))
    assert len(paths) > 20
    for path in paths:
        task = json.loads(path.read_text())
        assert fits(task, TaskManifest), path.name
        assert task.keys() <= get_type_hints(TaskManifest).keys(), path.name
