"""Chunked attention.

Source: Llama 4's released code (meta-llama/llama-models, ``create_chunked_attention_mask``).
"""

import numpy as np

from posenc import arguments
from posenc.masks import Mask, places

__all__ = ["chunked_mask"]


def chunked_mask(q_len: int, k_len: int, chunk_size: int) -> Mask:
    """Return which keys each query may attend to: those of its own chunk, up to itself.

    Query i is at position ``k_len - q_len + i``, key j at position j.

    Parameters
    ----------
    q_len, k_len : int
        q_len is at most k_len.
    chunk_size : int
        At least 1; chunks are counted from position 0.

    Returns
    -------
    bool array of shape [q_len, k_len], True where attention is allowed

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    chunk_size = arguments.integer("chunk_size", chunk_size, 1)
    query, key = places(q_len, k_len)
    return np.asarray((key // chunk_size == query // chunk_size) & (key <= query))
