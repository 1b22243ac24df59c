"""An absolute encoding added to the embeddings, and a bias by clipped distance on the logits.

Sources: the encoding of Vaswani et al. 2017, arXiv 1706.03762, section 3.5; the clipped distances
of Shaw, Uszkoreit and Vaswani 2018, arXiv 1803.02155, section 3.2, with numbers for vectors.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import add, divide, dots, expanded, pair, square_root, total
from posenc.exact import Array, Pair, sincos, turns_per_position
from posenc.schemes.bias.clipped_bias import clipped_bias
from posenc.schemes.relative.shaw import floating

__all__ = ["hybrid_scores"]


def hybrid_scores(
    x: npt.ArrayLike,
    w_q: npt.ArrayLike,
    w_k: npt.ArrayLike,
    table: npt.ArrayLike,
    *,
    base: float = 10000.0,
) -> npt.NDArray[np.floating]:
    """Compute logits of embeddings with a sinusoid, plus a bias by clipped distance.

    Logits are ``(h_i W_q) . (h_j W_k) / sqrt(head_dim) + table[clip(j - i, -k, k) + k]``.
    Here ``h = x + PE``, and PE is the sinusoidal encoding of positions 0 … n-1, with sines and
    cosines interleaved. Nothing is masked.

    Parameters
    ----------
    x : floating array of shape [n, dim]
        Embeddings, which are not scaled; dim is even.
    w_q, w_k : floating arrays of shape [heads, dim, head_dim]
        Projections to queries and keys.
    table : floating array of shape [2k+1, heads]
        Biases, added after the division.
    base : float
        Base of the encoding's geometric progression.

    Returns
    -------
    array of shape [heads, n, n] and the dtype of x
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If an array is not floating.
    ValueError
        If shapes do not fit or base is out of its domain.
    """
    base = arguments.base(base)
    rows, to_q, to_k = floating("x", x, 2), floating("w_q", w_q, 3), floating("w_k", w_k, 3)
    n, dim = rows.shape
    heads, _, head_dim = to_q.shape
    if to_q.shape[1] != dim or to_k.shape != to_q.shape or not head_dim:
        raise ValueError(
            f"w_q has shape {to_q.shape} and w_k {to_k.shape}; "
            f"they must both be [heads, {dim}, head_dim]"
        )
    bias = clipped_bias(floating("table", table, 2), n, n)
    if len(bias) != heads:
        raise ValueError(f"table has biases for {len(bias)} heads; there are {heads}")
    placed = add(pair(rows), _encoding(n, dim, base))
    queries, keys = _projected(placed, to_q), _projected(placed, to_k)
    products = dots(expanded(queries, 2), expanded(keys, 1))
    logits = add(divide(products, square_root(float(head_dim))), pair(bias))
    return total(logits).astype(np.asarray(x).dtype)


def _encoding(n: int, dim: int, base: float) -> Pair:
    if dim < 2 or dim % 2:
        raise ValueError(f"dim is {dim}; sines and cosines come in pairs, so it must be even")
    turns = turns_per_position(base, Fraction(2, dim), dim // 2)
    sin, cos = sincos(np.arange(n, dtype=np.float64), turns)
    interleaved = (np.stack(both, axis=-1).reshape(n, dim) for both in zip(sin, cos, strict=True))
    return Pair(*interleaved)


def _projected(placed: Pair, weights: Array) -> Pair:
    """Multiply every row by the matrix of every head: shape [heads, n, head_dim]."""
    return dots(expanded(placed, 1), pair(np.swapaxes(weights, 1, 2)[:, None]))
