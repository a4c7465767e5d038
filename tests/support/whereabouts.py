"""Work that writes down whose code its process runs: imported by worker processes."""

import os
from functools import partial
from pathlib import Path

import apache_beam as beam

import kiltetl


def note(folder: str, number: int) -> None:
    """Leave a file named by the process and the number that holds the place of the package."""
    Path(folder, f"{os.getpid()}-{number}").write_text(str(kiltetl.__file__))


def draw_note(folder: str, root: beam.Pipeline, number: int) -> None:
    _ = root | beam.Create([number]) | beam.Map(partial(note, folder))
