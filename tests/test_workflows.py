"""The workflow files call what the project has."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from mkdocs.utils.yaml import yaml_load

from tests.building import CHECKOUT

WORKFLOWS = sorted((CHECKOUT / ".github" / "workflows").glob("*.yml"))
TARGETS = re.findall(r"^([a-z]+):", (CHECKOUT / "Makefile").read_text(encoding="utf-8"), re.M)


def problems(text: str) -> list[str]:
    """What a runner would stumble over, or what lets others in."""
    workflow = yaml.safe_load(text)
    if not isinstance(workflow, dict) or not isinstance(workflow.get("jobs"), dict):
        return ["no jobs"]
    # YAML 1.1 reads the word `on` as true.
    found = [] if workflow.get(True) else ["nothing starts it"]
    if workflow.get("permissions") != {"contents": "read"}:
        found.append("it may do more than read, unless a job says so")
    for name, job in workflow["jobs"].items():
        needed = job.get("needs", [])
        needed = [needed] if isinstance(needed, str) else needed
        found += [f"{name} needs {each}" for each in needed if each not in workflow["jobs"]]
        for step in job["steps"]:
            found += [f"{name}: {each}" for each in _problems_of(step)]
    return found


def _problems_of(step: dict[str, Any]) -> list[str]:
    action = step.get("uses")
    found = []
    if action is not None and not re.fullmatch(r"actions/[a-z-]+@v\d+", action):
        found.append(f"{action} is not of GitHub's own and pinned to a major version")
    targets = re.findall(r"\bmake ([\w-]+)", step.get("run", ""))
    if action is None and not targets:
        found.append("a step without make")
    return found + [f"no target {each}" for each in targets if each not in TARGETS]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_calls_what_is_there(path: Path) -> None:
    assert problems(path.read_text(encoding="utf-8")) == []


def test_site_and_tests_have_their_workflows() -> None:
    commands = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    assert re.findall(r"- run: (.*)", commands) == ["make site", "make conformance", "make test"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("make site", "make nothing", "build: no target nothing"),
        ("make site", "mkdocs build", "build: a step without make"),
        ("checkout@v7", "checkout@main", "build: actions/checkout@main is not of GitHub's own"),
        ("actions/checkout", "somebody/checkout", "build: somebody/checkout@v7 is not of"),
        ("needs: build", "needs: test", "publish needs test"),
        ("permissions:\n  contents: read\n\n#", "#", "it may do more than read"),
        ("jobs:", "works:", "no jobs"),
        ("on:\n", "off:\n", "nothing starts it"),
    ],
)
def test_mistake_in_a_workflow_is_found(old: str, new: str, problem: str) -> None:
    text = (CHECKOUT / ".github" / "workflows" / "site.yml").read_text(encoding="utf-8")
    assert old in text
    (found,) = problems(text.replace(old, new, 1))
    assert found.startswith(problem)


def test_published_site_knows_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of a missing page needs it; everything else holds at any address."""
    text = (CHECKOUT / ".github" / "workflows" / "site.yml").read_text(encoding="utf-8")
    (variable,) = re.findall(r"(\w+): \$\{\{ steps\.pages\.outputs\.base_url \}\}/", text)
    configuration = (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8")
    monkeypatch.delenv(variable, raising=False)
    assert yaml_load(configuration)["site_url"] == ""
    monkeypatch.setenv(variable, "https://example.org/posenc/")
    assert yaml_load(configuration)["site_url"] == "https://example.org/posenc/"
