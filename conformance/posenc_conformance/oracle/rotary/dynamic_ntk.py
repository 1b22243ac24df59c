"""Dynamic NTK scaling by its definition: a base that depends on the length."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments
from posenc_conformance.oracle.backward import transposed
from posenc_conformance.oracle.scaling import frequencies, number, rotation


def frequency(arguments: Arguments, size: int, pair: int) -> Any:
    """Return the frequency of a pair, in radians per position."""
    trained, factor = (
        int(arguments["original_max_position_embeddings"]),
        number(arguments, "factor"),
    )
    beyond = max(int(arguments["length"]) - trained, 0)
    stretch = 1 + factor * beyond / trained
    base = number(arguments, "base") * mpmath.power(stretch, mpmath.mpf(size) / (size - 2))
    return mpmath.power(base, -mpmath.mpf(2 * pair) / size)


VALUES = {
    "dynamic_ntk_frequencies": frequencies(frequency),
    "dynamic_ntk": rotation(frequency),
    "dynamic_ntk_vjp": transposed(rotation(frequency)),
}
