"""The splits of a dataset, and what they are called.

KILT's dev is the split ``validation`` of our tables, the name that data-set loaders know. Released files and
people say dev.
"""

from typing import Final

TRAIN: Final = "train"
VALIDATION: Final = "validation"
TEST: Final = "test"
SPLITS: Final = (TRAIN, VALIDATION, TEST)

_CALLED: Final = {"dev": VALIDATION, "valid": VALIDATION} | {split: split for split in SPLITS}


def split_called(name: str) -> str | None:
    """The split that a name means, None if it means none.

    >>> split_called("dev"), split_called("test"), split_called("challenge")
    ('validation', 'test', None)
    """
    return _CALLED.get(name)


def released_name(split: str) -> str:
    """What the released files call a split.

    >>> released_name("validation"), released_name("train")
    ('dev', 'train')
    """
    return "dev" if split == VALIDATION else split


def split_order(split: str) -> tuple[int, str]:
    """Sorts train, validation and test before any other."""
    return SPLITS.index(split) if split in SPLITS else len(SPLITS), split
