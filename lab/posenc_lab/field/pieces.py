"""Code that kernels share: rotations, slopes and buckets as usually written."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Answer = Callable[..., Any]
"""A kernel: the function that an adapter's method calls."""


def omega(dim: int, base: float) -> Array:
    """Return the rotary frequencies of shape [dim/2]."""
    return np.asarray(float(base) ** -(np.arange(0, dim, 2) / dim))


def bf16(values: Any) -> Array:
    """Round values to bfloat16; the result is float64."""
    return np.asarray(values, np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)


def outer(positions: Array, frequencies: Array) -> Array:
    """Return the rotation angle of each row and pair in float64, of shape [rows, pairs]."""
    return np.multiply.outer(positions.astype(np.float64), frequencies)


def halves(x: Array, angles: Array) -> Array:
    """Rotate x in the half layout: channel i is paired with channel i + d/2."""
    wave = np.concatenate([angles, angles], axis=-1)
    wide = x.astype(np.float64)
    first, second = np.split(wide, 2, axis=-1)
    turned = np.concatenate([-second, first], axis=-1)
    return np.asarray((wide * np.cos(wave) + turned * np.sin(wave)).astype(x.dtype))


def slopes(heads: int) -> Array:
    """Return ALiBi's slopes as released, of shape [heads]."""
    whole = 2 ** int(np.log2(heads))
    first = 2.0 ** (-8 * np.arange(1, whole + 1) / whole)
    more = 2.0 ** (-4 * np.arange(1, 2 * (heads - whole), 2) / whole)
    return np.concatenate([first, more])


def t5_buckets(relative: Array, count: int, longest: int, both: bool) -> Array:
    """Return T5's bucket of each relative position (key minus query)."""
    side = count // 2 if both else count
    ahead = np.where(relative > 0, side, 0) if both else 0
    distance = np.abs(relative) if both else -np.minimum(relative, 0)
    exact = side // 2
    far = np.log(np.maximum(distance, 1) / exact) / np.log(longest / exact) * (side - exact)
    large = np.minimum(exact + np.floor(far).astype(np.int64), side - 1)
    return np.asarray(ahead + np.where(distance < exact, distance, large))
