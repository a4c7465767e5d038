"""The public API: ``import kiltetl`` is light, every name is typed, documented and shown by an example that runs."""

import doctest
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

import kiltetl
from kiltetl.schemas import VERSION
from kiltetl.transforms.alignment.tokens import tokens
from tests.support.checkout import ENVIRONMENT, ROOT
from tests.support.example_build import ExampleBuild

NAMES = [name for name in kiltetl.__all__ if name != "__version__"]
ERRORS = [name for name in NAMES if inspect.isclass(getattr(kiltetl, name)) and name.endswith(
    ("Error", "Dump", "Failed", "Record", "Row")
)]  # fmt: skip


def python(code: str) -> str:
    """What a Python of its own prints."""
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_import_loads_nothing_else() -> None:
    loaded = python("import sys, kiltetl; print(sorted({name.partition('.')[0] for name in sys.modules}))")
    for heavy in ("apache_beam", "pyarrow", "numpy", "sacrebleu", "mwparserfromhell", "smart_open", "ijson"):
        assert f"'{heavy}'" not in loaded
    assert "'kiltetl'" in loaded


def test_no_name_loads_beam() -> None:
    loaded = python(
        "import sys, kiltetl; [getattr(kiltetl, name) for name in kiltetl.__all__];"
        "kiltetl.parse_page('A', 'b'); kiltetl.best_span(['a b'], 'a');"
        "print('apache_beam' in sys.modules, 'smart_open' in sys.modules)"
    )
    assert loaded.startswith("False")


def test_every_name_is_there() -> None:
    assert kiltetl.__all__ == sorted(kiltetl.__all__)
    assert set(kiltetl.__all__) <= set(dir(kiltetl))
    assert {name for names in kiltetl._HOMES.values() for name in names} == set(NAMES)
    assert kiltetl.__version__ == VERSION
    with pytest.raises(AttributeError, match="module 'kiltetl' has no attribute 'best_spam'"):
        _ = kiltetl.best_spam  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_documented(name: str) -> None:
    found = getattr(kiltetl, name)
    if name == "DATASETS":
        assert len(found) == 13
        return
    assert inspect.getdoc(found)
    if inspect.isfunction(found):
        assert all(p.annotation is not inspect.Parameter.empty for p in inspect.signature(found).parameters.values())
        assert inspect.signature(found).return_annotation is not inspect.Signature.empty


@pytest.mark.parametrize("name", ["kiltetl", *(name for name in NAMES if name not in (*ERRORS, "DATASETS"))])
def test_every_example_runs(
    name: str, example_build: ExampleBuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "out").symlink_to(example_build.output)
    monkeypatch.chdir(tmp_path)
    found: Any = kiltetl if name == "kiltetl" else getattr(kiltetl, name)
    module = sys.modules[found.__module__] if name != "kiltetl" else kiltetl
    tests = [
        test
        for test in doctest.DocTestFinder(recurse=False).find(found, name, module=module, globs=dict(vars(module)))
        if test.examples
    ]
    assert tests, f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    for test in tests:
        report: list[str] = []
        assert runner.run(test, out=report.append).failed == 0, "".join(report)


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_of_one_kind(name: str) -> None:
    error = getattr(kiltetl, name)
    assert name == "SkipRow" or issubclass(error, kiltetl.KiltetlError)
    assert inspect.getdoc(error)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "c", "d,", "e.", "the", "kite’s", "1,000", "-", "x"]), max_size=9),
    st.lists(st.sampled_from(["a", "b", "c", "d,", "e.", "the", "kite’s", "1,000", "-", "x"]), max_size=9),
)
def test_bleu_is_sacrebleus(span: list[str], evidence: list[str]) -> None:
    text, reference = " ".join(span), " ".join(evidence)
    given_tokens = " ".join(tokens(text)), " ".join(tokens(reference))
    expected = 0.0
    if all(given_tokens):
        metric = sacrebleu.BLEU(tokenize="none", effective_order=True)
        expected = min(1.0, metric.sentence_score(given_tokens[0], [given_tokens[1]]).score / 100)
    assert kiltetl.bleu(text, reference) == pytest.approx(expected, abs=1e-9)
    best = kiltetl.best_span([text], reference)
    if best is not None:
        shown = text[best.start_character : best.end_character]
        assert kiltetl.bleu(shown, reference) == pytest.approx(best.bleu_score, abs=1e-12)
        assert best.bleu_score >= kiltetl.bleu(text, reference) - 1e-12


def test_the_released_variant_of_bleu() -> None:
    assert kiltetl.bleu("a b c", "a b c", variant="released") == 1.0
    assert kiltetl.bleu("a b d", "a b c", variant="released") == 0.0
    assert kiltetl.bleu("a b c d e f", "a b c d e", variant="released") == pytest.approx(0.8187307530779818)
    assert kiltetl.bleu("猫が好き", "猫が嫌い", language="ja") == pytest.approx(
        kiltetl.bleu("猫 が 好 き", "猫 が 嫌 い")
    )


def test_the_module_is_the_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kiltetl", "--version"], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"kiltetl {VERSION}\n")
    assert os.path.exists(ROOT / "kiltetl" / "__main__.py")


def test_paths_may_be_paths(example_build: ExampleBuild) -> None:
    assert kiltetl.open_knowledge_source(example_build.output / "knowledge_source").shards == 1
    assert kiltetl.read_siteinfo(ROOT / "examples" / "miniwiki.xml").dbname == "miniwiki"


def test_siteinfo_of_real_wikis(shared: Path) -> None:
    folder = shared / "oracle" / "mediawiki" / "siteinfo"
    sites = {path.stem: kiltetl.read_siteinfo(str(path)) for path in sorted(folder.glob("*.xml"))}
    assert len(sites) > 50
    assert all(site.dbname == name for name, site in sites.items())
    assert (sites["dewiki"].language, sites["ltgwiki"].language) == ("de", "ltg")
    with pytest.raises(kiltetl.InputError, match=r"README\.md: "):
        kiltetl.read_siteinfo(str(ROOT / "README.md"))
