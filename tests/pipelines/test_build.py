"""The configuration file of kiltetl build: what it takes, and that whatever is wrong in it is said before any work."""

import json
from pathlib import Path
from typing import Any

import pytest

from kiltetl.pipelines import build, knowledge_source, tasks
from kiltetl.pipelines.build import main
from kiltetl.pipelines.config import plan_of
from kiltetl.pipelines.report import find_manifests
from kiltetl.schemas.errors import InputError
from tests.support.checkout import ROOT
from tests.support.small_wiki import write

TASK = 'dataset = "hotpotqa"\nsplit = "dev"\nsource = ["dev.json"]\n'
SOURCE = 'dump = ["d.xml.bz2"]\n'


def config(folder: Path, source: str = "", task: str = "", head: str = 'output = "out"\n') -> str:
    """A configuration with more keys in its tables."""
    text = f"{head}[knowledge_source]\n{SOURCE}{source}\n[[task]]\n{TASK}{task}\n"
    (folder / "build.toml").write_text(text)
    write(folder / "d.xml.bz2")
    question = {"_id": "q", "question": "Who?", "answer": "Ann", "supporting_facts": [], "context": []}
    (folder / "dev.json").write_text(json.dumps([question]))
    return str(folder / "build.toml")


def settings(path: str) -> tuple[knowledge_source.Settings, tasks.Settings]:
    found = plan_of(path, None, False, False, ())
    assert found.source is not None
    return found.source, found.tasks[0]


def test_values_arrive(tmp_path: Path) -> None:
    source = 'limit_pages = 5\npart_mb = 2\ndump_date = 2019-08-01\ntables = "cells"\nmath = "drop"\noverwrite = true\n'
    source += 'templates = "t.json"\nmax_reject_share = 1\nworkers = 3\n'
    task = 'keep_weak = true\nbleu = "released"\nmax_span_paragraphs = 2\nmax_reject_share = 1e-2\nevidence = "e/*"\n'
    task += 'files = { a = "b c.txt", d = "-e=f.txt" }\noptions = { min-facts = 2, seed = 7 }\n'
    found, one = settings(config(tmp_path, source, task))
    assert found == knowledge_source.Settings(
        dump=(str(tmp_path / "d.xml.bz2"),),
        output=str(tmp_path / "out" / "knowledge_source"),
        workers=3,
        limit_pages=5,
        part_bytes=2 << 20,
        dump_date="2019-08-01",
        tables="cells",
        math="drop",
        templates=str(tmp_path / "t.json"),
        max_reject_share=1.0,
        overwrite=True,
    )
    assert (one.keep_weak, one.bleu, one.max_span_paragraphs, one.max_reject_share) == (True, "released", 2, 0.01)
    assert (one.source, one.evidence) == ((str(tmp_path / "dev.json"),), (str(tmp_path / "e" / "*"),))
    assert one.files == (("a", str(tmp_path / "b c.txt")), ("d", str(tmp_path / "-e=f.txt")))
    assert one.options == (("min-facts", "2"), ("seed", "7"))
    assert (one.workers, one.knowledge_source) == (1, found.output)


def test_false_is_nothing_and_workers_are_for_all(tmp_path: Path) -> None:
    found, one = settings(config(tmp_path, "overwrite = false", "keep_weak = false", 'output = "out"\nworkers = 2\n'))
    assert (found.overwrite, one.keep_weak, found.workers, one.workers) == (False, False, 2, 2)


def test_workers_of_a_table_are_taken_before_those_for_all(tmp_path: Path) -> None:
    found, one = settings(config(tmp_path, "workers = 4", "workers = 5", 'output = "out"\nworkers = 2\n'))
    assert (found.workers, one.workers) == (4, 5)


