"""Untied positional encoding (TUPE).

Source: Ke, He and Liu 2021, "Rethinking Positional Encoding in Language Pre-training", arXiv
2006.15595, equations 9 to 11; the scores of [CLS] are those of its released code.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.disentangled import Operands, operands, over_root, products
from posenc.elementary import add, divide, pair, square_root, total
from posenc.exact import Array, Pair
from posenc.schemes.bias.t5_bias import t5_bucket

__all__ = ["tupe_relative_scores", "tupe_scores"]

CLS = ("untied", "tied")
RESETS = ("apart", "together")


def tupe_scores(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    p_q: npt.ArrayLike,
    p_k: npt.ArrayLike,
    *,
    cls: str = "untied",
) -> npt.NDArray[np.floating]:
    """Compute logits of content plus logits of absolute positions (TUPE-A).

    ``(q_i · k_j + p_q_i · p_k_j) / sqrt(2 * head_dim)``. If [CLS], the first token, is untied,
    the second product is ``θ1 = p_q[0] · p_k[0]`` in its row, and ``θ2 = p_q[1] · p_k[1]`` in the
    rest of its column.

    Parameters
    ----------
    q, k : arrays of shape [heads, length, head_dim]
        Projected content.
    p_q, p_k : arrays of shape [heads, length, head_dim], or [heads, length + 1, head_dim] if untied
        Projected positions. If untied, row 0 serves only θ1, and the position of token i is row
        i + 1.
    cls : "untied" or "tied"
        Whether [CLS] has separate scores instead of those of its position.

    Returns
    -------
    array of shape [heads, length, length] and the dtype of q

    Raises
    ------
    TypeError
        If an array is not floating, or the dtypes differ.
    ValueError
        If shapes do not fit or cls is unknown.
    """
    arguments.choice("cls", cls, CLS)
    arrays = _operands(q, k, p_q, p_k, extra=int(cls == "untied"))
    position = _untied(arrays) if cls == "untied" else products(arrays["p_q"], arrays["p_k"])
    scores = add(products(arrays["q"], arrays["k"]), position)
    return over_root(scores, 2 * arrays.sizes["head_dim"], arrays.dtype)


def tupe_relative_scores(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    p_q: npt.ArrayLike,
    p_k: npt.ArrayLike,
    table: npt.ArrayLike,
    *,
    reset: str = "apart",
    max_distance: int = 128,
) -> npt.NDArray[np.floating]:
    """Compute logits of content, absolute and relative positions (TUPE-R), with [CLS] untied.

    They are those of :func:`tupe_scores`, plus a bias from T5's bidirectional buckets.

    Parameters
    ----------
    q, k : arrays of shape [heads, length, head_dim]
        Projected content.
    p_q, p_k : arrays of shape [heads, length + 1, head_dim]
        Projected positions, as in :func:`tupe_scores`.
    table : array of shape [num_buckets + 1, heads], or [num_buckets, heads] if together
        Learned biases by bucket; num_buckets is even and at least 4.
    reset : "apart" or "together"
        What [CLS] has instead of relative biases: separate biases, as in the released code,
        ``table[num_buckets / 2]`` in its row and ``table[num_buckets]`` in the rest of its column;
        or none, as in the paper, where θ1 and θ2 replace the sum of both parts.
    max_distance : int
        As in :func:`posenc.t5_bucket`.

    Returns
    -------
    array of shape [heads, length, length] and the dtype of q

    Raises
    ------
    TypeError
        If an array is not floating, or the dtypes differ.
    ValueError
        If shapes do not fit or an argument is out of its domain.
    """
    arguments.choice("reset", reset, RESETS)
    arrays = _operands(q, k, p_q, p_k, extra=1, table=(table, "rows heads"))
    length, rows = arrays.sizes["length"], arrays.sizes["rows"]
    buckets = rows - 1 if reset == "apart" else rows
    key = np.arange(length)
    bucket = t5_bucket(key - key[:, None], num_buckets=buckets, max_distance=max_distance)
    if reset == "apart":
        bucket[:, :1] = buckets
        bucket[:1] = buckets // 2
    bias = np.moveaxis(arrays["table"][bucket], -1, 0).copy()
    if reset == "together":
        bias[:, :, :1] = bias[:, :1] = 0.0
    scores = add(products(arrays["q"], arrays["k"]), _untied(arrays))
    scaled = divide(scores, square_root(2.0 * arrays.sizes["head_dim"]))
    return total(add(scaled, pair(bias))).astype(arrays.dtype)


def _operands(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    p_q: npt.ArrayLike,
    p_k: npt.ArrayLike,
    *,
    extra: int,
    **others: tuple[npt.ArrayLike, str],
) -> Operands:
    arrays = operands(
        q=(q, "heads length head_dim"),
        k=(k, "heads length head_dim"),
        p_q=(p_q, "heads positions head_dim"),
        p_k=(p_k, "heads positions head_dim"),
        **others,
    )
    length, positions = arrays.sizes["length"], arrays.sizes["positions"]
    if positions != length + extra:
        raise ValueError(
            f"p_q and p_k have {positions} rows; for {length} tokens they must have "
            f"{length + extra}"
        )
    return arrays


def _untied(given: Operands) -> Pair:
    """Compute position logits, with θ1 in the row of [CLS] and θ2 in the rest of its column."""
    every = products(given["p_q"], given["p_k"])
    return Pair(_reset(every.high), _reset(every.low))


def _reset(products: Array) -> Array:
    between = products[:, 1:, 1:].copy()
    between[:, :, :1] = products[:, 1:2, 1:2]
    between[:, :1] = products[:, :1, :1]
    return between
