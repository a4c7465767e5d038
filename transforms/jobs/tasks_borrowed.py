"""Provenance for MKQA: its questions are Natural Questions', under the same ids.

An MKQA row gets the evidence sets of the mapped nq record with its id. They stand behind the answers, as
outputs that have a provenance alone, as nq's own long answers do: the evidence supports the question's
answer in whatever words, and which of the translated answers a span contains is not known. So the answers
stay as MKQA gives them, and an evaluation of retrieval finds the sets.

Only ids are joined. The tables are read row group by row group, the provenance where an id is wanted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from kiltetl.schemas.arrow import record_of
from kiltetl.schemas.reasons import NO_EVIDENCE, NOT_IN_NQ
from kiltetl.schemas.records import Output, OutputMeta, Provenance, Task
from kiltetl.transforms.files.shards import parquet_file

Sets: TypeAlias = tuple[tuple[Provenance, ...], ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """The Parquet files of mapped records, and of their rejects."""

    tasks: tuple[str, ...]
    rejects: tuple[str, ...]


def evidence_sets(tables: Tables, ids: set[str]) -> dict[str, Sets | str]:
    """For each id the distinct evidence sets of its record, or the reason why there are none."""
    found: dict[str, Sets | str] = dict.fromkeys(ids, NOT_IN_NQ)
    for row in _rows(tables.rejects, ("source_id", "reason"), ids):
        found[row["source_id"]] = row["reason"]
    for row in _rows(tables.tasks, ("id", "output"), ids):
        outputs = [record_of(Output, output) for output in row["output"]]
        reasons = [output.meta.unmapped_reason for output in outputs if output.meta.unmapped_reason]
        sets = _distinct(outputs) or (reasons or [NO_EVIDENCE])[0]
        if not isinstance(found[row["id"]], tuple):  # of an id in two splits the one that is mapped
            found[row["id"]] = sets
    return found


def _rows(paths: Sequence[str], columns: tuple[str, str], ids: set[str]) -> Iterator[dict[str, Any]]:
    """Rows of Parquet files whose first column is one of the ids; the second is read where there are some."""
    wanted = pc.SetLookupOptions(value_set=pa.array(sorted(ids), pa.string()))
    for path in paths:
        with parquet_file(path) as file:
            for group in range(file.num_row_groups):
                hits = pc.call_function("is_in", [file.read_row_group(group, columns=[columns[0]]).column(0)], wanted)
                if pc.any(hits).as_py():
                    yield from file.read_row_group(group, columns=list(columns)).filter(hits).to_pylist()


def _distinct(outputs: Sequence[Output]) -> Sets:
    """Evidence sets, each place in the pages once; of equal ones the first."""
    sets: dict[Any, tuple[Provenance, ...]] = {}
    for output in outputs:
        if output.provenance:
            places = tuple(
                (p.wikipedia_id, p.start_paragraph_id, p.start_character, p.end_paragraph_id, p.end_character)
                for p in output.provenance
            )
            sets.setdefault(places, output.provenance)
    return tuple(sets.values())


def with_sets(task: Task, sets: Sets) -> Task:
    """The record with the evidence sets as outputs of their own, behind its answers."""
    return replace(task, output=(*task.output, *(Output(None, OutputMeta(), one) for one in sets)))
