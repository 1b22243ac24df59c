"""Dilated windows as released: the key of each of a query's 2w + 1 diagonals."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def dilated_window(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (query, key)."""
    late = int(arguments["k_len"]) - int(arguments["q_len"])
    window, dilation = int(arguments["window"]), int(arguments["dilation"])
    if conventions["reach"] == "half-each-side":
        window //= 2
    upper = 0 if conventions["reach"] == "window-before" else window

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        query, key = index
        keys = {late + query + dilation * step for step in range(-window, upper + 1)}
        return mpmath.mpf(int(key in keys))

    return value


VALUES = {"dilated_window": dilated_window}
