"""Dynamic NTK scaling: bounds, invariants and deviations."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from posenc_conformance.families.rotary import ROWS, progression, rotary_dim
from posenc_conformance.families.rotary_scaling import Scaling, unscaled
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments


def grown(given: Arguments) -> float:
    """Compute the factor times length over original length, where the quotient is at least 1."""
    trained = given["original_max_position_embeddings"]
    return float(given["factor"] * max(given["length"], trained) / trained)


def stretch(given: Arguments) -> float:
    """Compute the number by which the slowest frequency is divided."""
    return float(grown(given) - (given["factor"] - 1))


def with_stretch(given: Arguments, size: int, by: float) -> Floats:
    """Compute the frequencies of the base that divides the slowest one by ``by``."""
    return progression(given["base"] * by ** (size / (size - 2)), size)


def frequencies(given: Arguments, size: int) -> Floats:
    """Compute the frequencies of the base that belongs to the length."""
    return with_stretch(given, size, stretch(given))


def cancellation(given: Arguments, size: int) -> Floats:
    """Compute the share of the stretch's rounding error that each frequency takes over.

    The stretch is a difference; pair t has 2t/(d-2) times its relative error.
    """
    return np.arange(0, size, 2) / (size - 2) * grown(given) / stretch(given)


LONGEST = 2**40
"""The largest plausible estimate of a length."""


class OfLength(Scaling):
    """A scaling that depends on the sequence length.

    The drawn positions are sometimes the last ones of the sequence.
    """

    def rotary_arguments(self, trial: Trial) -> ArgumentDict:
        """Draw two heads and a few consecutive positions, sometimes the last ones."""
        chosen = super().rotary_arguments(trial)
        last = chosen["length"] - ROWS + np.arange(ROWS)
        return chosen | {"positions": last} if trial.pick.integer(0, 1) else chosen

    def sweep(self, parameters: Arguments, largest: int) -> ArgumentDict:
        """Make a call at all powers of two up to the largest position, the end of the sequence."""
        length = parameters.get("length", largest + 1)
        return super().sweep({**parameters, "length": length}, min(largest, length - 1))


SCALING = OfLength(
    "dynamic_ntk",
    frequencies,
    choices={
        "factor": (2.0, 4.0, 8.0, 2.5),
        "original_max_position_embeddings": (4096, 2048, 5000, 32768),
        "length": (12289, 131072, 20000, 16384),
    },
    # Lengths that need a smaller or a larger base than the drawn length.
    changes=({"length": 4000}, {"length": 131072}, {"factor": 4.0}, {"length": 4097}),
    cost=cancellation,
    least_dim=4,
)


def ends(given: Arguments, size: int) -> Floats:
    """Return the multipliers of the first and the last frequency.

    The others are nan, so that they are not checked.
    """
    multipliers = np.full(size // 2, np.nan)
    multipliers[0], multipliers[-1] = 1, 1 / stretch(given)
    return multipliers


def never_scaled(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict the frequencies of the original base."""
    omega = unscaled(case.arguments, rotary_dim(case))
    yield "matches plain RoPE; the base was not recomputed", omega


def always_full(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict the base for factor times the original length, whatever the length."""
    inputs = case.arguments
    longest = inputs["factor"] * inputs["original_max_position_embeddings"]
    omega = frequencies({**inputs, "length": longest}, rotary_dim(case))
    yield f"matches the base of length {longest:g}, whatever the length", omega


def exponent_missing(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict the base times the stretch without its power, or with another one."""
    base, by, size = case.arguments["base"], stretch(case.arguments), rotary_dim(case)
    yield "matches the base without the power d/(d-2)", progression(base * by, size)
    for words, power in (("d/(d-1)", size / (size - 1)), ("(d-2)/d", (size - 2) / size)):
        words = f"matches the base with the power {words} in place of d/(d-2)"
        yield words, progression(base * by**power, size)


def ratio_alone(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict another stretch: length over original length, with or without the factor."""
    inputs, size = case.arguments, rotary_dim(case)
    ratio = grown(inputs) / inputs["factor"]
    short = ", of short texts too" * bool(ratio <= 1)
    words = "matches a stretch of length / original length"
    yield words + short, with_stretch(inputs, size, ratio)
    words = "matches a stretch whose difference is left out"
    yield words + short, with_stretch(inputs, size, grown(inputs))


def positions_doubled(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict positions multiplied by 2 as well."""
    size = rotary_dim(case)
    yield "matches positions multiplied by 2", 2 * SCALING.frequencies(case)
    fixed = frequencies({**case.arguments, "factor": 2.0}, size)
    yield "matches positions multiplied by 2, and a factor of 2", 2 * fixed
    yield "matches positions multiplied by 2, and no scaling", 2 * unscaled(case.arguments, size)


def without_limit(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict the base that the formula gives below the original length, where it must stay.

    A negative stretch has complex powers, of which code takes the real part: of the frequencies, or
    of the base before them.
    """
    inputs, size = case.arguments, rotary_dim(case)
    ratio = inputs["length"] / inputs["original_max_position_embeddings"]
    by = complex(inputs["factor"] * ratio - (inputs["factor"] - 1))
    if ratio >= 1 or not by:
        return
    words = "matches the formula of longer texts below the original length, where the base stays"
    base = inputs["base"] * by ** (size / (size - 2))
    share = np.arange(0, size, 2) / size
    yield words, np.asarray((base**-share).real)
    if by.real < 0 and base.real:
        yield f"{words}, of a negative base", np.asarray((complex(base.real) ** -share).real)


def other_length(case: Case, seen: float) -> Iterator[tuple[int, Floats]]:
    """Yield lengths estimated from the slowest frequency, with the frequencies of their bases."""
    inputs, size = case.arguments, rotary_dim(case)
    trained, factor = inputs["original_max_position_embeddings"], inputs["factor"]
    by = unscaled(inputs, size)[-1] / seen if seen > 0 else np.nan
    length = trained * (by + factor - 1) / factor
    if not trained < length < LONGEST:
        return
    for step in (4096, 1000, 1):
        candidate = round(length / step) * step
        if candidate not in (inputs["length"], 0):
            yield candidate, frequencies({**inputs, "length": candidate}, size)


def kept_length(rotating: bool) -> DeviationModel:
    """Make a model that predicts a base kept from a call with another length."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        for length, omega in other_length(case, SCALING.seen_frequency(case, got)):
            words = f"matches the base of length {length}, as left by another call"
            model = Prediction(words, omega, constant=("length", length), of_state=True)
            if rotating:
                turned = SCALING.rotation.with_frequencies(case, omega, words)
                model = replace(turned, constant=model.constant, of_state=True)
            yield model

    return models


KNOWLEDGE = SCALING.knowledge(
    frequency_invariants={
        "ends": SCALING.multiplier(
            ends, "the first frequency changed, or the last is not divided by the stretch"
        ),
    },
    rotation_invariants={
        "short-is-rope": SCALING.is_rope(original_max_position_embeddings=32768, length=16384)
    },
    mistakes={
        "never-scaled": never_scaled,
        "always-full": always_full,
        "exponent-missing": exponent_missing,
        "ratio-alone": ratio_alone,
        "positions-doubled": positions_doubled,
    },
    frequency_deviations={"kept-length": kept_length(rotating=False)},
    rotation_deviations={"kept-length": kept_length(rotating=True)},
    unnamed=[without_limit],
)
