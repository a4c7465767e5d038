"""The same graphs on Dataflow, as far as it goes without a cloud: submitted offline, and run by workers
that have nothing but the staged source distribution."""

import json
import subprocess
import sys
import sysconfig
import tarfile
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow.parquet as pq
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import fn_runner
from apache_beam.runners.portability.stager import Stager
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from kiltetl.pipelines import knowledge_source, tasks
from kiltetl.transforms.beam.runner import beam_options, run
from kiltetl.transforms.jobs.knowledge_source import KnowledgeSourceJob
from tests.support.checkout import ROOT
from tests.support.dataflow import submitted
from tests.support.miniwiki import Page, dump_xml, multistream

PAGES = [Page(f"Page {i}", f"'''Page {i}''' follows [[page {i - 1}]]. It is number {i}.") for i in range(40)]
QUESTION = {
    "_id": "h1",
    "question": "Which?",
    "answer": "Page 3",
    "supporting_facts": [["Page 3", 0]],
    "context": [["Page 3", ["Page 3 follows page 2."]]],
}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "wiki-20190801.xml.bz2"
    path.write_bytes(multistream(dump_xml(PAGES), 5)[0])
    return path


@pytest.fixture
def source_job(dump: Path, tmp_path: Path) -> KnowledgeSourceJob:
    return knowledge_source.plan(knowledge_source.Settings((str(dump),), str(tmp_path / "ks"), part_bytes=1 << 10))


@pytest.fixture
def task_job(source_job: KnowledgeSourceJob, tmp_path: Path) -> Any:
    (tmp_path / "q.json").write_text(json.dumps([QUESTION]))
    run(partial(knowledge_source.build, job=source_job), beam_options([]))
    settings = tasks.Settings(
        "hotpotqa",
        "train",
        (str(tmp_path / "q.json"),),
        str(tmp_path / "tasks"),
        knowledge_source=source_job.staging.output,
    )
    return tasks.plan(settings)


def test_knowledge_source_is_submitted_offline(source_job: KnowledgeSourceJob) -> None:
    assert submitted(partial(knowledge_source.build, job=source_job)) == [
        "Parts", "Files", "HashInput", "ScanTitles", "ResolveTitles", "ParsePages", "Publish",
    ]  # fmt: skip
    assert not Path(source_job.staging.output).exists()


def test_tasks_are_submitted_offline(task_job: Any) -> None:
    assert submitted(partial(tasks.build, job=task_job)) == [
        "Sources", "ReadRequests", "LookUpSentences", "LocatePages", "AlignEvidence", "AssembleExamples",
        "PublishTasks",
    ]  # fmt: skip
    assert not Path(task_job.output).exists()


def test_one_graph_is_what_the_parts_are_locally(source_job: KnowledgeSourceJob, dump: Path, tmp_path: Path) -> None:
    """The whole graph of a cluster, run in one go, writes the bytes that parts run one by one write."""
    run(partial(knowledge_source.build, job=source_job), beam_options([]))
    source_job.staging.clear()
    settings = knowledge_source.Settings((str(dump),), str(tmp_path / "parts"), part_bytes=1 << 10)
    knowledge_source.execute(settings, knowledge_source.Console(quiet=True))
    whole, parts = ({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in ("ks", "parts"))
    assert whole == parts
    assert len(source_job.parts) > 2


def test_make_dataflow_says_what_it_would_run() -> None:
    variables = ["PROJECT=p", "REGION=r", "BUCKET=b", "CONFIG=my.toml"]
    made = subprocess.run(["make", "-n", "dataflow", *variables], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (
        '.venv/bin/kiltetl build "my.toml" -- --runner=DataflowRunner --project=p --region=r '
        "--temp_location=gs://b/temp --setup_file=./setup.py"
    ) in made.stdout


def test_workers_need_only_the_staged_source_distribution(source_job: KnowledgeSourceJob, tmp_path: Path) -> None:
    """Beam packs the checkout as for Dataflow; workers run from that alone, in an environment of their own."""
    options = PipelineOptions([f"--setup_file={ROOT / 'setup.py'}"])
    Stager.create_job_resources(options, temp_dir=str(tmp_path), log_submission_env_dependencies=False)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    for folder in ("schemas", "transforms", "pipelines"):
        modules = {f"kiltetl/{path.relative_to(ROOT)}" for path in (ROOT / folder).rglob("*.py")}
        assert modules <= names

    environment = tmp_path / "worker"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    packages = next((environment / "lib").glob("python*")) / "site-packages"
    # the worker's image has the dependencies; .pth lines give them without this environment's own installs
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target"]
    subprocess.run([*install, str(packages), str(archive)], check=True)
    python = environment / "bin" / "python"
    where = subprocess.run(
        [python, "-c", "import kiltetl.transforms as t; print(t.__file__)"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(where.stdout.strip()).is_relative_to(packages)

    log = tmp_path / "worker.log"
    command = f"cd {tmp_path} && {python} -m apache_beam.runners.worker.sdk_worker_main 2>{log}"
    runner = fn_runner.FnApiRunner(default_environment=SubprocessSDKEnvironment.from_command_string(command))
    with beam.Pipeline(runner=runner) as pipeline:
        knowledge_source.build(pipeline, source_job)
    rows = [
        row
        for path in Path(source_job.staging.output).glob("pages-*.parquet")
        for row in pq.read_table(path).to_pylist()
    ]
    assert len(rows) == 40
    assert log.exists()
