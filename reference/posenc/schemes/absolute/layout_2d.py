"""Positions of words on a page: embeddings of their boxes, and a bias for the distance of boxes.

Sources: Xu et al. 2020, "LayoutLM", arXiv 1912.13318; Xu et al. 2021, "LayoutLMv2", arXiv
2012.14740, sections 2.1 and 2.2; Huang et al. 2022, "LayoutLMv3", arXiv 2204.08387; and their
released code in microsoft/unilm.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import add, divide, pair, square_root, sum_last, total
from posenc.exact import Pair
from posenc.schemes.bias.t5_bias import t5_bucket

__all__ = ["layout_bias", "layout_embedding"]

Boxes = npt.NDArray[np.int64]
JOINS = ("sum", "concatenate")
SIZES = ("exact", "clipped")
SCALINGS = ("none", "root")


def layout_embedding(
    bbox: npt.ArrayLike,
    x_table: npt.ArrayLike,
    y_table: npt.ArrayLike,
    h_table: npt.ArrayLike,
    w_table: npt.ArrayLike,
    *,
    join: str = "concatenate",
    sizes: str = "exact",
) -> npt.NDArray[np.floating]:
    """Embed the left, upper, right and lower edge of each box, its height and its width.

    Parameters
    ----------
    bbox : integer array of shape [n, 4]
        Left, upper, right and lower edge of each word, on a page of 1000 by 1000.
    x_table, y_table : floating arrays of shape [rows, coordinate_dim]
        Embeddings of left and right edges, and of upper and lower edges.
    h_table, w_table : floating arrays of shape [rows, size_dim]
        Embeddings of heights and widths.
    join : "sum" or "concatenate"
        Whether the six embeddings are added, which needs equal widths, or concatenated.
    sizes : "exact" or "clipped"
        Whether a box that ends before it begins is refused, or has size 0.

    Returns
    -------
    array of shape [n, coordinate_dim] or [n, 4 coordinate_dim + 2 size_dim], dtype of the tables

    Raises
    ------
    TypeError
        If bbox does not hold integers, or a table is not floating.
    ValueError
        If shapes do not fit, or an edge or a size has no row.
    """
    arguments.choice("join", join, JOINS)
    arguments.choice("sizes", sizes, SIZES)
    boxes = _boxes(bbox)
    tables = {"x_table": x_table, "y_table": y_table, "h_table": h_table, "w_table": w_table}
    x, y, h, w = (_table(name, array) for name, array in tables.items())
    left, upper, right, lower = boxes.T
    height, width = lower - upper, right - left
    if sizes == "clipped":
        height, width = np.maximum(height, 0), np.maximum(width, 0)
    parts = [
        _looked_up(name, table, rows)
        for name, table, rows in (
            ("left edge", x, left),
            ("upper edge", y, upper),
            ("right edge", x, right),
            ("lower edge", y, lower),
            ("height", h, height),
            ("width", w, width),
        )
    ]
    if join == "concatenate":
        return np.concatenate(parts, axis=-1)
    if len({array.shape for array in parts}) > 1:
        raise ValueError("tables have different widths; what is added must be equally wide")
    terms = np.stack([array.astype(np.float64) for array in parts], axis=-1)
    return total(sum_last(pair(terms))).astype(np.result_type(*parts))


def layout_bias(
    bbox: npt.ArrayLike,
    x_table: npt.ArrayLike,
    y_table: npt.ArrayLike,
    *,
    max_distance: int = 256,
    head_dim: int = 64,
    scaling: str = "none",
) -> npt.NDArray[np.floating]:
    """Return the bias to add to the logits of every pair of boxes.

    Parameters
    ----------
    bbox : integer array of shape [n, 4]
        Left, upper, right and lower edge of each word.
    x_table, y_table : floating arrays of shape [num_buckets, heads]
        Biases per bucket of the distance of left edges, and of lower edges: key minus query.
    max_distance : int
        As in the two-sided rule of :func:`t5_bucket`.
    head_dim : int
        Channels of a head; used only with scaling "root".
    scaling : "none" or "root"
        Whether the sum of both biases is divided by the square root of head_dim.

    Returns
    -------
    array of shape [heads, n, n] and the dtype of the tables

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    arguments.choice("scaling", scaling, SCALINGS)
    boxes = _boxes(bbox)
    x, y = _table("x_table", x_table), _table("y_table", y_table)
    if x.shape != y.shape:
        raise ValueError(f"tables have shapes {x.shape} and {y.shape}; they must be equal")
    wide = arguments.integer("head_dim", head_dim, 1)
    along, down = (
        table[t5_bucket(edge - edge[:, None], num_buckets=len(table), max_distance=max_distance)]
        for table, edge in ((x, boxes[:, 0]), (y, boxes[:, 3]))
    )
    bias = add(pair(along), pair(down))
    if scaling == "root":
        root = square_root(float(wide))
        bias = divide(bias, Pair(*(np.full(bias.high.shape, part) for part in root)))
    return np.moveaxis(total(bias), -1, 0).astype(np.result_type(x, y))


def _boxes(bbox: npt.ArrayLike) -> Boxes:
    boxes = np.asarray(bbox)
    if not np.issubdtype(boxes.dtype, np.integer):
        raise TypeError(f"bbox is {boxes.dtype}; it must hold integers")
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"bbox has shape {boxes.shape}; it must be [n, 4]")
    return boxes.astype(np.int64)


def _table(name: str, table: npt.ArrayLike) -> npt.NDArray[np.floating]:
    values = np.asarray(table)
    if values.dtype.kind not in "fV":
        raise TypeError(f"{name} is {values.dtype}; it must hold floating-point numbers")
    if values.ndim != 2 or not len(values):
        raise ValueError(f"{name} has shape {values.shape}; it must be [rows, columns]")
    return values


def _looked_up(name: str, table: npt.NDArray[np.floating], rows: Boxes) -> npt.NDArray[np.floating]:
    if rows.size and not (rows.min() >= 0 and rows.max() < len(table)):
        raise ValueError(
            f"a {name} is {rows.min()} or {rows.max()}; its table has rows 0 to {len(table) - 1}"
        )
    return table[rows]
