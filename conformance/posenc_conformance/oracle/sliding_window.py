"""Sliding windows by their definition: the set of keys that each query has."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def keys(position: int, window: int, reach: str) -> range:
    """Positions of the keys of one query, those outside of the text included."""
    if reach == "window-keys":
        return range(position + 1 - window, position + 1)
    if reach == "window-before":
        return range(position - window, position + 1)
    each = window if reach == "window-each-side" else window // 2
    return range(position - each, position + each + 1)


def sliding_window(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (query, key)."""
    q_len, k_len, window = (int(arguments[name]) for name in ("q_len", "k_len", "window"))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        query, key = index
        return mpmath.mpf(int(key in keys(k_len - q_len + query, window, conventions["reach"])))

    return value


VALUES = {"sliding_window": sliding_window}
