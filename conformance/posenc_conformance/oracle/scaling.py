"""Rotary embedding with any frequencies, by complex multiplication."""

from collections.abc import Callable, Mapping
from typing import Any

import mpmath

from posenc_conformance.oracle import Element

Frequency = Callable[[Mapping[str, Any], int, int], Any]
"""Radians per position, from the arguments, the number of channels and the pair."""


def number(arguments: Mapping[str, Any], name: str) -> Any:
    """An argument as an mpf."""
    return mpmath.mpf(float(arguments[name]))


def unscaled(arguments: Mapping[str, Any], size: int, pair: int) -> Any:
    """That of rotary embedding."""
    return mpmath.exp(-mpmath.log(number(arguments, "base")) * 2 * pair / size)


def frequencies(frequency: Frequency) -> Callable[..., Element]:
    """Element (pair)."""

    def elements(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
        return lambda index: frequency(arguments, int(arguments["rotary_dim"]), index[0])

    return elements


def rotation(frequency: Frequency) -> Callable[..., Element]:
    """Element (..., row, channel)."""

    def elements(arguments: Mapping[str, Any], conventions: Mapping[str, Any]) -> Element:
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
