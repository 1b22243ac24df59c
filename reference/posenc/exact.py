"""Sine and cosine of position times frequency, right to the last bit at any position.

In float64 the product ``p * w`` alone is wrong by ``p * w * 2**-53``, which is a whole radian long
before ``p`` reaches 2**53. Here the frequency is held in three float64 words and counted in turns
instead of radians, because whole turns can be dropped without any rounding. What is left is less
than a turn, and the sine and cosine come from the nearest of 512 tabulated points by the addition
theorem. A result is a pair ``(high, low)`` whose sum is the value; ``high`` is its nearest float64.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Number = Array | float

LARGEST_POSITION = 2**53
"""Positions beyond this are not all representable as float64."""

_DIGITS = 80
_TURN = Decimal(
    "6.28318530717958647692528676655900576839433879875021164194988918461563281257241799725606965"
)
_TABLE_SIZE = 512
_SPLIT = 134217729.0  # 2**27 + 1 parts a float64 into two halves of 26 bits


class Pair(NamedTuple):
    """An unevaluated sum of two float64 arrays, ``high`` being the rounded value."""

    high: Array
    low: Array


class SinCos(NamedTuple):
    """Sine and cosine of the same angles."""

    sin: Pair
    cos: Pair


def two_sum(a: Array, b: Number) -> Pair:
    """``a + b`` and its exact rounding error (Knuth)."""
    total = a + b
    b_seen = total - a
    return Pair(total, (a - (total - b_seen)) + (b - b_seen))


def two_product(a: Array, b: Number) -> Pair:
    """``a * b`` and its exact rounding error (Dekker, Veltkamp); exact below 2**996."""
    product = a * b
    a_spread, b_spread = a * _SPLIT, b * _SPLIT
    a_high, b_high = a_spread - (a_spread - a), b_spread - (b_spread - b)
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return Pair(product, error)


def words(value: Decimal, count: int) -> list[float]:
    """A decimal number as ``count`` float64 words of falling size that add up to it."""
    result = []
    with localcontext(prec=_DIGITS):
        for _ in range(count):
            result.append(float(value))
            value -= Decimal(result[-1])
    return result


_TURN_WORDS = words(_TURN, 2)


@lru_cache(maxsize=256)
def power(base: float | Fraction, exponent: Fraction) -> Decimal:
    """``base ** exponent`` to about 80 digits."""
    with localcontext(prec=_DIGITS):
        return _decimal(Fraction(base)) ** _decimal(exponent)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@lru_cache(maxsize=256)
def turns_per_position(base: float, step: Fraction, count: int) -> Array:
    """Frequencies ``base ** (-step * t)`` for t = 0 … count-1, in turns.

    Returns an array of shape [3, count]: three words whose sum is the frequency divided by 2π.
    """
    return turns(tuple(progression(base, step, count)))


def progression(base: float, step: Fraction, count: int) -> list[Decimal]:
    """``base ** (-step * t)`` for t = 0 … count-1, to about 80 digits."""
    with localcontext(prec=_DIGITS):
        ratio = power(base, -step)
        result = [Decimal(1)]
        for _ in range(count - 1):
            result.append(result[-1] * ratio)
    return result


@lru_cache(maxsize=256)
def turns(frequencies: tuple[Decimal, ...]) -> Array:
    """Frequencies in radians per position, in turns: shape [3, count], as three words each."""
    with localcontext(prec=_DIGITS):
        columns = [words(frequency / _TURN, 3) for frequency in frequencies]
    return np.array(columns, dtype=np.float64).reshape(len(frequencies), 3).T


def sincos(positions: Array, turns: Array, first: int = 0) -> SinCos:
    """Sine and cosine of every position, plus ``first``, times every frequency.

    Parameters: ``positions`` of any shape [...], at most 2**53 in magnitude; ``turns`` of shape
    [3, count] from :func:`turns_per_position`. Each array of the result has shape [..., count].
    """
    return sincos_each(positions[..., None], turns, first)


def sincos_each(positions: Array, turns: Array, first: int = 0) -> SinCos:
    """The same with a position of its own for each frequency: shape [..., count], or [..., 1]."""
    place = two_sum(positions, np.float64(first))
    return _sincos_of_turns(_dropping_whole_turns(place, turns))


def _dropping_whole_turns(place: Pair, turns: Array) -> Pair:
    (coarse, fine), (coarse_low, fine_low) = two_product(place.high, _two_words(turns, place.high))
    parts = [part - np.rint(part) for part in (coarse, coarse_low, fine)]
    first = two_sum(parts[0], parts[1])
    second = two_sum(first.high, parts[2])
    rest = first.low + second.low + fine_low + place.high * turns[2] + place.low * turns[0]
    total = two_sum(second.high, rest)
    return Pair(total.high - np.rint(total.high), total.low)


def _two_words(turns: Array, place: Array) -> Array:
    """The first two words of each frequency, one behind the other on an axis before all others."""
    return turns[:2].reshape(2, *[1] * (place.ndim - 1), -1)


def _sincos_of_turns(turns: Pair) -> SinCos:
    nearest = np.rint(turns.high * _TABLE_SIZE)
    rest = turns.high - nearest / _TABLE_SIZE
    turn_high, turn_low = _TURN_WORDS
    angle, angle_low = two_product(rest, turn_high)  # below 0.0062 radians
    angle_low = angle_low + rest * turn_low + turns.low * turn_high

    square = angle * angle
    sin_rest = angle + (angle_low - angle * square * (1 / 6 - square * (1 / 120 - square / 5040)))
    cos_rest_less_1 = -square * (1 / 2 - square * (1 / 24 - square / 720)) - angle * angle_low

    sin, sin_low, cos, cos_low = _circle()[:, nearest.astype(np.int64) % _TABLE_SIZE]
    return SinCos(
        two_sum(sin, sin_low + (sin * cos_rest_less_1 + cos * sin_rest)),
        two_sum(cos, cos_low + (cos * cos_rest_less_1 - sin * sin_rest)),
    )


@lru_cache(maxsize=1)
def _circle() -> Array:
    """Sine and cosine at 512 equal steps of the circle, each as two words: shape [4, 512]."""
    with localcontext(prec=_DIGITS):
        step_cos = Decimal(0)  # of a quarter turn, halved seven times
        for _ in range(7):
            step_cos, step_sin = ((1 + step_cos) / 2).sqrt(), ((1 - step_cos) / 2).sqrt()
        sin, cos = Decimal(0), Decimal(1)
        rows = []
        for index in range(_TABLE_SIZE):
            if index % (_TABLE_SIZE // 4) == 0:  # the quarter turns are known exactly
                sin, cos = sin.to_integral_value(), cos.to_integral_value()
            rows.append(words(sin, 2) + words(cos, 2))
            sin, cos = sin * step_cos + cos * step_sin, cos * step_cos - sin * step_sin
    return np.array(rows, dtype=np.float64).T
