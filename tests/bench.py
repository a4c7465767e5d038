"""All benches, one after the other: the page parser, alignment, metrics, and a dump end to end."""

import subprocess
import sys
from pathlib import Path

BENCHES = ("bench_wikitext.py", "bench_align.py", "bench_metrics.py", "bench_knowledge_source.py")


def main() -> int:
    status = 0
    for name in BENCHES:
        print(f"\n{name.removesuffix('.py').removeprefix('bench_')}\n", flush=True)
        status |= subprocess.run([sys.executable, str(Path(__file__).with_name(name))], check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
