"""T-REx: facts of Wikidata, and the sentences of Wikipedia's introductions that state them (slot filling).

Files: https://hadyelsahar.github.io/t-rex/ (465 JSON files, each a list of documents). Licence:
CC BY-SA 4.0. One document, of which ``words_boundaries`` and most entities are left out here::

    {"docid": "http://www.wikidata.org/entity/Q42", "uri": "http://www.wikidata.org/entity/Q42",
     "title": "Kite Island", "text": "Kite Island is in Oz.", "sentences_boundaries": [[0, 21]], "entities": [],
     "triples": [{"sentence_id": 0, "dependency_path": null, "confidence": null, "annotator": "…",
       "subject": {"boundaries": [0, 11], "surfaceform": "Kite Island", "uri": "http://www.wikidata.org/entity/Q42"},
       "predicate": {"boundaries": null, "surfaceform": null, "uri": "http://www.wikidata.org/prop/direct/P17"},
       "object": {"boundaries": [18, 20], "surfaceform": "Oz", "uri": "http://www.wikidata.org/entity/Q7"}}]}

All facts of a subject and a relation are one record, whose id names both: ``Q42-P17``. Objects that
are no entities (dates, numbers) and facts that join a thing to itself are left out.

The files hold no labels. Without ``entity-labels`` a thing is called what sentences call it most
often, and has no aliases. T-REx is not split: 5,000 records each for validation and test are drawn
by a hash of the id (a share of 2,294,168, so about as many). A relation of fewer than 1,000 facts in
all the files is left out, unless ``relations`` names those to keep.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.reasons import NO_FACT, RARE_RELATION, TOO_MANY_PROVENANCES
from kiltetl.schemas.records import Evidence, Example, ExampleOutput, OutputMeta, TaskMeta
from kiltetl.transforms.datasets.detokenize import spaces
from kiltetl.transforms.datasets.hashing import SEED, stable_share
from kiltetl.transforms.datasets.spec import Dataset, Json, Merge, Options, Published, Row, Rule, Shape, SkipRow
from kiltetl.transforms.datasets.wikidata import PROPERTY_LABELS, property_labels

MAX_PROVENANCES: Final = 20
MIN_FACTS: Final = 1_000
HELD_OUT: Final = 5_000
RECORDS: Final = 2_294_168  # of the three splits
SEPARATOR: Final = " [SEP] "

# P17c is how early files write a claim of P17
_ENTITY = re.compile(r"(?:.*/)?(Q[0-9]+)")
_PROPERTY = re.compile(r"(?:.*/)?(P[0-9]+)[a-z]?")


@dataclass(frozen=True, slots=True)
class Names:
    """What option files say: labels of relations, label and aliases of entities, relations to keep."""

    relations: Mapping[str, str] = field(default_factory=lambda: PROPERTY_LABELS)
    entities: Mapping[str, Sequence[str]] = field(default_factory=dict)
    keep: frozenset[str] | None = None


def read(row: Row, names: Names | None = None) -> Iterator[Example]:
    """One example a triple of the document; equal ones once. ``merge`` makes records of them."""
    names = names or Names()
    title, text = row["title"], row["text"]
    if not isinstance(title, str) or not title.strip() or not isinstance(text, str):
        raise MalformedRow(f"title is {title!r}, or the document has no text")
    examples = dict.fromkeys(
        example for triple in row["triples"] if (example := _example(row, triple, names)) is not None
    )
    if not examples:
        raise SkipRow(NO_FACT)
    yield from examples


def _example(row: Row, triple: Any, names: Names) -> Example | None:
    subject, object_ = triple["subject"], triple["object"]
    about = _ENTITY.fullmatch(subject["uri"])
    relation = _PROPERTY.fullmatch(triple["predicate"]["uri"])
    answer = _ENTITY.fullmatch(object_["uri"])
    if about is None or relation is None or answer is None or about[1] == answer[1]:
        return None
    if names.keep is not None and relation[1] not in names.keep:
        return None
    called, answered = _surface(row["text"], subject), _surface(row["text"], object_)
    if not called or not answered:
        return None
    sentence = _sentence(row, triple)
    return Example(
        id=f"{about[1]}-{relation[1]}",
        input=f"{called}{SEPARATOR}{names.relations.get(relation[1], relation[1])}",
        outputs=(
            ExampleOutput(
                answered,
                (Evidence(row["title"].strip(), text=sentence),) if sentence else None,
                OutputMeta(entity=answer[1]),
            ),
        ),
        meta=TaskMeta(obj_surface=(answered,), sub_surface=(called,), subj_aliases=()),
    )


def _surface(text: str, entity: Any) -> str:
    """What the annotators call a mention (for a pronoun, what it stands for), else the text there."""
    form = entity.get("surfaceform")
    if form is None and entity.get("boundaries") is not None:
        start, end = entity["boundaries"]
        form = text[start:end]
    return spaces(form or "")


def _sentence(row: Row, triple: Any) -> str:
    """The sentence with the triple's number; where there is none, that which holds the object."""
    text, number, boundaries = row["text"], triple.get("sentence_id"), row["sentences_boundaries"]
    if not isinstance(number, int) or not 0 <= number < len(boundaries):
        mention = realigned(text, triple["object"].get("boundaries"), triple["object"].get("surfaceform"))
        if mention is None:
            return ""
        inside = [i for i, (start, end) in enumerate(boundaries) if start <= mention[0] and mention[1] <= end]
        if not inside:
            return ""
        number = inside[0]
    start, end = boundaries[number]
    return spaces(text[start:end])


