"""Sums and elementary functions, a few bits more precise than float64, in float64 arithmetic only.

The libraries that NumPy calls for exponentials and logarithms differ between machines in the last
bit, and a long sum depends on its order. Here only additions, multiplications, divisions and square
roots are used, so the digits are the same on every machine. A result is a pair ``(high, low)``
whose sum is the value: sums, products, quotients and roots to about 2**-100, sums of very many
products to 2**-73, functions to 2**-57, so that the rounding to float64 is the only noticeable
error.

Source of the sums and products: Dekker 1971; Ogita, Rump and Oishi 2005, "Accurate Sum and Dot
Product".
"""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from posenc.exact import BLOCK, Array, Pair, by_parts, two_product, two_sum, words

_DIGITS = 50
_LOG_2 = Decimal("0.69314718055994530941723212145817656807550013436025525412")
_LOG_2_WORDS = words(_LOG_2, 2)
_STEPS = 64
"""Number of tabulated powers of two from 1 to 2, and of tabulated logarithms per unit."""
_STEP = _LOG_2 / _STEPS
_STEP_HIGH = float(int(_STEP * 2**40)) / 2.0**40  # few bits, so that products with counts are exact
_STEP_LOW = float(_STEP - Decimal(_STEP_HIGH))
_UNDERFLOW = -800.0

_ROOT_OF_2_PI = Decimal("2.5066282746310005024157652848110452530069867406099383166")
_CELLS = 8
"""Number of tabulated points of the normal distribution function per unit."""
_FLAT = 10
"""Distance from 0 at which the normal distribution function equals 0 or 1 in float64."""
_ORDER = 13
_SLICES = 5
_ENOUGH = 2.0**-75


def pair(values: npt.NDArray[np.floating] | float) -> Pair:
    """Return numbers of float64 or a narrower dtype as pairs, exactly."""
    high = np.asarray(values, dtype=np.float64)
    return Pair(high, np.zeros_like(high))


def total(value: Pair) -> Array:
    """Return the float64 that is nearest to a pair."""
    return value.high


def expanded(a: Pair, axis: int) -> Pair:
    """Insert an axis of length 1."""
    return Pair(*(np.expand_dims(part, axis) for part in a))


def add(a: Pair, b: Pair) -> Pair:
    """Return ``a + b``."""
    high = two_sum(a.high, b.high)
    return two_sum(high.high, high.low + (a.low + b.low))


def negative(a: Pair) -> Pair:
    """Return ``-a``."""
    return Pair(-a.high, -a.low)


def times(a: Pair, b: Pair) -> Pair:
    """Return ``a * b``."""
    product = two_product(a.high, b.high)
    return two_sum(product.high, product.low + (a.high * b.low + a.low * b.high))


def divide(a: Pair, b: Pair) -> Pair:
    """Return ``a / b``, where b is not zero."""
    ratio = a.high / b.high
    back = two_product(ratio, b.high)
    return two_sum(ratio, ((a.high - back.high) - back.low + a.low - ratio * b.low) / b.high)


def square_root(a: Pair | float) -> Pair:
    """Return the square root of numbers above zero."""
    value = a if isinstance(a, Pair) else pair(a)
    root = np.sqrt(value.high)
    back = two_product(root, root)
    return two_sum(root, ((value.high - back.high) - back.low + value.low) / (2 * root))


def dot(a: Array, b: Array) -> Pair:
    """Return the sum of ``a * b`` over the last axis; the other axes broadcast."""
    return _of_slices(pair(a), pair(b)) or summed(two_product, a, b)


def dots(a: Pair, b: Pair) -> Pair:
    """Return the sum of ``a * b`` over the last axis of pairs; the other axes broadcast."""
    return _of_slices(a, b) or summed(_product, *a, *b)


def _of_slices(a: Pair, b: Pair) -> Pair | None:
    """Sum ``a * b`` by slices whose products have exact sums in float64.

    Returns None for small arrays, where direct summation is faster, and where the sizes of a
    row's numbers require more than _SLICES slices.
    """
    if math.prod(np.broadcast_shapes(a.high.shape, b.high.shape)) <= BLOCK:
        return None
    bits = (53 - (a.high.shape[-1] - 1).bit_length()) // 2
    both = list[list[Array]]()
    for factor in (a, b):
        parts, sufficient = slices(factor, bits, _SLICES, _ENOUGH)
        if not sufficient:
            return None
        both.append(parts)
    products = (_sums(left, right) for left in both[0] for right in both[1])
    sums = pair(next(products))
    for product in products:
        added = two_sum(sums.high, product)
        sums = Pair(added.high, sums.low + added.low)
    return two_sum(*sums)


