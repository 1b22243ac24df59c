"""Position interpolation by its definition (Chen et al. 2023, eq. 4): f at the position m/s."""

from typing import Any

from posenc_conformance.oracle import Arguments
from posenc_conformance.oracle.backward import transposed
from posenc_conformance.oracle.scaling import frequencies, number, rotation, unscaled


def frequency(arguments: Arguments, size: int, pair: int) -> Any:
    """Return the frequency of a pair, in radians per position."""
    return unscaled(arguments, size, pair) / number(arguments, "factor")


VALUES = {
    "position_interpolation_frequencies": frequencies(frequency),
    "position_interpolation": rotation(frequency),
    "position_interpolation_vjp": transposed(rotation(frequency)),
}
