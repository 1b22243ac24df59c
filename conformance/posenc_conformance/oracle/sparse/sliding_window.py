"""Sliding windows by their definition: the range of keys that each query sees."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def keys(position: int, window: int, reach: str) -> range:
    """Return the positions of a query's keys, including those outside of the sequence."""
    if reach == "window-keys":
        return range(position + 1 - window, position + 1)
    if reach == "window-before":
        return range(position - window, position + 1)
    side = window if reach == "window-each-side" else window // 2
    return range(position - side, position + side + 1)


def sliding_window(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives 1 at (query, key) where the key is allowed, else 0."""
    q_len, k_len, window = (int(arguments[name]) for name in ("q_len", "k_len", "window"))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        query, key = index
        return mpmath.mpf(int(key in keys(k_len - q_len + query, window, conventions["reach"])))

    return value


VALUES = {"sliding_window": sliding_window}
