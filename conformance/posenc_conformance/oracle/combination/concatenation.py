"""Embedding and sinusoid side by side, by definition."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def concatenation(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the embedding or the sinusoid at (..., row, channel)."""
    x, wide = arguments["x"], int(arguments["encoding_dim"])
    base = mpmath.mpf(float(arguments.get("base", 10000)))
    dim = x.shape[-1]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *leading, row, channel = index
        if conventions["order"] == "encoding-first":
            channel = (channel - wide) % (dim + wide)
        if channel < dim:
            return mpmath.mpf(float(x[(*leading, row, channel)]))
        pair, odd = divmod(channel - dim, 2)
        angle = int(arguments["positions"][row]) * mpmath.power(base, -mpmath.mpf(2 * pair) / wide)
        return mpmath.cos(angle) if odd else mpmath.sin(angle)

    return value


VALUES = {"concatenation": concatenation}
