"""A learned number per head and clipped distance, added to the logits.

Source: the clipped distances of Shaw, Uszkoreit and Vaswani 2018, "Self-Attention with Relative
Position Representations", arXiv 1803.02155, section 3.2, with numbers in place of vectors.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import sums_by_row

__all__ = ["clipped_bias", "clipped_bias_vjp"]


def clipped_bias(table: npt.ArrayLike, q_len: int, k_len: int) -> npt.NDArray[np.floating]:
    """Return the bias added to the attention logits: ``table[clip(j - i, -k, k) + k, h]``.

    Query i is at position ``k_len - q_len + i``, key j at position j.

    Parameters
    ----------
    table : floating array of shape [2k+1, heads]
        The learned biases: row k is for the query's own position, row 2k for keys k or more ahead.
    q_len, k_len : int
        q_len is at most k_len.

    Returns
    -------
    array of shape [heads, q_len, k_len] and the dtype of table

    Raises
    ------
    TypeError
        If table is not floating, or a length is not an integer.
    ValueError
        If an argument is out of its domain.
    """
    biases = np.asarray(table)
    if biases.dtype.kind not in "fV":
        raise TypeError(f"table is {biases.dtype}; biases are floating numbers")
    if biases.ndim != 2:
        raise ValueError(f"table has shape {biases.shape}; it must be [2k+1, heads]")
    rows = clipped_rows(len(biases), q_len, k_len)
    return np.moveaxis(biases[rows], -1, 0).copy()


def clipped_bias_vjp(gradient: npt.ArrayLike, *, rows: int) -> npt.NDArray[np.floating]:
    """Return the gradient of a loss with respect to the table, from that with respect to the bias.

    Each row sums one diagonal; the first and the last sum all diagonals clipped to them.

    Parameters
    ----------
    gradient : floating array of shape [heads, q_len, k_len]
        Gradient with respect to the result of :func:`clipped_bias`; q_len is at most k_len.
    rows : int
        Rows of the table, 2k+1.

    Returns
    -------
    array of shape [2k+1, heads] and the dtype of gradient
        Each entry is the sum over the pairs of query and key that read it, rounded once.

    Raises
    ------
    TypeError
        If gradient is not floating, or rows is not an integer.
    ValueError
        If an argument is out of its domain.
    """
    values = arguments.bias_gradient(gradient)
    _, q_len, k_len = values.shape
    looked_up = clipped_rows(arguments.integer("rows", rows, 1), q_len, k_len)
    return sums_by_row(values, looked_up, rows).astype(values.dtype)


def clipped_rows(rows: int, q_len: int, k_len: int) -> npt.NDArray[np.int64]:
    """Return the row, out of 2k+1, that each query-key pair reads: shape [q_len, k_len]."""
    if rows % 2 == 0:
        raise ValueError(f"table has {rows} rows; it must have 2k+1, for offsets from -k to k")
    q_len, k_len = arguments.integer("q_len", q_len, 0), arguments.integer("k_len", k_len, 0)
    if q_len > k_len:
        raise ValueError(f"q_len is {q_len} and k_len {k_len}; queries are the last of the keys")
    offset = np.arange(k_len) - np.arange(k_len - q_len, k_len)[:, None]
    return (offset + rows // 2).clip(0, rows - 1)
