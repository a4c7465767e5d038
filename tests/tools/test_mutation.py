"""The tool that changes lines: its table fits the code, and it tells what is noticed from what is not."""

import re
from pathlib import Path

import pytest

from tools.mutation import Mutation, mutated, mutations, problems, survives

SOURCE = "def least(a, b):\n    if a < b:\n        return a\n    return b\n"
TEST = (
    "from code_of_ours import least\n\n\ndef test_least() -> None:\n    assert (least(1, 2), least(2, 1)) == (1, 1)\n"
)


def one(line: str, instead: str, *tests: str) -> Mutation:
    return Mutation("code_of_ours.py", line, instead, tests)


def test_every_entry_fits_its_file() -> None:
    """An entry whose line was changed says nothing any more: give it the line as it is now."""
    found = list(mutations())
    assert problems(found) == []
    assert len(found) >= 60
    assert len({(one.file, one.line, one.instead) for one in found}) == len(found)


def test_a_line_is_changed_where_it_stands() -> None:
    assert mutated(SOURCE, one("if a < b:", "if a > b:")) == SOURCE.replace("<", ">")


@pytest.mark.parametrize(
    ("line", "instead", "said"),
    [
        ("if a <= b:", "if a > b:", "the line stands there 0 times, not once: if a <= b:"),
        ("a < b", "a > b", "the line stands there 0 times"),
        ("return c", "return a", "the line stands there 2 times"),
        ("if a < b:", "if (a < b):", "this changes nothing: if (a < b):"),
        ("if a < b:", "if a < b", "no Python with 'if a < b': expected ':'"),
    ],
)
def test_entries_that_are_none(line: str, instead: str, said: str) -> None:
    source = SOURCE + "def c():\n    return c\n    return c\n"
    with pytest.raises(ValueError, match=re.escape(said)):
        mutated(source, one(line, instead))


def test_what_is_wrong_with_a_table(tmp_path: Path) -> None:
    (tmp_path / "code_of_ours.py").write_text(SOURCE)
    chosen = [one("if a < b:", "if a > b:", "tests/not_there.py", "-k", "x"), Mutation("none.py", "a", "b", ())]
    first, second = problems(chosen, tmp_path)
    assert first == "tests/not_there.py: not there"
    assert "none.py" in second


def test_a_test_notices_or_does_not(tmp_path: Path) -> None:
    path = tmp_path / "code_of_ours.py"
    path.write_text(SOURCE)
    (tmp_path / "test_it.py").write_text(TEST)
    before = path.stat().st_mtime_ns
    assert survives(tmp_path, one("if a < b:", "if a <= b:", "test_it.py"), 60)
    assert not survives(tmp_path, one("if a < b:", "if a > b:", "test_it.py"), 60)
    assert not survives(tmp_path, one("if a < b:", "while a < 2 < b or a:", "test_it.py"), 0.01)
    assert path.read_text() == SOURCE
    assert path.stat().st_mtime_ns == before
