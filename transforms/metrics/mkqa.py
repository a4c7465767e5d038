"""MKQA's figures: EM and F1 in each of 26 languages, at the best threshold for No Answer (Longpre et al., 2020).

Equal to the released scorer (apple/ml-mkqa) by default, even where that is odd; ``strict=True``
gives the sensible reading of two points:

- no threshold lies between equal ``no_answer_prob``, so they are taken together (the scorer walks
  them one by one, in the order of the file);
- answering nothing at all is a choice at whatever scale ``no_answer_prob`` has: its threshold lies
  below the lowest value (the scorer starts from 0.0, so that its EM does not fit its F1 then).

Figures are percentages, 0 to 100, rounded to two decimals; one over nothing is None.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kiltetl.schemas import VERSION
from kiltetl.schemas.errors import EvaluationError, MalformedRecord
from kiltetl.schemas.records import MkqaScore
from kiltetl.transforms.metrics.kilt import refuse
from kiltetl.transforms.metrics.text import token_f1, without_punctuation

Record: TypeAlias = Mapping[str, Any]
Floats: TypeAlias = npt.NDArray[np.float64]

_LANGUAGES = "ar da de en es fi fr he hu it ja km ko ms nl no pl pt ru sv th tr vi zh_cn zh_hk zh_tw"
LANGUAGES: Final = tuple(_LANGUAGES.split())

BEST: Final = (
    "best_em",
    "best_f1",
    "best_answerable_em",
    "best_answerable_f1",
    "best_unanswerable_em",
    "best_f1_threshold",
)
PLAIN: Final = ("exact_match", "f1", "answerable_exact_match", "answerable_f1", "unanswerable_exact_match")

BLANK_GOLD: Final = "gold answers of which normalisation leaves nothing"
NULL_WITH_ALIASES: Final = "gold answers whose text is null although they have aliases"
NOT_TEXT: Final = "predictions that are no text and were read as one"
NO_PROBABILITY: Final = "predictions without no_answer_prob, read as 0"
EXTRA: Final = "predictions for ids that are not in the gold file, left out"

# The articles that the scorer drops, after lower-casing and without punctuation. French and Italian
# have a boundary at the front only and Arabic none, so that heads of longer words go too.
_WHOLE_WORDS: Final = {
    "en": "a an the",
    "es": "un una unos unas el la los las",
    "vi": "của là cái chiếc những",
    "de": "ein eine einen einem eines einer der die das den dem des",
    "nl": "de het een des der den",
    "sv": "en ett",
    "da": "en et",
    "no": "en et ei",
    "pt": "o a os as um uma uns umas",
    "fi": "se yks yksi",
    "hu": "a az egy",
}
_HEADS: Final = {
    "fr": "le la l' les du de d' des un une des",
    "it": "il lo la l' i gli le del dello della dell' dei degli degl' delle un' uno una un",
}
_ARTICLE_SETS: Final = {language: frozenset(words.split()) for language, words in _WHOLE_WORDS.items()}
_ARTICLES: Final[Mapping[str, re.Pattern[str]]] = {
    **{language: re.compile(rf"\b(?:{words.replace(' ', '|')})\b") for language, words in _WHOLE_WORDS.items()},
    **{language: re.compile(rf"\b(?:{words.replace(' ', '|')})") for language, words in _HEADS.items()},
    "ar": re.compile("ال"),
}
_BY_CHARACTER: Final = frozenset(("zh_cn", "zh_hk", "zh_tw", "ja", "th", "km"))


def language_of(name: str) -> str:
    """MKQA's code for a language as it may be spelt: ``zh-CN`` is ``zh_cn``. EvaluationError for others."""
    code = name.strip().lower().replace("-", "_")
    if code not in LANGUAGES:
        hint = {"nb": "; Norwegian is no", "nn": "; Norwegian is no", "false": "; Norwegian is no, in quotes in YAML"}
        raise EvaluationError(
            f"{name!r} is no language of MKQA{hint.get(code, '')}; its {len(LANGUAGES)} are {' '.join(LANGUAGES)}"
        )
    return code


def tokens(text: str, language: str) -> list[str]:
    """The tokens of a text's normal form: words, but characters in Chinese, Japanese, Khmer and Thai."""
    words = without_punctuation(text.lower()).split()
    if language in _BY_CHARACTER:
        return list("".join(words))
    articles = _ARTICLES.get(language)
    if articles is None or not words:
        return words
    # without a sign or mark in it, a whole word is a whole token (see text.squad_tokens)
    whole = _ARTICLE_SETS.get(language)
    if whole is not None and "".join(words).isalnum():
        return [word for word in words if word not in whole]
    return articles.sub(" ", " ".join(words)).split()


