"""Rotary embedding with any frequencies, by complex multiplication."""

from collections.abc import Callable
from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element

Frequency = Callable[[Arguments, int, int], Any]
"""A function from arguments, number of channels and pair to radians per position."""


def number(arguments: Arguments, name: str) -> Any:
    """Return an argument as an mpf."""
    return mpmath.mpf(float(arguments[name]))


def unscaled(arguments: Arguments, size: int, pair: int) -> Any:
    """Return the frequency of a pair in plain rotary embedding, in radians per position."""
    return mpmath.exp(-mpmath.log(number(arguments, "base")) * 2 * pair / size)


def frequencies(frequency: Frequency) -> Callable[..., Element]:
    """Make the call whose elements are the frequencies at (pair,)."""

    def elements(arguments: Arguments, conventions: Conventions) -> Element:
        return lambda index: frequency(arguments, int(arguments["rotary_dim"]), index[0])

    return elements


def rotation(frequency: Frequency) -> Callable[..., Element]:
    """Make the call whose elements are those of the rotated x at (..., row, channel)."""

    def elements(arguments: Arguments, conventions: Conventions) -> Element:
        x = arguments["x"]
        size = int(x.shape[-1])

        def value(index: tuple[int, ...]) -> Any:
            *row, channel = index
            if conventions["layout"] == "half":
                pair, part = channel % (size // 2), channel // (size // 2)
                members = pair, pair + size // 2
            else:
                pair, part = channel // 2, channel % 2
                members = 2 * pair, 2 * pair + 1
            arrow = mpmath.mpc(*(float(x[(*row, member)]) for member in members))
            position = int(arguments["positions"][row[-1]])
            turned = arrow * mpmath.expj(position * frequency(arguments, size, pair))
            return turned.imag if part else turned.real

        return value

    return elements
