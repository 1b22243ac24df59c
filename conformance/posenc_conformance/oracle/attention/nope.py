"""A causal head without positional encoding, row by row as a decoder would compute it."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element

Vector = list[mpmath.mpf]


def times_matrix(row: Any, matrix: Any) -> Vector:
    """Multiply a row vector by a matrix."""
    width = matrix.shape[1]
    return [
        mpmath.fsum(mpmath.mpf(float(row[c])) * float(matrix[c][d]) for c in range(len(row)))
        for d in range(width)
    ]


def nope_layer(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the output at (…, row, channel).

    It keeps a running sum over the rows up to the last.
    """
    x = arguments["x"]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        *leading, last, channel = index
        sequence = x[tuple(leading)]
        query = times_matrix(sequence[last], arguments["w_q"])
        above = below = mpmath.mpf(0)
        for row in sequence[: last + 1]:
            key = times_matrix(row, arguments["w_k"])
            power = mpmath.exp(mpmath.fdot(query, key) / mpmath.sqrt(len(key)))
            above += power * times_matrix(row, arguments["w_v"])[channel]
            below += power
        return above / below

    return value


VALUES = {"nope_layer": nope_layer}
