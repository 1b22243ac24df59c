"""The build of the site, and helpers of several test files."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parents[1]
SITE = pytest.StashKey[Path]()
"""Key of the folder with the built site in pytest's configuration."""
# Largest compressed sizes in bytes, a fifth or more above those measured when they were set: one
# more sentence fails no test, but unbounded growth does.
SEARCH_INDEX = 320_000
FIRST_VISIT = 320_000
PAGE = 160_000
OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PAGES", "SHARE")
"""Variables that make passes on to a make started by the tests."""
SHOWING = {".css", ".js", ".mjs", ".svg", ".png", ".woff", ".woff2"}


def tracked_files(*patterns: str) -> list[Path]:
    """Return the files that git tracks, of some patterns or all; none in an archive."""
    command = ["git", "ls-files", "-z", *patterns]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    paths = [CHECKOUT / name for name in done.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def built(configuration: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Build the site strictly into a folder; return the finished process."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "mkdocs", "build", "--strict"),
            *("--config-file", str(configuration), "--site-dir", str(folder)),
        ],
        cwd=CHECKOUT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )


def outside_make() -> dict[str, str]:
    """Return the environment without the variables that make passes on."""
    return {name: value for name, value in os.environ.items() if name not in OF_MAKE}


def planned(*words: str) -> str:
    """Return the commands that make would run."""
    command = ["make", "--dry-run", *words]
    return subprocess.run(
        command, cwd=CHECKOUT, env=outside_make(), capture_output=True, text=True, check=True
    ).stdout


def shown_by(site: Path) -> str:
    """Return a hash of a site's styles, scripts, images and fonts, without its search index."""
    digest = hashlib.sha256()
    for path in sorted(site.rglob("*")):
        if path.is_file() and path.suffix in SHOWING:
            digest.update(path.relative_to(site).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def with_torch(items: Iterable[Any], text: Callable[[Any], str]) -> list[Any]:
    """Make parameters of the items, marked torch where ``text(item)`` imports PyTorch."""
    return [
        pytest.param(item, marks=[pytest.mark.torch] if "import torch" in text(item) else [])
        for item in items
    ]
