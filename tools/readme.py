"""The parts of the README that are made: what the example build prints and writes, and what the code says.

``python -m tools.readme`` writes what stands between its begin and end marks anew.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from kiltetl.schemas.arrow import markdown_of
from kiltetl.schemas.records import PageRow, ParagraphRow, Reject, Task, TitleRow
from kiltetl.transforms.datasets import DATASETS

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
TABLES = {"paragraphs": ParagraphRow, "pages": PageRow, "titles": TitleRow, "rejects": Reject, "tasks": Task}


def build_example(output: Path) -> str:
    """Run the example build into a folder; what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from kiltetl.pipelines.build import main; sys.exit(main(sys.argv[1:]))",
         str(ROOT / "examples" / "build.toml"), "--output", str(output)],
        env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.replace(str(output), "out").strip()


def example_rows(output: Path) -> dict[str, Any]:
    """The rows that the README shows."""
    source = output / "knowledge_source"
    rows = {name: pq.read_table(next(source.glob(f"{name}-*"))).to_pylist() for name in TABLES if name != "tasks"}
    task = pq.read_table(next((output / "tasks" / "hotpotqa").glob("validation-*"))).to_pylist()[0]
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


def blocks(output: Path, printed: str) -> dict[str, str]:
    """What stands between the marks of the README, by name; of the example build's folder and what it printed."""
    found = {"build": f"```\n{printed}\n```"}
    for name, row in example_rows(output).items():
        found[f"row {name}"] = f"```json\n{json.dumps(row, ensure_ascii=False, indent=1)}\n```"
        found[f"table {name}"] = markdown_of(TABLES[name]).strip()
    found["datasets"] = dataset_table()
    return found


def dataset_table() -> str:
    lines = ["| name | task | files | what to give | licence |", "| --- | --- | --- | --- | --- |"]
    for d in DATASETS.values():
        lines.append(f"| `{d.name}` | {d.task} | [homepage]({d.homepage}) | {d.usage} | {d.licence} |")
    return "\n".join(lines)


def replaced(text: str, found: dict[str, str]) -> str:
    """The text with each named part between its marks; ValueError where a part has no marks."""
    for name, block in found.items():
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"no marks for {name!r}")
        text = pattern.sub(lambda match, block=block: f"{match[1]}{block}\n{match[2]}", text)  # type: ignore[misc]
    return text


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        README.write_text(replaced(README.read_text(), blocks(Path(folder), build_example(Path(folder)))))


if __name__ == "__main__":
    main()
