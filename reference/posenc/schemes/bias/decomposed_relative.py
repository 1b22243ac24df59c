"""Relative positions in images, one table for each axis, as in MViTv2, ViTDet and SAM.

Source: Li et al. 2022, "MViTv2", arXiv 2112.01526, section 4.1, equations 3 and 4; the resizing of
tables is that of the released code of ViTDet and SAM.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments, elementary
from posenc.disentangled import operands, products
from posenc.exact import Array, Pair, two_sum

__all__ = ["decomposed_relative_bias", "resized_relative_table"]


def decomposed_relative_bias(
    q: npt.ArrayLike,
    table_h: npt.ArrayLike,
    table_w: npt.ArrayLike,
    *,
    q_height: int,
    q_width: int,
    k_height: int,
    k_width: int,
) -> npt.NDArray[np.floating]:
    """Return the bias added to the logits: dot products of queries with a row of each table.

    It is ``q_i · (R^h + R^w)``, with unscaled queries. With queries in Q rows and keys in K rows of
    patches, the larger of the two a multiple of the other, the table of the height is resized to
    ``2 max(Q, K) - 1`` rows, and query row i and key row j read its row
    ``i max(K/Q, 1) - j max(Q/K, 1) + (K - 1) max(Q/K, 1)``. Columns work the same way.

    Parameters
    ----------
    q : array of shape [heads, q_height * q_width, head_dim]
        Queries of patches, row by row.
    table_h, table_w : arrays of shape [rows, head_dim]
        Tables for height and width with any number of rows, from the most negative offset of query
        minus key to the most positive.
    q_height, q_width, k_height, k_width : int
        Patches of queries and keys along the axes, each at least 1.

    Returns
    -------
    array of shape [heads, q_height * q_width, k_height * k_width] and the dtype of q
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If an array is not floating, or the dtypes differ.
    ValueError
        If shapes do not fit, a table has no rows, or neither size of an axis is a multiple of the
        other.
    """
    arrays = operands(
        q=(q, "heads patches head_dim"),
        table_h=(table_h, "rows_h head_dim"),
        table_w=(table_w, "rows_w head_dim"),
    )
    height = arguments.integer("q_height", q_height, 1)
    width = arguments.integer("q_width", q_width, 1)
    if arrays.sizes["patches"] != height * width:
        raise ValueError(f"q has {arrays.sizes['patches']} patches; {height} x {width} were said")
    by_row = _products(arrays["q"], arrays["table_h"], height, k_height, "height")
    by_column = _products(arrays["q"], arrays["table_w"], width, k_width, "width")
    row, column = np.divmod(np.arange(height * width), width)
    every = np.arange(height * width)
    rows, columns = (
        Pair(part.high[:, every, place], part.low[:, every, place])
        for part, place in ((by_row, row), (by_column, column))
    )
    both = elementary.add(
        Pair(rows.high[..., :, None], rows.low[..., :, None]),
        Pair(columns.high[..., None, :], columns.low[..., None, :]),
    )
    shape = (len(arrays["q"]), height * width, k_height * k_width)
    return elementary.total(both).reshape(shape).astype(arrays.dtype)


def _products(q: Array, table: Array, queries: int, keys: int, name: str) -> Pair:
    """Multiply patches by each query-key row of the table: [heads, patches, queries, keys]."""
    most = max(queries, arguments.integer(f"k_{name}", keys, 1))
    if most % min(queries, keys):
        raise ValueError(f"q_{name} is {queries} and k_{name} {keys}; one must divide the other")
    resized = _resized(table, 2 * most - 1)
    i, j = np.arange(queries)[:, None], np.arange(keys)
    row = i * max(keys // queries, 1) + (keys - 1 - j) * max(queries // keys, 1)
    weights, near, far = resized
    plain = products(q, table)
    first, second = (
        Pair(plain.high[..., index[row]], plain.low[..., index[row]]) for index in (near, far)
    )
    share = Pair(weights.high[row], weights.low[row])
    gap = elementary.add(second, elementary.negative(first))
    return elementary.add(first, elementary.times(gap, share))


def resized_relative_table(table: npt.ArrayLike, *, rows: int) -> npt.NDArray[np.floating]:
    """Resize a table to another number of rows, by linear interpolation between centres.

    Row r of the result is read at row ``(r + 1/2) n / rows - 1/2`` of the table, clamped to its
    first and last row.

    Parameters
    ----------
    table : array of shape [n, head_dim]
        At least one row.
    rows : int
        Rows of the result, at least 1.

    Returns
    -------
    array of shape [rows, head_dim] and the dtype of the table
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If the table is not floating or rows is not an integer.
    ValueError
        If the table has no rows, or rows is below 1.
    """
    data = operands(table=(table, "n head_dim"))
    values = data["table"]
    share, near, far = _resized(values, arguments.integer("rows", rows, 1))
    gap = two_sum(values[far], -values[near])
    bent = elementary.times(gap, Pair(share.high[:, None], share.low[:, None]))
    return elementary.total(elementary.add(elementary.pair(values[near]), bent)).astype(data.dtype)


def _resized(table: Array, rows: int) -> tuple[Pair, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find the two rows of the table between which each row of the result lies.

    Returns the weights of the second rows, the indices of the first and those of the second.
    """
    count = len(table)
    if count < 1:
        raise ValueError("a table has no rows")
    # (r + 1/2) n / rows - 1/2 is an integer divided by 2 * rows.
    above = np.maximum((2 * np.arange(rows) + 1) * count - rows, 0)
    near = above // (2 * rows)
    left = elementary.pair(above - near * 2 * rows)
    share = elementary.divide(left, elementary.pair(2.0 * rows))
    return share, near, np.minimum(near + 1, count - 1)