def _sums(a: Array, b: Array) -> Array:
    """Sum ``a * b`` over the last axis in any order, as a matrix product if the shapes allow."""
    for rows, columns in ((a, b), (b, a)):
        if rows.ndim > 2 and rows.shape[-2] == 1 and columns.ndim > 1:
            if columns.ndim == 2:
                return np.asarray(rows[..., 0, :] @ columns.T)
            if columns.shape[-3] == 1:
                return np.asarray(rows[..., 0, :] @ columns[..., 0, :, :].swapaxes(-1, -2))
    return np.asarray(np.einsum("...i,...i->...", a, b))


def slices(a: Pair, bits: int, most: int, enough: float) -> tuple[list[Array], bool]:
    """Split ``a`` into slices of few bits that add up to it; return them and whether they suffice.

    Each slice contains integers below 2**bits times a power of two per row. There are at most
    ``most`` slices; they suffice once the residual of every number is at most ``enough`` times the
    number. Source: Ozaki, Ogita, Oishi and Rump 2012, "Error-free transformations of matrix
    multiplication".
    """
    parts, size = list[Array](), np.abs(a.high)
    exponent = np.frexp(size.max(axis=-1, keepdims=True, initial=0))[1]
    residual, low = a
    in_words = low.any()
    for number in range(most):
        shift = np.ldexp(1.5, exponent + (52 - bits - number * (bits + 1)))
        parts.append((residual + shift) - shift)
        residual = residual - parts[-1]
        if in_words:
            residual, low = two_sum(residual, low)
        if (np.abs(residual) <= enough * size).all():
            return parts, True
    return parts, False


def _product(a: Array, a_low: Array, b: Array, b_low: Array) -> Pair:
    product = two_product(a, b)
    return Pair(product.high, product.low + (a * b_low + a_low * b))


def summed(product: Callable[..., Pair], *given: Array) -> Pair:
    """Sum ``product(*given)`` over the last axis; the arrays broadcast."""
    shape = np.broadcast_shapes(*(array.shape for array in given))
    sums = np.empty((2, *shape[:-1], 1))

    def sum_of(*some: Array) -> list[Array]:
        return [part[..., None] for part in sum_last(product(*some))]

    by_parts(sum_of, tuple(sums), *given)
    return Pair(*sums[..., 0])


def sum_last(a: Pair) -> Pair:
    """Sum over the last axis by repeated halving."""
    high, low = a
    if high.shape[-1] == 0:
        return pair(np.zeros(high.shape[:-1]))
    while (count := high.shape[-1]) > 1:
        half = count // 2
        added = two_sum(high[..., :half], high[..., half : 2 * half])
        lows = added.low + (low[..., :half] + low[..., half : 2 * half])
        odd = count % 2 == 1
        high = np.concatenate([added.high, high[..., -1:]], axis=-1) if odd else added.high
        low = np.concatenate([lows, low[..., -1:]], axis=-1) if odd else lows
    return two_sum(high[..., 0], low[..., 0])


def sums_by_row(values: npt.NDArray[np.floating], rows: npt.NDArray[np.int64], count: int) -> Array:
    """Sum the values of each table row for each head, rounding each sum once.

    ``values`` has shape [heads, ...]; ``rows`` has the shape of one head and contains the row
    of each value. The sums have shape [count, heads].
    """
    order = np.argsort(rows, axis=None, kind="stable")
    edges = np.searchsorted(rows.ravel()[order], np.arange(count + 1)).tolist()
    heads = [head.ravel()[order].tolist() for head in values.astype(np.float64)]
    sums = [[math.fsum(head[first:end]) for head in heads] for first, end in pairwise(edges)]
    return np.array(sums).reshape(count, len(values))


