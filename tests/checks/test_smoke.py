"""Which call is the simplest, and how long one is looked for."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posenc_conformance import claims
from posenc_conformance.adapters.resolve import MOST_VALUES, subjects
from posenc_conformance.checks import smoke
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.subject import Subject
from posenc_lab.judging import schemes


class Declining:
    """One that declines its first calls; of one base, so that no call comes before these."""

    def __init__(self, declined: int) -> None:
        self.left = declined
        self.sizes: list[tuple[int, ...]] = []

    @claims("half", base=10000.0)
    def rope(self, x: Array, positions: Array) -> Array:
        self.left -= 1
        self.sizes.append(x.shape)
        if self.left >= 0:
            raise NotImplementedError("not this one")
        return x


def of(adapter: object) -> Subject:
    (found,) = subjects(adapter, schemes())
    return found


@pytest.mark.parametrize(("declined", "answered"), [(0, True), (23, True), (24, False)])
def test_calls_are_tried_until_one_is_not_declined(declined: int, answered: bool) -> None:
    assert (smoke.smoke_problem(of(Declining(declined)), "float32") == "") == answered


def test_the_simplest_call_is_that_which_was_answered() -> None:
    adapter = Declining(3)
    subject = of(adapter)
    assert smoke.smoke_problem(subject, "float32") == ""
    assert len(adapter.sizes) == 4
    assert smoke.smallest_case(subject, "float32").shape == adapter.sizes[-1]
    assert smoke.smallest_case(of(Declining(0)), "float32").shape == adapter.sizes[0]


def conditional(holds: Callable[..., bool]) -> Subject:
    class Conditional:
        @claims("half", base=10000.0, when=lambda head_dim: holds(head_dim))
        def rope(self, x: Array, positions: Array) -> Array:
            return x

    return of(Conditional())


@pytest.mark.parametrize(("tried", "found"), [(1, True), (200, True), (201, False)])
def test_a_call_is_looked_for_that_meets_a_condition(tried: int, found: bool) -> None:
    sizes: list[int] = []

    def holds(head_dim: int) -> bool:
        sizes.append(head_dim)
        return len(sizes) == tried

    subject = conditional(holds)
    sizes.clear()
    if found:
        assert smoke.smallest_case(subject, "float32").shape[-1] == sizes[-1]
    else:
        with pytest.raises(UserError):
            smoke.smallest_case(subject, "float32")
    assert len(sizes) == min(tried, 200)


def slopes(**limits: Any) -> Subject:
    class Slopes:
        @claims("interpolated", **limits)
        def alibi_slopes(self, heads: int) -> Array:
            return np.ones(heads, np.float32)

    return of(Slopes())


@pytest.mark.parametrize(("heads", "meant"), [([4, 64], True), ([4, 65], False), ([65, 4], False)])
def test_a_claim_of_too_large_a_call_is_not_meant(
    heads: list[int], meant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each of the numbers that it names."""
    monkeypatch.setattr(smoke, "LARGEST_RESULT", 64)
    if meant:
        smoke.require_computable(slopes(heads=heads))
    else:
        with pytest.raises(UserError, match="heads=65"):
            smoke.require_computable(slopes(heads=heads))


def test_a_claim_without_a_result_is_refused() -> None:
    with pytest.raises(UserError, match="heads=0"):
        smoke.require_computable(slopes(heads=[4, 0]))


def test_a_claim_may_list_as_many_values_as_can_be_tried() -> None:
    """Each is tried before anything is asked: thousands of them take minutes."""
    assert slopes(heads=range(1, MOST_VALUES + 1))
    with pytest.raises(UserError, match="heads") as refused:
        slopes(heads=range(1, 50_000))
    assert "when=" in refused.value.hint


def test_each_claim_makes_sense_in_its_own_dtypes() -> None:
    """Its condition may name the dtype, of which another claim has a more precise one."""

    class Several:
        @claims("half", dtype="float64", base=10000.0)
        @claims("half", dtype="float32", head_dim=8, when=lambda dtype: dtype == "float32")
        def rope(self, x: Array, positions: Array, *, base: float) -> Array:
            return x

    smoke.require_computable(of(Several()))
