"""The position itself, by its definition."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def integer(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the position at (row, channel)."""
    return lambda index: mpmath.mpf(int(arguments["positions"][index[0]]))


VALUES = {"integer": integer}
