"""The law of the floors: what each package may import, read from its source; and how the package is laid out."""

import ast
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("schemas", "transforms", "pipelines")
SOURCES = {
    path: ast.parse(path.read_text(encoding="utf-8")) for f in FOLDERS for path in sorted((ROOT / f).rglob("*.py"))
}

# From the ground up: a package, and which of those before it it may import. Every package may import itself.
FLOORS = {
    "schemas": (),
    "transforms.wiki": ("schemas",),
    "transforms.wikitext": ("schemas", "transforms.wiki"),
    "transforms.alignment": ("schemas",),
    "transforms.datasets": ("schemas", "transforms.wiki"),
    "transforms.metrics": ("schemas", "transforms.datasets"),
    "transforms.kilt_release": ("schemas", "transforms.datasets"),
    "transforms.annotation": ("schemas", "transforms.datasets", "transforms.metrics"),
    "transforms.entity_links": ("schemas", "transforms.datasets"),
    "transforms.reports": ("schemas", "transforms.metrics"),
    "transforms.files": ("transforms.wiki", "schemas"),
    "transforms.jobs": (
        "schemas",
        "transforms.wiki",
        "transforms.wikitext",
        "transforms.alignment",
        "transforms.datasets",
        "transforms.metrics",
        "transforms.kilt_release",
        "transforms.annotation",
        "transforms.entity_links",
        "transforms.reports",
        "transforms.files",
    ),
    "transforms.beam": ("schemas", "transforms.wiki", "transforms.datasets", "transforms.annotation",
                        "transforms.alignment", "transforms.metrics", "transforms.entity_links", "transforms.files",
                        "transforms.jobs"),
    "pipelines": ("schemas", "transforms"),
}  # fmt: skip
PURE = tuple(FLOORS)[: tuple(FLOORS).index("transforms.files")]
BEAM_USERS = ("transforms.beam", "pipelines", "transforms.files.store_beam")
SHARED_PIPELINES = (
    "kiltetl.pipelines.arguments",
    "kiltetl.pipelines.console",
    "kiltetl.pipelines.launch",
    "kiltetl.pipelines.evaluate_inputs",
)  # what every command may use
COLLECTING_PIPELINES = (
    "kiltetl.pipelines.build",
    "kiltetl.pipelines.cli",
    "kiltetl.pipelines.config",
    "kiltetl.pipelines.evaluate",
)
MOST_LINES = 500
LONGER = {
    "kiltetl.transforms.wikitext.renderers": "one function a family of templates, beside their one table",
    "kiltetl.transforms.wikitext.convert": "the one template {{convert}}, its units in a table",
}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("kiltetl", *parts)).removesuffix(".__init__")


MODULES = {name_of(path): tree for path, tree in SOURCES.items()}


def imports(module: str) -> set[str]:
    """Modules that a module imports, anywhere in its source, with the names it takes from packages."""
    found: set[str] = set()
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            assert node.module
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in inner}
    return found


def imported_at_once(module: str) -> set[str]:
    """Modules that are imported when the module is, not only when one of its functions is called."""
    found: set[str] = set()
    for node in MODULES[module].body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def package_of(module: str) -> str | None:
    """The row of FLOORS that a module belongs to."""
    own = module.removeprefix("kiltetl.")
    return next((package for package in FLOORS if within(own, (package,))), None)


def of(*packages: str) -> list[str]:
    return [module for module in MODULES if within(module, tuple(f"kiltetl.{package}" for package in packages))]


ADAPTERS = [module for module in of("transforms.datasets") if "DATASET" in {
    target.id for node in MODULES[module].body if isinstance(node, ast.Assign) for target in node.targets
    if isinstance(target, ast.Name)
}]  # fmt: skip


def test_there_is_something_to_look_at() -> None:
    assert all(of(package) for package in FLOORS)
    assert len(ADAPTERS) == 13
    assert all(name in MODULES for name in LONGER)


def test_every_module_stands_on_a_floor() -> None:
    assert [m for m in MODULES if package_of(m) is None] == ["kiltetl.transforms"]


def test_a_floor_imports_from_floors_before_it_alone() -> None:
    order = tuple(FLOORS)
    for package, below in FLOORS.items():
        for name in below:
            assert name == "transforms" or order.index(name) < order.index(package), (package, name)


def test_imports_are_found_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import a.b as c\ndef f():\n    from d import e\n    from kiltetl.transforms.wiki import sites, titles\n"
    monkeypatch.setitem(MODULES, "kiltetl.schemas.made_up", ast.parse(source))
    assert imports("kiltetl.schemas.made_up") == {
        "a.b", "d", "kiltetl.transforms.wiki.sites", "kiltetl.transforms.wiki.titles",
    }  # fmt: skip
    with pytest.raises(AssertionError, match="from a floor above"):
        test_a_package_imports_what_its_row_says("kiltetl.schemas.made_up")


@pytest.mark.parametrize("module", MODULES)
def test_a_package_imports_what_its_row_says(module: str) -> None:
    package = package_of(module)
    for name in imports(module):
        if within(name, ("kiltetl",)) and package is not None:
            assert name in MODULES, f"{module} imports {name}, which is not there"
            own = name.removeprefix("kiltetl.")
            assert within(own, (package, *FLOORS[package])), f"{module} imports {name} from a floor above"


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_imported_by_their_full_name(module: str) -> None:
    for name in imports(module):
        assert not within(name, FOLDERS), f"{module}: import kiltetl.{name}"


