"""The binary digits of the position.

Source: a step towards the sinusoid in many introductions, such as the SELENE notebook on positional
encodings.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments

__all__ = ["binary"]

ORDERS = ("lsb-first", "msb-first")
LEVELS = ("zero-one", "plus-minus-one")
_MOST_DIGITS = 54
"""Number of binary digits of the largest position, 2**53."""


def binary(
    positions: npt.ArrayLike,
    dim: int,
    *,
    order: str = "lsb-first",
    levels: str = "zero-one",
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[np.floating]:
    """Return a row for each position, with one binary digit in each channel.

    Parameters
    ----------
    positions : integer array of shape [n]
        From 0 to 2**dim - 1, and at most 2**53.
    dim : int
        Channels d, at least 1.
    order : "lsb-first" or "msb-first"
        Whether channel 0 contains the digit for 1 or the digit for 2**(d-1).
    levels : "zero-one" or "plus-minus-one"
        Digits become 0 and 1, or -1 and +1.
    dtype : dtype
        Dtype of the result; every value is exact.

    Returns
    -------
    array of shape [n, dim]

    Raises
    ------
    TypeError, ValueError
        If positions are not integers along one axis, or an argument is out of its domain.
    """
    arguments.choice("order", order, ORDERS)
    arguments.choice("levels", levels, LEVELS)
    dim = arguments.integer("dim", dim, 1)
    where = arguments.positions(positions).astype(np.int64)
    if where.ndim != 1:
        raise ValueError(f"positions have shape {where.shape}; they must have one axis")
    for position in (where.min(initial=0), where.max(initial=0)):
        if not 0 <= int(position) < 2**dim:
            raise ValueError(f"positions hold {position}; {dim} digits count from 0 to 2**{dim}-1")
    digits = np.zeros((len(where), dim), dtype=np.int64)
    most = min(dim, _MOST_DIGITS)
    digits[:, :most] = where[:, None] >> np.arange(most) & 1
    if order == "msb-first":
        digits = digits[:, ::-1]
    if levels == "plus-minus-one":
        digits = 2 * digits - 1
    return digits.astype(dtype)
