"""What a finished job leaves beside its tables: the manifests, their names and what is in them.

A manifest is JSON. Its class here says which keys it has and of what type; ``fits`` holds one that
was read against it, so that a damaged or foreign file is told before it is used.
"""

import types
import typing
from importlib.metadata import version
from typing import Any, Final, Literal, TypedDict, TypeGuard, TypeVar

from kiltetl.schemas import VERSION
from kiltetl.schemas.records import PageRow, ParagraphRow, Reject, TitleRow

TABLES: Final[dict[str, type]] = {
    "paragraphs": ParagraphRow,
    "pages": PageRow,
    "titles": TitleRow,
    "rejects": Reject,
}
INDEX: Final = "titles.arrow"  # the look-up made of the titles, beside the tables
MANIFEST: Final = "manifest.json"

Manifest = TypeVar("Manifest")


class FileEntry(TypedDict):
    """A shard: its name, its rows and its size in bytes."""

    name: str
    rows: int
    bytes: int


class _Input(TypedDict):
    name: str
    size: int
    sha1: str


class InputEntry(_Input, total=False):
    """A file that was read; the dump's say against which checksum file they were verified."""

    verified_against: str | None


class DumpEntry(TypedDict):
    """The dump of a knowledge source: name of its first file, ISO date, number of files."""

    name: str
    date: str | None
    files: int


class SourceEntry(TypedDict):
    """The knowledge source that a table was mapped onto."""

    dump: DumpEntry
    fingerprint: str


class KnowledgeSourceManifest(TypedDict):
    """``manifest.json`` of a knowledge source."""

    kind: Literal["knowledge-source"]
    dump: DumpEntry
    site: dict[str, Any]  # the fields of records.Site
    versions: dict[str, str]
    parameters: dict[str, Any]
    inputs: list[InputEntry]
    fingerprint: str  # of input and parameters
    counters: dict[str, int]
    unknown_templates: dict[str, int]
    files: list[FileEntry]


class _Task(TypedDict):
    kind: Literal["tasks"]
    dataset: str
    task: str | None
    split: str
    inputs: list[InputEntry]
    knowledge_source: SourceEntry | None
    versions: dict[str, str]
    parameters: dict[str, Any]
    counters: dict[str, int]
    skipped: dict[str, int]
    rejected: dict[str, int]
    files: list[FileEntry]
    reject_files: list[FileEntry]


class TaskManifest(_Task, total=False):
    """``manifests/NAME-SPLIT.json`` of a table of records, whatever job wrote it."""

    # of a dataset that was mapped from its files
    option_files: dict[str, str]  # name to SHA-1
    evidence: list[dict[str, Any]]
    from_kilt: bool
    mkqa_provenance: list[str] | None
    published: dict[str, Any]
    skipped_merging: dict[str, int]
    sets: dict[str, int]
    evidence_rows: dict[str, int]
    released: dict[str, int]
    borrowed: dict[str, int]
    remarks: dict[str, int]
    bleu: dict[str, Any] | None
    # of one that was annotated
    campaign: dict[str, Any]
    flags: str


def versions(*packages: str) -> dict[str, str]:
    """This package's version and those of others, for a manifest."""
    return {"kiltetl": VERSION} | {name: version(name) for name in packages}


def fits(value: Any, cls: type[Manifest]) -> TypeGuard[Manifest]:
    """Whether a JSON value has the keys and types of a manifest; keys that the class does not name may be there.

    >>> fits({"name": "a", "rows": 1, "bytes": 2}, FileEntry), fits({"name": "a", "rows": "1"}, FileEntry)
    (True, False)
    """
    return _fits(value, cls)


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if typing.is_typeddict(hint):
        hints: dict[str, Any] = typing.get_type_hints(hint)
        required: frozenset[str] = hint.__required_keys__
        return isinstance(value, dict) and required <= value.keys() and all(
            _fits(one, hints[key]) for key, one in value.items() if key in hints
        )  # fmt: skip
    if origin is Literal:
        return value in inner
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, one) for one in inner)
    if origin is list:
        return isinstance(value, list) and all(_fits(one, inner[0]) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(one, inner[1]) for one in value.values())
    if hint in (None, type(None)):
        return value is None
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
