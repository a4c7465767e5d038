"""Every dataset of the benchmark. A new one is one file beside this one and its name in ``NAMES``."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Final

from kiltetl.transforms.datasets.spec import Dataset

NAMES: Final = (
    "fever",
    "aidayago2",
    "wned",
    "cweb",
    "trex",
    "structured_zeroshot",
    "nq",
    "hotpotqa",
    "triviaqa",
    "eli5",
    "wow",
    "mkqa",
    "tackbp2010",
)


def by_name(datasets: Iterable[Dataset]) -> dict[str, Dataset]:
    """The datasets by their names. ``ValueError`` if two share one."""
    found: dict[str, Dataset] = {}
    for dataset in datasets:
        if dataset.name in found:
            raise ValueError(f"two datasets are named {dataset.name!r}")
        found[dataset.name] = dataset
    return found


def load(names: Iterable[str]) -> dict[str, Dataset]:
    """The ``DATASET`` of each of these modules beside this one, by its name."""
    return by_name(import_module(f"{__name__}.{name}").DATASET for name in names)


DATASETS: Final[Mapping[str, Dataset]] = load(NAMES)
