"""p-RoPE by its definition (Barbero et al. 2024): the slowest frequencies are 0."""

from decimal import Decimal
from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments
from posenc_conformance.oracle.backward import transposed
from posenc_conformance.oracle.scaling import frequencies, number, rotation, unscaled


def frequency(arguments: Arguments, size: int, pair: int) -> Any:
    """Return the frequency of a pair, in radians per position.

    A pair rotates if the pairs up to and including it fit into the share; else its frequency is 0.
    """
    share = Decimal(str(float(arguments["proportion"]))) * size / 2
    if pair + 1 > share:
        return mpmath.mpf(0)
    stretch = mpmath.mpf(1) if arguments.get("factor") is None else number(arguments, "factor")
    return unscaled(arguments, size, pair) / stretch


VALUES = {
    "p_rope_frequencies": frequencies(frequency),
    "p_rope": rotation(frequency),
    "p_rope_vjp": transposed(rotation(frequency)),
}
