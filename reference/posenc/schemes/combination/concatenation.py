"""Embeddings concatenated with the sinusoid of their positions.

Source of the encoding: Vaswani et al. 2017, "Attention Is All You Need", arXiv 1706.03762, section
3.5, which adds it instead.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.schemes.absolute.sinusoidal import sinusoidal

__all__ = ["concatenation"]

ORDERS = ("content-first", "encoding-first")


def concatenation(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    encoding_dim: int,
    *,
    base: float = 10000.0,
    order: str = "content-first",
) -> npt.NDArray[np.floating]:
    """Concatenate each row of x with the sinusoid of its position.

    Parameters
    ----------
    x : floating array of shape [..., n, dim]
        Embeddings.
    positions : integer array of shape [n]
        Position of each row, the same for all leading axes; at most 2**53 in magnitude.
    encoding_dim : int
        Channels of the encoding, an even number of at least 2.
    base : float
        Base of the geometric progression of frequencies.
    order : "content-first" or "encoding-first"
        Which part takes the first channels.

    Returns
    -------
    array of shape [..., n, dim + encoding_dim] and the dtype of x
        x unchanged; the encoding computed in float64 and rounded once.

    Raises
    ------
    TypeError
        If x is not floating, or positions or encoding_dim are not integers.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    arguments.choice("order", order, ORDERS)
    values = np.asarray(x)
    if values.dtype.kind not in "fV":
        raise TypeError(f"x is {values.dtype}; integers would cut the encoding")
    if values.ndim < 2:
        raise ValueError(f"x has shape {values.shape}; it must be [..., n, dim]")
    where = arguments.positions(positions)
    if where.shape != values.shape[-2:-1]:
        raise ValueError(f"positions have shape {where.shape}, but x has {values.shape[-2]} rows")
    encoding = sinusoidal(where, encoding_dim, base=base, dtype=values.dtype)
    beside = np.broadcast_to(encoding, (*values.shape[:-1], encoding_dim))
    parts = (values, beside) if order == "content-first" else (beside, values)
    return np.concatenate(parts, axis=-1)
