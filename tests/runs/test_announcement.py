"""Announcements of a run: its size at the start, and its progress from time to time."""

from dataclasses import replace

import pytest

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import Check, Extent, Options
from posenc_conformance.implementations.reference import reference_for
from posenc_conformance.judge.claim_scope import Engine
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Outcome
from posenc_conformance.report import announcement
from posenc_lab.judging import schemes


def subject(scheme: str, model: str = "") -> Subject:
    """Return the first subject of a scheme, as an engine's if a model is named."""
    matching = [candidate for candidate in schemes() if candidate.id == scheme]
    first = subjects(reference_for(matching)(), matching)[0]
    return replace(first, engine=Engine(model, "all", "rotary", {})) if model else first


def checks(subject: Subject, count: int = 1, extent: Extent | None = None) -> list[Check]:
    def run(subject: Subject, options: Options) -> Outcome:
        return Outcome()

    return [Check("golden", f"{n}", subject, None, run, extent) for n in range(count)]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([("rope", "")], "1 check of 1 scheme;"),
        ([("rope", ""), ("alibi", "")], "2 checks of 2 schemes;"),
        ([("rope", ""), ("rope", "")], "2 checks of 1 scheme;"),
        ([("rope", "llama")], "1 check of 1 model;"),
        ([("rope", "llama"), ("rope", "gemma"), ("alibi", "")], "of 1 scheme and 2 models;"),
    ],
)
def test_schemes_and_models_are_counted(counts: list[tuple[str, str]], said: str) -> None:
    selected = [check for names in counts for check in checks(subject(*names))]
    (line,) = announcement.lines(selected)
    assert said in line


@pytest.mark.parametrize(("count", "about"), [(1, "1 s"), (500, "1 s"), (1500, "3 s")])
def test_the_expected_time_is_at_least_a_second(count: int, about: str) -> None:
    (line,) = announcement.lines(checks(subject("alibi"), count))
    assert f"about {about} " in line


def test_the_call_with_most_values_is_announced() -> None:
    """Neither the longest axis nor the largest position decides which call is announced."""
    selected = [
        *checks(subject("rope"), extent=Extent((1, 90), 10**6)),
        *checks(subject("alibi"), extent=Extent((10, 10), 77)),
        *checks(subject("rope"), extent=None),
    ]
    _, line = announcement.lines(selected)
    assert "alibi_bias()" in line
    assert "10 x 10" in line
    assert "up to 77" in line


class Clock:
    """A watch with a settable time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(announcement, "monotonic", lambda: self.now)
        self.watch = announcement.Watch()
        self.now = 5000.0
        self.watch.start(total=100)

    def said(self, passed: float, done: int = 50) -> str:
        self.now = 5000.0 + passed
        return self.watch.due(done, {("rope", "rope"): 2.0})


def test_progress_is_reported_once_at_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    times = (9.9, 10.0, 59.9, 60.0, 61.0, 299.0, 300.0, 900.0, 5000.0)
    assert [bool(clock.said(time)) for time in times] == [
        *(False, True, False, True, False, False, True, True, False)
    ]


def test_missed_times_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    assert [bool(clock.said(time)) for time in (300.0, 301.0, 899.0, 900.0)] == [
        *(True, False, False, True)
    ]


@pytest.mark.parametrize(("done", "told"), [(0, False), (1, True), (99, True), (100, False)])
def test_no_progress_is_reported_before_the_first_check_and_after_the_last(
    done: int, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bool(Clock(monkeypatch).said(20.0, done)) == told


def test_the_remaining_time_is_extrapolated(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Clock(monkeypatch).said(20.0, 40)
    assert "40 of 100 checks after 20 s" in line
    assert "about 30 s to go" in line


def test_the_three_longest_are_listed_longest_first() -> None:
    times = {"a": 4.0, "b": 9.0, "c": 1.0, "d": 6.0}
    first, _ = announcement.costs({("scheme", call): seconds for call, seconds in times.items()})
    assert first.partition("longest: ")[2] == "b() 9 s, d() 6 s, a() 4 s"
    assert "20 s in checks" in first


@pytest.mark.parametrize(("seconds", "told"), [(5.0, False), (5.1, True)])
def test_short_times_are_not_listed(seconds: float, told: bool) -> None:
    lines = list(announcement.costs({("a", "a"): 5.0, ("b", "b"): seconds}))
    assert bool(lines) == told


@pytest.mark.parametrize(("seconds", "shown"), [(98.0, "98 s"), (99.0, "2 min"), (600.0, "10 min")])
def test_long_times_are_in_minutes(seconds: float, shown: str) -> None:
    first, _ = announcement.costs({("a", "a"): seconds})
    assert f"time: {shown} in" in first
