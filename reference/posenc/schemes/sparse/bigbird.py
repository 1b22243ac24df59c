"""BigBird's pattern, without random blocks or with blocks that the caller draws.

Source: Zaheer et al. 2020, "Big Bird: Transformers for Longer Sequences", arXiv 2007.14062,
section 2 and appendix D, and its released code (``bigbird/core/attention.py``).
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.masks import Mask, places

__all__ = ["bigbird_linked_mask", "bigbird_mask"]


def bigbird_mask(q_len: int, k_len: int, block_size: int) -> Mask:
    """Return which keys each query may attend to: three blocks around it, the first and last block.

    Query i is at position ``k_len - q_len + i``, key j at position j. Queries of the first and
    the last block attend to everything. The random blocks of the paper are left out, since they
    are drawn, not defined.

    Parameters
    ----------
    q_len, k_len : int
        q_len is at most k_len.
    block_size : int
        At least 1; the last block is shorter if k_len is not a multiple of it.

    Returns
    -------
    bool array of shape [q_len, k_len], True where attention is allowed

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    block_size = arguments.integer("block_size", block_size, 1)
    query, key = (place // block_size for place in places(q_len, k_len))
    last = (k_len - 1) // block_size
    ends = (query == 0) | (query == last) | (key == 0) | (key == last)
    return np.asarray(ends | (np.abs(query - key) <= 1))


def bigbird_linked_mask(q_len: int, k_len: int, block_size: int, links: npt.ArrayLike) -> Mask:
    """Return which keys each query may attend to: :func:`bigbird_mask` plus drawn blocks.

    ``links`` names the drawn blocks for each block of queries.

    Parameters
    ----------
    q_len, k_len, block_size : int
        As for :func:`bigbird_mask`.
    links : integer array of shape [rows, count]
        Row i - 1 contains the numbers of the blocks drawn for block i, for all blocks but the first
        and the last. Surplus rows and numbers beyond the last block are ignored.

    Returns
    -------
    bool array of shape [q_len, k_len], True where attention is allowed

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain, or a row of links is missing.
    """
    mask = bigbird_mask(q_len, k_len, block_size)
    drawn = np.asarray(links)
    if drawn.ndim != 2:
        raise ValueError(f"links have shape {drawn.shape}; they must have two axes")
    if drawn.size and not np.issubdtype(drawn.dtype, np.integer):
        raise TypeError(f"links are {drawn.dtype}; they must be integers")
    if np.any(drawn < 0):
        raise ValueError("links must not be negative")
    inner = (k_len - 1) // block_size - 1
    if len(drawn) < inner:
        raise ValueError(f"links have {len(drawn)} rows; {inner} blocks need one")
    query, key = (place // block_size for place in places(q_len, k_len))
    for block in range(1, inner + 1):
        mask |= (query == block) & np.isin(key, drawn[block - 1])
    return mask
