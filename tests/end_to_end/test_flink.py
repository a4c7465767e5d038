"""The graphs on Apache Flink: the bytes of a local run, for each kind of job."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kiltetl.pipelines import anchors, annotations, evaluate, knowledge_source, tasks
from tests.support.checkout import ROOT
from tests.support.example_build import ExampleBuild, passages
from tests.support.flink import job_server
from tests.support.miniwiki import Page, dump_xml, multistream

pytestmark = pytest.mark.flink

EXAMPLES = ROOT / "examples"
LOOSE = ["--max-reject-share", "0.5", "--quiet"]


@pytest.fixture(scope="session")
def flink(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Beam's options for a Flink of this machine."""
    with job_server(tmp_path_factory.mktemp("flink")) as endpoint:
        yield ["--", "--runner=PortableRunner", f"--job_endpoint={endpoint}", "--environment_type=LOOPBACK",
               "--parallelism=2"]  # fmt: skip


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def same(near: Path, far: Path) -> None:
    one, other = content(near), content(far)
    assert one
    assert set(one) == set(other)
    assert [name for name in one if one[name] != other[name]] == []


def test_a_knowledge_source_of_several_parts(flink: list[str], tmp_path: Path) -> None:
    pages = [Page(f"Page {i}", f"Page {i} follows [[page {i - 1}]]. " * 40) for i in range(120)]
    dump = tmp_path / "wiki-20190801.xml.bz2"
    dump.write_bytes(multistream(dump_xml(pages), 5)[0])
    for out, beam in (("near", ()), ("far", tuple(flink[1:]))):
        settings = knowledge_source.Settings((str(dump),), str(tmp_path / out), part_bytes=1 << 11, beam=beam)
        manifest = knowledge_source.execute(settings, knowledge_source.Console(quiet=True))
        assert manifest is not None
        assert len(manifest["files"]) >= 4 * 3
    same(tmp_path / "near", tmp_path / "far")


@pytest.mark.parametrize(
    ("dataset", "split", "given"),
    [
        ("fever", "train", ["--source", "fever/train.jsonl", "--evidence", "fever/wiki-pages/*.jsonl"]),
        ("hotpotqa", "dev", ["--source", "hotpotqa/dev.json", "--evidence", "hotpotqa/wiki/*/*.bz2"]),
        ("nq", "dev", ["--source", "nq/dev.jsonl.gz"]),
        ("wow", "dev", ["--source", "wow/valid_topic_split.json"]),
        ("trex", "train", ["--source", "trex/*.json", "--file", "relations=trex/relations.txt"]),
    ],
)
def test_datasets(
    flink: list[str], example_build: ExampleBuild, dataset: str, split: str, given: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(EXAMPLES)
    for out, beam in (("near", []), ("far", flink)):
        source = str(example_build.output / "knowledge_source")
        place = ["--knowledge-source", source, "--output", str(tmp_path / out)]
        assert tasks.main(["--dataset", dataset, "--split", split, *given, *place, *LOOSE, *beam]) == 0
    same(tmp_path / "near", tmp_path / "far")


def test_anchors(flink: list[str], example_build: ExampleBuild, tmp_path: Path) -> None:
    for out, beam in (("near", []), ("far", flink)):
        source = str(example_build.output / "knowledge_source")
        assert anchors.main(["--knowledge-source", source, "--output", str(tmp_path / out), "--quiet", *beam]) == 0
    same(tmp_path / "near", tmp_path / "far")


def test_passages_to_judge(flink: list[str], example_build: ExampleBuild, tmp_path: Path) -> None:
    build, file = example_build.output, str(passages(example_build.output, tmp_path))
    for out, beam in (("near", []), ("far", flink)):
        given = ["candidates", "--tasks", str(build / "tasks"), "--knowledge-source", str(build / "knowledge_source")]
        given += ["--dataset", "nq", "--split", "dev", "--passages", file, "--output", str(tmp_path / out), "--quiet"]
        assert annotations.main([*given, *beam]) == 0
    same(tmp_path / "near", tmp_path / "far")


def test_an_evaluation(flink: list[str], tmp_path: Path) -> None:
    records = "".join(f'{{"id": "{i}", "output": [{{"answer": "a{i % 7}"}}]}}\n' for i in range(500))
    (tmp_path / "nq-dev-kilt.jsonl").write_text(records)
    (tmp_path / "guesses.jsonl").write_text(records.replace('"a3"', '"b"'))
    for out, beam in (("near", []), ("far", flink)):
        given = [
            "kilt",
            "--gold",
            str(tmp_path / "nq-dev-kilt.jsonl"),
            "--predictions",
            str(tmp_path / "guesses.jsonl"),
        ]
        assert evaluate.main([*given, "--dataset", "nq", "--output", str(tmp_path / out), "--quiet", *beam]) == 0
    same(tmp_path / "near", tmp_path / "far")


def test_an_error_is_the_last_line(
    flink: list[str], example_build: ExampleBuild, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What failed in a worker is said as it is locally, without the engine's tracebacks."""
    (tmp_path / "twice.jsonl").write_bytes((EXAMPLES / "nq" / "train.jsonl").read_bytes() * 2)
    given = ["--dataset", "nq", "--split", "train", "--source", str(tmp_path / "twice.jsonl"), *LOOSE]
    place = ["--knowledge-source", str(example_build.output / "knowledge_source"), "--output", str(tmp_path / "out")]
    assert tasks.main([*given, *place]) == 1
    near = capfd.readouterr().err
    assert tasks.main([*given, *place, *flink]) == 1
    assert capfd.readouterr().err == near
    assert "ids occur more than once" in near


def test_options_of_the_job_server(flink: list[str], capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given = ["--dump", str(EXAMPLES / "miniwiki.xml"), "--output", str(tmp_path / "ks"), "--quiet"]
    loose = ["--max-reject-share", "0.5"]
    assert knowledge_source.main([*given, *loose, *flink, "--number_of_execution_retries=2"]) == 0
    assert knowledge_source.main([*given, *flink, "--no_such_option=2"]) == 2
    assert "--no_such_option=2: not an option of Apache Beam" in capfd.readouterr().err
