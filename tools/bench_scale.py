"""Memory does not grow with page text: peak of each stage on a small and on a ten times larger dump.

Each stage runs over all parts of a generated dump in a process of its own; its peak is what the
operating system says of that process. What grows is the titles: their bytes each are printed, for the
stage that resolves them and for the index that the last stage maps (shared between processes).
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.generate import write_dump

ROOT = Path(__file__).resolve().parents[1]
STAGES = ("scan", "resolve", "parse")


def stage(name: str, dump: str, output: str) -> None:
    """Run one stage over all parts, as a worker does, and print its peak memory in bytes."""
    from functools import partial

    from kiltetl.pipelines.knowledge_source import Settings, plan
    from kiltetl.transforms.beam.knowledge_source import draw_parse, draw_resolve, draw_scan
    from kiltetl.transforms.beam.runner import Workers

    job = plan(Settings((dump,), output))
    with Workers(1) as pool:
        if name == "scan":
            pool.run_each(partial(draw_scan, job), job.parts)
        elif name == "resolve":
            pool.run_each(partial(draw_resolve, job), [0])
        else:
            pool.run_each(partial(draw_parse, job), job.parts)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def measure(folder: Path, size: int) -> tuple[int, dict[str, int], int, int]:
    """(bytes of XML, peak by stage, titles, bytes of the index) for a generated dump of about ``size``."""
    import json

    dump, output = folder / f"wiki-{size}.xml.bz2", folder / f"ks-{size}"
    total = write_dump(dump, size)
    peaks = {}
    for name in STAGES:
        start = time.perf_counter()
        command = [sys.executable, "-m", "tools.bench_scale", "--stage", name, str(dump), str(output)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        peaks[name] = int(done.stdout.split()[-1])
        print(
            f"  {total / 1e9:5.2f} GB of XML, {name:8s} peak {peaks[name] / 1e6:6.0f} MB, "
            f"{time.perf_counter() - start:5.0f} s",
            flush=True,
        )
    (left,) = output.glob(".kiltetl-staging-*")
    summary = json.loads((left / "resolve-00000.json").read_text())["summary"]
    return total, peaks, summary["titles"], (left / "titles.arrow").stat().st_size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=2000, help="XML of the larger dump (2000)")
    parser.add_argument("--stage", nargs=3, metavar=("NAME", "DUMP", "OUTPUT"), help=argparse.SUPPRESS)
    found = parser.parse_args()
    if found.stage:
        stage(*found.stage)
        return 0
    with tempfile.TemporaryDirectory() as name:
        small = measure(Path(name), found.megabytes * 100_000)
        large = measure(Path(name), found.megabytes * 1_000_000)
    more_titles = large[2] - small[2]
    per_title = (large[1]["resolve"] - small[1]["resolve"]) / more_titles
    print(f"resolving titles: {per_title:.0f} bytes a title; index: {large[3] / large[2]:.0f} bytes a title")
    worst = 0.0
    for stage_name, extra in (("scan", 0), ("parse", large[3] - small[3])):
        ratio = (large[1][stage_name] - extra) / small[1][stage_name]
        worst = max(worst, ratio)
        print(f"{stage_name}: {large[0] / small[0]:.1f} x the XML, {ratio:.2f} x the peak (bound 1.15)")
    print(f"largest peak of a worker: {max(large[1].values()) / 1e6:.0f} MB (bound 1000)")
    return 0 if worst <= 1.15 and max(large[1].values()) < 1e9 else 1


if __name__ == "__main__":
    sys.exit(main())
