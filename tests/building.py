"""Building the site, and what more than one file of tests needs."""

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
"""Where the site was built, once it is, in the configuration of pytest."""
# Bytes, compressed, at most. Each is a fifth and more above what was measured when it was set: a
# sentence more makes no test red, and what grows without end is still seen.
SEARCH_INDEX = 320_000
FIRST_VISIT = 320_000
PAGE = 160_000
OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PAGES", "SHARE")
"""What a make that runs the tests hands on to one that they start."""
SHOWING = {".css", ".js", ".mjs", ".svg", ".png", ".woff", ".woff2"}


def tracked_files(*patterns: str) -> list[Path]:
    """Return the files that git tracks, of some patterns or all; none in an archive."""
    command = ["git", "ls-files", "-z", *patterns]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    paths = [CHECKOUT / name for name in done.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def built(configuration: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    """What the strict build says that puts the site into a folder."""
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
    """Environment without what a make that runs the tests hands on."""
    return {name: value for name, value in os.environ.items() if name not in OF_MAKE}


def planned(*words: str) -> str:
    """What make would run."""
    command = ["make", "--dry-run", *words]
    return subprocess.run(
        command, cwd=CHECKOUT, env=outside_make(), capture_output=True, text=True, check=True
    ).stdout


def shown_by(site: Path) -> str:
    """Hash of the files that pages of a site are shown with, but for the index of the search."""
    found = hashlib.sha256()
    for path in sorted(site.rglob("*")):
        if path.is_file() and path.suffix in SHOWING:
            found.update(path.relative_to(site).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


def with_torch(items: Iterable[Any], text: Callable[[Any], str]) -> list[Any]:
    """Mark those of some parameters whose text is code that needs PyTorch."""
    return [
        pytest.param(each, marks=[pytest.mark.torch] if "import torch" in text(each) else [])
        for each in items
    ]
