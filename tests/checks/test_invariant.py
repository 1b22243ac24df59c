"""Examples of an invariant: how they are drawn, and what happens if no claim covers them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import Options
from posenc_conformance.checks.invariant import definition, try_drawn
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.trial import Trial
from posenc_conformance.judge.verdict import Declined, NotClaimed, Outcome, Wrong
from posenc_lab.judging import schemes
from posenc_lab.miniatures.base import Array


class Turning:
    @claims("half", dtype="float64")
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        raise NotImplementedError


def subject() -> Subject:
    (claimed,) = subjects(Turning(), schemes())
    return claimed


class Covered:
    """An invariant of which a claim covers only the examples that ``covered`` admits by number."""

    def __init__(self, covered: Callable[[int], bool], reason: type[NotClaimed] = NotClaimed):
        self.covered, self.reason = covered, reason
        self.tried: list[tuple[int, ...]] = []
        self.held = 0

    def __call__(self, trial: Trial) -> None:
        self.tried.append(tuple(trial.pick.integer(0, 10**6) for _ in range(3)))
        if not self.covered(len(self.tried)):
            raise self.reason("beyond the claim")
        self.held += 1
        trial.worst = self.held / 8


def run(check: Any, examples: int = 4, seed: int = 0) -> Outcome:
    return try_drawn(subject(), check, {}, Options(examples, seed), "an-invariant")


def test_an_example_that_no_claim_covers_is_drawn_anew() -> None:
    """A claim that covers every eighth example drawn gets its full number of examples."""
    check = Covered(lambda count: count % 8 == 0)
    outcome = run(check)
    assert check.held == 4
    assert outcome.worst == 4 / 8


def test_drawing_stops_if_a_claim_covers_hardly_anything() -> None:
    check = Covered(lambda count: count == 1)
    run(check)
    assert len(check.tried) == 1 + 3 * 8
    assert check.held == 1


def test_an_invariant_that_no_claim_covers_is_not_passed() -> None:
    with pytest.raises(NotClaimed):
        run(Covered(lambda count: False))


def test_the_first_example_is_the_simplest_and_no_other_is_drawn_twice() -> None:
    check = Covered(lambda count: count % 5 == 0)
    run(check, examples=6)
    assert check.tried[0] == (0, 0, 0)
    assert len(set(check.tried)) == len(check.tried) == 30


def test_the_seed_decides_the_examples() -> None:
    tried = []
    for seed in (0, 0, 1):
        check = Covered(lambda count: True)
        run(check, seed=seed)
        tried.append(check.tried)
    assert tried[0] == tried[1]
    assert tried[0][0] == tried[2][0]
    assert tried[0][1:] != tried[2][1:]


def test_calls_that_are_declined_are_counted() -> None:
    outcome = run(Covered(lambda count: count > 3, Declined))
    assert "3 drawn calls" in outcome.left_out
    assert "beyond the claim" in outcome.left_out
    assert run(Covered(lambda count: count > 3)).left_out == ""


def test_the_smallest_wrong_example_is_reported() -> None:
    """Every call but the simplest is wrong, and few tokens are enough to show it."""

    class Off(Turning):
        @claims("half", dtype="float64", head_dim=[2, 64])
        def rope(self, x: Array, positions: Array, *, base: float) -> Array:
            return np.asarray(np.where(x == 0, x, 2 * x))

    (claimed,) = subjects(Off(), schemes())
    with pytest.raises(Wrong) as raised:
        try_drawn(claimed, definition, {}, Options(3), "definition")
    assert raised.value.case is not None
    assert raised.value.case.arguments["x"].shape[-1] == 2
