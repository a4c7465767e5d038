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


def passages(build: Path, folder: Path) -> Path:
    """The gold passages of the example's nq, as a retrieval system and two annotators would give them."""
    (shard,) = (build / "tasks" / "nq").glob("validation-*.parquet")
    rows = []
    for record in pq.read_table(shard).to_pylist():
        for span in (span for output in record["output"] for span in output["provenance"] or ()):
            place = {key: span[key] for key in ("wikipedia_id", "start_paragraph_id", "end_paragraph_id")}
            rows += [{"id": record["id"], **place, "annotator": who, "enough_evidence": True} for who in ("a", "b")]
    path = folder / "passages.jsonl"
    unique = {json.dumps(row): None for row in rows}
    path.write_text("\n".join(unique) + "\n")
    return path
