"""Promises to a fresh machine: commands, costs, and working versions."""

import ast
import hashlib
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from scoreboard import environments, pins
from scoreboard.table import libraries
from tests.building import CHECKOUT, planned

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_ci_finds_the_commands_of_the_readme() -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    (make [a-z-]*)$", readme, re.M)
    assert commands == ["make conformance", "make test", "make test-site", "make test-torch"]


def test_a_judged_library_is_pinned_by_its_hash_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned: dict[str, list[str]] = {}
    monkeypatch.setattr(environments, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr(
        environments, "_install", lambda library, _, pins: pinned.setdefault(library.name, pins)
    )
    for library in libraries():
        if library.name in ("timm", "equinox"):
            environments.environment(library)
            own = [pin for pin in pinned[library.name] if pin.startswith(f"{library.name}==")]
            assert [pin.count("--hash=") > 0 for pin in own] == [True]
    # For a package with one release per Python, only the judged one.
    assert len([pin for pin in pinned["equinox"] if pin.startswith("jax==")]) <= 1


def test_the_size_is_printed_before_anything_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = []
    monkeypatch.setattr(environments, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr(
        environments, "_install", lambda *_: outputs.append(capsys.readouterr().out)
    )
    for library in libraries():
        if library.name in ("onnx", "timm"):
            environments.environment(library)
    onnx, timm = outputs
    assert "onnx==" in onnx
    assert "hundreds of MB" not in onnx
    assert re.search(r"timm: installing torch==\S+, timm==\S+ in .*: hundreds of MB", timm)
    assert "gigabytes" in timm


@pytest.mark.slow
def test_only_pip_is_needed_and_its_settings_are_kept(tmp_path: Path) -> None:
    plan = planned("--always-make", "conformance")
    assert plan.index("-m venv") < plan.index("-m pip") < plan.index(".ci/uv.py")
    (tmp_path / "uv.py").write_text("import os; print(dict(os.environ))", encoding="utf-8")
    settings = {
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
        env={"PATH": os.environ["PATH"], **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    environment = ast.literal_eval(done.stdout)
    assert environment["UV_DEFAULT_INDEX"] == "file:///mine"
    assert environment["UV_FIND_LINKS"] == "/one,/two"
    assert environment["UV_HTTP_TIMEOUT"] == "7"
    assert environment["UV_INDEX_STRATEGY"] == "unsafe-best-match"


def test_nothing_heavy_is_installed_to_prove_a_change() -> None:
    extras = PROJECT["optional-dependencies"]
    names = {canonical(line) for line in (*extras["dev"], *extras["docs"])}
    heavy = {canonical(line) for extra in ("browser", "lab", "torch") for line in extras[extra]}
    assert not names & (heavy | {"scipy", "tensorflow", "jaxlib", "pandas"})


def test_every_dependency_has_a_lowest_version_that_is_tested() -> None:
    assert [line for line in PROJECT["dependencies"] if not re.match(r"[\w-]+>=\d", line)] == []
    assert "--resolution lowest-direct -e ." in planned("--always-make", "lowest")


def test_tools_are_pinned_and_dependencies_of_the_kit_are_not() -> None:
    lines = environments.pins()
    pinned = {canonical(line) for line in lines}
    extras = PROJECT["optional-dependencies"]
    own = {canonical(line) for line in PROJECT["dependencies"]}
    assert {canonical(line) for extra in extras.values() for line in extra} <= pinned
    assert not own & pinned
    assert all("==" in line for line in lines)
    (torch,) = [library.install for library in libraries() if library.name == "torch"]
    # Every other install keeps the build that this one installs.
    assert {*torch} <= {line.split()[0] for line in lines}


@pytest.mark.parametrize("file", [environments.PINNED, pins.BUILDERS], ids=lambda path: path.name)
def test_every_pin_has_hashes_except_packages_that_are_built_twice(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    table = pins.hashes(text)
    assert pins.written(table) == text
    without = {environments.name_of(pin) for pin in table if not table[pin]}
    assert without <= {*pins.BUILT_TWICE} - {"torch"}
    assert {len(digest) for hashes in table.values() for digest in hashes} == {len("sha256:") + 64}


def test_a_release_is_built_with_its_requirements_only() -> None:
    plan = planned("--always-make", "packages")
    assert ".ci/uv.py" not in plan
    assert "--require-hashes" in plan
    builders = pins.hashes(pins.BUILDERS.read_text(encoding="utf-8"))
    names = {environments.name_of(pin) for pin in builders}
    assert {"build", "hatchling"} <= names
    pinned = {environments.name_of(line): line.split()[0] for line in environments.pins()}
    both = {pin for pin in builders if environments.name_of(pin) in pinned}
    assert both <= {*pinned.values()}
    assert len(both) >= 2


def a_wheel(folder: Path, version: str) -> str:
    """Make a package of this version without code; return its hash."""
    folder.mkdir()
    home = f"stranger-{version}.dist-info"
    path = folder / f"stranger-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(
            f"{home}/METADATA", f"Metadata-Version: 2.1\nName: stranger\nVersion: {version}\n"
        )
        wheel.writestr(
            f"{home}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{home}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_no_index_can_give_another_file_for_a_pin(tmp_path: Path) -> None:
    """A version that only begins like the pin's, such as `2.13.0+cpu`, is no match either."""
    seen = a_wheel(tmp_path / "seen", "1.0")
    a_wheel(tmp_path / "more", "1.0+more")
    a_wheel(tmp_path / "newer", "2.0")
    constraints = tmp_path / "constraints.txt"

    def install(*places: str) -> str:
        command = [sys.executable, "-m", "uv", "pip", "install", "-q", "--no-index", "--target"]
        command += [str(tmp_path / "-".join(places)), "-c", str(constraints), "stranger"]
        links = ",".join(str(tmp_path / place) for place in places)
        environment = {
            **os.environ,
            "UV_FIND_LINKS": links,
            "UV_CACHE_DIR": str(tmp_path / "cache"),
        }
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stderr

    constraints.write_text(pins.written({"stranger==1.0": [f"sha256:{seen}"]}), encoding="utf-8")
    assert install("seen") == ""
    assert install("seen", "newer") == ""
    assert "Hash mismatch" in install("seen", "more")
    constraints.write_text(
        pins.written({"stranger==1.0": ["sha256:" + 64 * "0"]}), encoding="utf-8"
    )
    assert "Hash mismatch" in install("newer", "seen")


def canonical(requirement: str) -> str:
    return environments.name_of(requirement).lower()


def test_pins_renew_the_libraries_of_the_kit_only() -> None:
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
