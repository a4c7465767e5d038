"""ELI5: questions of a forum with long answers that explain (open-domain QA).

Made with https://github.com/facebookresearch/ELI5 out of public dumps of Reddit; the site's terms
apply to the texts, no file may be handed on. Licence: of the program BSD. Train has answers without
evidence; that of dev and test comes from the annotation campaign (``kiltetl annotations``).
The program writes one JSON list a split (explainlikeimfive_train.json, …); an object a line is read here,
which ``jq -c '.[]'`` makes of it. Two forms are about, and both are read, also mixed. Questions with all
their answers, best first::

    {"q_id": "1oy5tc", "title": "Why do kites fly?", "selftext": "", "subreddit": "explainlikeimfive",
     "answers": {"a_id": ["cd0a"], "text": ["Wind lifts them."], "score": [3]}}

and one answer with the web pages found for it::

    {"id": "1oy5tc", "question": "Why do kites fly?", "document": "<P> Wind …", "answer": "Wind lifts them."}
"""

from collections.abc import Iterator
from typing import Any, Final

from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.reasons import NO_ANSWER
from kiltetl.schemas.records import Example, ExampleOutput, OutputMeta
from kiltetl.transforms.datasets.spec import Dataset, Published, Row, Shape, SkipRow

REMOVED: Final = ("[removed]", "[deleted]")


def read(row: Row) -> Iterator[Example]:
    """One question; the input is its title alone. Answers that were removed or given twice are none."""
    if "q_id" in row:
        number, question, answers = row["q_id"], row["title"], row.get("answers")
    else:
        number, question, answers = row["id"], row["question"], row.get("answer")
    if not isinstance(number, str) or not number.strip():
        raise MalformedRow(f"id is {number!r}, not a text")
    if not isinstance(question, str) or not question.strip():
        raise MalformedRow(f"the question is {question!r}, not a text")
    outputs: dict[str, ExampleOutput] = {}
    for text, score in _answers(answers):
        if not isinstance(text, str) or not (score is None or isinstance(score, int)):
            raise MalformedRow(f"{text!r} with {score!r} votes is not a text with a number")
        if text.strip() and text.strip() not in REMOVED:
            outputs.setdefault(text, ExampleOutput(text, meta=OutputMeta(score=score)))
    if not outputs:
        raise SkipRow(NO_ANSWER)
    yield Example(id=number, input=question, outputs=tuple(outputs.values()))


def _answers(given: Any) -> Iterator[tuple[Any, Any]]:
    """Texts with their votes."""
    if isinstance(given, str):
        yield given, None
    elif given is not None:
        yield from zip(given["text"], given["score"], strict=True)


DATASET = Dataset(
    name="eli5",
    task="open-domain QA",
    read=read,
    splits=("train", "validation", "test"),
    row_example='{"q_id": "1oy5tc", "title": "Why do kites fly?", "selftext": "", "answers": {"a_id": ["cd0a"], '
    '"text": ["Wind lifts them."], "score": [3]}}',
    needs_knowledge_source=False,
    usage="`--source` is train: `explainlikeimfive_train.json`, which the program writes, an object a line (`jq "
    "-c '.[]'`); the evidence of dev is in KILT's own file: `--from-kilt eli5-dev-kilt.jsonl`",
    licence="Reddit's terms of use",
    homepage="https://github.com/facebookresearch/ELI5",
    annotated=True,
    long_answers=True,
    leading_metric="rougel",
    shape=Shape(("partial_evidence",), output=("score",), span=("evidence_span",)),
    published=Published(
        size={"train": 272_634, "validation": 1_507, "test": 600},
        averages=(1.0, 1.21, 1.18, 4.69),
    ),
)
