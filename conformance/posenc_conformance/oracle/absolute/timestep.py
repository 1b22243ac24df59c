"""Timestep embeddings, from the exponential form in the released code."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def timestep(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the embedding at (row, channel)."""
    half = int(arguments["dim"]) // 2
    spacing = mpmath.log(mpmath.mpf(float(arguments.get("max_period", 10000))))
    spacing /= half - conventions["frequency_shift"]
    scale = mpmath.mpf(float(arguments.get("scale", 1)))
    first, second = mpmath.sin, mpmath.cos
    if conventions["order"] == "cos-sin":
        first, second = second, first

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        row, channel = index
        if channel == 2 * half:
            return mpmath.mpf(0)
        wave = first if channel < half else second
        time = scale * mpmath.mpf(arguments["positions"][row].item())
        return wave(time * mpmath.exp(-spacing * (channel % half)))

    return value


VALUES = {"timestep": timestep}
