"""Timestep embeddings: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.diagnose.predictors import other_conventions, predict_case, rounded_angles
from posenc_conformance.errors import apart
from posenc_conformance.families.encodings import (
    Waves,
    all_different,
    along_diagonals,
    at_twice_the_angle,
    dot_products,
    on_circles,
)
from posenc_conformance.judge.arrays import Floats, round_to
from posenc_conformance.judge.bounded import Answer, Exact
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.measured_frequencies import PairFrequencies, fit_wave_frequencies
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

ROWS = 7
SCALES = (1.0, 1000.0, 0.25)
PERIODS = (10000.0, 1000.0, 1e6)


def frequencies(case: Case) -> Floats:
    """Compute the frequency of each pair, in radians per unit of scaled time."""
    half = case.arguments["dim"] // 2
    exponent = np.arange(half) / (half - int(case.conventions["frequency_shift"]))
    return np.asarray(case.arguments.get("max_period", 10000.0) ** -exponent)


def scale(case: Case) -> float:
    """Return the factor by which the timesteps are multiplied."""
    return float(case.arguments.get("scale", 1.0))


def times(case: Case) -> Floats:
    """Compute the scaled timesteps."""
    return np.asarray(case.arguments["positions"], np.float64) * scale(case)


def from_angles(case: Case, angles: Floats) -> Floats:
    """Compute the rows for these angles, one per pair."""
    waves = [np.sin(angles), np.cos(angles)]
    if case.conventions["order"] == "cos-sin":
        waves.reverse()
    return np.concatenate([*waves, np.zeros((len(angles), case.arguments["dim"] % 2))], axis=1)


def error_terms(case: Case) -> ErrorTerms:
    """Return scale 1, or 0 for a column of zeros, and the angle of each channel."""
    omega = frequencies(case)
    angle = np.abs(times(case))[:, None] * omega * (1 + np.abs(np.log(omega)))
    odd = case.arguments["dim"] % 2
    ones, zeros = np.ones(2 * len(omega)), np.zeros(odd)
    padding = np.zeros((len(angle), odd))
    return ErrorTerms(
        np.concatenate([ones, zeros]), np.concatenate([angle, angle, padding], axis=1)
    )


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few equally spaced timesteps, whole or fractional."""
    factor = trial.choose("scale", SCALES)
    step = trial.pick.one_of((1, 0.25, 1.5, 1 / 64))
    first = trial.position(2 * ROWS, 999)
    positions = first + step * np.arange(ROWS)
    if factor > 1:
        positions = positions / 1000
    dims = [8, 4, 5, 9, 16, 64, 65]
    if trial.subject.combination.conventions["frequency_shift"] == 0:
        dims += [2, 3]
    return {
        "positions": positions,
        "dim": trial.choose("dim", dims),
        "max_period": trial.choose("max_period", PERIODS),
        "scale": factor,
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of 66 channels, at all powers of two up to the largest timestep."""
    return {
        "positions": positions_up_to(largest),
        "dim": 66,
        "max_period": 10000.0,
        "scale": 1.0,
        **parameters,
    }


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many channels, odd and even, and many rows.

    Some timesteps lie between 0 and 1, and some are in float32.
    """
    smallest = 2 + 2 * int(case.conventions["frequency_shift"])
    dims = (2, 3, 4, 5, 7, 12, 33, 128, 192, 257, 320, 1024)
    few = {"positions": np.array([0.5, 3.0, 999.0])}
    yield from ({"dim": dim, **few} for dim in dims if dim >= smallest)
    yield {"dim": 8, "positions": np.arange(1000)}
    yield {"dim": 8, "positions": np.array([0.25, 998.5], dtype=np.float32)}
    yield {"dim": 64, "positions": np.arange(11) / 10, "scale": 1000.0}


def circles(answer: Answer) -> Waves:
    """Pick the sine and the cosine of each pair."""
    half = answer.case.arguments["dim"] // 2
    first, second = answer[:, :half], answer[:, half : 2 * half]
    if answer.case.conventions["order"] == "cos-sin":
        first, second = second, first
    return Waves(first, second)


def norm(trial: Trial) -> None:
    """Check that each pair lies on the unit circle."""
    on_circles(trial, circles(trial.answer(**arguments(trial))))


def dot_by_offset(trial: Trial) -> None:
    """Check that dot products along each diagonal are equal for equally spaced timesteps."""
    chosen = arguments(trial)
    # Every dtype represents multiples of these steps exactly, so the spacing is indeed equal.
    step = trial.pick.one_of((1.0, 0.25, 0.125)) / (1024 if chosen["scale"] > 1 else 1)
    answer = trial.answer(**(chosen | {"positions": step * np.arange(ROWS)}))
    trial.assert_zero(
        along_diagonals(dot_products(answer)),
        "the dot product of two rows depends on more than the time between them",
    )


def double_angle(trial: Trial) -> None:
    """Check that sin 2a = 2 sin a cos a and cos 2a = cos² a - sin² a.

    2a is the angle at twice the timestep of a.
    """
    chosen = arguments(trial)
    half_way = chosen["positions"] / 2
    chosen["positions"] = np.concatenate([half_way, 2 * half_way])
    waves = circles(trial.answer(**chosen))
    at_twice_the_angle(
        trial,
        waves[:ROWS],
        waves[ROWS:],
        "the angle at twice the timestep is not twice the angle",
    )


def origin(trial: Trial) -> None:
    """Check that every sine is 0 and every cosine 1 at timestep 0."""
    answer = trial.answer(**(arguments(trial) | {"positions": np.arange(2.0)}))
    expected = from_angles(answer.case, np.zeros((1, answer.case.arguments["dim"] // 2)))
    trial.assert_zero(answer[:1] - Exact(expected), "timestep 0 is not (sine 0, cosine 1)")


def scaled_time(trial: Trial) -> None:
    """Check that halving the timesteps and doubling the scale does not change the rows.

    Multiplying by a power of two is exact.
    """
    chosen = arguments(trial)
    twice = 2 * chosen["scale"]
    half = {"scale": twice, "positions": chosen["positions"] / 2}
    answer, other = trial.answer(**chosen), trial.answer(**(chosen | half))
    trial.assert_zero(answer - other, "half the timesteps at twice the scale are not the same")


def zero_column(trial: Trial) -> None:
    """Check that the last column is 0 for an odd number of channels.

    The other columns must be those of one channel less.
    """
    chosen = arguments(trial)
    odd = chosen["dim"] | 1
    answer = trial.answer(**(chosen | {"dim": odd}))
    even = trial.answer(**(chosen | {"dim": odd - 1}))
    message = "an odd number of channels is not one less and a column of zeros"
    trial.assert_zero(answer[:, :-1] - even, message)
    trial.assert_none(answer, answer.values[:, -1] != 0, message)


def uniqueness(trial: Trial) -> None:
    """Check that rows differ wherever the truth differs by more than the error bounds."""
    chosen = arguments(trial)
    spread = min(64, trial.scope.max_position + 1)
    answer = trial.answer(**(chosen | {"positions": np.arange(spread) / max(chosen["scale"], 1)}))
    all_different(trial, answer, "two timesteps have the same row")


def interleaved(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sine and cosine of each pair side by side, as in the original Transformer."""
    half = case.arguments["dim"] // 2
    right = case.with_arguments().truth
    order = np.arange(2 * half).reshape(2, half).T.ravel()
    pairs = right[:, np.append(order, np.arange(2 * half, case.arguments["dim"]))]
    yield Prediction("matches sine and cosine of each pair side by side", pairs)


def scale_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict no scale, or one common in released models."""
    factor = scale(case)
    for other in (1.0, 1000.0, 1 / 1000):
        if other != factor:
            words = "matches scale {}; {} was asked for".format(*apart(other, factor, digits=6))
            yield from predict_case(case.with_arguments(scale=other), words)


def scale_on_result(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the scale applied to the embedding instead of the timestep."""
    for plain in predict_case(case.with_arguments(scale=1.0), ""):
        yield Prediction("matches the scale put on sines and cosines", scale(case) * plain.output)


def whole_timesteps(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict timesteps cut or rounded to whole numbers, before or after scaling."""
    factor, timesteps = scale(case), np.asarray(case.arguments["positions"], np.float64)
    for how, whole in (("cut", np.trunc), ("rounded", np.rint)):
        words = f"matches timesteps {how} to whole numbers"
        yield from predict_case(case.with_arguments(positions=whole(timesteps)), words)
        angles = np.outer(whole(timesteps * factor), frequencies(case))
        yield Prediction(f"{words} after scaling", from_angles(case, angles))


def other_period(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another max_period."""
    claimed = case.arguments.get("max_period", 10000.0)
    for period in (100.0, 1000.0, 1e4, 1e5, 1e6):
        if period != claimed:
            both = apart(period, claimed, digits=6)
            words = "matches max_period {}; {} was asked for".format(*both)
            yield from predict_case(case.with_arguments(max_period=period), words)


def zeros_first(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the column of zeros before or between the waves."""
    if case.arguments["dim"] % 2:
        right, half = case.with_arguments().truth, case.arguments["dim"] // 2
        yield Prediction("matches zeros in the first column", np.roll(right, 1, axis=1))
        between = np.insert(right[:, :-1], half, 0.0, axis=1)
        yield Prediction("matches zeros between the halves", between)


def low_precision(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict timesteps, frequencies or angles in a narrow dtype.

    Timesteps are rounded before or after scaling.
    """
    omega = frequencies(case)
    for dtype in ("bfloat16", "float16"):
        if dtype == "float16" and np.max(np.abs(times(case)), initial=0) > np.finfo(dtype).max:
            continue  # timesteps would be infinite
        scaled = round_to(np.asarray(case.arguments["positions"], np.float64), dtype) * scale(case)
        for suffix, time in (("", scaled), (" and scaled in it", round_to(scaled, dtype))):
            output = from_angles(case, np.outer(time, omega))
            yield Prediction(f"matches timesteps in {dtype}{suffix}", output)
    yield from rounded_angles(
        times(case)[:, None],
        omega,
        lambda angles: from_angles(case, angles),
        lambda angles, dtype: round_to(from_angles(case, angles), dtype),
    )


def read_frequencies(case: Case, output: Floats) -> Iterator[list[PairFrequencies] | None]:
    """Read frequencies from rows, in the claimed order."""
    half = case.arguments["dim"] // 2
    sin, cos = slice(None, half), slice(half, 2 * half)
    if case.conventions["order"] == "cos-sin":
        sin, cos = cos, sin
    where = times(case)[:, None]
    yield fit_wave_frequencies(
        case, output, case.bound, (sin, cos), where, frequencies(case), based="max_period"
    )


KNOWLEDGE = {
    "timestep": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        frequencies=read_frequencies,
        invariants={
            "norm": norm,
            "dot-by-offset": dot_by_offset,
            "double-angle": double_angle,
            "origin": origin,
            "scaled-time": scaled_time,
            "zero-column": zero_column,
            "uniqueness": uniqueness,
        },
        deviations={
            "order-swapped": other_conventions(
                "order", "matches the order {value} exactly; {claimed} was claimed"
            ),
            "shift-swapped": other_conventions(
                "frequency_shift", "matches frequency shift {value}; {claimed} was claimed"
            ),
            "interleaved": interleaved,
            "scale-ignored": scale_ignored,
            "scale-on-result": scale_on_result,
            "whole-timesteps": whole_timesteps,
            "zeros-misplaced": zeros_first,
            "wrong-period": other_period,
            "low-precision-timesteps": low_precision,
        },
    ),
}
