"""MKQA: 10,000 queries of Natural Questions, asked and answered in 26 languages (open-domain QA).

File: https://github.com/apple/ml-mkqa (dataset/mkqa.jsonl.gz), one evaluation set. Licence: CC BY-SA 3.0.
One row, of whose languages two are shown; ``aliases`` and ``entity`` may be missing, ``text`` is
null for "No Answer"::

    {"example_id": -5, "query": "who made kites", "queries": {"en": "who made kites", "de": "wer erfand Drachen"},
     "answers": {"en": [{"type": "entity", "entity": "Q7", "text": "Lu Ban", "aliases": ["Gongshu Ban"]}],
                 "de": [{"type": "entity", "entity": "Q7", "text": "Lu Ban", "aliases": []}]}}
"""

from collections.abc import Iterator
from typing import Any, Final

from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.records import Example, ExampleOutput, OutputMeta, TaskMeta
from kiltetl.transforms.datasets.spec import Dataset, Published, Row, id_of, texts_of

_LANGUAGES = "ar da de en es fi fr he hu it ja km ko ms nl no pl pt ru sv th tr vi zh_cn zh_hk zh_tw"
LANGUAGES: Final = tuple(_LANGUAGES.split())
NO_ANSWER_TYPES: Final = ("unanswerable", "long_answer")


def read(row: Row) -> Iterator[Example]:
    """One example a language, in the order of ``LANGUAGES``."""
    number, queries, answers = id_of("example_id", row["example_id"]), row["queries"], row["answers"]
    for name, given in (("queries", queries), ("answers", answers)):
        if set(given) != set(LANGUAGES):
            missing, unknown = sorted(set(LANGUAGES) - set(given)), sorted(set(given) - set(LANGUAGES))
            raise MalformedRow(f"{name} lacks the languages {missing} and has the unknown ones {unknown}")
    yield from [_example(number, queries[language], answers[language], language) for language in LANGUAGES]


def _example(number: str, query: Any, answers: Any, language: str) -> Example:
    if not isinstance(query, str) or not query.strip():
        raise MalformedRow(f"the query in {language} is {query!r}, not a text")
    outputs: dict[str | None, ExampleOutput] = {}
    for answer in answers:
        kind, entity = answer["type"], answer.get("entity")
        texts = [answer["text"], *texts_of(f"aliases in {language}", answer.get("aliases"))]
        if not isinstance(texts[0], (str, type(None))):
            raise MalformedRow(f"an answer in {language} is no text: {texts[0]!r}")
        if kind in NO_ANSWER_TYPES or texts == [None]:
            outputs.setdefault(None, ExampleOutput(None, meta=OutputMeta(answer_type=kind, entity=entity)))
            continue
        for text in filter(None, texts):
            meta = OutputMeta(answer_type=kind, entity=entity, is_primary=not outputs)
            outputs.setdefault(text, ExampleOutput(text, meta=meta))
    if not outputs:
        raise MalformedRow(f"there is no answer in {language}")
    return Example(number, query, tuple(outputs.values()), TaskMeta(language=language), language)


DATASET = Dataset(
    name="mkqa",
    task="open-domain QA",
    read=read,
    splits=("validation",),
    row_example='{"example_id": -5, "query": "who made kites", "queries": {"en": "who made kites", …}, '
    '"answers": {"en": [{"type": "entity", "entity": "Q7", "text": "Lu Ban", "aliases": []}], …}}',
    needs_knowledge_source=False,
    needs_evidence=False,
    ids_of="nq",
    usage="`--source mkqa.jsonl.gz` is dev, the only split; `--mkqa-provenance TASKS` adds the evidence of nq, "
    "mapped before",
    licence="CC BY-SA 3.0",
    homepage="https://github.com/apple/ml-mkqa",
    published=Published(size={"validation": 260_000}),
)
