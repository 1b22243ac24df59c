"""Sum of embedding and sinusoid by definition (Vaswani et al. 2017, sections 3.4 and 3.5)."""

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element


def embedding_sum(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the sum at (..., row, channel)."""
    x = arguments["x"]
    d, base = x.shape[-1], mpmath.mpf(float(arguments.get("base", 10000)))
    factor = mpmath.sqrt(d) if conventions["embedding_scale"] == "d^1/2" else mpmath.mpf(1)

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        row, channel = index[-2:]
        exponent = mpmath.mpf(channel - channel % 2) / d
        turn = mpmath.expj(int(arguments["positions"][row]) / base**exponent)
        return factor * float(x[index]) + (turn.real if channel % 2 else turn.imag)

    return value


VALUES = {"embedding_sum": embedding_sum}
