"""Sinusoidal positional encoding.

Source: Vaswani et al. 2017, "Attention Is All You Need", arXiv 1706.03762, section 3.5.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.exact import Array, blocks, power, sincos, turns_per_position, two_product, words

__all__ = ["sinusoidal"]

LAYOUTS = ("interleaved", "sin-cos", "cos-sin")
DENOMINATORS = ("d/2", "d/2-1")
SCALES = {"1": Fraction(0), "d^-1/2": Fraction(1), "(2/d)^1/2": Fraction(2)}
SINGLE_PAIR = ("unit", "refuse")
ODD_DIM = ("refuse", "zero", "cut", "uneven")


def sinusoidal(
    positions: npt.ArrayLike,
    dim: int,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    denominator: str = "d/2",
    first_position: int = 0,
    scale: str = "1",
    single_pair: str = "unit",
    odd_dim: str = "refuse",
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[np.floating]:
    """Return the encoding of each position, as a row.

    With d channels, pair t = 0 … d/2-1 turns by ``w_t = base ** (-t / (d/2))`` radians per
    position and gives ``sin(p * w_t)`` and ``cos(p * w_t)``.

    Parameters
    ----------
    positions : array of shape [n]
        Token indices, or real numbers such as diffusion time steps; at most 2**53 in magnitude.
    dim : int
        Channels d, at least 2.
    base : float
        Ratio of the longest wavelength to the shortest, were the progression one step longer.
    layout : "interleaved", "sin-cos" or "cos-sin"
        Channels 2t and 2t+1 contain sine and cosine; or all sines then all cosines; or the reverse.
    denominator : "d/2" or "d/2-1"
        The divisor of t in the exponent. With "d/2-1" the last frequency is exactly 1/base.
    first_position : int
        Position of token index 0 (2 in fairseq with padding index 1).
    scale : "1", "d^-1/2" or "(2/d)^1/2"
        Factor on every value.
    single_pair : "unit" or "refuse"
        How "d/2-1" treats one pair, where it would divide by zero: frequency 1, or an error.
    odd_dim : "refuse", "zero", "cut" or "uneven"
        For odd d: an error; the even encoding of d-1 and a column of zeros; the encoding of d+1
        without its last column; or exponents 2t/d with one cosine fewer than sines.
    dtype : dtype
        Dtype of the result. Everything is computed in float64 and rounded once.

    Returns
    -------
    array of shape [n, dim]

    Raises
    ------
    TypeError
        If positions are not numbers or dim is not an integer.
    ValueError
        If an argument is out of its domain.
    """
    for name, value, allowed in (
        ("layout", layout, LAYOUTS),
        ("denominator", denominator, DENOMINATORS),
        ("scale", scale, SCALES),
        ("single_pair", single_pair, SINGLE_PAIR),
        ("odd_dim", odd_dim, ODD_DIM),
    ):
        arguments.choice(name, value, allowed)
    dim = arguments.integer("dim", dim, 2)
    start = arguments.integer("first_position", first_position, 0)
    base = arguments.base(base)
    if dim % 2 and odd_dim == "refuse":
        raise ValueError(f"dim is {dim}; sines and cosines come in pairs, so it must be even")

    table = arguments.positions(positions, real=True)
    if table.ndim != 1:
        raise ValueError(f"positions have shape {table.shape}; they must have one axis")
    pairs = dim // 2 if odd_dim == "zero" else (dim + 1) // 2
    step = _exponent_step(dim, pairs, denominator, single_pair, odd_dim)
    turns = turns_per_position(base, step, pairs)
    out = np.zeros((len(table), dim), dtype)
    for block in blocks(len(table), pairs):
        angles = sincos(table[block], turns, start)
        sin, cos = (_scaled(part.high, part.low, scale, dim) for part in angles)
        _write(out[block], sin, cos, layout)
    return out


def _exponent_step(
    dim: int, pairs: int, denominator: str, single_pair: str, odd_dim: str
) -> Fraction:
    if denominator == "d/2":
        return Fraction(2, dim) if odd_dim == "uneven" else Fraction(1, pairs)
    if pairs == 1 and single_pair == "refuse":
        raise ValueError(f"dim is {dim}: the exponent t/(d/2-1) divides by zero for a single pair")
    return Fraction(1, max(pairs - 1, 1))


def _scaled(high: Array, low: Array, scale: str, dim: int) -> Array:
    if scale == "1":
        return high
    factor, factor_low = words(power(SCALES[scale] / dim, Fraction(1, 2)), 2)
    product = two_product(high, factor)
    return product.high + (product.low + high * factor_low + low * factor)


def _write(out: npt.NDArray[np.floating], sin: Array, cos: Array, layout: str) -> None:
    """Write sines and cosines to their channels.

    If the number of channels is odd, either the last wave of the second kind is left out or the
    last column is not written.
    """
    dim, pairs = out.shape[-1], sin.shape[-1]
    if layout == "interleaved":
        out[:, 0 : 2 * pairs : 2] = sin
        out[:, 1::2] = cos[:, : dim // 2]
    else:
        first, second = (sin, cos) if layout == "sin-cos" else (cos, sin)
        out[:, :pairs] = first
        out[:, pairs : 2 * pairs] = second[:, : dim - pairs]
