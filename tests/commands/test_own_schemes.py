"""Schemes that are not part of the kit: in a folder, or from another package."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.building import CHECKOUT

pytestmark = pytest.mark.remembered(shipped=True)

KIT = CHECKOUT / "conformance" / "posenc_conformance"
PARTS = {
    "kit": KIT / "schemes" / "absolute" / "integer.py",
    "oracle": KIT / "oracle" / "absolute" / "integer.py",
    "reference": CHECKOUT / "reference" / "posenc" / "schemes" / "absolute" / "integer.py",
}
ADAPTER = """
import numpy as np
from posenc_conformance import claims

@claims()
def secret(positions, dim, *, dtype):
    return np.repeat(positions[:, None], dim, axis=1).astype(dtype) + {error}
"""


def renamed(path: Path) -> str:
    """Return a file of the scheme ``integer`` with that name replaced, but not the type's."""
    return re.sub(r"(?<!type: )(?<![.])\binteger\b", "secret", path.read_text(encoding="utf-8"))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a folder with the scheme ``integer`` under another name and with another call."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "secret.yaml").write_text(
        renamed(CHECKOUT / "spec" / "absolute" / "integer.yaml"), "utf-8"
    )
    for part, path in PARTS.items():
        (folder / f"secret_{part}.py").write_text(renamed(path), "utf-8")
    done = posenc("goldens", "--write", "secret.yaml", folder=folder)  # the hash covers the call
    assert done.returncode == 0, done.stderr
    return folder


def posenc(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; from posenc_conformance.commands.main import main; sys.exit(main())"
    return run([sys.executable, "-c", code, *arguments], folder)


def judge(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments], folder)


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    home = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=home)


@pytest.mark.slow
def test_a_folder_of_schemes_is_judged_like_the_shipped_ones(own: Path, tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(ADAPTER.format(error=0), "utf-8")
    (tmp_path / "wrong.py").write_text(ADAPTER.format(error=1), "utf-8")
    right = judge("--impl=right.py", "--posenc-schemes=own", folder=tmp_path)
    assert right.returncode == 0, right.stdout + right.stderr
    assert "secret" in right.stdout
    wrong = judge("--impl=wrong.py", "--posenc-schemes=own", "secret.yaml", folder=tmp_path)
    assert wrong.returncode == 1, wrong.stdout
    command = next(line for line in wrong.stdout.splitlines() if line.startswith("alone"))
    assert command.endswith("--impl=wrong.py --posenc-schemes=own")
    id = command.split("'")[1]
    snippet = posenc("repro", id, "--impl=wrong.py", "--posenc-schemes=own", folder=tmp_path)
    assert snippet.returncode == 0, snippet.stderr
    explained = posenc("explain", "secret", "--posenc-schemes=own", folder=tmp_path)
    assert explained.returncode == 0, explained.stderr


@pytest.mark.slow
def test_the_reference_claims_own_schemes(own: Path) -> None:
    done = judge("--impl=reference", "-q", "secret.yaml", folder=own)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_goldens_are_certified_by_the_oracle_next_to_them(own: Path) -> None:
    assert posenc("goldens", "--check", "secret.yaml", folder=own).returncode == 0
    oracle = own / "secret_oracle.py"
    text = oracle.read_text("utf-8")
    oracle.write_text(f"{text}\nVALUES = {{'secret': lambda *_: lambda index: 7}}\n", "utf-8")
    done = posenc("goldens", "--check", "secret.yaml", folder=own)
    assert done.returncode == 1
    assert "the oracle says 7" in done.stdout


@pytest.mark.slow
def test_a_package_provides_schemes(own: Path, tmp_path: Path) -> None:
    package = tmp_path / "company"
    own.rename(package)
    (package / "__init__.py").touch()
    info = tmp_path / "company-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: company\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[posenc.schemes]\ncompany = company\n", "utf-8")
    (tmp_path / "mine.py").write_text(ADAPTER.format(error=0), "utf-8")
    done = judge("--impl=mine.py", "-q", folder=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "secret" in done.stdout
    assert "secret" in posenc("schemes", folder=tmp_path).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("secret_kit.py", None, None, "write it in {folder}/secret_kit.py"),
        ("secret_reference.py", "def secret", "def other", "the reference has no secret()"),
        # Of another length: else Python would use the bytecode of the previous file.
        ("secret_kit.py", "KNOWLEDGE", "THE_KNOWLEDGE", "no KNOWLEDGE['secret']"),
        ("secret_kit.py", "sweep=", "a_sweep=", "unexpected keyword argument 'a_sweep'"),
        ("secret_kit.py", '"origin":', '"beginning":', "invariants['origin']"),
        ("secret_kit.py", "KNOWLEDGE = {", "KNOWLEDGE = {1: 2, 3: 4} or {", "no CallKnowledge"),
        ("secret_kit.py", "import", "import import", "secret_kit.py:"),
        ("secret.yaml", "title:", "titel:", "secret.yaml:1: the file: "),
        ("secret.yaml", ", sha256:", "} # sha256:", "is not certified"),
    ],
    ids=[
        "no kit",
        "no function",
        "no knowledge",
        "no such field",
        "no invariant",
        "no call's knowledge",
        "syntax",
        "schema",
        "no hash",
    ],
)
def test_a_half_made_scheme_breaks_only_itself(
    own: Path, tmp_path: Path, file: str, old: str | None, new: str | None, said: str
) -> None:
    path = own / file
    if old is None or new is None:
        path.unlink()
    else:
        path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    done = judge(
        "--impl=reference", "--posenc-schemes=own", "-m", "secret or binary", folder=tmp_path
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "secret.yaml::unfinished" in done.stdout
    assert said.format(folder=own) in done.stdout
    assert "binary" in done.stdout.partition("scorecard")[2]
    assert "INTERNALERROR" not in done.stdout
    others = judge(
        "--impl=reference", "--posenc-schemes=own", "-q", "-m", "binary", folder=tmp_path
    )
    assert others.returncode == 0, others.stdout


@pytest.mark.slow
def test_two_schemes_cannot_have_the_same_call(own: Path, tmp_path: Path) -> None:
    text = (own / "secret.yaml").read_text("utf-8").replace("id: secret", "id: other", 1)
    (own / "other.yaml").write_text(text, "utf-8")
    done = judge("--impl=reference", "--posenc-schemes=own", folder=tmp_path)
    assert done.returncode == 4
    assert "has a call 'secret' already" in done.stderr


@pytest.mark.slow
def test_a_folder_without_schemes_is_refused(tmp_path: Path) -> None:
    done = judge("--impl=reference", "--posenc-schemes=.", folder=tmp_path)
    assert done.returncode == 4
    assert "no scheme file" in done.stderr
