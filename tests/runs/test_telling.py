"""Output of a run: before it begins, while it is slow, and at its end."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import LEVELS, Check, checks_of
from posenc_conformance.implementations.reference import Reference
from posenc_conformance.judge.case import Case
from posenc_conformance.report import announcement
from posenc_lab.judging import schemes

pytestmark = pytest.mark.remembered(shipped=True)

WRONG = """
import numpy as np
from posenc_conformance import claims

@claims("interleaved", "half", base=10000.0)
def rope(x, positions, *, layout):
    half = x.shape[-1] // 2
    angles = np.outer(positions, 10000.0 ** (-np.arange(half) / half))
    a, b = x[..., :half], x[..., half:]
    c, s = np.cos(angles), np.sin(angles)
    return np.concatenate([a * c - b * s, a * s + b * c], -1).astype(x.dtype)

@claims("interpolated")
def alibi_slopes(heads, *, dtype):
    raise RuntimeError("no kernel")
"""


def told(folder: Path, *options: str) -> str:
    (folder / "mine.py").write_text(WRONG, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "--impl=mine.py", "-p", "no:cacheprovider"]
    return subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_each_cause_is_shown_once_and_counted(tmp_path: Path) -> None:
    text = told(tmp_path)
    shown, _, card = text.partition("FAILURES")[2].partition("scorecard")
    assert shown.count("\ncheck ") == 1  # the layout
    assert shown.count("RuntimeError: no kernel") == 1
    failed = text.count("\nFAILED ")
    assert f"also       {failed - 2} more checks with this cause" in shown
    assert f"{failed} failed" in card
    every = told(tmp_path, "-v").partition("FAILURES")[2].partition("scorecard")[0]
    assert every.count("\ncheck ") == failed - 1


@pytest.mark.slow
def test_the_verdict_stands_below_a_long_list_of_failures(tmp_path: Path) -> None:
    *_, last, counted = told(tmp_path).splitlines()
    assert " failed, " in counted
    assert re.fullmatch(r"posenc: \d+ checks of mine.py failed, of \d causes: rope .*", last)
    for short in (["-rN"], ["-k", "half-d2"]):
        assert not re.search(r"posenc: \d+ checks", told(tmp_path, *short).splitlines()[-2])


@pytest.mark.slow
def test_the_summary_names_the_mistake(tmp_path: Path) -> None:
    summary = told(tmp_path, "-vv").partition("short test summary")[2]
    assert "[layout-swapped; " in summary


@pytest.mark.slow
def test_the_card_has_a_line_for_each_call_and_in_detail_for_each_convention(
    tmp_path: Path,
) -> None:
    def rows(*options: str) -> list[str]:
        card = told(tmp_path, *options).partition(" scorecard: ")[2].partition("\n\n")[0]
        return card.splitlines()[2:]

    assert [row.split()[0] for row in rows()] == ["alibi", "rope"]
    assert [row.split()[0] for row in rows("-q")] == ["alibi", "rope"]
    assert len([row for row in rows("-v") if row.startswith("rope")]) == 4


@pytest.mark.slow
def test_the_card_of_everything_fits_a_screen() -> None:
    command = [sys.executable, "-m", "pytest", "--impl=reference", "-m", "smoke"]
    done = subprocess.run(command, capture_output=True, text=True)
    card = done.stdout.partition(" scorecard: ")[2].splitlines()
    assert len(schemes()) < len(card) < len(schemes()) + 12


def checks_of_rope() -> list[Check]:
    scheme = next(candidate for candidate in schemes() if candidate.id == "rope")
    claimed = subjects(Reference(), schemes())
    return [check for level in LEVELS for check in checks_of(scheme, level, claimed)]


def test_a_check_holds_no_call_until_it_runs() -> None:
    held = [value for check in checks_of_rope() for value in check.run.__defaults__ or ()]
    assert held
    assert not any(isinstance(value, Case | np.ndarray) for value in held)


def test_a_run_announces_its_size_and_its_largest_call() -> None:
    checks = checks_of_rope()
    count, largest = announcement.lines(checks)
    assert f"{len(checks)} checks of 1 scheme" in count
    assert "rope" in largest
    assert "up to 9,007,199,254,740,992" in largest
    assert announcement.lines([]) == []


def test_a_slow_run_says_what_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(announcement, "monotonic", lambda: now[0])
    watch = announcement.Watch()
    watch.start(total=100)
    seconds = {("rope", "rope"): 2.0, ("alibi", "alibi_bias"): 7.0}
    assert watch.due(10, seconds) == ""
    now[0] = 20.0
    text = watch.due(10, seconds)
    assert "10 of 100" in text
    assert "180" in text.replace("3 min", "180")
    assert text.index("alibi_bias") < text.index("rope")
    assert watch.due(11, seconds) == ""  # not again before the next time
    now[0] = 70.0
    assert watch.due(30, seconds)
    now[0] = 400.0
    assert watch.due(100, seconds) == ""  # it is over


def test_costs_are_reported_for_long_runs_only() -> None:
    assert list(announcement.costs({("rope", "rope"): 0.5})) == []
    assert "rope()" in next(iter(announcement.costs({("rope", "rope"): 60.0})))
