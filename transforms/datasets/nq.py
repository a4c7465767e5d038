"""Natural Questions: questions people typed into a search engine, with one page each (open-domain QA).

Files: https://ai.google.com/research/NaturalQuestions/download (the simplified
v1.0-simplified_simplified-nq-train.jsonl.gz and v1.0-simplified_nq-dev-all.jsonl.gz, the original
nq-train-*.jsonl.gz and nq-dev-*.jsonl.gz); the test set was never public. Licence: CC BY-SA 3.0.
One simplified row, whose tokens are what single spaces separate::

    {"example_id": 5, "question_text": "is rome big", "document_text": "<P> Rome is big . </P>",
     "document_url": "https://en.wikipedia.org//w/index.php?title=Rome&amp;oldid=1",
     "annotations": [{"annotation_id": 10, "yes_no_answer": "YES", "short_answers": [],
                      "long_answer": {"start_token": 0, "end_token": 6, "candidate_index": 0}}]}

An original row has ``document_tokens`` (``{"token": "<P>", "html_token": true, …}``) instead of
``document_text``, a ``document_title``, and up to five annotations. -1 stands for no answer.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.reasons import NO_SHORT_ANSWER, SHORT_ANSWER_TOO_LONG
from kiltetl.schemas.records import Evidence, Example, ExampleOutput, ProvenanceMeta
from kiltetl.transforms.datasets.detokenize import is_tag_token, quotes, spaces
from kiltetl.transforms.datasets.spec import Dataset, Published, Row, Shape, SkipRow, id_of
from kiltetl.transforms.wiki.titles import normal_title, title_from_url

MAX_TOKENS: Final = 5


def read(row: Row) -> Iterator[Example]:
    """One question that has a short answer of at most five tokens; yes and no count as one token.

    Short answers come first, then long ones as outputs without an answer, both in the order of the
    annotations and once each. As in the released files, a short answer's evidence is its own text
    without meta, a short answer of more than five tokens stays without evidence, and each stretch
    of a short answer in several pieces is an answer. The evidence of yes or no is the long answer
    of the same annotation, which is then no output of its own.
    """
    tokens, title = _tokens(row), _title(row)
    question, number = row["question_text"], id_of("example_id", row["example_id"])
    if not isinstance(question, str) or not question.strip():
        raise MalformedRow(f"question_text is {question!r}, not a text")
    short: dict[tuple[str, str | None], ExampleOutput] = {}
    long: dict[str, ExampleOutput] = {}
    fewest: int | None = None
    for annotation in row["annotations"]:
        meta = ProvenanceMeta(
            annotation_id=str(annotation["annotation_id"]),
            yes_no_answer=annotation.get("yes_no_answer", "NONE"),
        )
        passage = spaces(quotes(" ".join(_words(tokens, annotation["long_answer"]))))
        support = (Evidence(title, text=passage, meta=meta),) if passage else None
        for span in annotation.get("short_answers", ()):
            words = _words(tokens, span)
            if words:
                fewest = min(len(words), fewest or len(words))
                answer = " ".join(words)
                evidence = (Evidence(title, text=spaces(quotes(answer))),) if len(words) <= MAX_TOKENS else None
                short.setdefault((answer, None), ExampleOutput(answer, evidence))
        if meta.yes_no_answer in ("YES", "NO"):
            fewest = 1
            answer = meta.yes_no_answer.lower()
            short.setdefault((answer, passage), ExampleOutput(answer, support))
        elif support:
            long.setdefault(passage, ExampleOutput(None, support))
    if fewest is None:
        raise SkipRow(NO_SHORT_ANSWER)
    if fewest > MAX_TOKENS:
        raise SkipRow(SHORT_ANSWER_TOO_LONG)
    yield Example(id=number, input=question, outputs=(*short.values(), *long.values()))


def _tokens(row: Row) -> Sequence[str | None]:
    """The document's tokens, None for markup."""
    if "document_tokens" in row:
        return [None if token["html_token"] else token["token"] for token in row["document_tokens"]]
    return [None if is_tag_token(token) else token for token in row["document_text"].split(" ")]


def _title(row: Row) -> str:
    """The page that the address names, else the document's own title."""
    try:
        return title_from_url(row["document_url"])[0]
    except (KeyError, ValueError):
        if not row.get("document_title"):
            raise MalformedRow("neither document_url nor document_title names a page") from None
        return normal_title(row["document_title"])


def _words(tokens: Sequence[str | None], span: Any) -> list[str]:
    """The words of a span, without markup; none for -1."""
    start, end = span["start_token"], span["end_token"]
    if start < 0 or end < 0:
        return []
    if not start <= end <= len(tokens):
        raise MalformedRow(f"an answer at tokens {start} to {end} is outside its document of {len(tokens)} tokens")
    return [token for token in tokens[start:end] if token]


DATASET = Dataset(
    name="nq",
    task="open-domain QA",
    read=read,
    splits=("train", "validation", "test"),
    row_example='{"example_id": 5, "question_text": "is rome big", "document_text": "<P> Rome is big . </P>", '
    '"document_url": "https://en.wikipedia.org//w/index.php?title=Rome&amp;oldid=1", "annotations": '
    '[{"annotation_id": 10, "yes_no_answer": "YES", "long_answer": {"start_token": 0, "end_token": 6}, '
    '"short_answers": []}]}',
    usage="`--source v1.0-simplified_simplified-nq-train.jsonl.gz` (or `'nq-train-*.jsonl.gz'`) is train, "
    "`'nq-dev-*.jsonl.gz'` (or `v1.0-simplified_nq-dev-all.jsonl.gz`) is dev; test was never public",
    licence="CC BY-SA 3.0",
    homepage="https://ai.google.com/research/NaturalQuestions/download",
    annotated=True,
    leading_metric="em",
    shape=Shape(("partial_evidence",), span=("yes_no_answer", "annotation_id", "evidence_span")),
    published=Published(
        size={"train": 87_372, "validation": 2_837, "test": 1_444},
        drop={"validation": 16.12, "test": 15.59},
        averages=(1.0, 3.22, 1.57, 2.08),
    ),
)
