"""Workflow files use existing targets, pinned actions and least permissions."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from mkdocs.utils.yaml import yaml_load

import posenc
from tests.building import CHECKOUT, outside_make, planned

FOLDER = CHECKOUT / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
MAKEFILE = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
(PHONY,) = re.findall(r"^\.PHONY: ((?:.*\\\n)*.*)$", MAKEFILE, re.M)
TARGETS = PHONY.replace("\\", "").split()
ACTION = CHECKOUT / "action.yml"
TRUSTED = re.compile(r"actions/[a-z-]+|pypa/gh-action-pypi-publish")
USES = re.compile(r"^ *(?:- )?uses: *(\S+?)@(.*)$", re.M)
PINNED = re.compile(r"[0-9a-f]{40} # v\d+\.\d+\.\d+")
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def jobs(name: str) -> dict[str, Any]:
    result: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))["jobs"]
    return result


def targets(job: dict[str, Any]) -> set[str]:
    """Return the targets that a job makes."""
    runs = [re.match(r"make (.*)", step.get("run", "")) for step in job["steps"]]
    return {target for run in runs if run for target in run[1].split()}


def problems(text: str) -> list[str]:
    """Return the mistakes that would break a workflow, or open it to others."""
    workflow = yaml.safe_load(text)
    if not isinstance(workflow, dict) or not isinstance(workflow.get("jobs"), dict):
        return ["no jobs"]
    # YAML 1.1 reads the word `on` as true.
    mistakes = [] if workflow.get(True) else ["nothing starts it"]
    mistakes += loose_actions(text)
    if workflow.get("permissions") != {"contents": "read"}:
        mistakes.append("it may do more than read, unless a job says so")
    for name, job in workflow["jobs"].items():
        needed = job.get("needs", [])
        needed = [needed] if isinstance(needed, str) else needed
        mistakes += [f"{name} needs {item}" for item in needed if item not in workflow["jobs"]]
        writes = job.get("permissions", {}).get("contents") == "write"
        for step in job["steps"]:
            mistakes += [f"{name}: {item}" for item in _problems_of(step, writes)]
    return mistakes


def loose_actions(text: str) -> list[str]:
    """Return actions of third parties, and those not pinned to a commit: tags and branches move."""
    mistakes = []
    for name, version in USES.findall(text):
        if not TRUSTED.fullmatch(name):
            mistakes.append(f"{name} is not of GitHub's or PyPI's own")
        if not PINNED.fullmatch(version):
            mistakes.append(f"{name}@{version} is not a whole commit with its version behind it")
    return mistakes


def _problems_of(step: dict[str, Any], writes: bool) -> list[str]:
    action = step.get("uses")
    mistakes = []
    if action is not None and action.startswith("actions/checkout@"):
        persists = step.get("with", {}).get("persist-credentials")
        if persists is None or (persists and not writes):
            mistakes.append("the token stays in the checkout")
    run = step.get("run", "")
    if action is None and not run.startswith(("make ", "gh release ")):
        mistakes.append("a step without make")
    if "${{" in run:
        return [*mistakes, "a name that others choose becomes part of a command"]
    made = targets({"steps": [step]})
    return mistakes + [f"no target {target}" for target in sorted(made) if target not in TARGETS]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_calls_existing_targets(path: Path) -> None:
    assert problems(path.read_text(encoding="utf-8")) == []


def test_action_names_commits() -> None:
    text = ACTION.read_text(encoding="utf-8")
    assert USES.findall(text)
    assert loose_actions(text) == []


def test_every_action_is_checked() -> None:
    """An action that USES misses would not be checked."""
    for path in (*WORKFLOWS, ACTION):
        text = path.read_text(encoding="utf-8")
        assert len(USES.findall(text)) == len(re.findall(r"\buses\W*:", text)), path.name


def test_one_action_has_one_version() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (*WORKFLOWS, ACTION)]
    used = {pair for text in texts for pair in USES.findall(text)}
    assert len({name for name, _ in used}) == len(used)


def test_commits_are_renewed_and_packages_are_not() -> None:
    text = (CHECKOUT / ".github" / "dependabot.yml").read_text(encoding="utf-8")
    (update,) = yaml.safe_load(text)["updates"]
    assert update["package-ecosystem"] == "github-actions"  # `make pins` renews packages
    assert update["directory"] == "/"
    assert update["schedule"] == {"interval": "weekly"}


def test_every_part_of_ci_has_its_job() -> None:
    made = {name: targets(job) for name, job in jobs("test.yml").items()}
    assert made == {
        "test": {"conformance", "test"},
        "site": {"test-site"},
        "torch": {"test-torch"},
        "languages": {"languages"},
        "lowest": {"lowest"},
        "real": {"real"},
    }
    assert not any("needs" in job for job in jobs("test.yml").values())  # in parallel


@pytest.mark.parametrize("name", ["test", "site", "torch"])
def test_passed_tests_are_cached_for_the_next_change(name: str) -> None:
    uses = [step for step in jobs("test.yml")[name]["steps"] if "cache" in step.get("uses", "")]
    (cache,) = (step["with"] for step in uses)
    assert cache["path"] == "~/.cache/posenc"
    assert cache["key"].startswith(cache["restore-keys"])
    assert "cache" not in (FOLDER / "nightly.yml").read_text(encoding="utf-8")


def parts(target: str) -> set[str]:
    """Return the targets that a target needs and makes."""
    ((first, recipe),) = re.findall(rf"^{target}:(?! export)(.*)\n((?:\t.*\n)+)", MAKEFILE, re.M)
    return {*first.split(), *recipe.split()} & set(TARGETS)


def test_the_quickest_checks_come_first() -> None:
    (recipe,) = re.findall(r"^test:\n((?:\t.*\n)+)", MAKEFILE, re.M)
    first, last = recipe.splitlines()
    assert first.split()[1:] == ["lint", "types", "goldens"]
    assert "$(PYTEST)" in last


def test_a_change_is_tested_without_torch_and_browser() -> None:
    plan = planned("test") + planned("--always-make", "lint", "types", "goldens")
    assert ".[dev,docs]" in plan
    assert not re.search(r"\.\[.*browser|\.\[lab|install.* torch|chromium", plan)


RUN = ".venv/bin/pytest -n auto --dist loadgroup --durations=20"
PROVEN = {
    "test": f"POSENC_SHARE=8 {RUN} -m 'not torch and not nightly' --ignore=tests/site "
    "--ignore=tests/languages --ignore=tests/pytorch",
    "test-site": f"POSENC_SITE={CHECKOUT}/site POSENC_SHARE=1 {RUN} -m 'not nightly' tests/site "
    "tests/languages --ignore=tests/languages/test_languages.py "
    "--ignore=tests/languages/test_cpp.py",
    "test-torch": f"{RUN} -m torch --ignore=tests/site --ignore=tests/languages tests",
    "test-all": f"POSENC_SITE={CHECKOUT}/site {RUN} tests "
    "--ignore=tests/languages/test_languages.py --ignore=tests/languages/test_cpp.py",
}
"""The exact tests of each target, so that leaving one out shows here."""


@pytest.mark.parametrize("target", PROVEN)
def test_a_target_runs_its_tests_and_fails_with_them(target: str) -> None:
    lines = planned(target).replace("\\\n", "").splitlines()
    assert PROVEN[target] in [" ".join(line.split()) for line in lines]
    assert not re.search(r"^\t-.*\$\((PYTEST|BOTH)\)|\$\((PYTEST|BOTH)\).*\|\|", MAKEFILE, re.M)


def test_style_is_checked_whole() -> None:
    assert [line.partition(" >")[0] for line in planned("lint").splitlines()] == [
        ".venv/bin/ruff check .",
        ".venv/bin/ruff format --check .",
        ".venv/bin/codespell",
        ".venv/bin/lint-imports --no-cache",
    ]


def test_no_job_of_a_change_is_switched_off() -> None:
    text = (FOLDER / "test.yml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)[True].keys() == {"push", "pull_request"}
    assert not re.search(r"^ *(- )?(if|continue-on-error):", text, re.M)


MAKEFILE_OF_CI = """
%:
	@echo $@ >>$(DONE)
	@[ $@ != $(WRONG) ]
