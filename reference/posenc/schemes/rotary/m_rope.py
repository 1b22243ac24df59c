"""Multimodal rotary position embedding by time, height and width, and its position ids.

Sources: Wang et al. 2024, "Qwen2-VL", arXiv 2409.12191, section 2.1; Huang et al. 2025, "Revisiting
Multimodal Positional Encoding in Vision-Language Models", arXiv 2510.23095, for the interleaved
allocation.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation
from posenc.exact import sincos_each, turns_per_position

__all__ = ["m_rope", "m_rope_position_ids", "m_rope_vjp"]

LAYOUTS = ("interleaved", "half")
ALLOCATIONS = ("contiguous", "interleaved", "alternating")
NEXT_POSITIONS = ("largest", "spatial")
AXES = 3


def m_rope(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    sections: npt.ArrayLike,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    allocation: str = "contiguous",
) -> npt.NDArray[np.floating]:
    """Rotate each pair of channels of queries or keys by the time, height or width position.

    With r = 2 (sum of the sections) rotated channels, pair t = 0 … r/2-1 rotates by
    ``base ** (-2t / r)`` radians per position, as in :func:`posenc.rope`; ``allocation`` chooses
    which of the three positions it uses.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries or keys, with any batch and head axes.
    positions : integer array of shape [3, n]
        Time, height and width of each token, in any order; at most 2**53 in magnitude.
    sections : integer array of shape [3]
        Pairs, not channels, of time, height and width. Channels after the leading 2 (sum of the
        sections) stay unchanged.
    base : float
        Base of the geometric progression of frequencies.
    layout : "interleaved" or "half"
        Pairs are channels (2t, 2t+1) or (t, t + r/2).
    allocation : "contiguous", "interleaved" or "alternating"
        The first sections[0] pairs use the time, the next sections[1] the height and the rest the
        width; or pairs 1, 4, 7, … use the height and 2, 5, 8, … the width, as many as their
        sections say, and all others the time; or height and width alternate from pair 0 on, and
        the last pairs use the time.

    Returns
    -------
    array of the shape and dtype of x
        Computed in float64 and rounded once.

    Raises
    ------
    TypeError
        If x is not floating, or positions or sections are not integers.
    ValueError
        If an argument is out of its domain, shapes do not fit, or the sections do not fit the
        allocation.
    """
    arguments.choice("layout", layout, LAYOUTS)
    values = rotation.queries_or_keys("x", x)
    where = arguments.positions(positions)
    if where.shape != (AXES, values.shape[-2]):
        raise ValueError(
            f"positions have shape {where.shape} but must be [3, {values.shape[-2]}], "
            "times, heights and widths"
        )
    axes = _axes(sections, allocation)
    if 2 * len(axes) > values.shape[-1]:
        raise ValueError(
            f"sections add up to {len(axes)} pairs; head_dim is {values.shape[-1]} channels"
        )
    step = Fraction(1, len(axes))
    frequencies = turns_per_position(arguments.base(base), step, len(axes))
    return rotation.turned(values, *sincos_each(where[axes].T, frequencies), layout, layout)


m_rope_vjp = rotation.transpose(m_rope)
"""Gradient of a loss with respect to the x of :func:`m_rope`.

