"""README, CONTRIBUTING and docs/ tell the truth: what they show is what the example build makes and the code says."""

import contextlib
import doctest
import io
import re
import struct
from functools import cache
from pathlib import Path

import pytest

from kiltetl.pipelines import cli
from kiltetl.pipelines.config import plan_of, read_config
from kiltetl.transforms.datasets import DATASETS
from tests.support.checkout import ROOT
from tests.support.example_build import ExampleBuild
from tools import picture
from tools.readme import MARK, PAGES, blocks, replaced

WRITTEN = (*PAGES, ROOT / "CHANGELOG.md", ROOT / "examples" / "README.md")  # with those that have no made parts
ONE = re.compile(r"^kiltetl (.*)$", re.MULTILINE)
COMMANDS = (
    "build", "knowledge-source", "tasks", "report", "evaluate kilt", "evaluate mkqa", "export kilt-jsonl", "anchors",
    "annotations candidates", "annotations apply", "verify",
)  # fmt: skip


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def example(example_build: ExampleBuild) -> tuple[Path, str]:
    """A folder with the example build in ``out``, and what the build printed."""
    return example_build.output.parent, example_build.printed


@cache
def options(command: str) -> frozenset[str]:
    """The options of a command, from its help."""
    printed = io.StringIO()
    with pytest.raises(SystemExit), contextlib.redirect_stdout(printed):
        cli.main([*command.split(), "--help"])
    return frozenset(re.findall(r"--[a-z][a-z-]+", printed.getvalue()))


def code(page: Path, language: str) -> list[str]:
    """The blocks of a language in a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


# --------------------------------------------------------------------------------------------
# what is made


def test_what_the_pages_show_is_what_comes_out(example: tuple[Path, str]) -> None:
    folder, printed = example
    found = blocks(folder / "out", printed)
    for page in PAGES:
        text = page.read_text("utf-8")
        assert replaced(text, found) == text, f"{named(page)}: run python -m tools.readme"
    shown = [name for page in PAGES for name, _ in MARK.findall(page.read_text("utf-8"))]
    assert sorted(shown) == sorted(found), "each part stands in one place"


def test_a_part_is_made_anew_between_its_marks() -> None:
    page = "a\n<!-- begin x -->\nold\n<!-- end x -->\n<!-- begin y z -->\n<!-- end y z -->\n"
    assert replaced(page, {"x": "new\n\\1", "y z": "two"}) == (
        "a\n<!-- begin x -->\nnew\n\\1\n<!-- end x -->\n<!-- begin y z -->\ntwo\n<!-- end y z -->\n"
    )
    with pytest.raises(KeyError, match="x"):
        replaced(page, {"y z": "two"})


def test_every_dataset_says_which_files_it_wants() -> None:
    for name, dataset in DATASETS.items():
        assert "--source" in dataset.usage, name
        assert not re.search(r"[|<>\n]", dataset.usage), f"{name}: this breaks the table"
        assert (dataset.evidence is not None) == ("--evidence" in dataset.usage), name
        takes = () if dataset.options is None else (*dataset.options.files, *dataset.options.values)
        assert all(f"{option}=" in dataset.usage for option in takes), name


def test_what_the_makefile_runs_is_there() -> None:
    modules = re.findall(r"python -m (tools\.\w+)", (ROOT / "Makefile").read_text())
    assert {"tools.bench", "tools.mutation", "tools.fuzz_wikitext"} <= set(modules)
    for module in modules:
        source = (ROOT / module.replace(".", "/")).with_suffix(".py").read_text()
        assert '__name__ == "__main__"' in source, module
    for path in re.findall(r"(?<= )(?:tests|tools)/[\w/.]+", (ROOT / "Makefile").read_text()):
        assert (ROOT / path).exists(), path


# --------------------------------------------------------------------------------------------
# what is run


@pytest.mark.parametrize("page", [page for page in PAGES if code(page, "python")], ids=named)
def test_python_that_is_shown_runs(page: Path, example: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions (``>>>``) with their results; the module of CONTRIBUTING is run by tests of its own, others compile."""
    monkeypatch.chdir(example[0])
    for number, shown in enumerate(code(page, "python")):
        if shown.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(shown, {}, f"{named(page)} {number}", str(page), 0)
            report: list[str] = []
            assert doctest.DocTestRunner().run(test, out=report.append).failed == 0, "".join(report)
            assert test.examples
        else:
            compile(shown, named(page), "exec")


