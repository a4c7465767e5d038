"""Workers run the code of the process that started them, whatever other kiltetl is about."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.checkout import ENVIRONMENT, ROOT

PROGRAM = """
import sys
sys.path.insert(0, {root!r})
from functools import partial
import apache_beam as beam
from kiltetl.transforms.beam.runner import Workers, beam_options, run
from tests.support import whereabouts

def draw(root):
    root | beam.Create(range(4, 8), reshuffle=True) | beam.Map(partial(whereabouts.note, {folder!r}))

if __name__ == "__main__":
    with Workers(2) as pool:
        pool.run_each(partial(whereabouts.draw_note, {folder!r}), range(4))
    run(draw, beam_options([]), 2)
"""


def test_workers_run_this_code(tmp_path: Path) -> None:
    """Spawned processes and Beam's own, where another kiltetl is installed, and stands in the current folder too."""
    other, noted, program = tmp_path / "other", tmp_path / "noted", tmp_path / "program" / "run.py"
    for package in ("kiltetl", "tests"):
        (other / package).mkdir(parents=True)
        (other / package / "__init__.py").write_text("raise RuntimeError('another one is imported')\n")
    noted.mkdir()
    program.parent.mkdir()
    program.write_text(PROGRAM.format(root=str(ROOT), folder=str(noted)))
    installed = os.pathsep.join([str(other), str(ROOT)])
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=other, env=ENVIRONMENT | {"PYTHONPATH": installed}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    processes, places = {}, {}
    for path in noted.iterdir():
        process, _, number = path.name.partition("-")
        processes[int(number)], places[int(number)] = process, path.read_text()
    assert places == dict.fromkeys(range(8), str(ROOT / "kiltetl" / "__init__.py"))
    assert {processes[number] for number in range(4)}.isdisjoint(processes[number] for number in range(4, 8))
