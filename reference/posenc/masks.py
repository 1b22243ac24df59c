"""Positions of queries and keys, shared by the reference's masks."""

from typing import Any

import numpy as np
import numpy.typing as npt

from posenc import arguments

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def places(q_len: Any, k_len: Any) -> tuple[Positions, Positions]:
    """Return the positions of the queries, as a column, and of the keys.

    The queries are the last ``q_len`` positions. Raises TypeError or ValueError if a length is not
    a whole number of at least 0, or if there are more queries than keys.
    """
    q_len, k_len = arguments.integer("q_len", q_len, 0), arguments.integer("k_len", k_len, 0)
    if q_len > k_len:
        raise ValueError(f"q_len is {q_len} and k_len {k_len}; queries are the last of the keys")
    return np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)


def side(window: Any, reach: str) -> int:
    """Return how many keys a window covers on each of its sides, excluding the query itself.

    Raises TypeError or ValueError if ``window`` is invalid for ``reach``.
    """
    if reach == "window-keys":
        return arguments.integer("window", window, 1) - 1
    whole = arguments.integer("window", window, 0)
    if reach != "half-each-side":
        return whole
    if whole % 2:
        raise ValueError(f"window is {whole}; it must be even, half of it lies on each side")
    return whole // 2
