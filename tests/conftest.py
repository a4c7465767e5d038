"""What all tests share."""

import os
from pathlib import Path

import pytest

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
