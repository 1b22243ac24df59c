"""Elementary functions of the reference, against mpmath."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from posenc import elementary
from posenc.exact import Array, Pair

CLOSE = mpmath.mpf(2) ** -90
MODERATE = np.concatenate([np.linspace(-30, 30, 61), [0.1, -0.1, 1e-9, -1e-9, 1e-300, 0.7, 3e-5]])


def exactly(value: Pair, index: int) -> Any:
    return mpmath.mpf(float(value.high[index])) + mpmath.mpf(float(value.low[index]))


@pytest.mark.parametrize(
    ("function", "exact", "values"),
    [
        (elementary.exp, mpmath.exp, np.append(MODERATE, [-650.0, 650.0])),
        (elementary.log, mpmath.log, np.array([1e-5, 0.5, 0.999, 1.001, 2, 3, 10, 1e6, 2.0**53])),
        (elementary.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x)), MODERATE),
        (elementary.erf, mpmath.erf, np.linspace(-6.4, 6.4, 65)),
    ],
)
def test_functions_are_right_far_beyond_float64(
    function: Callable[[Pair], Pair], exact: Callable[[Any], Any], values: Array
) -> None:
    got = function(elementary.pair(values))
    with mpmath.workdps(60):
        for i, x in enumerate(values.tolist()):
            true = exact(mpmath.mpf(x))
            assert abs(exactly(got, i) - true) <= CLOSE * abs(true), x


def test_division_and_square_root() -> None:
    quotient = elementary.divide(elementary.pair(np.array([1.0, 2.0])), elementary.pair(3.0))
    with mpmath.workdps(60):
        assert abs(exactly(quotient, 0) - mpmath.mpf(1) / 3) < CLOSE
        root = elementary.square_root(7.0)
        assert abs(mpmath.mpf(float(root.high)) + float(root.low) - mpmath.sqrt(7)) < CLOSE


def test_a_dot_product_survives_cancellation() -> None:
    a, b = np.array([1e16, 1.0, -1e16, 3.0]), np.array([1.0, 2.0**-20, 1.0, 1e-17])
    assert elementary.total(elementary.dot(a, b)) == 2.0**-20 + 3e-17


def test_hidden_entries_have_no_weight() -> None:
    weights = elementary.softmax(elementary.pair(np.array([[0.0, -np.inf, 0.0]])))
    assert elementary.total(weights).tolist() == [[0.5, 0.0, 0.5]]


def test_far_below_zero_the_exponential_is_zero() -> None:
    got = elementary.exp(elementary.pair(np.array([-np.inf, -1e9])))
    assert elementary.total(got).tolist() == [0.0, 0.0]
