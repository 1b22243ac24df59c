"""Functions to a few bits more than float64, in as few array operations as possible.

:mod:`posenc.elementary` is right to about 2**-98 and takes hundreds of array operations for an
exponential. A layer is asked thousands of times in a run of the kit, and its result is rounded to
float64 in the end; for that a relative error of about 2**-58 is enough. Like there, only additions,
multiplications, divisions and square roots are used, so that the digits are the same on every
machine, and a result is a pair ``(high, low)`` whose sum is the value.
"""

from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from posenc.elementary import sum_last
from posenc.exact import Array, Pair, two_product, two_sum, words

_DIGITS = 50
_LOG_2 = Decimal("0.69314718055994530941723212145817656807550013436025525412")
_STEPS = 64
_STEP = _LOG_2 / _STEPS
_STEP_HIGH = float(int(_STEP * 2**40)) / 2.0**40  # of few bits: its products with counts are exact
_STEP_LOW = float(_STEP - Decimal(_STEP_HIGH))
_UNDERFLOW = -800.0

_ROOT_OF_2_PI = Decimal("2.5066282746310005024157652848110452530069867406099383166")
_CELLS = 8
"""Tabulated points of the normal distribution per unit."""
_FLAT = 10
"""Where the normal distribution is 0 or 1 to more than float64."""
_ORDER = 13


def dots(a: Pair, b: Pair) -> Pair:
    """Sum of ``a * b`` over the last axis; the other axes broadcast."""
    product = two_product(a.high, b.high)
    return sum_last(Pair(product.high, product.low + (a.high * b.low + a.low * b.high)))


def divide(a: Pair, b: Pair) -> Pair:
    """``a / b``; b is not zero."""
    ratio = a.high / b.high
    back = two_product(ratio, b.high)
    return two_sum(ratio, ((a.high - back.high) - back.low + a.low - ratio * b.low) / b.high)


def square_root(a: Pair) -> Pair:
    """The square root of numbers above zero."""
    root = np.sqrt(a.high)
    back = two_product(root, root)
    return two_sum(root, ((a.high - back.high) - back.low + a.low) / (2 * root))


def exp(a: Pair) -> Pair:
    """The exponential of numbers that are not far above zero; 0 far below it."""
    high = np.maximum(a.high, _UNDERFLOW)
    count = np.rint(high / _STEP_HIGH)
    rest = two_sum(high - count * _STEP_HIGH, -count * _STEP_LOW)  # at most 0.0055
    r, low = rest.high, rest.low + np.where(high == a.high, a.low, 0.0)
    bent = r * r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r / 720))))
    whole = count.astype(np.int64)
    power, power_low = _powers()[:, whole % _STEPS]
    result = two_sum(power, power_low + power * (r + (low + bent)))
    exponent = whole // _STEPS
    return Pair(np.ldexp(result.high, exponent), np.ldexp(result.low, exponent))


def softmax(logits: Pair, shown: npt.NDArray[np.bool_]) -> Pair:
    """Over the last axis, of the entries shown, of which every row has one; the others get 0."""
    largest = np.where(shown, logits.high, -np.inf).max(axis=-1, keepdims=True)
    shifted = two_sum(np.where(shown, logits.high, largest), -largest)
    weights = exp(Pair(shifted.high, shifted.low + logits.low))
    weights = Pair(np.where(shown, weights.high, 0.0), np.where(shown, weights.low, 0.0))
    total = sum_last(weights)
    return divide(weights, Pair(total.high[..., None], total.low[..., None]))


def gelu(a: Pair) -> Pair:
    """``a`` times the normal distribution function of ``a``, with an error relative to ``a``."""
    near = np.clip(a.high, -_FLAT, _FLAT)
    cell = np.rint(near * _CELLS)
    rest = (near - cell / _CELLS) + np.where(near == a.high, a.low, 0.0)  # at most 1/16
    table = _normal()
    index = cell.astype(np.int64) + _FLAT * _CELLS
    slope = table[_ORDER + 1][index]
    for order in range(_ORDER, 1, -1):
        slope = table[order][index] + rest * slope
    share = two_sum(table[0][index], table[1][index] + rest * slope)
    product = two_product(a.high, share.high)
    return two_sum(product.high, product.low + (a.high * share.low + a.low * share.high))


@lru_cache(maxsize=1)
def _powers() -> Array:
    """``2 ** (i / 64)`` as two words: shape [2, 64]."""
    with localcontext(prec=_DIGITS):
        ratio = (_STEP).exp()
        return np.array([words(ratio**i, 2) for i in range(_STEPS)]).T


@lru_cache(maxsize=1)
def _normal() -> Array:
    """Taylor coefficients of the normal distribution function about equally spaced points.

    Shape [15, points]: two words of the function itself, then the coefficients of orders 1 to 13.
    """
    with localcontext(prec=_DIGITS):
        step = Decimal(1) / _CELLS
        value, density = Decimal("0.5"), 1 / _ROOT_OF_2_PI
        rows = []
        for i in range(_FLAT * _CELLS + 1):
            # The density g has g' = -x g, hence (n+1) g_{n+1} = -(x g_n + g_{n-1}).
            terms = [density, -i * step * density]
            for n in range(1, 40):
                terms.append(-(i * step * terms[n] + terms[n - 1]) / (n + 1))
            taylor = [float(terms[n] / (n + 1)) for n in range(_ORDER)]
            rows.append([*words(value, 2), *taylor])
            if i:
                mirrored = [(-1) ** n * term for n, term in enumerate(taylor)]
                rows.insert(0, [*words(1 - value, 2), *mirrored])
            value += sum(term * step ** (n + 1) / (n + 1) for n, term in enumerate(terms))
            density = sum((term * step**n for n, term in enumerate(terms)), Decimal(0))
    return np.array(rows).T
