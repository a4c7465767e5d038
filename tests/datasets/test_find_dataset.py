"""A dataset by its name or by its place in a package of somebody else's."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kiltetl.schemas.errors import InputError
from kiltetl.transforms.datasets import DATASETS, find_dataset
from kiltetl.transforms.datasets.nq import DATASET as NQ
from kiltetl.transforms.datasets.spec import Dataset

CODE = """\
from kiltetl.transforms.datasets.spec import Dataset

def read(row):
    yield from ()

def dataset(name):
    return Dataset(name, "QA", read, ("train",), "{}", "CC0", "https://example.org")

"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a package ``somebody``, of which nothing is imported yet."""
    (tmp_path / "somebody").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one not in ("", str(tmp_path))])
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "somebody"]:
        del sys.modules[name]


def module(folder: Path, name: str, *lines: str) -> None:
    (folder / "somebody" / f"{name}.py").write_text(CODE + "\n".join(lines) + "\n")


def test_a_built_in_dataset_has_a_name_alone() -> None:
    assert find_dataset("nq") is NQ
    assert all(find_dataset(name) is dataset for name, dataset in DATASETS.items())
    with pytest.raises(InputError, match=r"^mine: unknown; known are aidayago2, cweb, .*, and package\.module:DATASET"):
        find_dataset("mine")


def test_a_dataset_of_the_current_folder(folder: Path) -> None:
    module(folder, "one", 'OURS = dataset("ours")')
    found = find_dataset("somebody.one:OURS")
    assert isinstance(found, Dataset)
    assert found.name == "ours"
    assert sys.path.count(str(folder)) == 1
    assert find_dataset("somebody.one:OURS") is found
    assert sys.path.count(str(folder)) == 1


def test_the_current_folder_comes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(folder, "one", 'OURS = dataset("ours")')
    other = folder / "site" / "somebody"
    other.mkdir(parents=True)
    (other / "one.py").write_text(f'{CODE}OURS = dataset("theirs")\n')
    monkeypatch.syspath_prepend(str(other.parent))
    assert find_dataset("somebody.one:OURS").name == "ours"


def test_a_built_in_dataset_may_be_named_by_its_place(folder: Path) -> None:
    assert find_dataset("kiltetl.transforms.datasets.nq:DATASET") is NQ


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nobody.mine:DATASET", r"there is no module nobody, neither installed nor in "),
        ("somebody.none:DATASET", r"there is no module somebody\.none, neither installed nor in "),
        ("somebody.needs:DATASET", r"somebody\.needs cannot be imported: No module named 'nowhere'"),
        ("somebody.breaks:DATASET", r"somebody\.breaks cannot be imported: ZeroDivisionError: division by zero"),
        ("somebody.ends:DATASET", r"somebody\.ends cannot be imported: SystemExit: 3"),
        ("somebody.unnamed:DATASET", r"cannot be imported: ValueError: a dataset cannot be named '\.\./x'"),
        ("somebody.fine:OTHER", r"somebody\.fine has no OTHER; its datasets are: DATASET, FEVER, nine$"),
        ("somebody.needless:DATASET", r"somebody\.needless has no DATASET; its datasets are: none$"),
        ("somebody.fine:read", r"read is a function, not a Dataset"),
        ("somebody.fine:FEVER", r"it is named Fever, as a built-in dataset is; name it otherwise"),
        ("somebody.fine:", r"not of the form package\.module:DATASET"),
        (":DATASET", r"not of the form package\.module:DATASET"),
        ("..fine:DATASET", r"not of the form package\.module:DATASET"),
        ("somebody/fine.py:DATASET", r"not of the form package\.module:DATASET"),
        ("somebody.fine:DATASET:x", r"not of the form package\.module:DATASET"),
    ],
)
def test_what_is_wrong_with_a_name_is_told(folder: Path, name: str, said: str) -> None:
    module(folder, "fine", 'DATASET, FEVER, nine = dataset("fine"), dataset("Fever"), dataset("9")')
    module(folder, "needs", "import nowhere")
    module(folder, "breaks", "1 / 0")
    module(folder, "ends", "raise SystemExit(3)")
    module(folder, "unnamed", 'DATASET = dataset("../x")')
    module(folder, "needless")
    with pytest.raises(InputError, match=said) as caught:
        find_dataset(name)
    assert str(caught.value).startswith(f"{name}: ")
