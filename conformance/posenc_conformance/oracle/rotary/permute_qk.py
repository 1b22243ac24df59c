"""Rows of projections in another layout, by the pairs that they belong to."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def source_row(row: int, rotated: int, direction: str) -> int:
    """Return the row of a head that becomes row ``row`` of the result."""
    if row >= rotated:
        return row
    pairs = rotated // 2
    if direction == "interleaved-to-half":
        pair, member = row % pairs, row // pairs
        return 2 * pair + member
    pair, member = row // 2, row % 2
    return pair + member * pairs


def element(q: Any, k: Any, arguments: Arguments, direction: str) -> Element:
    """Return the function that gives the permuted number at (row), or at (row, column)."""
    size = len(q) // int(arguments["heads"])
    rotated = int(arguments.get("rotary_dim") or size)

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        row, column = index[0], index[1:]
        source, row = (q, row) if row < len(q) else (k, row - len(q))
        head, place = divmod(row, size)
        entry = source[head * size + source_row(place, rotated, direction)]
        return mpmath.mpf(float(entry[column[0]] if column else entry))

    return value


def permute_qk(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the permuted weight at (row, column)."""
    q, k = arguments["q_weight"], arguments["k_weight"]
    return element(q, k, arguments, conventions["direction"])


def permute_qk_bias(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the permuted bias at (row)."""
    q, k = arguments["q_bias"], arguments["k_bias"]
    return element(q, k, arguments, conventions["direction"])


VALUES = {"permute_qk": permute_qk, "permute_qk_bias": permute_qk_bias}
