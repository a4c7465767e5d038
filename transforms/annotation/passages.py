"""Passages that people judge: which are proposed for a question (KILT, section 3.3).

``PASSAGES`` passages a question, in the order in which systems retrieved them, each with at least
``MIN_OVERLAP`` of the words of one gold answer (distinct words in SQuAD's normal form). Passages
of the dataset's own evidence are among them, unmarked, as a control. How many was not published:
here up to ``CONTROLS``, and more only where too few others were retrieved.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from kiltetl.schemas.reasons import CHOSEN, LOW_OVERLAP, NO_PLACE, SHARES_A_PARAGRAPH
from kiltetl.schemas.records import Task
from kiltetl.transforms.datasets.hashing import stable_id
from kiltetl.transforms.metrics.text import squad_tokens

PASSAGES: Final = 4
CONTROLS: Final = 2
MIN_OVERLAP: Final = 0.1


class Passage(NamedTuple):
    """Paragraphs of a page, the last one included."""

    wikipedia_id: str
    start_paragraph_id: int
    end_paragraph_id: int

    def shares(self, other: "Passage") -> bool:
        """Whether both have a paragraph in common."""
        return (
            self.wikipedia_id == other.wikipedia_id
            and self.start_paragraph_id <= other.end_paragraph_id
            and other.start_paragraph_id <= self.end_paragraph_id
        )


@dataclass(frozen=True, slots=True)
class PassageText:
    """What a passage says. ``section`` is that of its first paragraph, ``text`` None if it is not known."""

    title: str
    section: str
    text: str | None


def question_of(row: Mapping[str, Any]) -> str:
    number = row["id"]
    if isinstance(number, bool) or not isinstance(number, (str, int)) or not str(number).strip():
        raise ValueError(f"id is {number!r}, not the id of a question")
    return str(number).strip()


def passage_of(row: Mapping[str, Any]) -> Passage:
    """The passage of a row; without an end it is one paragraph. KeyError or ValueError if it has none."""
    page, start = row["wikipedia_id"], row["start_paragraph_id"]
    end = row.get("end_paragraph_id")
    end = start if end is None else end
    if isinstance(page, bool) or not isinstance(page, (str, int)) or not str(page).strip():
        raise ValueError(f"wikipedia_id is {page!r}, not the id of a page")
    for name, value in (("start_paragraph_id", start), ("end_paragraph_id", end)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ValueError(f"{name} is {value!r}, not a number of 0 or more")
    if end < start:
        raise ValueError(f"the passage ends at paragraph {end}, before its start at {start}")
    return Passage(str(page).strip(), start, end)


def text_of(row: Mapping[str, Any]) -> PassageText | None:
    """Title, section and text of a passage where a row carries them, as ``candidates`` writes it."""
    title, section, text = row.get("title"), row.get("section"), row.get("text")
    if not isinstance(title, str) or not isinstance(section, str):
        return None
    return PassageText(title, section, text if isinstance(text, str) else None)


def answers_of(task: Task) -> list[str]:
    """The answers of a record, each once."""
    return list(dict.fromkeys(output.answer for output in task.output if output.answer))


def gold_passages(task: Task) -> list[Passage]:
    """The passages of a dataset's own evidence, those that stand for themselves (long answers) first.

    What annotators added is told by its want of offsets. A title alone says nothing to a judge: it is
    a passage only where there is no other.
    """
    found: list[Passage] = []
    ordered = sorted(task.output, key=lambda output: output.answer is not None)
    for span in (span for output in ordered for span in output.provenance or ()):
        if span.start_paragraph_id is None or span.start_character is None:
            continue
        end = span.start_paragraph_id if span.end_paragraph_id is None else span.end_paragraph_id
        passage = Passage(span.wikipedia_id, span.start_paragraph_id, end)
        if not any(passage.shares(other) for other in found):
            found.append(passage)
    return [passage for passage in found if passage.end_paragraph_id > 0] or found


def overlap(answers: Iterable[str], text: str) -> float:
    """The largest share of an answer's distinct words that a text has, 0 to 1."""
    words = set(squad_tokens(text))
    shares = (len(wanted & words) / len(wanted) for answer in answers if (wanted := set(squad_tokens(answer))))
    return max(shares, default=0.0)


def choose(
    question: str,
    gold: Sequence[Passage],
    retrieved: Sequence[tuple[Passage, float]],
    places: int = PASSAGES,
    controls: int = CONTROLS,
    min_overlap: float = MIN_OVERLAP,
) -> tuple[list[Passage], list[str]]:
    """The passages of a question that are judged, and what became of each one retrieved.

    Args:
        question: its id.
        gold: passages of the dataset's own evidence.
        retrieved: passages, best first, with their ``overlap``.
        places: passages to choose.
        controls: of these, how many are gold while others are left.
        min_overlap: what a retrieved passage needs.
    """
    chosen = list(gold[: min(controls, places)])
    fates = []
    for passage, share in retrieved:
        if share < min_overlap:
            fates.append(LOW_OVERLAP)
        elif any(passage.shares(other) for other in chosen) or any(passage.shares(other) for other in gold):
            fates.append(SHARES_A_PARAGRAPH)
        elif len(chosen) >= places:
            fates.append(NO_PLACE)
        else:
            chosen.append(passage)
            fates.append(CHOSEN)
    chosen += gold[min(controls, places) :][: places - len(chosen)]
    return sorted(chosen, key=lambda passage: (stable_id(question, *passage), passage)), fates
