"""Polar position embedding (PoPE).

Source: Gopalakrishnan et al. 2025, "Decoupling the What and Where With Polar Coordinate Positional
Embeddings", arXiv 2509.10534, as released in x-transformers and PoPE-pytorch.
"""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation
from posenc.elementary import add, exp, log, negative, pair, times, total
from posenc.exact import Array, Pair, SinCos, sincos, turns_per_position
from posenc.schemes.absolute.time2vec import RADIAN

__all__ = ["pope_key", "pope_query"]

LAYOUTS = ("half", "interleaved")
TINY = 2.0**-20


def pope_query(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    layout: str = "interleaved",
    base: float = 10000.0,
) -> npt.NDArray[np.floating]:
    """Encode queries in polar form: ``softplus(x)`` times the cosine and sine of the angle.

    Channel j of the query at position p has the angle ``p * base ** (-j / head_dim)``.

    Parameters
    ----------
    x : array of shape [..., n, head_dim]
        Queries.
    positions : integers of shape [n]
        Position of each row.
    layout : "interleaved" or "half"
        For each channel the cosine, then the sine; or all cosines before all sines.
    base : float
        Above 0.

    Returns
    -------
    array of shape [..., n, 2 * head_dim] and the dtype of x

    Raises
    ------
    TypeError
        If x is not floating, or positions are not integers.
    ValueError
        If an argument is out of its domain.
    """
    values, waves = _waves(x, positions, base, layout)
    return _joined(values, waves, layout)


def pope_key(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    bias: npt.ArrayLike,
    *,
    layout: str = "interleaved",
    base: float = 10000.0,
) -> npt.NDArray[np.floating]:
    """Encode keys in polar form, with a learned phase added to the angle of each channel.

    In all other respects like :func:`pope_query`.

    Parameters
    ----------
    x : array of shape [..., n, head_dim]
        Keys of one head.
    positions : integers of shape [n]
        Position of each row.
    bias : array of shape [head_dim]
        Phases in radians, clamped to the range from -2π to 0.
    layout, base
        As in :func:`pope_query`.

    Returns
    -------
    array of shape [..., n, 2 * head_dim] and the dtype of x

    Raises
    ------
    TypeError
        If x or bias is not floating, or positions are not integers.
    ValueError
        If an argument is out of its domain.
    """
    values, (sin, cos) = _waves(x, positions, base, layout)
    phases = np.asarray(bias)
    if phases.dtype.kind not in "fV":
        raise TypeError(f"bias is {phases.dtype}; it must hold floating-point numbers")
    if phases.shape != values.shape[-1:]:
        raise ValueError(f"bias has shape {phases.shape}; it must be [{values.shape[-1]}]")
    turned = phases.astype(np.float64)
    if not np.all(np.isfinite(turned)):
        raise ValueError("bias must be finite")
    turned = np.where((turned > 0) | (turned < -2 * math.pi), 0.0, turned)  # -2π is a whole turn
    more_sin, more_cos = (Pair(*(part[..., 0] for part in wave)) for wave in sincos(turned, RADIAN))
    waves = SinCos(
        add(times(sin, more_cos), times(cos, more_sin)),
        add(times(cos, more_cos), negative(times(sin, more_sin))),
    )
    return _joined(values, waves, layout)


def _waves(
    x: npt.ArrayLike, positions: npt.ArrayLike, base: float, layout: str
) -> tuple[npt.NDArray[np.floating], SinCos]:
    """Return x as an array, and sines and cosines of shape [n, head_dim]."""
    arguments.choice("layout", layout, LAYOUTS)
    values = rotation.queries_or_keys("x", x)
    where = rotation.rows(positions, values.shape)
    head_dim = values.shape[-1]
    turns = turns_per_position(arguments.base(base), Fraction(1, head_dim), head_dim)
    return values, sincos(where, turns)


def _joined(
    values: npt.NDArray[np.floating], waves: SinCos, layout: str
) -> npt.NDArray[np.floating]:
    lengths = _softplus(values.astype(np.float64))
    cos, sin = (total(times(lengths, wave)) for wave in (waves.cos, waves.sin))
    if layout == "half":
        both = np.concatenate([cos, sin], axis=-1)
    else:
        both = np.stack([cos, sin], axis=-1).reshape(*values.shape[:-1], 2 * values.shape[-1])
    return both.astype(values.dtype)


def _softplus(x: Array) -> Pair:
    """Return ``ln(1 + exp(x))``."""
    small = exp(pair(-np.abs(x)))
    e = small.high
    series = add(small, pair(-e * e * (1 / 2 - e * (1 / 3 - e / 4))))
    whole = log(add(pair(np.ones_like(e)), small))
    parts = (np.where(e < TINY, *words) for words in zip(series, whole, strict=True))
    return add(pair(np.maximum(x, 0.0)), Pair(*parts))
