"""Llama 3's scaling: rotary embedding with only the slow frequencies divided.

Source: meta-llama/llama-models, models/llama3/model.py, apply_scaling. It is NTK-by-parts of Peng
et al. 2023, "YaRN", arXiv 2309.00071, section 3.2, with other bounds.
"""

from decimal import Decimal, localcontext
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation, scaling
from posenc.exact import TURN

__all__ = ["llama3", "llama3_frequencies", "llama3_vjp"]


def llama3_frequencies(
    rotary_dim: int,
    *,
    base: float = 500000.0,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position_embeddings: int,
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[np.floating]:
    """Return the frequencies, the slow ones divided by ``factor``.

    Let r be the number of turns that a pair makes over original_max_position_embeddings positions.
    If r is at least high_freq_factor the frequency stays; if r is at most low_freq_factor it is
    divided by factor; between the two the multiplier grows linearly with r, from 1/factor to 1.

    Parameters
    ----------
    rotary_dim : int
        Channels that are rotated: even, at least 2.
    base : float
        Base of the geometric progression of frequencies.
    factor : float
        At least 1.
    low_freq_factor, high_freq_factor : float
        Bounds in turns; the first is above 0 and not above the second. If they are equal, the
        multiplier jumps there.
    original_max_position_embeddings : int
        Trained length of the model.
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
    frequencies = _frequencies(
        scaling.even(rotary_dim),
        base=base,
        factor=factor,
        low_freq_factor=low_freq_factor,
        high_freq_factor=high_freq_factor,
        original_max_position_embeddings=original_max_position_embeddings,
    )
    return scaling.rounded(frequencies, dtype)


def llama3(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 500000.0,
    layout: str = "interleaved",
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position_embeddings: int,
) -> npt.NDArray[np.floating]:
    """Rotate each pair of channels of queries or keys by position times scaled frequency.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes.
    positions : integer array of shape [n], or one that broadcasts to x.shape[:-1]
        Position of each row, in any order; at most 2**53 in magnitude.
    base, factor, low_freq_factor, high_freq_factor, original_max_position_embeddings
        As in :func:`llama3_frequencies`.
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
        low_freq_factor=low_freq_factor,
        high_freq_factor=high_freq_factor,
        original_max_position_embeddings=original_max_position_embeddings,
    )
    return scaling.rotated(x, positions, layout, frequencies)


llama3_vjp = rotation.transpose(llama3)
"""Gradient of a loss with respect to the x of :func:`llama3`.

A rotation's transpose is its inverse: each pair rotates back by position times scaled frequency. x
is the gradient with respect to the rotated queries or keys; all other arguments are as in
:func:`llama3`.
"""


@lru_cache(maxsize=8)
def _frequencies(
    rotary_dim: int,
    base: float,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position_embeddings: int,
) -> scaling.Frequencies:
    low = scaling.number("low_freq_factor", low_freq_factor, 0)
    high = scaling.number("high_freq_factor", high_freq_factor, 0)
    if not 0 < low <= high:
        raise ValueError(
            f"low_freq_factor is {low:g} and high_freq_factor {high:g}; "
            "the first must be above 0 and not above the second"
        )
    trained = arguments.integer(
        "original_max_position_embeddings", original_max_position_embeddings, 1
    )
    divisor = Decimal(scaling.number("factor", factor, 1))
    unscaled = scaling.unscaled(rotary_dim, arguments.base(base))
    with localcontext(prec=scaling.DIGITS):
        whole_turns = [trained * frequency / TURN for frequency in unscaled]
        span = Decimal(high) - Decimal(low)
        shares = [(r - Decimal(low)) / span if span else Decimal(r >= high) for r in whole_turns]
        shares = [min(max(share, Decimal(0)), Decimal(1)) for share in shares]
        return tuple(
            w * ((1 - share) / divisor + share) for w, share in zip(unscaled, shares, strict=True)
        )