def exp(a: Pair) -> Pair:
    """Return the exponential of numbers below 700: 0 far below zero and at ``-inf``."""
    high = np.maximum(a.high, _UNDERFLOW)
    count = np.rint(high / _STEP_HIGH)
    remainder = two_sum(high - count * _STEP_HIGH, -count * _STEP_LOW)  # at most 0.0055
    r, low = remainder.high, remainder.low + np.where(high == a.high, a.low, 0.0)
    bent = r * r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r / 720))))
    whole = count.astype(np.int64)
    power, power_low = _powers()[:, whole % _STEPS]
    result = two_sum(power, power_low + power * (r + (low + bent)))
    exponent = whole // _STEPS
    return Pair(np.ldexp(result.high, exponent), np.ldexp(result.low, exponent))


def log(a: Pair) -> Pair:
    """Return the natural logarithm of numbers above zero."""
    fraction, exponent = np.frexp(a.high)
    below = fraction < 0.75
    m = np.where(below, 2 * fraction, fraction)  # from 0.75 to 1.5
    doublings = exponent - below
    near = np.rint(m * _STEPS)
    centre = near / _STEPS
    remainder = Pair(m - centre, np.ldexp(a.low, -doublings))
    r = divide(remainder, pair(centre))  # at most 1/96; 0 where m is 1
    x = r.high
    inner = 1 / 4 - x * (1 / 5 - x * (1 / 6 - x * (1 / 7 - x * (1 / 8 - x / 9))))
    bent = -x * x * (1 / 2 - x * (1 / 3 - x * inner))
    logarithm, logarithm_low = _logarithms()[:, near.astype(np.int64) - 48]
    log_2, log_2_low = _LOG_2_WORDS
    whole = two_product(doublings, log_2)
    result = add(add(whole, Pair(logarithm, logarithm_low)), Pair(x, r.low - x * r.low + bent))
    return two_sum(result.high, result.low + doublings * log_2_low)


def sigmoid(a: Pair) -> Pair:
    """Return ``1 / (1 + exp(-a))``."""
    ones = pair(np.ones_like(a.high))
    bounded = np.maximum(a.high, -600.0)  # the sigmoid is below 1e-260 there
    return divide(ones, add(ones, exp(Pair(-bounded, np.where(bounded == a.high, -a.low, 0.0)))))


def softmax(logits: Pair) -> Pair:
    """Return the softmax over the last axis.

    ``-inf`` masks an entry; every row needs an unmasked entry.
    """
    shown = np.isfinite(logits.high)
    largest = logits.high.max(axis=-1, keepdims=True)
    shifted = two_sum(np.where(shown, logits.high, largest), -largest)
    weights = exp(Pair(shifted.high, shifted.low + np.where(shown, logits.low, 0.0)))
    weights = Pair(np.where(shown, weights.high, 0.0), np.where(shown, weights.low, 0.0))
    sums = sum_last(weights)
    return divide(weights, Pair(sums.high[..., None], sums.low[..., None]))


def gelu(a: Pair) -> Pair:
    """Return ``a`` times the normal distribution function of ``a``.

    The error is relative to ``a``.
    """
    near = np.clip(a.high, -_FLAT, _FLAT)
    cell = np.rint(near * _CELLS)
    offset = (near - cell / _CELLS) + np.where(near == a.high, a.low, 0.0)  # at most 1/16
    table = _normal()
    index = cell.astype(np.int64) + _FLAT * _CELLS
    slope = table[_ORDER + 1][index]
    for order in range(_ORDER, 1, -1):
        slope = table[order][index] + offset * slope
    share = two_sum(table[0][index], table[1][index] + offset * slope)
    product = two_product(a.high, share.high)
    return two_sum(product.high, product.low + (a.high * share.low + a.low * share.high))


@lru_cache(maxsize=1)
def _powers() -> Array:
    """Tabulate ``2 ** (i / 64)`` as two words: shape [2, 64]."""
    with localcontext(prec=_DIGITS):
        ratio = (_STEP).exp()
        return np.array([words(ratio**i, 2) for i in range(_STEPS)]).T


@lru_cache(maxsize=1)
def _logarithms() -> Array:
    """Tabulate ``log(i / 64)`` for i = 48 … 96 as two words: shape [2, 49]."""
    with localcontext(prec=_DIGITS):
        return np.array([words((Decimal(i) / _STEPS).ln(), 2) for i in range(48, 97)]).T


@lru_cache(maxsize=1)
def _normal() -> Array:
    """Tabulate Taylor expansions of the normal distribution function about equally spaced points.

    The shape is [15, points]: two words of the function itself, then the coefficients of orders
    1 to 13.
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
