"""Learned tables of positions, and resampling the table of a grid to another size.

Sources: Devlin et al. 2019, "BERT", arXiv 1810.04805; Dosovitskiy et al. 2021, "An Image is Worth
16x16 Words", arXiv 2010.11929, section 3.2; Keys 1981, "Cubic Convolution Interpolation for
Digital Image Processing"; and the released code that the scheme file names.
"""

from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isqrt

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import sum_last, total
from posenc.exact import Pair, two_product

__all__ = ["learned", "learned_grid"]

OFFSETS = ("none", "after-padding", "two")
RESAMPLINGS = ("bicubic", "bicubic-offset", "bicubic-antialias", "linear-corners")
CLASS_TOKENS = (0, 1, 2)
_OFFSET = Fraction(1, 10)
Taps = tuple[npt.NDArray[np.intp], Pair]
"""Indices of the old cells that each new cell reads, and their weights."""


def learned(
    positions: npt.ArrayLike,
    table: npt.ArrayLike,
    *,
    offset: str = "none",
    padding_idx: int | None = None,
) -> npt.NDArray[np.floating]:
    """Return the table row of each position.

    Parameters
    ----------
    positions : integer array of shape [n]
        From 0 to the number of rows minus the offset minus 1.
    table : floating array of shape [rows, dim]
        Embeddings of the positions, and any rows before that of position 0.
    offset : "none", "after-padding" or "two"
        Number of rows before the row of position 0: none, padding_idx + 1, or two.
    padding_idx : int
        Row of the padding token; required with "after-padding", refused without it.

    Returns
    -------
    array of shape [n, dim] and the dtype of table

    Raises
    ------
    TypeError
        If positions are not integers or table is not floating.
    ValueError
        If a position has no row, or another argument is out of its domain.
    """
    arguments.choice("offset", offset, OFFSETS)
    if (padding_idx is not None) != (offset == "after-padding"):
        raise ValueError(f"padding_idx is {padding_idx}, but offset is {offset!r}")
    first = 2 if offset == "two" else 0
    if padding_idx is not None:
        first = arguments.integer("padding_idx", padding_idx, 0) + 1
    rows = _table(table)
    where = arguments.positions(positions).astype(np.int64)
    if where.ndim != 1:
        raise ValueError(f"positions have shape {where.shape}; they must have one axis")
    if where.size and not 0 <= where.min() <= where.max() < len(rows) - first:
        raise ValueError(
            f"positions reach from {where.min()} to {where.max()}; a table of {len(rows)} rows, "
            f"{first} of them before position 0, has rows for 0 to {len(rows) - first - 1}"
        )
    return rows[where + first]


def learned_grid(
    table: npt.ArrayLike,
    height: int,
    width: int,
    *,
    resampling: str = "bicubic",
    class_tokens: int = 1,
    source_height: int | None = None,
    source_width: int | None = None,
) -> npt.NDArray[np.floating]:
    """Resample the position table of a grid of patches to another grid size.

    Along each axis a new cell is a weighted sum of old ones. The weights are rational numbers
    that depend only on the sizes.

    Parameters
    ----------
    table : floating array of shape [class_tokens + g * g, dim]
        Rows of class tokens, then cells row by row; [class_tokens + source_height * source_width,
        dim] if the source sizes are given.
    height, width : int
        Size of the new grid, at least 1 each.
    resampling : "bicubic", "bicubic-offset", "bicubic-antialias" or "linear-corners"
        Keys' kernel with a = -3/4 at the centres of cells, the edge repeated; the same with the
        ratio g / (size + 1/10) instead of g / size, unless the size stays; Keys' kernel with
        a = -1/2, stretched if the grid shrinks and renormalised at edges; or linear interpolation
        between aligned corners.
    class_tokens : 0, 1 or 2
        Number of leading rows, which are copied unchanged.
    source_height, source_width : int, optional
        Size of the table's grid, both or neither; without them the grid is square.

    Returns
    -------
    array of shape [class_tokens + height * width, dim] and the dtype of table
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If table is not floating or a size is not an integer.
    ValueError
        If the cells do not fill the table's grid, or another argument is out of its domain.
    """
    arguments.choice("resampling", resampling, RESAMPLINGS)
    if class_tokens not in CLASS_TOKENS:
        raise ValueError(f"class_tokens is {class_tokens}; it must be 0, 1 or 2")
    height = arguments.integer("height", height, 1)
    width = arguments.integer("width", width, 1)
    rows = _table(table)
    down, across = _source(len(rows) - class_tokens, source_height, source_width)
    if resampling == "bicubic-offset" and (height, width) == (down, across):
        return rows.copy()
    dim = rows.shape[1]
    old = rows[class_tokens:].astype(np.float64).reshape(down, across, dim)
    wide = _resampled(Pair(old, np.zeros_like(old)), _taps(across, width, resampling), 1)
    new = total(_resampled(wide, _taps(down, height, resampling), 0))
    out = np.empty((class_tokens + height * width, dim), dtype=rows.dtype)
    out[:class_tokens] = rows[:class_tokens]
    out[class_tokens:] = new.reshape(height * width, dim)
    return out


