"""MKQA's figures of all languages: ``evaluate_mkqa`` and the ``Scorer``.

How one record is scored, says ``kiltetl.transforms.metrics.mkqa``; what ``strict`` means,
``kiltetl.transforms.metrics.thresholds``.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa

from kiltetl.schemas import VERSION
from kiltetl.schemas.arrow import schema_of, table_of
from kiltetl.schemas.errors import EvaluationError
from kiltetl.schemas.records import MkqaScore
from kiltetl.transforms.metrics import bootstrap
from kiltetl.transforms.metrics.mkqa import (
    LANGUAGES,
    Prediction,
    example_id,
    gold_texts,
    language_of,
    read_prediction,
    score_prediction,
)
from kiltetl.transforms.metrics.scorer import GROUP, Record, read_golds, score_name
from kiltetl.transforms.metrics.summary import NAMED_EXTRA, difference, frame, interval
from kiltetl.transforms.metrics.thresholds import BEST, PLAIN, LanguageScores

_SAMPLED: Final = tuple(name for name in BEST if name != "best_f1_threshold")  # as LanguageScores.sample_figures
_DIGITS: Final = 4  # of the bounds of an interval


@dataclass(frozen=True)
class Evaluation:
    """What predictions in some languages score.

    Attributes:
        languages: the scores by language, in MKQA's order.
    """

    languages: Mapping[str, LanguageScores]
    strict: bool = False

    @cached_property
    def metrics(self) -> dict[str, dict[str, float | None]]:
        """The figures by language, in percent."""
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
    def notes(self) -> dict[str, int]:
        """How often something was found that a reader should know of."""
        counts = sum((Counter(of.notes) for of in self.languages.values()), Counter[str]())
        return dict(sorted(counts.items()))

    @property
    def extra(self) -> list[str]:
        """The ids of predictions that were left out."""
        return [id for of in self.languages.values() for id in of.extra]

    @property
    def signature(self) -> str:
        """How the figures were made, to be printed beside them."""
        parts = {
            "metric": "mkqa",
            "mode": "strict" if self.strict else "official",
            "norm": "mkqa",
            "languages": "all" if not self.missing else ",".join(self.languages),
            "version": VERSION,
        }
        return "|".join(f"{key}:{value}" for key, value in parts.items())

    def rows(self) -> Iterator[MkqaScore]:
        """The scores of every prediction, by language and in the order of the gold file."""
        for language, of in self.languages.items():
            em, f1 = of.at(of.em, of.threshold), of.at(of.f1, of.threshold)
            for i, id in enumerate(of.ids):
                yield MkqaScore(
                    id, language, of.predictions[i], float(of.probability[i]), bool(of.answerable[i]),
                    float(of.em[i]), float(of.f1[i]), float(em[i]), float(f1[i]), int(of.position[i]),
                )  # fmt: skip


def evaluate_mkqa(
    gold: Iterable[Record], predictions: Mapping[str, Iterable[Record]], *, strict: bool = False
) -> Evaluation:
    """Score predictions for MKQA by language; each gold record must have one in each, in any order.

    >>> gold = [
    ...     {"example_id": 1, "answers": {"en": [{"text": "the Louvre"}], "fr": [{"text": "le Louvre"}]}},
    ...     {"example_id": 2, "answers": {"en": [{"text": None}], "fr": [{"text": None}]}},
    ... ]
    >>> english = [
    ...     {"example_id": 1, "prediction": "Louvre", "binary_answer": None, "no_answer_prob": 0.2},
    ...     {"example_id": 2, "prediction": "1889", "binary_answer": None, "no_answer_prob": 0.9},
    ... ]
    >>> evaluation = evaluate_mkqa(gold, {"en": english})
    >>> metrics = evaluation.metrics["en"]
    >>> metrics["exact_match"], metrics["best_em"], metrics["best_f1_threshold"]
    (50.0, 100.0, 0.2)

    Args:
        gold: records of mkqa.jsonl.gz: ``{"example_id", "answers": {language: [{"text", "aliases"}]}}``.
        predictions: by language, records ``{"example_id", "prediction", "binary_answer", "no_answer_prob"}``.
        strict: see ``kiltetl.transforms.metrics.thresholds``.

    Raises:
        EvaluationError: ids that are missing or not unique, an unknown language, another format.
    """
    scorer = MkqaScorer(strict)
    given = {language_of(name): records for name, records in predictions.items()}
    names = [language for language in LANGUAGES if language in given]
    golds = read_golds(scorer, gold, names)
    absent = [language for language in given if not golds[language].by_id]
    if absent:
        raise EvaluationError(f"the gold file has no answers in {', '.join(absent)}")
    return scorer.evaluation({name: score_name(scorer, name, golds[name], given[name]) for name in names})


@dataclass(frozen=True)
class MkqaScorer:
    """MKQA's ``Scorer``; a name is a language.

    Attributes:
        verbose: the summary holds the figures that no threshold enters, too.
    """

    strict: bool = False
    verbose: bool = False
    benchmark: ClassVar[str] = "mkqa"
    score: ClassVar[type] = MkqaScore

    def about(self, name: str) -> str:
        return f"{name}: "

    def read_gold(
        self, record: Any, number: int, names: Collection[str]
    ) -> Iterator[tuple[str, str, tuple[str, ...], Sequence[str]]]:
        id = example_id(record, "gold")
        for language, texts, notes in gold_texts(record):
            if language in names:
                yield language, id, texts, notes

    def read_prediction(self, record: Any, number: int) -> tuple[str, Prediction, Sequence[str]]:
        prediction, notes = read_prediction(record)
        return prediction.example_id, prediction, notes

    def score_one(
        self, name: str, gold: tuple[str, ...], prediction: Prediction, gold_position: int, position: int
    ) -> tuple[MkqaScore, Sequence[str]]:
        return score_prediction(prediction, gold, name, position), ()

    def gather(
        self, name: str, rows: Sequence[MkqaScore], notes: Mapping[str, int], extra: Sequence[str]
    ) -> LanguageScores:
        return LanguageScores.of(rows, self.strict, notes, extra)

    def evaluation(self, parts: Mapping[str, LanguageScores]) -> Evaluation:
        return Evaluation(parts, self.strict)

    def summary(self, ours: Evaluation, other: Evaluation | None, number: int, seed: int) -> dict[str, Any]:
        """By language; figures in percent, None over nothing."""
        shown = (*BEST, *PLAIN) if self.verbose else BEST
        languages: dict[str, Any] = {}
        drawn: dict[str, bootstrap.Floats] = {}
        drawn_other: dict[str, bootstrap.Floats] = {}
        for language, of in ours.languages.items():
            entry: dict[str, Any] = {
                "examples": len(of.ids),
                "metrics": {name: ours.metrics[language][name] for name in shown},
            }
            if number and of.ids:
                drawn[language] = bootstrap.samples(of.sample_figures, len(of.ids), number, seed)
                entry["intervals"] = _intervals(drawn[language])
            if other is not None and language in other.languages:
                if number and of.ids:
                    there = other.languages[language]
                    drawn_other[language] = bootstrap.samples(there.sample_figures, len(there.ids), number, seed)
                entry["comparison"] = _comparison(
                    ours.metrics[language], other.metrics[language], drawn.get(language), drawn_other.get(language)
                )
            languages[language] = entry
        macro: dict[str, Any] = {
            "languages": len(languages),
            "of": len(LANGUAGES),
            "missing": list(ours.missing),
            "metrics": {name: ours.macro_average[name] for name in shown},
        }
        if drawn:
            macro["intervals"] = _intervals(_average(drawn))
        if other is not None and set(other.languages) == set(languages):
            macro["comparison"] = _comparison(
                ours.macro_average,
                other.macro_average,
                _average(drawn) if drawn else None,
                _average(drawn_other) if drawn_other else None,
            )
        return frame(self.benchmark, self.strict, ours.signature, number, seed) | {
            "languages": languages,
            "macro_average": macro,
            "notes": ours.notes,
            "extra_ids": ours.extra[:NAMED_EXTRA],
        }

    def schema(self) -> pa.Schema:
        return schema_of(MkqaScore)

    def tables(self, evaluation: Evaluation) -> Iterator[pa.Table]:
        left = evaluation.rows()
        while rows := list(islice(left, GROUP)):
            yield table_of(MkqaScore, rows)


def _average(drawn: Mapping[str, bootstrap.Floats]) -> bootstrap.Floats:
    """The macro average in each sample, over the languages that have the figure there."""
    values = np.array(list(drawn.values()))
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    sums = np.where(known, values, 0.0).sum(axis=0)
    averages: bootstrap.Floats = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return averages


def _intervals(drawn: bootstrap.Floats) -> dict[str, Any]:
    return {name: interval(drawn[:, i], _DIGITS) for i, name in enumerate(_SAMPLED)}


def _comparison(
    ours: Mapping[str, float | None],
    theirs: Mapping[str, float | None],
    drawn: bootstrap.Floats | None,
    drawn_other: bootstrap.Floats | None,
) -> dict[str, Any]:
    between = None
    if drawn is not None and drawn_other is not None and drawn.shape == drawn_other.shape:
        between = drawn - drawn_other
    return {
        name: difference(ours[name], theirs[name], None if between is None else between[:, i], _DIGITS)
        for i, name in enumerate(_SAMPLED)
    }
