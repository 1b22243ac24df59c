"""Relative position bias of T5.

Source: Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
Transformer", arXiv 1910.10683, section 2.1; the bucket rule is that of its released code
(Mesh TensorFlow, ``_relative_position_bucket``).
"""

from bisect import bisect_left
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import sums_by_row

__all__ = ["t5_bias", "t5_bias_vjp", "t5_bucket"]

DIRECTIONS = ("bidirectional", "causal")


def t5_bucket(
    relative_position: npt.ArrayLike,
    *,
    direction: str = "bidirectional",
    num_buckets: int = 32,
    max_distance: int = 128,
) -> npt.NDArray[np.int64]:
    """Return the bucket of each distance, computed in integer arithmetic.

    N buckets serve one side: all of them when causal, half when bidirectional. The first E = N//2
    contain one distance each; bucket E+k begins at the least n with ``n^(N-E) * E^k >=
    max_distance^k * E^(N-E)``, which is the paper's rule without logarithms.

    Parameters
    ----------
    relative_position : integer array of any shape
        Key position minus query position.
    direction : "bidirectional" or "causal"
        Whether keys after the query have the upper half of the buckets, or share bucket 0 with the
        query itself.
    num_buckets : int
        Size of the table; even and at least 4 if bidirectional, at least 2 if causal.
    max_distance : int
        Distance at which the logarithm would reach the end of the table; above E.

    Returns
    -------
    int64 array of the same shape, values in [0, num_buckets)

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    side, starts = _side_and_starts(direction, num_buckets, max_distance)
    relative = np.asarray(relative_position)
    if not np.issubdtype(relative.dtype, np.integer):
        raise TypeError(f"relative_position is {relative.dtype}; it must hold integers")
    relative = relative.astype(np.int64)
    distance = np.abs(relative) if direction == "bidirectional" else np.maximum(-relative, 0)
    bucket = np.searchsorted(starts, distance, side="right") - 1
    if direction == "bidirectional":
        bucket = bucket + side * (relative > 0)
    return np.asarray(bucket, dtype=np.int64)


def t5_bias(
    table: npt.ArrayLike,
    q_len: int,
    k_len: int,
    *,
    direction: str = "bidirectional",
    max_distance: int = 128,
) -> npt.NDArray[np.floating]:
    """Return the bias added to the attention logits, which T5 does not divide by sqrt(head_dim).

    Query i is at position ``k_len - q_len + i``, key j at position j.

    Parameters
    ----------
    table : array of shape [num_buckets, heads]
        The learned biases.
    q_len, k_len : int
        q_len is at most k_len.
    direction, max_distance
        As in :func:`t5_bucket`.

    Returns
    -------
    array of shape [heads, q_len, k_len] and the dtype of table

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    biases = np.asarray(table)
    if biases.ndim != 2:
        raise ValueError(f"table has shape {biases.shape}; it must be [num_buckets, heads]")
    buckets = _buckets_of_pairs(q_len, k_len, direction, len(biases), max_distance)
    return np.moveaxis(biases[buckets], -1, 0).copy()


def t5_bias_vjp(
    gradient: npt.ArrayLike,
    *,
    num_buckets: int = 32,
    direction: str = "bidirectional",
    max_distance: int = 128,
) -> npt.NDArray[np.floating]:
    """Return the gradient of a loss with respect to the table, from that with respect to the bias.

    Parameters
    ----------
    gradient : floating array of shape [heads, q_len, k_len]
        Gradient with respect to the result of :func:`t5_bias`.
    num_buckets : int
        Rows of the table.
    direction, max_distance
        As in :func:`t5_bias`.

    Returns
    -------
    array of shape [num_buckets, heads] and the dtype of gradient
        Each entry is the sum over the pairs of query and key that read it, rounded once.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    values = arguments.bias_gradient(gradient)
    _, q_len, k_len = values.shape
    buckets = _buckets_of_pairs(q_len, k_len, direction, num_buckets, max_distance)
    return sums_by_row(values, buckets, num_buckets).astype(values.dtype)


def _buckets_of_pairs(
    q_len: int, k_len: int, direction: str, num_buckets: int, max_distance: int
) -> npt.NDArray[np.int64]:
    q_len, k_len = arguments.integer("q_len", q_len, 0), arguments.integer("k_len", k_len, 0)
    if q_len > k_len:
        raise ValueError(f"q_len is {q_len} and k_len {k_len}; queries are the last of the keys")
    relative = np.arange(k_len) - np.arange(k_len - q_len, k_len)[:, None]
    return t5_bucket(
        relative, direction=direction, num_buckets=num_buckets, max_distance=max_distance
    )


@lru_cache(maxsize=64)
def _side_and_starts(
    direction: str, num_buckets: int, max_distance: int
) -> tuple[int, npt.NDArray[np.int64]]:
    arguments.choice("direction", direction, DIRECTIONS)
    two_sided = direction == "bidirectional"
    num_buckets = arguments.integer("num_buckets", num_buckets, 4 if two_sided else 2)
    if two_sided and num_buckets % 2:
        raise ValueError(f"num_buckets is {num_buckets}; two directions need an even number")
    side = num_buckets // 2 if two_sided else num_buckets
    exact = side // 2
    max_distance = arguments.integer("max_distance", max_distance, exact + 1)
    wide = side - exact
    starts = list(range(exact + 1))
    for k in range(1, wide):
        bound = max_distance**k * exact**wide

        def reaches(n: int, bound: int = bound, k: int = k) -> bool:
            return bool(n**wide * exact**k >= bound)

        starts.append(bisect_left(range(max_distance + 1), True, key=reaches))
    return side, np.array(starts, dtype=np.int64)
