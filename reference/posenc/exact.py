"""Sine and cosine of position times frequency, with an error below 2**-59 at any position.

In float64 the product ``p * w`` has an error of up to ``p * w * 2**-53``, a whole radian when
``p * w`` reaches 2**53. Here the frequency is three float64 words, in turns instead of radians,
because whole turns can be dropped without rounding. For the remaining fraction of a turn, the
addition theorem gives sine and cosine from those of the nearest of 512 tabulated points. A result
is a pair ``(high, low)`` whose sum is the value; ``high`` is its nearest float64.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, repeat
from operator import mul
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Values = npt.NDArray[np.floating]
Number = Array | float

LARGEST_POSITION = 2**53
"""Positions beyond this are not all representable as float64."""
BLOCK = 2**13
"""Array elements computed at a time: few enough for intermediate results to fit in the cache."""

_DIGITS = 80
TURN = Decimal(
    "6.28318530717958647692528676655900576839433879875021164194988918461563281257241799725606965"
)
_TABLE_SIZE = 512
_SPLIT = 134217729.0  # 2**27 + 1 splits a float64 into two halves of 26 bits


class Pair(NamedTuple):
    """An unevaluated sum of two float64 arrays; ``high`` is the rounded value."""

    high: Array
    low: Array


class SinCos(NamedTuple):
    """Sine and cosine of the same angles."""

    sin: Pair
    cos: Pair


def two_sum(a: Array, b: Number) -> Pair:
    """Return ``a + b`` and its exact rounding error (Knuth)."""
    total = a + b
    error = a - total  # the negated apparent b
    lost = total + error
    lost -= a
    error += b
    error -= lost
    return Pair(total, error)


def two_product(a: Array, b: Number) -> Pair:
    """Return ``a * b`` and its exact rounding error (Dekker); exact below 2**996."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = split(a), split(b)
    error = a_high * b_high
    error -= product
    error += a_high * b_low
    error += a_low * b_high
    error += a_low * b_low
    return Pair(product, error)


def split(value: Number) -> tuple[Any, Any]:
    """Split a number below 2**996 into two 26-bit numbers that add up to it (Veltkamp)."""
    spread = value * _SPLIT
    shift = spread - value
    spread -= shift
    return spread, value - spread


def words(value: Decimal, count: int) -> list[float]:
    """Return a decimal number as ``count`` float64 words of decreasing size that add up to it."""
    with localcontext(prec=_DIGITS):
        return _words(value, count)


def _words(value: Decimal, count: int) -> list[float]:
    result = []
    for _ in range(count):
        result.append(float(value))
        value -= Decimal(result[-1])
    return result


_TURN_WORDS = words(TURN, 2)


@lru_cache(maxsize=256)
def power(base: float | Fraction, exponent: Fraction) -> Decimal:
    """Return ``base ** exponent`` to about 80 digits."""
    with localcontext(prec=_DIGITS):
        return _decimal(Fraction(base)) ** _decimal(exponent)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@lru_cache(maxsize=256)
def turns_per_position(base: float, step: Fraction, count: int) -> Array:
    """Return the frequencies ``base ** (-step * t)`` for t = 0 … count-1, in turns.

    The array has shape [3, count]: three words whose sum is the frequency divided by 2π.
    """
    return turns(tuple(progression(base, step, count)))


def progression(base: float, step: Fraction, count: int) -> list[Decimal]:
    """Return ``base ** (-step * t)`` for t = 0 … count-1, to about 80 digits."""
    return powers(power(base, -step), count)


def powers(ratio: Decimal, count: int) -> list[Decimal]:
    """Return ``ratio ** t`` for t = 0 … count-1, to about 80 digits."""
    with localcontext(prec=_DIGITS):
        return list(accumulate(repeat(ratio, count - 1), mul, initial=Decimal(1)))


@lru_cache(maxsize=8)
def turns(frequencies: tuple[Decimal, ...]) -> Array:
    """Convert frequencies from radians to turns per position: three words each, [3, count]."""
    with localcontext(prec=_DIGITS):
        return in_words([frequency / TURN for frequency in frequencies])


def quotient(value: Decimal, divisor: int) -> Decimal:
    """Return ``value / divisor`` to about 80 digits."""
    with localcontext(prec=_DIGITS):
        return value / divisor


def in_words(values: Sequence[Decimal], count: int = 3) -> Array:
    """Return decimal numbers as ``count`` float64 words each: shape [count, values]."""
    with localcontext(prec=_DIGITS):
        columns = [_words(value, count) for value in values]
    return np.array(columns, dtype=np.float64).reshape(len(columns), count).T


def sincos(positions: Array, turns: Array, first: int = 0) -> SinCos:
    """Return the sine and cosine of ``(position + first) * frequency``, for all combinations.

    ``positions`` has any shape [...] and is at most 2**53 in magnitude. ``turns`` has shape
    [3, count], as :func:`turns_per_position` returns. Each array of the result has shape
    [..., count].
    """
    return sincos_each(positions[..., None], turns, first)


