"""NTK-aware scaling: rotary embedding with a larger base.

Source: Peng et al. 2023, "YaRN", arXiv 2309.00071, section 3.1; the code is that of its authors.
"""

from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation, scaling

__all__ = ["ntk_aware", "ntk_aware_frequencies", "ntk_aware_vjp"]


def ntk_aware_frequencies(
    rotary_dim: int,
    *,
    base: float = 10000.0,
    factor: float,
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[np.floating]:
    """Return the frequencies with the base ``base * factor ** (d / (d-2))``, d being rotary_dim.

    Parameters
    ----------
    rotary_dim : int
        Channels that are rotated: even, at least 4.
    base : float
        Base of the unscaled progression of frequencies.
    factor : float
        Divisor of the slowest frequency; at least 1.
    dtype : dtype
        Dtype of the result, which is rounded once.

    Returns
    -------
    array of shape [rotary_dim / 2]
        Radians per position of each pair.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain, or rotary_dim is 2, where d - 2 would be 0.
    """
    size = scaling.even(rotary_dim)
    return scaling.rounded(_frequencies(size, base=base, factor=factor), dtype)


def ntk_aware(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    factor: float,
) -> npt.NDArray[np.floating]:
    """Rotate each pair of channels of queries or keys by position times stretched frequency.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes; head_dim is at least 4.
    positions : integer array of shape [n], or one that broadcasts to x.shape[:-1]
        Position of each row, in any order; at most 2**53 in magnitude.
    base, factor : float
        As in :func:`ntk_aware_frequencies`.
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
    return scaling.rotated(x, positions, layout, partial(_frequencies, base=base, factor=factor))


ntk_aware_vjp = rotation.transpose(ntk_aware)
"""Gradient of a loss with respect to the x of :func:`ntk_aware`.

A rotation's transpose is its inverse: each pair rotates back by position times stretched frequency.
x is the gradient with respect to the rotated queries or keys; all other arguments are as in
:func:`ntk_aware`.
"""


def _frequencies(rotary_dim: int, base: float, factor: float) -> scaling.Frequencies:
    stretch = Fraction(scaling.number("factor", factor, 1))
    return scaling.stretched(rotary_dim, arguments.base(base), stretch)
