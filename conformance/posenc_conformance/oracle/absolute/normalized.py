"""The position as a fraction of the length, by its definition."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def normalized(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the normalised position at (row, channel)."""
    last = int(arguments["length"]) - 1
    return lambda index: mpmath.mpf(index[0]) / last


VALUES = {"normalized": normalized}
