r"""AIDA CoNLL-YAGO: the named entities of 1,393 news stories, linked to Wikipedia (entity linking).

Files: https://www.mpi-inf.mpg.de/departments/databases-and-information-systems/research/ambiverse-nlu/aida/downloads
(AIDA-YAGO2-dataset.tsv, made by its tool from CoNLL-2003, or AIDA-YAGO2-annotations.tsv together with
CoNLL-2003's own eng.train, eng.testa and eng.testb). Licence: CC BY-SA 3.0 (annotations); the stories
are Reuters' (RCV1). Columns are separated by tabs: token, B or I, mention, YAGO's name, address of
the page, its id, Freebase's id; ``--NME--`` stands for an entity without a page::

    -DOCSTART- (1163testb SOCCER)
    New     B   New Rome        New_Rome        http://en.wikipedia.org/wiki/New_Rome   12      /m/01
    Rome    I   New Rome        New_Rome        http://en.wikipedia.org/wiki/New_Rome   12      /m/01
    won
    Doe     B   Doe     --NME--

and the row that ``parse`` makes of a mention::

    {"document": "1163testb SOCCER", "line": 2, "number": 0, "tokens": ["New", "Rome", "won", "Doe"],
     "start": 0, "end": 2, "entity": "New_Rome", "url": "http://en.wikipedia.org/wiki/New_Rome"}

A document of the annotations has a row for each mention, whose first column is the number of its
first token. An empty line, the end of a sentence, is an empty token in the text, which makes it two
spaces there, as in the released records. An id is the document's name and the number of the mention,
linked mentions counted from 0: what a released id has after its random part.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.reasons import NO_ENTITY
from kiltetl.schemas.records import Example
from kiltetl.transforms.datasets.mentions import SHAPE, mention_example
from kiltetl.transforms.datasets.spec import Dataset, Lines, Options, Published, Row, SkipRow, Text
from kiltetl.transforms.wiki.titles import normal_title, title_from_url

NO_PAGE: Final = "--NME--"
SPLITS: Final = {"testa": "validation", "testb": "test"}

_HEAD = re.compile(r"-DOCSTART-\s*\((.*)\)")
_NAME = re.compile(r"[0-9]+(testa|testb)\b")
_ESCAPES = re.compile(r"(?:\\u[0-9A-Fa-f]{4})+")


class Entity(NamedTuple):
    """One row of the annotations: where a mention starts, and what it is linked to."""

    token: int
    name: str
    url: str | None


Annotations = Mapping[str, Sequence[Entity]]


class Token(NamedTuple):
    """One line of a file of tokens; of an empty one the only column is empty."""

    line: int
    columns: list[str]


def read(row: Row) -> Iterator[Example]:
    """One mention that is linked to a page. Tokens are joined by a space."""
    if row.get("problem"):
        raise MalformedRow(row["problem"])
    if row["entity"] == NO_PAGE:
        raise SkipRow(NO_ENTITY)
    tokens, start, end = row["tokens"], row["start"], row["end"]
    left, mention, right = (" ".join(part) for part in (tokens[:start], tokens[start:end], tokens[end:]))
    yield mention_example(f"{row['document']}:{row['number']}", left, mention, right, _title(row))


def _title(row: Row) -> str:
    """The page that the address names, else the one that has YAGO's name."""
    try:
        return title_from_url(_decoded(row["url"] or ""))[0]
    except ValueError:
        title = normal_title(_decoded(row["entity"]))
        if not title:
            raise MalformedRow(f"line {row['line']}: neither an address nor a name of a page") from None
        return title


def _decoded(name: str) -> str:
    r"""YAGO's ``\u0027`` as the characters they stand for (UTF-16 code units)."""
    return _ESCAPES.sub(lambda found: bytes.fromhex(found[0].replace("\\u", "")).decode("utf-16-be"), name)


def split_of(example: Example) -> str:
    """The name of its document says it: "1 EU", "947testa CRICKET", "1163testb SOCCER"."""
    return _split(example.id)


