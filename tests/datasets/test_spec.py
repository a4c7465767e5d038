"""What a dataset says of itself, and what it cannot say."""

import ast
import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kiltetl.schemas.records import Example, SourcePage
from kiltetl.transforms.datasets import DATASETS
from kiltetl.transforms.datasets.spec import Dataset, EvidenceFiles, Options, Published, Row
from tests.support.checkout import ROOT


def read(row: Row) -> Iterator[Example]:
    yield from ()


def read_evidence(row: Row) -> Iterator[SourcePage]:
    yield from ()


DATASET = Dataset("mine", "QA", read, ("train", "test"), "{}", "CC0", "https://example.org")


def configure(given: Any) -> Dataset:
    return DATASET


@pytest.mark.parametrize("name", ["a", "9", "nq-open_2", "Mine", "x" * 64])
def test_a_name_is_the_name_of_a_folder(name: str) -> None:
    assert replace(DATASET, name=name).name == name


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a/b", "a\\b", "a.b", "-a", "_a", "a b", "a\n", "é", "x" * 65, "manifests", "Rejects", "anchors"],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="folders are called by its name"):
        replace(DATASET, name=name)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"splits": ()}, "splits are (), not one or more of train, validation, test, each once"),
        ({"splits": ("train", "dev")}, "splits are ('train', 'dev'), not one or more of train, validation, test, each"),
        ({"splits": ("test", "test")}, "splits are ('test', 'test'), not one or more of train, validation, test, each"),
        ({"published": Published(size={"validation": 5})}, "figures are published of validation, which is none of its"),
        ({"published": Published(drop={"dev": 5.0})}, "figures are published of dev, which is none of its splits"),
        ({"leading_metric": "bleu"}, "the leading metric 'bleu' is none of accuracy, em, f1, rougel"),
        (
            {"needs_knowledge_source": False, "evidence": EvidenceFiles(read_evidence, "{}")},
            "it has evidence files, but names no page to map their text onto (needs_knowledge_source)",
        ),
        ({"ids_of": "nq"}, "it cannot take the evidence of nq: only one that names no page takes another's"),
        ({"ids_of": "mine", "needs_knowledge_source": False}, "it cannot take the evidence of mine: only one that"),
        ({"ids_of": "../nq", "needs_knowledge_source": False}, "'../nq' is the name of no dataset"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=r"^mine: ") as caught:
        replace(DATASET, **changes)
    assert str(caught.value).startswith(f"mine: {problem}")


def test_what_can_be_is_taken() -> None:
    assert replace(DATASET, ids_of="nq", needs_knowledge_source=False).ids_of == "nq"
    assert replace(DATASET, evidence=EvidenceFiles(read_evidence, "{}"), leading_metric="f1").leading_metric == "f1"
    assert replace(DATASET, published=Published({"train": 5}, {"test": 1.5})).published.size == {"train": 5}


def test_options_have_names_of_their_own() -> None:
    with pytest.raises(ValueError, match=r"^options without the name of a file or of a value$"):
        Options(configure)
    with pytest.raises(ValueError, match=r"^labels, seed: the name of an option file and of a value$"):
        Options(configure, files={"seed": "", "labels": "", "x": ""}, values={"labels": "", "seed": "", "y": ""})
    assert Options(configure, files={"a": ""}).values == Options(configure, values={"a": ""}).files == {}


def test_averages_have_the_names_of_manifests() -> None:
    assert Published(averages=(1.0, 3.22, 1.57, 2.08)).averages_by_name() == {
        "spans_per_set": 1.0, "sets_per_record": 3.22, "pages_per_record": 1.57, "answers_per_record": 2.08,
    }  # fmt: skip
    assert Published().averages_by_name() == {}


def test_what_is_said_of_the_built_in_ones() -> None:
    assert {name: dataset.leading_metric for name, dataset in DATASETS.items()} == {
        "fever": "accuracy", "aidayago2": "accuracy", "wned": "accuracy", "cweb": "accuracy", "trex": "accuracy",
        "structured_zeroshot": "accuracy", "nq": "em", "hotpotqa": "em", "triviaqa": "em", "eli5": "rougel",
        "wow": "f1", "mkqa": None, "tackbp2010": None,
    }  # fmt: skip
    assert [name for name, dataset in DATASETS.items() if dataset.annotated] == ["nq", "eli5"]
    assert [name for name, dataset in DATASETS.items() if dataset.long_answers] == ["eli5"]
    assert {name: dataset.ids_of for name, dataset in DATASETS.items() if dataset.ids_of} == {"mkqa": "nq"}
    assert {name for name, dataset in DATASETS.items() if dataset.published.drop} == {
        "fever", "structured_zeroshot", "nq", "hotpotqa", "triviaqa", "wow",
    }  # fmt: skip


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_travels_to_workers(name: str) -> None:
    found = pickle.loads(pickle.dumps(DATASETS[name]))
    assert (found.name, found.shape, found.published) == (name, DATASETS[name].shape, DATASETS[name].published)


SCORERS = ("transforms/metrics/", "pipelines/evaluate")
"""What scores by MKQA's protocol, which has the name of its dataset."""


def test_no_module_outside_names_a_dataset() -> None:
    named = []
    for folder in ("transforms", "pipelines"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            own = path.relative_to(ROOT).with_suffix("").as_posix()
            if own.startswith(("transforms/datasets/", *SCORERS)):
                continue
            values = {
                node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant)
            }
            named += [(own, value) for value in values if isinstance(value, str) and value in DATASETS]
    assert not named
