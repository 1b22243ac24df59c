"""Sums, waves and elementary functions of the reference, against mpmath."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import mpmath
import numpy as np
import pytest

from posenc import elementary
from posenc.elementary import pair
from posenc.exact import BLOCK, Array, Pair, sincos, turns
from posenc_conformance.judge.arrays import fine

pytestmark = pytest.mark.remembered(shipped=True)

CLOSE = 2.0**-57
VERY_CLOSE = 2.0**-96
SMALL = np.array([0.1, -0.1, 1e-9, -1e-9, 1e-300, 0.0])
NEAR_1 = 1 + np.concatenate([np.linspace(-0.02, 0.02, 81), 2.0 ** -np.arange(3, 53)])


def exactly(value: Pair) -> list[Any]:
    both = zip(value.high.ravel().tolist(), value.low.ravel().tolist(), strict=True)
    return [mpmath.mpf(high) + mpmath.mpf(low) for high, low in both]


@pytest.mark.parametrize(
    ("function", "exact", "values"),
    [
        (elementary.exp, mpmath.exp, np.concatenate([np.linspace(-700, 690, 500), SMALL])),
        (elementary.log, mpmath.log, np.concatenate([NEAR_1, np.geomspace(1e-300, 1e300, 499)])),
        (elementary.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x)), np.linspace(-40, 40, 99)),
        (elementary.gelu, lambda x: x * mpmath.ncdf(x), np.linspace(-12, 12, 499)),
    ],
)
def test_functions(
    function: Callable[[Pair], Pair], exact: Callable[[Any], Any], values: Array
) -> None:
    with mpmath.workdps(60):
        for x, got in zip(values.tolist(), exactly(function(pair(values))), strict=True):
            true = exact(mpmath.mpf(x))
            scale = abs(mpmath.mpf(x)) if function is elementary.gelu else abs(true)
            assert abs(got - true) <= CLOSE * scale, x


def test_functions_use_the_low_part() -> None:
    high, low = np.array([0.7, 1.0, 5.3]), np.array([3e-17, -4e-17, 2e-16])
    with mpmath.workdps(60):
        for function, exact in (
            (elementary.exp, mpmath.exp),
            (elementary.log, mpmath.log),
            (elementary.square_root, mpmath.sqrt),
        ):
            for x, y, got in zip(high, low, exactly(function(Pair(high, low))), strict=True):
                true = exact(mpmath.mpf(float(x)) + mpmath.mpf(float(y)))
                assert abs(got - true) <= CLOSE * max(abs(true), 1e-16), x


def test_division_and_square_root() -> None:
    third = elementary.divide(pair(np.array([1.0])), pair(3.0))
    with mpmath.workdps(60):
        assert abs(exactly(third)[0] - mpmath.mpf(1) / 3) < VERY_CLOSE
        assert abs(exactly(elementary.square_root(7.0))[0] - mpmath.sqrt(7)) < VERY_CLOSE * 3


def test_a_dot_product_survives_cancellation() -> None:
    a, b = np.array([1e16, 1.0, -1e16, 3.0]), np.array([1.0, 2.0**-20, 1.0, 1e-17])
    assert elementary.total(elementary.dot(a, b)) == 2.0**-20 + 3e-17


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 6, 7, 13, 128])
def test_sums_of_products(count: int) -> None:
    a, b = fine((2, count)) * 1e8 ** np.arange(count % 5 - 1, count % 5 - 1 + count).clip(0, 2), 0.1
    with mpmath.workdps(60):
        for row, got in zip(a, exactly(elementary.dots(pair(a), pair(b + 0 * a))), strict=True):
            terms = [mpmath.mpf(x) * mpmath.mpf(b) for x in row.tolist()]
            assert abs(got - mpmath.fsum(terms)) <= 2.0**-90 * mpmath.fsum(terms, absolute=True)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0, 8, 60, 400], ids=lambda bits: f"{bits} bits")
@pytest.mark.parametrize("width", [3, 64, 1025])
def test_many_sums_of_products(spread: int, width: int) -> None:
    """There are enough sums to split factors into slices, unless a row's sizes differ too much."""
    rng = np.random.default_rng(width + spread)
    rows, columns = 5, BLOCK // (4 * width) + 2

    def drawn(*shape: int) -> Pair:
        high = rng.standard_normal(shape) * 2.0 ** (spread * rng.uniform(-0.5, 0.5, shape))
        high[..., :1] = 0.0
        return Pair(high, high * 2.0**-54 * rng.uniform(-1, 1, shape))

    a, b = drawn(rows, 1, width), drawn(columns, width)
    for left, other in ((a, b), (a, pair(b.high)), (pair(a.high), pair(b.high))):
        sums = elementary.dots(left, other)
        with mpmath.workdps(250):
            got = exactly(sums)
            factors = [np.reshape(exactly(factor), factor.high.shape) for factor in (left, other)]
            products = (factors[0] * factors[1]).reshape(-1, width)
            for true, value in zip(products.tolist(), got, strict=True):
                assert abs(value - mpmath.fsum(true)) <= 2.0**-73 * mpmath.fsum(map(abs, true))


def test_infinity_and_nan_stay_so() -> None:
    a, b = np.ones((200, 1, 16)), np.ones((4, 16))
    a[0, 0, 0], a[1, 0, 0] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        got = elementary.total(elementary.dot(a, b))
    assert not np.isfinite(got[:2]).any()
    assert (got[2:] == 16).all()


@pytest.mark.parametrize("largest", [2**10, 2**26, 2**26 + 1, 2**53], ids=lambda n: f"{n:,}")
@pytest.mark.parametrize("fastest", [1.0, 6.2, 6.3, 1e6], ids=lambda w: f"{w:g} radians")
def test_waves_of_whole_positions(largest: int, fastest: float) -> None:
    """Positions of few bits, and frequencies below a turn, are multiplied in fewer steps."""
    rng = np.random.default_rng(largest)
    positions = np.append(rng.integers(-largest, largest, 20), [0, 1, -largest, largest])
    frequencies = [Decimal(fastest) / Decimal(3) ** t for t in range(8)]
    waves = sincos(positions.astype(np.float64), turns(tuple(frequencies)))
    with mpmath.workdps(60):
        for wave, exact in zip(waves, (mpmath.sin, mpmath.cos), strict=True):
            values = np.reshape(exactly(wave), wave.high.shape)
            for row, position in zip(values, positions.tolist(), strict=True):
                for got, frequency in zip(row, frequencies, strict=True):
                    true = exact(position * mpmath.mpf(str(frequency)))
                    assert abs(got - true) <= 2.0**-59


def test_softmax_of_visible_logits() -> None:
    logits = np.array([[3.0, -1.0, -np.inf], [-1e4, -1e4, -np.inf], [0.0, 1000.0, -1000.0]])
    got = elementary.total(elementary.softmax(pair(logits)))
    assert np.array_equal(got[np.isinf(logits)], [0.0, 0.0])
    assert np.allclose(got.sum(axis=-1), 1, rtol=0, atol=2e-16)
    assert got[1].tolist() == [0.5, 0.5, 0.0]
    assert got[2].tolist() == [0.0, 1.0, 0.0]


def test_far_below_zero_the_exponential_is_zero() -> None:
    got = elementary.exp(pair(np.array([-np.inf, -1e9])))
    assert elementary.total(got).tolist() == [0.0, 0.0]
