"""Dynamic NTK scaling: rotary embedding with a base that grows with the length of the sequence.

Source: transformers 5.23.0, modeling_rope_utils.py, rope_type "dynamic"; Peng et al. 2023, "YaRN",
arXiv 2309.00071, section 3.3.
"""

from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation, scaling

__all__ = ["dynamic_ntk", "dynamic_ntk_frequencies", "dynamic_ntk_vjp"]


def dynamic_ntk_frequencies(
    rotary_dim: int,
    *,
    base: float = 10000.0,
    factor: float,
    original_max_position_embeddings: int,
    length: int,
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[np.floating]:
    """Return the frequencies for a sequence of ``length`` tokens.

    With d rotated channels, L = original_max_position_embeddings and l = max(length, L), the base
    is ``base * (factor * l / L - (factor - 1)) ** (d / (d-2))``.

    Parameters
    ----------
    rotary_dim : int
        Channels that are rotated: even, at least 4.
    base : float
        Base of the unscaled progression of frequencies.
    factor : float
        At least 1.
    original_max_position_embeddings : int
        Trained length of the model; up to it nothing is scaled.
    length : int
        Length of the current sequence, at least 1.
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
    frequencies = _frequencies(
        size,
        base=base,
        factor=factor,
        original_max_position_embeddings=original_max_position_embeddings,
        length=length,
    )
    return scaling.rounded(frequencies, dtype)


def dynamic_ntk(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    factor: float,
    original_max_position_embeddings: int,
    length: int,
) -> npt.NDArray[np.floating]:
    """Rotate each pair of channels of queries or keys, for a sequence of ``length`` tokens.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes; head_dim is at least 4.
    positions : integer array of shape [n], or one that broadcasts to x.shape[:-1]
        Position of each row, in any order; at most 2**53 in magnitude. The base depends on length,
        not on positions.
    base, factor, original_max_position_embeddings, length
        As in :func:`dynamic_ntk_frequencies`.
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
    frequencies = partial(
        _frequencies,
        base=base,
        factor=factor,
        original_max_position_embeddings=original_max_position_embeddings,
        length=length,
    )
    return scaling.rotated(x, positions, layout, frequencies)


dynamic_ntk_vjp = rotation.transpose(dynamic_ntk)
"""Gradient of a loss with respect to the x of :func:`dynamic_ntk`.

A rotation's transpose is its inverse: each pair rotates back by position times the frequency for
the length. x is the gradient with respect to the rotated queries or keys; all other arguments are
as in :func:`dynamic_ntk`.
"""


def _frequencies(
    rotary_dim: int, base: float, factor: float, original_max_position_embeddings: int, length: int
) -> scaling.Frequencies:
    trained = arguments.integer(
        "original_max_position_embeddings", original_max_position_embeddings, 1
    )
    longest = max(arguments.integer("length", length, 1), trained)
    times = Fraction(scaling.number("factor", factor, 1))
    stretch = times * Fraction(longest, trained) - (times - 1)
    return scaling.stretched(rotary_dim, arguments.base(base), stretch)
