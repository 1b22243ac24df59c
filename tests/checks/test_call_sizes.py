"""Array lengths and integers among the arguments of a call, and the axes that they form."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.call_sizes import Axes, axes_of, lengths_of
from posenc_conformance.checks.smoke import smallest_case
from posenc_conformance.judge.arrays import Array
from posenc_lab.judging import schemes


def axes(**limits: Any) -> Axes:
    class Turning:
        @claims("half", dtype="float64", **limits)
        def rope(self, x: Array, positions: Array, *, base: float) -> Array:
            return x

    (subject,) = subjects(Turning(), schemes())
    return axes_of(subject, smallest_case(subject, "float64"))


def test_a_length_is_an_axis_of_an_array_or_a_whole_number() -> None:
    arguments = {"x": np.zeros((2, 3)), "row": np.zeros(0), "n": 5, "causal": True, "base": 1e4}
    assert lengths_of(arguments) == {("x", -2): 2, ("x", -1): 3, ("row", -1): 0, ("n", None): 5}
    assert lengths_of({"form": "causal", "one": np.float64(1)}) == {}


@pytest.mark.parametrize(("heads", "chosen"), [([64, 128], True), ([65, 128], False)])
def test_an_axis_that_is_large_in_the_smallest_call_is_no_length(
    heads: list[int], chosen: bool
) -> None:
    class Slopes:
        @claims("interpolated", heads=heads)
        def alibi_slopes(self, heads: int) -> Array:
            return np.ones(heads, np.float32)

    (subject,) = subjects(Slopes(), schemes())
    groups = axes_of(subject, smallest_case(subject, "float32")).groups
    assert ((("heads", None),) in groups) == chosen


def test_lengths_that_are_one_in_all_calls_are_one_axis() -> None:
    assert (("x", -2), ("positions", -1)) in axes().groups


def test_numbers_of_any_sign_are_drawn_as_such() -> None:
    assert axes().signed == {"x"}
