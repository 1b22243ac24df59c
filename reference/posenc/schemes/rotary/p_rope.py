"""p-RoPE: rotary embedding without its slowest frequencies.

Source: Barbero et al. 2024, "Round and Round We Go! What makes Rotary Positional Encodings
useful?", arXiv 2410.06205; google-deepmind/gemma, gm/math/_positional_embeddings.py.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation, scaling

__all__ = ["p_rope", "p_rope_frequencies", "p_rope_vjp"]


def p_rope_frequencies(
    rotary_dim: int,
    *,
    base: float = 10000.0,
    proportion: float,
    factor: float = 1.0,
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[np.floating]:
    """Return the first ``floor(proportion * rotary_dim / 2)`` frequencies, 0 for other pairs.

    The nonzero frequencies are ``base ** (-2t / rotary_dim) / factor``, as for the whole head.

    Parameters
    ----------
    rotary_dim : int
        Channels of the head, rotated or not: even, at least 2.
    base : float
        Base of the geometric progression of frequencies.
    proportion : float
        Share of the pairs that is rotated, from 0 to 1. It is read as the decimal number that it
        is written as, so that 0.7 of 90 pairs are 63, although the float64 is a little less.
    factor : float
        Factor on the context length, at least 1: frequencies are divided by it.
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
    frequencies = _frequencies(size, base=base, proportion=proportion, factor=factor)
    return scaling.rounded(frequencies, dtype)


def p_rope(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    proportion: float,
    factor: float = 1.0,
) -> npt.NDArray[np.floating]:
    """Rotate the fastest pairs of queries or keys; leave the others unchanged.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes.
    positions : integer array of shape [n], or one that broadcasts to x.shape[:-1]
        Position of each row, in any order; at most 2**53 in magnitude.
    base, proportion, factor : float
        As in :func:`p_rope_frequencies`.
    layout : "interleaved" or "half"
        Pairs are channels (2t, 2t+1), or (t, t + head_dim/2), of the whole head for any proportion.

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
    frequencies = partial(_frequencies, base=base, proportion=proportion, factor=factor)
    return scaling.rotated(x, positions, layout, frequencies)


p_rope_vjp = rotation.transpose(p_rope)
"""Gradient of a loss with respect to the x of :func:`p_rope`.

The fast pairs rotate back; the gradient of the others is unchanged. x is the gradient with
respect to the rotated queries or keys; all other arguments are as in :func:`p_rope`.
"""


def _frequencies(
    rotary_dim: int, base: float, proportion: float, factor: float
) -> scaling.Frequencies:
    share = scaling.number("proportion", proportion, 0)
    if share > 1:
        raise ValueError(f"proportion is {proportion!r}; it must be from 0 to 1")
    # repr gives the shortest decimal that reads back as the number: the one in the source.
    count = int(Fraction(repr(share)) * rotary_dim / 2)
    unscaled = scaling.unscaled(rotary_dim, arguments.base(base))
    divisor = Decimal(scaling.number("factor", factor, 1))
    with localcontext(prec=scaling.DIGITS):
        turning = tuple(w / divisor for w in unscaled[:count])
    return turning + (Decimal(0),) * (len(unscaled) - count)
