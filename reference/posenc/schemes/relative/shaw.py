"""Self-attention with relative position representations.

Source: Shaw, Uszkoreit and Vaswani 2018, arXiv 1803.02155, section 3, equations 3 to 5; the cached
case is that of the released code (tensor2tensor, ``_generate_relative_positions_matrix``).
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import add, divide, dot, square_root, total
from posenc.exact import Array, Pair
from posenc.schemes.bias.clipped_bias import clipped_rows

__all__ = ["shaw_scores", "shaw_values"]

OFFSETS = ("key-minus-query", "query-minus-key")


def shaw_scores(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    table: npt.ArrayLike,
    *,
    offset: str = "key-minus-query",
) -> npt.NDArray[np.floating]:
    """Compute logits ``q_i . (k_j + a[clip(j - i, -k, k) + k]) / sqrt(head_dim)`` (equation 4).

    Query i is at position ``k_len - q_len + i``, key j at position j. Nothing is masked.

    Parameters
    ----------
    q : floating array of shape [heads, q_len, head_dim]
        Queries, not scaled; q_len is at most k_len.
    k : floating array of shape [heads, k_len, head_dim]
        Keys.
    table : floating array of shape [2k+1, head_dim]
        Vectors a of the clipped offsets, the same for all heads.
    offset : "key-minus-query" or "query-minus-key"
        Whether row 2k is for keys k or more after the query, as in the paper, or before it.

    Returns
    -------
    array of shape [heads, q_len, k_len] and the dtype of q
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If an array is not floating.
    ValueError
        If shapes do not fit or offset is unknown.
    """
    arguments.choice("offset", offset, OFFSETS)
    queries, keys = queries_and_keys(q, k)
    vectors = floating("table", table, 2)
    if vectors.shape[1] != queries.shape[2]:
        raise ValueError(f"table has {vectors.shape[1]} channels; heads have {queries.shape[2]}")
    rows = clipped_rows(len(vectors), queries.shape[1], keys.shape[1])
    if offset == "query-minus-key":
        rows = len(vectors) - 1 - rows
    content = dot(queries[:, :, None, :], keys[:, None, :, :])
    by_row = dot(queries[:, :, None, :], vectors)
    position = Pair(*(np.take_along_axis(part, rows[None], axis=2) for part in by_row))
    logits = divide(add(content, position), square_root(float(queries.shape[2])))
    return total(logits).astype(np.asarray(q).dtype)


def shaw_values(
    weights: npt.ArrayLike, v: npt.ArrayLike, table: npt.ArrayLike
) -> npt.NDArray[np.floating]:
    """Compute outputs ``sum_j weights[i, j] (v_j + a[clip(j - i, -k, k) + k])`` (equation 3).

    Query i is at position ``k_len - q_len + i``, key j at position j.

    Parameters
    ----------
    weights : floating array of shape [heads, q_len, k_len]
        The result of the softmax, or any other weights; q_len is at most k_len.
    v : floating array of shape [heads, k_len, head_dim]
        Values.
    table : floating array of shape [2k+1, head_dim]
        Vectors a of the clipped offsets, the same for all heads; not the table of the keys.

    Returns
    -------
    array of shape [heads, q_len, head_dim] and the dtype of v
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If an array is not floating.
    ValueError
        If shapes do not fit.
    """
    shares, values = floating("weights", weights, 3), floating("v", v, 3)
    vectors = floating("table", table, 2)
    heads, q_len, k_len = shares.shape
    if values.shape[:2] != (heads, k_len) or vectors.shape[1] != values.shape[2]:
        raise ValueError(
            f"weights have shape {shares.shape}, v {values.shape} and table {vectors.shape}; they "
            "must be [heads, q_len, k_len], [heads, k_len, head_dim] and [2k+1, head_dim]"
        )
    placed = vectors[clipped_rows(len(vectors), q_len, k_len)]
    content = dot(shares[:, :, None, :], np.swapaxes(values, 1, 2)[:, None])
    position = dot(shares[:, :, None, :], np.swapaxes(placed, 1, 2))
    return total(add(content, position)).astype(np.asarray(v).dtype)


def queries_and_keys(q: npt.ArrayLike, k: npt.ArrayLike) -> tuple[Array, Array]:
    """Check queries and keys, and return both as float64.

    Their shapes are [heads, q_len, head_dim] and [heads, k_len, head_dim].
    """
    queries, keys = floating("q", q, 3), floating("k", k, 3)
    heads, q_len, head_dim = queries.shape
    if keys.shape[0] != heads or keys.shape[2] != head_dim or not head_dim:
        raise ValueError(
            f"q has shape {queries.shape} and k {keys.shape}; "
            "they must be [heads, q_len, head_dim] and [heads, k_len, head_dim]"
        )
    if q_len > keys.shape[1]:
        raise ValueError(f"q has {q_len} rows and k {keys.shape[1]}; queries are the last keys")
    return queries, keys


def floating(name: str, value: npt.ArrayLike, axes: int) -> Array:
    """Return an array of floating numbers as float64, exactly."""
    array = np.asarray(value)
    if array.dtype.kind not in "fV":
        raise TypeError(f"{name} is {array.dtype}; it must be floating")
    if array.ndim != axes:
        raise ValueError(f"{name} has shape {array.shape}; it must have {axes} axes")
    return array.astype(np.float64)
