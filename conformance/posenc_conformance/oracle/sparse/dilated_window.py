"""Dilated windows as released: the key of each of a query's 2w + 1 diagonals."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def dilated_window(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives 1 at (query, key) where the key is allowed, else 0."""
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
