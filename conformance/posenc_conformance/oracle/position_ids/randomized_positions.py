"""Randomized positions by their definition: ranks found by counting, not by sorting."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element
from posenc_conformance.oracle.bias.alibi import slope


def smallest(numbers: list[int], rank: int) -> int:
    """Find the number that is larger than exactly ``rank`` of the numbers."""
    return next(number for number in numbers if sum(other < number for other in numbers) == rank)


def randomized_positions(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the position at (token,)."""
    drawn = [int(number) for number in arguments["order"]][: int(arguments["n"])]
    return lambda index: mpmath.mpf(smallest(drawn, index[0]))


def randomized_alibi_bias(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bias at (head, query, key)."""
    heads, q_len, k_len = (int(arguments[name]) for name in ("heads", "q_len", "k_len"))
    before, after = (
        [int(number) for number in arguments[name]][: k_len - 1] for name in ("before", "after")
    )

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, row, key = index
        places = key - (k_len - q_len + row)
        if places == 0:
            return mpmath.mpf(0)
        if places > 0:
            return -slope(head, heads, "interpolated") * smallest(after, places - 1)
        nearer = smallest(before, -places - 1) - mpmath.mpf(1) / 2
        return -slope(head, heads, "interpolated") * nearer

    return value


VALUES = {
    "randomized_positions": randomized_positions,
    "randomized_alibi_bias": randomized_alibi_bias,
}
