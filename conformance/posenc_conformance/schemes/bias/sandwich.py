"""Sandwich: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions, rounded_angles
from posenc_conformance.families.biases import (
    distance_shifted,
    last_queries,
    negated,
    queries_from_zero,
    toeplitz,
)
from posenc_conformance.families.lengths import Integers, lags, lengths, queries
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments


def half_of(case: Case) -> int:
    """Return the number of frequencies."""
    return int(case.arguments["dim"]) // 2


def frequencies(case: Case, step: float = 2.0, count: int | None = None) -> Floats:
    """Compute the frequencies, in radians per position."""
    number = half_of(case) if count is None else count
    first = int(case.conventions["exponents"] == "from-1")
    exponents = step * np.arange(first, first + number) / case.arguments["dim"]
    return np.asarray(10000.0**-exponents)


def at_own_key(case: Case) -> float:
    """Return the number subtracted from every sum: dim/2 if the own key has no bias, else 0."""
    return float(half_of(case)) if case.conventions["own_key"] == "zero" else 0.0


def numbers(case: Case) -> Floats:
    """Compute the divisor of each head: [heads, 1, 1]."""
    heads = case.arguments["heads"]
    return np.asarray(8 * np.arange(1, heads + 1)[:, None, None] / heads)


def biased(case: Case, sums: Floats, by: Floats | None = None) -> Floats:
    """Compute the bias for these dot products: [q_len, k_len]."""
    return np.asarray((sums - at_own_key(case)) / (numbers(case) if by is None else by))


def sums_of(case: Case, lag: Any, w: Floats | None = None) -> Floats:
    """Compute the sums of cosines at these distances."""
    rates = frequencies(case) if w is None else w
    return np.asarray(np.cos(np.asarray(lag)[..., None] * rates).sum(axis=-1))


def error_terms(case: Case) -> ErrorTerms:
    """Return the number of cosines over the divisor of the head as scale, and the angle.

    Subtracting dim/2 from the sums doubles the scale.
    """
    half, w = half_of(case), frequencies(case)
    parts = 2.0 if case.conventions["own_key"] == "zero" else 1.0
    reach = queries(case) + np.arange(int(case.parameter("k_len")))
    lost = reach * np.mean(w * (1 + np.abs(np.log(w)))) + half / 2 + 2
    return ErrorTerms(parts * half / numbers(case), np.asarray(lost / parts))


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads, channels, queries and keys."""
    return lengths(trial, heads=(2, 1, 3, 8), dim=(8, 2, 4, 128, 64))


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Place one query at the end of many keys."""
    chosen = {"heads": 2, "q_len": 1, "k_len": min(largest, 4096) + 1, "dim": 64}
    return {**chosen, **parameters}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many heads, channels and queries."""
    for heads, dim in ((1, 2), (3, 6), (7, 20), (12, 64), (32, 128), (5, 100)):
        yield {"heads": heads, "q_len": 2, "k_len": 5, "dim": dim}
    yield {"heads": 1, "q_len": 300, "k_len": 600, "dim": 4}


def symmetric(trial: Trial) -> None:
    """Check that exchanging queries and keys does not change the bias."""
    chosen = arguments(trial)
    y = trial.answer(**chosen)
    few = chosen["q_len"]
    square = y[:, :, chosen["k_len"] - few :]
    trial.assert_zero(square - square.swapped(1, 2), "queries and keys do not change places")


def own_key(trial: Trial) -> None:
    """Check that no key has a larger bias than the query's own."""
    chosen = arguments(trial)
    y = trial.answer(**chosen)
    rows = np.arange(chosen["q_len"])
    own = y[:, rows, chosen["k_len"] - chosen["q_len"] + rows]
    trial.assert_zero(
        (y - own[:, :, None]).positive(), "a key has a larger bias than the query's own"
    )


def zero_at_own_key(trial: Trial) -> None:
    """Check that the query's own key has no bias."""
    y = trial.answer(**arguments(trial))
    trial.assert_zero(y.where(lags(y.case) == 0), "the bias of a query's own key is not 0")


def heads_in_proportion(trial: Trial) -> None:
    """Check that the bias of head n times n is that of the first head."""
    y = trial.answer(**arguments(trial))
    number = np.arange(1, y.case.arguments["heads"] + 1)[:, None, None]
    trial.assert_zero(y * number - y[:1], "the heads are not in proportion to 1, 1/2, 1/3, …")


