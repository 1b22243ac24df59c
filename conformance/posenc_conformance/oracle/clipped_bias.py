"""Biases by clipped distance, from the definition."""

from collections.abc import Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element


def row(rows: int, offset: int) -> int:
    """Row of a table whose middle one is for offset 0 and whose ends serve all that is farther."""
    return sorted((0, (rows - 1) // 2 + offset, rows - 1))[1]


def clipped_bias(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (head, query, key)."""
    table = arguments["table"]
    late = int(arguments["k_len"]) - int(arguments["q_len"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, query, key = index
        return mpmath.mpf(float(table[row(len(table), key - (late + query)), head]))

    return value


def clipped_bias_vjp(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
    """Element (row, head): the sum over the pairs that look this entry up."""
    gradient, rows = arguments["gradient"], int(arguments["rows"])
    _, queries, keys = gradient.shape

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        wanted, head = index
        return mpmath.fsum(
            mpmath.mpf(float(gradient[head, query, key]))
            for query in range(queries)
            for key in range(keys)
            if row(rows, key - (keys - queries + query)) == wanted
        )

    return value


VALUES = {"clipped_bias": clipped_bias, "clipped_bias_vjp": clipped_bias_vjp}