def realigned(text: str, boundaries: Sequence[int] | None, form: str | None, reach: int = 10) -> tuple[int, int] | None:
    """Where a mention stands in the text: its boundaries, or the nearest place, at most ``reach``
    characters away, that reads like its surface form. None where it is not there.

    >>> realigned("Used .45 in rounds", [5, 9], ".45")
    (5, 8)
    """
    if boundaries is None or not form:
        return None
    start = boundaries[0]
    for offset in sorted(range(-reach, reach + 1), key=abs):
        if start + offset >= 0 and text.startswith(form, start + offset):
            return start + offset, start + offset + len(form)
    return None


def key(example: Example) -> str:
    return example.id


def merge(examples: Sequence[Example], names: Names | None = None, at_most: int = MAX_PROVENANCES) -> Iterator[Example]:
    """One record of a subject and a relation, out of its triples in all documents.

    Object by object, in the order in which they came: an output for each sentence that states the
    fact, then the object's aliases, as answers without evidence. A fact of more than ``at_most``
    sentences is left out.
    """
    entities = (names or Names()).entities
    facts: dict[str, dict[Evidence, None]] = {}
    forms: dict[str, Counter[str]] = {}
    subject: Counter[str] = Counter()
    for example in examples:
        (output,) = example.outputs
        answer, form = str(output.meta.entity), str(output.answer)
        facts.setdefault(answer, {}).update(dict.fromkeys(output.evidence or ()))
        forms.setdefault(answer, Counter())[form] += 1
        subject.update(example.meta.sub_surface or ())
    kept = [answer for answer, evidence in facts.items() if len(evidence) <= at_most]
    if not kept:
        raise SkipRow(TOO_MANY_PROVENANCES)
    about, relation = examples[0].id.split("-")
    name, *aliases = entities.get(about) or (subject.most_common(1)[0][0],)
    outputs: list[ExampleOutput] = []
    for answer in kept:
        meta = OutputMeta(entity=answer)
        label, *others = entities.get(answer) or (forms[answer].most_common(1)[0][0],)
        outputs += [ExampleOutput(label, (evidence,), meta) for evidence in facts[answer]]
        if not facts[answer]:
            outputs.append(ExampleOutput(label, meta=meta))
        given = {output.answer for output in outputs}
        outputs += [ExampleOutput(other, meta=meta) for other in dict.fromkeys(others) if other not in given]
    yield Example(
        id=f"{about}-{relation}",
        input=name + SEPARATOR + examples[0].input.rpartition(SEPARATOR)[2],
        outputs=tuple(outputs),
        meta=TaskMeta(
            obj_surface=tuple(dict.fromkeys(form for answer in kept for form in forms[answer])),
            sub_surface=tuple(subject),
            subj_aliases=tuple(aliases),
        ),
    )


def split_of(example: Example, held_out: int = HELD_OUT, seed: int = SEED) -> str:
    """The split of a record; about ``held_out`` of ``RECORDS`` are in validation, as many in test."""
    place, share = stable_share(example.id, seed), held_out / RECORDS
    if place < share:
        return "validation"
    return "test" if place < 2 * share else "train"


def facts(example: Example) -> tuple[str, int]:
    """Relation and number of facts of a record."""
    return _relation(example), len({output.meta.entity for output in example.outputs})


def _relation(example: Example) -> str:
    return example.id.partition("-")[2]


def settle(dataset: Dataset, counts: Mapping[str, int], at_least: int = MIN_FACTS) -> Dataset:
    """The dataset without the relations of fewer than ``at_least`` facts."""
    assert dataset.merge is not None
    keep = frozenset(relation for relation, count in counts.items() if count >= at_least)
    return replace(dataset, merge=Merge(key, partial(_frequent, dataset.merge.merge, keep)))