@pytest.mark.parametrize("module", MODULES)
def test_beam_and_smart_open_have_their_places(module: str) -> None:
    own = module.removeprefix("kiltetl.")
    if not within(own, BEAM_USERS):
        assert not any(within(name, ("apache_beam",)) for name in imports(module))
    if within(own, ("transforms.files.store_beam", "pipelines")):  # Beam is imported when it is needed
        at_once = imported_at_once(module)
        assert not any(within(name, ("apache_beam", "kiltetl.transforms.beam")) for name in at_once)
    if not within(own, ("transforms.files",)):
        assert not any(within(name, ("smart_open",)) for name in imports(module))


@pytest.mark.parametrize("module", [m for m in MODULES if not within(m, ("kiltetl.transforms.files",))])
def test_files_are_opened_in_one_place(module: str) -> None:
    calls = {
        node.func.id
        for node in ast.walk(MODULES[module])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "open" not in calls, f"{module} opens a file"


def test_records_import_the_standard_library_alone() -> None:
    for module in of("schemas"):
        if module != "kiltetl.schemas.arrow":
            found = {name.partition(".")[0] for name in imports(module)}
            assert found <= {*sys.stdlib_module_names, "kiltetl"}, module


@pytest.mark.parametrize("module", of("transforms.wikitext"))
def test_the_page_parser_knows_no_tables(module: str) -> None:
    assert not any(within(name, ("pyarrow",)) for name in imports(module))


def test_only_the_page_parser_knows_mwparserfromhell() -> None:
    users = [module for module in MODULES if any(within(name, ("mwparserfromhell",)) for name in imports(module))]
    assert users
    assert all(within(module, ("kiltetl.transforms.wikitext",)) for module in users), users


@pytest.mark.parametrize("module", ADAPTERS)
def test_adapters_import_no_other_adapter(module: str) -> None:
    assert not [name for name in imports(module) if name in ADAPTERS]
    assert "kiltetl.transforms.datasets" not in imports(module)
    assert not [name for name in imports(module) if within(name, ("pyarrow",))]


def test_the_specification_of_an_adapter_knows_none() -> None:
    found = imports("kiltetl.transforms.datasets.spec")
    assert not [name for name in found if name in ADAPTERS or within(name, ("pyarrow",))]


@pytest.mark.parametrize("module", of("pipelines"))
def test_pipelines_import_no_other_pipeline(module: str) -> None:
    others = {name for name in imports(module) if within(name, ("kiltetl.pipelines",))} - set(SHARED_PIPELINES)
    if module not in COLLECTING_PIPELINES:
        assert not others - {module}


@pytest.mark.parametrize("module", MODULES)
def test_names_say_what_is_inside(module: str) -> None:
    name = module.rpartition(".")[2]
    assert name.lstrip("_") not in ("utils", "util", "common", "base", "helpers", "helper", "misc")
    assert name not in sys.stdlib_module_names, f"{module} shadows the standard library"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_module_is_long_without_a_reason(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")
    assert (lines > MOST_LINES) == (name_of(path) in LONGER), f"{name_of(path)} has {lines} lines"


# --------------------------------------------------------------------------------------------
# packages


def test_the_package_is_the_folders() -> None:
    for folder in FOLDERS:
        link = ROOT / "kiltetl" / folder
        assert link.is_symlink()
        assert link.readlink() == Path("..") / folder
    assert (ROOT / "kiltetl" / "py.typed").is_file()


def test_every_folder_is_a_package() -> None:
    for folder in {path.parent for path in SOURCES}:
        assert (folder / "__init__.py").is_file(), f"{folder.relative_to(ROOT)} has no __init__.py"


def test_packages_hold_nothing_but_python() -> None:
    """A data file would be missing from the wheel, hence from the workers."""
    strangers = [
        str(path.relative_to(ROOT))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".py"
    ]
    assert not strangers


def test_sources_compile_without_a_warning() -> None:
    """Case I13."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in SOURCES:
            compile(path.read_text(encoding="utf-8"), str(path), "exec")


def test_every_module_imports_without_a_deprecation() -> None:
    """Case I13; what other packages do when they are imported is not ours to mend."""
    others = sorted({name for module in MODULES for name in imports(module) if not within(name, ("kiltetl",))})
    program = textwrap.dedent(f"""\
        import contextlib, importlib, sys, warnings
        sys.path.insert(0, {str(ROOT)!r})
        for name in {others!r}:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        warnings.simplefilter("error", DeprecationWarning)
        warnings.simplefilter("error", PendingDeprecationWarning)
        for name in {sorted(MODULES)!r}:
            importlib.import_module(name)
            assert sys.modules[name].__file__.startswith({str(ROOT)!r}), name
        """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


# --------------------------------------------------------------------------------------------
# tests


def test_tests_mirror_the_packages() -> None:
    packages = {path.parent.name for path in (ROOT / "transforms").glob("*/__init__.py")}
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/__init__.py")}
    assert folders - packages == {"end_to_end", "pipelines", "schemas", "support", "tools"}
    assert packages <= folders


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_tests_import_no_test(path: Path) -> None:
    """What several of them need stands in tests/support."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            assert not within(name, ("tests",)) or within(name, ("tests.support",)), name