def test_paths_in_the_folder_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config(tmp_path)
    (tmp_path / "-b.toml").write_text(f'output = "-o"\n[knowledge_source]\ndump = ["-d.bz2"]\n[[task]]\n{TASK}')
    monkeypatch.chdir(tmp_path)
    found, one = settings("-b.toml")
    assert (found.dump, found.output, one.source) == (("./-d.bz2",), "./-o/knowledge_source", ("dev.json",))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('tables = "rows"', "argument --tables: invalid choice: 'rows'"),
        ("workers = 0", "argument --workers: '0' is not a whole number of 1 or more"),
        ("workers = 2.5", "argument --workers: '2.5' is not a whole number of 1 or more"),
        ('workers = "2"', "workers takes a number, not '2'"),
        ("workers = true", "workers takes a number, not True"),
        ("part_mb = 0", "argument --part-mb: '0' is not a whole number of 1 or more"),
        ("limit_pages = 0", "argument --limit-pages: '0' is not a whole number of 1 or more"),
        ('limit_pages = "5"', "limit_pages takes a number, not '5'"),
        ("max_reject_share = 5", "argument --max-reject-share: '5' is not a share between 0 and 1"),
        ("max_reject_share = nan", "argument --max-reject-share: 'nan' is not a share between 0 and 1"),
        ('dump_date = "yesterday"', "'yesterday' is not a date of the form YYYY-MM-DD"),
        ('dump_date = "2019-02-30"', "'2019-02-30' is not a date of the form YYYY-MM-DD"),
        ("dump_date = 20190801", "dump_date takes text, not 20190801"),
        ('overwrite = "no"', "overwrite takes true or false, not 'no'"),
        ("templates = true", "templates takes text, not True"),
        (
            "limit = 5",
            "[knowledge_source] has limit; known are dump, dump_date, limit_pages, math, max_record_mb, ",
        ),
        ("output = 5", "[knowledge_source] has output; known are "),
    ],
)
def test_wrong_values_of_the_knowledge_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, said: str
) -> None:
    path = config(tmp_path, source)
    assert main([path]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"kiltetl: error: {path}: [knowledge_source]")
    assert said in message
    assert message.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ('keep_weak = "no"', "keep_weak takes true or false, not 'no'"),
        ("keep_weak = 1", "keep_weak takes true or false, not 1"),
        ('bleu = "rouge"', "argument --bleu: invalid choice: 'rouge'"),
        ("max_span_paragraphs = -1", "argument --max-span-paragraphs: '-1' is not a whole number of 1 or more"),
        ("evidence = [5]", 'evidence takes paths in a list, such as ["a.jsonl"], not [5]'),
        ('files = ["a"]', "files takes names and paths, such as { relations = \"r.txt\" }, not ['a']"),
        ("files = { relations = 5 }", "files, relations takes text, not 5"),
        ("options = [2]", "options takes names and numbers, such as { min-facts = 500 }, not [2]"),
        ('options = { min-facts = "2" }', "options, min-facts takes a number, not '2'"),
        ("options = { min-facts = 2 }", "--option min-facts: hotpotqa takes no such option; it takes none"),
        ("mkqa_provenance = false", "mkqa_provenance takes a folder of tasks, or true for this build's own"),
        ("weak = true", "has weak; known are bleu, dataset, evidence, files, from_kilt, keep_weak, "),
        ('files = { relations = "r.txt" }', "--file relations: hotpotqa takes no such option file"),
        ('evidence = ["nowhere"]', "nowhere: no such file"),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_wrong_values_of_a_task(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str, said: str, dry_run: bool
) -> None:
    path = config(tmp_path, task=task)
    assert main([path, *(["--dry-run"] if dry_run else [])]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"kiltetl: error: {path}: [[task]] number 1")
    assert said in message
    assert message.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "output is missing"),
        ('output = ""', "output is missing"),
        ('output = "o"\nworkers = "2"', "workers: workers takes a number, not '2'"),
        ('output = "o"\nworkers = 0', "workers: '0' is not a whole number of 1 or more"),
        ('output = "o"\nknowledge_source = "ks"', "write [knowledge_source] once, in single brackets"),
        ('output = "o"\n[task]\ndataset = "nq"', "write [[task]] with two brackets"),
        ('output = "o"\ntask = ["nq"]', "write [[task]] with two brackets"),
        ('output = "o"\n[knowledge_source]\npath = 5', "[knowledge_source]: path takes text, not 5"),
        ('output = "o"\n[knowledge_source]\nworkers = 2', "[knowledge_source] names no dump"),
        ('output = "o"\n[[task]]\ndataset = "nq"\nsource = "x"', "[[task]] number 1 has no split"),
        (f'output = "o"\n[[task]]\n{TASK}', "the file needs a [knowledge_source]"),
        ('output = "o"\n[[task]]\ndataset = "no"\nsplit = "dev"\nsource = "x"', "number 1: --dataset no: unknown"),
        ('output = "o\xff"', "not TOML"),
    ],
)
def test_wrong_files(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str) -> None:
    path = config(tmp_path)
    Path(path).write_bytes(text.encode("latin-1"))
    assert main([path]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"kiltetl: error: {path}: ")
    assert said in message
    assert not (tmp_path / "o").exists()


