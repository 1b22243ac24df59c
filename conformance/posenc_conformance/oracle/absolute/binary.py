"""Binary digits of a number in written form."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def binary(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the binary digit at (row, channel)."""
    dim = int(arguments["dim"])

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        row, channel = index
        written = format(int(arguments["positions"][row]), "b").rjust(dim, "0")
        digit = written[channel] if conventions["order"] == "msb-first" else written[-1 - channel]
        level = {"zero-one": {"0": 0, "1": 1}, "plus-minus-one": {"0": -1, "1": 1}}
        return mpmath.mpf(level[conventions["levels"]][digit])

    return value


VALUES = {"binary": binary}
