"""TriviaQA: quiz questions with the names that count as right (open-domain QA).

Files: https://nlp.cs.washington.edu/triviaqa/ (qa/wikipedia-train.json, wikipedia-dev.json; the
answers of wikipedia-test-without-answers.json are kept back). Licence: Apache-2.0. Each file is one
JSON object whose ``Data`` is a list of questions::

    {"QuestionId": "tc_3", "Question": "Where in England was Judi Dench born?",
     "Answer": {"Value": "York", "Aliases": ["York, UK", "York"], "NormalizedAliases": ["york uk", "york"]},
     "EntityPages": [{"DocSource": "TagMe", "Filename": "Judi_Dench.txt", "Title": "Judi Dench"}]}
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.reasons import NO_ANSWER, NO_PAGE
from kiltetl.schemas.records import Evidence, Example, ExampleOutput, OutputMeta
from kiltetl.transforms.datasets.detokenize import references, spaces
from kiltetl.transforms.datasets.spec import Dataset, Json, Published, Row, Shape, SkipRow, texts_of
from kiltetl.transforms.wiki.titles import normal_title, title_from_url

# the English Wikipedia, and that in simple English, whose pages have the same titles
_ENGLISH = re.compile(r"\s*(?:https?:)?(?://)?(?:(?:www|en|simple)\.)?(?:m\.)?wikipedia\.org/", re.IGNORECASE)


def read(row: Row) -> Iterator[Example]:
    """One question: ``Value``, ``Aliases`` and ``NormalizedAliases``, once each, an output for each page.

    The evidence is the answer itself, to be found on that page.
    """
    question, number = row["Question"], row["QuestionId"]
    if not isinstance(question, str) or not question.strip():
        raise MalformedRow(f"Question is {question!r}, not a text")
    if not isinstance(number, str) or not number.strip():
        raise MalformedRow(f"QuestionId is {number!r}, not a text")
    answer = row.get("Answer")
    if answer is None:
        raise SkipRow(NO_ANSWER)  # the published test file
    pages = list(dict.fromkeys(title for page in row["EntityPages"] if (title := _title(page))))
    aliases = [text for name in ("Aliases", "NormalizedAliases") for text in texts_of(name, answer.get(name))]
    given = (answer["Value"], *aliases)
    if not isinstance(given[0], str):
        raise MalformedRow(f"the answer is no text: {given[0]!r}")
    texts = [text for text in dict.fromkeys(given) if text.strip()]
    if not texts:
        raise MalformedRow("there is no answer")
    if not pages:
        raise SkipRow(NO_PAGE)
    outputs = [
        ExampleOutput(text, (Evidence(page, text=spaces(text)),), OutputMeta(is_primary=text == given[0]))
        for text in texts
        for page in pages
    ]
    yield Example(id=number, input=question, outputs=tuple(outputs))


def _title(page: Any) -> str | None:
    """The page's title, or what its address names; None for a page of another wiki, or without a name."""
    if not isinstance(page, Mapping):
        raise MalformedRow(f"an entity page is {page!r}, not an object")
    url = page.get("Url") or page.get("URL")
    if url and not _ENGLISH.match(url):
        return None
    if page.get("Title"):
        return normal_title(references(page["Title"])) or None
    try:
        return title_from_url(url)[0] if url else None
    except ValueError:
        return None


DATASET = Dataset(
    name="triviaqa",
    task="open-domain QA",
    read=read,
    source=Json("Data.item"),
    splits=("train", "validation", "test"),
    row_example='{"QuestionId": "tc_3", "Question": "Where was Judi Dench born?", "Answer": {"Value": "York", '
    '"Aliases": ["York, UK"], "NormalizedAliases": ["york uk"]}, "EntityPages": [{"Title": "Judi Dench"}]}',
    usage="`--source qa/wikipedia-train.json` is train, `qa/wikipedia-dev.json` is dev; the answers of test are "
    "kept back; the archive's `evidence/` is not needed",
    licence="Apache-2.0",
    homepage="https://nlp.cs.washington.edu/triviaqa/",
    leading_metric="em",
    shape=Shape(has_input=False, file_suffix="_id"),
    published=Published(
        size={"train": 61_844, "validation": 5_359, "test": 6_586},
        drop={"validation": 15.06, "test": 14.41},
        averages=(1.0, 3.39, 1.68, 28.67),
    ),
)
