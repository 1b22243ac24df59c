"""Attention itself, without positions.

Source: Vaswani et al. 2017, "Attention Is All You Need", arXiv 1706.03762, section 3.2.1,
equation 1.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from posenc import arguments, elementary
from posenc.elementary import add, pair, square_root, total
from posenc.exact import Pair

__all__ = ["attention", "attention_weights", "attention_with_bias"]

MASKS = ("none", "causal")
SCALINGS = ("root", "unscaled")


def attention_weights(
    q: npt.ArrayLike, k: npt.ArrayLike, *, mask: str = "none"
) -> npt.NDArray[np.floating]:
    """Return the weights of all keys for each query: ``softmax(q k^T / sqrt(head_dim))``.

    Parameters
    ----------
    q : floating array of shape [..., q_len, head_dim]
        Queries.
    k : floating array of shape [..., k_len, head_dim]
        Keys, with the leading axes of q.
    mask : "none" or "causal"
        Whether a query sees every key, or only keys up to its own position, ``k_len - q_len + i``
        for query i. A masked key has weight 0.

    Returns
    -------
    array of shape [..., q_len, k_len] and the dtype of q
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If an array is not floating.
    ValueError
        If shapes do not fit, there are no keys, or a causal mask has more queries than keys.
    """
    queries, keys = _floating("q", q), _floating("k", k)
    _check(queries, keys)
    weights = weights_of(_scores(queries, keys, "root"), mask)
    return np.asarray(total(weights).astype(queries.dtype))


def attention(
    q: npt.ArrayLike, k: npt.ArrayLike, v: npt.ArrayLike, *, mask: str = "none"
) -> npt.NDArray[np.floating]:
    """Average the values for each query, weighted by :func:`attention_weights`.

    Parameters
    ----------
    q, k, mask
        As in :func:`attention_weights`.
    v : floating array of shape [..., k_len, v_dim]
        Values, with the leading axes of q.

    Returns
    -------
    array of shape [..., q_len, v_dim] and the dtype of q
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError, ValueError
        As :func:`attention_weights`, or if there are not as many values as keys.
    """
    queries, keys, values = _floating("q", q), _floating("k", k), _floating("v", v)
    _check(queries, keys)
    _check_values(keys, values)
    weights = weights_of(_scores(queries, keys, "root"), mask)
    return np.asarray(total(mean_of(weights, pair(values))).astype(queries.dtype))


def attention_with_bias(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    v: npt.ArrayLike,
    bias: npt.ArrayLike,
    *,
    mask: str = "none",
    scaling: str = "root",
) -> npt.NDArray[np.floating]:
    """Compute attention with a bias added to the scaled logits.

    Parameters
    ----------
    q, k, v, mask
        As in :func:`attention`.
    bias : floating array of shape [..., q_len, k_len]
        Its leading axes broadcast to those of q. Minus infinity masks a key.
    scaling : "root" or "unscaled"
        Logits are ``q k^T / sqrt(head_dim) + bias``; or ``q k^T + bias``, as in T5.

    Returns
    -------
    array of shape [..., q_len, v_dim] and the dtype of q
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError, ValueError
        As :func:`attention`, or if bias does not fit.
    """
    arguments.choice("scaling", scaling, SCALINGS)
    queries, keys, values = _floating("q", q), _floating("k", k), _floating("v", v)
    biases = _floating("bias", bias)
    _check(queries, keys)
    _check_values(keys, values)
    shape = (*queries.shape[:-1], keys.shape[-2])
    try:
        biases = np.broadcast_to(biases, shape)
    except ValueError:
        raise ValueError(f"bias has shape {biases.shape}; it must broadcast to {shape}") from None
    hidden = np.isneginf(biases)
    if not np.isfinite(biases[~hidden].astype(np.float64)).all():
        raise ValueError("bias must be finite, or minus infinity where a key is hidden")
    if shape[-1] and hidden.all(axis=-1).any():
        raise ValueError("bias hides all keys from a query, which leaves nothing to attend to")
    scores = add(_scores(queries, keys, scaling), pair(np.where(hidden, 0, biases)))
    scores = Pair(np.where(hidden, -np.inf, scores.high), scores.low)
    weights = weights_of(scores, mask)
    return np.asarray(total(mean_of(weights, pair(values))).astype(queries.dtype))


def weights_of(logits: Pair, mask: str) -> Pair:
    """Return the softmax of logits of shape [..., q_len, k_len] over the unmasked keys."""
    arguments.choice("mask", mask, MASKS)
    q_len, k_len = logits.high.shape[-2:]
    if mask == "causal" and q_len > k_len:
        raise ValueError(f"q has {q_len} rows and k {k_len}; queries are the last of the keys")
    if mask == "causal":
        shown = np.tri(q_len, k_len, k_len - q_len, dtype=bool)
        logits = Pair(np.where(shown, logits.high, -np.inf), logits.low)
    return elementary.softmax(logits)


def mean_of(weights: Pair, values: Pair) -> Pair:
    """Average values of shape [..., k_len, v_dim] by weights of shape [..., q_len, k_len]."""
    columns = Pair(*(np.swapaxes(part, -1, -2)[..., None, :, :] for part in values))
    return elementary.dots(Pair(weights.high[..., None, :], weights.low[..., None, :]), columns)


def scaled_products(q: Pair, k: Pair, scaling: str) -> Pair:
    """Return the logits ``q k^T``, divided by ``sqrt(head_dim)`` unless ``scaling`` is unscaled."""
    rows = Pair(q.high[..., :, None, :], q.low[..., :, None, :])
    columns = Pair(k.high[..., None, :, :], k.low[..., None, :, :])
    products = elementary.dots(rows, columns)
    if scaling == "unscaled":
        return products
    return elementary.divide(products, square_root(float(q.high.shape[-1])))


def _scores(q: npt.NDArray[Any], k: npt.NDArray[Any], scaling: str) -> Pair:
    return scaled_products(pair(q), pair(k), scaling)


def _floating(name: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind not in "fV":
        raise TypeError(f"{name} is {array.dtype}; it must be floating")
    if array.ndim < 2:
        raise ValueError(f"{name} has shape {array.shape}; it must have at least two axes")
    return array


def _check(q: npt.NDArray[Any], k: npt.NDArray[Any]) -> None:
    if q.shape[-1] != k.shape[-1] or q.shape[:-2] != k.shape[:-2]:
        raise ValueError(
            f"q has shape {q.shape} and k {k.shape}; both must have the same leading axes and "
            "head_dim"
        )
    if q.shape[-1] == 0 or k.shape[-2] == 0:
        raise ValueError(f"k has shape {k.shape}; there must be keys, and they must have channels")


def _check_values(k: npt.NDArray[Any], v: npt.NDArray[Any]) -> None:
    if v.shape[:-1] != k.shape[:-1]:
        raise ValueError(f"v has shape {v.shape} and k {k.shape}; each key must have one value")
