"""Token embeddings plus the sinusoid of their positions.

Source: Vaswani et al. 2017, "Attention Is All You Need", arXiv 1706.03762, sections 3.4 and 3.5.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import add, pair, square_root, times, total
from posenc.exact import Array, Pair, sincos, turns_per_position

__all__ = ["embedding_sum"]

EMBEDDING_SCALES = ("d^1/2", "1")


def embedding_sum(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    embedding_scale: str = "d^1/2",
) -> npt.NDArray[np.floating]:
    """Add the sinusoid of the positions to scaled embeddings.

    Channels 2t and 2t+1 of position p get ``sin(p * w_t)`` and ``cos(p * w_t)``, with
    ``w_t = base ** (-2t / d)``.

    Parameters
    ----------
    x : floating array of shape [..., n, dim]
        Token embeddings with an even number of channels d.
    positions : integer array of shape [n]
        Position of each row, the same for all leading axes; at most 2**53 in magnitude.
    base : float
        Base of the geometric progression of frequencies.
    embedding_scale : "d^1/2" or "1"
        Factor on x.

    Returns
    -------
    array of the shape and dtype of x
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If x is not floating or positions are not integers.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    arguments.choice("embedding_scale", embedding_scale, EMBEDDING_SCALES)
    base = arguments.base(base)
    values = np.asarray(x)
    if values.dtype.kind not in "fV":
        raise TypeError(f"x is {values.dtype}; integers would cut the encoding")
    if values.ndim < 2 or values.shape[-1] < 2 or values.shape[-1] % 2:
        raise ValueError(f"x has shape {values.shape}; it must be [..., n, dim] with dim even")
    where = arguments.positions(positions)
    if where.shape != values.shape[-2:-1]:
        raise ValueError(f"positions have shape {where.shape}, but x has {values.shape[-2]} rows")
    dim = values.shape[-1]
    embedding = pair(values)
    if embedding_scale == "d^1/2":
        embedding = times(embedding, square_root(float(dim)))
    angles = sincos(where, turns_per_position(base, Fraction(2, dim), dim // 2))
    encoding = Pair(*(_interleaved(*parts) for parts in zip(*angles, strict=True)))
    return total(add(embedding, encoding)).astype(values.dtype)


def _interleaved(sin: Array, cos: Array) -> Array:
    return np.stack([sin, cos], axis=-1).reshape(*sin.shape[:-1], 2 * sin.shape[-1])
