"""Binary digits as a number is written."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def binary(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (row, channel)."""
    dim = int(arguments["dim"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        row, channel = index
        written = format(int(arguments["positions"][row]), "b").rjust(dim, "0")
        digit = written[channel] if conventions["order"] == "msb-first" else written[-1 - channel]
        level = {"zero-one": {"0": 0, "1": 1}, "plus-minus-one": {"0": -1, "1": 1}}
        return mpmath.mpf(level[conventions["levels"]][digit])

    return value


VALUES = {"binary": binary}
