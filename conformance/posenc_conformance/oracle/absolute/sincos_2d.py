"""Sinusoidal encoding of grid cells, from the formula of each released table."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def sincos_2d(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the encoding at (cell, channel)."""
    height, width, d = (int(arguments[name]) for name in ("height", "width", "dim"))
    base = mpmath.mpf(float(arguments.get("base", 10000)))
    steps = mpmath.mpf(d) / 4 - (1 if conventions["denominator"] == "d/4-1" else 0)

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        cell, channel = index
        first_half, within = channel < d // 2, channel % (d // 2)
        if first_half == (conventions["first_axis"] == "column"):
            place, count = mpmath.mpf(cell % width), width
        else:
            place, count = mpmath.mpf(cell // width), height
        if conventions["coordinates"] != "index":
            place += 1 if conventions["coordinates"] == "normalized" else mpmath.mpf("0.5")
            place = 2 * mpmath.pi * place / (count + mpmath.mpf("1e-6"))
        if conventions["layout"] == "interleaved":
            pair, odd = divmod(within, 2)
        else:
            odd, pair = divmod(within, d // 4)
        angle = place * mpmath.exp(-mpmath.log(base) * pair / steps)
        return mpmath.cos(angle) if odd else mpmath.sin(angle)

    return value


VALUES = {"sincos_2d": sincos_2d}
