"""PoPE by its definition, as released: complex numbers in polar form."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def pope(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the encoded x at (…, row, channel).

    x contains keys if there is a ``bias`` of phases, queries otherwise.
    """
    x, positions = arguments["x"], arguments["positions"]
    head_dim = x.shape[-1]
    base = mpmath.mpf(float(arguments.get("base", 10000)))

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *place, channel = index
        if conventions["layout"] == "half":
            sine, j = divmod(channel, head_dim)
        else:
            j, sine = divmod(channel, 2)
        position = int(positions[place[-1]])
        angle = position / mpmath.power(base, mpmath.mpf(j) / head_dim)
        if "bias" in arguments:
            phase = mpmath.mpf(float(arguments["bias"][j]))
            angle += min(mpmath.mpf(0), max(phase, -2 * mpmath.pi))
        length = mpmath.log1p(mpmath.exp(mpmath.mpf(float(x[(*place, j)]))))
        return length * (mpmath.sin(angle) if sine else mpmath.cos(angle))

    return value


VALUES = {"pope_query": pope, "pope_key": pope}