def test_the_evidence_of_nq_needs_nq_before_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = f'output = "out"\n[knowledge_source]\ndump = ["{ROOT / "examples" / "miniwiki.xml"}"]\n'
    task = '[[task]]\nsplit = "dev"\n'
    nq = f'{task}dataset = "nq"\nsource = ["{ROOT / "examples" / "nq" / "dev.jsonl.gz"}"]\n'
    mkqa = f'{task}dataset = "mkqa"\nsource = ["{ROOT / "examples" / "mkqa" / "mkqa.jsonl.gz"}"]\n'
    borrowing, elsewhere = f"{mkqa}mkqa_provenance = true\n", f'{mkqa}mkqa_provenance = "other"\n'
    path = tmp_path / "build.toml"
    for text, number in ((borrowing, 1), (mkqa + borrowing, 2), (borrowing + nq, 1)):
        path.write_text(head + text)
        assert main([str(path), "--dry-run"]) == 2
        problem = f"[[task]] number {number}: mkqa_provenance = true takes the evidence of nq: put a [[task]] of nq"
        assert problem in capsys.readouterr().err
    for text in (nq + borrowing, mkqa, elsewhere):
        path.write_text(head + text)
        assert main([str(path), "--dry-run"]) == 0
    (tmp_path / "out" / "tasks" / "manifests").mkdir(parents=True)
    (tmp_path / "out" / "tasks" / "manifests" / "nq-train.json").write_text("{}")
    path.write_text(head + borrowing)  # mapped by an earlier run
    assert main([str(path), "--dry-run"]) == 0


def test_a_dry_run_says_what_is_built_already(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = config(tmp_path)
    assert main([path, "--dry-run"]) == 0
    assert "would write:" in capsys.readouterr().out
    source, _ = settings(path)
    knowledge_source.execute(source, build.Console(quiet=True))
    assert main([path, "--dry-run"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith("already built from this dump with these parameters; nothing to do")
    assert said[1] == f"then hotpotqa dev: {tmp_path / 'dev.json'}"
    write(tmp_path / "d.xml.bz2", per_stream=2)
    assert main([path, "--dry-run"]) == 2
    assert "--overwrite to replace it" in capsys.readouterr().err


def test_an_output_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = config(tmp_path)
    (tmp_path / "out").write_text("")
    assert main([path]) == 2
    said = f"{tmp_path / 'out'}: this folder cannot be made or written to (a file is in the way)"
    assert said in capsys.readouterr().err


# --------------------------------------------------------------------------------------------
# the report's manifests


def put(path: Path, **manifest: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(manifest))


def test_manifests_are_found_side_by_side(tmp_path: Path) -> None:
    put(tmp_path / "ks" / "manifest.json", kind="knowledge-source", site=1)
    put(tmp_path / "mapped" / "manifests" / "nq-train.json", kind="tasks", dataset="nq", split="train")
    put(tmp_path / "more" / "manifests" / "wow-train.json", kind="tasks", dataset="wow", split="train")
    put(tmp_path / "web" / "manifest.json", name="an app")
    put(tmp_path / "deep" / "er" / "manifest.json", kind="knowledge-source")
    source, found = find_manifests(str(tmp_path))
    assert source == {"kind": "knowledge-source", "site": 1}
    assert [one["dataset"] for one in found] == ["nq", "wow"]
    source, found = find_manifests(str(tmp_path / "mapped"))
    assert (source, [one["dataset"] for one in found]) == (None, ["nq"])


def test_what_stands_twice_is_asked_for(tmp_path: Path) -> None:
    for name in ("a", "b"):
        put(tmp_path / "sources" / name / "manifest.json", kind="knowledge-source")
        put(tmp_path / "tasks" / name / "manifests" / "nq-dev.json", kind="tasks", dataset="nq", split="dev")
    with pytest.raises(InputError, match=r"several knowledge sources, .*sources/a, .*sources/b; name the folder of"):
        find_manifests(str(tmp_path / "sources"))
    with pytest.raises(InputError, match=r"the same split twice, .*/a/manifests/nq-dev.json and .*; name the folder"):
        find_manifests(str(tmp_path / "tasks"))
    put(tmp_path / "tasks" / "manifests" / "nq-dev.json", kind="tasks", dataset="nq", split="dev", own=True)
    assert [one["own"] for one in find_manifests(str(tmp_path / "tasks"))[1]] == [True]


def test_a_configuration_that_is_nested_without_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deep.toml").write_text("output = " + "[" * 100_000)
    assert build.main([str(tmp_path / "deep.toml")]) == 2
    assert "deep.toml: lists or tables are nested too deep" in capsys.readouterr().err
