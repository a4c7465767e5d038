"""What all commands say and take alike."""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kiltetl.pipelines import report
from kiltetl.pipelines.arguments import Parser, date, positive
from kiltetl.pipelines.console import Console, plain, run_command
from kiltetl.schemas.errors import InputError
from tests.support.checkout import ENVIRONMENT, ROOT
from tests.support.example_build import ExampleBuild


def parser() -> Parser:
    made = Parser("what it does", prog="kiltetl thing")
    made.add_argument("--dump", nargs="+", required=True)
    made.add_argument("--output", required=True)
    made.add_argument("--workers", type=positive, default=1)
    made.add_argument("--day", type=date)
    return made


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dmp", "x"], "unrecognized arguments: --dmp x (--dmp: --dump?); see kiltetl thing --help"),
        (["--dump", "x", "--outptu=y"], "unrecognized arguments: --outptu=y (--outptu: --output?); see kiltetl thing"),
        (["--dump", "x", "--zzz"], "unrecognized arguments: --zzz; see kiltetl thing --help"),
        (["--dump", "x"], "the following arguments are required: --output; see kiltetl thing --help"),
        ([], "the following arguments are required: --dump, --output; see kiltetl thing --help"),
        (["--dump", "x", "--output", "y", "--workers", "x"], "argument --workers: 'x' is not a whole number"),
    ],
)
def test_what_is_misspelt_is_named_before_what_is_missing(arguments: list[str], said: str) -> None:
    with pytest.raises(InputError) as error:
        parser().parse_args(arguments)
    assert str(error.value).startswith(said)


def test_arguments_arrive() -> None:
    found = parser().parse_args(["--dump", "a", "b", "--output", "c", "--day", "2019-08-01"])
    assert vars(found) == {"dump": ["a", "b"], "output": "c", "workers": 1, "day": "2019-08-01"}


@pytest.mark.parametrize("text", ["yesterday", "2019-8-1", "20190801", "2019-02-30", "2019-08-01T00:00:00", ""])
def test_what_is_no_date(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a date of the form YYYY-MM-DD"):
        date(text)


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (InputError("x: no such\n  file"), 2, "kiltetl: error: x: no such file\n"),
        (KeyboardInterrupt(), 130, "kiltetl: interrupted; finished parts are kept and the same command goes on"),
        (OSError(28, "x: No space left on device; make room"), 1, "kiltetl: failed: OSError: [Errno 28] x: No space"),
    ],
)
def test_an_error_is_a_line_and_a_status(
    capsys: pytest.CaptureFixture[str], error: BaseException, status: int, said: str
) -> None:
    def fail(_: object) -> None:
        raise error

    assert run_command(fail, []) == status
    assert capsys.readouterr().err.startswith(said)


def test_characters_that_a_terminal_would_obey_are_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    text = "a\x1b[31mred\x07\x9b\r\u202eevil\u2066\u200b\ud800 b\tc\nd é 北 🙂"
    shown = r"a\x1b[31mred\x07\x9b\r\u202eevil\u2066\u200b\ud800 b" + "\tc\nd é 北 🙂"
    assert plain(text) == shown
    console = Console()
    console.say(text)
    console.warn(text)
    told = capsys.readouterr()
    assert told.out == f"{shown}\n"
    assert told.err == f"warning: {shown}\n"

    def fail(_: Any) -> int:
        raise InputError(f"file: {text}")

    assert run_command(fail, []) == 2
    said = capsys.readouterr().err
    assert said == f"kiltetl: error: file: {shown}\n".replace("\nd", " d").replace("\\r", " ")


def test_a_closed_standard_error_is_no_failure_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Any) -> int:
        raise InputError("wrong")

    with open(os.devnull) as closed:
        pass
    for stream in (closed, None):
        monkeypatch.setattr(sys, "stderr", stream)
        assert run_command(fail, []) == 2


def test_help_on_a_terminal_that_has_ascii_alone() -> None:
    environment = ENVIRONMENT | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    for command in ("tasks",):
        program = [sys.executable, "-m", "kiltetl", command, "--help"]
        made = subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, check=True)
        assert b"usage: kiltetl" in made.stdout
        assert made.stdout.isascii()


@pytest.mark.parametrize("name", [b"caf\xe9", b"a[1]*?", "naïve 北".encode(), b"new\nline"])
def test_folders_of_any_name(name: bytes, example_build: ExampleBuild, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(name)
    (folder / "tasks").mkdir(parents=True)
    (folder / "tasks" / "manifests").symlink_to(example_build.output / "tasks" / "manifests")
    assert report.main([str(folder), "--quiet"]) == 0
    assert (folder / "report.html").exists()
