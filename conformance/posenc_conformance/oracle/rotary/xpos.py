"""xPos by its definition (Sun et al. 2022): one complex power per pair."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element
from posenc_conformance.oracle.backward import transposed


def xpos(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the rotated and scaled x at (..., row, channel)."""
    x, positions = arguments["x"], [int(position) for position in arguments["positions"]]
    half = x.shape[-1] // 2
    length = max(positions, default=-1) + 1
    center = {"zero": 0, "ceiling": (length + 1) // 2, "floor": length // 2}[conventions["center"]]
    base = mpmath.mpf(float(arguments["base"]))
    scale_base = mpmath.mpf(float(arguments["scale_base"]))
    sign = -1 if arguments["downscale"] else 1

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *row, channel = index
        if conventions["layout"] == "half":
            part, pair = divmod(channel, half)
            sources = pair, pair + half
        else:
            pair, part = divmod(channel, 2)
            sources = 2 * pair, 2 * pair + 1
        real, imaginary = (float(x[(*row, source)]) for source in sources)
        place = positions[row[-1]]
        shrunk = mpmath.log((mpmath.mpf(pair) / half + mpmath.mpf("0.4")) / mpmath.mpf("1.4"))
        angle = place * mpmath.power(base, -mpmath.mpf(pair) / half)
        turned = mpmath.mpc(real, imaginary) * mpmath.exp(
            mpmath.mpc(sign * (place - center) / scale_base * shrunk, angle)
        )
        return turned.imag if part else turned.real

    return value


VALUES = {"xpos": xpos, "xpos_vjp": transposed(xpos)}
