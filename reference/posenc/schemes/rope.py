"""Rotary position embedding.

Source: Su et al. 2021, "RoFormer", arXiv 2104.09864, sections 3.2 and 3.4, equations 14 to 16.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.exact import Array, Pair, sincos, turns_per_position, two_product, two_sum

__all__ = ["rope"]

LAYOUTS = ("interleaved", "half", "interleaved-to-half")


def rope(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    rotary_dim: int | None = None,
) -> npt.NDArray[np.floating]:
    """Queries or keys, each pair of channels rotated by position times frequency.

    With r rotated channels, pair t = 0 … r/2-1 turns by ``base ** (-2t / r)`` radians per
    position, from its first channel towards its second.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys of any batch and head axes.
    positions : integer array of shape [n], or one that broadcasts to x.shape[:-1]
        Position of each row, in any order; at most 2**53 in magnitude.
    base : float
        Of the geometric progression of frequencies.
    layout : "interleaved", "half" or "interleaved-to-half"
        Pairs are channels (2t, 2t+1); or (t, t + r/2); or are read from (2t, 2t+1) and written to
        (t, t + r/2).
    rotary_dim : int or None
        Channels r that are rotated, the leading ones; the others pass unchanged. Frequencies
        follow from r, not from head_dim. None rotates all.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError
        If x is not floating or positions are not integers.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    arguments.choice("layout", layout, LAYOUTS)
    base = arguments.base(base)
    values = np.asarray(x)
    if values.dtype.kind not in "fV":
        raise TypeError(f"x is {values.dtype}; integers would cut the rotated values")
    if values.ndim < 2:
        raise ValueError(f"x has shape {values.shape}; it must be [..., n, head_dim]")
    rotated = _rotary_dim(rotary_dim, values.shape[-1])
    where = arguments.positions(positions)
    try:
        where = np.broadcast_to(where, values.shape[:-1])
    except ValueError:
        raise ValueError(
            f"positions have shape {where.shape} but x has rows of shape {values.shape[:-1]}"
        ) from None

    head = values[..., :rotated].astype(np.float64)
    first, second = _split(head, layout)
    sin, cos = sincos(where, turns_per_position(base, Fraction(2, rotated), rotated // 2))
    turned = _combine(first, cos, second, sin, -1.0), _combine(second, cos, first, sin, 1.0)
    out = np.array(values)
    out[..., :rotated] = _join(*turned, layout).astype(values.dtype)
    return out


def _rotary_dim(rotary_dim: int | None, head_dim: int) -> int:
    rotated = head_dim if rotary_dim is None else arguments.integer("rotary_dim", rotary_dim, 2)
    if rotated % 2 or not 2 <= rotated <= head_dim:
        name = "head_dim" if rotary_dim is None else "rotary_dim"
        raise ValueError(
            f"{name} is {rotated}; it must be even, at least 2 and at most head_dim ({head_dim})"
        )
    return rotated


def _split(x: Array, layout: str) -> tuple[Array, Array]:
    if layout == "half":
        half = x.shape[-1] // 2
        return x[..., :half], x[..., half:]
    return x[..., 0::2], x[..., 1::2]


def _join(first: Array, second: Array, layout: str) -> Array:
    if layout == "interleaved":
        return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], 2 * first.shape[-1])
    return np.concatenate([first, second], axis=-1)


def _combine(a: Array, cos: Pair, b: Array, sin: Pair, sign: float) -> Array:
    """``a * cos + sign * b * sin``, rounded once."""
    b = sign * b
    left, right = two_product(a, cos.high), two_product(b, sin.high)
    total = two_sum(left.high, right.high)
    return total.high + (total.low + left.low + right.low + a * cos.low + b * sin.low)
