"""What a run has asked of an engine: a plugin of pytest notes it, line by line, for the judge.

The report of the run would say it, too, and be announced to the user as a file that goes.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

PLUGINS, NOTES = "PYTEST_PLUGINS", "POSENC_JUDGE_NOTES"
"""Variables: pytest's own for further plugins, and that for the file of notes."""
OF_WORKERS = "PYTEST_XDIST_WORKER"
"""A variable of processes whose checks are noted by another one."""
SELECTED, PASSED, FAILED = "selected", "passed", "failed"


@dataclass(frozen=True)
class Asked:
    """The questions of a run, and which were answered wrongly or not at all."""

    count: int
    """Questions of the run; 0 if it has not begun."""
    answered: int
    failed: tuple[str, ...]
    """The names of the checks that failed, as ``-k`` takes them."""


def noting(file: Path, environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return variables with which a run writes its notes into a file.

    The run is no worker's part, even if a worker starts it.
    """
    plugins = [name for name in (environ.get(PLUGINS), __name__) if name]
    others = {name: value for name, value in environ.items() if name != OF_WORKERS}
    return {**others, PLUGINS: ",".join(plugins), NOTES: str(file)}


def asked(file: Path) -> Asked:
    """Read the notes of a run."""
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    notes = [line.split(" ", 1) for line in text.splitlines()]
    failed = [id for kind, id in notes if kind == FAILED]
    names = dict.fromkeys(id.split("::")[-1].partition("[")[0] for id in failed)
    count = sum(int(number) for kind, number in notes if kind == SELECTED)
    return Asked(count, sum(kind == PASSED for kind, _ in notes) + len(failed), (*names,))


def pytest_collection_finish(session: "pytest.Session") -> None:
    """Note how many checks there are."""
    _note(SELECTED, str(len(session.items)))


def pytest_runtest_logreport(report: "pytest.TestReport") -> None:
    """Note what came of a check."""
    if report.when == "call":
        _note(report.outcome, report.nodeid)


def _note(kind: str, what: str) -> None:
    file = os.environ.get(NOTES)
    if file and OF_WORKERS not in os.environ:
        with Path(file).open("a", encoding="utf-8") as stream:
            stream.write(f"{kind} {what}\n")
