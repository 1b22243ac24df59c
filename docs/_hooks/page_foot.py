"""The last line of a page: when it changed, how to cite it, and where to change it."""

import html
import subprocess
from functools import lru_cache

from mkdocs.structure.pages import Page

from pages import DOCS


@lru_cache(maxsize=1)
def changed() -> dict[str, str]:
    """Return the day of the last commit of each page, by path; empty if unknown.

    A shallow clone would give the day of its only commit for every page.
    """
    try:
        if _git("rev-parse", "--is-shallow-repository").strip() != "false":
            return {}
        log = _git("log", "--format=%x00%cs", "--name-only", "--relative", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return {}
    return newest(log)


def newest(log: str) -> dict[str, str]:
    """Read a log of days, each after a zero byte and followed by the paths changed on that day."""
    days: dict[str, str] = {}
    for entry in log.split("\0")[1:]:
        day, *paths = entry.split()
        for path in paths:
            days.setdefault(path, day)
    return days


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=DOCS, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def foot(page: Page) -> str:
    """Make the last line of a page."""
    day = changed().get(page.file.src_uri)
    parts = [f"Last changed {day}."] if day else []
    parts.append(f'<a href="{"../" * page.url.count("/")}cite/">Cite</a>')
    if page.edit_url:
        parts.append(f'<a href="{html.escape(page.edit_url)}">Edit this page</a>')
    return f'\n<p class="page-foot">{" ".join(parts)}</p>\n'
