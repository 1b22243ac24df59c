"""Time2Vec by its equation (Kazemi et al. 2019, equation 1)."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def time2vec(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (…, channel)."""
    x, w, b = (arguments[name] for name in "xwb")
    straight = {"first": 0, "last": len(b) - 1}[conventions["linear"]]
    wave = {"sin": mpmath.sin, "cos": mpmath.cos}[conventions["wave"]]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *place, channel = index
        angle = mpmath.mpf(float(b[channel]))
        for number in range(len(w)):
            time = mpmath.mpf(float(x[(*place, number)]))
            angle += time * mpmath.mpf(float(w[number, channel]))
        return angle if channel == straight else wave(angle)

    return value


VALUES = {"time2vec": time2vec}
