"""KILT's figures of one record: downstream, retrieval and KILT scores (Petroni et al., 2021, section 4).

Equal to the released scorer (facebookresearch/KILT, eval_downstream and eval_retrieval) by default,
even where that is odd; ``strict=True`` gives the sensible reading of four points:

- an empty list ``provenance`` is no evidence set (the scorer counts one that cannot be reached);
- a ``wikipedia_id`` or other rank key that is null, or a paragraph -1, matches nothing (the scorer
  compares "None" with "None");
- a null answer is an empty one (the scorer reads the text "None").

A prediction is a record ``{"id", "output": [{"answer", "provenance": [{"wikipedia_id", …}]}]}``
with exactly one output, its pages in the order of their rank; a gold record is one of the released
files, or of the table of tasks. Every figure lies between 0 and 1.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

from kiltetl.schemas import VERSION
from kiltetl.schemas.errors import EvaluationError, MalformedRecord
from kiltetl.schemas.records import KiltScore
from kiltetl.transforms.metrics.scorer import Record
from kiltetl.transforms.metrics.text import best_rouge_l, squad_normal, squad_tokens, token_f1, without_punctuation

Pages: TypeAlias = tuple[str, ...]

KS: Final = (1, 5, 10, 20)
RANK_KEYS: Final = ("wikipedia_id",)

DOWNSTREAM: Final = ("accuracy", "em", "f1", "rougel")

NO_EVIDENCE: Final = "gold records without an evidence set"
NO_GOLD_ANSWER: Final = "gold records without an answer"
BLANK_GOLD: Final = "gold answers of which normalisation leaves nothing (EM is possible, F1 is 0)"
NO_ANSWER: Final = "predictions without an answer"
NULL_ANSWER: Final = "predictions whose answer is null"
NOT_TEXT: Final = "predictions whose answer is no text and was read as one"
NULL_PAGE: Final = "records with a page whose wikipedia_id is null"


@dataclass(frozen=True)
class Protocol:
    """How to score.

    Attributes:
        ks: the numbers of pages for the figures ``…@k``, each 1 or more.
        rank_keys: the keys of a provenance that tell one thing to retrieve from another, such as
            ``("wikipedia_id", "section")``. KILT scores look at pages whatever is given here.
        strict: see the module.
    """

    ks: tuple[int, ...] = KS
    rank_keys: tuple[str, ...] = RANK_KEYS
    strict: bool = False

    def __post_init__(self) -> None:
        if not self.ks or min(self.ks) < 1:
            raise EvaluationError(f"ks are whole numbers of 1 or more, not {list(self.ks)}")
        if not self.rank_keys:
            raise EvaluationError("one rank key at least is needed, such as wikipedia_id")
        object.__setattr__(self, "ks", tuple(sorted(set(self.ks))))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the figures, in the order of ``KiltScore.scores``."""
        names = [*DOWNSTREAM, *(f"KILT-{name}" for name in DOWNSTREAM), "Rprec", "entity_in_input"]
        for k in self.ks:
            names += [f"precision@{k}", *((f"recall@{k}", f"success_rate@{k}") if k > 1 else ())]
            names += [f"answer_in_context@{k}", f"answer_and_ent_in_context@{k}", f"entity_in_context@{k}"]
        return tuple(names)

    @property
    def signature(self) -> str:
        """How a figure was made, to be printed beside it."""
        parts = {
            "metric": "kilt",
            "mode": "strict" if self.strict else "official",
            "norm": "squad",
            "rougel": "rouge-1.0.1",
            "ks": ",".join(map(str, self.ks)),
            "keys": ",".join(self.rank_keys),
            "version": VERSION,
        }
        return "|".join(f"{key}:{value}" for key, value in parts.items())


@dataclass(frozen=True, slots=True)
class Gold:
    """What a gold record says, as far as scores need it.

    ``sets`` and ``page_sets`` hold one entry an output: its distinct ids by the rank keys and by
    page, in order; None where the output has no provenance.
    """

    id: str
    input: str
    answers: tuple[str, ...]
    sets: tuple[Pages | None, ...]
    page_sets: tuple[Pages | None, ...]
    titles: tuple[str, ...]
    notes: tuple[str, ...]


def read_id(record: Any, what: str, number: int) -> str:
    """The id of a record as it is compared: its text, without white space around it."""
    if not isinstance(record, Mapping):
        raise MalformedRecord(f"{what} record {number} is {_shown(record)}, not a JSON object")
    if record.get("id") is None:
        raise MalformedRecord(f"{what} record {number} has no id")
    return str(record["id"]).strip()


