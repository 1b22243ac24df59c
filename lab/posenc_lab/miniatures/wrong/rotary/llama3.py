"""Wrong implementations: Llama 3's scaling."""

import math
from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake
from posenc_lab.miniatures.below import below_zero
from posenc_lab.miniatures.scaled import (
    BackwardCall,
    FrequencyCall,
    RotaryCall,
    backward_mistakes,
    plain,
    usual_mistakes,
    wrong_frequencies,
)


def by_wavelength(
    omega: Array,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position_embeddings: float,
) -> Array:
    """Return frequencies scaled by the authors' three cases of wavelength."""
    low, high = (
        original_max_position_embeddings / low_freq_factor,
        original_max_position_embeddings / high_freq_factor,
    )
    scaled = []
    for w in omega:
        length = 2 * math.pi / w
        if length < high:
            scaled.append(w)
        elif length > low:
            scaled.append(w / factor)
        else:
            smooth = (original_max_position_embeddings / length - low_freq_factor) / (
                high_freq_factor - low_freq_factor
            )
            scaled.append((1 - smooth) * w / factor + smooth * w)
    return np.array(scaled)


class _Frequencies:
    def frequencies(self, dim: int, base: float, **own: Any) -> Array:
        return by_wavelength(plain(dim, base), **own)


class Llama3Frequencies(_Frequencies, FrequencyCall, Mistake, steps=True):
    """Frequencies scaled by wavelength, in steps."""

    call = "llama3_frequencies"


class Llama3(_Frequencies, RotaryCall, Mistake, steps=True):
    """Pairs rotated at frequencies scaled by wavelength, in steps."""

    call = "llama3"


CALLS = (Llama3Frequencies, Llama3)
usual_mistakes(CALLS)


def all_divided(dim: int, base: float, factor: float, **own: Any) -> Array:
    return plain(dim, base) / factor


def swapped(
    dim: int, base: float, low_freq_factor: float, high_freq_factor: float, **own: Any
) -> Array:
    return by_wavelength(
        plain(dim, base), low_freq_factor=high_freq_factor, high_freq_factor=low_freq_factor, **own
    )


def swapped_divided_first(
    dim: int,
    base: float,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position_embeddings: int,
) -> Array:
    omega = plain(dim, base)
    length = 2 * np.pi / omega
    return np.where(
        length > original_max_position_embeddings / high_freq_factor, omega / factor, omega
    )


def ramp(
    share_of: Any, dim: int, base: float, factor: float, inverse: bool = False, **own: Any
) -> Array:
    """Return frequencies with another smooth factor, from wavelengths in units of the context."""
    omega = plain(dim, base)
    length = 2 * np.pi / omega / own["original_max_position_embeddings"]
    low, high = 1 / own["low_freq_factor"], 1 / own["high_freq_factor"]
    inside = (length >= high) & (length <= low)
    smooth = share_of(length, low, high)
    mixed = omega / ((1 - smooth) * factor + smooth)
    if not inverse:
        mixed = (1 - smooth) * omega / factor + smooth * omega
    return np.where(inside, mixed, np.where(length > low, omega / factor, omega))


def inverted(dim: int, base: float, **own: Any) -> Array:
    return ramp(lambda x, low, high: 1 - (1 / x - 1 / low) / (1 / high - 1 / low), dim, base, **own)


def in_wavelength(dim: int, base: float, **own: Any) -> Array:
    return ramp(lambda x, low, high: (low - x) / (low - high), dim, base, **own)


def of_wavelengths(dim: int, base: float, **own: Any) -> Array:
    return ramp(lambda x, low, high: (x - high) / (low - high), dim, base, inverse=True, **own)


def squared(dim: int, base: float, **own: Any) -> Array:
    return ramp(
        lambda x, low, high: ((1 / x - 1 / low) / (1 / high - 1 / low)) ** 2, dim, base, **own
    )


def without_2_pi(dim: int, base: float, original_max_position_embeddings: int, **own: Any) -> Array:
    longer = original_max_position_embeddings * 2 * math.pi
    return by_wavelength(plain(dim, base), original_max_position_embeddings=longer, **own)


def twice(dim: int, base: float, **own: Any) -> Array:
    return by_wavelength(by_wavelength(plain(dim, base), **own), **own)


def of_8192(dim: int, base: float, original_max_position_embeddings: int, **own: Any) -> Array:
    return by_wavelength(plain(dim, base), original_max_position_embeddings=8192, **own)


def of_bounds_1_and_4(dim: int, base: float, **own: Any) -> Array:
    return by_wavelength(plain(dim, base), **own | {"low_freq_factor": 1, "high_freq_factor": 4})


def at_least_1_wide(dim: int, base: float, **own: Any) -> Array:
    high = max(own["high_freq_factor"], own["low_freq_factor"] + 1)
    return by_wavelength(plain(dim, base), **own | {"high_freq_factor": high})


def nearest_bound(dim: int, base: float, **own: Any) -> Array:
    return ramp(lambda x, low, high: np.rint((low - x) / (low - high)), dim, base, **own)


for _name, _why, _formula, _named in (
    ("missing", "No scaling.", lambda dim, base, **own: plain(dim, base), "scaling-missing"),
    ("linear", "Every frequency divided.", all_divided, "all-divided"),
    ("swapped", "The bounds exchanged, the fast pairs asked first.", swapped, "bounds-swapped"),
    (
        "swapped, slow first",
        "The bounds exchanged, the slow pairs asked first.",
        swapped_divided_first,
        "bounds-swapped",
    ),
    ("inverted", "The smooth factor from the other end.", inverted, "ramp-inverted"),
    ("by length", "A smooth factor linear in wavelength.", in_wavelength, "ramp-in-wavelength"),
    ("of lengths", "Wavelengths mixed by themselves.", of_wavelengths, "ramp-in-wavelength"),
    ("in radians", "Wavelengths without 2π.", without_2_pi, "radians"),
    ("twice", "Scaled frequencies scaled again.", twice, "scaled-twice"),
    ("squared", "A smooth factor that is not linear.", squared, None),
    ("of 8192", "The original context of Llama 3.", of_8192, None),
    ("of 1 and 4", "The bounds of Llama 3.", of_bounds_1_and_4, None),
    ("of a band of 1", "A ramp of one turn at least.", at_least_1_wide, None),
    ("of the nearest bound", "No ramp: the nearest bound decides.", nearest_bound, None),
):
    wrong_frequencies(CALLS, _name, _why, _formula, _named)


class Llama3Back(_Frequencies, BackwardCall, Mistake, steps=True):
    """Upstream gradients rotated back at the same frequencies, in steps."""

    call = "llama3_vjp"


backward_mistakes(Llama3Back)

below_zero(Llama3, "interleaved")
below_zero(Llama3Back, "interleaved")