def sincos_each(positions: Array, turns: Array, first: int = 0) -> SinCos:
    """Return the sine and cosine of ``(position + first) * frequency``, elementwise.

    Like :func:`sincos`, but ``positions`` has shape [..., count] (one per frequency) or [..., 1].
    """
    leading = positions.shape[:-1]
    flat = positions.reshape(math.prod(leading), positions.shape[-1])
    place = two_sum(flat, np.float64(first))
    rows, count = len(place.high), turns.shape[-1]
    result = np.empty((4, rows, count))
    short = (np.abs(place.high) <= 2**26).all() and (place.high == np.rint(place.high)).all()
    slow = (np.abs(turns[0]) <= 1).all()
    drop = _dropping_turns_of_few_bits if short and slow else _dropping_whole_turns
    for block in blocks(rows, count):
        angles = drop(Pair(place.high[block], place.low[block]), turns)
        result[:, block] = _sincos_of_turns(angles)
    sin, sin_low, cos, cos_low = result.reshape(4, *leading, count)
    return SinCos(Pair(sin, sin_low), Pair(cos, cos_low))


def blocks(rows: int, width: int) -> Iterator[slice]:
    """Yield slices of the rows, short enough for intermediate results to fit in the cache."""
    step = max(1, BLOCK // max(1, width))
    return (slice(start, start + step) for start in range(0, rows, step))


def by_parts(
    function: Callable[..., Iterable[Array]], places: Sequence[Values], *given: Values
) -> None:
    """Write ``function(*given)`` to ``places``, one part at a time.

    All axes but the last are halved until a part fits in the cache. The given arrays broadcast to
    one shape; ``places`` have its axes, but their last axis may differ in length.
    """
    shape = np.broadcast_shapes(*(array.shape for array in given))
    axis = next((axis - len(shape) for axis, size in enumerate(shape[:-1]) if size > 1), None)
    if axis is None or math.prod(shape) <= BLOCK:
        for place, result in zip(places, function(*given), strict=True):
            place[...] = result
        return
    middle = shape[axis] // 2
    for part in (slice(None, middle), slice(middle, None)):
        index: tuple[Any, ...] = (..., part, *[slice(None)] * (-axis - 1))
        sections = [
            array[index] if array.ndim >= -axis and array.shape[axis] > 1 else array
            for array in (*places, *given)
        ]
        by_parts(function, sections[: len(places)], *sections[len(places) :])


def _dropping_whole_turns(place: Pair, turns: Array) -> Pair:
    # Not both products in one call: NumPy broadcasts along three axes much more slowly.
    coarse, fine = two_product(place.high, turns[0]), two_product(place.high, turns[1])
    parts = [part - np.rint(part) for part in (coarse.high, coarse.low, fine.high)]
    first = two_sum(parts[0], parts[1])
    second = two_sum(first.high, parts[2])
    lows = first.low + second.low + fine.low + place.high * turns[2] + place.low * turns[0]
    total = two_sum(second.high, lows)
    return Pair(total.high - np.rint(total.high), total.low)


def _dropping_turns_of_few_bits(place: Pair, turns: Array) -> Pair:
    """Drop whole turns, for integer positions up to 2**26 and frequencies of at most one turn.

    The products of a position with a frequency's high 26 bits are exact; those with its low bits
    are below half a turn.
    """
    high, low = split(turns[0])
    first = place.high * high
    first -= np.rint(first)
    near = two_sum(first, place.high * low)
    total = two_sum(near.high, near.low + place.high * turns[1])
    return Pair(total.high - np.rint(total.high), total.low)


def _sincos_of_turns(turns: Pair) -> tuple[Array, Array, Array, Array]:
    """Compute the sine and cosine, two words each, of angles of at most half a turn."""
    nearest = np.rint(turns.high * _TABLE_SIZE)
    offset = turns.high - nearest * (1 / _TABLE_SIZE)
    turn_high, turn_low = _TURN_WORDS
    angle, angle_low = two_product(offset, turn_high)  # below 0.0062 radians
    angle_low = angle_low + offset * turn_low + turns.low * turn_high

    square = angle * angle
    sin_rest = angle + (angle_low - angle * square * (1 / 6 - square * (1 / 120 - square / 5040)))
    cos_rest_less_1 = -square * (1 / 2 - square * (1 / 24 - square / 720)) - angle * angle_low

    # Negative angles count from the end of the table, as negative indices do.
    index = nearest.astype(np.intp)
    sin, sin_low, cos, cos_low = (row[index] for row in _circle())
    return (
        *two_sum(sin, sin_low + (sin * cos_rest_less_1 + cos * sin_rest)),
        *two_sum(cos, cos_low + (cos * cos_rest_less_1 - sin * sin_rest)),
    )


@lru_cache(maxsize=1)
def _circle() -> Array:
    """Tabulate sine and cosine at 512 equal steps of the circle, as two words: shape [4, 512]."""
    with localcontext(prec=_DIGITS):
        step_cos = Decimal(0)  # the cosine of a quarter turn, which is halved seven times
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
