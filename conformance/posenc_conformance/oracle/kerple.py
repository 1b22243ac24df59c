"""KERPLE's two kernels (Chi et al. 2022), written as in the paper."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def kerple_bias(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (head, query, key)."""
    late = int(arguments["k_len"]) - int(arguments["q_len"])

    def value(index: tuple[int, ...]) -> mpmath.mpf | None:
        head, query, key = index
        distance = late + query - key
        if distance < 0:
            return None
        r1, r2 = (mpmath.mpf(float(arguments[name][head])) for name in ("r1", "r2"))
        if conventions["form"] == "log":
            return -r1 * mpmath.log1p(r2 * distance)
        return -r1 * mpmath.power(distance, r2)

    return value


VALUES = {"kerple_bias": kerple_bias}
