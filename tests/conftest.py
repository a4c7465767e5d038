"""What all tests share."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.buckets import servers
from tests.support.checkout import ROOT
from tests.support.example_build import ExampleBuild
from tests.support.sharing import Once


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
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    return Once(tmp_path_factory)


@pytest.fixture(scope="session")
def real_source(shared: Path, once: Once) -> Callable[[str], Path]:
    """The knowledge source of a real dump, by the dump's name; to be read alone."""
    from kiltetl.pipelines import knowledge_source

    def build(name: str) -> Path:
        dump = shared / "data" / "dumps" / name

        def make(folder: Path) -> None:
            assert knowledge_source.main(["--dump", str(dump), "--output", str(folder), "--quiet"]) == 0

        return once(name, make)

    return build


@pytest.fixture(scope="session")
def example_build(once: Once) -> ExampleBuild:
    """The build of the examples; to be read alone."""
    from tools.readme import build_example

    def make(folder: Path) -> None:
        (folder / "printed.txt").write_text(build_example(folder / "out"), "utf-8")

    folder = once("example-build", make)
    return ExampleBuild(folder / "out", (folder / "printed.txt").read_text("utf-8"))


@pytest.fixture(scope="session")
def buckets() -> Iterator[dict[str, str]]:
    """Scheme to the address of a bucket, s3 and gs, of servers on this machine."""
    with servers() as found:
        yield found
