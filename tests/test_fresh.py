"""What a fresh machine is promised: commands, costs, and the versions that work."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from scoreboard import environments, pins
from scoreboard.table import libraries
from tests.building import CHECKOUT

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_ci_finds_the_commands_of_the_readme() -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    (make [a-z]*)$", readme, re.M)
    assert commands == ["make conformance", "make test"]


def planned(*words: str) -> str:
    """What make would run, were nothing there yet."""
    command = ["make", "--dry-run", "--always-make", *words]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return done.stdout


def test_size_is_said_before_anything_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    monkeypatch.setattr(environments, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr(environments, "_install", lambda *_: told.append(capsys.readouterr().out))
    for library in libraries():
        if library.name in ("onnx", "timm"):
            environments.environment(library)
    onnx, timm = told
    assert "onnx==" in onnx
    assert "hundreds of MB" not in onnx
    assert re.search(r"timm: installing torch==\S+, timm==\S+ in .*: hundreds of MB", timm)
    assert "gigabytes" in timm


def test_pip_alone_is_needed_and_its_settings_are_kept(tmp_path: Path) -> None:
    plan = planned("conformance")
    assert plan.index("-m venv") < plan.index("-m pip") < plan.index(".ci/uv.py")
    (tmp_path / "uv.py").write_text("import os; print(dict(os.environ))", encoding="utf-8")
    asked = {
        "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"),
        "PIP_FIND_LINKS": "/one /two",
        "UV_HTTP_TIMEOUT": "7",
        "PYTHONPATH": str(tmp_path),
    }
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = file:///mine\nfind-links = /none\n[install]\ntimeout = 5\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, CHECKOUT / ".ci" / "uv.py"],
        env={"PATH": os.environ["PATH"], **asked},
        capture_output=True,
        text=True,
        check=True,
    )
    found = ast.literal_eval(done.stdout)
    assert found["UV_DEFAULT_INDEX"] == "file:///mine"
    assert found["UV_FIND_LINKS"] == "/one,/two"
    assert found["UV_HTTP_TIMEOUT"] == "7"
    assert found["UV_INDEX_STRATEGY"] == "unsafe-best-match"


def test_every_dependency_has_a_lowest_version_and_it_is_tried() -> None:
    assert [line for line in PROJECT["dependencies"] if not re.match(r"[\w-]+>=\d", line)] == []
    assert "--resolution lowest-direct -e ." in planned("lowest")


def test_tools_are_pinned_and_what_the_kit_needs_is_not() -> None:
    lines = environments.PINNED.read_text(encoding="utf-8").splitlines()
    pinned = {canonical(line) for line in lines}
    extras = PROJECT["optional-dependencies"]
    own = {canonical(line) for line in PROJECT["dependencies"]}
    assert {canonical(line) for extra in extras.values() for line in extra} <= pinned
    assert not own & pinned
    assert all("==" in line for line in lines)
    (torch,) = [library.install for library in libraries() if library.name == "torch"]
    assert {*torch} <= {*lines}  # every other install keeps the build that this one brought


def canonical(requirement: str) -> str:
    return environments.name_of(requirement).lower()


def test_pins_renew_the_libraries_of_the_kit_alone() -> None:
    table = "  a:\n    install: [x==1, y==2]\n  b:\n    install: [x==1]\n    says: x==1\n"
    renewed = pins.renewed(table, ["a"], ["x==3 ; python_version < '3'", "x==4", "z==5"])
    assert renewed == table.replace("[x==1, ", "[x==4, ")


def test_oldest_python_is_the_same_everywhere() -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=")
    classifiers = " ".join(PROJECT["classifiers"])
    tried = yaml.safe_load((CHECKOUT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    assert tried["jobs"]["test"]["strategy"]["matrix"]["python"][0] == oldest
    assert f":{oldest}-" in tried["jobs"]["lowest"]["container"]
    assert re.findall(r"Python :: (3\.\d+)", classifiers)[0] == oldest
