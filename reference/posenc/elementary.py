"""Elementary functions and sums to more than float64, in float64 arithmetic alone.

The libraries that NumPy calls for exponentials and logarithms differ between machines in the last
bit, and a long sum depends on its order. What is computed here is a pair ``(high, low)`` whose sum
is right to about 2**-98, so that its rounding to float64 is the same on every machine.

Source of the sums and products: Dekker 1971; Ogita, Rump and Oishi 2005, "Accurate Sum and Dot
Product".
"""

from decimal import Decimal, localcontext

import numpy as np

from posenc.exact import Array, Pair, two_product, two_sum, words

_LOG_2 = words(
    Decimal("0.69314718055994530941723212145817656807550013436025525412068000949339362196969"), 3
)
_TWO_OVER_ROOT_PI = words(
    Decimal("1.1283791670955125738961589031215451716881012586579977136881714434212849368829868"), 2
)
_HALVINGS = 6
_TERMS = 12
_OVERFLOW = 700.0
_ERF_IS_1 = 6.5
_ERF_TERMS = 190


def _reciprocal(n: int) -> Pair:
    with localcontext(prec=40):
        return Pair(*(np.asarray(word) for word in words(1 / Decimal(n), 2)))


_RECIPROCALS = {n: _reciprocal(n) for n in range(2, 2 * _ERF_TERMS + 2)}


def pair(values: Array | float) -> Pair:
    """Float64 values as they are."""
    high = np.asarray(values, dtype=np.float64)
    return Pair(high, np.zeros_like(high))


def total(value: Pair) -> Array:
    """The nearest float64."""
    return value.high + value.low


def add(a: Pair, b: Pair) -> Pair:
    """``a + b``."""
    high, low = two_sum(a.high, b.high), two_sum(a.low, b.low)
    first = two_sum(high.high, high.low + low.high)
    return two_sum(first.high, first.low + low.low)


def negative(a: Pair) -> Pair:
    """``-a``."""
    return Pair(-a.high, -a.low)


def times(a: Pair, b: Pair) -> Pair:
    """``a * b``."""
    product = two_product(a.high, b.high)
    return two_sum(product.high, product.low + (a.high * b.low + a.low * b.high))


def divide(a: Pair, b: Pair) -> Pair:
    """``a / b``; b is not zero."""
    first = a.high / b.high
    rest = add(a, negative(times(pair(first), b)))
    second = rest.high / b.high
    rest = add(rest, negative(times(pair(second), b)))
    return add(two_sum(first, second), pair(rest.high / b.high))


def square_root(a: float) -> Pair:
    """The square root of a number above zero."""
    value = pair(a)
    first = np.sqrt(value.high)
    rest = add(value, negative(times(pair(first), pair(first))))
    return two_sum(first, rest.high / (2 * first))


def exp(a: Pair) -> Pair:
    """The exponential: 0 far below zero, ``-inf`` included; not for values above 700."""
    high = np.clip(a.high, -_OVERFLOW - 100, _OVERFLOW)
    low = np.where(high == a.high, a.low, 0.0)
    doublings = np.rint(high / _LOG_2[0])
    rest = Pair(high, low)
    for word in _LOG_2:
        rest = add(rest, negative(two_product(doublings, word)))
    small = Pair(rest.high / 2**_HALVINGS, rest.low / 2**_HALVINGS)
    # exp(small) - 1 by Taylor's series, and then (1 + y)**2 - 1 = 2 y + y**2, so that the small
    # part is never rounded against the 1.
    less_1 = pair(np.ones_like(high))
    for n in range(_TERMS, 1, -1):
        less_1 = add(pair(np.ones_like(high)), times(less_1, times(small, _RECIPROCALS[n])))
    less_1 = times(less_1, small)
    for _ in range(_HALVINGS):
        less_1 = add(Pair(2 * less_1.high, 2 * less_1.low), times(less_1, less_1))
    result = add(pair(np.ones_like(high)), less_1)
    exponent = doublings.astype(np.int64)
    return Pair(np.ldexp(result.high, exponent), np.ldexp(result.low, exponent))


def log(a: Pair) -> Pair:
    """The natural logarithm of values above zero, by one step of Newton's method."""
    guess = np.log(a.high)
    left = add(times(a, exp(pair(-guess))), pair(-np.ones_like(guess)))
    return add(pair(guess), Pair(left.high, left.low - left.high * left.high / 2))


def sigmoid(a: Pair) -> Pair:
    """``1 / (1 + exp(-a))``."""
    one = pair(np.ones_like(a.high))
    return divide(one, add(one, exp(negative(a))))


def erf(a: Pair) -> Pair:
    """The error function: ``2 / sqrt(pi) * exp(-a**2) * sum 2**n a**(2n+1) / (2n+1)!!``."""
    far = np.abs(a.high) > _ERF_IS_1
    near = Pair(np.where(far, 1.0, a.high), np.where(far, 0.0, a.low))
    square = times(near, near)
    series = term = near
    for n in range(1, _ERF_TERMS):
        twice = Pair(2 * square.high, 2 * square.low)
        term = times(times(term, twice), _RECIPROCALS[2 * n + 1])
        series = add(series, term)
        if not np.any(np.abs(term.high) > 2.0**-110 * np.abs(series.high)):
            break
    scale = Pair(*(np.asarray(word) for word in _TWO_OVER_ROOT_PI))
    value = times(times(scale, exp(negative(square))), series)
    return Pair(np.where(far, np.sign(a.high), value.high), np.where(far, 0.0, value.low))


def dot(a: Array, b: Array) -> Pair:
    """Sum of ``a * b`` over the last axis; the other axes broadcast."""
    return sum_last(two_product(*np.broadcast_arrays(a, b)))


def sum_last(a: Pair) -> Pair:
    """Sum over the last axis, by halves."""
    high, low = a
    if high.shape[-1] == 0:
        return pair(np.zeros(high.shape[:-1]))
    while (count := high.shape[-1]) > 1:
        half = count // 2
        added = two_sum(high[..., :half], high[..., half : 2 * half])
        rest = added.low + (low[..., :half] + low[..., half : 2 * half])
        high = np.concatenate([added.high, high[..., 2 * half :]], axis=-1)
        low = np.concatenate([rest, low[..., 2 * half :]], axis=-1)
    return two_sum(high[..., 0], low[..., 0])


def softmax(logits: Pair) -> Pair:
    """Over the last axis; ``-inf`` hides an entry, but not all of a row may be hidden."""
    largest = logits.high.max(axis=-1, keepdims=True)
    shown = np.isfinite(logits.high)
    shifted = add(
        Pair(np.where(shown, logits.high, 0.0), np.where(shown, logits.low, 0.0)), pair(-largest)
    )
    weights = exp(Pair(np.where(shown, shifted.high, -np.inf), np.where(shown, shifted.low, 0.0)))
    sums = sum_last(weights)
    return divide(weights, Pair(sums.high[..., None], sums.low[..., None]))