def _split(name: str) -> str:
    found = _NAME.match(name)
    return SPLITS[found[1]] if found else "train"


# ---------------------------------------------------------------------------------------------
# mentions out of lines


def parse(lines: Lines, annotations: Annotations | None = None) -> Iterator[Row]:
    """A row a mention, the tokens of its document in it; with annotations, of CoNLL-2003's own lines.

    ValueError for a file that is not of this format.
    """
    place: str | None = None
    names = list(annotations or ())
    for head, tokens in _documents(lines):
        found = _HEAD.match(head)
        if annotations is None:
            if not found:
                raise ValueError(f"the document {head!r} has no name: tokens without entities need the annotations")
            yield from _mentions(found[1], tokens)
        else:
            name = found[1] if found else _next(names, annotations, place, tokens)
            if name not in annotations:
                raise ValueError(f"the annotations have no document {name!r}")
            yield from _joined(name, tokens, annotations[name])
            place = name


def _documents(lines: Lines) -> Iterator[tuple[str, list[Token]]]:
    """The head line of each document and what follows it."""
    head: str | None = None
    tokens: list[Token] = []
    for number, line in enumerate(lines, 1):
        line = (line.removeprefix("\ufeff") if number == 1 else line).rstrip()
        if line.startswith("-DOCSTART-"):
            if head is not None:
                yield head, tokens
            head, tokens = line, []
        elif line and head is None:
            raise ValueError(f"line {number}: {line[:60]!r} instead of -DOCSTART-")
        elif head is not None:
            tokens.append(Token(number, line.split("\t")))
    if head is not None:
        yield head, tokens


def _mentions(document: str, tokens: Sequence[Token]) -> Iterator[Row]:
    """The mentions that a document's columns mark: each B with the I that follow it."""
    words = [token.columns[0] for token in tokens]
    number = 0
    inside = False
    for start, (line, columns) in enumerate(tokens):
        mark = columns[1] if len(columns) > 1 else ""
        if not mark or (mark == "I" and inside):
            inside = mark == "I"
            continue
        inside = mark == "B"
        if not inside or not 4 <= len(columns) <= 7:
            problem = "I without B" if mark == "I" else f"{len(columns)} columns, the second is {mark!r}"
            yield {"document": document, "line": line, "problem": f"line {line}: {problem}"}
            continue
        end = start + 1
        while end < len(tokens) and tokens[end].columns[1:2] == ["I"]:
            end += 1
        entity, url = columns[3], columns[4] if len(columns) > 4 else None
        yield _row(document, line, number, words, start, end, entity, url)
        number += entity != NO_PAGE


def _row(
    document: str, line: int, number: int, words: Sequence[str], start: int, end: int, entity: str, url: str | None
) -> Row:
    row: dict[str, Any] = {"document": document, "line": line, "tokens": words, "start": start, "end": end}
    return row | {"entity": entity} | ({} if entity == NO_PAGE else {"number": number, "url": url})


# ---------------------------------------------------------------------------------------------
# annotations without tokens


def read_annotations(lines: Iterable[str]) -> Annotations:
    """The annotations by document, in the order of the file. ValueError for a line that is none."""
    found: dict[str, list[Entity]] = {}
    for head, rows in _documents(lines):
        name = _HEAD.match(head)
        if not name or name[1] in found:
            raise ValueError(f"{head!r} is not the name of a further document")
        entities = found[name[1]] = []
        for line, columns in rows:
            if columns == [""]:
                continue
            if len(columns) not in (2, 3, 4, 5) or not columns[0].isdecimal():
                raise ValueError(f"line {line}: not number of a token, entity, address, id and Freebase's id")
            entities.append(Entity(int(columns[0]), columns[1], columns[2] if len(columns) > 2 else None))
        entities.sort()
    return found


