"""What all tests share."""

import os
from pathlib import Path

import pytest

from kiltetl.pipelines import build
from kiltetl.transforms.files.locks import fcntl
from tests.support.checkout import ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with real dumps and records: KILTETL_SHARED, or ../shared beside the checkout."""
    folder = Path(os.environ.get("KILTETL_SHARED", ROOT.parent / "shared"))
    if not (folder / "data" / "dumps").is_dir():
        missing = f"no real data at {folder}: set KILTETL_SHARED to a folder that holds data/ and oracle/"
        if os.environ.get("KILTETL_REQUIRE_SHARED"):
            pytest.fail(missing)
        pytest.skip(missing)
    return folder


@pytest.fixture(scope="session")
def example_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``kiltetl build examples/build.toml`` writes, made once for all processes of a run; to be read only."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "example-build"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "out" / "report.json").exists():
            given = [str(ROOT / "examples" / "build.toml"), "--output", str(folder / "out"), "--quiet"]
            assert build.main(given) == 0
    return folder / "out"
