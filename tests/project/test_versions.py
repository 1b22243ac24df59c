"""Versions of the site side by side: `make versions`, tried with a site of one page."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.building import CHECKOUT

HOOK = CHECKOUT / "docs" / "_hooks" / "versions.py"
CONFIGURATION = f"""
site_name: posenc
site_url: https://example.org/posenc/
theme: {{name: material, font: false}}
hooks: [{HOOK}]
"""


def said(command: list[str], folder: Path, **more: str) -> str:
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name} | more
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a repository with a page, our Makefile, and an existing environment."""
    folder, origin = tmp_path / "clone", tmp_path / "origin.git"
    (folder / "docs").mkdir(parents=True)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (folder / ".gitignore").write_text(".venv\nsite\nsite-versions\n", encoding="utf-8")
    (folder / "Makefile").write_bytes((CHECKOUT / "Makefile").read_bytes())
    (folder / "mkdocs.yml").write_text(CONFIGURATION, encoding="utf-8")
    (folder / "docs" / "index.md").write_text("# First\n", encoding="utf-8")
    said(["git", "init", "-q", "--bare", str(origin)], tmp_path)
    for words in (
        "init -q",
        "config user.name tests",
        "config user.email tests@example.org",
        f"remote add origin {origin}",
        "add .",
        "commit -qm First",
    ):
        said(["git", *words.split()], folder)
    return folder


def deploy(clone: Path, reference: str) -> None:
    # The environment exists, so that only the site is made.
    said(["make", "-o", ".venv/dev", "versions", f"REF={reference}", "PUSH=--push"], clone)


@pytest.mark.slow
def test_versions_are_side_by_side(clone: Path) -> None:
    public = clone / "site-versions"
    deploy(clone, "main")
    assert "dev/" in (public / "index.html").read_text(encoding="utf-8")
    deploy(clone, "v0.1.0")
    (clone / "docs" / "index.md").write_text("# Second\n", encoding="utf-8")
    said(["git", "commit", "-qam", "Second"], clone)
    deploy(clone, "v0.2.0")
    deploy(clone, "main")
    pages = {
        name: (public / name / "index.html").read_text(encoding="utf-8")
        for name in ("0.1.0", "0.2.0", "latest", "dev")
    }
    assert [
        name for name, text in pages.items() if "<h1>First" in text.replace(' id="first"', "")
    ] == ["0.1.0"]
    assert pages["latest"] == pages["0.2.0"]
    assert "latest/" in (public / "index.html").read_text(encoding="utf-8")
    versions = json.loads((public / "versions.json").read_text(encoding="utf-8"))
    assert {version["version"]: version["aliases"] for version in versions} == {
        "dev": [],
        "0.1.0": [],
        "0.2.0": ["latest"],
    }
    assert (public / "404.html").read_bytes() == (public / "0.2.0" / "404.html").read_bytes()
    pushed = said(["git", "ls-remote", "origin", "gh-pages"], clone).split()[0]
    assert pushed == said(["git", "rev-parse", "gh-pages"], clone).strip()
    for name in ("0.1.0", "0.2.0", "dev"):
        assert '"version": {"default": ["latest", "dev"], "provider": "mike"}' in pages[name]
        assert f'<link rel="canonical" href="https://example.org/posenc/{name}/">' in pages[name]


@pytest.mark.slow
def test_a_site_of_one_version_requests_no_list(clone: Path) -> None:
    said([".venv/bin/mkdocs", "build", "-q"], clone)
    page = (clone / "site" / "index.html").read_text(encoding="utf-8")
    assert '"version": null' in page
    assert '<link rel="canonical" href="https://example.org/posenc/">' in page