def _source(cells: int, height: int | None, width: int | None) -> tuple[int, int]:
    """Return the height and width of a grid of ``cells`` cells, a square if both are None."""
    if (height is None) != (width is None):
        raise ValueError("source_height and source_width belong together: give both or neither")
    if height is None or width is None:
        side = isqrt(max(cells, 0))
        if cells < 1 or side * side != cells:
            raise ValueError(
                f"table has {cells} rows after class tokens; they do not fill a square, and a "
                "rectangle needs source_height and source_width"
            )
        return side, side
    height = arguments.integer("source_height", height, 1)
    width = arguments.integer("source_width", width, 1)
    if height * width != cells:
        raise ValueError(
            f"table has {cells} rows after class tokens; they do not fill {height} x {width}"
        )
    return height, width


def _table(table: npt.ArrayLike) -> npt.NDArray[np.floating]:
    rows = np.asarray(table)
    if rows.dtype.kind not in "fV":
        raise TypeError(f"table is {rows.dtype}; it must be floating")
    if rows.ndim != 2:
        raise ValueError(f"table has shape {rows.shape}; it must be [rows, dim]")
    return rows


def _resampled(values: Pair, taps: Taps, axis: int) -> Pair:
    """Compute weighted sums along ``axis``, whose length changes."""
    cells, weights = taps
    high, low = (np.moveaxis(part, axis, -1)[..., cells] for part in values)
    product = two_product(*np.broadcast_arrays(high, weights.high))
    lows = product.low + (high * weights.low + low * weights.high)
    return Pair(*(np.moveaxis(part, -1, axis) for part in sum_last(Pair(product.high, lows))))


@lru_cache(maxsize=256)
def _taps(grid: int, size: int, resampling: str) -> Taps:
    """Return the old cells that each new cell reads along an axis, and their weights.

    Both have shape [size, taps], the weights as two words. Unused taps have weight 0.
    """
    rows = [_row(grid, size, cell, resampling) for cell in range(size)]
    count = max(len(row) for row in rows)
    full = [[*row.items(), *[(0, Fraction(0))] * (count - len(row))] for row in rows]
    cells = np.array([[old for old, _ in row] for row in full])
    high = np.array([[float(weight) for _, weight in row] for row in full])
    low = [
        [float(weight - Fraction(word)) for (_, weight), word in zip(row, words, strict=True)]
        for row, words in zip(full, high.tolist(), strict=True)
    ]
    return cells, Pair(high, np.array(low))


def _row(grid: int, size: int, cell: int, resampling: str) -> dict[int, Fraction]:
    if resampling == "linear-corners":
        place = Fraction(cell * (grid - 1), max(size - 1, 1))
        first = floor(place)
        beside = range(first, min(first + 2, grid))
        return {old: 1 - abs(place - old) for old in beside}
    offset = _OFFSET if resampling == "bicubic-offset" else 0
    ratio = grid / Fraction(size + offset)
    place = (cell + Fraction(1, 2)) * ratio - Fraction(1, 2)
    if resampling == "bicubic-antialias":
        stretch = max(ratio, Fraction(1))
        first, last = ceil(place - 2 * stretch), floor(place + 2 * stretch)
        near = range(max(first, 0), min(last + 1, grid))
        row = {old: _keys((place - old) / stretch, Fraction(-1, 2)) for old in near}
        whole = sum(row.values())
        return {old: weight / whole for old, weight in row.items()}
    row = dict[int, Fraction]()
    for old in range(floor(place) - 1, floor(place) + 3):
        edge = min(max(old, 0), grid - 1)
        row[edge] = row.get(edge, Fraction(0)) + _keys(place - old, Fraction(-3, 4))
    return row


def _keys(distance: Fraction, a: Fraction) -> Fraction:
    """Evaluate Keys' cubic kernel at a distance of at most 2, beyond which it is 0."""
    x = abs(distance)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * (x**3 - 5 * x**2 + 8 * x - 4)
