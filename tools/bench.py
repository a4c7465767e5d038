"""All benches, one after the other: the import, the page parser, alignment, metrics, and a dump end to end."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BENCHES = ("bench_import", "bench_wikitext", "bench_align", "bench_metrics", "bench_knowledge_source")


def main() -> int:
    status = 0
    for name in BENCHES:
        print(f"\n{name.removeprefix('bench_')}\n", flush=True)
        status |= subprocess.run([sys.executable, "-m", f"tools.{name}"], cwd=ROOT, check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
