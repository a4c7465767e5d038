"""What verify finds, and what every command refuses: builds that are not as their manifests say."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kiltetl.pipelines import export, report, tasks
from kiltetl.pipelines.evaluate import main as evaluate
from kiltetl.pipelines.verify import main
from kiltetl.schemas.errors import InputError
from kiltetl.transforms.files.checksums import digests
from kiltetl.transforms.files.shards import map_arrow, write_arrow
from kiltetl.transforms.jobs.reader import open_knowledge_source, open_table
from kiltetl.transforms.jobs.verify import verify
from kiltetl.transforms.wiki.redirects import INDEX_SCHEMA, TitleIndex
from tests.support.checkout import ROOT
from tests.support.example_build import ExampleBuild

SOURCE, TASKS = "knowledge_source", "tasks"
PARAGRAPHS = f"{SOURCE}/paragraphs-00000-of-00001.parquet"
PAGES = f"{SOURCE}/pages-00000-of-00001.parquet"
TITLES = f"{SOURCE}/titles-00000-of-00001.parquet"
INDEX = f"{SOURCE}/titles.arrow"
NQ = f"{TASKS}/nq/validation-00000-of-00001.parquet"


@pytest.fixture
def build(example_build: ExampleBuild, tmp_path: Path) -> Path:
    """A copy of the example build, to be damaged."""
    return Path(shutil.copytree(example_build.output, tmp_path / "out"))


def manifest_of(build: Path, file: str) -> Path:
    folder = file.partition("/")[0]
    return build / folder / "manifest.json" if folder == SOURCE else build / TASKS / "manifests" / "nq-validation.json"


def rewritten(build: Path, file: str, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Change the rows of a table, and let its manifest say the sums of the changed file: a faulty build, not damage."""
    path = build / file
    table = pq.read_table(path)
    rows = table.to_pylist()
    changed = change(rows) or rows
    pq.write_table(pa.Table.from_pylist(changed, schema=table.schema), path)
    restate(build, file, len(changed))


def restate(build: Path, file: str, rows: int | None = None) -> None:
    path, manifest_path = build / file, manifest_of(build, file)
    manifest = json.loads(manifest_path.read_text())
    entries = [*manifest["files"], *([manifest["index"]] if "index" in manifest else [])]
    (entry,) = [one for one in entries if one["name"] == path.name]
    entry |= {"bytes": path.stat().st_size, "sha256": digests(str(path), ["sha256"])["sha256"]}
    entry |= {} if rows is None else {"rows": rows}
    manifest_path.write_text(json.dumps(manifest))


def found(build: Path, quick: bool = False) -> list[str]:
    return [str(problem).removeprefix(f"{build}/") for problem in verify(str(build), quick).problems]


def test_a_build_is_as_its_manifests_say(example_build: ExampleBuild, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(example_build.output)]) == 0
    said = capsys.readouterr().out
    assert "problems" in said
    seen = verify(str(example_build.output))
    assert (seen.problems, seen.without_checksum) == ([], 0)
    shards = [*example_build.output.rglob("*.parquet"), *example_build.output.rglob("*.arrow")]
    assert seen.files == len(shards)
    assert seen.rows == sum(pq.read_metadata(path).num_rows for path in shards if path.suffix == ".parquet")
    assert verify(str(example_build.output / SOURCE)).problems == []
    assert verify(str(example_build.output / TASKS), quick=True).problems == []


def test_a_folder_without_a_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "no manifest in it; give the folder of a build" in capsys.readouterr().err