# --------------------------------------------------------------------------------------------
# One record


class Prediction(NamedTuple):
    """One line of a prediction file. ``position`` is its place in the file, from 0."""

    example_id: str
    text: str
    no_answer_prob: float
    position: int


def example_id(record: Any, what: str) -> str:
    """The id of a record as it is compared: its text, without white space around it."""
    if not isinstance(record, (dict, Mapping)):
        raise MalformedRecord(f"the {what} record is {record!r:.60}, not a JSON object")
    given = record.get("example_id", record.get("id"))
    id = "" if given is None else str(given).strip()
    if not id:
        raise MalformedRecord(f"the {what} record has no example_id")
    return id


def _is_evidence(output: Record) -> bool:
    """Whether an output is a provenance alone, as those that mkqa has of Natural Questions: no answer at all."""
    return output.get("answer") is None and bool(output.get("provenance"))


def gold_texts(record: Record) -> Iterator[tuple[str, tuple[str, ...], list[str]]]:
    """(language, gold texts, notes) of a record of mkqa.jsonl.gz, or of a row of our table of tasks.

    No answer is the empty text.
    """
    if "output" in record:
        given = [one.get("answer") for one in record["output"] if not _is_evidence(one)]
        texts = ["" if answer is None else str(answer) for answer in given]
        yield language_of(str(record.get("language"))), tuple(dict.fromkeys(texts)), []
        return
    answers = record.get("answers")
    if not isinstance(answers, Mapping):
        raise MalformedRecord(f"the gold record {example_id(record, 'gold')} has no answers by language")
    for language, given in answers.items():
        if language not in LANGUAGES:
            raise MalformedRecord(
                f"the gold record {example_id(record, 'gold')} has answers in {language!r}, not of MKQA"
            )
        found: dict[str, None] = {}
        notes = []
        for answer in given:
            text, aliases = answer.get("text"), answer.get("aliases") or ()
            found["" if text is None else str(text)] = None
            found.update(dict.fromkeys(map(str, aliases)))
            if text is None and aliases:
                notes.append(NULL_WITH_ALIASES)
        notes += [BLANK_GOLD for text in found if text and not tokens(text, language)]
        if not found:
            raise MalformedRecord(f"the gold record {example_id(record, 'gold')} has no answer in {language}")
        yield language, tuple(found), notes


def read_prediction(record: Any, position: int, notes: Counter[str]) -> Prediction:
    """What a line says. MalformedRecord, which names the id, where it breaks the format."""
    id = example_id(record, "prediction")
    text, binary, probability = record.get("prediction"), record.get("binary_answer"), record.get("no_answer_prob")
    if not isinstance(text, str) and text is not None:
        notes[NOT_TEXT] += 1
    if binary is not None and binary != "":
        if not isinstance(binary, str) or binary.lower() not in ("yes", "no"):
            raise MalformedRecord(f'id {id!r}: binary_answer is {binary!r:.60}, not "yes", "no" or null')
        text = binary.lower()
    if probability is None:
        notes[NO_PROBABILITY] += 1
        probability = 0.0
    elif isinstance(probability, bool) or not isinstance(probability, (float, int)) or not math.isfinite(probability):
        raise MalformedRecord(f"id {id!r}: no_answer_prob is {probability!r:.60}, not a number")
    return Prediction(id, "" if text is None else str(text), float(probability), position)


def text_scores(text: str, golds: Sequence[str], language: str) -> tuple[float, float]:
    """(EM, F1) of a predicted text, each the maximum over the gold texts; both without tokens score 1."""
    if text in golds:
        return 1.0, 1.0
    predicted = tokens(text, language)
    best = 0.0
    for gold in golds:
        wanted = tokens(gold, language)
        if wanted == predicted:
            return 1.0, 1.0
        best = max(best, token_f1(predicted, wanted))
    return 0.0, best


def is_answerable(golds: Sequence[str]) -> bool:
    """Whether a text is right, and not only No Answer."""
    return any(golds)


