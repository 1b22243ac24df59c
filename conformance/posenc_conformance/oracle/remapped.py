"""Logits of queries and keys that are rotated to remapped positions."""

from collections.abc import Callable
from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element

Places = Callable[[int, int], tuple[Any, Any]]
"""A function from the positions of a query and a key to their remapped positions."""


def logits(arguments: Arguments, conventions: Conventions, places: Places) -> Element:
    """Return the function that gives the logit at (head, query, key).

    The logit is None where the key comes after the query.
    """
    q, k = arguments["q"], arguments["k"]
    width, ahead = q.shape[-1], k.shape[1] - q.shape[1]
    base = mpmath.mpf(float(arguments.get("base", 10000)))
    together = conventions["layout"] == "interleaved"

    def turned(row: Any, place: Any, pair: int) -> mpmath.mpc:
        first, second = (2 * pair, 2 * pair + 1) if together else (pair, pair + width // 2)
        plane = mpmath.mpc(float(row[first]), float(row[second]))
        return plane * mpmath.expj(place * base ** (-mpmath.mpf(2 * pair) / width))

    def value(index: tuple[int, ...]) -> mpmath.mpf | None:
        head, i, j = index
        if j > ahead + i:
            return None
        query, key = places(ahead + i, j)
        return mpmath.fsum(
            (turned(q[head, i], query, pair) * mpmath.conj(turned(k[head, j], key, pair))).real
            for pair in range(width // 2)
        ) / mpmath.sqrt(width)

    return value
