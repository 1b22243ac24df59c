"""Rotary position embedding of rows and columns.

Sources: Heo et al. 2024, "Rotary Position Embedding for Vision Transformer", arXiv 2403.13298
(equation 12 is the axial form); mistralai/mistral-inference for the split progression;
facebookresearch/dinov3 for coordinates that do not count patches.
"""

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from posenc import arguments, exact, rotation
from posenc.elementary import add, negative, times
from posenc.exact import Array, Pair, SinCos

__all__ = ["rope_2d", "rope_2d_image", "rope_2d_mixed", "rope_2d_vjp"]

LAYOUTS = ("interleaved", "half", "half-per-axis")
ORDERS = ("row-first", "column-first", "alternating")
PROGRESSIONS = ("shared", "split")
EXTENTS = ("each-side", "longer-side")
ROW, COLUMN = 0, 1


def rope_2d(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    order: str = "column-first",
    progression: str = "shared",
) -> npt.NDArray[np.floating]:
    """Rotate queries or keys of patches, half of the pairs by the row and half by the column.

    ``order`` assigns the head_dim / 2 pairs to the axes. Pair t = 0, 1, … of an axis rotates by
    ``base ** (-4t / head_dim)`` radians per position if the progression is shared. If it is split,
    pair t of the first axis rotates by ``base ** (-2 (2t) / head_dim)`` and pair t of the second
    by ``base ** (-2 (2t + 1) / head_dim)``.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes; head_dim is divisible by four.
    positions : integer array of shape [2, n]
        Row and column of each patch, in any order; at most 2**53 in magnitude.
    base : float
        Base of the geometric progression of frequencies.
    layout : "interleaved", "half" or "half-per-axis"
        Pair t of the head is channels (2t, 2t+1); or (t, t + head_dim/2); or, within each half of
        the head, (t, t + head_dim/4).
    order : "row-first", "column-first" or "alternating"
        The first half of the pairs belongs to the row; or to the column; or the first pair
        belongs to the column, the second to the row, and so on.
    progression : "shared" or "split"
        Both axes have the same frequencies, or alternate between those of one progression.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError
        If x is not floating or positions are not integers.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    arguments.choice("order", order, ORDERS)
    arguments.choice("progression", progression, PROGRESSIONS)
    values = rotation.queries_or_keys("x", x)
    where = _places(positions, values)
    axes, turns = _pairs(values.shape[-1], arguments.base(base), order, progression)
    return _turned(values, exact.sincos_each(where[axes].T, turns), layout)


rope_2d_vjp = rotation.transpose(rope_2d)
"""Gradient of a loss with respect to the x of :func:`rope_2d`.