def score_prediction(prediction: Prediction, golds: Sequence[str], language: str) -> MkqaScore:
    """The scores of one prediction, no threshold applied: ``best_em`` and ``best_f1`` are as ``em`` and ``f1``."""
    em, f1 = text_scores(prediction.text, golds, language)
    return MkqaScore(
        example_id=prediction.example_id,
        language=language,
        prediction=prediction.text,
        no_answer_prob=prediction.no_answer_prob,
        is_answerable=is_answerable(golds),
        em=em,
        f1=f1,
        best_em=em,
        best_f1=f1,
        position=prediction.position,
    )


# --------------------------------------------------------------------------------------------
# One language


@dataclass(frozen=True)
class LanguageScores:
    """The scores of one language, as arrays over its examples in the order of the gold file, shape (n,).

    Attributes:
        f1, em: 0 to 1, without a threshold.
        probability: ``no_answer_prob``, any number.
        answerable, answered: whether there is an answer, and whether one was predicted.
        position: place in the prediction file, which decides between equal probabilities.
    """

    ids: Sequence[str]
    predictions: Sequence[str]
    f1: Floats
    em: Floats
    probability: Floats
    answerable: npt.NDArray[np.bool_]
    answered: npt.NDArray[np.bool_]
    position: npt.NDArray[np.int64]
    strict: bool

    @classmethod
    def of(cls, rows: Sequence[MkqaScore], strict: bool) -> "LanguageScores":
        return cls(
            ids=[row.example_id for row in rows],
            predictions=[row.prediction for row in rows],
            f1=np.array([row.f1 for row in rows], np.float64),
            em=np.array([row.em for row in rows], np.float64),
            probability=np.array([row.no_answer_prob for row in rows], np.float64),
            answerable=np.array([row.is_answerable for row in rows], np.bool_),
            answered=np.array([row.prediction != "" for row in rows], np.bool_),
            position=np.array([row.position for row in rows], np.int64),
            strict=strict,
        )

    @cached_property
    def _walk(self) -> tuple[npt.NDArray[np.int64], Floats, npt.NDArray[np.bool_]]:
        """Order of the walk, the gain of each step in it, and after which steps a threshold can lie."""
        # among equal ones in strict mode any fixed order does that the file does not decide
        second = np.argsort(np.argsort(np.array(self.ids, dtype=object))) if self.strict else self.position
        order = np.lexsort((second, self.probability))
        gain = np.where(self.answerable, self.f1, np.where(self.answered, -1.0, 0.0))[order]
        ordered = self.probability[order]
        ends = np.append(ordered[1:] != ordered[:-1], True) if self.strict else np.ones(len(order), np.bool_)
        return order, gain, ends

    @property
    def nothing_threshold(self) -> float:
        """The threshold that stands for answering nothing: 0, or under strict one below all values."""
        lowest = float(self.probability.min(initial=math.inf))
        return lowest - 1.0 if self.strict and lowest <= 0 else 0.0

    def best(self, weights: npt.NDArray[np.int64] | None = None) -> tuple[float, float]:
        """(greatest sum of F1, threshold at which it is reached); example i counts ``weights[i]`` times."""
        order, gain, ends = self._walk
        unanswerable = ~self.answerable
        start = float(unanswerable.sum() if weights is None else weights @ unanswerable)
        # from the start upwards, in the same order of additions as the scorer's loop
        sums = np.cumsum(np.concatenate(([start], gain if weights is None else gain * weights[order])))
        sums[1:][~ends] = -math.inf
        top = int(np.argmax(sums))
        return float(sums[top]), self.nothing_threshold if top == 0 else float(self.probability[order[top - 1]])

    def at(self, scores: Floats, threshold: float) -> Floats:
        """Scores where predictions above the threshold become No Answer, right where there is none."""
        return np.where(self.probability > threshold, np.where(self.answerable, 0.0, 1.0), scores)

    @cached_property
    def threshold(self) -> float:
        return self.best()[1]

    def figures(self) -> dict[str, float | None]:
        """``BEST`` and ``PLAIN``, as the scorer rounds them."""
        count = len(self.ids)
        best, threshold = self.best()
        em, f1 = self.at(self.em, threshold), self.at(self.f1, threshold)
        values = (
            _mean(em),
            100.0 * best / count if count else None,
            _mean(em[self.answerable]),
            _mean(f1[self.answerable]),
            _mean(em[~self.answerable]),
            threshold,
            _mean(self.em),
            _mean(self.f1),
            _mean(self.em[self.answerable]),
            _mean(self.f1[self.answerable]),
            _mean(self.em[~self.answerable]),
        )
        return {
            name: None if value is None else round(value, 2)
            for name, value in zip((*BEST, *PLAIN), values, strict=True)
        }

    def sample_figures(self, weights: npt.NDArray[np.int64]) -> Floats:
        """``BEST`` without the threshold, in percent, of a sample that holds example i ``weights[i]`` times.

        The threshold is chosen anew in each sample, as it is in a file; NaN over nothing.
        """
        best, threshold = self.best(weights)
        em, f1 = self.at(self.em, threshold), self.at(self.f1, threshold)
        yes, no = weights * self.answerable, weights * ~self.answerable
        parts = (
            (weights @ em, weights.sum()),
            (best, weights.sum()),
            (yes @ em, yes.sum()),
            (yes @ f1, yes.sum()),
            (no @ em, no.sum()),
        )
        return np.array([100.0 * part / whole if whole else math.nan for part, whole in parts])

    def curve(self, points: int = 200) -> dict[str, list[float | None]]:
        """F1 in percent over thresholds, for the picture: ``threshold``, ``overall``, ``answerable``, ``unanswerable``.

        At most about ``points`` thresholds, at quantiles of the probabilities.
        """
        if not self.ids:
            return {"threshold": [], "overall": [], "answerable": [], "unanswerable": []}
        order = np.argsort(self.probability, kind="stable")
        ordered = self.probability[order]
        values = np.unique(ordered)
        if len(values) > points:
            values = values[np.unique(np.linspace(0, len(values) - 1, points).round().astype(np.int64))]
        kept = np.searchsorted(ordered, values, side="right")  # predictions at or below each threshold
        kept = np.concatenate(([0], kept))
        curves: dict[str, list[float | None]] = {"threshold": [self.nothing_threshold, *values.tolist()]}
        curves["threshold"][0] = min(self.nothing_threshold, float(values[0]))
        for name, among in (
            ("overall", np.ones(len(order), np.bool_)),
            ("answerable", self.answerable),
            ("unanswerable", ~self.answerable),
        ):
            total = int(among.sum())
            inside = among[order]
            answered = np.concatenate(([0.0], np.cumsum(self.f1[order] * inside)))
            refused = np.concatenate(([0.0], np.cumsum(inside & ~self.answerable[order]).astype(np.float64)))
            sums = answered[kept] + refused[-1] - refused[kept]
            curves[name] = (100.0 * sums / total).tolist() if total else [None] * len(kept)
        return curves

    def histogram(self, bins: int = 20) -> dict[str, list[float]]:
        """Numbers of answerable and unanswerable examples by ``no_answer_prob``, with the bins' ``edges``."""
        low, high = float(self.probability.min(initial=math.inf)), float(self.probability.max(initial=-math.inf))
        if not self.ids:
            return {"edges": [], "answerable": [], "unanswerable": []}
        edges = np.linspace(low, high if high > low else low + 1.0, bins + 1)
        return {
            "edges": edges.tolist(),
            "answerable": np.histogram(self.probability[self.answerable], edges)[0].tolist(),
            "unanswerable": np.histogram(self.probability[~self.answerable], edges)[0].tolist(),
        }


