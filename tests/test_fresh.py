"""What a fresh machine is promised: commands, costs, and the versions that work."""

import re
import subprocess
import sys
import tomllib

import yaml

from tests.building import CHECKOUT

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAMES = set(PROJECT["entry-points"]["posenc.implementations"])


def test_ci_finds_the_commands_of_the_readme() -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    (make [a-z]*)$", readme, re.M)
    assert commands == ["make conformance", "make test"]


def test_cost_of_every_name_is_known() -> None:
    lines = (CHECKOUT / "costs.txt").read_text(encoding="utf-8").splitlines()
    costs = [line.split() for line in lines if not line.startswith("#")]
    assert sorted(name for name, *_ in costs) == sorted(NAMES)
    assert all(megabytes.isdigit() and minutes.isdigit() for _, megabytes, minutes in costs)


def test_cost_is_said_before_anything_is_installed() -> None:
    plan = subprocess.run(
        ["make", "--dry-run", "--always-make", "conformance", "IMPL=timm"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert 0 <= plan.index("costs.txt") < plan.index("pip")


def test_every_dependency_has_a_lowest_version_that_is_tried() -> None:
    lowest = [sys.executable, str(CHECKOUT / ".ci" / "lowest.py")]
    done = subprocess.run(lowest, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(PROJECT["dependencies"])
    assert [line for line in lines if not re.match(r"[\w-]+==[\d.]+(; .*)?$", line)] == []


def test_oldest_python_is_the_same_everywhere() -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=")
    classifiers = " ".join(PROJECT["classifiers"])
    tried = yaml.safe_load((CHECKOUT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    assert tried["jobs"]["test"]["strategy"]["matrix"]["python"][0] == oldest
    assert f":{oldest}-" in tried["jobs"]["lowest"]["container"]
    assert re.findall(r"Python :: (3\.\d+)", classifiers)[0] == oldest
