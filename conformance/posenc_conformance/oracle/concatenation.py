"""Embedding and sinusoid side by side, by definition."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def concatenation(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (..., row, channel)."""
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
