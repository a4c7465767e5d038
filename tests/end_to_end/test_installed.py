"""The package as it is installed: type checkers see through an editable install and a wheel what they see here."""

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "out", "build", "dist", "*.egg-info")
USER = """\
import kiltetl

page = kiltetl.parse_page("Kite", "A [[toy]].")
reveal_type(page)
reveal_type(kiltetl.best_span([row.text for row in page.paragraphs], "a toy"))
kiltetl.parse_page(1, None)
"""


def output(command: list[str | Path], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["editable", "wheel"])
def test_type_checkers_see_an_installed_package(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("mypy")
    checkout, environment, folder = tmp_path / "checkout", tmp_path / "environment", tmp_path / "elsewhere"
    shutil.copytree(ROOT, checkout, symlinks=True, ignore=LEFT_OUT)
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = environment / "bin" / "python"
    packages = next((environment / "lib").glob("python*")) / "site-packages"
    # the dependencies, without this environment's own installs
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    if kind == "editable":
        subprocess.run([*install, "--editable", str(checkout)], check=True)
    else:
        wheel = [python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
        subprocess.run([*wheel, "--wheel-dir", str(tmp_path), str(checkout)], check=True)
        (built,) = tmp_path.glob("*.whl")
        subprocess.run([*install, str(built)], check=True)
        shutil.rmtree(checkout / "kiltetl")
    where = output([python, "-c", "import kiltetl; print(kiltetl.__file__)"], folder).strip()
    assert Path(where).is_relative_to(checkout if kind == "editable" else packages)

    mypy = [sys.executable, "-m", "mypy", "--python-executable", python, "--config-file", ROOT / "pyproject.toml"]
    said = output([*mypy, "-p", "kiltetl"], folder)
    count = re.fullmatch(r"Success: no issues found in (\d+) source files\n", said)
    assert count is not None, said
    assert int(count[1]) == len([path for name in ("kiltetl", "schemas", "transforms", "pipelines")
                                 for path in (ROOT / name).rglob("*.py")])  # fmt: skip
    (folder / "user.py").write_text(USER)
    pyright = [sys.executable, "-m", "pyright", "--pythonpath", python, "user.py"]
    for checker, named in (([*mypy, "user.py"], "kiltetl.schemas.records."), (pyright, "")):
        said = output(checker, folder)
        assert re.search(rf'user.py:4:.*"{named}ParsedPage"', said), said
        assert re.search(rf'user.py:5:.*"{named}Span \| None"', said), said
        assert re.search(r"user.py:6:.*error", said), said
