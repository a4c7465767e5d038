"""The law of the floors: what each module may import, read from its source; and how the package is laid out."""

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

WIRING = ("kiltetl.transforms.io", "kiltetl.transforms.runner", "kiltetl.transforms.stages")
ENGINES = ("apache_beam", "smart_open")
SHARED_PIPELINES = ("kiltetl.pipelines.console",)  # what every command may use
COLLECTING_PIPELINES = ("kiltetl.pipelines.build", "kiltetl.pipelines.cli")  # commands made of commands


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


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def floor(module: str) -> int:
    """0 schemas, 1 pure transforms, 2 what knows Beam and files, 3 pipelines."""
    if within(module, ("kiltetl.schemas",)):
        return 0
    if within(module, ("kiltetl.pipelines",)):
        return 3
    return 2 if within(module, WIRING) else 1


def of_floor(*floors: int) -> list[str]:
    return [module for module in MODULES if floor(module) in floors]


ADAPTERS = [
    module
    for module in MODULES
    if module.startswith("kiltetl.transforms.datasets.") and module != "kiltetl.transforms.datasets.spec"
]


def test_there_is_something_to_look_at() -> None:
    assert all(of_floor(number) for number in range(4))
    assert len(ADAPTERS) >= 4
    assert "kiltetl.transforms.stages.knowledge_source" in of_floor(2)


def test_imports_are_found_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import a.b as c\ndef f():\n    from d import e\n    from kiltetl.transforms import io, titles\n"
    monkeypatch.setitem(MODULES, "kiltetl.schemas.made_up", ast.parse(source))
    assert imports("kiltetl.schemas.made_up") == {"a.b", "d", "kiltetl.transforms.io", "kiltetl.transforms.titles"}
    with pytest.raises(AssertionError, match="from a floor above"):
        test_a_floor_imports_from_floors_before_it("kiltetl.schemas.made_up")


@pytest.mark.parametrize("module", MODULES)
def test_a_floor_imports_from_floors_before_it(module: str) -> None:
    for name in imports(module):
        if within(name, ("kiltetl",)):
            assert name in MODULES, f"{module} imports {name}, which is not there"
            assert floor(name) <= floor(module), f"{module} imports {name} from a floor above"


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_imported_by_their_full_name(module: str) -> None:
    for name in imports(module):
        assert not within(name, FOLDERS), f"{module}: import kiltetl.{name}"


@pytest.mark.parametrize("module", of_floor(0, 1))
def test_pure_modules_know_no_engine_and_open_nothing(module: str) -> None:
    for name in imports(module):
        assert not within(name, ENGINES), f"{module} imports {name}"
    calls = {
        node.func.id
        for node in ast.walk(MODULES[module])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "open" not in calls, f"{module} opens a file"


def test_records_import_the_standard_library_alone() -> None:
    assert {name.partition(".")[0] for name in imports("kiltetl.schemas.records")} <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("module", [m for m in of_floor(1) if within(m, ("kiltetl.transforms.wikitext",))])
def test_the_page_parser_knows_no_datasets(module: str) -> None:
    assert not any(within(name, ("kiltetl.transforms.datasets", "pyarrow")) for name in imports(module))


def test_only_the_page_parser_knows_mwparserfromhell() -> None:
    users = [module for module in MODULES if any(within(name, ("mwparserfromhell",)) for name in imports(module))]
    assert users
    assert all(within(module, ("kiltetl.transforms.wikitext",)) for module in users), users


@pytest.mark.parametrize("module", ADAPTERS)
def test_adapters_import_no_other_adapter(module: str) -> None:
    assert not [name for name in imports(module) if name in ADAPTERS]
    assert "kiltetl.transforms.datasets" not in imports(module)


def test_the_specification_of_an_adapter_knows_none() -> None:
    found = imports("kiltetl.transforms.datasets.spec")
    assert not [name for name in found if name in ADAPTERS or within(name, ("pyarrow", *ENGINES))]


@pytest.mark.parametrize("module", of_floor(2))
def test_stages_open_no_files(module: str) -> None:
    if within(module, ("kiltetl.transforms.stages",)):
        assert not any(within(name, ("smart_open",)) for name in imports(module))
    if module == "kiltetl.transforms.io":
        assert not any(within(name, ("kiltetl.transforms.datasets",)) for name in imports(module))


@pytest.mark.parametrize("module", of_floor(3))
def test_pipelines_import_no_other_pipeline(module: str) -> None:
    others = {name for name in imports(module) if within(name, ("kiltetl.pipelines",))} - set(SHARED_PIPELINES)
    if module not in COLLECTING_PIPELINES:
        assert not others - {module}


@pytest.mark.parametrize("module", MODULES)
def test_no_module_is_named_after_nothing(module: str) -> None:
    assert module.rpartition(".")[2].lstrip("_") not in ("utils", "util", "common", "base", "helpers", "helper", "misc")


# --------------------------------------------------------------------------------------------
# packages


def packages() -> dict[str, str]:
    for node in ast.walk(ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "PACKAGES":
            found: dict[str, str] = ast.literal_eval(node.value)
            return found
    raise AssertionError("setup.py has no PACKAGES")


def test_every_folder_is_a_package_that_setup_names() -> None:
    folders = {path.parent for path in SOURCES}
    for folder in folders:
        assert (folder / "__init__.py").is_file(), f"{folder.relative_to(ROOT)} has no __init__.py"
    names = {name_of(folder / "__init__.py"): folder.relative_to(ROOT).as_posix() for folder in folders}
    assert packages() == names


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
        import contextlib, importlib, sys, types, warnings
        package = types.ModuleType("kiltetl")
        package.__path__ = [{str(ROOT)!r}]
        sys.modules["kiltetl"] = package
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
