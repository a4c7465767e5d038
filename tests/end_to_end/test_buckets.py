"""Whole builds in buckets: the same bytes as on a disk, killed and resumed, few requests, nothing left behind."""

import json
import uuid
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kiltetl.pipelines import anchors, evaluate, export, knowledge_source, report, tasks
from kiltetl.transforms.beam.runner import beam_options
from kiltetl.transforms.beam.runner import run as run_graph
from kiltetl.transforms.files.rows import read_rows
from kiltetl.transforms.files.stores import store_of
from kiltetl.transforms.files.streams import open_binary, replacing
from kiltetl.transforms.jobs.knowledge_source import publish
from tests.support.checkout import ROOT
from tests.support.dying import die_after_moving
from tests.support.miniwiki import Page, dump_xml, multistream
from tests.support.sharing import Once, soak

EXAMPLES = ROOT / "examples"
DUMP = "miniwiki-20190801-pages-articles-multistream.xml.bz2"
SUMS = "miniwiki-20190801-sha1sums.txt"
LOOSE = ["--max-reject-share", "0.5", "--quiet"]


def upload(path: Path, address: str) -> str:
    with replacing(address) as stream:
        stream.write(path.read_bytes())
    return address


def content(folder: str) -> dict[str, bytes]:
    """What stands below a folder of a bucket, or of a disk."""
    if "://" not in folder:
        root = Path(folder)
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    found = {}
    for path, _ in store_of(folder).listing(f"{folder}/"):
        with open_binary(path) as stream:
            found[path.removeprefix(f"{folder}/")] = stream.read()
    return found


def build(put: Callable[[str], str], out: str) -> None:
    """A knowledge source, a dataset whose rows are merged and others, scores and a report. ``put`` places a file."""
    given = ["--dump", put(DUMP), "--output", f"{out}/ks", "--part-mb", "1", *LOOSE]
    assert knowledge_source.main(given) == 0
    assert anchors.main(["--knowledge-source", f"{out}/ks", "--output", f"{out}/tasks", "--quiet"]) == 0
    options = ["--file", f"relations={put('trex/relations.txt')}"]
    for dataset, split, source, more in (
        ("nq", "dev", "nq/dev.jsonl.gz", []),
        ("trex", "train", "trex/re-nlg_0-10000.json", options),
    ):
        given = ["--dataset", dataset, "--split", split, "--source", put(source), *more, *LOOSE]
        assert tasks.main([*given, "--knowledge-source", f"{out}/ks", "--output", f"{out}/tasks"]) == 0
    assert report.main([out, "--quiet"]) == 0
    assert export.main(["kilt-jsonl", "--tasks", f"{out}/tasks", "--output", f"{out}/kilt", "--quiet"]) == 0
    with replacing(f"{out}/guesses/nq.jsonl") as stream:
        for _, row in read_rows(f"{out}/kilt/nq-dev-kilt.jsonl"):
            stream.write(json.dumps(row | {"output": row["output"][:1]}).encode() + b"\n")
    given = ["kilt", "--gold", f"{out}/tasks/nq", "--predictions", f"{out}/guesses", "--output", f"{out}/scores"]
    assert evaluate.main([*given, "--quiet"]) == 0
    assert evaluate.main([*given[:-1], f"{out}/graph", "--quiet", "--"]) == 0


@pytest.fixture(scope="module")
def local(once: Once) -> dict[str, bytes]:
    """What the build leaves on a disk."""
    folder = once("build-beside-buckets", lambda folder: build(lambda name: str(EXAMPLES / name), str(folder)))
    return content(str(folder))


@pytest.fixture(params=["s3", *soak("gs")])
def bucket(request: pytest.FixtureRequest, buckets: dict[str, str]) -> str:
    """A folder of its own in a bucket."""
    return f"{buckets[request.param]}/{uuid.uuid4().hex}"


def test_a_build_in_a_bucket_has_the_bytes_of_one_on_a_disk(bucket: str, local: dict[str, bytes]) -> None:
    def put(name: str) -> str:
        return upload(EXAMPLES / name, f"{bucket}/in/{name}")

    put(SUMS)
    build(put, f"{bucket}/out")
    found = content(f"{bucket}/out")
    assert set(found) == set(local)
    assert {name for name in found if found[name] != local[name]} == set()


@pytest.mark.soak
@pytest.mark.parametrize("moved", [0, 1, 4])
def test_a_run_that_dies_in_a_bucket_goes_on(
    bucket: str, local: dict[str, bytes], moved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = upload(EXAMPLES / DUMP, f"{bucket}/in/{DUMP}")
    upload(EXAMPLES / SUMS, f"{bucket}/in/{SUMS}")
    given = ["--dump", dump, "--output", f"{bucket}/ks", "--part-mb", "1", *LOOSE]
    done = die_after_moving(monkeypatch, moved)
    assert knowledge_source.main(given) == 1
    monkeypatch.undo()
    assert len(done) == moved
    assert f"{bucket}/ks/manifest.json" not in {path for path, _ in store_of(bucket).listing(f"{bucket}/ks/")}
    assert knowledge_source.main(given) == 0
    expected = {name.removeprefix("ks/"): data for name, data in local.items() if name.startswith("ks/")}
    assert content(f"{bucket}/ks") == expected


def long_dump(path: Path) -> Path:
    pages = [Page(f"Page {i}", f"Page {i} follows [[page {i - 1}]]. " * 40) for i in range(300)]
    path.write_bytes(multistream(dump_xml(pages), 5)[0])
    return path


@pytest.mark.soak
def test_processes_of_one_machine_work_in_a_bucket(buckets: dict[str, str], tmp_path: Path) -> None:
    dump = long_dump(tmp_path / "wiki-20190801.xml.bz2")
    bucket = f"{buckets['s3']}/{uuid.uuid4().hex}"
    found = []
    for path, out in ((str(dump), str(tmp_path / "ks")), (upload(dump, f"{bucket}/{dump.name}"), f"{bucket}/ks")):
        settings = knowledge_source.Settings((path,), out, workers=2, part_bytes=1 << 11)
        assert knowledge_source.execute(settings, knowledge_source.Console(quiet=True)) is not None
        found.append(content(out))
    assert len(found[0]) > 8
    assert found[0] == found[1]


def test_requests_are_few(buckets: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the knowledge source 40 a part, of which 10 for publishing; in one graph, as a cluster runs it."""
    dump = long_dump(tmp_path / "wiki-20190801.xml.bz2")
    bucket = f"{buckets['s3']}/{uuid.uuid4().hex}"
    settings = knowledge_source.Settings((upload(dump, f"{bucket}/{dump.name}"),), f"{bucket}/ks", part_bytes=1 << 11)
    job = knowledge_source.plan(settings)
    parts = len(job.parts)
    assert parts > 10
    asked: dict[str, Counter[str]] = {"work": Counter(), "publish": Counter(), "clear": Counter()}
    stage = "work"

    def count(model: Any, **_: Any) -> None:
        asked[stage][model.name] += 1

    events = store_of(bucket)._client.meta.events  # type: ignore[attr-defined]
    events.register("before-call.s3", count)
    try:
        monkeypatch.setattr("kiltetl.transforms.beam.knowledge_source.publish", lambda job: None)
        run_graph(partial(knowledge_source.build, job=job), beam_options([]))
        stage = "publish"
        publish(job)
        stage = "clear"
        job.staging.clear()
    finally:
        events.unregister("before-call.s3", count)
    work, publication = (asked[stage].total() / parts for stage in ("work", "publish"))
    assert work + publication <= 40, asked
    assert publication <= 10, asked
    assert asked["clear"].total() <= 3, asked
