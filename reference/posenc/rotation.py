"""Rotation of channel pairs, shared by all rotary schemes."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.exact import Array, Pair, Values, by_parts, split, two_sum

Real = TypeVar("Real", bound=np.floating)
Turn = TypeVar("Turn", bound=Callable[..., npt.NDArray[np.floating]])
LAYOUTS = ("interleaved", "half", "interleaved-to-half")
READ = {"interleaved": "interleaved", "half": "half", "interleaved-to-half": "interleaved"}
WRITTEN = {"interleaved": "interleaved", "half": "half", "interleaved-to-half": "half"}


def queries_or_keys(name: str, x: npt.ArrayLike) -> npt.NDArray[np.floating]:
    """Check that x is floating, of shape [..., n, head_dim], and return it as an array."""
    values = np.asarray(x)
    if values.dtype.kind not in "fV":
        raise TypeError(f"{name} is {values.dtype}; integers would cut the rotated values")
    if values.ndim < 2:
        raise ValueError(f"{name} has shape {values.shape}; it must be [..., n, head_dim]")
    return values


def rows(positions: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return positions as float64; refuse those that do not broadcast to the rows of x.

    ``shape`` is the shape of x, [..., n, head_dim].
    """
    where = arguments.positions(positions)
    try:
        fitting = np.broadcast_shapes(where.shape, shape[:-1]) == shape[:-1]
    except ValueError:
        fitting = False
    if not fitting:
        raise ValueError(f"positions have shape {where.shape} but x has rows of shape {shape[:-1]}")
    return where


def transpose(turn: Turn) -> Turn:
    """Return the transpose (VJP) of ``turn``, which rotates the pairs of x by positions.

    It takes the same arguments. The transpose of a rotation is the rotation by the negative
    position. A factor on the pairs is kept, so the transpose is not always the inverse.
    """

    @wraps(turn)
    def backward(
        x: npt.ArrayLike, positions: npt.ArrayLike, *others: Any, **keywords: Any
    ) -> npt.NDArray[np.floating]:
        arguments.positions(positions)
        return turn(x, -np.asarray(positions, dtype=np.int64), *others, **keywords)

    backward.__name__ = backward.__qualname__ = f"{turn.__name__}_vjp"
    backward.__doc__ = f"Gradient by the x of :func:`{turn.__name__}`, from that by its result."
    return cast(Turn, backward)


def width(rotary_dim: int | None, head_dim: int) -> int:
    """Return the number of rotated channels; None means all of them."""
    rotated = head_dim if rotary_dim is None else arguments.integer("rotary_dim", rotary_dim, 2)
    if rotated % 2 or not 2 <= rotated <= head_dim:
        name = "head_dim" if rotary_dim is None else "rotary_dim"
        most = "" if rotary_dim is None else f", and at most head_dim ({head_dim})"
        raise ValueError(f"{name} is {rotated}; it must be even, at least 2{most}")
    return rotated


def turned(
    values: npt.NDArray[np.floating], sin: Pair, cos: Pair, read: str, written: str
) -> npt.NDArray[np.floating]:
    """Multiply each pair of the leading channels by (cos + i sin); the others stay unchanged.

    Values have shape [..., n, head_dim], sin and cos, which may include a factor, [..., n, r/2].
    Pair t is read from, and written to, channels (2t, 2t+1) if ``"interleaved"`` and (t, t + r/2)
    if ``"half"``. The result has the dtype of values and is rounded once.
    """
    rotated = 2 * cos.high.shape[-1]
    out = np.array(values)
    sources, places = pairs(values[..., :rotated], read), pairs(out[..., :rotated], written)
    if values.dtype.itemsize < np.dtype(np.float64).itemsize:
        by_parts(_product, places, *sources, cos.high, sin.high)
    else:
        by_parts(_exact_product, places, *sources, *_in_two(cos), *_in_two(sin))
    return out


def pairs(x: npt.NDArray[Real], layout: str) -> tuple[npt.NDArray[Real], npt.NDArray[Real]]:
    """Return the first and the second channel of each pair."""
    half = x.shape[-1] // 2
    return (x[..., :half], x[..., half:]) if layout == "half" else (x[..., 0::2], x[..., 1::2])


def _product(first: Values, second: Values, cos: Array, sin: Array) -> tuple[Array, Array]:
    """Return ``(first + i second) * (cos + i sin)`` for dtypes narrower than float64.

    Float64 keeps enough extra bits for such a dtype.
    """
    a, b = first.astype(np.float64), second.astype(np.float64)
    return a * cos - b * sin, b * cos + a * sin


def _exact_product(
    first: Values, second: Values, cos: Array, cos_rest: Array, sin: Array, sin_rest: Array
) -> tuple[Array, Array]:
    """Return ``(first + i second) * (cos + i sin)`` for any numbers, rounded once.

    The 26-bit high parts are multiplied exactly; rounding errors in the low parts are negligible.
    """
    a, b = first.astype(np.float64), second.astype(np.float64)
    (a_high, a_rest), (b_high, b_rest) = split(a), split(b)
    real = two_sum(a_high * cos, b_high * -sin)
    imaginary = two_sum(b_high * cos, a_high * sin)
    real_rest = (a_rest * cos + a * cos_rest) - (b_rest * sin + b * sin_rest)
    imaginary_rest = (b_rest * cos + b * cos_rest) + (a_rest * sin + a * sin_rest)
    return real.high + (real.low + real_rest), imaginary.high + (imaginary.low + imaginary_rest)


def _in_two(wave: Pair) -> tuple[Array, Array]:
    """Split a pair into a 26-bit high part and the remaining low part."""
    high, low = split(wave.high)
    return high, low + wave.low
