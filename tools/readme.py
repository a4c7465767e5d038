"""The parts of README, CONTRIBUTING and docs/ that are made: by the example build, and by what the code says.

``python -m tools.readme`` writes what stands between their begin and end marks anew.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from kiltetl.pipelines import knowledge_source, tasks
from kiltetl.pipelines.arguments import Argument
from kiltetl.schemas import records
from kiltetl.schemas.arrow import markdown_of
from kiltetl.schemas.manifests import KnowledgeSourceManifest, TaskManifest
from kiltetl.schemas.records import PageRow, ParagraphRow, Reject, Task, TitleRow
from kiltetl.transforms.datasets import DATASETS
from tests.test_floors import FLOORS, MODULES

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
TABLES = {"paragraphs": ParagraphRow, "pages": PageRow, "titles": TitleRow, "rejects": Reject, "tasks": Task}
MANIFESTS: dict[str, type] = {"knowledge source": KnowledgeSourceManifest, "task": TaskManifest}
SHOWN = ("hotpotqa", "validation")  # the table whose record is shown
MARK = re.compile(r"<!-- begin ([a-z -]+) -->\n(.*?)<!-- end \1 -->", re.DOTALL)


def build_example(output: Path) -> str:
    """Run the example build into a folder; what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "kiltetl", "build", str(ROOT / "examples" / "build.toml"), "--output", str(output)],
        env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.replace(str(output), "out").strip()


def blocks(output: Path, printed: str) -> dict[str, str]:
    """What stands between the marks of all pages, by name.

    Args:
        output: what the example build wrote.
        printed: what it printed.
    """
    found = {"build": fenced("", printed), "tables": outcome(output)}
    for name, row in example_rows(output).items():
        found[f"row {name}"] = fenced("json", json.dumps(row, ensure_ascii=False, indent=1))
        found[f"columns {name}"] = markdown_of(TABLES[name]).strip()
    for name, manifest in MANIFESTS.items():
        found[f"manifest {name}"] = table(("key", "type", "meaning"), manifest_rows(manifest))
    found["keys knowledge source"] = option_table(knowledge_source.ARGUMENTS)
    found["keys task"] = option_table(tasks.ARGUMENTS)
    found["datasets"] = dataset_table()
    found["glossary"] = table(("word", "meaning"), [(f"*{word}*", text) for word, text in glossary()])
    found["floors"] = table(("package", "what is in it", "stands on"), floor_rows())
    found["targets"] = table(("target", "what it does"), target_rows())
    return found


def fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def table(head: tuple[str, ...], rows: typing.Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


# --------------------------------------------------------------------------------------------
# what the example build wrote


def example_rows(output: Path) -> dict[str, Any]:
    """A row of each table."""
    source = output / "knowledge_source"
    rows = {name: pq.read_table(next(source.glob(f"{name}-*"))).to_pylist() for name in TABLES if name != "tasks"}
    task = pq.read_table(next((output / "tasks" / SHOWN[0]).glob(f"{SHOWN[1]}-*"))).to_pylist()[0]
    return {
        "paragraphs": next(row for row in rows["paragraphs"] if row["paragraph_id"] == 5),
        "pages": rows["pages"][0],
        "titles": next(row for row in rows["titles"] if row["is_redirect"] and row["fragment"]),
        "rejects": rows["rejects"][0],
        "tasks": _without_nulls(task),
    }


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def outcome(output: Path) -> str:
    """What a build leaves, with the rows of the example."""

    def rows(*patterns: str) -> str:
        return f"{sum(pq.read_metadata(path).num_rows for one in patterns for path in output.glob(one)):,}"

    return table(
        ("below `out/`", "a row is", "rows in the example"),
        [
            ("`knowledge_source/paragraphs-*.parquet`", "a title, heading, paragraph or list item, with its links",
             rows("knowledge_source/paragraphs-*")),
            ("`knowledge_source/pages-*.parquet`", "an article: categories, revision, number of rows",
             rows("knowledge_source/pages-*")),
            ("`knowledge_source/titles-*.parquet`", "a title or redirect, and the page it leads to",
             rows("knowledge_source/titles-*")),
            ("`tasks/NAME/SPLIT-*.parquet`", "a record: input, answers, provenance",
             rows(*(f"tasks/{name}/*.parquet" for name in DATASETS))),
            ("`rejects` of both", "what could not be used, and why",
             rows("knowledge_source/rejects-*", "tasks/rejects/*/*.parquet")),
            ("`manifest.json`, `tasks/manifests/`", "what was read, with which parameters, and all counts", ""),
            ("`report.html`, `report.json`", "your counts beside the published ones", ""),
        ],
    )  # fmt: skip


# --------------------------------------------------------------------------------------------
# what the code says


def dataset_table() -> str:
    return table(
        ("name", "task", "files", "what to give", "licence"),
        [(f"`{d.name}`", d.task, f"[homepage]({d.homepage})", d.usage, d.licence) for d in DATASETS.values()],
    )


def option_table(arguments: typing.Iterable[Argument]) -> str:
    """The options of a command and the keys of a configuration that they are."""
    return table(
        ("option", "key", "meaning"),
        [(f"`{one.flag}`", f"`{one.name}`", one.help) for one in arguments],
    )


def glossary() -> list[tuple[str, str]]:
    """The words of the project, from the table in the docstring of the records."""
    (_, rows, _) = re.split(r"^=+ +=+\n", records.__doc__ or "", flags=re.MULTILINE)
    return [(word, text) for word, text in (re.split(r"  +", line, maxsplit=1) for line in rows.splitlines())]


def manifest_rows(cls: type, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Key, type and meaning of a manifest and of what is inside it; a key that may be missing says so."""
    required: frozenset[str] = cls.__required_keys__  # type: ignore[attr-defined]
    for key, hint in typing.get_type_hints(cls, include_extras=True).items():
        plain, doc = hint.__origin__, hint.__metadata__[0]
        missing = "" if key in required else ", may be missing"
        yield f"`{prefix}{key}`", f"{_type_name(plain)}{missing}", doc
        members = typing.get_args(plain) if typing.get_origin(plain) in (list, types.UnionType) else (plain,)
        mark = "[]" if typing.get_origin(plain) is list else ""
        for member in members:
            if typing.is_typeddict(member):
                yield from manifest_rows(member, f"{prefix}{key}{mark}.")


def _type_name(hint: Any) -> str:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return " or ".join(f'"{value}"' for value in inner)
    if origin is types.UnionType:
        return ", ".join("null allowed" if one is type(None) else _type_name(one) for one in inner)
    if origin is list:
        return f"list of {_type_name(inner[0])}"
    names = {str: "text", int: "whole number", bool: "true or false", Any: "any value"}
    if origin is dict:
        return f"object of {_type_name(inner[1])}"
    return "object" if typing.is_typeddict(hint) else names[hint]


def floor_rows() -> Iterator[tuple[str, str, str]]:
    """Each package of the floor test: its docstring's first sentence, and the packages that it may import."""
    order = tuple(FLOORS)
    for package, below in FLOORS.items():
        doc = ast.get_docstring(MODULES[f"kiltetl.{package}"]) or ""
        sentence = " ".join(doc.partition("\n\n")[0].split()).replace("``", "`")
        everything = len(below) > 2 and set(below) == set(order[: order.index(package)])
        names = "every floor before it" if everything or "transforms" in below else ", ".join(map(_short, below))
        yield f"`{_short(package)}`", sentence, names or "nothing"


def _short(package: str) -> str:
    return package.removeprefix("transforms.")


def target_rows() -> Iterator[tuple[str, str]]:
    """The targets of the Makefile with their line of help."""
    for target, text in re.findall(r"^([a-z-]+):.*## (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE):
        yield f"`make {target}`", text


# --------------------------------------------------------------------------------------------
# the pages


def replaced(text: str, found: Mapping[str, str]) -> str:
    """A page with each part between its marks made anew; KeyError for marks of no part."""
    return MARK.sub(
        lambda match: f"<!-- begin {match[1]} -->\n{found[match[1]]}\n<!-- end {match[1]} -->",
        text,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "out")
        found = blocks(output, build_example(output))
    for page in PAGES:
        page.write_text(replaced(page.read_text("utf-8"), found), "utf-8")


if __name__ == "__main__":
    main()
