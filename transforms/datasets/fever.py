"""FEVER 1.0 and 2.0: claims that sentences of Wikipedia support or refute (fact checking).

Claims: https://fever.ai/dataset/fever.html (train.jsonl, paper_dev.jsonl, shared_task_dev.jsonl) and
https://fever.ai/dataset/adversarial.html (fever2-fixers-dev.jsonl); both are read by the same rule.
Evidence: the wiki-pages archive of the first address (wiki-001.jsonl to wiki-109.jsonl, June 2017).
Licence: CC BY-SA 3.0. One claim, whose two evidence sets are alternatives::

    {"id": 8, "verifiable": "VERIFIABLE", "label": "SUPPORTS", "claim": "Kites fly.",
     "evidence": [[[1, 1, "Kite_-LRB-toy-RRB-", 0], [1, 1, "Wind", 2]], [[2, 2, "Flight", 0]]]}

One page of the evidence files; its lines are ``number TAB sentence TAB link TAB link…``::

    {"id": "Kite_-LRB-toy-RRB-", "text": "…", "lines": "0\\tA kite is a toy .\\ttoy\\tToy\\n1\\t"}
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Final

from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.reasons import NO_ANSWER, NOT_ENOUGH_INFO
from kiltetl.schemas.records import Evidence, Example, ExampleOutput, ProvenanceMeta, SourcePage
from kiltetl.transforms.datasets.detokenize import brackets, treebank
from kiltetl.transforms.datasets.spec import Dataset, EvidenceFiles, Published, Row, Shape, SkipRow, id_of

LABELS: Final = ("SUPPORTS", "REFUTES")

_LINE = re.compile(r"([0-9]+)(?:\t([^\t]*)|$)")


def read(row: Row) -> Iterator[Example]:
    """One claim; each distinct evidence set is an output. An entry without page or sentence is none."""
    label = row.get("label")
    if label == "NOT ENOUGH INFO":
        raise SkipRow(NOT_ENOUGH_INFO)
    if label is None and not row.get("evidence"):
        raise SkipRow(NO_ANSWER)  # the published test files
    if label not in LABELS:
        raise MalformedRow(f"label is {label!r}, not SUPPORTS, REFUTES or NOT ENOUGH INFO")
    number, claim = id_of("id", row["id"]), row["claim"]
    if not isinstance(claim, str) or not claim.strip():
        raise MalformedRow(f"claim is {claim!r}, not a text")
    sets: dict[frozenset[tuple[str, int]], tuple[Evidence, ...]] = {}
    for given in row["evidence"]:
        facts = {_evidence(*fact): None for entry in given if (fact := _fact(entry)) is not None}
        by_place = {(one.source_page or "", one.sentence or 0): one for one in reversed(facts)}
        if facts:
            sets.setdefault(frozenset(by_place), tuple(one for one in facts if one in by_place.values()))
    outputs = tuple(ExampleOutput(label, evidence) for evidence in sets.values())
    yield Example(id=number, input=claim, outputs=outputs or (ExampleOutput(label),))


def _fact(entry: Any) -> tuple[str, int] | None:
    """Page and sentence of ``[annotation, evidence, page, sentence]``; None where either is null."""
    _, _, page, sentence = entry
    if page is None or sentence is None:
        return None
    if not isinstance(page, str) or not isinstance(sentence, int):
        raise MalformedRow(f"evidence {entry!r} is not [annotation, evidence, page, sentence]")
    return page, sentence


def _evidence(page: str, sentence: int) -> Evidence:
    composed = unicodedata.normalize("NFC", page)
    return Evidence(
        title=brackets(composed).replace("_", " "),
        source_page=composed,
        sentence=sentence,
        meta=ProvenanceMeta(fever_page_id=page, fever_sentence_id=sentence),
    )


def read_evidence(row: Row) -> Iterator[SourcePage]:
    """One page of wiki-pages; the empty rows the files start with are none."""
    page, lines = row["id"], row["lines"]
    if page:
        yield SourcePage(unicodedata.normalize("NFC", page), tuple(map(treebank, _sentences(lines))))


def _sentences(lines: str) -> Iterator[str]:
    """The sentences, numbered from 0 without a gap: a line without the next number continues a link list."""
    expected = 0
    for line in lines.split("\n"):
        found = _LINE.match(line)
        if found and int(found[1]) == expected:
            yield found[2] or ""
            expected += 1


DATASET = Dataset(
    name="fever",
    task="fact checking",
    read=read,
    evidence=EvidenceFiles(
        read_evidence,
        example='{"id": "Kite_-LRB-toy-RRB-", "text": "…", "lines": "0\\tA kite is a toy .\\ttoy\\tToy\\n1\\t"}',
        required=True,
    ),
    splits=("train", "validation", "test"),
    row_example='{"id": 8, "label": "SUPPORTS", "claim": "Kites fly.", "evidence": [[[1, 1, "Flight", 0]]]}',
    usage="`--source train.jsonl` is train, `shared_task_dev.jsonl` (of which `paper_dev.jsonl` is a half) and "
    "`fever2-fixers-dev.jsonl` are dev; `--evidence wiki-pages/wiki-*.jsonl`; the labels of test are kept "
    "back",
    licence="CC BY-SA 3.0",
    homepage="https://fever.ai/dataset/fever.html",
    leading_metric="accuracy",
    shape=Shape(span=("fever_page_id", "fever_sentence_id"), span_in_train=False),
    published=Published(
        size={"train": 104_966, "validation": 10_444, "test": 10_100},
        drop={"validation": 26.03, "test": 27.7},
        averages=(1.12, 1.35, 1.13, 1.0),
    ),
)
