"""Helpers for right implementations in many styles and precisions; the kit must pass them all.

Each registered class is an adapter; where it rounds more than necessary, released code does too.
"""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FLOATS = ("float64", "float32", "bfloat16", "float16")
NARROW = ("float32", "bfloat16", "float16")
KINDS: dict[str, Any] = {
    "float64": np.float64,
    "float32": np.float32,
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
}
COLUMNS: dict[str, Any] = {
    "dtype": FLOATS,
    "head_dim": [4, 6, 8, 16],
    "max_position": 2**30,
    "domain": "negative",
}
"""Claims for backward passes of scaled rotations that are computed column by column."""
RIGHT: list[Callable[[], object]] = []


def right(make: Callable[[], object]) -> Callable[[], object]:
    """Register an adapter that the kit must pass, and return it."""
    RIGHT.append(make)
    return make


def even(dim: int) -> None:
    """Refuse a number of channels that is odd or below 2."""
    if dim < 2 or dim % 2:
        raise ValueError(f"{dim} channels cannot be filled with pairs")


def rotate_half(x: Array) -> Array:
    half = x.shape[-1] // 2
    return np.concatenate([-x[..., half:], x[..., :half]], axis=-1)


def rotate_every_two(x: Array) -> Array:
    return np.stack([-x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)


def by_columns(forward: Callable[..., Array], x: Array, *arguments: Any, **keywords: Any) -> Array:
    """Return x times the transposed Jacobian of a linear ``forward``, by columns in float64."""
    wide = x.astype(np.float64)
    out = np.empty_like(wide)
    for channel in range(x.shape[-1]):
        unit = np.zeros_like(wide)
        unit[..., channel] = 1
        out[..., channel] = (wide * forward(unit, *arguments, **keywords)).sum(axis=-1)
    return out.astype(x.dtype)
