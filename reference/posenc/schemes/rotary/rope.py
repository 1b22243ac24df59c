"""Rotary position embedding.

Source: Su et al. 2021, "RoFormer", arXiv 2104.09864, sections 3.2 and 3.4, equations 14 to 16.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation
from posenc.exact import sincos, turns_per_position

__all__ = ["rope", "rope_vjp"]


def rope(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    rotary_dim: int | None = None,
) -> npt.NDArray[np.floating]:
    """Rotate each pair of channels of queries or keys by position times frequency.

    With r rotated channels, pair t = 0 … r/2-1 rotates by ``base ** (-2t / r)`` radians per
    position, from its first channel towards its second.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes.
    positions : integer array of shape [n], or one that broadcasts to x.shape[:-1]
        Position of each row, in any order; at most 2**53 in magnitude.
    base : float
        Base of the geometric progression of frequencies.
    layout : "interleaved", "half" or "interleaved-to-half"
        Pairs are channels (2t, 2t+1); or (t, t + r/2); or are read from (2t, 2t+1) and written to
        (t, t + r/2).
    rotary_dim : int or None
        Number r of leading channels that are rotated; the others stay unchanged. Frequencies
        depend on r, not on head_dim. None rotates all.

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
    return _turned(x, positions, base, layout, rotary_dim, forward=True)


def rope_vjp(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    rotary_dim: int | None = None,
) -> npt.NDArray[np.floating]:
    """Return the gradient of a loss with respect to the x of :func:`rope`.

    It is computed from the gradient with respect to the result.

    A rotation's transpose is its inverse: each pair rotates back by position times frequency, and
    is written to the channels that it was read from.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Gradient with respect to the rotated queries or keys.
    positions, base, layout, rotary_dim
        As in :func:`rope`.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError, ValueError
        As :func:`rope`.
    """
    return _turned(x, positions, base, layout, rotary_dim, forward=False)


def _turned(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    base: float,
    layout: str,
    rotary_dim: int | None,
    *,
    forward: bool,
) -> npt.NDArray[np.floating]:
    arguments.choice("layout", layout, rotation.LAYOUTS)
    values = rotation.queries_or_keys("x", x)
    rotated = rotation.width(rotary_dim, values.shape[-1])
    turns = turns_per_position(arguments.base(base), Fraction(2, rotated), rotated // 2)
    read, written = rotation.READ[layout], rotation.WRITTEN[layout]
    where = rotation.rows(positions, values.shape)
    if not forward:
        read, written, where = written, read, -where
    sin, cos = sincos(where, turns)
    return rotation.turned(values, sin, cos, read, written)
