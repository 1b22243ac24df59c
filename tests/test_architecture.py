"""The rooms of the code know each other in one direction only, and whoever breaks that is told."""

import ast
import os
import shutil
import subprocess
import sys
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
        "conformance/posenc_conformance/oracle/alibi.py",
        "from posenc import alibi_slopes",
    ),
    "the oracle imports NumPy": (
        "conformance/posenc_conformance/oracle/rope.py",
        "import numpy as np",
    ),
    "the oracle imports the kit": (
        "conformance/posenc_conformance/oracle/alibi.py",
        "from posenc_conformance.judge.case import Case",
    ),
    "the reference imports the kit": (
        "reference/posenc/schemes/rope.py",
        "from posenc_conformance.errors import UserError",
    ),
    "judging knows a scheme": (
        "conformance/posenc_conformance/judge/case.py",
        "from posenc_conformance.schemes import alibi",
    ),
    "a model's meaning knows an adapter": (
        "conformance/posenc_conformance/models/derive.py",
        "from posenc_conformance.adapters.claims import claims",
    ),
    "a check knows the run": (
        "conformance/posenc_conformance/checks/golden.py",
        "from posenc_conformance.pytest_run.plan import Plan",
    ),
    "the kit knows a miniature": (
        "conformance/posenc_conformance/checks/golden.py",
        "from posenc_lab.miniatures.mistakes import WRONG",
    ),
    "a right miniature asks the reference": (
        "lab/posenc_lab/miniatures/right/mla.py",
        "import posenc",
    ),
    "a wrong miniature asks the reference": (
        "lab/posenc_lab/miniatures/wrong/layout_2d.py",
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
    """What import-linter says of a copy of the code."""
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
    """The code and its contracts, to be changed."""
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path)
    for package in PACKAGES:
        shutil.copytree(
            CHECKOUT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path


def test_the_contracts_are_kept(copy: Path) -> None:
    found = linted(copy)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(("file", "line"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_a_forbidden_import_is_found(file: str, line: str, copy: Path) -> None:
    path = copy / file
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    found = linted(copy)
    folder = next(each for each in PACKAGES if file.startswith(f"{each}/"))
    importer = file[folder.rfind("/") + 1 :].removesuffix(".py").replace("/", ".")
    assert found.returncode == 1, found.stdout + found.stderr
    assert f"{importer} -> {line.split()[1]}" in found.stdout


def test_a_new_room_needs_a_place_among_the_others(copy: Path) -> None:
    room = copy / "conformance" / "posenc_conformance" / "attic"
    room.mkdir()
    (room / "__init__.py").touch()
    assert linted(copy).returncode == 1


def imports(path: Path) -> set[str]:
    """The modules that a file imports."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    found: set[str] = set()
    for node in tree:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_no_test_module_imports_another() -> None:
    """What two of them need has a module of its own, whose name does not begin with test_."""
    found = {
        (path.name, name)
        for folder in ("tests", "lab", "docs")
        for path in (CHECKOUT / folder).rglob("*.py")
        for name in imports(path)
        if any(part.startswith("test_") for part in name.split(".")[:2])
    }
    assert found == set()


def test_the_site_is_built_without_tests_and_benchmarks() -> None:
    found = {
        (path.name, name)
        for path in (CHECKOUT / "docs").rglob("*.py")
        for name in imports(path)
        if name.split(".")[0] in ("tests", "benchmarks")
    }
    assert found == set()


def test_no_file_of_the_core_is_long() -> None:
    """What one scheme knows of itself may be longer; it is read by itself."""
    lines = {
        path.relative_to(CHECKOUT).as_posix(): len(path.read_text("utf-8").splitlines())
        for folder in ("conformance", "reference")
        for path in (CHECKOUT / folder).rglob("*.py")
        if "schemes" not in path.parts
    }
    assert {path: length for path, length in lines.items() if length > 500} == {}
