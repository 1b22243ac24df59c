"""Rotary position embedding with any number of axes, each with its own channels.

Sources: Su et al. 2021, "RoFormer", arXiv 2104.09864, for the rotation; black-forest-labs/flux for
axes of unequal width; the code of Wan and CogVideoX for widths that follow from head_dim;
facebookresearch/vjepa2, src/models/utils/modules.py, for tiled waves.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments, exact, rotation
from posenc.exact import Pair

__all__ = ["axial_rope", "axial_rope_position_ids", "axial_rope_tiled", "axial_rope_widths"]

LAYOUTS = ("interleaved", "half", "half-per-axis")
ALLOCATIONS = ("sixths", "eighths")
GRIDS = ("flux", "flux-2", "qwen-image", "z-image")
IMAGES_APART = 10


def axial_rope(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    widths: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
) -> npt.NDArray[np.floating]:
    """Rotate the pairs of each axis by the position on that axis.

    The first ``widths[0] / 2`` pairs belong to axis 0, the next ``widths[1] / 2`` to axis 1, and
    so on. Pair t = 0, 1, … of an axis of w channels rotates by ``base ** (-2t / w)`` radians per
    position.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes.
    positions : integer array of shape [axes, n]
        Position of each token on each axis, in any order; at most 2**53 in magnitude.
    widths : integer array of shape [axes]
        Channels, not pairs, of each axis: even, at least 2, adding up to head_dim.
    base : float
        Base of the geometric progression of frequencies of every axis.
    layout : "interleaved", "half" or "half-per-axis"
        Pair t of the head is channels (2t, 2t+1), or (t, t + head_dim/2). Or each axis has its own
        block of w channels, and pair t of an axis is channels t and t + w/2 of that block.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError
        If x is not floating, or positions or widths are not integers.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    arguments.choice("layout", layout, LAYOUTS)
    values = rotation.queries_or_keys("x", x)
    sizes = _widths(widths, values.shape[-1])
    where = arguments.positions(positions)
    if where.shape != (len(sizes), values.shape[-2]):
        raise ValueError(
            f"positions have shape {where.shape} but must be [{len(sizes)}, {values.shape[-2]}], "
            "one row for each axis"
        )
    number = arguments.base(base)
    frequencies = exact.turns(
        tuple(
            frequency
            for size in sizes
            for frequency in exact.progression(number, Fraction(2, size), size // 2)
        )
    )
    axes = np.repeat(np.arange(len(sizes)), [size // 2 for size in sizes])
    sin, cos = exact.sincos_each(where[axes].T, frequencies)
    if layout != "half-per-axis":
        return rotation.turned(values, sin, cos, layout, layout)
    parts, first = [], 0
    for size in sizes:
        pairs = slice(first // 2, (first + size) // 2)
        sine, cosine = (Pair(wave.high[..., pairs], wave.low[..., pairs]) for wave in (sin, cos))
        part = values[..., first : first + size]
        parts.append(rotation.turned(part, sine, cosine, "half", "half"))
        first += size
    return np.concatenate(parts, axis=-1)


def _widths(widths: npt.ArrayLike, head_dim: int) -> list[int]:
    """Check the channels of each axis, and return them as Python integers."""
    sizes = np.asarray(widths)
    if sizes.dtype.kind not in "iu":
        raise TypeError(f"widths are {sizes.dtype}; they must be integers")
    if sizes.ndim != 1 or (sizes < 2).any() or (sizes % 2).any() or sizes.sum() != head_dim:
        raise ValueError(
            f"widths are {sizes.tolist()}; they must be even, at least 2, and {head_dim} together, "
            "as x has channels"
        )
    listed: list[int] = sizes.tolist()
    return listed


def axial_rope_tiled(x: npt.ArrayLike, positions: npt.ArrayLike) -> npt.NDArray[np.floating]:
    """Transform queries or keys as V-JEPA 2 does, with two different angles in each pair.

    Time, height and width have ``w = 2 * (head_dim // 6)`` channels each, in this order; the
    remaining channels stay unchanged. Channel c of an axis has the angle position times
    ``10000 ** (-2 (c % (w / 2)) / w)``. Each channel becomes itself times the cosine of its angle
    minus, or for the second channel of a pair plus, its neighbour times the sine of the same angle.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes; head_dim is at least 6.
    positions : integer array of shape [3, n]
        Frame, row and column of each token; at most 2**53 in magnitude.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once. This is not a rotation: lengths change.

    Raises
    ------
    TypeError
        If x is not floating or positions are not integers.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    values = rotation.queries_or_keys("x", x)
    pairs = values.shape[-1] // 6
    if not pairs:
        raise ValueError(f"x has {values.shape[-1]} channels; three axes need 6 at least")
    where = arguments.positions(positions)
    if where.shape != (3, values.shape[-2]):
        raise ValueError(f"positions have shape {where.shape} but must be [3, {values.shape[-2]}]")
    omega = exact.progression(10000.0, Fraction(1, pairs), pairs)
    axes = where[np.repeat(np.arange(3), pairs)].T
    result = np.array(values)
    for member in (0, 1):
        tiled = [omega[(2 * pair + member) % pairs] for pair in range(pairs)]
        sin, cos = exact.sincos_each(axes, exact.turns(tuple(tiled * 3)))
        turned = rotation.turned(values, sin, cos, "interleaved", "interleaved")
        result[..., member : 6 * pairs : 2] = turned[..., member : 6 * pairs : 2]
    return result


def axial_rope_widths(head_dim: int, *, allocation: str = "sixths") -> npt.NDArray[np.int64]:
    """Return the numbers of channels of a head for time, height and width.

    Parameters
    ----------
    head_dim : int
        Channels of a head: even and at least 6 for sixths, divisible by 16 for eighths.
    allocation : "sixths" or "eighths"
        Height and width get ``2 * (head_dim // 6)`` each and time the rest; or time gets
        ``head_dim / 4`` and the others ``3 * head_dim / 8`` each.

    Returns
    -------
    int64 array of shape [3]

    Raises
    ------
    TypeError
        If head_dim is not an integer.
    ValueError
        If the axes would not have whole pairs, or the allocation is unknown.
    """
    arguments.choice("allocation", allocation, ALLOCATIONS)
    channels = arguments.integer("head_dim", head_dim, 6)
    if allocation == "sixths":
        if channels % 2:
            raise ValueError(f"head_dim is {channels}; it must be even")
        side = 2 * (channels // 6)
    else:
        if channels % 16:
            raise ValueError(f"head_dim is {channels}; it must be divisible by 16")
        side = 3 * channels // 8
    return np.array([channels - 2 * side, side, side], dtype=np.int64)


def axial_rope_position_ids(
    images: npt.ArrayLike, *, tokens: int = 0, grid: str = "flux"
) -> npt.NDArray[np.int64]:
    """Return the position ids of text tokens, then of the patches of images or a video.

    Patches follow each other image by image, frame by frame and row by row.

    Parameters
    ----------
    images : integer array of shape [s, 3]
        Frames, height and width in patches of each image or video; an image has one frame. For
        ``"flux-2"`` images only, for ``"z-image"`` at most one.
    tokens : int
        Length of the text, at least 0.
    grid : "flux", "flux-2", "qwen-image" or "z-image"
        ``"flux"``: text is at (0, 0, 0), a patch of image k at (k + frame, row, column).
        ``"flux-2"``: a fourth axis counts the text, token i at (0, 0, 0, i); a patch of image k
        is at (10k, row, column, 0).
        ``"qwen-image"``: like flux, but rows and columns are counted from the middle, so that the
        first row is ``-(height - height // 2)``. Text token i is at m + i on all axes, m being the
        largest of all ``height // 2`` and ``width // 2``.
        ``"z-image"``: text token i at (1 + i, 0, 0), a patch at (1 + tokens + frame, row, column).

    Returns
    -------
    int64 array of shape [axes, tokens + patches]
        Three axes, or four for ``"flux-2"``.

    Raises
    ------
    TypeError
        If images or tokens are not integers.
    ValueError
        If sizes are out of their domain.
    """
    arguments.choice("grid", grid, GRIDS)
    length = arguments.integer("tokens", tokens, 0)
    sizes = _images(images, grid)
    parts = [_text(length, sizes, grid)]
    for number, size in enumerate(sizes):
        patches = np.indices(size, dtype=np.int64).reshape(3, -1)
        if grid == "qwen-image":
            patches[1:] -= np.array([[side - side // 2] for side in size[1:]])
        patches[0] += {"flux-2": IMAGES_APART * number, "z-image": 1 + length}.get(grid, number)
        if grid == "flux-2":
            patches = np.concatenate([patches, np.zeros_like(patches[:1])])
        parts.append(patches)
    return np.concatenate(parts, axis=1)


def _text(tokens: int, sizes: list[list[int]], grid: str) -> npt.NDArray[np.int64]:
    """Return the positions of the text: [axes, tokens]."""
    place = np.zeros((4 if grid == "flux-2" else 3, tokens), dtype=np.int64)
    if grid == "flux-2":
        place[3] = np.arange(tokens)
    elif grid == "z-image":
        place[0] = 1 + np.arange(tokens)
    elif grid == "qwen-image":
        start = max((side // 2 for size in sizes for side in size[1:]), default=0)
        place[:] = start + np.arange(tokens)
    return place


def _images(images: npt.ArrayLike, grid: str) -> list[list[int]]:
    """Check the size of each image, and return the sizes as Python integers."""
    sizes = np.asarray(images)
    if sizes.size and sizes.dtype.kind not in "iu":
        raise TypeError(f"images are {sizes.dtype}; they must be integers")
    if sizes.ndim != 2 or sizes.shape[1] != 3 or (sizes < 1).any():
        raise ValueError(f"images have shape {sizes.shape}; they must be [s, 3], all at least 1")
    if grid == "flux-2" and (sizes[:, 0] != 1).any():
        raise ValueError("flux-2 places images only; each must have one frame")
    if grid == "z-image" and len(sizes) > 1:
        raise ValueError(f"z-image places one image; {len(sizes)} were given")
    listed: list[list[int]] = sizes.tolist()
    return listed
