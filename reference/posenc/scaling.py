"""Helpers shared by all schemes that scale rotary frequencies."""

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation
from posenc.exact import power, powers, progression, sincos, turns

LAYOUTS = ("interleaved", "half")
DIGITS = 80

Frequencies = tuple[Decimal, ...]
"""Frequency of each pair in radians per position, to about 80 digits."""


def number(name: str, value: float, least: float) -> float:
    """Check that a number is finite and at least ``least``, and return it as a float."""
    result = float(value)
    if not (np.isfinite(result) and result >= least):
        raise ValueError(f"{name} is {value!r}; it must be a finite number of at least {least:g}")
    return result


def even(rotary_dim: int, least: int = 2) -> int:
    """Check that ``rotary_dim`` is even and at least ``least``, and return it."""
    size = arguments.integer("rotary_dim", rotary_dim, least)
    if size % 2:
        raise ValueError(f"rotary_dim is {size}; it must be even to make pairs")
    return size


def unscaled(rotary_dim: int, base: float) -> Frequencies:
    """Return the unscaled rotary frequencies: ``base ** (-2t / rotary_dim)``."""
    return tuple(progression(base, Fraction(2, rotary_dim), rotary_dim // 2))


@lru_cache(maxsize=8)
def stretched(rotary_dim: int, base: float, stretch: Fraction) -> Frequencies:
    """Return the frequencies of rotary embedding with a stretched base.

    With d channels, the base is ``base * stretch ** (d / (d-2))``. Raises ValueError if d is 2.
    """
    if rotary_dim == 2:
        raise ValueError("two channels cannot be stretched: the exponent d / (d-2) divides by zero")
    with localcontext(prec=DIGITS):
        ratio = power(base, Fraction(-2, rotary_dim)) * power(stretch, Fraction(-2, rotary_dim - 2))
        return tuple(powers(ratio, rotary_dim // 2))


def rounded(frequencies: Frequencies, dtype: npt.DTypeLike) -> npt.NDArray[np.floating]:
    """Return the frequencies rounded to ``dtype``: shape [rotary_dim / 2]."""
    return np.array([float(frequency) for frequency in frequencies]).astype(dtype)


def rotated(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    layout: str,
    frequencies: Callable[[int], Frequencies],
) -> npt.NDArray[np.floating]:
    """Rotate each channel pair of x by position times frequency.

    ``frequencies`` takes the number of channels; the result has the shape and dtype of x and is
    rounded once.
    """
    arguments.choice("layout", layout, LAYOUTS)
    values = rotation.queries_or_keys("x", x)
    size = rotation.width(None, values.shape[-1])
    sin, cos = sincos(rotation.rows(positions, values.shape), turns(frequencies(size)))
    return rotation.turned(values, sin, cos, layout, layout)
