"""From a dump to Parquet, end to end: MB of XML a second and core, the gain of two workers, stage by stage.

The dump is generated in the English Wikipedia's shape (see generate.py). CPU seconds are those of all
processes of a run, start-up included, so a busy machine changes them less than the wall clock.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kiltetl.transforms.files.shards import map_arrow
from kiltetl.transforms.files.streams import open_binary
from tools.generate import write_dump

ROOT = Path(__file__).resolve().parents[1]
PART_MB = 6
LAUNCH = (
    "import sys\n"
    "from kiltetl.pipelines.knowledge_source import main\n"
    "if __name__ == '__main__': sys.exit(main(sys.argv[1:]))"
)


def timed(arguments: list[str]) -> tuple[float, float, float]:
    """(wall seconds, CPU seconds, peak memory of the largest process in MB) of one run."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "launch.py"
        script.write_text(LAUNCH)
        subprocess.run(
            [sys.executable, str(script), *arguments, "--quiet"], env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True
        )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, after.ru_maxrss / 1024


def stages(dump: Path, folder: Path) -> dict[str, float]:
    """CPU seconds of each stage, in this process, one after the other."""
    from kiltetl.pipelines.knowledge_source import Settings, plan
    from kiltetl.schemas.manifests import INDEX
    from kiltetl.transforms.jobs.knowledge_source import articles_of, parse_part, resolve, scan_part
    from kiltetl.transforms.wiki.ranges import range_chunks
    from kiltetl.transforms.wiki.redirects import TitleIndex
    from kiltetl.transforms.wikitext import parse_page

    job = plan(Settings((str(dump),), str(folder / "stages"), part_bytes=PART_MB << 20))
    spent: dict[str, float] = {}

    def measure(name: str, start: float) -> None:
        spent[name] = spent.get(name, 0) + time.process_time() - start

    for part in job.parts:
        start = time.process_time()
        with open_binary(part.path) as stream:
            for owned, _ in range_chunks(stream, part.start, part.end):
                if not owned:
                    break
        measure("bz2", start)
        start = time.process_time()
        scan_part(job, part)
        measure("first pass: XML, titles, articles set aside", start)
    spent["first pass: XML, titles, articles set aside"] -= spent["bz2"]
    start = time.process_time()
    resolved = resolve(job)
    measure("redirects and index", start)
    index = TitleIndex(map_arrow(job.staging.path(INDEX)))
    for part in job.parts:
        start = time.process_time()
        articles = list(articles_of(job, part))
        measure("second pass: articles read", start)
        start = time.process_time()
        parsed = [(page, parse_page(page.title, page.text)) for page in articles]
        measure("second pass: wikitext", start)
        start = time.process_time()
        parse_part(job, part, index, resolved["duplicates"])
        measure("second pass: anchors' pages, Arrow, zstd, Parquet", start)
        assert len(parsed) == len(articles)
    spent["second pass: anchors' pages, Arrow, zstd, Parquet"] -= (
        spent["second pass: articles read"] + spent["second pass: wikitext"]
    )
    return spent


def main() -> None:
    from kiltetl.transforms.jobs.knowledge_source import _rare_collection as rare_collection

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=600, help="XML to generate (600)")
    size = parser.parse_args().megabytes * 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dump = folder / "wiki.xml.bz2"
        total = write_dump(dump, size)
        print(f"knowledge-source on {total / 1e6:.0f} MB of XML ({dump.stat().st_size / 1e6:.0f} MB of bz2)")
        walls = {}
        for workers in (1, 2):
            arguments = ["--dump", str(dump), "--output", str(folder / f"ks{workers}"), "--workers", str(workers)]
            wall, cpu, memory = timed([*arguments, "--part-mb", str(PART_MB)])
            walls[workers] = wall
            print(
                f"  {workers} worker(s): {wall:6.1f} s, {total / 1e6 / wall:5.1f} MB/s; {cpu:6.1f} s of CPU, "
                f"{total / 1e6 / cpu:5.2f} MB/s a core; peak {memory:.0f} MB a process"
            )
        print(f"  two workers: {walls[1] / walls[2]:.2f} x one")
        with rare_collection():
            spent = stages(dump, folder)
        whole = sum(spent.values())
        for stage, seconds in spent.items():
            print(f"  {stage:52s} {seconds:6.2f} s of CPU  {seconds / whole:5.1%}")
        print(f"  {'all stages':52s} {whole:6.2f} s of CPU  {total / 1e6 / whole:5.2f} MB of XML a second and core")


if __name__ == "__main__":
    main()
