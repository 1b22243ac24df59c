"""Dilated sliding windows.

Source: Beltagy, Peters and Cohan 2020, "Longformer", arXiv 2004.05150, section 3.1, and its
released code (``diagonaled_mm_tvm.py``).
"""

import numpy as np

from posenc import arguments
from posenc.masks import Mask, places, side

__all__ = ["dilated_window"]

REACHES = ("window-each-side", "window-before", "half-each-side")


def dilated_window(
    q_len: int, k_len: int, window: int, dilation: int, *, reach: str = "window-each-side"
) -> Mask:
    """Return which keys each query may attend to: every dilation-th key near it.

    Query i is at position ``k_len - q_len + i``, key j at position j.

    Parameters
    ----------
    q_len, k_len : int
        q_len is at most k_len.
    window : int
        Number of keys that ``reach`` refers to, without skipped ones; at least 0, and even for
        "half-each-side".
    dilation : int
        Distance from one of these keys to the next; at least 1, which means no dilation.
    reach : "window-each-side", "window-before" or "half-each-side"
        ``window`` keys on each side of the query; ``window`` before it and none after it; or half
        of ``window`` on each side. The query itself is not counted.

    Returns
    -------
    bool array of shape [q_len, k_len], True where attention is allowed

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its domain.
    """
    arguments.choice("reach", reach, REACHES)
    query, key = places(q_len, k_len)
    before = side(window, reach)
    after = 0 if reach == "window-before" else before
    dilation = arguments.integer("dilation", dilation, 1)
    steps, remainder = np.divmod(key - query, dilation)
    return np.asarray((remainder == 0) & (steps >= -before) & (steps <= after))
