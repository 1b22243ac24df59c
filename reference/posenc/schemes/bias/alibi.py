"""Attention with linear biases.

Source: Press, Smith and Lewis 2022, "Train Short, Test Long", arXiv 2108.12409, section 3.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from posenc import arguments, elementary
from posenc.exact import LARGEST_POSITION, Array, Pair, in_words, progression, two_product

__all__ = ["alibi_bias", "alibi_bias_vjp", "alibi_slopes"]

FORMS = ("causal", "symmetric", "first-key", "last-key", "key-from-1")
HEAD_RULES = ("interpolated", "uniform")


def alibi_slopes(
    heads: int, *, head_rule: str = "interpolated", dtype: npt.DTypeLike = np.float64
) -> npt.NDArray[np.floating]:
    """Return the slope of each head.

    For n heads, n a power of two, the slopes are ``2 ** (-8h/n)`` with h = 1 … n.

    Parameters
    ----------
    heads : int
        At least 1.
    head_rule : "interpolated" or "uniform"
        For other n: the slopes of the largest power of two P below n, followed by every second
        slope of 2P from the first on, unsorted, as in the authors' code; or the same formula for
        any n, as in the paper's text.
    dtype : dtype
        Dtype of the result, which is rounded once.

    Returns
    -------
    array of shape [heads]

    Raises
    ------
    TypeError, ValueError
        If heads is not a whole number of at least 1, or head_rule is unknown.
    """
    return _slopes(arguments.integer("heads", heads, 1), head_rule).high.astype(dtype)


def alibi_bias(
    heads: int,
    q_len: int,
    k_len: int,
    *,
    form: str = "causal",
    head_rule: str = "interpolated",
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[np.floating]:
    """Return the bias added to the attention logits after their division by sqrt(head_dim).

    Query i is at position ``k_len - q_len + i``, key j at position j.

    Parameters
    ----------
    heads, q_len, k_len : int
        q_len is at most k_len, which is at most 2**53.
    form : "causal", "symmetric", "first-key", "last-key" or "key-from-1"
        ``-m * |i - j|`` for all keys if symmetric. The others are equivalent under a causal
        softmax: ``m * (j - i)``, ``m * j``, ``m * (j - (k_len - 1))`` or ``m * (j + 1)`` for keys
        up to the query, and minus infinity for keys after it.
    head_rule : "interpolated" or "uniform"
        As in :func:`alibi_slopes`.
    dtype : dtype
        Dtype of the result, which is rounded once.

    Returns
    -------
    array of shape [heads, q_len, k_len]

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    slopes = _slopes(arguments.integer("heads", heads, 1), head_rule)
    bias = _times(slopes, _distances(q_len, k_len, form))
    if form != "symmetric":
        bias = np.where(_distances(q_len, k_len, "causal") > 0, -np.inf, bias)
    return bias.astype(dtype)


def alibi_bias_vjp(gradient: npt.ArrayLike, *, form: str = "causal") -> npt.NDArray[np.floating]:
    """Return the gradient of a loss with respect to the slopes, from that with respect to the bias.

    Parameters
    ----------
    gradient : floating array of shape [heads, q_len, k_len]
        Gradient with respect to the result of :func:`alibi_bias`. The causal form ignores masked
        entries; the other forms sum over all entries.
    form : "causal", "symmetric", "first-key", "last-key" or "key-from-1"
        As in :func:`alibi_bias`.

    Returns
    -------
    array of shape [heads] and the dtype of gradient
        The sum of gradient times distance, rounded once.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    values = arguments.bias_gradient(gradient)
    heads, q_len, k_len = values.shape
    distance = _distances(q_len, k_len, form)
    if form == "causal":
        distance = np.minimum(distance, 0)
    seen = np.where(distance == 0, 0, values.astype(np.float64))
    sums = elementary.dot(seen.reshape(heads, q_len * k_len), distance.ravel())
    return elementary.total(sums).astype(values.dtype)


def _distances(q_len: int, k_len: int, form: str) -> Array:
    arguments.choice("form", form, FORMS)
    q_len, k_len = arguments.integer("q_len", q_len, 0), arguments.integer("k_len", k_len, 0)
    if not q_len <= k_len <= LARGEST_POSITION:
        raise ValueError(
            f"q_len is {q_len} and k_len {k_len}; it must hold q_len <= k_len <= 2**53"
        )
    key = np.arange(k_len, dtype=np.float64)
    query = np.arange(k_len - q_len, k_len, dtype=np.float64)[:, None]
    if form == "first-key":
        return key + 0 * query
    if form == "key-from-1":
        return key + 1 + 0 * query
    if form == "last-key":
        return key - (k_len - 1) + 0 * query
    return key - query if form == "causal" else -np.abs(key - query)


@lru_cache(maxsize=64)
def _slopes(heads: int, head_rule: str) -> Pair:
    arguments.choice("head_rule", head_rule, HEAD_RULES)
    below = heads if head_rule == "uniform" else 2 ** (heads.bit_length() - 1)
    steps = [*range(2, 2 * below + 1, 2), *range(1, 2 * (heads - below), 2)]
    powers = progression(2.0, Fraction(4, below), 2 * below + 1)
    return Pair(*in_words([powers[step] for step in steps], 2))


def _times(slopes: Pair, distance: Array) -> Array:
    """Multiply the slopes by each integer distance once, and look up the product of every pair."""
    least = distance.min(initial=0)
    distances = np.arange(least, distance.max(initial=0) + 1)
    high, low = (part[:, None] for part in slopes)
    product = two_product(high, distances)
    products = product.high + (product.low + low * distances)
    return products[:, (distance - least).astype(np.int64)]
