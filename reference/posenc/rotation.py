"""Turning pairs of channels: what every rotary scheme does with its sines and cosines."""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.exact import Array, Pair, two_product, two_sum

LAYOUTS = ("interleaved", "half", "interleaved-to-half")
READ = {"interleaved": "interleaved", "half": "half", "interleaved-to-half": "interleaved"}
WRITTEN = {"interleaved": "interleaved", "half": "half", "interleaved-to-half": "half"}


def queries_or_keys(name: str, x: npt.ArrayLike) -> npt.NDArray[np.floating]:
    """Floating values of shape [..., n, head_dim]."""
    values = np.asarray(x)
    if values.dtype.kind not in "fV":
        raise TypeError(f"{name} is {values.dtype}; integers would cut the rotated values")
    if values.ndim < 2:
        raise ValueError(f"{name} has shape {values.shape}; it must be [..., n, head_dim]")
    return values


def rows(positions: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    """Positions of the rows of an x of shape [..., n, head_dim], broadcast to them."""
    where = arguments.positions(positions)
    try:
        return np.broadcast_to(where, shape[:-1])
    except ValueError:
        raise ValueError(
            f"positions have shape {where.shape} but x has rows of shape {shape[:-1]}"
        ) from None


def reversed_positions(positions: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Positions by which pairs turn back: the transpose of a turn is the turn by its negative."""
    arguments.positions(positions)
    return -np.asarray(positions, dtype=np.int64)


def width(rotary_dim: int | None, head_dim: int) -> int:
    """Number of rotated channels; None is all of them."""
    rotated = head_dim if rotary_dim is None else arguments.integer("rotary_dim", rotary_dim, 2)
    if rotated % 2 or not 2 <= rotated <= head_dim:
        name = "head_dim" if rotary_dim is None else "rotary_dim"
        raise ValueError(
            f"{name} is {rotated}; it must be even, at least 2 and at most head_dim ({head_dim})"
        )
    return rotated


def turned(
    values: npt.NDArray[np.floating], sin: Pair, cos: Pair, read: str, written: str
) -> npt.NDArray[np.floating]:
    """Each pair of the leading channels, times (cos + i sin); the other channels unchanged.

    Values have shape [..., n, head_dim], sin and cos [..., n, r/2]; they may carry an amplitude.
    Pair t is read from, and written to, channels (2t, 2t+1) if ``"interleaved"`` and (t, t + r/2)
    if ``"half"``. The result is like values, computed in float64 and rounded once.
    """
    rotated = 2 * cos.high.shape[-1]
    first, second = _split(values[..., :rotated].astype(np.float64), read)
    both = _combine(np.stack([first, second]), cos, np.stack([-second, first]), sin)
    out = np.array(values)
    out[..., :rotated] = _join(both[0], both[1], written)
    return out


def _split(x: Array, layout: str) -> tuple[Array, Array]:
    if layout == "half":
        half = x.shape[-1] // 2
        return x[..., :half], x[..., half:]
    return x[..., 0::2], x[..., 1::2]


def _join(first: Array, second: Array, layout: str) -> Array:
    if layout == "interleaved":
        return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], 2 * first.shape[-1])
    return np.concatenate([first, second], axis=-1)


def _combine(a: Array, cos: Pair, b: Array, sin: Pair) -> Array:
    """``a * cos + b * sin``, rounded once."""
    left, right = two_product(a, cos.high), two_product(b, sin.high)
    total = two_sum(left.high, right.high)
    return total.high + (total.low + left.low + right.low + a * cos.low + b * sin.low)
