"""Sliding windows.

Sources: Beltagy, Peters and Cohan 2020, "Longformer", arXiv 2004.05150, section 3.1; Jiang et al.
2023, "Mistral 7B", arXiv 2310.06825, section 2; FlashAttention's ``window_size``.
"""

import numpy as np

from posenc import arguments
from posenc.masks import Mask, places, side

__all__ = ["sliding_window"]

REACHES = ("window-keys", "window-before", "window-each-side", "half-each-side")


def sliding_window(q_len: int, k_len: int, window: int, *, reach: str = "window-keys") -> Mask:
    """Return which keys each query may attend to: the keys near it.

    Query i is at position ``k_len - q_len + i``, key j at position j.

    Parameters
    ----------
    q_len, k_len : int
        q_len is at most k_len.
    window : int
        At least 1 for "window-keys", otherwise at least 0; even for "half-each-side".
    reach : "window-keys", "window-before", "window-each-side" or "half-each-side"
        The query and ``window - 1`` keys before it; the query and ``window`` keys before it;
        ``window`` keys on each side; or half of ``window`` on each side.

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
    after = before if reach.endswith("each-side") else 0
    return np.asarray((key >= query - before) & (key <= query + after))
