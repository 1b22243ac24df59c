"""The position as a fraction of the length.

Source: the second attempt of many introductions, such as the SELENE notebook on positional
encodings, p_ij = i/(L-1). Included as a counter-example.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.exact import LARGEST_POSITION

__all__ = ["normalized"]


def normalized(
    length: int, dim: int, *, dtype: npt.DTypeLike = np.float64
) -> npt.NDArray[np.floating]:
    """Return a row for each position p = 0 … L-1, with ``p / (L-1)`` in every channel.

    Parameters
    ----------
    length : int
        Number of positions L, at least 2: for a single position the quotient would be 0/0.
    dim : int
        Channels d, at least 1.
    dtype : dtype
        Dtype of the result. The quotient is rounded in float64 and then to this dtype.

    Returns
    -------
    array of shape [length, dim]

    Raises
    ------
    TypeError, ValueError
        If length is not a whole number from 2 to 2**53, or dim is not a whole number above 0.
    """
    length = arguments.integer("length", length, 2)
    if length > LARGEST_POSITION:
        raise ValueError(f"length is {length}; it must be at most 2**53")
    dim = arguments.integer("dim", dim, 1)
    part = np.arange(length, dtype=np.float64) / (length - 1)
    return np.repeat(part[:, None], dim, axis=1).astype(dtype)
