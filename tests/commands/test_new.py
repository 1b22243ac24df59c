"""A scheme can be added as CONTRIBUTING says, in a copy of the project."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from posenc_conformance.commands.new.new_command import FAMILIES
from tests.building import CHECKOUT

pytestmark = pytest.mark.remembered(shipped=True, also=("CONTRIBUTING.md", "docs/data", "tests"))

COPIED = ("spec", "reference", "conformance", "lab", "tests", "docs/data", "pyproject.toml")
POSENC = "import sys; from posenc_conformance.commands.main import main; sys.exit(main())"
LOGARITHM = {
    "reference/posenc/schemes/bias/log_bias.py": {
        "import arguments": "import arguments, elementary",
        "-of_heads.astype(np.float64)[:, None, None] * distance\n": """-elementary.total(
        elementary.times(
            elementary.pair(of_heads.astype(np.float64)[:, None, None]),
            elementary.log(elementary.pair(1.0 + np.maximum(distance, 0))),
        )
    )
""",
    },
    "conformance/posenc_conformance/oracle/bias/log_bias.py": {
        "* distance": "* mpmath.log(1 + distance)",
    },
    "conformance/posenc_conformance/schemes/bias/log_bias.py": {
        "* distance": "* np.log1p(distance)",
        "\n\nfrom": "\n\nimport numpy as np\n\nfrom",
    },
    "lab/posenc_lab/miniatures/wrong/bias/log_bias.py": {
        "* distance": "* np.log1p(distance)",
    },
}
"""Edits by file that turn the skeleton's -s d into the tutorial's scheme, -s ln(1 + d)."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a copy of the project."""
    for name in COPIED:
        source = CHECKOUT / name
        ignored = shutil.ignore_patterns("__pycache__")
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=ignored)
        else:
            shutil.copy(source, tmp_path / name)
    return tmp_path


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a posenc or pytest command with the code in a folder."""
    program, *arguments = shlex.split(line)
    start = {"posenc": ["-c", POSENC], "pytest": ["-m", "pytest", "-p", "no:cacheprovider"]}[
        program
    ]
    paths = os.pathsep.join(str(folder / name) for name in ("reference", "conformance", "lab", "."))
    return subprocess.run(
        [sys.executable, *start, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )


def green(line: str, folder: Path) -> None:
    """Run a command that must succeed, and run a test of each test file that it names."""
    done = run(line, folder)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    for file in re.findall(r"tests/\S+", line):
        assert re.search(rf"^{file} \.", done.stdout, re.M), f"{line}\nruns nothing of {file}"


def commands() -> list[str]:
    """Return the posenc and pytest commands of CONTRIBUTING, without ``make``."""
    text = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Add a scheme")[2].partition("\n## ")[0]
    return re.findall(r"^    ((?:posenc|pytest) .*)$", section, re.M)


def change(project: Path, file: str) -> None:
    path = project / file
    text = path.read_text(encoding="utf-8")
    for old, new in LOGARITHM[file].items():
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_a_scheme_is_added_as_contributing_says(project: Path) -> None:
    new, write, *tests = commands()
    made = run(new, project)
    assert made.returncode == 0, made.stdout + made.stderr
    for line in (write, *tests):
        green(line, project)

    reference, oracle, *others = LOGARITHM
    change(project, reference)
    disagreeing = run(write, project)
    assert disagreeing.returncode == 2
    assert "the oracle says" in disagreeing.stderr
    for file in (oracle, *others):
        change(project, file)
    for line in (write, *tests):
        green(line, project)

    (project / "conformance/posenc_conformance/schemes/bias/log_bias.py").unlink()
    alone = run("pytest --impl=reference -m 'integer or log_bias'", project)
    assert alone.returncode == 1
    assert "log-bias.yaml::unfinished" in alone.stdout
    assert "conformance/posenc_conformance/schemes/bias/log_bias.py" in alone.stdout
    assert "integer" in alone.stdout.partition("scorecard")[2]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_skeleton_of_a_family_is_green(family: str, project: Path) -> None:
    names = {"log-bias": "fresh-one", "log_bias": "fresh_one", "LogBias": "FreshOne"}
    names["spec/bias/"] = f"spec/{family}/"
    lines = commands()
    for old, new in names.items():
        lines = [line.replace(old, new) for line in lines]
    _, write, *tests = lines
    made = run(f"posenc new fresh-one --family {family}", project)
    assert made.returncode == 0, made.stdout + made.stderr
    for line in (write, *tests):
        green(line, project)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_users_own_scheme_is_judged_without_further_edits(family: str, tmp_path: Path) -> None:
    made = run(f"posenc new secret --family {family} --to .", tmp_path)
    assert made.returncode == 0, made.stdout + made.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "secret.yaml",
        "secret_kit.py",
        "secret_oracle.py",
        "secret_reference.py",
    ]
    done = run("pytest --impl=reference --posenc-schemes=. secret.yaml", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_values_of_heads_are_drawn_above_zero(tmp_path: Path) -> None:
    """The skeleton's comment says so, since a scheme may divide by them."""
    run("posenc new secret --family bias --to .", tmp_path)
    for name, old, new in (
        ("reference", "-of_heads.astype", "-distance / of_heads.astype"),
        ("reference", " * distance\n", "\n"),
        ("kit", "-slopes * distance", "-distance / slopes"),
    ):
        path = tmp_path / f"secret_{name}.py"
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
    done = run(
        "pytest -W error --impl=reference --posenc-schemes=. -m behaviour secret.yaml", tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("posenc new Log --family bias --to .", "cannot be the name"),
        ("posenc new rope --family bias --to .", "there is 'rope' already"),
        ("posenc new log-bias --family no --to .", "families are"),
        ("posenc new log-bias --family bias --to nowhere", "no folder nowhere"),
    ],
)
def test_what_new_refuses(line: str, said: str, tmp_path: Path) -> None:
    done = run(line, tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_new_replaces_no_file(tmp_path: Path) -> None:
    (tmp_path / "secret_kit.py").write_text("mine", encoding="utf-8")
    done = run("posenc new secret --family bias --to .", tmp_path)
    assert done.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["secret_kit.py"]