@pytest.mark.parametrize("file", [PARAGRAPHS, PAGES, TITLES, INDEX, NQ])
def test_damaged_files(build: Path, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    path, whole = build / file, (build / file).read_bytes()
    flipped = bytearray(whole)
    flipped[60] ^= 4
    path.write_bytes(bytes(flipped))
    assert found(build)[0] == f"{file}: has other bytes than were written: its SHA-256 is another"
    assert found(build, quick=True) == []
    path.write_bytes(whole[:-1])
    assert found(build)[0] == f"{file}: has {len(whole) - 1:,} bytes, and its manifest says {len(whole):,}"
    assert main([str(build), "--quiet"]) == 1
    assert f"{path}: has {len(whole) - 1:,} bytes" in capsys.readouterr().out
    path.unlink()
    (said,) = found(build, quick=True)
    assert said.startswith(f"{file}: not there, though ")


def test_files_that_no_manifest_names(build: Path) -> None:
    shutil.copy(build / PAGES, build / SOURCE / "pages-00007-of-00009.parquet")
    shutil.copy(build / NQ, build / TASKS / "nq" / "validation-00007-of-00009.parquet")
    assert found(build) == [
        f"{SOURCE}/pages-00007-of-00009.parquet: stands there, and no manifest names it",
        f"{TASKS}/nq/validation-00007-of-00009.parquet: stands there, and no manifest names it",
    ]


def test_other_columns(build: Path) -> None:
    path = build / PAGES
    pq.write_table(pq.read_table(path).drop_columns(["categories"]), path)
    restate(build, PAGES)
    assert found(build) == [f"{PAGES}: has other columns than its table"]


def test_other_rows(build: Path) -> None:
    count = pq.read_metadata(build / PAGES).num_rows
    restate(build, PAGES, count + 1)
    told = found(build, quick=True)
    assert f"{PAGES}: has {count:,} rows, and its manifest says {count + 1:,}" in told


def first_anchor(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return next(anchor for row in rows for anchor in row["anchors"] if anchor["wikipedia_id"])


def first_span(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return next(
        span for row in rows for output in row["output"] for span in output["provenance"] or ()
        if span["start_paragraph_id"] is not None
    )  # fmt: skip


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        (PARAGRAPHS, lambda rows: first_anchor(rows).update(start=first_anchor(rows)["start"] + 1),
         "an anchor's text does not stand where it says: "),
        (PARAGRAPHS, lambda rows: first_anchor(rows).update(wikipedia_id="999999"),
         "an anchor leads to no page: "),
        (PARAGRAPHS, lambda rows: first_anchor(rows).update(wikipedia_title="Nothing"), "an anchor leads to no page: "),
        (PARAGRAPHS, lambda rows: rows[3].update(paragraph_id=99), "paragraphs are not numbered one after the other: "),
        (PARAGRAPHS, lambda rows: rows[-1].update(paragraph_id=rows[-1]["paragraph_id"] + 5),
         "paragraphs are not numbered one after the other: "),
        (PAGES, lambda rows: rows[1].update(paragraph_count=1), "other paragraphs than its table of pages says: "),
        (PAGES, lambda rows: rows[2].update(wikipedia_title="Renamed"), "other paragraphs than its table "),
        (TITLES, lambda rows: rows[0].update(wikipedia_id="7777"), "a title leads to no page: "),
        (TITLES, lambda rows: rows[0].update(wikipedia_title="Nothing"), "a title leads to no page: "),
        (TITLES, lambda rows: rows[0].update(title="No such title"), "does not find a title of titles-00000"),
        (NQ, lambda rows: first_span(rows).update(wikipedia_id="7777"), "a provenance names no page: "),
        (NQ, lambda rows: first_span(rows).update(title="Nothing"), "a provenance names no page: "),
        (NQ, lambda rows: first_span(rows).update(start_paragraph_id=-1), "a span is not inside its paragraphs: "),
        (NQ, lambda rows: first_span(rows).update(end_paragraph_id=5000), "a span is not inside its paragraphs: "),
        (NQ, lambda rows: first_span(rows).update(end_character=9999), "a span is not inside its paragraphs: "),
        (NQ, lambda rows: first_span(rows).update(start_character=-1), "a span is not inside its paragraphs: "),
        (NQ, lambda rows: rows[:-1], "counts 6 written, and the tables have 5"),
        (PAGES, lambda rows: rows[:-1], "articles, and the tables have "),
        (PARAGRAPHS, lambda rows: rows[:-1], "paragraphs, and the tables have "),
    ],
)  # fmt: skip
def test_faulty_builds(build: Path, file: str, change: Callable[[Any], Any], said: str) -> None:
    rewritten(build, file, change)
    problems = found(build)
    assert any(said in one for one in problems), problems
    assert all(one in "".join(problems) for one in problems)


def test_problems_of_a_kind_are_counted(build: Path) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            for anchor in row["anchors"]:
                anchor["text"] = "?"

    rewritten(build, PARAGRAPHS, change)
    anchors = sum(len(row["anchors"]) for row in pq.read_table(build / PARAGRAPHS).to_pylist())
    told = [one for one in found(build) if "an anchor's text does not stand where it says" in one]
    assert len(told) == 21
    assert told[-1].endswith(f": {anchors - 20:,} more")


def test_a_table_of_another_knowledge_source(build: Path) -> None:
    path = manifest_of(build, NQ)
    manifest = json.loads(path.read_text())
    manifest["knowledge_source"]["fingerprint"] = "another"
    path.write_text(json.dumps(manifest))
    name = f"{TASKS}/manifests/nq-validation.json"
    assert found(build) == [f"{name}: was mapped onto another knowledge source than the one beside it"]


def test_builds_before_checksums(build: Path) -> None:
    for path in (manifest_of(build, PAGES), manifest_of(build, NQ)):
        manifest = json.loads(path.read_text())
        manifest.pop("index", None)
        for entry in (*manifest["files"], *manifest.get("reject_files", ())):
            del entry["sha256"]
        path.write_text(json.dumps(manifest))
    seen = verify(str(build))
    assert seen.problems == []
    assert seen.without_checksum == 4 + 1 + 2
    assert open_knowledge_source(str(build / SOURCE)).shards == 1


# --------------------------------------------------------------------------------------------
# what other commands refuse


def commands(build: Path) -> dict[str, int]:
    """What each command that reads the build ends with."""
    out = build.parent / "more"
    shutil.rmtree(out, ignore_errors=True)
    given = ["--dataset", "nq", "--split", "dev", "--source", str(ROOT / "examples" / "nq" / "dev.jsonl.gz"), "--quiet"]
    ended = {
        "tasks": tasks.main(
            [*given, "--knowledge-source", str(build / SOURCE), "--output", str(out / "t"), "--max-reject-share", "0.5"]
        ),
        "export": export.main(
            ["kilt-jsonl", "--tasks", str(build / TASKS), "--output", str(out / "e"), "--dataset", "nq", "--quiet"]
        ),
        "evaluate": evaluate(
            ["kilt", "--gold", str(build / TASKS / "nq"), "--predictions", str(ROOT / "examples" / "build.toml")]
        ),
        "report": report.main([str(build), "--quiet"]),
    }
    return ended


def half_an_index(build: Path, order: list[int] | None = None) -> None:
    table = map_arrow(str(build / INDEX)).combine_chunks()
    rows = order or list(range(table.num_rows // 2))
    write_arrow(str(build / INDEX), table.take(pa.array(rows)))
    restate(build, INDEX)


def test_a_look_up_of_half_the_titles_or_out_of_order(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = map_arrow(str(build / INDEX)).num_rows
    whole = (build / INDEX).read_bytes()
    half_an_index(build, list(range(count))[::-1])
    assert commands(build)["tasks"] == 2
    assert "the titles of a look-up are not in order" in capsys.readouterr().err
    (build / INDEX).write_bytes(whole)
    half_an_index(build)
    assert commands(build)["tasks"] == 2
    assert "a look-up of titles names pages that it does not hold" in capsys.readouterr().err
    (build / INDEX).write_bytes(whole)
    own = [row for row, page in enumerate(map_arrow(str(build / INDEX)).column("page").to_pylist()) if row == page]
    half_an_index(build, own[:1])
    rest = map_arrow(str(build / INDEX)).set_column(2, "page", pa.array([0], pa.int32()))
    write_arrow(str(build / INDEX), rest.cast(INDEX_SCHEMA))
    restate(build, INDEX)
    assert commands(build)["tasks"] == 2
    assert f"titles.arrow: has 1 titles, and the tables {count:,}" in capsys.readouterr().err
    assert f"{INDEX}: has 1 titles, and the tables have {count:,}" in found(build)
    assert any("titles.arrow: " in one for one in found(build))


def test_a_look_up_with_other_columns(build: Path) -> None:
    table = map_arrow(str(build / INDEX))
    with pytest.raises(InputError, match="has other columns"):
        TitleIndex(table.drop_columns(["part"]))


@pytest.mark.parametrize(
    ("file", "refused"),
    [(PARAGRAPHS, {"tasks"}), (PAGES, {"tasks"}), (TITLES, {"tasks"}), (NQ, {"export", "evaluate"})],
)
def test_no_command_takes_a_part_for_the_whole(
    build: Path, file: str, refused: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path, whole = build / file, (build / file).read_bytes()
    table = pq.read_table(path)
    for damage in ("gone", "cut", "empty", "other columns"):
        path.write_bytes(whole)
        if damage == "gone":
            path.unlink()
        elif damage == "cut":
            path.write_bytes(whole[: len(whole) // 2])
        else:
            pq.write_table(table.slice(0, 0) if damage == "empty" else table.select([0]), path)
        ended = commands(build)
        said = capsys.readouterr().err
        assert {name for name, status in ended.items() if status == 2 and name in refused} == refused, (damage, said)
        assert f"{path}: " in said
    path.write_bytes(whole)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, one in inner for place in ((*at, key), *places(one, (*at, key)))]


@pytest.mark.parametrize("file", [PAGES, NQ])
def test_a_manifest_with_anything_else_in_it_is_refused_or_read(build: Path, file: str) -> None:
    """Whatever stands at any place of it: an error that names the file, or the same as before."""
    path = manifest_of(build, file)
    right = json.loads(path.read_text())
    drawn = random.Random(11)
    refused, told = 0, list[str]()
    chosen = [at for at in places(right) if "counters" not in at and "bleu" not in at]
    for at in drawn.sample(chosen, min(len(chosen), 30)):
        for value in (None, 3, -1, True, "x", [], {}, "../../x", ["x"], 1e9, "del"):
            manifest = json.loads(path.read_text())
            holder = manifest
            for key in at[:-1]:
                holder = holder[key]
            if value == "del":
                del holder[at[-1]]
            else:
                holder[at[-1]] = value
            path.write_text(json.dumps(manifest))
            try:
                if file == PAGES:
                    source = open_knowledge_source(str(build / SOURCE))
                    assert source.shards == 1
                else:
                    table = open_table(str(build / TASKS), "nq", "validation")
                    assert table is not None
                    assert len(list(table.tasks())) == 6
            except InputError as error:
                refused += str(build) in str(error)
                told.append(str(error))
            finally:
                path.write_text(json.dumps(right))
    assert refused == len(told) > 30
