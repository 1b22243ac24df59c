"""Self-Extend: rotary embedding with exact distances for near keys, grouped ones for far keys.

Source: Jin et al. 2024, "LLM Maybe LongLM: Self-Extend LLM Context Window Without Tuning", arXiv
2401.01325, section 3 and algorithm 1; the blocks are those of llama.cpp's group attention.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments, remapped

__all__ = ["self_extend_scores"]

WINDOWS = ("sliding", "blocks")


def self_extend_scores(
    q: npt.ArrayLike,
    k: npt.ArrayLike,
    *,
    group_size: int,
    window: int,
    base: float = 10000.0,
    layout: str = "interleaved",
    neighbours: str = "sliding",
) -> npt.NDArray[np.floating]:
    """Compute the logits before mask and softmax, ``q . R(-distance) k / sqrt(head_dim)``.

    Query i is at position ``m = k_len - q_len + i``, key j at j. With ``g = group_size`` and
    ``w = window``, the distance of neighbours is ``m - j``. For other keys it is
    ``m // g + w - w // g - j // g`` if neighbours are the last w keys, and
    ``m - (m // w) * (w - w // g) - j // g`` if they are the keys of the query's own block.

    Parameters
    ----------
    q : array of shape [heads, q_len, head_dim]
        Queries, not rotated; head_dim is even and q_len at most k_len.
    k : array of shape [heads, k_len, head_dim]
        Keys, not rotated.
    group_size : int
        Number of positions in a group; at least 1.
    window : int
        Largest number of neighbours, including the query itself; at least 1.
    base : float
        Base of the geometric progression of frequencies.
    layout : "interleaved" or "half"
        Pairs are channels (2t, 2t+1) or (t, t + head_dim/2).
    neighbours : "sliding" or "blocks"
        Neighbours are the last ``window`` keys up to the query, or the keys of its own block of
        ``window`` positions, which must be a whole number of groups.

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
    arguments.choice("neighbours", neighbours, WINDOWS)
    group = arguments.integer("group_size", group_size, 1)
    width = arguments.integer("window", window, 1)
    heads = remapped.heads(q, k, layout)
    query, key, near = heads.query, heads.key, heads.distance
    if neighbours == "sliding":
        is_near = near < width
        far = query // group + width - width // group - key // group
    else:
        if width % group:
            raise ValueError(f"window is {width}; it must be a multiple of group_size ({group})")
        is_near = query // width == key // width
        far = query - query // width * (width - width // group) - key // group
    distance = np.where(is_near, near, far)
    return heads.logits(distance, lambda distances: heads.waves(distances, base))
