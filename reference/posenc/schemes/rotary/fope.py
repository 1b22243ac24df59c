"""Fourier position embedding (FoPE).

Source: Hua et al. 2024, "Fourier Position Embedding: Enhancing Attention's Periodic Extension for
Length Generalization", arXiv 2412.17739, as released in TsinghuaC3I/Fourier-Position-Embedding.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments, rotation
from posenc.elementary import add, dots, negative, pair, times, total
from posenc.exact import Pair, SinCos, progression, sincos, turns

__all__ = ["fope"]

REST = ("ones", "unchanged")
TURN = 2 * Decimal("3.14159265358979323846264338327950288419716939937510582097")
SHORTEST = 7
"""The shortest length over which a wave of one radian per position exceeds a turn."""


def fope(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    sin_coef: npt.ArrayLike,
    cos_coef: npt.ArrayLike,
    *,
    original_max_position_embeddings: int,
    base: float = 10000.0,
    rest: str = "ones",
) -> npt.NDArray[np.floating]:
    """Multiply pairs by sums of waves, instead of one cosine and one sine each.

    Pair t is the channels t and t + head_dim / 2. Of RoPE's frequencies, only those remain that
    make more than one turn over the length. Pair t is multiplied by the sums of their cosines and
    of their sines, weighted by the coefficients of column t.

    Parameters
    ----------
    x : array of shape [..., n, head_dim]
        Queries or keys of one head; head_dim is even.
    positions : integers of shape [n]
        Position of each row.
    sin_coef, cos_coef : arrays of shape [frequencies, mixed]
        Coefficients of the head: a row for each remaining frequency, and at most head_dim / 2
        columns.
    original_max_position_embeddings : int
        Trained length of the model, at least 7.
    base : float
        Above 0.
    rest : "ones" or "unchanged"
        Cosine and sine for pairs beyond the columns: 1 and 1, or 1 and 0.

    Returns
    -------
    array of the shape and dtype of x

    Raises
    ------
    TypeError
        If an array is not floating, or positions are not integers.
    ValueError
        If an argument is out of its domain, or shapes do not fit.
    """
    arguments.choice("rest", rest, REST)
    values = rotation.queries_or_keys("x", x)
    where = rotation.rows(positions, values.shape)
    half = rotation.width(None, values.shape[-1]) // 2
    frequencies = _frequencies(
        arguments.base(base),
        arguments.integer(
            "original_max_position_embeddings", original_max_position_embeddings, SHORTEST
        ),
        2 * half,
    )
    coefficients = [
        _coefficients(name, array, len(frequencies), half)
        for name, array in (("sin_coef", sin_coef), ("cos_coef", cos_coef))
    ]
    if coefficients[0].shape != coefficients[1].shape:
        raise ValueError(
            f"sin_coef has shape {coefficients[0].shape}, but cos_coef {coefficients[1].shape}"
        )
    waves = sincos(where, turns(tuple(frequencies)))
    return _mixed(values, _summed(waves, *coefficients), rest)


def _frequencies(base: float, length: int, head_dim: int) -> list[Decimal]:
    """Return RoPE's frequencies that make more than a turn over ``length``."""
    every = progression(base, Fraction(2, head_dim), head_dim // 2)
    return [frequency for frequency in every if frequency * length > TURN]


def _coefficients(name: str, given: npt.ArrayLike, rows: int, most: int) -> npt.NDArray[np.float64]:
    array = np.asarray(given)
    if array.dtype.kind not in "fV":
        raise TypeError(f"{name} is {array.dtype}; it must hold floating-point numbers")
    if array.ndim != 2 or len(array) != rows or array.shape[1] > most:
        raise ValueError(
            f"{name} has shape {array.shape}; it must have {rows} rows, one for each frequency "
            f"that turns more than once over the length, and at most {most} columns"
        )
    return array.astype(np.float64)


def _summed(
    waves: SinCos, sin_coef: npt.NDArray[np.float64], cos_coef: npt.NDArray[np.float64]
) -> SinCos:
    """Sum waves times coefficients over the frequencies: [..., n, mixed]."""
    sin, cos = (
        dots(Pair(wave.high[..., None, :], wave.low[..., None, :]), pair(coefficients.T))
        for wave, coefficients in zip(waves, (sin_coef, cos_coef), strict=True)
    )
    return SinCos(sin, cos)


def _mixed(values: npt.NDArray[np.floating], sums: SinCos, rest: str) -> npt.NDArray[np.floating]:
    mixed = sums.sin.high.shape[-1]
    first, second = rotation.pairs(values.astype(np.float64), "half")
    out = np.array(values)
    for place, a, b, sign in (
        (rotation.pairs(out, "half")[0], first, second, -1.0),
        (rotation.pairs(out, "half")[1], second, first, 1.0),
    ):
        by_cos = times(pair(a[..., :mixed]), sums.cos)
        by_sin = times(pair(b[..., :mixed]), sums.sin)
        whole = add(by_cos, negative(by_sin) if sign < 0 else by_sin)
        place[..., :mixed] = total(whole)
        if rest == "ones":
            place[..., mixed:] = a[..., mixed:] + sign * b[..., mixed:]
    return out
