"""The links of a knowledge source as examples of entity linking (KILT's additional training data).

One record an anchor that leads to a page: its text is the mention, its paragraph the context, at most
256 tokens in all (``kiltetl.transforms.datasets.mentions``). Both contexts of the record's meta are those of
its input, for a paragraph would else stand in the table once for each of its anchors.

A page's anchors are all in one split, by a hash of the page's id, so that no text of validation is
seen in training. An id says where the anchor stands: page, paragraph and first character.
"""

from typing import Final

from kiltetl.schemas.records import Anchor, Output, OutputMeta, Provenance, ProvenanceMeta, Task
from kiltetl.schemas.splits import TRAIN, VALIDATION
from kiltetl.transforms.datasets.hashing import SEED, stable_share
from kiltetl.transforms.datasets.mentions import context, mention_example

NAME: Final = "anchors"
TASK: Final = "entity linking"
SPLITS: Final = (TRAIN, VALIDATION)
DEV_SHARE: Final = 0.01

RED_LINK: Final = "red-link"  # leads to no page of the knowledge source
NOT_SAMPLED: Final = "not-sampled"  # not among the share of anchors that was asked for


def split_of_page(page_id: str, dev_share: float = DEV_SHARE, seed: int = SEED) -> str:
    """The split of all anchors of a page.

    >>> split_of_page("25458", 0), split_of_page("25458", 1)
    ('train', 'validation')
    """
    return VALIDATION if stable_share(f"page {page_id}", seed) < dev_share else TRAIN


def anchor_id(page_id: str, paragraph_id: int, start: int) -> str:
    return f"{page_id}:{paragraph_id}:{start}"


def anchor_task(number: str, split: str, text: str, anchor: Anchor, language: str = "en") -> Task:
    """The record of an anchor in the text of its paragraph.

    Raises:
        ValueError: the anchor leads to no page, its text is empty, not the paragraph's, or too long.
    """
    if anchor.wikipedia_id is None:
        raise ValueError("a red link")
    if text[anchor.start : anchor.end] != anchor.text:
        raise ValueError(f"the anchor {anchor.text!r} is not at [{anchor.start}, {anchor.end}) of its paragraph")
    left, right = context(text[: anchor.start], anchor.text, text[anchor.end :])
    example = mention_example(number, left, anchor.text, right, anchor.wikipedia_title, language)
    page = Provenance(
        bleu_score=None,
        start_character=None,
        start_paragraph_id=None,
        end_character=None,
        end_paragraph_id=None,
        meta=ProvenanceMeta(),
        section=None,
        title=anchor.wikipedia_title,
        wikipedia_id=anchor.wikipedia_id,
    )
    output = Output(anchor.wikipedia_title, OutputMeta(), (page,))
    return Task(number, example.input, example.meta, (output,), NAME, split, language)
