"""The kit runs together with common plugins of pytest."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.remembered(shipped=True)

ADAPTER = """
import numpy as np
from posenc_conformance import claims

@claims("half", base=10000.0)
def rope(x, positions):
    half = x.shape[-1] // 2
    angles = np.outer(positions, 10000.0 ** (-np.arange(half) / half))
    a, b = x[..., :half], x[..., half:]
    c, s = np.cos(angles), np.sin(angles)
    return np.concatenate([a * c - b * s, a * s + b * c], -1).astype(x.dtype)
"""
PACKAGES: dict[str, tuple[list[str], list[str]]] = {
    "rerunfailures": (["pytest-rerunfailures"], []),
    "rerunfailures in use": (["pytest-rerunfailures"], ["--reruns=1"]),
    "retry": (["pytest-retry"], ["--retries=1"]),
    "json-report": (["pytest-json-report", "pytest-metadata"], ["--json-report"]),
    "timeout": (["pytest-timeout"], ["--timeout=300"]),
    "randomly": (["pytest-randomly"], []),
    "cov": (["pytest-cov", "coverage"], ["--cov=mine"]),
    "html": (["pytest-html", "pytest-metadata", "jinja2", "markupsafe"], ["--html=r.html"]),
    "xdist": ([], ["-n", "2"]),
}


Install = Callable[[list[str]], Path]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Install:
    """Return a function that installs packages, without dependencies, into their own folder."""
    folders: dict[tuple[str, ...], Path] = {}

    def install(packages: list[str]) -> Path:
        key = tuple(packages)
        if key not in folders:
            folders[key] = tmp_path_factory.mktemp("site")
            pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps"]
            if packages:
                subprocess.run([*pip, "--target", str(folders[key]), *packages], check=True)
        return folders[key]

    return install


def judge(
    folder: Path, site: Path, source: str, *options: str
) -> "subprocess.CompletedProcess[str]":
    (folder / "mine.py").write_text(source, encoding="utf-8")
    # Folders in this variable are searched for plugins, too.
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--impl=mine.py", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKAGES)
def test_the_kit_runs_with_the_plugin(installed: Install, tmp_path: Path, name: str) -> None:
    packages, options = PACKAGES[name]
    site = installed(packages)
    right = judge(tmp_path, site, ADAPTER, *options)
    assert right.returncode == 0, right.stdout + right.stderr
    assert "0 failed" in right.stdout
    wrong = judge(tmp_path, site, ADAPTER.replace("return np", "return 2 * np"), *options)
    assert wrong.returncode == 1, wrong.stdout + wrong.stderr
    assert "INTERNALERROR" not in wrong.stdout + wrong.stderr
    assert "scorecard" in wrong.stdout
