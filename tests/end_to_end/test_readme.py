"""The README tells the truth: what it shows is what the example build makes and the code says."""

import re
from pathlib import Path

import pytest

from kiltetl.pipelines import cli
from kiltetl.pipelines.config import read_config
from kiltetl.transforms.datasets import DATASETS
from tests.support.checkout import ROOT
from tools.readme import README, blocks, replaced


def test_what_the_readme_shows_is_what_comes_out(tmp_path: Path) -> None:
    text = README.read_text()
    assert replaced(text, blocks(tmp_path)) == text, "run: python -m tools.readme"


def test_every_dataset_says_which_files_it_wants() -> None:
    for name, dataset in DATASETS.items():
        assert "--source" in dataset.usage, name
        assert not re.search(r"[|<>\n]", dataset.usage), f"{name}: this breaks the table"
        assert (dataset.evidence is not None) == ("--evidence" in dataset.usage), name
        named = () if dataset.options is None else (*dataset.options.files, *dataset.options.values)
        assert all(f"{option}=" in dataset.usage for option in named), name


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in ("README.md", "CONTRIBUTING.md"):
        named = re.findall(r"`?\bmake ([a-z-]+)", (ROOT / page).read_text())
        assert {name for name in named if f"make {name}" in (ROOT / page).read_text()} & {"build", "test"}
        assert set(re.findall(r"`make ([a-z-]+)", (ROOT / page).read_text())) <= targets


def test_every_file_that_is_linked_exists() -> None:
    for page in ("README.md", "CONTRIBUTING.md", "examples/README.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text()):
            assert target.startswith("https://") or (ROOT / page).parent.joinpath(target).exists(), target


@pytest.mark.parametrize(
    "command", ["build", "knowledge-source", "tasks", "report", "evaluate", "export", "annotations", "anchors"]
)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command in cli._HELP
    try:
        status = cli.main([command, "--help"])
    except SystemExit as ended:  # argparse's own way
        status = ended.code
    assert status == 0
    assert f"kiltetl {command}" in capsys.readouterr().out


def test_options_in_the_readme_exist(capsys: pytest.CaptureFixture[str]) -> None:
    text = README.read_text()
    known = set()
    for command in (
        "knowledge-source",
        "tasks",
        "build",
        "report",
        "evaluate kilt",
        "evaluate mkqa",
        "export kilt-jsonl",
        "anchors",
        "annotations candidates",
        "annotations apply",
    ):
        with pytest.raises(SystemExit):
            cli.main([*command.split(), "--help"])
        known |= set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    for line in re.findall(r"^kiltetl .*$", text, re.MULTILINE):
        own = line.partition(" -- ")[0]
        assert set(re.findall(r"(?<= )--[a-z][a-z-]+", own)) <= known, line
    assert read_config(str(ROOT / "examples" / "build.toml"))["task"]
