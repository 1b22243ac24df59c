"""The rooms of the code know each other in one direction only, and whoever breaks that is told."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.building import CHECKOUT

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
    "a command knows the run": (
        "conformance/posenc_conformance/commands/main.py",
        "from posenc_conformance.pytest_run import plan",
    ),
}


def linted(root: Path) -> subprocess.CompletedProcess[str]:
    """What import-linter says of a copy of the code."""
    sources = os.pathsep.join(str(root / name) for name in ("reference", "conformance"))
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
    for package in ("reference/posenc", "conformance/posenc_conformance"):
        shutil.copytree(CHECKOUT / package, tmp_path / package)
    return tmp_path


def test_the_contracts_are_kept(copy: Path) -> None:
    found = linted(copy)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(("file", "line"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_a_forbidden_import_is_found(file: str, line: str, copy: Path) -> None:
    path = copy / file
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    found = linted(copy)
    importer = file.partition("/")[2].removesuffix(".py").replace("/", ".")
    assert found.returncode == 1, found.stdout + found.stderr
    assert f"{importer} -> {line.split()[1]}" in found.stdout


def test_a_new_room_needs_a_place_among_the_others(copy: Path) -> None:
    room = copy / "conformance" / "posenc_conformance" / "attic"
    room.mkdir()
    (room / "__init__.py").touch()
    assert linted(copy).returncode == 1


def test_no_file_of_the_core_is_long() -> None:
    """What one scheme knows of itself may be longer; it is read by itself."""
    lines = {
        path.relative_to(CHECKOUT).as_posix(): len(path.read_text("utf-8").splitlines())
        for folder in ("conformance", "reference")
        for path in (CHECKOUT / folder).rglob("*.py")
        if "schemes" not in path.parts
    }
    assert {path: length for path, length in lines.items() if length > 500} == {}
