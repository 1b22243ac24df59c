"""Decomposed relative positions by their definition, with table places as exact fractions."""

from fractions import Fraction
from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def entry(table: Any, rows: int, row: int, channel: int) -> mpmath.mpf:
    """Return one entry of the table resized to ``rows`` rows."""
    count = len(table)
    place = Fraction(2 * row + 1, 2) * Fraction(count, rows) - Fraction(1, 2)
    place = min(max(place, Fraction(0)), Fraction(count - 1))
    below = int(place)
    share = place - below
    first = mpmath.mpf(float(table[below][channel]))
    if not share:
        return first
    second = mpmath.mpf(float(table[below + 1][channel]))
    weight = mpmath.mpf(share.numerator) / share.denominator
    return first * (1 - weight) + second * weight


def resized_relative_table(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the resized table at (row, channel)."""
    table, rows = arguments["table"], int(arguments["rows"])
    return lambda index: entry(table, rows, *index)


def decomposed_relative_bias(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bias at (head, query, key)."""
    q = arguments["q"]

    def read(table: Any, i: int, queries: int, j: int, keys: int, channel: int) -> mpmath.mpf:
        """Return the entry of a resized table for patch i of the queries and patch j of the keys.

        A patch of the side with fewer patches is as wide as several patches of the other side.
        """
        finest = max(queries, keys)
        offset = i * (finest // queries) - j * (finest // keys)
        most_negative = -(keys - 1) * (finest // keys)
        return entry(table, 2 * finest - 1, offset - most_negative, channel)

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, query, key = index
        sizes = {name: int(arguments[name]) for name in ("q_width", "k_width")}
        (y, x), (v, u) = divmod(query, sizes["q_width"]), divmod(key, sizes["k_width"])
        high = int(arguments["q_height"]), int(arguments["k_height"])
        return mpmath.fsum(
            mpmath.mpf(float(q[head][query][c]))
            * (
                read(arguments["table_h"], y, high[0], v, high[1], c)
                + read(arguments["table_w"], x, sizes["q_width"], u, sizes["k_width"], c)
            )
            for c in range(q.shape[-1])
        )

    return value


VALUES = {
    "decomposed_relative_bias": decomposed_relative_bias,
    "resized_relative_table": resized_relative_table,
}
