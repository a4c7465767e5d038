"""What a finished job leaves beside its tables: the manifests, their names and what is in them.

A manifest is JSON. Its class here says which keys it has, of what type and what they mean; ``fits`` holds
one that was read against it, so that a damaged or foreign file is told before it is used.
"""

import types
import typing
from importlib.metadata import version
from typing import Annotated, Any, Final, Literal, TypedDict, TypeGuard, TypeVar

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


class Written(TypedDict):
    """What is known of a file when it has been written."""

    rows: Annotated[int, "Its rows; 0 of a file that is no table."]
    bytes: Annotated[int, "Its size."]
    sha256: Annotated[str, "Its SHA-256, hexadecimal."]


class _File(TypedDict):
    name: Annotated[str, "Its name in its folder."]
    rows: Annotated[int, "Its rows."]
    bytes: Annotated[int, "Its size."]


class FileEntry(_File, total=False):
    """A file of a table."""

    sha256: Annotated[str, "Its SHA-256, hexadecimal; not in older manifests."]


class _Input(TypedDict):
    name: Annotated[str, "Its name, without its folder."]
    size: Annotated[int, "Its bytes."]
    sha1: Annotated[str, "Its SHA-1, hexadecimal."]


class InputEntry(_Input, total=False):
    """A file that was read."""

    verified_against: Annotated[str | None, "Of a dump: the checksum file it was held against, null without one."]


class DumpEntry(TypedDict):
    """The dump of a knowledge source."""

    name: Annotated[str, "Name of its first file."]
    date: Annotated[str | None, "Its date, ISO 8601; null where the name does not say."]
    files: Annotated[int, "Number of its files."]


class SourceEntry(TypedDict):
    """The knowledge source that a table was mapped onto."""

    dump: Annotated[DumpEntry, "Its dump."]
    fingerprint: Annotated[str, "Its fingerprint."]


class _KnowledgeSource(TypedDict):
    kind: Annotated[Literal["knowledge-source"], "What it is the manifest of."]
    dump: Annotated[DumpEntry, "The dump."]
    site: Annotated[dict[str, Any], "What the wiki says of itself: the fields of Site."]
    versions: Annotated[dict[str, str], "Package to version."]
    parameters: Annotated[dict[str, Any], "What was asked for, by option."]
    inputs: Annotated[list[InputEntry], "The files of the dump."]
    fingerprint: Annotated[str, "Digest of input, parameters and versions."]
    counters: Annotated[dict[str, int], "Pages, rows, links and reasons, counted."]
    unknown_templates: Annotated[dict[str, int], "The 100 most frequent templates that left nothing."]
    files: Annotated[list[FileEntry], "The shards of all tables."]


class KnowledgeSourceManifest(_KnowledgeSource, total=False):
    """``manifest.json`` of a knowledge source."""

    index: Annotated[FileEntry, "The look-up made of the titles; not in older manifests."]


class _Task(TypedDict):
    kind: Annotated[Literal["tasks"], "What it is the manifest of."]
    dataset: Annotated[str, "Name of the dataset."]
    task: Annotated[str | None, "The kind of task, such as fact checking."]
    split: Annotated[str, "train, validation or test."]
    inputs: Annotated[list[InputEntry], "The files of the source."]
    knowledge_source: Annotated[SourceEntry | None, "What it was mapped onto; null for a dataset that names no page."]
    versions: Annotated[dict[str, str], "Package to version."]
    parameters: Annotated[dict[str, Any], "What was asked for, by option, and the signature of BLEU."]
    counters: Annotated[dict[str, int], "Rows, examples, sets and spans, counted."]
    skipped: Annotated[dict[str, int], "Rows left out by a rule, by reason."]
    rejected: Annotated[dict[str, int], "Losses and failures, by reason."]
    files: Annotated[list[FileEntry], "The shards of the table."]
    reject_files: Annotated[list[FileEntry], "The shards of its rejects."]


class TaskManifest(_Task, total=False):
    """``manifests/NAME-SPLIT.json`` of a table of records, whatever job wrote it."""

    # of a dataset that was mapped from its files
    option_files: Annotated[dict[str, str], "Mapped: option file to its SHA-1."]
    evidence: Annotated[list[dict[str, Any]], "Mapped: the evidence files, each with a digest of samples of it."]
    from_kilt: Annotated[bool, "Mapped: whether the source is a released file."]
    mkqa_provenance: Annotated[list[str] | None, "Mapped: SHA-1 of the shards that lent their provenance."]
    published: Annotated[dict[str, Any], "Mapped: the paper's size, share dropped and averages."]
    skipped_merging: Annotated[dict[str, int], "Mapped: examples left out when rows were merged, by reason."]
    sets: Annotated[dict[str, int], "Mapped: evidence sets, mapped or by the reason of their loss."]
    evidence_rows: Annotated[dict[str, int], "Mapped: rows of the evidence files."]
    released: Annotated[dict[str, int], "Mapped from released files: what became of their provenance."]
    borrowed: Annotated[dict[str, int], "Mapped: rows that took provenance of another dataset, or why not."]
    remarks: Annotated[dict[str, int], "Mapped: what the dataset remarks of its examples."]
    bleu: Annotated[dict[str, Any] | None, "Mapped: histogram of the best spans, and those nearest the threshold."]
    # of one that was annotated
    campaign: Annotated[dict[str, Any], "Annotated: agreement, control passages and averages."]
    flags: Annotated[str, "Annotated: name of the file with the records that need another look."]


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