def _next(names: Sequence[str], annotations: Annotations, last: str | None, tokens: Sequence[Token]) -> str:
    """The document that tokens without a name are: the next one, or the first of a split."""
    heads = list({_split(name): name for name in reversed(names)}.values())[::-1]
    following = None if last is None else next(iter(names[names.index(last) + 1 :]), None)
    if following is not None and following not in heads:
        return following
    tags = [_tag(token) for token in tokens if token.columns != [""]]
    starts = {place for place, tag in enumerate(tags) if tag and not _continues(tag, tags[place - 1] if place else "")}
    candidates = heads if following is None else [following, *heads]
    fits = {name: _agreement(starts, {entity.token for entity in annotations[name]}) for name in candidates}
    best = max(candidates, key=lambda name: fits[name], default="")
    if not best or fits[best] < 0.5:
        raise ValueError(f"after document {last!r} come tokens that are those of none of {candidates}")
    return best


def _agreement(one: set[int], other: set[int]) -> float:
    """Share of what is in either that is in both."""
    return len(one & other) / max(1, len(one | other))


def _continues(tag: str, last: str) -> bool:
    """Whether a tag goes on with the named entity of the tag before it."""
    return tag.startswith("I") and tag[1:] == last[1:]


def _tag(token: Token) -> str:
    """The tag of a named entity in CoNLL-2003's last column, empty for none."""
    columns = " ".join(token.columns).split()
    return columns[-1] if len(columns) > 1 and columns[-1].startswith(("B-", "I-")) else ""


def _joined(document: str, tokens: Sequence[Token], entities: Sequence[Entity]) -> Iterator[Row]:
    """The mentions that annotations start, each as long as its named entity in the tokens."""
    words = [token.columns[0].partition(" ")[0] for token in tokens]
    places = [place for place, word in enumerate(words) if word]  # annotations count without empty lines
    tags = [_tag(tokens[place]) for place in places]
    starts = {entity.token for entity in entities}
    number = 0
    for token, entity, url in entities:
        if token >= len(tags) or not tags[token]:
            problem = f"document {document!r} has no named entity at token {token}"
            yield {"document": document, "line": None, "problem": problem}
            continue
        end = token + 1
        while end < len(tags) and end not in starts and places[end] == places[end - 1] + 1:
            if not _continues(tags[end], tags[end - 1]):
                break
            end += 1
        start = places[token]
        yield _row(document, tokens[start].line, number, words, start, start + end - token, entity, url)
        number += entity != NO_PAGE


def configure(files: Mapping[str, Sequence[str]]) -> Dataset:
    """The dataset for tokens of CoNLL-2003 with the entities of an annotations file."""
    if "annotations" not in files:
        return DATASET
    return replace(DATASET, source=Text(partial(parse, annotations=read_annotations(files["annotations"]))))


DATASET = Dataset(
    name="aidayago2",
    task="entity linking",
    read=read,
    source=Text(parse),
    split_of=split_of,
    splits=("train", "validation", "test"),
    options=Options(
        configure, files={"annotations": "AIDA-YAGO2-annotations.tsv, where the tokens are CoNLL-2003's own files"}
    ),
    row_example="Rome TAB B TAB Rome TAB Rome TAB http://en.wikipedia.org/wiki/Rome TAB 25458 TAB /m/06c62, "
    "after a line -DOCSTART- (1 EU)",
    usage="every split: `--source AIDA-YAGO2-dataset.tsv`, of which testa is dev and testb is test; or "
    "`--source eng.train`, `eng.testa` or `eng.testb` with `--file "
    "annotations=AIDA-YAGO2-annotations.tsv`",
    licence="CC BY-SA 3.0 (annotations)",
    homepage="https://www.mpi-inf.mpg.de/departments/databases-and-information-systems/research/ambiverse-nlu/aida/"
    "downloads",
    leading_metric="accuracy",
    shape=SHAPE,
    published=Published(
        size={"train": 18_395, "validation": 4_784, "test": 4_463},
        averages=(1.0, 1.0, 1.0, 1.0),
    ),
)
