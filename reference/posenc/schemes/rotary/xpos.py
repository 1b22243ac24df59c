"""xPos: rotary embedding whose pairs shrink on queries and grow on keys.

Source: Sun et al. 2022, "A Length-Extrapolatable Transformer", arXiv 2212.10554; torchscale's XPOS
for the base of the scale and the centre.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation
from posenc.elementary import pair, times
from posenc.exact import Array, Pair, in_words, power, sincos, turns_per_position

__all__ = ["xpos", "xpos_vjp"]

Whole = npt.NDArray[np.int64]

CENTERS = ("zero", "ceiling", "floor")
LAYOUTS = ("interleaved", "half")

_DIGITS = 60
_LARGEST_LOGARITHM = 600


def xpos(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    scale_base: float = 512.0,
    downscale: int = 0,
    center: str = "zero",
    layout: str = "interleaved",
) -> npt.NDArray[np.floating]:
    """Rotate each pair of queries or keys as in RoPE; scale it by a power that depends on position.

    Pair t of d channels, at position m, is multiplied by ``zeta ** ((m - c) / scale_base)`` with
    ``zeta = (2t / d + 0.4) / 1.4``, and divided by it on keys. In a score, this amounts to
    ``zeta ** (distance / scale_base)``, for any centre c.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes.
    positions : integer array of shape [n], or one that broadcasts to x.shape[:-1]
        Position of each row, in any order; at most 2**53 in magnitude.
    base : float
        Base of the geometric progression of frequencies.
    scale_base : float
        Distance over which a score is multiplied by zeta; above 0.
    downscale : int
        0 for queries, 1 for keys.
    center : "zero", "ceiling" or "floor"
        c is 0, or half the length of the text rounded up or down. The length is the largest
        position plus 1.
    layout : "interleaved" or "half"
        Pairs are channels (2t, 2t+1), or (t, t + d/2).

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError
        If x is not floating or positions are not integers.
    ValueError
        If an argument is out of its domain, shapes do not fit, or a position is so far from the
        centre that the scale exceeds the range of float64.
    """
    return _turned(
        x,
        positions,
        base=base,
        scale_base=scale_base,
        downscale=downscale,
        center=center,
        layout=layout,
        forward=True,
    )


def xpos_vjp(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    scale_base: float = 512.0,
    downscale: int = 0,
    center: str = "zero",
    layout: str = "interleaved",
) -> npt.NDArray[np.floating]:
    """Return the gradient of a loss with respect to the x of :func:`xpos`.

    The gradient with respect to the result is multiplied by the transpose, which is not the
    inverse: each pair rotates back, but its scale is that of the forward pass.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Gradient with respect to the rotated and scaled queries or keys.
    positions, base, scale_base, downscale, center, layout
        As in :func:`xpos`.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError, ValueError
        As :func:`xpos`.
    """
    return _turned(
        x,
        positions,
        base=base,
        scale_base=scale_base,
        downscale=downscale,
        center=center,
        layout=layout,
        forward=False,
    )


def _turned(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float,
    scale_base: float,
    downscale: int,
    center: str,
    layout: str,
    forward: bool,
) -> npt.NDArray[np.floating]:
    arguments.choice("center", center, CENTERS)
    arguments.choice("layout", layout, LAYOUTS)
    values = rotation.queries_or_keys("x", x)
    size = rotation.width(None, values.shape[-1])
    if arguments.integer("downscale", downscale, 0) > 1:
        raise ValueError(f"downscale is {downscale}; it must be 0 for queries or 1 for keys")
    distance = float(scale_base)
    if not (np.isfinite(distance) and distance > 0):
        raise ValueError(f"scale_base is {scale_base!r}; it must be a finite number above 0")
    where = rotation.rows(positions, values.shape)
    steps = where - _center(where, center)
    scale = _powers(-steps if downscale else steps, size, distance)
    turns = turns_per_position(arguments.base(base), Fraction(2, size), size // 2)
    sin, cos = sincos(where if forward else -where, turns)
    return rotation.turned(values, times(sin, scale), times(cos, scale), layout, layout)


def _center(where: Array, center: str) -> int:
    """Return the centre c, in integer arithmetic: the length of a text may be 2**53 + 1."""
    length = int(np.max(where, initial=-1)) + 1
    return {"zero": 0, "ceiling": -(-length // 2), "floor": length // 2}[center]


def _powers(steps: Array, size: int, scale_base: float) -> Pair:
    """Return ``zeta ** (steps / scale_base)`` for every pair: shape [..., size / 2].

    Every power is a product of tabulated powers, one for each hexadecimal digit of the steps.
    """
    largest = float(np.max(np.abs(steps), initial=0.0))
    if largest / scale_base * -np.log(float(_zeta(0, size))) > _LARGEST_LOGARITHM:
        raise ValueError(
            f"a position lies {largest:.0f} from the centre: with scale_base {scale_base:g} "
            "its scale leaves the range of float64"
        )
    sign = (steps < 0).astype(np.int64)
    count = np.abs(steps).astype(np.int64)
    result = _tabulated(size, scale_base, 0, sign, count & 15)
    for digit in range(1, (int(largest).bit_length() + 3) // 4):
        result = times(result, _tabulated(size, scale_base, digit, sign, count >> 4 * digit & 15))
    return result


def _zeta(t: int, size: int) -> Fraction:
    """Return ``(2t / d + 0.4) / 1.4``."""
    return (Fraction(2 * t, size) + Fraction(2, 5)) / Fraction(7, 5)


def _tabulated(size: int, scale_base: float, digit: int, sign: Whole, value: Whole) -> Pair:
    """Return ``zeta ** (±value * 16**digit / scale_base)`` of each row, for every pair."""
    table = _table(size, scale_base, digit)
    return Pair(table.high[value, sign], table.low[value, sign])


@lru_cache(maxsize=256)
def _table(size: int, scale_base: float, digit: int) -> Pair:
    """Tabulate the first 16 powers, and those of the reciprocal: shape [16, 2, size / 2]."""
    unit = _unit(size, scale_base, digit)
    with localcontext(prec=_DIGITS):
        both = [*unit, *(1 / entry for entry in unit)]
    high, low = in_words(both, 2).reshape(2, 2, len(unit))
    rows = [pair(np.ones_like(high))]
    for _ in range(15):
        rows.append(times(rows[-1], Pair(high, low)))
    return Pair(np.stack([row.high for row in rows]), np.stack([row.low for row in rows]))


@lru_cache(maxsize=256)
def _unit(size: int, scale_base: float, digit: int) -> tuple[Decimal, ...]:
    """Return ``zeta ** (16**digit / scale_base)`` for every pair."""
    if digit == 0:
        exponent = 1 / Fraction(scale_base)
        return tuple(power(_zeta(t, size), exponent) for t in range(size // 2))
    with localcontext(prec=_DIGITS):
        return tuple(entry**16 for entry in _unit(size, scale_base, digit - 1))
