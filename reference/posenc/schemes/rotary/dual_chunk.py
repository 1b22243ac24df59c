"""Dual chunk attention: rotary embedding at distances that no chunk exceeds.

Source: An et al. 2024, "Training-Free Long-Context Scaling of Large Language Models", arXiv
2402.17463, in the form of the authors' code, HKUNLP/ChunkLlama, and of vLLM.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments, remapped

__all__ = ["dual_chunk_scores"]


def dual_chunk_scores(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    *,
    chunk_size: int,
    local_size: int,
    base: float = 10000.0,
    layout: str = "interleaved",
) -> npt.NDArray[np.floating]:
    """Compute the logits before mask and softmax, ``q . R(-distance) k / sqrt(head_dim)``.

    Query i is at position ``m = k_len - q_len + i``, key j at j. Chunks have
    ``s = chunk_size - local_size`` tokens. A key of the query's own chunk has the distance
    ``m - j``; a key of the chunk before, ``min(m % s + s, chunk_size) - j % s``; a key of an
    earlier chunk, ``min(2 * s - 1, chunk_size) - j % s``.

    Parameters
    ----------
    q : array of shape [heads, q_len, head_dim]
        Queries, not rotated; head_dim is even and q_len at most k_len.
    k : array of shape [heads, k_len, head_dim]
        Keys, not rotated.
    chunk_size : int
        The largest distance; at least 1.
    local_size : int
        Distance that stays exact across the border of two chunks; at least 0, below chunk_size.
    base : float
        Base of the geometric progression of frequencies.
    layout : "interleaved" or "half"
        Pairs are channels (2t, 2t+1) or (t, t + head_dim/2).

    Returns
    -------
    array of shape [heads, q_len, k_len] and the dtype of q
        Computed beyond float64 precision and rounded once; ``-inf`` at keys after the query.

    Raises
    ------
    TypeError
        If an array is not floating, or their dtypes differ.
    ValueError
        If shapes do not fit or an argument is out of its domain.
    """
    largest = arguments.integer("chunk_size", chunk_size, 1)
    length = largest - arguments.integer("local_size", local_size, 0)
    if length < 1:
        raise ValueError(f"local_size is {local_size}; it must be below chunk_size ({chunk_size})")
    heads = remapped.heads(q, k, layout)
    apart = heads.query // length - heads.key // length
    inside = heads.query % length
    successive = np.minimum(inside + length, largest)
    other = np.where(apart == 1, successive, min(2 * length - 1, largest)) - heads.key % length
    distance = np.where(apart > 0, other, heads.distance)
    return heads.logits(distance, lambda distances: heads.waves(distances, base))
