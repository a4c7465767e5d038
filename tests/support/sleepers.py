"""Work that never ends by itself and leaves a file named by its process: imported by processes that tests end."""

import os
import time
from functools import partial
from pathlib import Path

import apache_beam as beam


def sleep(folder: str, number: int) -> None:
    Path(folder, str(os.getpid())).touch()
    time.sleep(120)


def draw_sleep(folder: str, root: beam.Pipeline, number: int) -> None:
    _ = root | beam.Create([number]) | beam.Map(partial(sleep, folder))
