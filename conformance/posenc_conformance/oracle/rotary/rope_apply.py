"""Rotation by the caller's tables: each pair is multiplied, as a complex number, by the table's."""

from collections.abc import Callable
from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element

Turn = Callable[[int, int], tuple[Any, Any]]
"""Cosine and sine for a row of x and a pair."""


def number(value: Any) -> mpmath.mpf:
    """Return a float as an mpf, exactly."""
    return mpmath.mpf(float(value))


def turned(x: Any, turn: Turn, pairs: int, layout: str) -> Element:
    """Return the function that gives the rotated x at (..., row, channel)."""

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        row, channel = index[-2:]
        if channel >= 2 * pairs:
            return number(x[index])
        if layout == "interleaved":
            pair, member = divmod(channel, 2)
            channels = 2 * pair, 2 * pair + 1
        else:
            member, pair = divmod(channel, pairs)
            channels = pair, pair + pairs
        real, imaginary = (number(x[(*index[:-1], source)]) for source in channels)
        cos, sin = map(number, turn(row, pair))
        product = mpmath.mpc(real, imaginary) * mpmath.mpc(cos, sin)
        return product.imag if member else product.real

    return value


def rope_apply(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives x, rotated by two tables, at (..., row, channel)."""
    cos, sin, layout = arguments["cos"], arguments["sin"], conventions["layout"]
    doubled = conventions["table"] == "doubled"
    step = 2 if doubled and layout == "interleaved" else 1
    pairs = cos.shape[1] // (2 if doubled else 1)
    return turned(
        arguments["x"],
        lambda row, pair: (cos[row][step * pair], sin[row][step * pair]),
        pairs,
        layout,
    )


def rope_apply_pairs(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives x, rotated by one complex table, at (..., row, channel)."""
    cis = arguments["cis"]
    return turned(
        arguments["x"],
        lambda row, pair: (cis[row][pair][0], cis[row][pair][1]),
        cis.shape[1],
        conventions["layout"],
    )


def rope_apply_cache(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives x, rotated by rows of a cache, at (..., row, channel)."""
    cache, rows = arguments["cache"], arguments["rows"]
    pairs = cache.shape[1] // 2

    def turn(row: int, pair: int) -> tuple[Any, Any]:
        entries = cache[int(rows[row])]
        return entries[pair], entries[pairs + pair]

    return turned(arguments["x"], turn, pairs, conventions["layout"])


VALUES = {
    "rope_apply": rope_apply,
    "rope_apply_pairs": rope_apply_pairs,
    "rope_apply_cache": rope_apply_cache,
}
