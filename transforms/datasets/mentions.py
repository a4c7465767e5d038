"""Entity linking: one marked mention in its context (KILT, section 4).

Shared by all that makes such examples: the datasets, TAC-KBP 2010 and the anchors of a knowledge
source. Everything takes plain strings.

The input is ``left [START_ENT] mention [END_ENT] right``, at most ``MAX_TOKENS`` tokens in all. A token
is what white space separates, and the two tags are tokens of the input as well. Context is cut at
token borders, keeps its own white space and loses it at its ends. Both sides get the same share; what
one does not need goes to the other. The record's meta keeps the whole context, as the released one does.
"""

from typing import Final

from kiltetl.schemas.records import Evidence, Example, ExampleOutput, TaskMeta
from kiltetl.transforms.datasets.spec import Shape

SHAPE: Final = Shape(("left_context", "mention", "right_context"))
MAX_TOKENS: Final = 256
START: Final = "[START_ENT]"
END: Final = "[END_ENT]"


def context(left: str, mention: str, right: str, limit: int = MAX_TOKENS) -> tuple[str, str]:
    """What stays of the text before and after a mention. ``ValueError`` if the mention alone is too long.

    >>> context("a b  c ", "M", " d e f g", limit=7)
    ('b  c', 'd e')
    >>> context("c ", "M", " d e f g", limit=7)
    ('c', 'd e f')
    """
    size = len(mention.split())
    room = limit - size - 2
    if room < 0:
        raise ValueError(f"a mention of {size} tokens does not fit into an input of {limit}")
    before, after = min(room, len(left.rsplit(None, room))), min(room, len(right.split(None, room)))
    kept = min(before, max(room // 2, room - after))
    return _last(left, kept), _first(right, min(after, room - kept))


def _last(text: str, count: int) -> str:
    """The last tokens of a text."""
    parts = text.rsplit(None, count)
    return (text[len(parts[0]) :] if len(parts) > count else text).strip()


def _first(text: str, count: int) -> str:
    """The first tokens of a text."""
    parts = text.split(None, count)
    return (text[: -len(parts[-1])] if len(parts) > count else text).strip()


def mention_example(
    number: str, left: str, mention: str, right: str, title: str, language: str = "en", limit: int = MAX_TOKENS
) -> Example:
    """The example of one mention, whose evidence is a whole page.

    Args:
        number: id of the example.
        left: all the text before the mention.
        mention: the mention itself.
        right: all the text after it.
        title: title of the page that is meant.
        language: of the text.
        limit: tokens of the input.

    Raises:
        ValueError: the mention is empty or does not fit into the limit.
    """
    mention = mention.strip()
    if not mention:
        raise ValueError("the mention is empty")
    before, after = context(left, mention, right, limit)
    return Example(
        id=number,
        input=" ".join(part for part in (before, START, mention, END, after) if part),
        outputs=(ExampleOutput(title, (Evidence(title),)),),
        meta=TaskMeta(left_context=left.strip(), mention=mention, right_context=right.strip()),
        language=language,
    )
