"""Sandwich: the dot product of sinusoids as a bias.

Source: Chi et al. 2023, "Dissecting Transformer Length Extrapolation via the Lens of Receptive
Field Analysis", arXiv 2212.10356, as released by others: NVIDIA NeMo, meta-pytorch/attention-gym.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.elementary import add, divide, pair, sum_last, times, total
from posenc.exact import LARGEST_POSITION, sincos, turns_per_position

__all__ = ["sandwich_bias"]

EXPONENTS = ("from-1", "from-0")
OWN_KEY = ("zero", "largest")


def sandwich_bias(
    heads: int,
    q_len: int,
    k_len: int,
    *,
    dim: int,
    exponents: str = "from-1",
    own_key: str = "zero",
    dtype: npt.DTypeLike = np.float64,
) -> npt.NDArray[Any]:
    """Return the bias added to the attention logits: a sum of cosines of the distance per head.

    Query i is at position ``k_len - q_len + i``, and head n = 1 … heads divides the sum by
    ``8 * n / heads``.

    Parameters
    ----------
    heads, q_len, k_len : int
        q_len is at most k_len.
    dim : int
        Twice the number of cosines.
    exponents : "from-1" or "from-0"
        Frequencies ``10000 ** (-2 * i / dim)`` for i = 1 … dim/2 or for i = 0 … dim/2 - 1.
    own_key : "zero" or "largest"
        Whether dim/2 is subtracted from the sum, which makes it 0 at distance 0.
    dtype : data type
        Dtype of the result.

    Returns
    -------
    array of shape [heads, q_len, k_len]
        Nothing is masked.

    Raises
    ------
    TypeError
        If heads, q_len, k_len or dim is not an integer.
    ValueError
        If an argument is out of its domain.
    """
    arguments.choice("exponents", exponents, EXPONENTS)
    arguments.choice("own_key", own_key, OWN_KEY)
    heads, count = arguments.integer("heads", heads, 1), arguments.integer("dim", dim, 2)
    if count % 2:
        raise ValueError(f"dim is {dim}; it must be even")
    q_len, k_len = arguments.integer("q_len", q_len, 0), arguments.integer("k_len", k_len, 0)
    if not q_len <= k_len <= LARGEST_POSITION:
        raise ValueError(
            f"q_len is {q_len} and k_len {k_len}; it must hold q_len <= k_len <= 2**53"
        )
    half = count // 2
    first = int(exponents == "from-1")
    turns = turns_per_position(10000.0, Fraction(2, count), half + first)[:, first:]
    sums = sum_last(sincos(np.arange(k_len, dtype=np.float64), turns).cos)
    if own_key == "zero":
        sums = add(sums, pair(-float(half)))
    numbers = 8.0 * np.arange(1, heads + 1)[:, None]
    biases = total(divide(times(sums, pair(float(heads))), pair(numbers)))
    query = np.arange(k_len - q_len, k_len)[:, None]
    return np.asarray(biases[:, np.abs(query - np.arange(k_len))]).astype(dtype)
