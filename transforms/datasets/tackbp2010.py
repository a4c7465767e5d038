"""TAC-KBP 2010: mentions in newswire and web text (entity linking; beside KILT's eleven datasets).

Files: the Linguistic Data Consortium's, LDC2018T16 (https://catalog.ldc.upenn.edu/LDC2018T16), as JSON
Lines. Licence: LDC's user agreement; no file may be handed on. One mention::

    {"query_id": "EL000001", "label_id": "E0001", "context_left": "They flew a",
     "mention": "kite", "context_right": "over the bay ."}

and one line of the option file ``entities``, the knowledge base whose titles the labels name::

    {"kb_idx": "E0001", "title": "Kite (toy)"}

Without that file the title is the row's own ``label_title``, which BLINK's files have. A label that
the file does not hold is a mention without a page, as an empty one or a NIL is.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.reasons import NO_ENTITY
from kiltetl.schemas.records import Example
from kiltetl.transforms.datasets.detokenize import references
from kiltetl.transforms.datasets.mentions import mention_example
from kiltetl.transforms.datasets.spec import Dataset, Options, Row, SkipRow
from kiltetl.transforms.wiki.titles import normal_title

UNLINKED: Final = ("", "-1")


def read(row: Row, titles: Mapping[str, str] | None = None) -> Iterator[Example]:
    """One mention that is linked to a page; ``titles`` are those of the labels."""
    number, label = _label(row["query_id"]), _label(row["label_id"])
    if not number:
        raise MalformedRow(f"query_id is {row['query_id']!r}")
    left, mention, right = (_text(row, name) for name in ("context_left", "mention", "context_right"))
    if titles is None and "label_title" not in row:
        raise MalformedRow("the row has no label_title; name the file of the entities with --file entities=PATH")
    if label in UNLINKED or label.startswith("NIL"):
        raise SkipRow(NO_ENTITY)
    title = _title(_text(row, "label_title")) if titles is None else titles.get(label, "")
    if not title:
        raise SkipRow(NO_ENTITY)
    yield mention_example(number, left, mention, right, title)


def _text(row: Row, name: str) -> str:
    text = row[name]
    if not isinstance(text, str):
        raise MalformedRow(f"{name} is {text!r}, not a text")
    return text


def _label(value: Any) -> str:
    """An id as text, however a file writes it; null is none."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise MalformedRow(f"{value!r} is no id")
    return str(value).strip()


def _title(written: str) -> str:
    """A title in normal form.

    >>> _title("R&amp;B_music")
    'R&B music'
    """
    return normal_title(references(written))


def entity_titles(lines: Sequence[str]) -> dict[str, str]:
    """Title by label of a file of entities. ``ValueError`` names a line that is none."""
    titles: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entity = json.loads(line)
            label, title = _label(entity["kb_idx"]), _title(entity["title"])
        except (ValueError, KeyError, TypeError, AttributeError, MalformedRow):
            raise ValueError(f'line {number} is not an entity such as {{"kb_idx": "E0001", "title": "Kite"}}') from None
        titles[label] = title
    return titles


def configure(files: Mapping[str, Sequence[str]]) -> Dataset:
    """The dataset with the titles of its labels."""
    if "entities" not in files:
        return DATASET
    return replace(DATASET, read=partial(read, titles=entity_titles(files["entities"])))


DATASET = Dataset(
    name="tackbp2010",
    task="entity linking",
    read=read,
    splits=("train", "validation", "test"),
    options=Options(
        configure,
        files={
            "entities": 'lines such as {"kb_idx": "E0001", "title": "Kite (toy)"}: the title that each label stands for'
        },
    ),
    row_example='{"query_id": "EL000001", "label_id": "E0001", "context_left": "They flew a", "mention": "kite", '
    '"context_right": "over the bay ."}',
    usage="`--source` the mentions of the split as JSON Lines; `--file entities=…` with the titles of their "
    "labels, unless the rows have `label_title`",
    licence="LDC user agreement",
    homepage="https://catalog.ldc.upenn.edu/LDC2018T16",
)
