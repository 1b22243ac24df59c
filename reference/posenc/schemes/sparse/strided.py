"""The strided pattern of the Sparse Transformer.

Source: Child et al. 2019, "Generating Long Sequences with Sparse Transformers", arXiv 1904.10509,
section 4.3, and its released code (``attention.py``, ``get_attn_mask``).
"""

import numpy as np

from posenc import arguments
from posenc.masks import Mask, places

__all__ = ["strided_mask"]

PARTS = ("union", "local", "local-inclusive", "column")


def strided_mask(q_len: int, k_len: int, stride: int, *, part: str = "union") -> Mask:
    """Return which keys each query may attend to: the last stride keys and every stride-th before.

    Query i is at position ``k_len - q_len + i``, key j at position j.

    Parameters
    ----------
    q_len, k_len : int
        q_len is at most k_len.
    stride : int
        At least 1.
    part : "union", "local", "local-inclusive" or "column"
        What a head attends to: both parts; the ``stride`` keys that end with the query; these and
        one more; or the query and the keys whole strides before it.

    Returns
    -------
    bool array of shape [q_len, k_len], True where attention is allowed

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    arguments.choice("part", part, PARTS)
    stride = arguments.integer("stride", stride, 1)
    query, key = places(q_len, k_len)
    back = query - key
    local = back <= stride if part == "local-inclusive" else back < stride
    column = back % stride == 0
    chosen = {"union": local | column, "column": column}.get(part, local)
    return np.asarray(chosen & (back >= 0))
