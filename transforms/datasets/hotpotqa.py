"""HotpotQA: questions whose answer needs sentences of two pages (open-domain QA).

Questions: https://hotpotqa.github.io (hotpot_train_v1.1.json, hotpot_dev_distractor_v1.json and
hotpot_dev_fullwiki_v1.json, each one JSON list). A distractor file carries the sentences in
``context``. A fullwiki file's context need not hold the pages of its supporting facts: their
sentences are looked up in the processed Wikipedia of October 2017
(https://hotpotqa.github.io/wiki-readme.html), the introductions or the whole pages.
Licence: CC BY-SA 4.0. One question (the columns of the Hugging Face copy are understood too)::

    {"_id": "5ab1", "question": "Are kites older than balloons?", "answer": "yes", "type": "comparison",
     "level": "easy", "supporting_facts": [["Kite", 0], ["Balloon", 1]],
     "context": [["Kite", ["Kites are old.", " They fly."]], ["Balloon", ["A toy.", " It is new."]]]}

One page of the processed Wikipedia; the introductions have one flat list as ``text``::

    {"id": 12, "url": "https://en.wikipedia.org/wiki?curid=12", "title": "Kite",
     "text": [["Kite"], ["Kites are <a href=\\"age\\">old</a>.", " They fly."]]}
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.reasons import NO_ANSWER
from kiltetl.schemas.records import Evidence, Example, ExampleOutput, SourcePage, TaskMeta
from kiltetl.transforms.datasets.detokenize import extracted, references
from kiltetl.transforms.datasets.spec import Dataset, EvidenceFiles, Json, Published, Row, Shape, SkipRow


def read(row: Row) -> Iterator[Example]:
    """One question; all its distinct supporting facts are one evidence set."""
    if row.get("answer") is None and not row.get("supporting_facts"):
        raise SkipRow(NO_ANSWER)  # the published test file
    number = row["id" if "id" in row and "_id" not in row else "_id"]
    question, answer = row["question"], row["answer"]
    for name, value in (("_id", number), ("question", question), ("answer", answer)):
        if not isinstance(value, str) or not value.strip():
            raise MalformedRow(f"{name} is {value!r}, not a text")
    context: dict[str, list[str]] = {}
    for title, sentences in _pairs(row.get("context") or (), "title", "sentences"):
        context.setdefault(_title(title), sentences)
    facts = {(_title(title), sentence): None for title, sentence in _pairs(row["supporting_facts"], "title", "sent_id")}
    evidence = tuple(_evidence(title, sentence, context.get(title, ())) for title, sentence in facts)
    yield Example(
        id=number,
        input=question,
        outputs=(ExampleOutput(answer, evidence or None),),
        meta=TaskMeta(level=row.get("level"), type=row.get("type")),
    )


def _pairs(given: Any, first: str, second: str) -> Iterable[tuple[Any, Any]]:
    """Pairs as HotpotQA gives them, or from two columns."""
    if isinstance(given, Mapping):
        return list(zip(given[first], given[second], strict=True))
    return [(one, other) for one, other in given]


def _title(title: Any) -> str:
    if not isinstance(title, str):
        raise MalformedRow(f"{title!r} is not the title of a page")
    return unicodedata.normalize("NFC", references(title))


def _evidence(title: str, sentence: Any, sentences: Iterable[str]) -> Evidence:
    """The text where the context has that sentence, else where to look it up."""
    if not isinstance(sentence, int):
        raise MalformedRow(f"the supporting fact of {title!r} has {sentence!r} as number of its sentence")
    text = extracted(dict(enumerate(sentences)).get(sentence, ""))
    return Evidence(title, text=text) if text else Evidence(title, source_page=title, sentence=sentence)


def read_evidence(row: Row) -> Iterator[SourcePage]:
    """One page of the processed Wikipedia. Sentences are numbered from the introduction's first."""
    title, text = row["title"], row["text"]
    if text and isinstance(text[0], list):
        text = text[1:] if text[0] == [title] else text
        text = [sentence for paragraph in text for sentence in paragraph]
    yield SourcePage(_title(title), tuple(map(extracted, text)))


DATASET = Dataset(
    name="hotpotqa",
    task="open-domain QA",
    read=read,
    source=Json("item"),
    evidence=EvidenceFiles(
        read_evidence, example='{"id": 12, "title": "Kite", "text": [["Kite"], ["Kites are old.", " They fly."]]}'
    ),
    splits=("train", "validation", "test"),
    row_example='{"_id": "5ab1", "question": "Are kites older than balloons?", "answer": "yes", "type": "comparison", '
    '"level": "easy", "supporting_facts": [["Kite", 0]], "context": [["Kite", ["Kites are old."]]]}',
    usage="`--source hotpot_train_v1.1.json` is train, `hotpot_dev_fullwiki_v1.json` or "
    "`hotpot_dev_distractor_v1.json` is dev; `--evidence` for fullwiki: `'*/wiki_*.bz2'` of the processed "
    "Wikipedia; the answers of test are kept back",
    licence="CC BY-SA 4.0",
    homepage="https://hotpotqa.github.io/",
    leading_metric="em",
    shape=Shape(),
    published=Published(
        size={"train": 88_869, "validation": 5_600, "test": 5_569},
        drop={"validation": 22.76, "test": 23.43},
        averages=(2.4, 1.0, 2.0, 1.0),
    ),
)