"""


@pytest.mark.parametrize(("wrong", "code"), [("none", 0), ("conformance", 2), ("test-torch", 2)])
def test_ci_runs_each_command_and_fails_with_the_first(
    wrong: str, code: int, tmp_path: Path
) -> None:
    for name in ("README.md", ".ci/run"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((CHECKOUT / name).read_bytes())
    (tmp_path / "Makefile").write_text(MAKEFILE_OF_CI, encoding="utf-8")
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@e"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    done = tmp_path / "done"
    environment = outside_make() | {"DONE": str(done), "WRONG": wrong}
    run = subprocess.run(
        ["bash", ".ci/run"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert run.returncode == code, run.stderr
    every = ["conformance", "test", "test-site", "test-torch"]
    first = every[: every.index(wrong) + 1] if wrong in every else every
    assert done.read_text(encoding="utf-8").split() == first


def test_each_week_the_kit_is_mutated() -> None:
    assert targets(jobs("weekly.yml")["gate"]) == {"gate"}
    assert "gate" not in parts("nightly")


def test_each_night_everything_runs() -> None:
    assert targets(jobs("nightly.yml")["nightly"]) == {"nightly"}
    assert {"test-all", "languages", "coverage"} <= parts("nightly")
    assert {"goldens", "lint", "lowest", "real", "site", "types-all"} <= parts("test-all")
    assert re.search(r"^test-all: export POSENC_LAB_STORE = fresh$", MAKEFILE, re.M)


def test_every_supported_python_is_tested() -> None:
    job = jobs("test.yml")["test"]
    assert job["strategy"]["matrix"]["python"] == PYTHONS
    assert "${{ matrix.python }}" in job["container"]
    text = (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r"Python :: (3\.\d+)", text) == PYTHONS


def test_site_has_its_workflow() -> None:
    assert targets(jobs("site.yml")["build"]) == {"versions"}


def test_only_a_tag_publishes_and_without_a_password() -> None:
    text = (FOLDER / "publish.yml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)[True] == {"push": {"tags": ["v*"]}}  # YAML 1.1 reads `on` as true
    assert "secrets" not in text
    assert "password" not in str(yaml.safe_load(text))
    publish_jobs = jobs("publish.yml")
    assert targets(publish_jobs["build"]) == {"tag", "packages"}
    assert "permissions" not in publish_jobs["build"]
    assert publish_jobs["pypi"]["needs"] == "build"
    assert publish_jobs["pypi"]["permissions"] == {"id-token": "write"}
    assert publish_jobs["pypi"]["environment"]["name"] == "pypi"
    assert publish_jobs["release"]["needs"] == "pypi"
    signs = {"attestations": "write", "contents": "write", "id-token": "write"}
    assert publish_jobs["release"]["permissions"] == signs
    assert not any(targets(publish_jobs[name]) for name in ("pypi", "release"))


@pytest.mark.parametrize(("tag", "code"), [(f"v{posenc.__version__}", 0), ("v0.0.0", 2)])
def test_the_tag_is_the_version(tag: str, code: int) -> None:
    environment = os.environ | {"TAG": tag}
    run = subprocess.run(["make", "tag"], cwd=CHECKOUT, env=environment, capture_output=True)
    assert run.returncode == code


def test_hooks_before_a_commit_use_the_ruff_of_the_project() -> None:
    text = (CHECKOUT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    (own,) = yaml.safe_load(text)["repos"]
    assert own["repo"] == "local"
    entries = [hook["entry"].split()[:2] for hook in own["hooks"]]
    assert entries == [[".venv/bin/ruff", "check"], [".venv/bin/ruff", "format"]]


@pytest.mark.parametrize("name", ["finding", "new-scheme", "wrong-verdict"])
def test_forms_for_issues_are_complete(name: str) -> None:
    path = CHECKOUT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml"
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= set(form)
    names = [part["id"] for part in form["body"]]
    assert len(set(names)) == len(names)
    for part in form["body"]:
        assert part["type"] in ("dropdown", "input", "textarea")
        assert part["attributes"]["label"]
        assert part["type"] != "dropdown" or part["attributes"]["options"]


(PIN,) = re.findall(r"checkout@.*", (FOLDER / "site.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("make versions", "make nothing", "build: no target nothing"),
        ("make versions", "mkdocs build", "build: a step without make"),
        ("make versions", "make ${{ github.ref }}", "build: a name that others choose"),
        (PIN, "checkout@main", "actions/checkout@main is not a whole commit"),
        (PIN, "checkout@v7", "actions/checkout@v7 is not a whole commit"),
        (PIN, PIN.partition(" #")[0], "actions/checkout@3d3c42e5"),
        (PIN, PIN.replace("3d3c42e5", ""), "actions/checkout@"),
        ("actions/setup-python", "somebody/setup-python", "somebody/setup-python is not of"),
        ("persist-credentials: true", "clean: true", "build: the token stays in the checkout"),
        ("contents: write", "contents: read", "build: the token stays in the checkout"),
        ("needs: build", "needs: test", "publish needs test"),
        ("permissions:\n  contents: read\n\n#", "#", "it may do more than read"),
        ("jobs:", "works:", "no jobs"),
        ("on:\n", "off:\n", "nothing starts it"),
    ],
)
def test_mistake_in_a_workflow_is_found(old: str, new: str, problem: str) -> None:
    text = (CHECKOUT / ".github" / "workflows" / "site.yml").read_text(encoding="utf-8")
    assert old in text
    (mistake,) = problems(text.replace(old, new, 1))
    assert mistake.startswith(problem)


def test_published_site_knows_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the 404 page needs it; everything else works at any address."""
    text = (CHECKOUT / ".github" / "workflows" / "site.yml").read_text(encoding="utf-8")
    (variable,) = re.findall(r"(\w+): \$\{\{ steps\.pages\.outputs\.base_url \}\}/", text)
    configuration = (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8")
    monkeypatch.delenv(variable, raising=False)
    assert yaml_load(configuration)["site_url"] == ""
    monkeypatch.setenv(variable, "https://example.org/posenc/")
    assert yaml_load(configuration)["site_url"] == "https://example.org/posenc/"


def named(variable: str) -> list[str]:
    (listed,) = re.findall(rf"^{variable} := ((?:.*\\\n)*.*)$", MAKEFILE, re.M)
    return str(listed).replace("\\\n", " ").split()


def test_tests_that_the_makefile_names_exist() -> None:
    covered = named("COVERED")
    assert len(covered) > 5
    assert [name for name in covered if not [*CHECKOUT.glob(f"tests/*/test_{name}.py")]] == []
    places = [*named("COMPILED"), *named("BESIDE")]
    assert [name for name in places if not (CHECKOUT / name).exists()] == []


def test_pages_use_the_releases_of_actions_that_the_workflows_do() -> None:
    """A reader who copies a job gets what the project itself runs."""
    texts = [path.read_text(encoding="utf-8") for path in (*WORKFLOWS, ACTION)]
    run = {
        (name, rest.split("# ")[1].split(".")[0])
        for text in texts
        for name, rest in USES.findall(text)
    }
    pages = [path.read_text(encoding="utf-8") for path in (CHECKOUT / "docs").rglob("*.md")]
    shown = {pair for text in pages for pair in USES.findall(text) if TRUSTED.fullmatch(pair[0])}
    assert len(shown) > 2
    assert shown <= run
