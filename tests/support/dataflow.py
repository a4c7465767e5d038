"""Graphs that are submitted to Dataflow without a cloud."""

from typing import Any

import apache_beam as beam
import pytest

from kiltetl.transforms.beam.runner import beam_options, run
from tests.support.checkout import ROOT


def submitted(draw: Any) -> list[str]:
    """Submit a graph to Dataflow in a dry run, offline; the names of its outermost steps."""
    pytest.importorskip("google.cloud.storage", reason="needs apache-beam[gcp], part of the dev extra")
    options = beam_options(
        [
            "--runner=DataflowRunner", "--dry_run=true", "--no_auth", "--project=project-one",
            "--region=europe-west1", "--temp_location=gs://bucket-one/temp", f"--setup_file={ROOT / 'setup.py'}",
        ]
    )  # fmt: skip
    assert run(draw, options) == {}
    pipeline = beam.Pipeline(options=options)
    draw(pipeline)
    proto = pipeline.to_runner_api()
    root = proto.components.transforms[proto.root_transform_ids[0]]
    return [proto.components.transforms[name].unique_name for name in root.subtransforms]