def _mean(scores: Floats) -> float | None:
    return 100.0 * math.fsum(scores.tolist()) / len(scores) if len(scores) else None


# --------------------------------------------------------------------------------------------
# All languages


def signature(languages: Iterable[str], strict: bool) -> str:
    """How the figures were made, to be printed beside them."""
    named = list(languages)
    parts = {
        "metric": "mkqa",
        "mode": "strict" if strict else "official",
        "norm": "mkqa",
        "languages": "all" if len(named) == len(LANGUAGES) else ",".join(named),
        "version": VERSION,
    }
    return "|".join(f"{key}:{value}" for key, value in parts.items())


@dataclass(frozen=True)
class Evaluation:
    """What predictions in some languages score.

    Attributes:
        languages: the scores by language, in MKQA's order.
        notes: how often something was found that a reader should know of.
        extra: the ids of predictions that were left out.
    """

    languages: Mapping[str, LanguageScores]
    strict: bool = False
    notes: Mapping[str, int] = field(default_factory=dict)
    extra: Sequence[str] = ()

    @cached_property
    def metrics(self) -> dict[str, dict[str, float | None]]:
        """The figures by language."""
        return {language: scores.figures() for language, scores in self.languages.items()}

    @cached_property
    def macro_average(self) -> dict[str, float | None]:
        """The mean of the rounded figures over the languages that have them."""
        found: dict[str, float | None] = {}
        for name in (*BEST, *PLAIN):
            values = [value for one in self.metrics.values() if (value := one[name]) is not None]
            found[name] = round(math.fsum(values) / len(values), 2) if values else None
        return found

    @property
    def missing(self) -> tuple[str, ...]:
        """The languages of MKQA without predictions."""
        return tuple(language for language in LANGUAGES if language not in self.languages)

    @property
    def signature(self) -> str:
        return signature(self.languages, self.strict)

    def rows(self) -> Iterator[MkqaScore]:
        """The scores of every prediction, by language and in the order of the gold file."""
        for language, of in self.languages.items():
            em, f1 = of.at(of.em, of.threshold), of.at(of.f1, of.threshold)
            for i, id in enumerate(of.ids):
                yield MkqaScore(
                    id, language, of.predictions[i], float(of.probability[i]), bool(of.answerable[i]),
                    float(of.em[i]), float(of.f1[i]), float(em[i]), float(f1[i]), int(of.position[i]),
                )  # fmt: skip


