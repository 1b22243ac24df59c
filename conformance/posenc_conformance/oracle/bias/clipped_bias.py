"""Biases by clipped distance, from the definition."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def row(rows: int, offset: int) -> int:
    """Return the row of a table for an offset.

    The middle row is for offset 0. The first and the last row serve all offsets beyond theirs.
    """
    return sorted((0, (rows - 1) // 2 + offset, rows - 1))[1]


def clipped_bias(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bias at (head, query, key)."""
    table = arguments["table"]
    late = int(arguments["k_len"]) - int(arguments["q_len"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, query, key = index
        return mpmath.mpf(float(table[row(len(table), key - (late + query)), head]))

    return value


def clipped_bias_vjp(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the gradient of the table at (row, head).

    It sums the upstream gradient over the pairs of query and key that read the entry.
    """
    gradient, rows = arguments["gradient"], int(arguments["rows"])
    _, queries, keys = gradient.shape

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        table_row, head = index
        return mpmath.fsum(
            mpmath.mpf(float(gradient[head, query, key]))
            for query in range(queries)
            for key in range(keys)
            if row(rows, key - (keys - queries + query)) == table_row
        )

    return value


VALUES = {"clipped_bias": clipped_bias, "clipped_bias_vjp": clipped_bias_vjp}
