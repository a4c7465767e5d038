"""Wizard of Wikipedia: a wizard, who reads Wikipedia, talks with an apprentice, who does not (dialogue).

Files: https://parl.ai/projects/wizard_of_wikipedia/ (train.json, and for dev and test the unseen
topics: valid_topic_split.json and test_topic_split.json). Licence: as stated there; the sentences
of Wikipedia CC BY-SA. Each file is one JSON list of dialogues, without ids::

    {"chosen_topic": "Kite", "persona": "I fly kites.", "wizard_eval": 5,
     "chosen_topic_passage": ["A kite is a tethered craft.", "It flies."],
     "dialog": [{"speaker": "1_Apprentice", "text": "Hi!", "retrieved_passages": [{"Wind": ["Air moves."]}]},
                {"speaker": "0_Wizard", "text": "Kites fly, you know.", "retrieved_passages": [],
                 "checked_sentence": {"chosen_Kite_1": "It flies."},
                 "checked_passage": {"chosen_topic_0_Kite": "Kite"}}]}

A turn in which the wizard chose no sentence has ``{}`` or ``{"no_passages_used": "no_passages_used"}``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kiltetl.schemas.errors import MalformedRow
from kiltetl.schemas.reasons import NO_PASSAGE
from kiltetl.schemas.records import Evidence, Example, ExampleOutput
from kiltetl.transforms.datasets.detokenize import spaces
from kiltetl.transforms.datasets.hashing import stable_id
from kiltetl.transforms.datasets.spec import Dataset, Json, Published, Row, Shape, SkipRow

NO_CHOICE: Final = "no_passages_used"


def read(row: Row) -> Iterator[Example]:
    """One example for each turn of the wizard with a chosen sentence and something said before it.

    The input is all that was said before, a line an utterance; the topic is not given. As in the
    released files an id ends with the number of the turn among the wizard's turns with a chosen
    sentence; an opening turn counts, but gives no example.
    """
    said = [turn["text"] for turn in row["dialog"]]
    if not all(isinstance(text, str) for text in said):
        raise MalformedRow("an utterance of the dialogue is no text")
    dialogue = stable_id(row["chosen_topic"], row.get("persona"), said)
    passages: dict[str, list[str]] = {row["chosen_topic"]: list(row.get("chosen_topic_passage") or ())}
    examples: list[Example] = []
    chosen = 0
    for number, turn in enumerate(row["dialog"]):
        if _is_wizard(turn):
            sentence = _value(turn.get("checked_sentence"))
            if sentence:
                history = "\n".join(said[:number])
                if history.strip() and said[number].strip():
                    evidence = (Evidence(_title(turn, sentence, passages), text=spaces(sentence)),)
                    outputs = (ExampleOutput(said[number], evidence),)
                    examples.append(Example(f"{dialogue}_{chosen}", history, outputs))
                chosen += 1
        for retrieved in turn.get("retrieved_passages") or ():
            for title in retrieved:
                passages.setdefault(title, []).extend(retrieved[title])
    if not examples:
        raise SkipRow(NO_PASSAGE)
    yield from examples


def _is_wizard(turn: Row) -> bool:
    """Whether it is the wizard's turn; "0" and "1" tell who spoke first."""
    role = str(turn["speaker"]).partition("_")[2]
    if role not in ("Wizard", "Apprentice"):
        raise MalformedRow(f"speaker is {turn['speaker']!r}, neither the wizard nor the apprentice")
    return role == "Wizard"


def _value(chosen: Any) -> str | None:
    """The one value of ``checked_sentence`` or ``checked_passage``; None where nothing was chosen."""
    if not chosen:
        return None
    if not isinstance(chosen, Mapping):
        raise MalformedRow(f"the wizard's choice {chosen!r} is not an object")
    name, value = next(iter(chosen.items()))
    if not isinstance(value, str):
        raise MalformedRow(f"the wizard's choice {value!r} is no text")
    return value if value.strip() and NO_CHOICE not in (name, value) else None


def _title(turn: Row, sentence: str, passages: Mapping[str, Sequence[str]]) -> str:
    """The page of a chosen sentence: the value of ``checked_passage``.

    Where that is missing, or its passage was shown and lacks the sentence, the first passage shown
    so far that has it; else what the key of the sentence says.
    """
    title = _value(turn.get("checked_passage"))
    if title is None or (passages.get(title) and sentence not in passages[title]):
        shown = next((page for page, sentences in passages.items() if sentence in sentences), None)
        title = shown or title
    if title is None:
        title = " ".join(next(iter(turn["checked_sentence"])).split("_")[1:-1])
    if not title.strip():
        raise MalformedRow(f"no page is named for the chosen sentence {sentence!r}")
    return title


DATASET = Dataset(
    name="wow",
    task="dialogue",
    read=read,
    source=Json("item"),
    splits=("train", "validation", "test"),
    row_example='{"chosen_topic": "Kite", "dialog": [{"speaker": "1_Apprentice", "text": "Hi!"}, {"speaker": '
    '"0_Wizard", "text": "Kites fly.", "checked_sentence": {"chosen_Kite_1": "It flies."}, "checked_passage": '
    '{"chosen_topic_0_Kite": "Kite"}}]}',
    usage="`--source train.json` is train, `valid_topic_split.json` is dev, `test_topic_split.json` is test "
    "(topics not seen in train; not the files of random_split)",
    licence="as stated at the homepage; sentences of Wikipedia CC BY-SA",
    homepage="https://parl.ai/projects/wizard_of_wikipedia/",
    leading_metric="f1",
    shape=Shape(),
    published=Published(
        size={"train": 94_577, "validation": 3_058, "test": 2_944},
        drop={"validation": 12.06, "test": 11.39},
        averages=(1.0, 1.0, 1.0, 1.0),
    ),
)
