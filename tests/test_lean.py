"""The short sums and functions of the reference, against mpmath."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from posenc import lean
from posenc.elementary import pair
from posenc.exact import Array, Pair
from posenc_conformance.arrays import fine

CLOSE = 2.0**-57


def exactly(value: Pair) -> list[Any]:
    both = zip(value.high.ravel().tolist(), value.low.ravel().tolist(), strict=True)
    return [mpmath.mpf(high) + mpmath.mpf(low) for high, low in both]


@pytest.mark.parametrize(
    ("function", "exact", "values"),
    [
        (lean.exp, mpmath.exp, np.concatenate([np.linspace(-700, 3, 500), [-1e-9, -1e-300, 0.0]])),
        (lean.gelu, lambda x: x * mpmath.ncdf(x), np.linspace(-12, 12, 499)),
        (lean.square_root, mpmath.sqrt, np.array([1e-200, 0.3, 2.0, 1e9])),
    ],
)
def test_functions(
    function: Callable[[Pair], Pair], exact: Callable[[Any], Any], values: Array
) -> None:
    with mpmath.workdps(60):
        for x, got in zip(values.tolist(), exactly(function(pair(values))), strict=True):
            true = exact(mpmath.mpf(x))
            scale = abs(mpmath.mpf(x)) if function is lean.gelu else true
            assert abs(got - true) <= CLOSE * scale, x


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 6, 7, 13, 128])
def test_sums_of_products(count: int) -> None:
    a, b = fine((2, count)) * 1e8 ** np.arange(count % 5 - 1, count % 5 - 1 + count).clip(0, 2), 0.1
    with mpmath.workdps(60):
        for row, got in zip(a, exactly(lean.dots(pair(a), pair(b + 0 * a))), strict=True):
            terms = [mpmath.mpf(x) * mpmath.mpf(b) for x in row.tolist()]
            assert abs(got - mpmath.fsum(terms)) <= 2.0**-90 * mpmath.fsum(terms, absolute=True)


def test_softmax_of_what_is_shown() -> None:
    logits = np.array([[3.0, -1.0, 800.0], [-1e4, -1e4, 0.0], [0.0, 1000.0, -1000.0]])
    shown = np.array([[True, True, False], [True, True, False], [True, True, True]])
    got = lean.softmax(pair(logits), shown)
    assert np.array_equal(got.high[~shown], [0.0, 0.0])
    assert np.allclose(got.high.sum(axis=-1), 1, rtol=0, atol=2e-16)
    assert got.high[1].tolist() == [0.5, 0.5, 0.0]
    assert got.high[2].tolist() == [0.0, 1.0, 0.0]
