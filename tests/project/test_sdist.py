"""The sdist is a checkout without its history: its own Makefile sets it up and judges."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.building import CHECKOUT


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(CHECKOUT)], check=True, capture_output=True)
    (sdist,) = folder.glob("*.tar.gz")
    shutil.unpack_archive(sdist, folder)
    return folder / sdist.name.removesuffix(".tar.gz")


def named_files() -> Iterator[str]:
    """Yield words that may name files, from the commands and the texts for developers."""
    texts = [CHECKOUT / name for name in ("Makefile", "README.md", "CONTRIBUTING.md")]
    for text in (*texts, *CHECKOUT.glob(".ci/*")):
        yield from re.findall(r"[\w.][\w./-]*\w", text.read_text(encoding="utf-8"))


def test_it_contains_the_files_that_its_texts_name(unpacked: Path) -> None:
    named = {
        name
        for name in named_files()
        if (CHECKOUT / name).is_file() and not name.startswith((".venv", ".coverage"))
    }
    assert {".ci/pinned.txt", ".ci/uv.py", "CONTRIBUTING.md", "tests/spec/test_spec.py"} <= named
    assert [name for name in sorted(named) if not (unpacked / name).is_file()] == []


@pytest.mark.nightly
def test_its_makefile_installs_and_judges(unpacked: Path) -> None:
    """``make conformance`` sets up and uses a new environment with nothing but the kit."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run(
        ["make", "conformance", f"PYTHON={sys.executable}"],
        cwd=unpacked,
        env=environment | {"PYTEST_ADDOPTS": "-m golden"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "scorecard: reference" in run.stdout
