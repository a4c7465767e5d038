"""What ``import kiltetl`` takes: wall time, the slowest modules below it, and that nothing heavy is loaded.

Run with: python -m tools.bench_import [--rounds N]. Each round is a process of its own; beside it stands one
that imports nothing, and the difference is the import's. The best round counts.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_SECONDS = 0.3
HEAVY = ("apache_beam", "pyarrow")


def python(code: str, *options: str) -> tuple[float, str, str]:
    """(wall seconds, output, errors) of a Python of its own, from the compiled files of this checkout."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return time.perf_counter() - start, done.stdout, done.stderr


def slowest(report: str, count: int = 5) -> list[tuple[float, str]]:
    """(own seconds, module) of the slowest modules in what ``-X importtime`` says."""
    found = re.findall(r"^import time: +(\d+) \| +\d+ \| +(\S+)$", report, re.MULTILINE)
    return sorted(((int(own) / 1e6, name) for own, name in found), reverse=True)[:count]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = range(parser.parse_args().rounds)
    bare = min(python("pass")[0] for _ in rounds)
    whole = min(python("import kiltetl")[0] for _ in rounds)
    _, loaded, report = python("import sys, kiltetl; print(*sys.modules)", "-X", "importtime")
    heavy = [name for name in HEAVY if name in loaded.split()]
    print(f"import kiltetl: {whole:.3f} s, of which {bare:.3f} s are Python's own start (bound {MOST_SECONDS} s)")
    print(f"  loads {' and '.join(heavy) if heavy else 'neither ' + ' nor '.join(HEAVY)}")
    for seconds, name in slowest(report):
        print(f"  {name:40s} {seconds * 1000:6.1f} ms")
    return 0 if whole < MOST_SECONDS and not heavy else 1


if __name__ == "__main__":
    sys.exit(main())
