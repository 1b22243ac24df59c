"""The simplest call, and how long the kit searches for one."""

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
    """RoPE that declines its first calls; its one base leaves no other call before these."""

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
    (subject,) = subjects(adapter, schemes())
    return subject


@pytest.mark.parametrize(("declined", "answered"), [(0, True), (23, True), (24, False)])
def test_calls_are_tried_until_one_is_not_declined(declined: int, answered: bool) -> None:
    assert (smoke.smoke_problem(of(Declining(declined)), "float32") == "") == answered


def test_the_simplest_call_is_the_first_answered_one() -> None:
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
def test_a_call_that_meets_the_condition_is_searched_for(tried: int, found: bool) -> None:
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
def test_a_claim_of_too_large_a_call_is_refused(
    heads: list[int], meant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit applies to each value that a claim names."""
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
    """Each value is tried before the first check; thousands of them take minutes."""
    assert slopes(heads=range(1, MOST_VALUES + 1))
    with pytest.raises(UserError, match="heads") as refused:
        slopes(heads=range(1, 50_000))
    assert "when=" in refused.value.hint


def test_each_claim_makes_sense_in_its_own_dtypes() -> None:
    """A condition may depend on the dtype, and another claim may have a more precise one."""

    class Several:
        @claims("half", dtype="float64", base=10000.0)
        @claims("half", dtype="float32", head_dim=8, when=lambda dtype: dtype == "float32")
        def rope(self, x: Array, positions: Array, *, base: float) -> Array:
            return x

    smoke.require_computable(of(Several()))