def _frequent(
    merge: Callable[[Sequence[Example]], Iterator[Example]], keep: frozenset[str], examples: Sequence[Example]
) -> Iterator[Example]:
    records = list(merge(examples))
    if _relation(examples[0]) not in keep:
        raise SkipRow(RARE_RELATION)
    yield from records


def remark(example: Example) -> str | None:
    """That the input holds the id of a property, for no label is known."""
    return "relation without a label" if example.input.endswith(SEPARATOR + _relation(example)) else None


def configure(files: Mapping[str, Sequence[str]]) -> Dataset:
    """The dataset with labels, without the relations that are not named, or with other numbers in its rules."""
    keep = (
        frozenset(line.split("\t")[0].strip() for line in files["relations"] if line.strip())
        if "relations" in files
        else None
    )
    names = Names(
        relations=property_labels(files.get("relation-labels", ())),
        entities=_labels(files.get("entity-labels", ())),
        keep=keep,
    )
    at_least = _number(files, "min-facts", 0 if keep is not None else MIN_FACTS)
    held_out = _number(files, "held-out", HELD_OUT)
    if 2 * held_out > RECORDS:
        raise ValueError(f"held-out is {held_out:,}: dev and test together have at most {RECORDS:,}")
    merging = partial(merge, names=names, at_most=_number(files, "max-provenances", MAX_PROVENANCES))
    return replace(
        DATASET,
        read=partial(read, names=names),
        merge=Merge(key, merging, Rule(facts, partial(settle, at_least=at_least)) if at_least else None),
        split_of=partial(split_of, held_out=held_out, seed=_number(files, "seed", SEED)),
    )


def _number(files: Mapping[str, Sequence[str]], name: str, default: int) -> int:
    (text,) = files.get(name, (str(default),))
    if not re.fullmatch("[0-9]{1,9}", text):
        raise ValueError(f"{name} is {text!r}, not a whole number")
    return int(text)


def _labels(lines: Iterable[str]) -> dict[str, Sequence[str]]:
    found: dict[str, Sequence[str]] = {}
    for line in filter(str.strip, lines):
        entity, *labels = (part.strip() for part in line.split("\t"))
        labels = [label for label in labels if label]
        if not labels or not _ENTITY.fullmatch(entity):
            raise ValueError(f"{line!r} is not an entity, its label and aliases with tabs between them")
        found[entity] = tuple(labels)
    return found


DATASET = Dataset(
    name="trex",
    task="slot filling",
    read=read,
    source=Json("item"),
    merge=Merge(key, merge, Rule(facts, settle)),
    split_of=split_of,
    options=Options(
        configure,
        files={
            "relation-labels": "lines of a property and its label, such as P17<TAB>country, beside the built-in ones",
            "entity-labels": "lines of an entity, its label and aliases, such as Q30<TAB>United States<TAB>USA<TAB>US",
            "relations": "the relations to keep, one a line, such as P17 (default: those of min-facts or more)",
        },
        values={
            "max-provenances": f"sentences that a fact may have ({MAX_PROVENANCES})",
            "min-facts": f"facts that a relation must have ({MIN_FACTS:,}; 0 with relations)",
            "held-out": f"records in dev and in test, if there are {RECORDS:,} in all ({HELD_OUT:,})",
            "seed": f"of the split ({SEED})",
        },
    ),
    remark=remark,
    splits=("train", "validation", "test"),
    row_example='{"title": "Kite Island", "text": "Kite Island is in Oz.", "sentences_boundaries": [[0, 21]], '
    '"triples": [{"sentence_id": 0, "subject": {"boundaries": [0, 11], "surfaceform": "Kite Island", "uri": '
    '"http://www.wikidata.org/entity/Q42"}, "predicate": {"uri": "http://www.wikidata.org/prop/direct/P17"}, '
    '"object": {"boundaries": [18, 20], "surfaceform": "Oz", "uri": "http://www.wikidata.org/entity/Q7"}}]}',
    usage="every split: `--source 're-nlg_*.json'`, all of them, which a hash divides; `--file "
    "entity-labels=…`, `relation-labels=…` and `relations=…` as you need them; `--option min-facts=1000`, "
    "`max-provenances=20`, `held-out=5000` and `seed=0` are its rules",
    licence="CC BY-SA 4.0",
    homepage="https://hadyelsahar.github.io/t-rex/",
    leading_metric="accuracy",
    shape=Shape(("subj_aliases", "sub_surface", "obj_surface"), section_first=True),
    published=Published(
        size={"train": 2_284_168, "validation": 5_000, "test": 5_000},
        averages=(1.0, 1.68, 1.26, 5.29),
    ),
)
