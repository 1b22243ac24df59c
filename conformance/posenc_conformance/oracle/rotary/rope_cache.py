"""Rotary embedding of keys in a cache: a pair is multiplied by a number on the unit circle."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def rope_shift(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the shifted key at (..., row, channel)."""
    base = mpmath.mpf(float(arguments.get("base", 10000)))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *row, channel = index
        key = arguments["x"][tuple(row)]
        pairs = (arguments.get("rotary_dim") or len(key)) // 2
        if channel >= 2 * pairs:
            return mpmath.mpf(float(key[channel]))
        if conventions["layout"] == "half":
            pair, second = channel % pairs, channel >= pairs
            number = mpmath.mpc(float(key[pair]), float(key[pairs + pair]))
        else:
            pair, second = channel // 2, bool(channel % 2)
            number = mpmath.mpc(float(key[2 * pair]), float(key[2 * pair + 1]))
        angle = int(arguments["deltas"][row[-1]]) / mpmath.power(base, mpmath.mpf(pair) / pairs)
        moved = number * (mpmath.cos(angle) + mpmath.mpc(0, 1) * mpmath.sin(angle))
        return moved.imag if second else moved.real

    return value


VALUES = {"rope_shift": rope_shift}
