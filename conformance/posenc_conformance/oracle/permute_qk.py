"""Rows of projections in another layout, by the pairs that they belong to."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def source_row(row: int, rotated: int, direction: str) -> int:
    """Which row of a head is found at a place of the result."""
    if row >= rotated:
        return row
    pairs = rotated // 2
    if direction == "interleaved-to-half":
        pair, member = row % pairs, row // pairs
        return 2 * pair + member
    pair, member = row // 2, row % 2
    return pair + member * pairs


def element(q: Any, k: Any, arguments: Mapping[str, Any], direction: str) -> Element:
    """Element (row), or (row, column)."""
    size = len(q) // int(arguments["heads"])
    rotated = int(arguments.get("rotary_dim") or size)

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        row, rest = index[0], index[1:]
        given, row = (q, row) if row < len(q) else (k, row - len(q))
        head, place = divmod(row, size)
        found = given[head * size + source_row(place, rotated, direction)]
        return mpmath.mpf(float(found[rest[0]] if rest else found))

    return value


def permute_qk(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (row, column)."""
    q, k = arguments["q_weight"], arguments["k_weight"]
    return element(q, k, arguments, conventions["direction"])


def permute_qk_bias(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (row)."""
    q, k = arguments["q_bias"], arguments["k_bias"]
    return element(q, k, arguments, conventions["direction"])


VALUES = {"permute_qk": permute_qk, "permute_qk_bias": permute_qk_bias}
