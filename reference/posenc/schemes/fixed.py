"""The fixed pattern of the Sparse Transformer.

Source: Child et al. 2019, "Generating Long Sequences with Sparse Transformers", arXiv 1904.10509,
section 4.3, and its released code (``attention.py``, ``get_blocksparse_obj``).
"""

import numpy as np

from posenc import arguments
from posenc.masks import Mask, places

__all__ = ["fixed_mask"]

PARTS = ("union", "block", "columns")


def fixed_mask(
    q_len: int, k_len: int, block_size: int, summary: int, *, part: str = "union"
) -> Mask:
    """Which keys each query may attend to: its own block's, and the last ones of every block.

    Query i stands at position ``k_len - q_len + i``, key j at position j. Keys after the query are
    always hidden.

    Parameters
    ----------
    q_len, k_len : int
        q_len is at most k_len.
    block_size : int
        At least 1; blocks are counted from position 0.
    summary : int
        How many keys at the end of each block all later queries see; from 1 to block_size.
    part : "union", "block" or "columns"
        What a head attends to: both parts; only its own block; or only the ends of blocks, which
        leaves the first ``block_size - summary`` queries without a key.

    Returns
    -------
    bool array of shape [q_len, k_len], True where attention is allowed

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    arguments.choice("part", part, PARTS)
    block_size = arguments.integer("block_size", block_size, 1)
    summary = arguments.integer("summary", summary, 1)
    if summary > block_size:
        raise ValueError(f"summary is {summary}; a block has only {block_size} keys")
    query, key = places(q_len, k_len)
    block = key // block_size == query // block_size
    columns = key % block_size >= block_size - summary
    chosen = {"union": block | columns, "block": block, "columns": columns}[part]
    return np.asarray(chosen & (key <= query))
