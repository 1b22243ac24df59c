"""Randomized positions: a sorted random subset of a long range.

Source: Ruoss et al. 2023, "Randomized Positional Encodings Boost Length Generalization of
Transformers", arXiv 2305.16843, as released in google-deepmind/randomized_positional_encodings.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.schemes.bias.alibi import alibi_bias

__all__ = ["randomized_alibi_bias", "randomized_positions"]

Ids = npt.NDArray[np.int64]


def randomized_positions(order: npt.ArrayLike, n: int) -> Ids:
    """Return the first n numbers of a shuffled range, in ascending order.

    The randomness is an argument: the order into which a generator has shuffled the range.

    Parameters
    ----------
    order : integers of shape [length]
        Each number from 0 to length - 1, once.
    n : int
        Number of tokens, at most length.

    Returns
    -------
    int64 array of shape [n]

    Raises
    ------
    TypeError
        If order does not hold integers along one axis, or n is not an integer.
    ValueError
        If order is not a shuffled range, or n is out of its domain.
    """
    shuffled = _integers("order", order)
    length = len(shuffled)
    if not np.array_equal(np.sort(shuffled), np.arange(length)):
        raise ValueError(f"order must hold each number from 0 to {length - 1} once")
    count = arguments.integer("n", n, 0)
    if count > length:
        raise ValueError(f"n is {count}; {length} positions are there to be drawn")
    return np.sort(shuffled[:count])


def randomized_alibi_bias(
    heads: int,
    q_len: int,
    k_len: int,
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    *,
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[np.floating]:
    """Return ALiBi's bias with drawn distances: the k-th smallest for the k-th nearest key.

    Query i is at position ``k_len - q_len + i``. With sorted distances, the k-th key after it has
    the bias ``-slope * after[k]``, the k-th key before it ``-slope * (before[k] - 1/2)``, and its
    own key 0. Slopes are those of ALiBi, interpolated.

    Parameters
    ----------
    heads, q_len, k_len : int
        q_len is at most k_len.
    before, after : integers of shape [k_len - 1] or longer
        Different distances of at least 1, in the order of a generator: the first k_len - 1 are
        used. The released code draws once for both sides, or once for each.
    dtype : dtype
        Dtype of the result, which is rounded once.

    Returns
    -------
    array of shape [heads, q_len, k_len]
        Nothing is masked.

    Raises
    ------
    TypeError
        If an argument does not hold integers.
    ValueError
        If an argument is out of its domain.
    """
    heads = arguments.integer("heads", heads, 1)
    q_len, k_len = arguments.integer("q_len", q_len, 0), arguments.integer("k_len", k_len, 1)
    if q_len > k_len:
        raise ValueError(f"q_len is {q_len} and k_len {k_len}; it must hold q_len <= k_len")
    sides = [
        _distances(name, side, k_len - 1) for name, side in (("before", before), ("after", after))
    ]
    # Twice the distance, for a lag of -(k_len - 1) … k_len - 1.
    twice = np.concatenate([2 * sides[1][::-1], [0], 2 * sides[0] - 1])
    table = alibi_bias(heads, 1, int(twice.max()) + 1, form="first-key")[:, 0] / -2
    lag = np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)
    return np.asarray(table[:, twice[lag + k_len - 1]] + 0.0).astype(dtype)


def _distances(name: str, shuffled: npt.ArrayLike, count: int) -> Ids:
    """Return the first ``count`` distances in ascending order."""
    every = _integers(name, shuffled)
    if len(every) < count:
        raise ValueError(f"{name} has {len(every)} distances; it must have at least {count}")
    if np.any(every < 1) or len(np.unique(every)) < len(every):
        raise ValueError(f"{name} must hold different numbers of at least 1")
    return np.sort(every[:count])


def _integers(name: str, values: npt.ArrayLike) -> Ids:
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} is {array.dtype}; it must hold integers")
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; it must have one axis")
    return array.astype(np.int64)
