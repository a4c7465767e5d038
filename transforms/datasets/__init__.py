"""Every dataset of the benchmark. A new one is one file beside this one and one name in the tuple."""

from collections.abc import Iterable, Mapping
from typing import Final

from kiltetl.transforms.datasets import (
    aidayago2,
    cweb,
    eli5,
    fever,
    hotpotqa,
    mkqa,
    nq,
    structured_zeroshot,
    tackbp2010,
    trex,
    triviaqa,
    wned,
    wow,
)
from kiltetl.transforms.datasets.spec import Dataset


def by_name(datasets: Iterable[Dataset]) -> dict[str, Dataset]:
    """The datasets by their names. ``ValueError`` if two share one."""
    found: dict[str, Dataset] = {}
    for dataset in datasets:
        if dataset.name in found:
            raise ValueError(f"two datasets are named {dataset.name!r}")
        found[dataset.name] = dataset
    return found


DATASETS: Final[Mapping[str, Dataset]] = by_name(
    (
        fever.DATASET,
        aidayago2.DATASET,
        wned.DATASET,
        cweb.DATASET,
        trex.DATASET,
        structured_zeroshot.DATASET,
        nq.DATASET,
        hotpotqa.DATASET,
        triviaqa.DATASET,
        eli5.DATASET,
        wow.DATASET,
        mkqa.DATASET,
        tackbp2010.DATASET,
    )
)