def test_some_python_is_run() -> None:
    run = [named(page) for page in PAGES for shown in code(page, "python") if shown.startswith(">>>")]
    assert run == ["README.md", "docs/evaluate.md", "docs/formats.md"]


@pytest.mark.parametrize("page", [page for page in PAGES if code(page, "toml")], ids=named)
def test_configurations_that_are_shown_are_read(page: Path, tmp_path: Path) -> None:
    for number, shown in enumerate(code(page, "toml")):
        path = tmp_path / f"{number}.toml"
        path.write_text(shown, "utf-8")
        plan = plan_of(str(path), None, True, False, ())
        assert plan.source is not None
        assert [(one.dataset, one.split) for one in plan.tasks] == [
            (one["dataset"], one["split"]) for one in read_config(str(path))["task"]
        ]
        assert all(one.dataset in DATASETS for one in plan.tasks)


# --------------------------------------------------------------------------------------------
# what is named


def lines_of_commands() -> list[tuple[str, str]]:
    """(page, what follows ``kiltetl``) of every line of a page that is a command, continued lines joined."""
    return [
        (named(page), line) for page in WRITTEN for line in ONE.findall(page.read_text("utf-8").replace("\\\n", " "))
    ]


@pytest.mark.parametrize(("page", "line"), lines_of_commands())
def test_commands_that_are_shown_have_these_options(page: str, line: str) -> None:
    own = line.partition(" -- ")[0].replace("annotations --", "annotations apply --")
    command = next((command for command in COMMANDS if f"{own} ".startswith(f"{command} ")), None)
    assert command is not None, f"{page}: no such command"
    assert set(re.findall(r"(?<= )--[a-z][a-z-]+", own)) <= options(command)


def test_commands_are_shown() -> None:
    shown = {named(page) for page in PAGES} - {"docs/formats.md"}
    assert len(lines_of_commands()) >= 20
    assert shown - {"CONTRIBUTING.md"} <= {page for page, _ in lines_of_commands()}


@pytest.mark.parametrize("page", WRITTEN, ids=named)
def test_options_that_are_named_exist(page: Path) -> None:
    known = {"--help", "--version"}.union(*map(options, COMMANDS))
    text = re.sub(r"^```\w*\n.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+(?![\w-])", text)) <= known
    assert set(re.findall(r"`kiltetl ([a-z-]+)", text)) <= {command.partition(" ")[0] for command in COMMANDS}


@pytest.mark.parametrize("command", sorted({command.partition(" ")[0] for command in COMMANDS}))
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"\n  {command} " in cli._HELP
    try:
        status = cli.main([command, "--help"])
    except SystemExit as ended:  # argparse's own way
        status = ended.code
    assert status == 0
    assert f"kiltetl {command}" in capsys.readouterr().out


def test_every_make_target_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    assert set(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split()) == targets
    found = {page: set(re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE)) for page in WRITTEN}
    for page, names in found.items():
        assert names <= targets, named(page)
    assert {"build", "test"} <= found[ROOT / "README.md"]
    assert found[ROOT / "CONTRIBUTING.md"] == targets


# --------------------------------------------------------------------------------------------
# what is linked


def links(page: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in addresses."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", WRITTEN, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if not link.startswith("https://"):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.is_file(), link
            assert target.resolve().is_relative_to(ROOT), link
            assert not anchor or anchor in anchors(target), link


def test_every_page_can_be_reached_from_the_readme() -> None:
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in links(ROOT / "README.md") if ":" not in link}
    assert set(PAGES[1:]) <= linked


def test_the_front_page_is_two_screens() -> None:
    assert (ROOT / "README.md").read_text("utf-8").count("\n") <= 120


def test_the_picture_fits_a_front_page() -> None:
    drawn = picture.PICTURE.read_bytes()
    assert drawn.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">I", drawn[16:20]) == (900,)
    assert len(drawn) < 150_000


def test_the_picture_needs_a_browser(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(picture, "which", lambda name: None)
    assert picture.main() == 2
    assert capsys.readouterr().err.endswith("google-chrome is installed: apt install chromium\n")
