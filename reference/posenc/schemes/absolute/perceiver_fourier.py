"""Perceiver's Fourier features of positions between -1 and 1.

Source: Jaegle et al. 2021, "Perceiver: General Perception with Iterative Attention", arXiv
2103.03206, section 3.2, and its released code.
"""

from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.exact import LARGEST_POSITION, Array, sincos

__all__ = ["perceiver_fourier", "perceiver_positions"]

ORDERS = ("sines-first", "by-coordinate")
POSITIONS = ("first", "last-of-each", "none")
WAVES = ("both", "sines")


def perceiver_fourier(
    x: npt.ArrayLike,
    max_resolution: npt.ArrayLike,
    num_bands: int,
    *,
    order: str = "sines-first",
    position: str = "first",
    waves: str = "both",
) -> npt.NDArray[np.floating]:
    """Return sines and cosines of each coordinate at evenly spaced frequencies.

    A band f gives ``sin(pi * f * x)`` and ``cos(pi * f * x)``. The bands of an axis go from 1, in
    equal steps, to half of its resolution; a single band is 1.

    Parameters
    ----------
    x : array of shape [..., coords]
        Positions, meant to be between -1 and 1.
    max_resolution : integers of shape [coords]
        Number of grid points along each axis, at least 2.
    num_bands : int
        At least 1.
    order : "sines-first" or "by-coordinate"
        All sines before all cosines, and in each half coordinate by coordinate; or for each
        coordinate its sines, then its cosines.
    position : "first", "last-of-each" or "none"
        Whether the coordinates come first, last (with "by-coordinate": each after its own sines
        and cosines), or are left out.
    waves : "both" or "sines"
        Whether cosines are included.

    Returns
    -------
    array of shape [..., features] and the dtype of x

    Raises
    ------
    TypeError
        If x is not floating, or max_resolution or num_bands are not integers.
    ValueError
        If an argument is out of its domain.
    """
    arguments.choice("order", order, ORDERS)
    arguments.choice("position", position, POSITIONS)
    arguments.choice("waves", waves, WAVES)
    count = arguments.integer("num_bands", num_bands, 1)
    points = np.asarray(x)
    if points.dtype.kind not in "fV":
        raise TypeError(f"x is {points.dtype}; it must hold floating-point numbers")
    places = _places("max_resolution", max_resolution, 2)
    if points.ndim == 0 or points.shape[-1] != len(places):
        raise ValueError(
            f"x has shape {points.shape} and max_resolution {len(places)} axes; "
            "the last axis of x must be as long"
        )
    exact = points.astype(np.float64)
    if not np.all(np.abs(exact) * (max(places) / 2) <= LARGEST_POSITION):
        raise ValueError("x must be finite, and max_resolution / 2 times x at most 2**53")
    axis_waves = [
        sincos(exact[..., axis], _half_turns(places[axis], count)) for axis in range(len(places))
    ]
    sines = [wave.sin.high.astype(points.dtype) for wave in axis_waves]
    cosines = [wave.cos.high.astype(points.dtype) for wave in axis_waves if waves == "both"]
    own = [points[..., axis : axis + 1] for axis in range(len(places))]
    first = own if position == "first" else []
    last = own if position == "last-of-each" else []
    if order == "sines-first":
        return np.concatenate([*first, *sines, *cosines, *last], axis=-1)
    parts = [part for part in (sines, cosines, last) if part]
    mixed = [wave for axis in zip(*parts, strict=True) for wave in axis]
    return np.concatenate([*first, *mixed], axis=-1)


def perceiver_positions(
    index_dims: npt.ArrayLike, *, dtype: npt.DTypeLike = np.float64
) -> npt.NDArray[Any]:
    """Return the positions of a grid's points: from -1 to 1 along each axis, in equal steps.

    Parameters
    ----------
    index_dims : integers of shape [coords]
        Number of points along each axis, at least 1. A single point is at -1.
    dtype : data type
        Dtype of the result.

    Returns
    -------
    array of shape [points, coords]
        The last axis varies fastest.

    Raises
    ------
    TypeError
        If index_dims are not integers.
    ValueError
        If an axis has no points.
    """
    places = _places("index_dims", index_dims, 1)
    index = np.indices(places).reshape(len(places), prod(places)).T
    last = np.maximum(np.array(places) - 1, 1)
    return np.asarray((2 * index - last) / last).astype(dtype)


def _places(name: str, given: npt.ArrayLike, fewest: int) -> list[int]:
    axes = np.asarray(given)
    if axes.ndim != 1 or not len(axes):
        raise ValueError(f"{name} has shape {axes.shape}; it must be [coords]")
    return [arguments.integer(f"{name}[{i}]", size, fewest) for i, size in enumerate(axes)]


@lru_cache(maxsize=256)
def _half_turns(places: int, count: int) -> Array:
    """Return the bands times π in turns: shape [3, count], as three words each."""
    turns = np.empty((3, count))
    for k in range(count):
        residual = Fraction(1, 2) + Fraction(places - 2, 4) * Fraction(k, max(count - 1, 1))
        for word in range(3):
            turns[word, k] = float(residual)
            residual -= Fraction(turns[word, k])
    return turns
