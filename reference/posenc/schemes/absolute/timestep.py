"""Timestep embeddings of diffusion models.

Source: Ho, Jain and Abbeel 2020, "Denoising Diffusion Probabilistic Models", arXiv 2006.11239,
and their released ``get_timestep_embedding``; Dhariwal and Nichol 2021, "Diffusion Models Beat GANs
on Image Synthesis", arXiv 2105.05233, and their released ``timestep_embedding``.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import add, negative, times
from posenc.exact import (
    LARGEST_POSITION,
    Array,
    Pair,
    SinCos,
    blocks,
    sincos,
    turns_per_position,
    two_product,
)

__all__ = ["timestep"]

ORDERS = ("sin-cos", "cos-sin")
SHIFTS = (0, 1)


def timestep(
    positions: npt.ArrayLike,
    dim: int,
    *,
    order: str = "sin-cos",
    frequency_shift: int = 1,
    max_period: float = 10000.0,
    scale: float = 1.0,
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[np.floating]:
    """Return the embedding of each timestep, as a row.

    With h = dim // 2, pair t = 0 … h-1 has the angle
    ``scale * p * max_period ** (-t / (h - frequency_shift))``.

    Parameters
    ----------
    positions : array of shape [n]
        Timesteps, integer or real; they and ``scale * positions`` are at most 2**53 in magnitude.
    dim : int
        Channels, at least 2. If odd, the last column is 0.
    order : "sin-cos" or "cos-sin"
        All sines before all cosines, or the reverse.
    frequency_shift : 0 or 1
        With 1 the last frequency is exactly ``1 / max_period``.
    max_period : float
        Ratio of the first frequency to the last, or with shift 0 to the next after the last.
    scale : float
        Factor on the timesteps, such as 1000 for timesteps between 0 and 1.
    dtype : dtype
        Dtype of the result, which is rounded once.

    Returns
    -------
    array of shape [n, dim]

    Raises
    ------
    TypeError
        If positions are not numbers or dim is not an integer.
    ValueError
        If an argument is out of its domain; for example a single pair with frequency_shift 1,
        where the exponent would divide by zero.
    """
    arguments.choice("order", order, ORDERS)
    if frequency_shift not in SHIFTS:
        raise ValueError(f"frequency_shift is {frequency_shift!r}; it must be 0 or 1")
    dim = arguments.integer("dim", dim, 2)
    half = dim // 2
    if half == frequency_shift:
        raise ValueError(f"dim is {dim}: the exponent t/(dim//2 - 1) divides by zero for one pair")
    max_period = _above_0("max_period", max_period)
    place = _scaled(arguments.positions(positions, real=True), _above_0("scale", scale))
    turns = turns_per_position(max_period, Fraction(1, half - frequency_shift), half)
    sin, cos = (part.high for part in sincos_of_pair(place, turns))
    waves = [sin, cos] if order == "sin-cos" else [cos, sin]
    return np.concatenate([*waves, np.zeros((len(sin), dim % 2))], axis=1).astype(dtype)


def sincos_of_pair(place: Pair, turns: Array) -> SinCos:
    """Return the sine and cosine of every position, given as a pair, times every frequency.

    Like :func:`posenc.exact.sincos`, but for positions that do not fit in one float64.
    The addition theorem combines both parts.
    """
    if not np.any(place.low):
        return sincos(place.high, turns)
    high, low = (part.ravel() for part in place)
    count = turns.shape[-1]
    result = np.empty((4, len(high), count))
    for block in blocks(len(high), count):
        sin, cos = _added(sincos(high[block], turns), sincos(low[block], turns))
        result[:, block] = *sin, *cos
    sin, sin_low, cos, cos_low = result.reshape(4, *place.high.shape, count)
    return SinCos(Pair(sin, sin_low), Pair(cos, cos_low))


def _added(a: SinCos, b: SinCos) -> SinCos:
    """Return the sine and cosine of the sum of two angles."""
    return SinCos(
        add(times(a.sin, b.cos), times(a.cos, b.sin)),
        add(times(a.cos, b.cos), negative(times(a.sin, b.sin))),
    )


def _above_0(name: str, value: float) -> float:
    number = float(value)
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{name} is {value!r}; it must be a finite number above 0")
    return number


def _scaled(positions: Array, scale: float) -> Pair:
    if positions.ndim != 1:
        raise ValueError(f"positions have shape {positions.shape}; they must have one axis")
    place = two_product(positions, scale)
    if np.any(np.abs(place.high) > LARGEST_POSITION):
        raise ValueError("scale times positions must be at most 2**53 in magnitude")
    return place
