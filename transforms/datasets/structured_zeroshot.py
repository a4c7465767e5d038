"""Zero-Shot RE: what relation a sentence states, asked by questions that people wrote (slot filling).

Files: http://nlp.cs.washington.edu/zeroshot/ (Levy et al. 2017, https://arxiv.org/abs/1706.04115;
the folds of relation_splits: train.0, dev.0, test.0, …; repeated lines do no harm). Licence: none is
stated; the sentences of Wikipedia CC BY-SA. Tab-separated lines, not quoted: relation (a label or a Wikidata
property), question with XXX for the subject, subject (title of the page), sentence, and the answers; one
without answers is a negative example. ``parse`` makes a row of a line::

    {"line": "spouse\\tWho is XXX's wife?\\tLu Ban\\tLu Ban wed Lady Yun.\\tLady Yun"}

The questions of a relation and a subject become one record. Its split is its relation's, so that no
relation of validation or test is seen in training: the one that ``splits`` names, else one drawn by
a hash of the relation, so that of all relations in the files 84, 12 and 24 of 120 are in each split.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.reasons import NEGATIVE_EXAMPLE
from kiltetl.schemas.records import Evidence, Example, ExampleOutput, TaskMeta
from kiltetl.schemas.splits import split_called
from kiltetl.transforms.datasets.detokenize import spaces
from kiltetl.transforms.datasets.hashing import SEED, stable_id, stable_share
from kiltetl.transforms.datasets.spec import Dataset, Lines, Merge, Options, Published, Row, Rule, Shape, SkipRow, Text
from kiltetl.transforms.datasets.wikidata import PROPERTY_LABELS, property_labels

SEPARATOR: Final = " [SEP] "
SHARES: Final = {"train": 84, "validation": 12, "test": 24}


def parse(lines: Lines) -> Iterator[Row]:
    """A row a line that is not empty."""
    for line in lines:
        if line.strip():
            yield {"line": line}


def read(row: Row, labels: Mapping[str, str] = PROPERTY_LABELS) -> Iterator[Example]:
    """One question about a subject: its answers, all supported by the sentence."""
    fields = [field.strip() for field in row["line"].split("\t")]
    if len(fields) < 4 or not all(fields[:4]):
        raise MalformedRow(f"{len(fields)} columns, of which relation, question, subject and sentence may not be empty")
    relation, question, subject, sentence, *answers = fields
    answers = [answer for answer in dict.fromkeys(answers) if answer]
    if not answers:
        raise SkipRow(NEGATIVE_EXAMPLE)
    evidence = (Evidence(subject, text=spaces(sentence)),)
    asked = question.replace(" auther", " author").replace("XXX", subject)
    yield Example(
        id=stable_id(relation, subject),
        input=f"{subject}{SEPARATOR}{labels.get(relation, relation)}",
        outputs=tuple(ExampleOutput(answer, evidence) for answer in answers),
        meta=TaskMeta(template_questions=(asked,)),
    )


def key(example: Example) -> str:
    return example.id


def merge(examples: Sequence[Example]) -> Iterator[Example]:
    """One record of a relation and a subject: each answer once a sentence, each question once."""
    outputs = dict.fromkeys(output for example in examples for output in example.outputs)
    questions = dict.fromkeys(asked for example in examples for asked in example.meta.template_questions or ())
    yield replace(examples[0], outputs=tuple(outputs), meta=TaskMeta(template_questions=tuple(questions)))


def split_of(example: Example, splits: Mapping[str, str]) -> str:
    """The split of the example's relation; none, "", for a relation that has none."""
    return splits.get(_relation(example), "")


def _relation(example: Example) -> str:
    return example.input.rpartition(SEPARATOR)[2]


def records(example: Example) -> tuple[str, int]:
    """Relation of a record, and that it is one."""
    return _relation(example), 1


def settle(dataset: Dataset, counts: Mapping[str, int]) -> Dataset:
    """The dataset with the relations of its files divided."""
    return replace(dataset, split_of=partial(split_of, splits=relation_splits(counts)), merge=Merge(key, merge))


def relation_splits(relations: Iterable[str], seed: int = SEED) -> dict[str, str]:
    """Split of each relation: in the order of their hash, in the proportions 84 : 12 : 24."""
    ordered = sorted(set(relations), key=lambda relation: (stable_share(relation, seed), relation))
    found: dict[str, str] = {}
    total, end = sum(SHARES.values()), 0
    for split, share in SHARES.items():
        start, end = end, end + share
        part = ordered[start * len(ordered) // total : end * len(ordered) // total]
        found |= dict.fromkeys(part, split)
    return found


def configure(files: Mapping[str, Sequence[str]]) -> Dataset:
    """The dataset with other relation labels or a published split."""
    labels = property_labels(files.get("relation-labels", ()))
    if "splits" not in files:
        return replace(DATASET, read=partial(read, labels=labels))
    splits = dict[str, str]()
    for line in filter(str.strip, files["splits"]):
        relation, _, split = (part.strip() for part in line.partition("\t"))
        split = split_called(split) or split
        if split not in SHARES:
            raise ValueError(f"{line!r} is not a relation and train, validation or test with a tab between them")
        if splits.setdefault(labels.get(relation, relation), split) != split:
            raise ValueError(f"{line!r} contradicts an earlier line: a relation is in one split")
    named = partial(split_of, splits=splits)
    return replace(DATASET, read=partial(read, labels=labels), split_of=named, merge=Merge(key, merge))


DATASET = Dataset(
    name="structured_zeroshot",
    task="slot filling",
    read=read,
    source=Text(parse),
    merge=Merge(key, merge, Rule(records, settle)),
    split_of=partial(split_of, splits={}),
    options=Options(
        configure,
        files={
            "relation-labels": "lines of a property and its label, such as P26<TAB>spouse, beside the built-in ones",
            "splits": "lines of a relation and its split, such as P26<TAB>validation; others are left out",
        },
    ),
    splits=("train", "validation", "test"),
    row_example="spouse<TAB>Who is XXX's wife?<TAB>Lu Ban<TAB>Lu Ban wed Lady Yun.<TAB>Lady Yun",
    usage="every split: `--source train.0 dev.0 test.0` (or more folds) of `relation_splits`; which split a "
    "relation is in says `--file splits=…`, else a hash, in the proportions 84 : 12 : 24; `--file "
    "relation-labels=…` for further properties",
    licence="none stated; sentences of Wikipedia CC BY-SA",
    homepage="https://arxiv.org/abs/1706.04115",
    leading_metric="accuracy",
    shape=Shape(("template_questions",), empty_meta=True),
    published=Published(
        size={"train": 147_909, "validation": 3_724, "test": 4_966},
        drop={"validation": 15.42, "test": 13.38},
        averages=(1.0, 1.0, 1.0, 1.0),
    ),
)
