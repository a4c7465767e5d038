"""MKQA's figures of one record: EM and F1 in each of 26 languages (Longpre et al., 2020).

Equal to the released scorer (apple/ml-mkqa), even where that is odd.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kiltetl.schemas.errors import EvaluationError, MalformedRecord
from kiltetl.schemas.records import MkqaScore
from kiltetl.transforms.metrics.scorer import Record
from kiltetl.transforms.metrics.text import token_f1, without_punctuation

_LANGUAGES = "ar da de en es fi fr he hu it ja km ko ms nl no pl pt ru sv th tr vi zh_cn zh_hk zh_tw"
LANGUAGES: Final = tuple(_LANGUAGES.split())

BLANK_GOLD: Final = "gold answers of which normalisation leaves nothing"
NULL_WITH_ALIASES: Final = "gold answers whose text is null although they have aliases"
NOT_TEXT: Final = "predictions that are no text and were read as one"
NO_PROBABILITY: Final = "predictions without no_answer_prob, read as 0"

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


class Prediction(NamedTuple):
    """One line of a prediction file."""

    example_id: str
    text: str
    no_answer_prob: float


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


def read_prediction(record: Any) -> tuple[Prediction, list[str]]:
    """What a line says, and what is to be noted of it. MalformedRecord, which names the id, if it breaks the format."""
    notes = []
    id = example_id(record, "prediction")
    text, binary, probability = record.get("prediction"), record.get("binary_answer"), record.get("no_answer_prob")
    if not isinstance(text, str) and text is not None:
        notes.append(NOT_TEXT)
    if binary is not None and binary != "":
        if not isinstance(binary, str) or binary.lower() not in ("yes", "no"):
            raise MalformedRecord(f'id {id!r}: binary_answer is {binary!r:.60}, not "yes", "no" or null')
        text = binary.lower()
    if probability is None:
        notes.append(NO_PROBABILITY)
        probability = 0.0
    elif isinstance(probability, bool) or not isinstance(probability, (float, int)) or not math.isfinite(probability):
        raise MalformedRecord(f"id {id!r}: no_answer_prob is {probability!r:.60}, not a number")
    return Prediction(id, "" if text is None else str(text), float(probability)), notes


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


def score_prediction(prediction: Prediction, golds: Sequence[str], language: str, position: int) -> MkqaScore:
    """The scores of one prediction, no threshold applied: ``best_em`` and ``best_f1`` are as ``em`` and ``f1``.

    ``position`` is the prediction's place in its file, from 0.
    """
    em, f1 = text_scores(prediction.text, golds, language)
    id, predicted, probability = prediction
    return MkqaScore(id, language, predicted, probability, is_answerable(golds), em, f1, em, f1, position)
