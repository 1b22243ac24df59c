"""Rotary embedding of rows and columns by its definition: pairs as complex numbers."""

from collections.abc import Callable
from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element
from posenc_conformance.oracle.backward import transposed

Angle = Callable[[tuple[int, ...], int], mpmath.mpf]
"""The angle, in radians, for the index of a row of x and the number of a pair."""


def turned(x: Any, layout: str, angle: Angle) -> Element:
    """Return the function that gives the rotated x at (..., row, channel)."""
    width = x.shape[-1]

    def pair_of(channel: int) -> tuple[int, int, int]:
        """Return the pair of a channel, and the two channels of that pair."""
        for pair in range(width // 2):
            members = {
                "interleaved": (2 * pair, 2 * pair + 1),
                "half": (pair, width // 2 + pair),
                "half-per-axis": (pair, width // 4 + pair)
                if pair < width // 4
                else (width // 4 + pair, width // 2 + pair),
            }[layout]
            if channel in members:
                return pair, *members
        raise ValueError(channel)

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *row, channel = index
        pair, first, second = pair_of(channel)
        number = mpmath.mpc(float(x[(*row, first)]), float(x[(*row, second)]))
        result = number * mpmath.expj(angle(tuple(row), pair))
        return result.real if channel == first else result.imag

    return value


def rope_2d(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the rotated x at (..., row, channel)."""
    x, (rows, columns) = arguments["x"], arguments["positions"]
    width = x.shape[-1]
    base = mpmath.mpf(float(arguments.get("base", 10000)))

    def angle(row: tuple[int, ...], pair: int) -> mpmath.mpf:
        if conventions["order"] == "alternating":
            member, second = divmod(pair, 2)
        else:
            second, member = divmod(pair, width // 4)
        by_row = (conventions["order"] == "row-first") != bool(second)
        exponent = -mpmath.mpf(4 * member) / width
        if conventions["progression"] == "split" and second:
            exponent -= mpmath.mpf(2) / width
        return int((rows if by_row else columns)[row[-1]]) * base**exponent

    return turned(x, conventions["layout"], angle)


def rope_2d_mixed(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the rotated x at (..., head, row, channel)."""
    rows, columns = arguments["positions"]
    axes = (rows, columns) if conventions["order"] == "row-first" else (columns, rows)
    weights = arguments["frequencies"]

    def angle(row: tuple[int, ...], pair: int) -> mpmath.mpf:
        *_, head, place = row
        return mpmath.fsum(
            int(axis[place]) * mpmath.mpf(float(weight[head, pair]))
            for axis, weight in zip(axes, weights, strict=True)
        )

    return turned(arguments["x"], conventions["layout"], angle)


def rope_2d_image(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the rotated x at (..., patch, channel)."""
    x, height, width = arguments["x"], int(arguments["height"]), int(arguments["width"])
    base = mpmath.mpf(float(arguments.get("base", 100)))
    quarter = x.shape[-1] // 4
    longer = max(height, width)

    def angle(row: tuple[int, ...], pair: int) -> mpmath.mpf:
        down, along = divmod(row[-1], width)
        if conventions["order"] == "alternating":
            by_row, member = pair % 2 == 1, pair // 2
        else:
            by_row = (pair < quarter) == (conventions["order"] == "row-first")
            member = pair % quarter
        place, side = (down, height) if by_row else (along, width)
        side = longer if conventions["extent"] == "longer-side" else side
        coordinate = 2 * ((place + mpmath.mpf(1) / 2) / side) - 1
        return 2 * mpmath.pi * coordinate / base ** (mpmath.mpf(member) / quarter)

    return turned(x, conventions["layout"], angle)


VALUES = {
    "rope_2d": rope_2d,
    "rope_2d_vjp": transposed(rope_2d),
    "rope_2d_mixed": rope_2d_mixed,
    "rope_2d_image": rope_2d_image,
}
