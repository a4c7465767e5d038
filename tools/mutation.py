"""Mutations: one line of the code is changed, and a test must notice. ``python -m tools.mutation [--only TEXT]``

Each entry of ``tools/mutation_table.py`` is a file, a line of it, what stands there instead, and the tests that
are to notice. The tree is copied to temporary folders, one a worker, and changed there. Prints what survives
and ends with status 1 if something does; with 2 where an entry fits its file no more, or where tests fail
on the tree as it is. Tests that read real data are left out, so that the result is the same everywhere.
"""

import argparse
import ast
import os
import queue
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools.mutation_table import TABLE

ROOT = Path(__file__).resolve().parents[1]
_LEFT_OUT = (".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "out", "build", "dist", "*.egg-info")


@dataclass(frozen=True, slots=True)
class Mutation:
    """One changed line. ``line`` and ``instead`` are without indentation; ``tests`` are arguments of pytest."""

    file: str
    line: str
    instead: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}\n  - {self.line}\n  + {self.instead}"


def mutations() -> Iterator[Mutation]:
    """All entries of the table."""
    for file, tests, lines in TABLE:
        for line, instead in lines:
            yield Mutation(file, line, instead, tuple(shlex.split(tests)))


def mutated(source: str, mutation: Mutation) -> str:
    """The source of a file with its line changed.

    Raises:
        ValueError: the line is not there, or more than once, or what comes out is no Python or the same.
    """
    lines = source.splitlines(keepends=True)
    places = [number for number, line in enumerate(lines) if line.strip() == mutation.line]
    if len(places) != 1:
        raise ValueError(f"{mutation.file}: the line stands there {len(places)} times, not once: {mutation.line}")
    line = lines[places[0]]
    lines[places[0]] = line.replace(mutation.line, mutation.instead)
    text = "".join(lines)
    try:
        same = ast.dump(ast.parse(text)) == ast.dump(ast.parse(source))
    except SyntaxError as error:
        raise ValueError(f"{mutation.file}: no Python with {mutation.instead!r}: {error.msg}") from None
    if same:
        raise ValueError(f"{mutation.file}: this changes nothing: {mutation.instead}")
    return text


def problems(chosen: Sequence[Mutation], root: Path = ROOT) -> list[str]:
    """What is wrong with entries of the table."""
    found = []
    for mutation in chosen:
        try:
            mutated((root / mutation.file).read_text("utf-8"), mutation)
        except (OSError, ValueError) as error:
            found.append(str(error))
        found += [f"{test}: not there" for test in mutation.tests if test.startswith("tests/") and not _is_there(test)]
    return list(dict.fromkeys(found))


def _is_there(test: str) -> bool:
    return (ROOT / test.partition("::")[0]).exists()


def passes(tree: Path, tests: Sequence[str], timeout: float) -> bool:
    """Whether tests pass in a tree; False too where they take longer than ``timeout`` seconds."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KILTETL_")}
    environment |= {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "KILTETL_SHARED": str(tree / "none")}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", *tests]
    with subprocess.Popen(
        command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            return process.wait(timeout) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)


def survives(tree: Path, mutation: Mutation, timeout: float) -> bool:
    """Whether the tests pass although a line of the tree is changed; the tree is as before afterwards."""
    path = tree / mutation.file
    before, times = path.read_text("utf-8"), path.stat()
    path.write_text(mutated(before, mutation), "utf-8")
    try:
        return passes(tree, mutation.tests, timeout)
    finally:
        path.write_text(before, "utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # what is compiled goes by the time


def run(chosen: Sequence[Mutation], workers: int) -> int:
    """Try all of them; the exit status."""
    with tempfile.TemporaryDirectory(prefix="kiltetl-mutation-") as folder, ThreadPoolExecutor(workers) as pool:
        trees: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(workers):
            tree = Path(folder) / f"tree-{number}"
            shutil.copytree(ROOT, tree, symlinks=True, ignore=shutil.ignore_patterns(*_LEFT_OUT))
            subprocess.run([sys.executable, "-m", "compileall", "-q", str(tree)], check=True)
            trees.put(tree)

        def baseline(tests: tuple[str, ...]) -> float | None:
            tree, start = trees.get(), time.monotonic()
            try:
                return time.monotonic() - start if passes(tree, tests, 1800) else None
            finally:
                trees.put(tree)

        def alive(mutation: Mutation) -> bool:
            tree = trees.get()
            try:
                return survives(tree, mutation, 120 + 10 * (seconds[mutation.tests] or 0))
            finally:
                trees.put(tree)

        selections = list(dict.fromkeys(mutation.tests for mutation in chosen))
        seconds = dict(zip(selections, pool.map(baseline, selections), strict=True))
        failing = [" ".join(tests) for tests, took in seconds.items() if took is None]
        if failing:
            print(*(f"fails as it is: {tests}" for tests in failing), sep="\n", file=sys.stderr)
            return 2
        alive_ones = []
        for number, (mutation, lives) in enumerate(zip(chosen, pool.map(alive, chosen), strict=True), 1):
            print(f"{number:4} of {len(chosen)}  {'SURVIVES' if lives else 'noticed '}  {mutation.file}", flush=True)
            if lives:
                alive_ones.append(mutation)
    print(*alive_ones, f"{len(chosen)} mutations, {len(alive_ones)} survive", sep="\n")
    return 1 if alive_ones else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--only", default="", metavar="TEXT", help="those whose file or line holds this text")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="tests run side by side")
    parser.add_argument("--check", action="store_true", help="look at the table only")
    found = parser.parse_args()
    chosen = [one for one in mutations() if found.only in one.file or found.only in one.line]
    wrong = problems(chosen)
    if wrong or not chosen:
        print(*(wrong or ["no entry of the table fits"]), sep="\n", file=sys.stderr)
        return 2
    if found.check:
        print(f"{len(chosen)} mutations, each fits its file")
        return 0
    return run(chosen, found.workers)


if __name__ == "__main__":
    sys.exit(main())
