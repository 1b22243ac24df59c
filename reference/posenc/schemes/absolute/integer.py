"""The position itself in every channel.

Source: the first attempt of many introductions, such as the SELENE notebook on positional
encodings, p_ij = i. Included as a counter-example.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments

__all__ = ["integer"]


def integer(
    positions: npt.ArrayLike, dim: int, *, dtype: npt.DTypeLike = np.float64
) -> npt.NDArray[np.floating]:
    """Return a row for each position, with the position in every channel.

    Parameters
    ----------
    positions : integer array of shape [n]
        At most 2**53 in magnitude.
    dim : int
        Channels d, at least 1.
    dtype : dtype
        Dtype of the result, rounded once. Positions beyond its range become infinite.

    Returns
    -------
    array of shape [n, dim]

    Raises
    ------
    TypeError, ValueError
        If positions are not integers along one axis, or dim is not a whole number of at least 1.
    """
    dim = arguments.integer("dim", dim, 1)
    where = arguments.positions(positions)
    if where.ndim != 1:
        raise ValueError(f"positions have shape {where.shape}; they must have one axis")
    return np.repeat(where[:, None], dim, axis=1).astype(dtype)
