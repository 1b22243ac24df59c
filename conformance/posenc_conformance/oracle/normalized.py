"""The position as a part of the length, by its definition."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def normalized(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (row, channel)."""
    last = int(arguments["length"]) - 1
    return lambda index: mpmath.mpf(index[0]) / last


VALUES = {"normalized": normalized}
