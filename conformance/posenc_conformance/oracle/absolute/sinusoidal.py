"""Sinusoidal encoding by its definition (Vaswani et al. 2017, section 3.5)."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def sinusoidal(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the encoding at (row, channel)."""
    d, base = int(arguments["dim"]), mpmath.mpf(float(arguments.get("base", 10000)))
    rule = conventions.get("odd_dim") if d % 2 else None
    columns = {None: d, "zero": d - 1, "cut": d + 1, "uneven": d}[rule]
    sines = mpmath.ceil(mpmath.mpf(columns) / 2)
    half = mpmath.mpf(columns) / 2
    denominator = half if conventions["denominator"] == "d/2" else max(half - 1, mpmath.mpf(1))
    size = mpmath.mpf(d)
    factor = {
        "1": mpmath.mpf(1),
        "d^-1/2": 1 / mpmath.sqrt(size),
        "(2/d)^1/2": mpmath.sqrt(2 / size),
    }

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        row, channel = index
        if rule == "zero" and channel == d - 1:
            return mpmath.mpf(0)
        match conventions["layout"]:
            case "interleaved":
                pair, wave = channel // 2, mpmath.cos if channel % 2 else mpmath.sin
            case "sin-cos":
                wave = mpmath.sin if channel < sines else mpmath.cos
                pair = channel if channel < sines else channel - int(sines)
            case "cos-sin":
                wave = mpmath.cos if channel < sines else mpmath.sin
                pair = channel if channel < sines else channel - int(sines)
        place = mpmath.mpf(arguments["positions"][row].item()) + conventions["first_position"]
        angle = place / mpmath.power(base, pair / denominator)
        return factor[conventions["scale"]] * wave(angle)

    return value


VALUES = {"sinusoidal": sinusoidal}