def by_sums(words: str, made: Callable[[Case], Floats]) -> DeviationModel:
    """Make a model that predicts the bias from other dot products."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(words, biased(case, made(case)))

    return models


def cosine_left_out(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sums of angles, without cosines.

    The angles have either sign, or are magnitudes. The sums are over all frequencies or one less.
    """
    for count in (half_of(case), half_of(case) - 1):
        total = frequencies(case, count=count).sum()
        for lag in (-lags(case), lags(case), np.abs(lags(case))):
            yield Prediction("matches sums of angles, without cosines", biased(case, lag * total))


def frequency_missing(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the lowest or the highest frequency left out."""
    w = frequencies(case)
    for words, remaining in (("lowest", w[:-1]), ("highest", w[1:])):
        sums = sums_of(case, lags(case), remaining)
        yield Prediction(f"matches no wave of the {words} frequency", biased(case, sums))


def head_number_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict other divisors of the heads."""
    right = numbers(case)
    sums = sums_of(case, lags(case))
    for words, by in (
        ("ALiBi's powers of two", 2.0**right),
        ("the bare number of the head", right * case.arguments["heads"] / 8),
        ("the numbers of the heads in reverse order", right[::-1]),
        ("no number of the head", np.ones_like(right)),
        ("products in the place of quotients", 1 / right),
        ("the number of the head without 8", right / 8),
    ):
        yield Prediction(f"matches {words}", biased(case, sums, by))


def exponent_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict exponents i/dim or 4i/dim instead of 2i/dim."""
    for step in (1.0, 4.0):
        sums = sums_of(case, lags(case), frequencies(case, step))
        yield Prediction(f"matches exponents of {step:g} i/dim", biased(case, sums))


def averaged(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the mean over frequencies or channels, before or after dim/2 is subtracted."""
    sums = sums_of(case, lags(case))
    for words, count in (("frequencies", half_of(case)), ("channels", 2 * half_of(case))):
        yield Prediction(f"matches the mean over {words}", biased(case, sums) / count)
        yield Prediction(f"matches the mean over {words}", biased(case, sums / count))


def sines_alone(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the dot products of sines only."""
    keys = np.arange(case.parameter("k_len"))
    w = frequencies(case)
    query, key = (np.sin(position[..., None] * w) for position in (queries(case)[:, 0], keys))
    yield Prediction("matches the dot product of sines alone", biased(case, query @ key.T))


def narrow_angles(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict distances, frequencies or angles in a narrow dtype."""
    lag = np.abs(lags(case)).astype(np.float64)
    yield from rounded_angles(
        lag[..., None], frequencies(case), lambda angles: biased(case, np.cos(angles).sum(axis=-1))
    )


def from_queries(case: Case, query: Integers) -> Iterator[Floats]:
    """Yield the bias for queries at these positions."""
    yield biased(case, sums_of(case, lags(case, query)))


def shifted(case: Case, shift: int) -> Floats:
    """Compute the bias with ``shift`` added to all distances."""
    return biased(case, sums_of(case, lags(case) + shift))


KNOWLEDGE = {
    "sandwich_bias": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        invariants={
            "toeplitz": toeplitz(arguments),
            "symmetric": symmetric,
            "last-queries": last_queries(arguments),
            "own-key": own_key,
            "zero-at-own-key": zero_at_own_key,
            "heads-in-proportion": heads_in_proportion,
        },
        deviations={
            "exponents-swapped": other_conventions(
                "exponents", "matches exponents {value}; {claimed} was claimed"
            ),
            "own-key-swapped": other_conventions(
                "own_key", "matches the bias of the own key {value}; {claimed} was claimed"
            ),
            "cosine-left-out": cosine_left_out,
            "frequency-missing": frequency_missing,
            "head-number-wrong": head_number_wrong,
            "exponent-halved": exponent_wrong,
            "averaged": averaged,
            "sines-alone": sines_alone,
            "queries-from-zero": queries_from_zero(from_queries),
            "distance-shifted": distance_shifted(shifted),
            "sign-flipped": negated("matches the bias with the sign flipped"),
            "low-precision-angles": narrow_angles,
        },
    ),
}
