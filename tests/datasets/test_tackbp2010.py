"""TAC-KBP 2010: labels to pages by the titles of a file of entities."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kiltetl.pipelines import knowledge_source, tasks
from kiltetl.schemas.records import Evidence
from kiltetl.transforms.datasets.tackbp2010 import DATASET, configure, entity_titles
from tests.support.adapters import one, why
from tests.support.miniwiki import Page, dump_xml

ENTITIES = ['{"kb_idx": "E1", "title": "Simon &amp; Garfunkel"}', "", '{"kb_idx": 2, "title": "new_York", "text": "…"}']
WIKI = [
    Page("Simon & Garfunkel", "They sang."),
    Page("New York City", "It is big."),
    Page("New York", "#REDIRECT [[New York City]]", redirect="New York City"),
]


def row(number: int, label: Any, **changes: Any) -> dict[str, Any]:
    given = {"query_id": f"EL{number}", "label_id": label, "context_left": "We saw", "mention": "them"}
    return given | {"context_right": "in May ."} | changes


def test_titles_of_the_entities() -> None:
    assert entity_titles(ENTITIES) == {"E1": "Simon & Garfunkel", "2": "New York"}
    for line in ("[]", "{", '{"kb_idx": "E1"}', '{"kb_idx": "E1", "title": 3}', '{"kb_idx": 1.5, "title": "A"}'):
        with pytest.raises(ValueError, match="line 3 is not an entity"):
            entity_titles(["", ENTITIES[0], line])


def test_a_label_is_looked_up_whatever_its_type() -> None:
    dataset = configure({"entities": ENTITIES})
    example = one(dataset, row(1, "E1", label_title="Something else"))
    assert example.input == "We saw [START_ENT] them [END_ENT] in May ."
    assert example.outputs[0].evidence == (Evidence("Simon & Garfunkel"),)
    meta = example.meta
    assert (meta.left_context, meta.mention, meta.right_context) == ("We saw", "them", "in May .")
    assert [one(dataset, row(2, label)).outputs[0].answer for label in (2, "2", " 2 ")] == ["New York"] * 3


@pytest.mark.parametrize("label", ["E9", "", "NIL", "NIL0042", None, -1])
def test_unmapped_labels_are_counted(label: Any) -> None:
    assert why(configure({"entities": ENTITIES}), row(1, label)) == "no-entity"


def test_without_entities_the_row_must_name_its_title() -> None:
    assert one(configure({}), row(1, "E1", label_title="R&amp;B")).outputs[0].answer == "R&B"
    problem = "the row has no label_title; name the file of the entities with --file entities=PATH"
    assert why(DATASET, row(1, "E1")) == problem


def test_through_the_pipeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wiki-20190801.xml").write_bytes(dump_xml(WIKI))
    ks, output = str(tmp_path / "ks"), str(tmp_path / "out")
    assert knowledge_source.main(["--dump", str(tmp_path / "wiki-20190801.xml"), "--output", ks, "--quiet"]) == 0
    (tmp_path / "entities.jsonl").write_text("\n".join([*ENTITIES, '{"kb_idx": "E3", "title": "Gone"}']))
    given = [row(1, "E1"), row(2, 2), row(3, "E3"), row(4, "NIL"), row(5, "E7")]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(one) + "\n" for one in given))
    arguments = ["--dataset", "tackbp2010", "--split", "test", "--source", str(tmp_path / "test.jsonl"), "--quiet"]
    arguments += ["--knowledge-source", ks, "--output", output]
    assert tasks.main(arguments) == 2
    assert "record 1: the row has no label_title; name the file" in capsys.readouterr().err
    assert tasks.main([*arguments, "--file", f"entities={tmp_path / 'entities.jsonl'}"]) == 0
    manifest = json.loads((tmp_path / "out" / "manifests" / "tackbp2010-test.json").read_text())
    assert manifest["skipped"] == {"no-entity": 2}
    assert manifest["rejected"] == {"page-not-in-knowledge-source": 1}
    found = pq.read_table(tmp_path / "out" / "tackbp2010" / "test-00000-of-00001.parquet").to_pylist()
    assert [(r["id"], r["output"][0]["answer"]) for r in found] == [
        ("EL1", "Simon & Garfunkel"),
        ("EL2", "New York City"),
    ]
    (span,) = found[1]["output"][0]["provenance"]
    assert (span["wikipedia_id"], span["meta"]["original_title"]) == ("2", "New York")

    (tmp_path / "entities.jsonl").write_text("E1\tSimon\n")
    assert tasks.main([*arguments, "--file", f"entities={tmp_path / 'entities.jsonl'}"]) == 2
    assert "entities.jsonl: line 1 is not an entity" in capsys.readouterr().err
