"""Rotary embedding by its definition (Su et al. 2021, eqs. 14 to 16): complex multiplication."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element
from posenc_conformance.oracle.backward import transposed


def rope(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the rotated x at (..., row, channel)."""
    x = arguments["x"]
    width = int(arguments.get("rotary_dim") or x.shape[-1])
    base = mpmath.mpf(float(arguments.get("base", 10000)))
    apart, together = (lambda t: (t, t + width // 2)), (lambda t: (2 * t, 2 * t + 1))
    reading, writing = {
        "interleaved": (together, together),
        "half": (apart, apart),
        "interleaved-to-half": (together, apart),
    }[conventions["layout"]]
    place = {
        channel: (t, part) for t in range(width // 2) for part, channel in enumerate(writing(t))
    }

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *row, channel = index
        if channel not in place:
            return mpmath.mpf(float(x[index]))
        pair, part = place[channel]
        real, imaginary = (float(x[(*row, source)]) for source in reading(pair))
        position = int(arguments["positions"][row[-1]])
        turn = mpmath.expj(position * mpmath.power(base, -mpmath.mpf(2 * pair) / width))
        turned = mpmath.mpc(real, imaginary) * turn
        return turned.imag if part else turned.real

    return value


VALUES = {"rope": rope, "rope_vjp": transposed(rope)}
