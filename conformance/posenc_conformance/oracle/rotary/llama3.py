"""Llama 3's scaling as its authors define it: by wavelengths."""

from typing import Any

import mpmath

from posenc_conformance.oracle import Arguments
from posenc_conformance.oracle.backward import transposed
from posenc_conformance.oracle.scaling import frequencies, number, rotation, unscaled


def frequency(arguments: Arguments, size: int, pair: int) -> Any:
    """Return the frequency of a pair, in radians per position."""
    omega, trained = (
        unscaled(arguments, size, pair),
        int(arguments["original_max_position_embeddings"]),
    )
    factor, low, high = (
        number(arguments, name) for name in ("factor", "low_freq_factor", "high_freq_factor")
    )
    wavelength = 2 * mpmath.pi / omega
    if wavelength < trained / high:
        return omega
    if wavelength > trained / low:
        return omega / factor
    smooth = (trained / wavelength - low) / (high - low)
    return (1 - smooth) * omega / factor + smooth * omega


VALUES = {
    "llama3_frequencies": frequencies(frequency),
    "llama3": rotation(frequency),
    "llama3_vjp": transposed(rotation(frequency)),
}
