"""Every dataset of the benchmark. A new one is one file beside this one and its name in ``NAMES``.

One that stands in a package of its own is named ``package.module:DATASET`` instead.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Final

from kiltetl.schemas.errors import InputError
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


def find_dataset(name: str) -> Dataset:
    """A dataset by the name of a built-in one, or by ``package.module:DATASET``, its place in a package.

    The package is found where Python finds packages, and in the current folder, as by ``python -m``.

    Raises:
        InputError: there is no such dataset; the module cannot be imported; the attribute is no Dataset; or
            its name is a built-in one's, whatever the case of its letters.
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        if name not in DATASETS:
            known = ", ".join(sorted(DATASETS))
            raise InputError(f"{name}: unknown; known are {known}, and package.module:DATASET of your own")
        return DATASETS[name]
    if not all(part.isidentifier() for part in (*module.split("."), attribute)):
        raise InputError(f"{name}: not of the form package.module:DATASET")
    here = os.getcwd()
    if not {"", here} & set(sys.path):
        sys.path.insert(0, here)
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise InputError(f"{name}: {module} cannot be imported: {error}") from None
        raise InputError(f"{name}: there is no module {error.name}, neither installed nor in {here}") from None
    except (Exception, SystemExit) as error:  # whatever the module does when it is imported
        raise InputError(f"{name}: {module} cannot be imported: {type(error).__name__}: {error}") from None
    if not hasattr(found, attribute):
        there = ", ".join(key for key, value in vars(found).items() if isinstance(value, Dataset)) or "none"
        raise InputError(f"{name}: {module} has no {attribute}; its datasets are: {there}")
    dataset = getattr(found, attribute)
    if not isinstance(dataset, Dataset):
        raise InputError(f"{name}: {attribute} is a {type(dataset).__name__}, not a Dataset")
    if dataset.name.lower() in DATASETS and dataset is not DATASETS.get(dataset.name):
        raise InputError(f"{name}: it is named {dataset.name}, as a built-in dataset is; name it otherwise")
    return dataset
