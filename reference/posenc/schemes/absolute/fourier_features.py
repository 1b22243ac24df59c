"""Fourier features of coordinates.

Sources: Mildenhall et al. 2020, "NeRF", arXiv 2003.08934, equation 4, and its released code; Tancik
et al. 2020, "Fourier Features Let Networks Learn High Frequency Functions in Low Dimensional
Domains", arXiv 2006.10739, and its released code.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import dot
from posenc.exact import Array, sincos, turns_per_position
from posenc.schemes.absolute.timestep import sincos_of_pair

__all__ = ["gaussian_fourier", "nerf"]

FACTORS = ("1", "pi", "two-pi")
ORDERS = ("by-frequency", "by-coordinate", "sines-by-frequency", "sines-by-coordinate")
INCLUDE_INPUT = ("first", "none")
WAVES = ("cos-sin", "sin-cos")
MOST_FREQUENCIES = 53


def nerf(
    x: npt.ArrayLike,
    num_frequencies: int,
    *,
    factor: str = "pi",
    order: str = "by-coordinate",
    include_input: str = "none",
) -> npt.NDArray[np.floating]:
    """Return sines and cosines of each coordinate at frequencies that double.

    With factor c, frequency k = 0 … num_frequencies - 1 gives ``sin(2**k * c * x)`` and
    ``cos(2**k * c * x)``.

    Parameters
    ----------
    x : array of shape [..., coords]
        Points; ``2**num_frequencies * x`` is at most 2**53 in magnitude.
    num_frequencies : int
        From 1 to 53.
    factor : "1", "pi" or "two-pi"
        c, the factor on the coordinates: as in the released code, as in the paper, or twice that.
    order : "by-frequency", "by-coordinate", "sines-by-frequency" or "sines-by-coordinate"
        For each frequency the sines of all coordinates, then their cosines; or for each coordinate
        its sine and its cosine at each frequency; or all sines before all cosines, and in each half
        frequency by frequency or coordinate by coordinate.
    include_input : "first" or "none"
        Whether the coordinates themselves come first.

    Returns
    -------
    array of shape [..., features] and the dtype of x
        ``2 * num_frequencies * coords`` features, plus ``coords`` if the input is included.

    Raises
    ------
    TypeError
        If x is not floating or num_frequencies is not an integer.
    ValueError
        If an argument is out of its domain.
    """
    arguments.choice("factor", factor, FACTORS)
    arguments.choice("order", order, ORDERS)
    arguments.choice("include_input", include_input, INCLUDE_INPUT)
    count = arguments.integer("num_frequencies", num_frequencies, 1)
    if count > MOST_FREQUENCIES:
        raise ValueError(f"num_frequencies is {count}; it must be at most {MOST_FREQUENCIES}")
    points, exact = _points("x", x)
    arguments.positions(exact * 2.0**count, real=True)
    turns = turns_per_position(2.0, Fraction(-1), count)
    if factor != "1":
        turns = _half_turns(count) * (2.0 if factor == "two-pi" else 1.0)
    waves = np.stack([part.high for part in sincos(exact, turns)], axis=-1)  # […, coord, k, wave]
    axes = {"by-frequency": (-2, -1, -3), "sines-by-frequency": (-1, -2, -3)}.get(order)
    if order == "sines-by-coordinate":
        axes = (-1, -3, -2)
    if axes is not None:
        waves = np.moveaxis(waves, axes, (-3, -2, -1))
    width = 2 * count * exact.shape[-1]
    features = waves.reshape(*exact.shape[:-1], width).astype(points.dtype)
    return np.concatenate([points, features], axis=-1) if include_input == "first" else features


def gaussian_fourier(
    x: npt.ArrayLike, b: npt.ArrayLike, *, waves: str = "cos-sin"
) -> npt.NDArray[np.floating]:
    """Return cosine and sine of 2π times the projections of points on the rows of ``b``.

    Parameters
    ----------
    x : array of shape [..., coords]
        Points.
    b : array of shape [features, coords]
        Frequencies, in turns per unit; drawn once from a normal distribution, by the caller.
    waves : "cos-sin" or "sin-cos"
        All cosines before all sines, as in the paper, or the reverse, as in the released code.

    Returns
    -------
    array of shape [..., 2 * features] and the dtype of x and b

    Raises
    ------
    TypeError
        If x or b is not floating.
    ValueError
        If an argument is out of its domain.
    """
    arguments.choice("waves", waves, WAVES)
    points, exact = _points("x", x)
    directions, frequencies = _points("b", b)
    if frequencies.ndim != 2 or frequencies.shape[1] != exact.shape[-1]:
        raise ValueError(
            f"b has shape {frequencies.shape}; it must be [features, {exact.shape[-1]}]"
        )
    whole_turn = np.array([[1.0], [0.0], [0.0]])
    projections = dot(exact[..., None, :], frequencies)
    sin, cos = (part.high[..., 0] for part in sincos_of_pair(projections, whole_turn))
    halves = [cos, sin] if waves == "cos-sin" else [sin, cos]
    return np.concatenate(halves, axis=-1).astype(np.result_type(points, directions))


def _points(name: str, values: npt.ArrayLike) -> tuple[npt.NDArray[np.floating], Array]:
    """Check an array of points, and return it unchanged and as float64."""
    array = np.asarray(values)
    if array.dtype.kind not in "fV":
        raise TypeError(f"{name} is {array.dtype}; it must hold floating-point numbers")
    if array.ndim == 0:
        raise ValueError(f"{name} has no axes; its last one must be that of coordinates")
    exact = array.astype(np.float64)
    if not np.all(np.isfinite(exact)):
        raise ValueError(f"{name} must be finite")
    return array, exact


def _half_turns(count: int) -> Array:
    """Return the frequencies ``2**k * π`` in turns, which are exact: shape [3, count]."""
    turns = np.zeros((3, count))
    turns[0] = 2.0 ** np.arange(-1, count - 1)
    return turns
