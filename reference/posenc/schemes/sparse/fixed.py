"""The fixed pattern of the Sparse Transformer.

Source: Child et al. 2019, "Generating Long Sequences with Sparse Transformers", arXiv 1904.10509,
section 4.3, and its released code (``attention.py``, ``get_blocksparse_obj``).
"""

import numpy as np

from posenc import arguments
from posenc.masks import Mask, places

__all__ = ["fixed_head_masks", "fixed_mask"]

PARTS = ("union", "block", "columns")


def fixed_mask(
    q_len: int, k_len: int, block_size: int, summary: int, *, part: str = "union"
) -> Mask:
    """Return which keys each query may attend to: its own block, and the last keys of every block.

    Query i is at position ``k_len - q_len + i``, key j at position j. Keys after the query are
    always masked.

    Parameters
    ----------
    q_len, k_len : int
        q_len is at most k_len.
    block_size : int
        At least 1; blocks are counted from position 0.
    summary : int
        Number of keys at the end of each block that all later queries see; 1 to block_size.
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


def fixed_head_masks(
    heads: int, q_len: int, k_len: int, block_size: int, summary: int, sets: int
) -> Mask:
    """Return for each head which keys each query may attend to; columns differ between heads.

    Every head has both parts. The columns of head h are set ``h % sets``: set 0 is the last
    ``summary`` keys of each block, set 1 those before them, and so on.

    Parameters
    ----------
    heads : int
        At least 1; divisible by sets.
    q_len, k_len, block_size : int
        As for :func:`fixed_mask`.
    summary : int
        Keys of each set of columns in a block; a divisor of block_size.
    sets : int
        From 1 to ``block_size / summary``.

    Returns
    -------
    bool array of shape [heads, q_len, k_len], True where attention is allowed

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    numbers = {"heads": heads, "block_size": block_size, "summary": summary, "sets": sets}
    heads, block_size, summary, sets = (
        arguments.integer(name, value, 1) for name, value in numbers.items()
    )
    if heads % sets:
        raise ValueError(f"heads is {heads}; it must be divisible by sets ({sets})")
    if block_size % summary or sets * summary > block_size:
        raise ValueError(
            f"{sets} sets of {summary} columns do not divide a block of {block_size} keys"
        )
    query, key = places(q_len, k_len)
    own = key // block_size == query // block_size
    set_of_key = (block_size - 1 - key % block_size) // summary
    set_of_head = np.arange(heads)[:, None, None] % sets
    return np.asarray((own | (set_of_key == set_of_head)) & (key <= query))