def read_gold(record: Record, id: str, protocol: Protocol) -> Gold:
    """What a gold record says. MalformedRecord, which names the id, if it is not of the format."""
    outputs = _outputs(record, "gold", id)
    answers: dict[str, None] = {}
    titles: dict[str, None] = {}
    sets: list[Pages | None] = []
    page_sets: list[Pages | None] = []
    notes: list[str] = []
    for output in outputs:
        answer = output.get("answer")
        text = "" if answer is None else str(answer).strip()
        if text:
            answers[text] = None
        provenance = _provenance(output, "gold", id)
        pages = None if provenance is None else _ids(provenance, RANK_KEYS, protocol.strict)
        page_sets.append(pages)
        same = protocol.rank_keys == RANK_KEYS or provenance is None
        sets.append(pages if same else _ids(provenance or (), protocol.rank_keys, protocol.strict))
        for one in provenance or ():
            if one.get("title") is not None:
                titles[str(one["title"])] = None
            if "wikipedia_id" in one and one["wikipedia_id"] is None and NULL_PAGE not in notes:
                notes.append(NULL_PAGE)
    if not any(page_sets):
        notes.append(NO_EVIDENCE)
    if not answers:
        notes.append(NO_GOLD_ANSWER)
    given = record.get("input")
    return Gold(
        id, "" if given is None else str(given), tuple(answers), tuple(sets), tuple(page_sets), tuple(titles),
        tuple(notes),
    )  # fmt: skip


def score_record(gold: Gold, prediction: Record, protocol: Protocol, position: int = 0) -> tuple[KiltScore, list[str]]:
    """Every figure of one record, and what is to be noted of its answers."""
    notes: list[str] = []
    outputs = _outputs(prediction, "prediction", gold.id)
    if len(outputs) != 1:
        hint = "; is it the gold file?" if any("answer" in one and "provenance" in one for one in outputs[1:]) else ""
        raise MalformedRecord(
            f"the prediction for id {gold.id!r} has {len(outputs)} outputs, not one: give one output, with one answer "
            f"and all pages in its provenance, best first{hint}"
        )
    output = outputs[0]
    provenance = _provenance(output, "prediction", gold.id) or ()
    answer = _answer(output, protocol.strict, notes)
    if any("wikipedia_id" in one and one["wikipedia_id"] is None for one in provenance):
        notes.append(NULL_PAGE)
    pages = _ids(provenance, RANK_KEYS, protocol.strict)
    ranked = pages if protocol.rank_keys == RANK_KEYS else _ids(provenance, protocol.rank_keys, protocol.strict)
    page_precision = r_precision(pages, gold.page_sets)
    precision = page_precision if ranked is pages else r_precision(ranked, gold.sets)
    gold_tokens = [squad_tokens(one) for one in gold.answers]
    notes += [BLANK_GOLD for one in gold_tokens if not one]
    downstream = _downstream(answer, gold.answers, gold_tokens)
    scores = [*downstream, *(downstream if page_precision == 1 else (0.0, 0.0, 0.0, 0.0)), precision]
    answers = [" ".join(one) for one in gold_tokens]
    titles = tuple(map(squad_normal, gold.titles))
    asked = squad_normal(gold.input) if titles else ""
    scores.append(float(any(title in asked for title in titles)))
    hits, distinct = _ranking(ranked, gold.sets, protocol.strict)
    first_answer, first_both, first_entity = _contexts(provenance[: protocol.ks[-1]], answers, titles)
    for k in protocol.ks:
        found = sum(place < k for place in hits)
        scores.append(found / k)
        if k > 1:
            scores += [found / distinct if distinct else 0.0, float(found > 0)]
        scores += [float(first_answer < k), float(first_both < k), float(first_entity < k)]
    sizes = [len(one) for one in gold.page_sets if one]
    words = [len(one.split()) for one in gold.answers]
    score = KiltScore(
        id=gold.id,
        prediction=answer,
        answer_words=min(words) if words else None,
        evidence_pages=min(sizes) if sizes else None,
        predicted_pages=len(pages),
        position=position,
        scores=tuple(scores),
    )
    return score, notes


def _outputs(record: Record, what: str, id: str) -> Sequence[Record]:
    outputs = record.get("output")
    if outputs is None and what == "gold":
        raise MalformedRecord(
            f"the gold record {id!r} has no output: the answers of published test files are kept back, evaluate dev"
        )
    if not isinstance(outputs, (list, tuple)) or not all(isinstance(one, (dict, Mapping)) for one in outputs):
        raise MalformedRecord(
            f"the {what} record {id!r}: its output is {_shown(outputs)}, not a list of objects such as "
            '[{"answer": "…", "provenance": [{"wikipedia_id": "…"}]}]'
        )
    return outputs


