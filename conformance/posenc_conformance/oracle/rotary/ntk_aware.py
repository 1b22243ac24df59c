"""NTK-aware scaling by its definition (Peng et al. 2023, section 3.1): another base."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments
from posenc_conformance.oracle.backward import transposed
from posenc_conformance.oracle.scaling import frequencies, number, rotation


def frequency(arguments: Arguments, size: int, pair: int) -> Any:
    """Return the frequency of a pair, in radians per position."""
    stretch = mpmath.power(number(arguments, "factor"), mpmath.mpf(size) / (size - 2))
    return mpmath.power(number(arguments, "base") * stretch, -mpmath.mpf(2 * pair) / size)


VALUES = {
    "ntk_aware_frequencies": frequencies(frequency),
    "ntk_aware": rotation(frequency),
    "ntk_aware_vjp": transposed(rotation(frequency)),
}
