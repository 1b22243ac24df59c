"""Rotary embedding of queries and keys after normalisation.

Source: fused_qk_norm_rope in vllm-project/vllm; Zhang and Sennrich 2019, arXiv 1910.07467.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments, elementary, rotation
from posenc.exact import Pair, sincos, turns_per_position, two_product

__all__ = ["qk_norm_rope"]

LAYOUTS = ("half", "interleaved")
WEIGHTS = ("factor", "one-plus")
Result = npt.NDArray[np.floating]


def qk_norm_rope(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    q_weight: npt.ArrayLike,
    k_weight: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    eps: float = 1e-6,
    base: float = 10000.0,
    layout: str = "interleaved",
    norm_weight: str = "factor",
    rotary_dim: int | None = None,
) -> Result:
    """Normalise queries and keys per head, multiply them by weights, and rotate them.

    Parameters
    ----------
    q : floating array of shape [heads, n, head_dim]
        Queries.
    k : floating array of shape [key_heads, n, head_dim]
        Keys, usually with fewer heads.
    q_weight, k_weight : floating arrays of shape [head_dim]
        Weights of the norms of queries and of keys.
    positions : integer array of shape [n]
        Position of each row.
    eps : float
        Added to the mean of squares; above 0.
    base : float
        Base of the geometric progression of frequencies.
    layout : "interleaved" or "half"
        Pair t of r rotated channels is channels (2t, 2t + 1), or (t, t + r / 2).
    norm_weight : "factor" or "one-plus"
        Whether channels are multiplied by the weight, or by 1 plus the weight.
    rotary_dim : int, optional
        Number of leading channels that are rotated; all by default.

    Returns
    -------
    array of shape [heads + key_heads, n, head_dim] and the dtype of q
        The heads of q, then those of k. Computed in pairs of float64 and rounded once.

    Raises
    ------
    TypeError
        If arrays are not floating or positions are not integers.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    arguments.choice("layout", layout, LAYOUTS)
    arguments.choice("norm_weight", norm_weight, WEIGHTS)
    if not (np.isfinite(eps) and eps > 0):
        raise ValueError(f"eps is {eps}; it must be finite and above 0")
    queries, keys = arguments.floating("q", q, 3), arguments.floating("k", k, 3)
    if queries.shape[1:] != keys.shape[1:]:
        raise ValueError(f"q has shape {queries.shape} and k {keys.shape}")
    n, head_dim = queries.shape[1:]
    where = np.asarray(positions)
    if where.shape != (n,):
        raise ValueError(f"positions have shape {where.shape}, but q {queries.shape}")
    where = rotation.rows(where, queries.shape)
    width = rotation.width(rotary_dim, head_dim)
    parts = []
    for rows, name, array in ((queries, "q_weight", q_weight), (keys, "k_weight", k_weight)):
        weight = arguments.floating(name, array, 1)
        if len(weight) != head_dim:
            raise ValueError(f"{name} has {len(weight)} channels, but a head {head_dim}")
        factor = elementary.pair(weight)
        if norm_weight == "one-plus":
            factor = elementary.add(factor, elementary.pair(1.0))
        parts.append(_normed(rows, factor, eps))
    normed = Pair(*(np.concatenate(words) for words in zip(*parts, strict=True)))
    out = elementary.total(normed).copy()
    turns = turns_per_position(arguments.base(base), Fraction(2, width), width // 2)
    sin, cos = sincos(where, turns)
    both = [rotation.pairs(part[..., :width], layout) for part in normed]
    first, second = (Pair(*words) for words in zip(*both, strict=True))
    to_first, to_second = rotation.pairs(out[..., :width], layout)
    times, add = elementary.times, elementary.add
    minus = elementary.negative(times(second, sin))
    to_first[...] = elementary.total(add(times(first, cos), minus))
    to_second[...] = elementary.total(add(times(first, sin), times(second, cos)))
    return out.astype(queries.dtype)


def _normed(rows: Result, factor: Pair, eps: float) -> Pair:
    """Divide rows by their root mean square, and multiply channels by ``factor``."""
    values = rows.astype(np.float64)
    count = elementary.pair(float(max(values.shape[-1], 1)))
    mean = elementary.divide(elementary.sum_last(two_product(values, values)), count)
    root = elementary.square_root(elementary.add(mean, elementary.pair(eps)))
    quotient = elementary.divide(elementary.pair(values), elementary.expanded(root, -1))
    return elementary.times(quotient, factor)
