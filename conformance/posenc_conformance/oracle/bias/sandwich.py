"""Sandwich by its definition: the dot product of two sinusoids."""

from functools import cache

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def sandwich_bias(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the bias at (head, query, key)."""
    heads, q_len, k_len, dim = (int(arguments[n]) for n in ("heads", "q_len", "k_len", "dim"))
    first = {"from-1": 1, "from-0": 0}[conventions["exponents"]]
    steps = range(first, first + dim // 2)

    @cache
    def sinusoid(position: int) -> list[mpmath.mpf]:
        angles = [position / mpmath.power(10000, mpmath.mpf(2 * i) / dim) for i in steps]
        return [*map(mpmath.sin, angles), *map(mpmath.cos, angles)]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        head, row, key = index
        query = k_len - q_len + row
        dot = mpmath.fdot(sinusoid(query), sinusoid(key))
        if conventions["own_key"] == "zero":
            dot -= mpmath.mpf(dim) / 2
        return dot / (mpmath.mpf(8 * (head + 1)) / heads)

    return value


VALUES = {"sandwich_bias": sandwich_bias}
