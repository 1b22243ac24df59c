"""Functional interpolation of relative positions (FIRE).

Source: Li et al. 2024, "Functional Interpolation for Relative Positions Improves Long Context
Transformers", arXiv 2310.04418, section 3; the epsilon in the denominator is that of the code
listed in its appendix, as published by others.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import add, divide, dots, log, pair, times, total
from posenc.exact import LARGEST_POSITION, Array, Pair

__all__ = ["fire_bias", "fire_bias_vjp"]

NORMALIZERS = {"plain": 0.0, "epsilon": 1e-6}


def fire_bias(
    w1: npt.ArrayLike,
    b1: npt.ArrayLike,
    w2: npt.ArrayLike,
    b2: npt.ArrayLike,
    q_len: int,
    k_len: int,
    *,
    normalizer: str = "plain",
    c: float = 0.1,
    threshold: float = 512.0,
) -> npt.NDArray[np.floating]:
    """Return the bias added to the attention logits: a network's output for a normalised distance.

    Query i is at position ``k_len - q_len + i``, key j at position j, both counted from 0. With
    ``psi(x) = ln(c * x + 1)``, the input of the network is
    ``psi(i - j) / psi(max(threshold, i))``, with i the query's position.

    Parameters
    ----------
    w1, b1 : arrays of shape [hidden]
        Weights and biases of the first layer, which has one input and is followed by a ReLU.
    w2, b2 : arrays of shape [heads, hidden] and [heads]
        Weights and biases of the second layer.
    q_len, k_len : int
        q_len is at most k_len, which is at most 2**53.
    normalizer : "plain" or "epsilon"
        Whether 1e-6 is added to the denominator.
    c : float
        Learned number above 0.
    threshold : float
        Learned number above 0: all queries up to this position have the same denominator.

    Returns
    -------
    array of shape [heads, q_len, k_len] and the dtype of the weights
        Minus infinity for keys after the query.

    Raises
    ------
    TypeError
        If weights are not floating, or a length is not an integer.
    ValueError
        If an argument is out of its domain.
    """
    arguments.choice("normalizer", normalizer, tuple(NORMALIZERS))
    c, threshold = _above_0("c", c), _above_0("threshold", threshold)
    weights = [np.asarray(weight) for weight in (w1, b1, w2, b2)]
    _check(*weights)
    q_len, k_len = arguments.integer("q_len", q_len, 0), arguments.integer("k_len", k_len, 0)
    if not q_len <= k_len <= LARGEST_POSITION:
        raise ValueError(
            f"q_len is {q_len} and k_len {k_len}; it must hold q_len <= k_len <= 2**53"
        )
    part = _normalized(q_len, k_len, c, threshold, NORMALIZERS[normalizer])
    bias = _network(part, *weights)
    ahead = np.arange(k_len) > np.arange(k_len - q_len, k_len)[:, None]
    return np.where(ahead, -np.inf, bias).astype(np.result_type(*weights))


def fire_bias_vjp(
    gradient: npt.ArrayLike,
    w1: npt.ArrayLike,
    b1: npt.ArrayLike,
    *,
    normalizer: str = "plain",
    c: float = 0.1,
    threshold: float = 512.0,
) -> npt.NDArray[np.floating]:
    """Return the gradient of a loss with respect to the second layer.

    It is computed from the gradient with respect to the bias.

    Parameters
    ----------
    gradient : floating array of shape [heads, q_len, k_len]
        Gradient with respect to the result of :func:`fire_bias`; q_len is at most k_len. Masked
        entries are ignored.
    w1, b1, normalizer, c, threshold
        As in :func:`fire_bias`. The second layer itself is not needed: the bias is linear in it.

    Returns
    -------
    array of shape [heads, hidden + 1] and the dtype of the arrays
        Gradients of w2 and, in the last column, of b2: sums over queries and keys, rounded once.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    arguments.choice("normalizer", normalizer, tuple(NORMALIZERS))
    c, threshold = _above_0("c", c), _above_0("threshold", threshold)
    values = arguments.bias_gradient(gradient)
    heads, q_len, k_len = values.shape
    first, bias = np.asarray(w1), np.asarray(b1)
    _check_first(first, bias)
    part = _normalized(q_len, k_len, c, threshold, NORMALIZERS[normalizer])
    hidden = _hidden(part, first, bias)
    ones = np.ones((q_len, k_len, 1))
    inputs = Pair(
        np.concatenate([hidden.high, ones], axis=-1),
        np.concatenate([hidden.low, 0 * ones], axis=-1),
    )
    ahead = np.arange(k_len) > np.arange(k_len - q_len, k_len)[:, None]
    seen = np.where(ahead, 0.0, values).reshape(heads, 1, q_len * k_len)
    by_unit = Pair(*(words.reshape(q_len * k_len, -1).T for words in inputs))
    return total(dots(pair(seen), by_unit)).astype(np.result_type(values, first, bias))


def _normalized(q_len: int, k_len: int, c: float, threshold: float, epsilon: float) -> Pair:
    """Return the input of the network: a pair of shape [q_len, k_len]."""

    def psi(x: Array) -> Pair:
        return log(add(times(pair(c), pair(x)), pair(1.0)))

    query = np.arange(k_len - q_len, k_len, dtype=np.float64)[:, None]
    distance = np.maximum(query - np.arange(k_len), 0)
    return divide(psi(distance), add(psi(np.maximum(query, threshold)), pair(epsilon)))


def _network(a: Pair, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    """Apply the two layers to each element: [q_len, k_len] to [heads, q_len, k_len]."""
    hidden = _hidden(a, w1, b1)
    return total(add(dots(hidden, pair(w2[:, None, None, :])), pair(b2[:, None, None])))


def _hidden(a: Pair, w1: Array, b1: Array) -> Pair:
    """Apply the first layer and its ReLU: a pair of shape [q_len, k_len, hidden]."""
    wide = Pair(a.high[..., None], a.low[..., None])
    hidden = add(times(wide, pair(w1)), pair(b1))
    active = hidden.high > 0
    return Pair(np.where(active, hidden.high, 0.0), np.where(active, hidden.low, 0.0))


def _above_0(name: str, value: float) -> float:
    number = float(value)
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{name} is {value!r}; it must be a finite number above 0")
    return number


def _check(
    w1: npt.NDArray[np.floating],
    b1: npt.NDArray[np.floating],
    w2: npt.NDArray[np.floating],
    b2: npt.NDArray[np.floating],
) -> None:
    _check_first(w1, b1)
    arguments.finite(w2=w2, b2=b2)
    if w2.ndim != 2 or not len(w2) or w2.shape[1] != len(w1) or b2.shape != w2.shape[:1]:
        raise ValueError(
            f"w2 and b2 have shapes {w2.shape} and {b2.shape}; "
            f"they must be [heads, {len(w1)}] and [heads]"
        )


def _check_first(w1: npt.NDArray[np.floating], b1: npt.NDArray[np.floating]) -> None:
    arguments.finite(w1=w1, b1=b1)
    if w1.ndim != 1 or not len(w1) or b1.shape != w1.shape:
        raise ValueError(f"w1 and b1 have shapes {w1.shape} and {b1.shape}; they must be [hidden]")
