"""A learned number per head and offset in two dimensions, added to the logits.

Sources: Liu et al. 2021, "Swin Transformer", arXiv 2103.14030, section 3.2, equation 4; Bao et al.
2021, "BEiT", arXiv 2106.08254, whose code adds three rows for a class token.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments

__all__ = ["relative_table_2d", "relative_table_2d_rows"]

CLASS_TOKENS = ("none", "first")


def relative_table_2d(
    table: npt.ArrayLike, *, height: int, width: int, class_token: str = "none"
) -> npt.NDArray[np.floating]:
    """Return the bias added to the logits of a window: the table's row for every offset.

    Parameters
    ----------
    table : floating array of shape [rows, heads]
        ``(2 height - 1) (2 width - 1)`` rows, and three more with a class token.
    height, width : int
        Patches of the window along the axes, each at least 1.
    class_token : "none" or "first"
        Whether a token without a position comes before the patches.

    Returns
    -------
    array of shape [heads, tokens, tokens] and the dtype of table
        Queries before keys, patches row by row.

    Raises
    ------
    TypeError
        If table is not floating, or height or width are not integers.
    ValueError
        If the table has another number of rows, or an argument is out of its domain.
    """
    biases = np.asarray(table)
    if biases.dtype.kind not in "fV":
        raise TypeError(f"table is {biases.dtype}; biases are floating numbers")
    if biases.ndim != 2:
        raise ValueError(f"table has shape {biases.shape}; it must be [rows, heads]")
    rows = relative_table_2d_rows(height, width, class_token=class_token)
    expected = (2 * height - 1) * (2 * width - 1) + (3 if class_token == "first" else 0)
    if len(biases) != expected:
        raise ValueError(
            f"table has {len(biases)} rows; a window of {height} x {width} patches needs {expected}"
        )
    return np.moveaxis(biases[rows], -1, 0).copy()


def relative_table_2d_rows(
    height: int, width: int, *, class_token: str = "none"
) -> npt.NDArray[np.int64]:
    """Return the row of the table for every query and key.

    Query (y, x) and key (v, u) read row ``(y - v + height - 1) (2 width - 1) + x - u + width - 1``.
    Of the three rows after these, the first is for the class token as query, the second for it as
    key, the third for it as both.

    Parameters
    ----------
    height, width : int
        Patches of the window along the axes, each at least 1.
    class_token : "none" or "first"
        Whether a token without a position comes before the patches.

    Returns
    -------
    int64 array of shape [tokens, tokens]

    Raises
    ------
    TypeError
        If height or width are not integers.
    ValueError
        If an argument is out of its domain.
    """
    arguments.choice("class_token", class_token, CLASS_TOKENS)
    high = arguments.integer("height", height, 1)
    wide = arguments.integer("width", width, 1)
    row, column = np.divmod(np.arange(high * wide), wide)
    down = row[:, None] - row + high - 1
    patches = down * (2 * wide - 1) + column[:, None] - column + wide - 1
    if class_token == "none":
        return patches
    behind = (2 * high - 1) * (2 * wide - 1)
    every = np.full((high * wide + 1, high * wide + 1), behind)
    every[:, 0] = behind + 1
    every[0, 0] = behind + 2
    every[1:, 1:] = patches
    return every
