"""Contextual position encoding.

Source: Golovneva, Wang, Weston and Sukhbaatar 2024, arXiv 2405.18719, section 4 and the listing in
its appendix; the authors' released code is ``projects/cope`` of facebookresearch/RAM.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import add, divide, dot, negative, sigmoid, square_root, times, total
from posenc.exact import Pair, two_sum
from posenc.schemes.relative.shaw import floating, queries_and_keys

__all__ = ["cope_gated_scores", "cope_scores"]

SCALINGS = ("dot-product", "sum")


def cope_scores(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    table: npt.ArrayLike,
    *,
    scaling: str = "dot-product",
) -> npt.NDArray[np.floating]:
    """Compute causal logits with positions that are sums of gates.

    The gate of key j for query i is ``sigmoid(q_i . k_j / sqrt(head_dim))``. The key's position is
    the sum of the gates of keys j to i, at most npos-1; its vector is interpolated between two rows
    of the table. Query i is at position ``k_len - q_len + i``.

    Parameters
    ----------
    q : floating array of shape [heads, q_len, head_dim]
        Queries, not scaled; q_len is at most k_len.
    k : floating array of shape [heads, k_len, head_dim]
        Keys.
    table : floating array of shape [npos, head_dim]
        Vectors of the whole positions 0 … npos-1, the same for all heads.
    scaling : "dot-product" or "sum"
        Whether 1 / sqrt(head_dim) multiplies only ``q . k``, as in the paper's listing, or the sum
        of ``q . k`` and the product of the query with the interpolated vector. Gates are computed
        from scaled dot products either way.

    Returns
    -------
    array of shape [heads, q_len, k_len] and the dtype of q
        Minus infinity where j > i. Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If an array is not floating.
    ValueError
        If shapes do not fit or scaling is unknown.
    """
    return _logits(q, k, None, table, scaling)


def cope_gated_scores(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    gate_keys: npt.ArrayLike,
    table: npt.ArrayLike,
    *,
    scaling: str = "dot-product",
) -> npt.NDArray[np.floating]:
    """Compute the logits of :func:`cope_scores` with gates from vectors other than the keys.

    They may come from a separate projection, or be the values. The gate of key j for query i is
    ``sigmoid(q_i . gate_keys_j / sqrt(head_dim))``.

    Parameters
    ----------
    q : floating array of shape [heads, q_len, head_dim]
        Queries, not scaled; q_len is at most k_len.
    k : floating array of shape [heads, k_len, head_dim]
        Keys, used only for the content.
    gate_keys : floating array of shape [heads, k_len, head_dim]
        Vectors by which queries are multiplied to compute gates.
    table : floating array of shape [npos, head_dim]
        Vectors of the whole positions 0 … npos-1, the same for all heads.
    scaling : "dot-product" or "sum"
        As in :func:`cope_scores`.

    Returns
    -------
    array of shape [heads, q_len, k_len] and the dtype of q
        Minus infinity where j > i. Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If an array is not floating.
    ValueError
        If shapes do not fit or scaling is unknown.
    """
    return _logits(q, k, gate_keys, table, scaling)


def _logits(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    gate_keys: npt.ArrayLike | None,
    table: npt.ArrayLike,
    scaling: str,
) -> npt.NDArray[np.floating]:
    arguments.choice("scaling", scaling, SCALINGS)
    queries, keys = queries_and_keys(q, k)
    vectors = floating("table", table, 2)
    (_, q_len, head_dim), k_len = queries.shape, keys.shape[1]
    if not len(vectors) or vectors.shape[1] != head_dim:
        raise ValueError(
            f"table has shape {vectors.shape}; it must be [npos, {head_dim}], npos at least 1"
        )
    root = square_root(float(head_dim))
    content = opening = divide(dot(queries[:, :, None, :], keys[:, None, :, :]), root)
    if gate_keys is not None:
        gating = floating("gate_keys", gate_keys, 3)
        if gating.shape != keys.shape:
            raise ValueError(f"gate_keys has shape {gating.shape}; k has {keys.shape}")
        opening = divide(dot(queries[:, :, None, :], gating[:, None, :, :]), root)
    seen = np.arange(k_len) <= np.arange(k_len - q_len, k_len)[:, None]
    position = _interpolated(
        dot(queries[:, :, None, :], vectors), _positions(_gates(opening, seen), len(vectors) - 1)
    )
    if scaling == "sum":
        position = divide(position, root)
    logits = np.where(seen, total(add(content, position)), -np.inf)
    return logits.astype(np.asarray(q).dtype)


def _gates(opening: Pair, seen: npt.NDArray[np.bool_]) -> Pair:
    gates = sigmoid(opening)
    return Pair(np.where(seen, gates.high, 0.0), np.where(seen, gates.low, 0.0))


def _positions(gates: Pair, last: int) -> Pair:
    """Sum the gates from each key to the last key, at most ``last``."""
    high, low = gates.high[..., ::-1], gates.low[..., ::-1]
    sums = np.cumsum(high, axis=-1)
    before = np.concatenate([np.zeros_like(sums[..., :1]), sums[..., :-1]], axis=-1)
    lost = two_sum(before, high).low
    position = two_sum(sums, np.cumsum(lost + low, axis=-1))
    # At ``last`` both rows are the last one, so the low word does not matter.
    return Pair(np.minimum(position.high, last)[..., ::-1], position.low[..., ::-1])


def _interpolated(by_row: Pair, position: Pair) -> Pair:
    """Interpolate between the products with the two rows around each position."""
    below = np.floor(position.high)
    rows = below.astype(np.int64)
    first, second = (
        Pair(*(np.take_along_axis(part, row, axis=-1) for part in by_row))
        for row in (rows, np.minimum(rows + 1, by_row.high.shape[-1] - 1))
    )
    share = two_sum(position.high - below, position.low)
    return add(first, times(share, add(second, negative(first))))
