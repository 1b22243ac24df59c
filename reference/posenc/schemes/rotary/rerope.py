"""ReRoPE: rotary embedding whose distances stop growing, or grow more slowly, beyond a window.

Source: Su 2023, "Rectified Rotary Position Embeddings", https://kexue.fm/archives/9708, and the
author's code, bojone/rerope.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments, exact, remapped, scaling
from posenc.elementary import add, negative, times
from posenc.exact import Array, SinCos

__all__ = ["leaky_rerope_scores", "rerope_scores"]


def rerope_scores(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    *,
    window: int,
    base: float = 10000.0,
    layout: str = "interleaved",
) -> npt.NDArray[np.floating]:
    """Compute the logits before mask and softmax, ``q . R(-distance) k / sqrt(head_dim)``.

    Query i is at position ``m = k_len - q_len + i``, key j at j. The distance is ``m - j``, but
    at most the window.

    Parameters
    ----------
    q : array of shape [heads, q_len, head_dim]
        Queries, not rotated; head_dim is even and q_len at most k_len.
    k : array of shape [heads, k_len, head_dim]
        Keys, not rotated.
    window : int
        The largest distance; at least 1.
    base : float
        Base of the geometric progression of frequencies.
    layout : "interleaved" or "half"
        Pairs are channels (2t, 2t+1) or (t, t + head_dim/2).

    Returns
    -------
    array of shape [heads, q_len, k_len] and the dtype of q
        Computed beyond float64 precision and rounded once; ``-inf`` at keys after the query.

    Raises
    ------
    TypeError
        If an array is not floating, or their dtypes differ.
    ValueError
        If shapes do not fit or an argument is out of its domain.
    """
    largest = arguments.integer("window", window, 1)
    heads = remapped.heads(q, k, layout)
    distance = np.minimum(heads.distance, largest)
    return heads.logits(distance, lambda distances: heads.waves(distances, base))


def leaky_rerope_scores(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    *,
    window: int,
    factor: float,
    base: float = 10000.0,
    layout: str = "interleaved",
) -> npt.NDArray[np.floating]:
    """Compute the logits before mask and softmax, ``q . R(-distance) k / sqrt(head_dim)``.

    Query i is at position ``m = k_len - q_len + i``, key j at j. The distance is ``m - j`` up
    to the window, and ``window + (m - j - window) / factor`` beyond.

    Parameters
    ----------
    q, k, base, layout
        As in :func:`rerope_scores`.
    window : int
        The distance up to which nothing changes; at least 1.
    factor : float
        Divisor of distances beyond the window; at least 1.

    Returns
    -------
    array of shape [heads, q_len, k_len] and the dtype of q
        Computed beyond float64 precision and rounded once; ``-inf`` at keys after the query.

    Raises
    ------
    TypeError
        If an array is not floating, or their dtypes differ.
    ValueError
        If shapes do not fit or an argument is out of its domain.
    """
    edge = arguments.integer("window", window, 1)
    heads = remapped.heads(q, k, layout)
    divisor = Decimal(scaling.number("factor", factor, 1))
    pairs = heads.q.shape[-1] // 2
    plain = exact.progression(arguments.base(base), Fraction(1, pairs), pairs)
    with localcontext(prec=scaling.DIGITS):
        slow = exact.turns(tuple(frequency / divisor for frequency in plain))

    def waves(distances: Array) -> SinCos:
        near = heads.waves(np.minimum(distances, edge), base)
        return _together(near, exact.sincos(np.maximum(distances - edge, 0), slow))

    return heads.logits(heads.distance, waves)


def _together(one: SinCos, other: SinCos) -> SinCos:
    """Return the sine and cosine of the sum of two angles."""
    return SinCos(
        sin=add(times(one.sin, other.cos), times(one.cos, other.sin)),
        cos=add(times(one.cos, other.cos), negative(times(one.sin, other.sin))),
    )
