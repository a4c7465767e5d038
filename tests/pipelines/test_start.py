"""What a start of the program costs and changes: no Beam for a mistake or a question, no logger, no hook."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.checkout import ENVIRONMENT, ROOT

COMMANDS = ("build", "knowledge-source", "tasks", "report", "evaluate", "export", "annotations", "anchors")
QUESTIONS = [
    [],
    ["--help"],
    ["--version"],
    ["evaluate", "kilt", "--help"],
    ["evaluate", "mkqa", "--help"],
    ["export", "kilt-jsonl", "--help"],
    ["annotations", "candidates", "--help"],
    *([command, "--help"] for command in COMMANDS),
]
MISTAKES = [
    ["evalute"],
    *([command, "--no-such-option", "x"] for command in COMMANDS),
    ["build", "no-such-file.toml"],
    ["knowledge-source", "--dump", "no-such-file.xml", "--output", "out"],
    ["tasks", "--dataset", "no-such-dataset", "--split", "dev", "--source", "x", "--output", "out"],
    ["tasks", "--dataset", "nq", "--split", "dev", "--source", "no-such-file", "--output", "out"],
    ["evaluate", "kilt", "--gold", "no-such-file", "--predictions", "no-such-file"],
    ["anchors", "--knowledge-source", "no-such-folder", "--output", "out"],
    ["export", "kilt-jsonl", "--tasks", "no-such-folder", "--output", "out"],
    ["annotations", "apply", "--tasks", "no-such-folder", "--judgements", "x", "--output", "out"],
]


def python(code: str, folder: Path, *arguments: str) -> list[str]:
    """The lines that a Python of its own prints."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize(("given", "statuses"), [(QUESTIONS, {0, 2}), (MISTAKES, {2})], ids=["questions", "mistakes"])
def test_no_beam_for_a_question_or_a_mistake(given: list[list[str]], statuses: set[int], tmp_path: Path) -> None:
    """Beam takes a second to import. All are asked in one process, one after the other."""
    code = """
        import contextlib, io, json, sys
        from kiltetl.pipelines.cli import main
        for arguments in json.loads(sys.argv[1]):
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                try:
                    status = main(arguments)
                except SystemExit as ended:
                    status = ended.code
            print(json.dumps([arguments, status, "apache_beam" in sys.modules]))
        """
    found = [json.loads(line) for line in python(code, tmp_path, json.dumps(given))]
    assert [arguments for arguments, _, _ in found] == given
    for arguments, status, loaded in found:
        assert status in statuses, arguments
        assert not loaded, arguments
    assert not list(tmp_path.iterdir())


def test_importing_changes_nothing_of_the_process(tmp_path: Path) -> None:
    """Every module of the package, after those of others, which may do as they like."""
    modules = sorted(
        ".".join(("kiltetl", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for folder in ("schemas", "transforms", "pipelines")
        for path in (ROOT / folder).rglob("*.py")
    )
    code = """
        import gc, importlib, json, locale, logging, os, signal, sys, threading, warnings
        def state():
            loggers = [logging.getLogger(), *map(logging.getLogger, logging.root.manager.loggerDict)]
            return {
                "loggers": {one.name: [one.level, one.disabled, one.propagate, list(map(id, one.handlers))]
                            for one in loggers if not one.name.startswith("kiltetl")},
                "hooks": [threading.excepthook, threading.__excepthook__, sys.excepthook, sys.unraisablehook,
                          sys.displayhook],
                "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)],
                "path": list(sys.path), "environment": dict(os.environ), "gc": gc.get_threshold(),
                "warnings": list(warnings.filters), "threads": threading.active_count(),
                "limits": [sys.getrecursionlimit(), sys.getswitchinterval()], "locale": locale.setlocale(locale.LC_ALL),
            }
        names = json.loads(sys.argv[1])
        for name in names:
            importlib.import_module(name)
        for name in [name for name in sys.modules if name.partition(".")[0] == "kiltetl"]:
            del sys.modules[name]
        logging.root.manager.loggerDict = {
            name: one for name, one in logging.root.manager.loggerDict.items() if not name.startswith("kiltetl")
        }
        threading.excepthook = threading.__excepthook__
        sys.excepthook = sys.__excepthook__
        logging.getLogger().setLevel(logging.WARNING)
        logging.getLogger("apache_beam").setLevel(logging.NOTSET)
        gc.set_threshold(700, 10, 10)
        before = state()
        for name in names:
            importlib.import_module(name)
            after = state()
            changed = [kind for kind in before if before[kind] != after[kind]]
            print(name, *changed)
        own = [name for name in logging.root.manager.loggerDict if name.startswith("kiltetl")]
        print("loggers of its own", [name for name in own if logging.getLogger(name).handlers])
        """
    found = python(code, tmp_path, json.dumps(modules))
    assert found == [*modules, "loggers of its own []"]
