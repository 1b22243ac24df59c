"""Data-dependent ALiBi: sums of the logarithms of forget gates between key and query.

Source: Lin et al. 2025, "Forgetting Transformer: Softmax Attention with a Forget Gate", arXiv
2503.02130, in the form of the authors' code, zhixuan-lin/forgetting-transformer.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from posenc.elementary import add, exp, log, negative, pair, times, total
from posenc.exact import Pair, two_sum
from posenc.masks import places

__all__ = ["data_dependent_alibi_bias"]

SMALL = 2.0**-20


def data_dependent_alibi_bias(gates: npt.ArrayLike, q_len: Any) -> npt.NDArray[np.floating]:
    """Return the bias: ``ln(sigmoid(gates))`` summed over the tokens after the key up to the query.

    Query i is at position ``k_len - q_len + i``. Its own key has a bias of 0, keys after it
    have ``-inf``.

    Parameters
    ----------
    gates : floating array of shape [heads, k_len]
        Forget gates of the tokens before the sigmoid: a learned projection of each token.
    q_len : int
        Number of queries, which are the last positions.

    Returns
    -------
    array of shape [heads, q_len, k_len] and the dtype of gates
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If gates are not floating or q_len is not an integer.
    ValueError
        If shapes do not fit, or gates are not finite.
    """
    values = np.asarray(gates)
    if values.dtype.kind not in "fV":
        raise TypeError(f"gates are {values.dtype}; they must be floating")
    if values.ndim != 2:
        raise ValueError(f"gates have shape {values.shape}; it must be [heads, k_len]")
    exactly = values.astype(np.float64)
    if not np.isfinite(exactly).all():
        raise ValueError("gates must be finite")
    query, key = places(q_len, values.shape[1])
    sums = _cumulative(_log_sigmoid(exactly))
    to_query = Pair(*(part[:, query] for part in sums))
    to_key = Pair(*(part[:, key][:, None] for part in sums))
    bias = total(add(to_query, negative(to_key)))
    return np.where(key <= query, bias, -np.inf).astype(values.dtype)


def _log_sigmoid(x: npt.NDArray[np.float64]) -> Pair:
    """Return ``min(x, 0) - ln(1 + exp(-|x|))``."""
    small = exp(pair(-np.abs(x)))
    tiny = small.high < SMALL
    inside = Pair(*(np.where(tiny, 0.0, part) for part in small))
    by_log = log(add(pair(1.0), inside))
    third = 1 / 2 - small.high * (1 / 3 - small.high / 4)
    by_series = add(small, negative(times(times(small, small), pair(third))))
    lost = Pair(*(np.where(tiny, a, b) for a, b in zip(by_series, by_log, strict=True)))
    return add(pair(np.minimum(x, 0.0)), negative(lost))


def _cumulative(values: Pair) -> Pair:
    """Return the cumulative sums along the last axis."""
    sums = np.cumsum(values.high, axis=-1)
    before = np.concatenate([np.zeros_like(sums[..., :1]), sums[..., :-1]], axis=-1)
    lost = two_sum(before, values.high).low
    return two_sum(sums, np.cumsum(lost + values.low, axis=-1))