Each pair rotates back by its row or column. x is the gradient with respect to the rotated
queries or keys; all other arguments are as in :func:`rope_2d`.
"""


def rope_2d_mixed(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    frequencies: npt.ArrayLike,
    *,
    layout: str = "interleaved",
    order: str = "column-first",
) -> npt.NDArray[np.floating]:
    """Rotate queries or keys of patches, every pair by a learned combination of row and column.

    Pair t of head h rotates by ``frequencies[0, h, t]`` times the coordinate of the first axis plus
    ``frequencies[1, h, t]`` times that of the second.

    Parameters
    ----------
    x : floating array of shape [..., heads, n, head_dim]
        Queries or keys, with any batch axes.
    positions : integer array of shape [2, n]
        Row and column of each patch, in any order; at most 2**53 in magnitude.
    frequencies : floating array of shape [2, heads, head_dim / 2]
        Radians per position, the learned weights.
    layout : "interleaved", "half" or "half-per-axis"
        As in :func:`rope_2d`.
    order : "column-first" or "row-first"
        The axis of ``frequencies[0]``.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError
        If x or frequencies are not floating or positions are not integers.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    arguments.choice("order", order, ("column-first", "row-first"))
    values = rotation.queries_or_keys("x", x)
    where = _places(positions, values)
    weights = np.asarray(frequencies)
    if weights.dtype.kind not in "fV":
        raise TypeError(f"frequencies are {weights.dtype}; they must be floating")
    if values.ndim < 3 or weights.shape != (2, values.shape[-3], values.shape[-1] // 2):
        raise ValueError(
            f"frequencies have shape {weights.shape} and x {values.shape}; they must be "
            "[2, heads, head_dim / 2] and [..., heads, n, head_dim]"
        )
    if not np.isfinite(weights).all():
        raise ValueError("frequencies must be finite")
    if order == "column-first":
        where = where[::-1]
    first, second = (_each_head(where[axis], weights[axis].astype(np.float64)) for axis in range(2))
    return _turned(values, _summed(first, second), layout)


def rope_2d_image(
    x: npt.ArrayLike,
    height: int,
    width: int,
    *,
    base: float = 100.0,
    layout: str = "half",
    order: str = "row-first",
    extent: str = "each-side",
) -> npt.NDArray[np.floating]:
    """Rotate queries or keys of all patches of an image by their place in the image.

    The centre of patch p of a side of n patches has the coordinate ``(2p + 1) / n - 1``: an image
    extends from -1 to 1. Pair t = 0, 1, … of an axis makes ``base ** (-4t / head_dim)`` turns, not
    radians, per unit of the coordinate.

    Parameters
    ----------
    x : floating array of shape [..., height * width, head_dim]
        Queries or keys of the patches, row by row; head_dim is divisible by four.
    height, width : int
        Patches from top to bottom and from left to right, at least 1.
    base : float
        Base of the geometric progression of frequencies.
    layout : "interleaved", "half" or "half-per-axis"
        As in :func:`rope_2d`.
    order : "row-first", "column-first" or "alternating"
        As in :func:`rope_2d`.
    extent : "each-side" or "longer-side"
        Whether n is the number of patches of the side itself, or of the longer side.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError
        If x is not floating, or a side is not an integer.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    arguments.choice("order", order, ORDERS)
    arguments.choice("extent", extent, EXTENTS)
    sides = [arguments.integer("height", height, 1), arguments.integer("width", width, 1)]
    values = rotation.queries_or_keys("x", x)
    if values.shape[-2] != sides[ROW] * sides[COLUMN]:
        raise ValueError(
            f"x has {values.shape[-2]} rows but the image {sides[ROW]} by {sides[COLUMN]} patches"
        )
    patches = np.indices(sides).reshape(2, -1)
    where = _places(patches, values)
    counts = sides if extent == "each-side" else [max(sides)] * 2
    from_middle = 2 * where + 1 - np.array(counts)[:, None]
    number = arguments.base(base)
    axes, turns = _turns_of_sides(values.shape[-1], number, order, counts[ROW], counts[COLUMN])
    return _turned(values, exact.sincos_each(from_middle[axes].T, turns), layout)


@lru_cache(maxsize=256)
def _turns_of_sides(
    head_dim: int, base: float, order: str, rows: int, columns: int
) -> tuple[npt.NDArray[np.intp], Array]:
    """Return the axis of each pair, and its frequency in turns per half patch."""
    axes, members = _axes(head_dim // 4, order)
    frequencies = exact.progression(base, Fraction(4, head_dim), head_dim // 4)
    sides = (rows, columns)
    scaled = [
        exact.quotient(frequencies[member], sides[axis])
        for axis, member in zip(axes, members, strict=True)
    ]
    return axes, exact.in_words(scaled)


def _places(positions: npt.ArrayLike, values: npt.NDArray[np.floating]) -> Array:
    where = arguments.positions(positions)
    if where.shape != (2, values.shape[-2]):
        raise ValueError(
            f"positions have shape {where.shape} but must be [2, {values.shape[-2]}], "
            "rows and columns"
        )
    if values.shape[-1] % 4 or values.shape[-1] < 4:
        raise ValueError(f"head_dim is {values.shape[-1]}; it must be divisible by four")
    return where


@lru_cache(maxsize=256)
def _pairs(
    head_dim: int, base: float, order: str, progression: str
) -> tuple[npt.NDArray[np.intp], Array]:
    """Return the axis of each pair, and its frequency in turns."""
    half = head_dim // 4
    if progression == "shared":
        first = second = exact.progression(base, Fraction(4, head_dim), half)
    else:
        both = exact.progression(base, Fraction(2, head_dim), 2 * half)
        first, second = both[0::2], both[1::2]
    axes, members = _axes(half, order)
    by_axis = {int(axes[0]): first, int(axes[-1]): second}
    frequencies = (by_axis[axis][member] for axis, member in zip(axes, members, strict=True))
    return axes, exact.turns(tuple(frequencies))


def _axes(pairs: int, order: str) -> tuple[npt.NDArray[np.intp], list[int]]:
    """Return the axis of each pair, and its number among the pairs of that axis."""
    if order == "alternating":
        return np.tile([COLUMN, ROW], pairs), [member // 2 for member in range(2 * pairs)]
    axes = [ROW, COLUMN] if order == "row-first" else [COLUMN, ROW]
    return np.repeat(axes, pairs), [*range(pairs), *range(pairs)]


def _each_head(where: Array, weights: Array) -> SinCos:
    """Return the sine and cosine of position times weight, for weights of shape [heads, pairs]."""
    turns = exact.turns(tuple(map(Decimal, weights.ravel().tolist())))
    waves = exact.sincos(where, turns)

    def by_head(part: Array) -> Array:
        return np.moveaxis(part.reshape(len(where), *weights.shape), 0, 1)

    return SinCos(*(Pair(by_head(wave.high), by_head(wave.low)) for wave in waves))


def _summed(a: SinCos, b: SinCos) -> SinCos:
    """Return the sine and cosine of the sum of two angles."""
    return SinCos(
        add(times(a.sin, b.cos), times(a.cos, b.sin)),
        add(times(a.cos, b.cos), negative(times(a.sin, b.sin))),
    )


def _turned(
    values: npt.NDArray[np.floating], waves: SinCos, layout: str
) -> npt.NDArray[np.floating]:
    arguments.choice("layout", layout, LAYOUTS)
    if layout != "half-per-axis":
        return rotation.turned(values, *waves, layout, layout)
    half, quarter = values.shape[-1] // 2, values.shape[-1] // 4
    parts = []
    for index in range(2):
        pairs = slice(index * quarter, (index + 1) * quarter)
        sin, cos = (Pair(wave.high[..., pairs], wave.low[..., pairs]) for wave in waves)
        part = values[..., index * half : (index + 1) * half]
        parts.append(rotation.turned(part, sin, cos, "half", "half"))
    return np.concatenate(parts, axis=-1)
