"""The position itself, by its definition."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def integer(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (row, channel)."""
    return lambda index: mpmath.mpf(int(arguments["positions"][index[0]]))


VALUES = {"integer": integer}
