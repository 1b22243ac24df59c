"""Position interpolation: rotary embedding at positions divided by a factor.

Source: Chen et al. 2023, "Extending Context Window of Large Language Models via Positional
Interpolation", arXiv 2306.15595, equation 4.
"""

from decimal import Decimal, localcontext
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation, scaling

__all__ = [
    "position_interpolation",
    "position_interpolation_frequencies",
    "position_interpolation_vjp",
]


def position_interpolation_frequencies(
    rotary_dim: int,
    *,
    base: float = 10000.0,
    factor: float,
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[np.floating]:
    """Return the frequencies divided by ``factor``: ``base ** (-2t / rotary_dim) / factor``.

    Parameters
    ----------
    rotary_dim : int
        Channels that are rotated: even, at least 2.
    base : float
        Base of the geometric progression of frequencies.
    factor : float
        Factor on the context length; at least 1.
    dtype : dtype
        Dtype of the result, which is rounded once.

    Returns
    -------
    array of shape [rotary_dim / 2]
        Radians per position of each pair.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    size = scaling.even(rotary_dim)
    return scaling.rounded(_frequencies(size, base=base, factor=factor), dtype)


def position_interpolation(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    factor: float,
) -> npt.NDArray[np.floating]:
    """Rotate each pair of channels of queries or keys by position times frequency over factor.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes.
    positions : integer array of shape [n], or one that broadcasts to x.shape[:-1]
        Position of each row, in any order; at most 2**53 in magnitude.
    base, factor : float
        As in :func:`position_interpolation_frequencies`.
    layout : "interleaved" or "half"
        Pairs are channels (2t, 2t+1), or (t, t + head_dim/2).

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
    frequencies = partial(_frequencies, base=base, factor=factor)
    return scaling.rotated(x, positions, layout, frequencies)


position_interpolation_vjp = rotation.transpose(position_interpolation)
"""Gradient of a loss with respect to the x of :func:`position_interpolation`.

A rotation's transpose is its inverse: each pair rotates back by position times frequency over
factor. x is the gradient with respect to the rotated queries or keys; all other arguments are as in
:func:`position_interpolation`.
"""


@lru_cache(maxsize=8)
def _frequencies(rotary_dim: int, base: float, factor: float) -> scaling.Frequencies:
    divisor = Decimal(scaling.number("factor", factor, 1))
    with localcontext(prec=scaling.DIGITS):
        return tuple(w / divisor for w in scaling.unscaled(rotary_dim, arguments.base(base)))
