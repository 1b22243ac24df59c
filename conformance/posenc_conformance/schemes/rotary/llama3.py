"""Llama 3's scaling of frequencies: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.families.rotary import rotary_dim
from posenc_conformance.families.rotary_scaling import (
    Scaling,
    between,
    lists_of_frequencies,
    unscaled,
)
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import Arguments


def turns(given: Arguments, omega: Floats) -> Floats:
    """Compute how many turns each frequency makes over the original context."""
    return np.asarray(given["original_max_position_embeddings"] * omega / (2 * np.pi))


def kept(given: Arguments, whole_turns: Floats) -> Floats:
    """Compute the unscaled share of each frequency, from 0 to 1."""
    low, high = given["low_freq_factor"], given["high_freq_factor"]
    if low == high:
        return np.asarray(whole_turns >= high, dtype=np.float64)
    return np.asarray(np.clip((whole_turns - low) / (high - low), 0, 1))


def blended(given: Arguments, omega: Floats, share: Floats) -> Floats:
    """Keep ``share`` of each frequency, and divide the rest by the factor."""
    return np.asarray(omega * ((1 - share) / given["factor"] + share))


def scaled(given: Arguments, omega: Floats) -> Floats:
    """Apply the scheme to any frequencies."""
    return blended(given, omega, kept(given, turns(given, omega)))


def frequencies(given: Arguments, size: int) -> Floats:
    """Apply the scheme to RoPE's frequencies."""
    return scaled(given, unscaled(given, size))


def ramp(given: Arguments, size: int) -> Floats:
    """Compute the error of a multiplier that results from its frequency's rounding error.

    The multiplier depends on the frequency only between the bounds. Elsewhere the error is 0.
    """
    omega = unscaled(given, size)
    low, high = given["low_freq_factor"], given["high_freq_factor"]
    if low == high:
        return np.zeros_like(omega)
    whole_turns = turns(given, omega)
    result = frequencies(given, size)
    slope = whole_turns / (high - low) * (1 - 1 / given["factor"]) * omega / result
    # Slightly beyond the bounds, too: a rounded number of turns may fall on the other side.
    inside = (whole_turns > low * (1 - 1e-5)) & (whole_turns < high * (1 + 1e-5))
    return np.where(inside, slope * (1 + np.abs(np.log(result))), 0.0)


SCALING = Scaling(
    "llama3",
    frequencies,
    choices={
        "factor": (8.0, 32.0, 4.0, 2.5, 16.0, 1.0),
        "low_freq_factor": (1.0, 2.0, 0.5),
        "high_freq_factor": (4.0, 32.0, 8.0),
        "original_max_position_embeddings": (8192, 256, 1024, 100_000),
    },
    changes=(
        {"original_max_position_embeddings": 256},
        {"factor": 32.0},
        {"low_freq_factor": 2.0},
        {"high_freq_factor": 32.0},
        {"low_freq_factor": 1.25, "high_freq_factor": 1.5},
    ),
    cost=ramp,
)


def outside(given: Arguments, size: int) -> Floats:
    """Return the multipliers at and beyond the bounds, and nan between them."""
    whole_turns = turns(given, unscaled(given, size))
    low, high = given["low_freq_factor"], given["high_freq_factor"]
    slow = np.where(whole_turns <= low, 1 / given["factor"], np.nan)
    return np.where(whole_turns >= high, 1.0, slow)


def not_beyond(trial: Trial) -> None:
    """Check that no frequency grows, and none shrinks by more than the factor."""
    answer = trial.answer(**SCALING.frequency_arguments(trial))
    plain = unscaled(answer.case.arguments, rotary_dim(answer.case))
    between(trial, answer, plain, "a frequency is above RoPE's, or below RoPE's over factor")


def missing(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict frequencies without the scaling."""
    omega = unscaled(case.arguments, rotary_dim(case))
    yield "matches plain RoPE; the scaling is missing", omega


def all_divided(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict position interpolation instead."""
    omega = unscaled(case.arguments, rotary_dim(case))
    yield "matches all frequencies divided by factor", omega / case.arguments["factor"]


def bounds_swapped(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict the bounds exchanged.

    No frequency is between them then, so the first comparison decides.
    """
    inputs = case.arguments
    omega = unscaled(inputs, rotary_dim(case))
    whole_turns = turns(inputs, omega)
    for name in ("low_freq_factor", "high_freq_factor"):
        share = (whole_turns > inputs[name]).astype(np.float64)
        words = f"matches a step at {name}, no ramp"
        more = "as if low_freq_factor and high_freq_factor were exchanged, or smoothing left out"
        yield f"{words}: {more}", blended(inputs, omega, share)


def ramp_inverted(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict the smooth factor counted from the other bound."""
    inputs = case.arguments
    omega = unscaled(inputs, rotary_dim(case))
    share = kept(inputs, turns(inputs, omega))
    inside = (share > 0) & (share < 1)
    flipped = np.where(inside, 1 - share, share)
    yield "matches a smooth factor of 1 where it is 0", blended(inputs, omega, flipped)


def ramp_in_wavelength(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict a smooth factor linear in the wavelength, from either end."""
    inputs = case.arguments
    omega = unscaled(inputs, rotary_dim(case))
    length = 1 / turns(inputs, omega)  # in units of the original context
    longest, shortest = 1 / inputs["low_freq_factor"], 1 / inputs["high_freq_factor"]
    if longest == shortest:  # as in Llama 4: no ramp
        return
    share = np.clip((longest - length) / (longest - shortest), 0, 1)
    yield "matches a smooth factor linear in the wavelength", blended(inputs, omega, share)
    inside, factor = (share > 0) & (share < 1), inputs["factor"]
    divided = omega / (share * factor + 1 - share)
    mixed = np.where(inside, divided, blended(inputs, omega, share))
    yield "matches wavelengths mixed by a smooth factor linear in them", mixed


def radians(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict wavelengths without 2π."""
    inputs = case.arguments
    omega = unscaled(inputs, rotary_dim(case))
    share = kept(inputs, 2 * np.pi * turns(inputs, omega))
    yield "matches wavelengths of 1/w, without 2π", blended(inputs, omega, share)


def scaled_twice(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict the scaling applied twice."""
    yield "matches the scaling applied twice", scaled(case.arguments, SCALING.frequencies(case))


RELEASED = {
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


KNOWLEDGE = SCALING.knowledge(
    frequency_invariants={
        "outside-the-ramp": SCALING.multiplier(
            outside, "a fast frequency changed, or a slow one is not divided by factor"
        ),
        "between": not_beyond,
        "falling": SCALING.falling,
    },
    rotation_invariants={"factor-one": SCALING.is_rope(factor=1.0)},
    mistakes={
        "scaling-missing": missing,
        "all-divided": all_divided,
        "bounds-swapped": bounds_swapped,
        "ramp-inverted": ramp_inverted,
        "ramp-in-wavelength": ramp_in_wavelength,
        "radians": radians,
        "scaled-twice": scaled_twice,
    },
    identify=lists_of_frequencies(
        *({"base": 500000.0, "factor": factor, **RELEASED} for factor in (8.0, 32.0))
    ),
)
