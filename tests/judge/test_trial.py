"""Tools of an invariant: drawn numbers, answers, and assertions."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.trial import Failure, First, Seeded, Trial
from posenc_conformance.judge.verdict import NotClaimed
from posenc_lab.judging import schemes


class Turning:
    @claims("half", dtype="float32", max_position=50, head_dim=[4, 8], rotation="partial")
    def rope(self, x: Array, positions: Array, **named: Any) -> Array:
        return np.zeros_like(x)


def trial(pick: Any = None) -> Trial:
    (subject,) = subjects(Turning(), schemes())
    return Trial(subject, subject.scopes[0], "float32", {}, pick or First())


def answer(values: Any = (0.0, 0.0), bound: Any = (1.0, 1.0)) -> Answer:
    case: Any = object()
    shown = np.asarray(values, np.float64)
    return Answer(case, shown, shown, np.asarray(bound, np.float64))


def test_an_answer_that_vanishes_within_its_bound_passes() -> None:
    it = trial()
    it.assert_zero(answer([1.0, -2.0], [1.0, 2.0]), "x")
    assert it.worst == 1
    it.assert_zero(answer([0.25, 0.0], [1.0, 0.0]), "x")
    assert it.worst == 1  # the largest of all
    it.assert_zero(answer([5.0, 0.5], [np.inf, 1.0]), "x")
    it.assert_zero(answer(np.zeros(0), np.zeros(0)), "x")


@pytest.mark.parametrize(
    ("values", "bound", "worst"),
    [
        ([0.0, -1.001], [1.0, 1.0], 1.001),
        ([0.5, 3.0], [0.25, 2.0], 2.0),
        ([0.0, 1e-300], [1.0, 0.0], np.inf),
        ([np.nan, 0.0], [1.0, 1.0], np.inf),
    ],
)
def test_an_answer_that_does_not_vanish_fails(values: Any, bound: Any, worst: float) -> None:
    it, answered = trial(), answer(values, bound)
    with pytest.raises(Failure) as raised:
        it.assert_zero(answered, "it should vanish")
    assert raised.value.worst == pytest.approx(worst)
    assert it.worst == raised.value.worst
    assert raised.value.case is answered.case
    assert "it should vanish" in raised.value.message
    assert ("nothing" in raised.value.message) == (min(bound) == 0)


def test_a_condition_that_is_true_anywhere_fails() -> None:
    trial().assert_none(answer(), [False, False], "x")
    with pytest.raises(Failure, match=r"index \(1,\)"):
        trial().assert_none(answer(), [False, True], "x")


def test_a_claim_limits_what_is_drawn() -> None:
    assert trial().choose("head_dim", [2, 16]) == 4
    assert {trial(Seeded(n)).choose("head_dim", [2, 16]) for n in range(20)} == {4, 8}
    assert trial().choose("other", [2, 16]) == 2
    drawn = {trial(Seeded(n)).position(10) for n in range(300)}
    assert (min(drawn), max(drawn)) == (0, 40)
    assert trial(Seeded(0)).position(60) == 0
    assert max(trial(Seeded(n)).position(0, 5) for n in range(50)) == 5
    assert trial().can("rotation") == ("partial",)
    assert trial().can("domain") == ()


def test_an_answer_has_the_bound_of_its_call_and_none_beyond_the_claim() -> None:
    it = trial()
    arguments = {"x": np.ones((2, 4)), "positions": np.array([0, 1]), "base": 10000.0}
    result = it.answer(**arguments)
    assert not result.values.any()
    assert np.array_equal(result.bound, result.case.bound)
    assert not it.compare(result).passes
    with pytest.raises(NotClaimed):
        it.answer(**{**arguments, "positions": np.array([0, 51])})


def test_choices_are_the_simplest_or_drawn_from_a_seed() -> None:
    assert First().one_of([3, 1, 2]) == 3
    assert First().integer(4, 9) == 4
    first, again = ([Seeded(5).integer(0, 10**9) for _ in range(2)] for _ in range(2))
    assert first == again
    assert {Seeded(n).integer(1, 3) for n in range(40)} == {1, 2, 3}
    assert {Seeded(n).one_of("abc") for n in range(40)} == set("abc")
