"""What an evaluation has to know of a benchmark (``Scorer``), and the join of gold and predictions that all share.

What is evaluated has a *name*: a dataset of KILT, a language of MKQA. A *system* gives predictions for
one name or more.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from kiltetl.schemas.errors import EvaluationError

Record: TypeAlias = Mapping[str, Any]
Said: TypeAlias = Any  # what a scorer has read in a record, for it alone
Part = TypeVar("Part")
Whole = TypeVar("Whole")

GROUP: Final = 10_000  # rows of a table at most

TWICE_GOLD: Final = "the gold ids are not unique"
TWICE: Final = "there is more than one prediction"
MISSING: Final = "there is no prediction"
EXTRA: Final = "predictions for ids that are not in the gold file, left out"


class Scorer(Protocol[Part, Whole]):
    """One benchmark with the options that its figures depend on; it can be pickled.

    ``Part`` is what the predictions for one name score, ``Whole`` what a system does.

    Attributes:
        benchmark: its name.
        score: record class of what one prediction scores. Its ``position`` orders the rows of a file.
    """

    benchmark: ClassVar[str]
    score: ClassVar[type]

    @property
    def strict(self) -> bool:
        """Whether the figures are sensible where the official ones are odd."""
        ...

    def about(self, name: str) -> str:
        """How a message on the predictions for a name begins, where files do not tell names apart."""
        ...

    def read_gold(
        self, record: Any, number: int, names: Collection[str]
    ) -> Iterator[tuple[str, str, Said, Sequence[str]]]:
        """(name, id, what is said, what is to be noted) for each of these names that a gold record has.

        A record that says no name has the one that there is. MalformedRecord, which names the record by its
        id or by its number, from 1, where it breaks the format.
        """
        ...

    def read_prediction(self, record: Any, number: int) -> tuple[str, Said, Sequence[str]]:
        """(id, what is said, what is to be noted) of a prediction; the same errors."""
        ...

    def score_one(
        self, name: str, gold: Said, prediction: Said, gold_position: int, position: int
    ) -> tuple[Any, Sequence[str]]:
        """What one prediction scores, a ``score``, and what is to be noted. Positions are those in the files."""
        ...

    def gather(self, name: str, rows: Sequence[Any], notes: Mapping[str, int], extra: Sequence[str]) -> Part:
        """What the predictions for a name score.

        Args:
            rows: of ``score``, in the order of the gold file.
            notes: how often something was noted, by text.
            extra: ids of predictions that were left out.
        """
        ...

    def evaluation(self, parts: Mapping[str, Part]) -> Whole:
        """What a system scores."""
        ...

    def summary(self, ours: Whole, other: Whole | None, number: int, seed: int) -> dict[str, Any]:
        """The content of ``metrics.json``.

        Args:
            ours, other: a system and another to compare it with.
            number, seed: samples of the bootstrap, none at 0.
        """
        ...

    def schema(self) -> pa.Schema:
        """The columns of the table of all predictions."""
        ...

    def tables(self, evaluation: Whole) -> Iterator[pa.Table]:
        """The table of all predictions, by name and in the order of the gold file, in pieces of ``GROUP`` rows."""
        ...


# --------------------------------------------------------------------------------------------
# The join


@dataclass(slots=True)
class Golds:
    """What the gold records say for one name, by id in the order of the file."""

    by_id: dict[str, Said] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)


def read_golds(scorer: Scorer[Any, Any], records: Iterable[Any], names: Sequence[str]) -> dict[str, Golds]:
    """Gold by name, of the names asked for. EvaluationError for ids that are not unique."""
    found = {name: Golds() for name in names}
    twice: dict[str, None] = {}
    for number, record in enumerate(records, 1):
        for name, id, said, noted in scorer.read_gold(record, number, found.keys()):
            of = found[name]
            if id in of.by_id:
                twice[id] = None
            of.by_id[id] = said
            if noted:
                of.notes.update(noted)
    refuse(TWICE_GOLD, twice)
    return found


def score_name(scorer: Scorer[Part, Any], name: str, golds: Golds, predictions: Iterable[Any]) -> Part:
    """Score the predictions for one name; each gold id must have one, in any order.

    EvaluationError for ids that are missing or not unique.
    """
    places = {id: place for place, id in enumerate(golds.by_id)}
    rows: list[Any] = [None] * len(places)
    notes = Counter(golds.notes)
    extra: list[str] = []
    twice: dict[str, None] = {}
    for position, record in enumerate(predictions):
        id, said, noted = scorer.read_prediction(record, position + 1)
        if noted:
            notes.update(noted)
        place = places.get(id)
        if place is None:
            extra.append(id)
        elif rows[place] is not None:
            twice[id] = None
        else:
            rows[place], noted = scorer.score_one(name, golds.by_id[id], said, place, position)
            if noted:
                notes.update(noted)
    refuse(f"{scorer.about(name)}{TWICE}", twice)
    refuse(f"{scorer.about(name)}{MISSING}", (id for id, place in places.items() if rows[place] is None))
    if extra:
        notes[EXTRA] = len(extra)
    return scorer.gather(name, rows, dict(sorted(notes.items())), extra)


def refuse(problem: str, ids: Iterable[str]) -> None:
    """EvaluationError that names the ids, if there are any."""
    named = list(ids)
    if named:
        raise EvaluationError(f"{problem} for {named_ids(named)}")


def named_ids(ids: Sequence[str], limit: int = 5, count: int | None = None) -> str:
    """The first few of many ids; ``count`` if ``ids`` are not all.

    >>> named_ids(["a"]), named_ids(["a", "b"], limit=1)
    ("id 'a'", "2 ids: 'a', …")
    """
    number = len(ids) if count is None else count
    if number == 1:
        return f"id {ids[0]!r}"
    more = ", …" if number > limit else ""
    return f"{number:,} ids: {', '.join(map(repr, ids[:limit]))}{more}"
