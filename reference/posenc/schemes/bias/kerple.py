"""Kernelized relative position bias (KERPLE).

Source: Chi, Fan, Ramadge and Rudnicky 2022, "KERPLE: Kernelized Relative Positional Embedding for
Length Extrapolation", arXiv 2205.09921; its corollary 1 names the two kernels.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import add, divide, exp, log, pair, sum_last, times, total
from posenc.exact import LARGEST_POSITION, Array, Pair

__all__ = ["kerple_bias", "kerple_bias_vjp"]

FORMS = ("log", "power")


def kerple_bias(
    r1: npt.ArrayLike, r2: npt.ArrayLike, q_len: int, k_len: int, *, form: str = "log"
) -> npt.NDArray[np.floating]:
    """Return the bias added to the attention logits: a penalty that grows with distance.

    Query i is at position ``k_len - q_len + i``, key j at position j. In the log form the
    penalty grows ever more slowly.

    Parameters
    ----------
    r1, r2 : arrays of shape [heads]
        Learned numbers above 0; in the power form r2 is at most 2.
    q_len, k_len : int
        q_len is at most k_len, which is at most 2**53.
    form : "log" or "power"
        ``-r1 * ln(1 + r2 * |i - j|)`` or ``-r1 * |i - j| ** r2``.

    Returns
    -------
    array of shape [heads, q_len, k_len] and the dtype of r1 and r2
        Minus infinity for keys after the query.

    Raises
    ------
    TypeError
        If r1 or r2 is not floating, or a length is not an integer.
    ValueError
        If an argument is out of its domain.
    """
    first, second = _parameters(r1, r2, form)
    q_len, k_len = arguments.integer("q_len", q_len, 0), arguments.integer("k_len", k_len, 0)
    if not q_len <= k_len <= LARGEST_POSITION:
        raise ValueError(
            f"q_len is {q_len} and k_len {k_len}; it must hold q_len <= k_len <= 2**53"
        )
    loss = _loss(pair(second[:, None]), np.arange(k_len, dtype=np.float64), form)
    by_distance = 0.0 - total(times(pair(first[:, None]), loss))
    lag = np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)
    bias = np.where(lag < 0, -np.inf, by_distance[:, np.maximum(lag, 0)])
    return bias.astype(np.result_type(first, second))


def kerple_bias_vjp(
    gradient: npt.ArrayLike, r1: npt.ArrayLike, r2: npt.ArrayLike, *, form: str = "log"
) -> npt.NDArray[np.floating]:
    """Return the gradient of a loss with respect to the learned numbers.

    It is computed from the gradient with respect to the bias.

    At distance d the derivatives by r1, r2 are ``-ln(1 + r2 * d)``, ``-r1 * d / (1 + r2 * d)``; in
    the power form, ``-d**r2`` and ``-r1 * d**r2 * ln(d)``, which is 0 at d = 0.

    Parameters
    ----------
    gradient : floating array of shape [heads, q_len, k_len]
        Gradient with respect to the result of :func:`kerple_bias`; q_len is at most k_len. Masked
        entries are ignored.
    r1, r2 : arrays of shape [heads]
        As in :func:`kerple_bias`.
    form : "log" or "power"
        As in :func:`kerple_bias`.

    Returns
    -------
    array of shape [2, heads] and the dtype of the arrays
        Gradients of r1, then of r2: sums over queries and keys, rounded once.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    values = arguments.bias_gradient(gradient)
    first, second = _parameters(r1, r2, form)
    heads, q_len, k_len = values.shape
    if heads != len(first):
        raise ValueError(f"gradient has {heads} heads and r1 {len(first)}; they must be the same")
    lag = np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)
    seen = np.where(lag < 0, 0.0, values)
    distance = np.arange(k_len, dtype=np.float64)
    sums = [
        0.0 - total(_gathered(seen, by_distance, np.maximum(lag, 0)))
        for by_distance in _derivatives(pair(first[:, None]), pair(second[:, None]), distance, form)
    ]
    return np.stack(sums).astype(np.result_type(values, first, second))


def _parameters(
    r1: npt.ArrayLike, r2: npt.ArrayLike, form: str
) -> tuple[npt.NDArray[np.floating], npt.NDArray[np.floating]]:
    """Check r1 and r2, and return them as arrays."""
    arguments.choice("form", form, FORMS)
    first, second = _per_head("r1", r1), _per_head("r2", r2)
    if first.shape != second.shape:
        raise ValueError(f"r1 has {len(first)} heads and r2 {len(second)}; they must have the same")
    if form == "power" and np.any(second > 2):
        raise ValueError("r2 must be at most 2 in the power form, where the kernel ends")
    return first, second


def _per_head(name: str, values: npt.ArrayLike) -> npt.NDArray[np.floating]:
    array = np.asarray(values)
    if array.dtype.kind not in "fV":
        raise TypeError(f"{name} is {array.dtype}; it must hold floating-point numbers")
    if array.ndim != 1 or not len(array):
        raise ValueError(f"{name} has shape {array.shape}; it must be [heads], at least one")
    if not np.all(np.isfinite(array) & (array > 0)):
        raise ValueError(f"{name} must be finite and above 0")
    return array


def _loss(r2: Pair, distance: Array, form: str) -> Pair:
    """Return the penalty at each distance for r1 = 1: a pair of shape [heads, distances]."""
    if form == "log":
        return log(add(pair(1.0), times(r2, pair(distance))))
    power = exp(times(r2, log(pair(np.maximum(distance, 1)))))
    return Pair(*(np.where(distance == 0, 0.0, part) for part in power))


def _derivatives(r1: Pair, r2: Pair, distance: Array, form: str) -> tuple[Pair, Pair]:
    """Return the penalty's derivatives by r1 and r2 at each distance: [heads, distances]."""
    loss = _loss(r2, distance, form)
    if form == "log":
        inside = add(pair(1.0), times(r2, pair(distance)))
        return loss, divide(times(r1, pair(distance)), inside)
    return loss, times(times(r1, loss), log(pair(np.maximum(distance, 1))))


def _gathered(gradient: Array, by_distance: Pair, lag: npt.NDArray[np.int64]) -> Pair:
    """Sum gradient times derivative over all queries and keys, for each head."""
    at_each = Pair(by_distance.high[:, lag], by_distance.low[:, lag])
    products = times(pair(gradient), at_each)
    return sum_last(Pair(*(part.reshape(len(gradient), -1) for part in products)))
