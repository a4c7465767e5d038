"""What examples/build.toml makes."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


@dataclass(frozen=True)
class ExampleBuild:
    """The folder that the examples were built into, and what ``kiltetl build`` printed."""

    output: Path
    printed: str

    def manifest(self, name: str) -> Any:
        return json.loads((self.output / name).read_bytes())

    def rows(self, pattern: str) -> list[dict[str, Any]]:
        return [row for path in sorted(self.output.glob(pattern)) for row in pq.read_table(path).to_pylist()]

    def tasks(self, dataset: str, split: str = "*") -> list[dict[str, Any]]:
        return self.rows(f"tasks/{dataset}/{split}-*.parquet")

    def titles(self) -> dict[str, dict[str, Any]]:
        return {row["title"]: row for row in self.rows("knowledge_source/titles-*")}