Golds: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]


def read_gold(records: Iterable[Record], notes: Counter[str], only: Iterable[str] = LANGUAGES) -> Golds:
    """Gold texts by language and id, of the languages asked for."""
    wanted = frozenset(only)
    golds: dict[str, dict[str, tuple[str, ...]]] = {}
    twice: dict[str, None] = {}
    for record in records:
        id = example_id(record, "gold")
        for language, texts, noted in gold_texts(record):
            if language in wanted:
                of = golds.setdefault(language, {})
                if id in of:
                    twice[id] = None
                of[id] = texts
                notes.update(noted)
    refuse("the gold ids are not unique", twice)
    return golds


def evaluate_language(
    golds: Mapping[str, tuple[str, ...]],
    predictions: Iterable[Record],
    language: str,
    strict: bool = False,
    notes: Counter[str] | None = None,
    extra: list[str] | None = None,
) -> LanguageScores:
    """Score the predictions of one language; each gold id must have one.

    Args:
        golds: gold texts by id, the empty text for no answer.
        notes, extra: are added to.
    """
    notes = Counter() if notes is None else notes
    places = {id: place for place, id in enumerate(golds)}
    texts = list(golds.values())
    # columns instead of an object a row: 260,000 of those keep the garbage collector busy
    f1, em, probability = [0.0] * len(texts), [0.0] * len(texts), [0.0] * len(texts)
    predicted, positions = [""] * len(texts), [-1] * len(texts)
    twice: dict[str, None] = {}
    for position, record in enumerate(predictions):
        id, text, probable, _ = read_prediction(record, position, notes)
        place = places.get(id)
        if place is None:
            notes[EXTRA] += 1
            if extra is not None:
                extra.append(id)
        elif positions[place] >= 0:
            twice[id] = None
        else:
            em[place], f1[place] = text_scores(text, texts[place], language)
            probability[place], predicted[place], positions[place] = probable, text, position
    refuse(f"{language}: there is more than one prediction", twice)
    refuse(f"{language}: there is no prediction", (id for id, place in places.items() if positions[place] < 0))
    return LanguageScores(
        ids=list(golds),
        predictions=predicted,
        f1=np.array(f1, np.float64),
        em=np.array(em, np.float64),
        probability=np.array(probability, np.float64),
        answerable=np.array([is_answerable(one) for one in texts], np.bool_),
        answered=np.array([text != "" for text in predicted], np.bool_),
        position=np.array(positions, np.int64),
        strict=strict,
    )


def evaluate(
    gold: Iterable[Record], predictions: Mapping[str, Iterable[Record]], *, strict: bool = False
) -> Evaluation:
    """Score predictions by language.

    Args:
        gold: records of mkqa.jsonl.gz: ``{"example_id", "answers": {language: [{"text", "aliases"}]}}``.
        predictions: by language, records ``{"example_id", "prediction", "binary_answer", "no_answer_prob"}``.

    Raises:
        EvaluationError: ids that are missing or not unique, an unknown language, another format.
    """
    notes: Counter[str] = Counter()
    extra: list[str] = []
    given = {language_of(name): records for name, records in predictions.items()}
    golds = read_gold(gold, notes, given)
    absent = [language for language in given if language not in golds]
    if absent:
        raise EvaluationError(f"the gold file has no answers in {', '.join(absent)}")
    languages = {
        language: evaluate_language(golds[language], given[language], language, strict, notes, extra)
        for language in LANGUAGES
        if language in given
    }
    return Evaluation(languages, strict, dict(sorted(notes.items())), extra)
