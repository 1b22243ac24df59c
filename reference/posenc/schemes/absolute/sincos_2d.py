"""Sinusoidal encoding of the cells of a grid.

Source: the table of He et al. 2022, "Masked Autoencoders Are Scalable Vision Learners", arXiv
2111.06377, in its released ``util/pos_embed.py``, and the variants of big_vision and DETR.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import add, divide, pair, times
from posenc.exact import TURN, Array, Pair, turns_per_position, words
from posenc.schemes.absolute.timestep import sincos_of_pair

__all__ = ["sincos_2d"]

FIRST_AXES = ("column", "row")
LAYOUTS = ("sin-cos", "interleaved")
DENOMINATORS = ("d/4", "d/4-1")
COORDINATES = ("index", "normalized", "centred")

_TURN = words(TURN, 2)
_EPSILON = 1e-6


def sincos_2d(
    height: int,
    width: int,
    dim: int,
    *,
    base: float = 10000.0,
    first_axis: str = "column",
    layout: str = "sin-cos",
    denominator: str = "d/4",
    coordinates: str = "index",
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[np.floating]:
    """Return the encoding of each cell of a grid, row by row.

    Half of the channels encode the column of the cell, the other half its row, each half as in one
    dimension with dim/4 pairs of sine and cosine.

    Parameters
    ----------
    height, width : int
        Rows and columns of the grid, each at least 1.
    dim : int
        Channels d, divisible by 4.
    base : float
        Base of the geometric progression of frequencies ``base ** (-t / (d/4))``.
    first_axis : "column" or "row"
        The coordinate that the first half of the channels encodes.
    layout : "sin-cos" or "interleaved"
        Within a half: all sines and then all cosines, or a sine and a cosine in turn.
    denominator : "d/4" or "d/4-1"
        The divisor of t in the exponent. With "d/4-1" the last frequency is exactly ``1 / base``.
    coordinates : "index", "normalized" or "centred"
        Rows and columns counted from 0; or counted from 1, divided by their number plus 1e-6, and
        multiplied by 2π; or the same with one half subtracted before the division.
    dtype : dtype
        Dtype of the result, which is rounded once.

    Returns
    -------
    array of shape [height * width, dim]
        Row ``r * width + c`` is the cell in row r and column c.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain; for example dim 4 with denominator "d/4-1", where the
        exponent would divide by zero.
    """
    for name, value, allowed in (
        ("first_axis", first_axis, FIRST_AXES),
        ("layout", layout, LAYOUTS),
        ("denominator", denominator, DENOMINATORS),
        ("coordinates", coordinates, COORDINATES),
    ):
        arguments.choice(name, value, allowed)
    height, width = arguments.integer("height", height, 1), arguments.integer("width", width, 1)
    dim = arguments.integer("dim", dim, 4)
    if dim % 4:
        raise ValueError(f"dim is {dim}; two axes of sines and cosines need a multiple of 4")
    pairs = dim // 4
    steps = pairs if denominator == "d/4" else pairs - 1
    if steps == 0:
        raise ValueError(f"dim is {dim}: the exponent t/(d/4-1) divides by zero for one pair")
    base = arguments.base(base)
    rows, columns = (
        _axis(count, base, steps, pairs, layout, coordinates) for count in (height, width)
    )
    cells = np.empty((height, width, 2, dim // 2))
    cells[:, :, int(first_axis == "column")] = rows[:, None]
    cells[:, :, int(first_axis == "row")] = columns
    return cells.reshape(height * width, dim).astype(dtype)


@lru_cache(maxsize=64)
def _axis(count: int, base: float, steps: int, pairs: int, layout: str, coordinates: str) -> Array:
    """Encode each coordinate of one axis: half of the channels, shape [count, dim/2].

    The result is cached: callers must not write to it.
    """
    turns = turns_per_position(base, Fraction(1, steps), pairs)
    waves = [part.high for part in sincos_of_pair(_places(count, coordinates), turns)]
    if layout == "interleaved":
        return np.stack(waves, axis=-1).reshape(count, -1)
    return np.concatenate(waves, axis=1)


def _places(count: int, coordinates: str) -> Pair:
    index = np.arange(count, dtype=np.float64)
    if coordinates == "index":
        return pair(index)
    first = 1.0 if coordinates == "normalized" else 0.5
    part = divide(pair(index + first), add(pair(float(count)), pair(_EPSILON)))
    return times(part, Pair(np.asarray(_TURN[0]), np.asarray(_TURN[1])))
