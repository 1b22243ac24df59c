"""Causal masks.

Source: Vaswani et al. 2017, "Attention Is All You Need", arXiv 1706.03762, section 3.2.3; where
there are more keys than queries, FlashAttention's README, "2.1: Change behavior of causal flag".
"""

import numpy as np

from posenc import arguments
from posenc.masks import Mask

__all__ = ["causal_mask"]

ALIGNMENTS = ("end", "start")


def causal_mask(q_len: int, k_len: int, *, alignment: str = "end") -> Mask:
    """Return which keys each query may attend to: those up to its own position.

    Parameters
    ----------
    q_len, k_len : int
        Numbers of queries and of keys; either may be larger.
    alignment : "end" or "start"
        The last query is at the last key, or the first query at the first key.

    Returns
    -------
    bool array of shape [q_len, k_len], True where attention is allowed

    Raises
    ------
    TypeError, ValueError
        If a length is not an integer of at least 0, or alignment is unknown.
    """
    arguments.choice("alignment", alignment, ALIGNMENTS)
    q_len, k_len = arguments.integer("q_len", q_len, 0), arguments.integer("k_len", k_len, 0)
    first = k_len - q_len if alignment == "end" else 0
    return np.asarray(np.arange(k_len) <= first + np.arange(q_len)[:, None])
