"""Queries scaled by their position, so that attention over many keys stays sharp.

Sources: the code of Llama 4 and Ministral 3 for factors that grow in steps; that of Qwen and Grok 2
for the logarithm of the position to the base of the trained length.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments, elementary, rotation
from posenc.exact import Array, Pair, two_product, two_sum

__all__ = ["query_log_scale", "query_temperature"]

COUNTS = ("from-0", "from-1")


def query_temperature(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    length: int = 8192,
    beta: float = 0.1,
    count: str = "from-1",
) -> npt.NDArray[np.floating]:
    """Multiply each query by a factor that grows at every multiple of ``length``.

    The factor of the query with number n is ``1 + beta * ln(1 + n // length)``.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries, with any batch and head axes.
    positions : integer array of shape [n]
        Position of each row, the same for all leading axes; from 0 to 2**53.
    length : int
        Queries between two steps, at least 1.
    beta : float
        Strength of the growth; 0 or more.
    count : "from-1" or "from-0"
        Whether the query at position 0 has the number 1 or 0.

    Returns
    -------
    array of the shape and dtype of x
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If x is not floating, or positions or length are not integers.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    values, number = _queries(x, positions, count)
    steps = number // arguments.integer("length", length, 1)
    growth = float(beta)
    if not (np.isfinite(growth) and growth >= 0):
        raise ValueError(f"beta is {beta!r}; it must be a finite number of at least 0")
    bent = elementary.times(elementary.log(elementary.pair(1.0 + steps)), elementary.pair(growth))
    return _scaled(values, elementary.add(elementary.pair(np.ones(len(number))), bent))


def query_log_scale(
    x: npt.ArrayLike, positions: npt.ArrayLike, *, length: int = 2048, count: str = "from-1"
) -> npt.NDArray[np.floating]:
    """Multiply each query by the logarithm of its number to the base ``length``, at least 1.

    The factor of the query with number n is ``max(1, ln(n) / ln(length))``.

    Parameters
    ----------
    x : floating array of shape [..., n, head_dim]
        Queries, with any batch and head axes.
    positions : integer array of shape [n]
        Position of each row, the same for all leading axes; from 0 to 2**53.
    length : int
        The trained length of the model, at least 2.
    count : "from-1" or "from-0"
        Whether the query at position 0 has the number 1 or 0.

    Returns
    -------
    array of the shape and dtype of x
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If x is not floating, or positions or length are not integers.
    ValueError
        If an argument is out of its domain or shapes do not fit.
    """
    values, number = _queries(x, positions, count)
    trained = arguments.integer("length", length, 2)
    beyond = np.maximum(number, trained).astype(np.float64)
    base = elementary.log(elementary.pair(float(trained)))
    factor = elementary.divide(elementary.log(elementary.pair(beyond)), base)
    return _scaled(values, factor)


def _queries(
    x: npt.ArrayLike, positions: npt.ArrayLike, count: str
) -> tuple[npt.NDArray[np.floating], npt.NDArray[np.int64]]:
    """Return x as an array, and the number of each row."""
    arguments.choice("count", count, COUNTS)
    values = rotation.queries_or_keys("x", x)
    where = arguments.positions(positions)
    if where.shape != (values.shape[-2],):
        raise ValueError(f"positions have shape {where.shape} but x has {values.shape[-2]} rows")
    if (where < 0).any():
        raise ValueError("positions must not be negative")
    return values, where.astype(np.int64) + (count == "from-1")


def _scaled(values: npt.NDArray[np.floating], factor: Pair) -> npt.NDArray[np.floating]:
    """Multiply each row by its factor, rounding once."""
    wide: Array = values.astype(np.float64)
    product = two_product(wide, factor.high[:, None])
    total = two_sum(product.high, product.low + wide * factor.low[:, None])
    return np.asarray(total.high.astype(values.dtype))