def _provenance(output: Record, what: str, id: str) -> Sequence[Record] | None:
    provenance = output.get("provenance")
    if provenance is None:
        return None
    if not isinstance(provenance, (list, tuple)) or not all(isinstance(one, (dict, Mapping)) for one in provenance):
        raise MalformedRecord(
            f"the {what} record {id!r}: its provenance is {_shown(provenance)}, not a list of objects"
        )
    return provenance


def _answer(output: Record, strict: bool, notes: list[str]) -> str:
    """The predicted text. Nothing was predicted where there is no key, but null reads "None" officially."""
    answer = output.get("answer", "")
    if answer is None:
        notes.append(NULL_ANSWER)
        return "" if strict else "None"
    if not isinstance(answer, str):
        notes.append(NOT_TEXT)
    text = str(answer).strip()
    if not text:
        notes.append(NO_ANSWER)
    return text


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _ids(provenance: Sequence[Record], keys: tuple[str, ...], strict: bool) -> Pages:
    """The distinct ids of an evidence set or a ranking, in order. What lacks a key has none."""
    if strict:
        provenance = [one for one in provenance if all(_is_known(one.get(key), key) for key in keys)]
    if len(keys) == 1:
        key = keys[0]
        return tuple(dict.fromkeys([str(one[key]).strip() for one in provenance if key in one]))
    return tuple(
        dict.fromkeys(
            "+".join([str(one[key]).strip() for key in keys]) for one in provenance if all(key in one for key in keys)
        )
    )


def _is_known(value: Any, key: str) -> bool:
    """Whether a rank key says something: neither null nor blank, and no paragraph or offset of -1."""
    text = "" if value is None else str(value).strip()
    return bool(text) and not (text == "-1" and key != "wikipedia_id")


def _downstream(
    answer: str, golds: Sequence[str], gold_tokens: Sequence[list[str]]
) -> tuple[float, float, float, float]:
    """Accuracy, EM, F1 and ROUGE-L, each the maximum over the gold answers; 0 for an empty answer."""
    if not answer or not golds:
        return 0.0, 0.0, 0.0, 0.0
    tokens = squad_tokens(answer)
    return (
        float(answer in golds),
        float(tokens in gold_tokens),
        max(token_f1(tokens, gold) for gold in gold_tokens),
        best_rouge_l(answer, golds),
    )


def r_precision(ranked: Pages, sets: Iterable[Pages | None]) -> float:
    """Hits among the first R ranks / R for a set of R ids, the maximum over the sets; 0 to 1.

    Args:
        ranked: distinct predicted ids, best first.
        sets: evidence sets of distinct ids; an empty one and None score 0.
    """
    best = 0.0
    for ids in sets:
        if ids:
            best = max(best, sum(id in ids for id in ranked[: len(ids)]) / len(ids))
    return best


def _ranking(ranked: Pages, sets: Sequence[Pages | None], strict: bool) -> tuple[list[int], int]:
    """Places, from 0, at which an evidence set becomes complete; and the number of distinct sets.

    The scorer's walk: a page of no set takes a place; a page of a set takes one too, but the place
    of the set's page before it is given up, so that a set counts once, at its last page.
    """
    given = [frozenset(ids) for ids in sets if ids is not None and not (strict and not ids)]
    if not ranked or not given:
        return [], len(set(given)) if ranked else 0
    open_sets = [set(ids) for ids in dict.fromkeys(given)]
    wanted = frozenset[str]().union(*open_sets)
    places: list[int] = []  # -1 a miss, -2 a hit, n the place-holder of set n
    for id in ranked:
        if id not in wanted:
            places.append(-1)
            continue
        found = False
        for number, left in enumerate(open_sets):
            if id in left:
                found = True
                if number in places:
                    places.remove(number)
                left.remove(id)
                places.append(number if left else -2)
        if not found:
            places.append(-1)
    return [place for place, kind in enumerate(places) if kind == -2], len(open_sets)


def _contexts(
    provenance: Sequence[Record], answers: Sequence[str], titles: Sequence[str]
) -> tuple[float, float, float]:
    """First ranks, from 0, of a text with a gold answer, with answer and title, with a title; else infinity."""
    first_answer = first_both = first_entity = math.inf
    # most texts are ruled out before they are normalised: a token of what is looked for is missing
    rarest = {max(wanted.split(), key=len, default="") for wanted in (*answers, *titles)}
    for rank, one in enumerate(provenance if rarest else ()):
        text = one.get("text")
        if text is None:
            continue
        bare = without_punctuation(str(text).lower())
        if not any(map(bare.__contains__, rarest)):
            continue
        context = squad_normal(bare)
        has_answer = any(answer in context for answer in answers)
        has_entity = any(title in context for title in titles)
        first_answer = min(first_answer, rank) if has_answer else first_answer
        first_entity = min(first_entity, rank) if has_entity else first_entity
        if has_answer and has_entity:
            first_both = rank
            break
    return first_answer, first_both, first_entity