Each pair rotates back by its time, height or width. x is the gradient with
respect to the rotated queries or keys; all other arguments are as in :func:`m_rope`.
"""


def _axes(sections: npt.ArrayLike, allocation: str) -> npt.NDArray[np.intp]:
    """Return the axis of each pair."""
    arguments.choice("allocation", allocation, ALLOCATIONS)
    sizes = np.asarray(sections)
    if sizes.dtype.kind not in "iu":
        raise TypeError(f"sections are {sizes.dtype}; they must be integers")
    if sizes.shape != (AXES,) or (sizes < 0).any() or not sizes.any():
        raise ValueError(
            f"sections are {sizes.tolist()}; they must be three numbers of pairs, not all 0"
        )
    if allocation == "contiguous":
        return np.repeat(np.arange(AXES), sizes)
    if allocation == "alternating":
        if sizes[1] != sizes[2]:
            raise ValueError(
                f"sections {sizes.tolist()} cannot take turns: height and width differ"
            )
        return np.concatenate([np.tile([1, 2], sizes[1]), np.zeros(sizes[0], dtype=np.intp)])
    axes = np.zeros(int(sizes.sum()), dtype=np.intp)
    for axis in (1, 2):
        axes[axis : 3 * int(sizes[axis]) : 3] = axis
    if not np.array_equal(np.bincount(axes, minlength=AXES), sizes):
        raise ValueError(
            f"sections {sizes.tolist()} cannot be interleaved: of {len(axes)} pairs, height and "
            "width have every third one at most"
        )
    return axes


def m_rope_position_ids(
    segments: npt.ArrayLike,
    *,
    merge_size: int = 1,
    next_position: str = "largest",
    tokens_per_second: float | None = None,
    second_per_grid: float | None = None,
) -> npt.NDArray[np.int64]:
    """Return time, height and width ids of the tokens of a sequence of texts, images and videos.

    The three ids of text tokens are equal and increase by 1. Tokens of an image or video count
    time, height and width from the segment's start, frame by frame and row by row.

    Parameters
    ----------
    segments : integer array of shape [s, 3]
        In order, for each image or video its frames, height and width in patches, and
        (tokens, 0, 0) for each text.
    merge_size : int
        Patches that are merged into one token along the height, and as many along the width.
    next_position : "largest" or "spatial"
        The next segment starts at the largest id so far plus one; or, after an image or video, at
        its start plus the larger of its height and width in tokens, regardless of its frames.
    tokens_per_second, second_per_grid : float or None
        Both or neither, above 0: frame t of a video has the time
        ``floor(t * tokens_per_second * second_per_grid)`` instead of t, counted from its start.
        The product is exact.

    Returns
    -------
    int64 array of shape [3, tokens]

    Raises
    ------
    TypeError
        If segments are not integers.
    ValueError
        If segments are not of shape [s, 3], heights and widths are not multiples of merge_size, or
        seconds are out of their domain.
    """
    arguments.choice("next_position", next_position, NEXT_POSITIONS)
    merged = arguments.integer("merge_size", merge_size, 1)
    step = _step(tokens_per_second, second_per_grid)
    parts = [np.zeros((AXES, 0), dtype=np.int64)]
    start = 0
    for size, height, width in _segments(segments, merged):
        if height == 0:
            parts.append(np.tile(start + np.arange(size, dtype=np.int64), (AXES, 1)))
            start += size
        else:
            rows, columns = height // merged, width // merged
            times = np.array([int(frame * step) for frame in range(size)], dtype=np.int64)
            places = np.indices((size, rows, columns), dtype=np.int64).reshape(AXES, -1)
            places[0] = times[places[0]]
            parts.append(start + places)
            extent = int(times[-1]) + 1 if next_position == "largest" else 0
            start += max(extent, rows, columns)
    return np.concatenate(parts, axis=1)


def _step(tokens_per_second: float | None, second_per_grid: float | None) -> Fraction:
    """Return the time step from frame to frame."""
    if tokens_per_second is None and second_per_grid is None:
        return Fraction(1)
    if tokens_per_second is None or second_per_grid is None:
        raise ValueError(
            f"tokens_per_second is {tokens_per_second} and second_per_grid is {second_per_grid}; "
            "they come together"
        )
    step = Fraction(1)
    for name, value in (
        ("tokens_per_second", tokens_per_second),
        ("second_per_grid", second_per_grid),
    ):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} is {value}; it must be finite and above 0")
        step *= Fraction(float(value))
    return step


def _segments(segments: npt.ArrayLike, merge_size: int) -> list[list[int]]:
    """Check the sizes of each segment, and return them as Python integers."""
    sizes = np.asarray(segments)
    if sizes.dtype.kind not in "iu":
        raise TypeError(f"segments are {sizes.dtype}; they must be integers")
    if sizes.ndim != 2 or sizes.shape[1] != AXES or (sizes < 0).any():
        raise ValueError(f"segments have shape {sizes.shape}; they must be [s, 3], not negative")
    area = sizes[:, 1:]
    if ((area == 0).any(axis=1) != (area == 0).all(axis=1)).any():
        raise ValueError("a segment has a height or a width, but not both")
    if (sizes[area.all(axis=1), 0] == 0).any():
        raise ValueError("an image or video has no frames")
    if (area % merge_size).any():
        raise ValueError(f"heights and widths must be multiples of merge_size, {merge_size}")
    listed: list[list[int]] = sizes.tolist()
    return listed
