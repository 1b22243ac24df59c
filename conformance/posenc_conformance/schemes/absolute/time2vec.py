"""Time2Vec: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.predictors import any_of, other_conventions
from posenc_conformance.judge.arrays import Floats, fine, lattice, round_to
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Mask = npt.NDArray[np.bool_]
ROWS = 4


def straight(case: Case) -> Mask:
    """Return the mask of the linear channel: [dim]."""
    dim = len(case.arguments["b"])
    own = 0 if case.conventions["linear"] == "first" else dim - 1
    return np.asarray(np.arange(dim) == own)


def wave_of(case: Case) -> Callable[[Floats], Floats]:
    """Return the claimed periodic function, sine or cosine."""
    return np.sin if case.conventions["wave"] == "sin" else np.cos


def angles_of(case: Case) -> Floats:
    """Compute the angles before the wave: [..., dim]."""
    return np.asarray(case.arguments["x"] @ case.arguments["w"] + case.arguments["b"])


def waved(case: Case, angles: Floats) -> Floats:
    """Compute the result for these angles."""
    return np.where(straight(case), angles, wave_of(case)(angles))


def shape(case: Case) -> tuple[int, ...]:
    """Return the shape of x with channels in place of numbers."""
    return *case.arguments["x"].shape[:-1], len(case.arguments["b"])


def error_terms(case: Case) -> ErrorTerms:
    """Return the scale and the angle of each channel.

    The scale is 1 for waves, and the sum of magnitudes for the linear channel.
    """
    x, w, b = (np.abs(case.arguments[name]) for name in "xwb")
    size = x @ w + b
    shift = size + np.pi if case.conventions["wave"] == "cos" else 0.0
    own = straight(case)
    lost = (x.shape[-1] + 1) * size + shift
    return ErrorTerms(np.where(own, size, 1.0), np.where(own, x.shape[-1] + 1.0, lost))


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few times of one or more numbers, and a few channels."""
    inputs, dim = trial.choose("inputs", (1, 2, 3)), trial.choose("dim", (4, 2, 1, 7))
    width = trial.pick.one_of((1.0, 20.0, 0.1))
    return {
        "x": width * fine((ROWS, inputs)),
        "w": 3 * fine((inputs, dim), 19),
        "b": 2 * fine((dim,), 40),
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call of many times, up to a year in days."""
    inputs, dim = parameters.get("inputs", 1), parameters.get("dim", 16)
    return {
        "x": 365 * fine((63, inputs)),
        "w": fine((inputs, dim), 19),
        "b": fine((dim,), 40),
    }


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many numbers, channels and times."""
    for inputs, dim in ((1, 1), (1, 2), (1, 64), (3, 33), (7, 129), (16, 5)):
        weights = {"w": fine((inputs, dim), 19), "b": fine((dim,), 40)}
        yield {"x": fine((3, inputs), 5), **weights}
    for rows in (1, 257, 600):
        yield {"x": fine((rows, 2), 7), "w": fine((2, 5), 19), "b": fine((5,), 40)}


def affine(trial: Trial) -> None:
    """Check that the linear channel at the mean of two times is the mean."""
    chosen = arguments(trial)
    u, v = lattice(chosen["x"].shape), lattice(chosen["x"].shape, 23)
    answers = [trial.answer(**(chosen | {"x": x})) for x in (u, v, np.asarray(u + v) / 2)]
    own = straight(answers[0].case)
    first, second, middle = (answer[..., own] for answer in answers)
    trial.assert_zero(
        2 * middle - (first + second), "at the mean of two times the linear channel is not the mean"
    )


def bounded(trial: Trial) -> None:
    """Check that no wave is larger than 1 in magnitude."""
    answer = trial.answer(**arguments(trial))
    waves = answer[..., ~straight(answer.case)]
    for beyond in (waves - 1, -waves - 1):
        trial.assert_zero(beyond.positive(), "a wave leaves [-1, 1]")


def doubled_angle(trial: Trial) -> None:
    """Check that cos 2a follows from sin a, or from cos a."""
    chosen = arguments(trial)
    once = trial.answer(**chosen)
    of_sines = once.case.conventions["wave"] == "sin"
    quarter = np.pi / 2 if of_sines else 0.0
    rounded = once.case.arguments
    twice = trial.answer(**(chosen | {"w": 2 * rounded["w"], "b": 2 * rounded["b"] + quarter}))
    # The error of the angle from rounding the quarter turn, or its sum, to the call's dtype.
    moved = np.abs(twice.case.arguments["b"] - (2 * rounded["b"] + quarter)) + 1e-15
    waves = ~straight(once.case)
    a, b = once[..., waves], twice[..., waves].allowing(moved[waves])
    right = 1 - 2 * a * a if of_sines else 2 * a * a - 1
    trial.assert_zero(b - right, "the wave of twice the angle is not that of its square")


def whole_turns(trial: Trial) -> None:
    """Check that frequencies and phases of 0 give waves of sin 0 or cos 0."""
    chosen = arguments(trial)
    zero = {name: np.zeros_like(chosen[name]) for name in "wb"}
    answer = trial.answer(**(chosen | zero))
    at_zero = 0 if answer.case.conventions["wave"] == "sin" else 1
    trial.assert_zero(
        answer[..., ~straight(answer.case)] - at_zero, "an angle of 0 does not give the wave at 0"
    )


def scaled_time(trial: Trial) -> None:
    """Check that doubling the times and halving the frequencies does not change the result."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    rounded = answer.case.arguments
    other = trial.answer(**(chosen | {"x": 2 * rounded["x"], "w": rounded["w"] / 2}))
    trial.assert_zero(answer - other, "twice the times with half the frequencies differ")


def channels_apart(trial: Trial) -> None:
    """Check that the first and the last channel do not depend on the weights of others."""
    chosen = arguments(trial)
    answer = trial.answer(**chosen)
    for channel in (0, -1):
        w, b = (fine(chosen[name].shape, 3).copy() for name in "wb")
        w[:, channel], b[channel] = chosen["w"][:, channel], chosen["b"][channel]
        other = trial.answer(**(chosen | {"w": w, "b": b}))
        trial.assert_zero(
            (answer - other)[..., channel], "a channel changes with the frequencies of others"
        )


def angles(words: str, made: Callable[[Case], Floats]) -> DeviationModel:
    """Make a model that predicts the result of other angles."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(words, waved(case, made(case)))

    return models


def rolled(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the linear channel moved to the other end of the result."""
    step = -1 if case.conventions["linear"] == "first" else 1
    right = np.roll(case.with_arguments().truth, step, axis=-1)
    yield Prediction("matches the linear channel moved to the other end", right)


def linear_waved(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the wave on every channel."""
    yield Prediction("matches the wave on all channels", wave_of(case)(angles_of(case)))


def linear_added(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the linear channel added to every wave."""
    right, own = case.with_arguments().truth, straight(case)
    output = np.where(own, right, right + right[..., own])
    yield Prediction("matches the linear channel added to every wave", output)


def time_alone(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the first number of the time as the linear channel."""
    right = np.where(straight(case), case.arguments["x"][..., :1], case.with_arguments().truth)
    yield Prediction("matches the time itself as linear channel", right)


def in_turns(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict frequencies in turns: a factor 2π on the products, or on the sums.

    The factor is on all channels, or on the waves only.
    """
    x, w, b = (case.arguments[name] for name in "xwb")
    for angle in (2 * np.pi * (x @ w) + b, 2 * np.pi * (x @ w + b)):
        every = waved(case, np.asarray(angle))
        yield Prediction("matches frequencies in turns", every)
        waves_only = np.where(straight(case), angles_of(case), every)
        yield Prediction("matches frequencies in turns", waves_only)


def narrow_angles(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict times, weights or angles rounded to a narrow dtype.

    They are rounded in all channels, or in the waves only; then the result is rounded too.
    """
    x, w, b = (case.arguments[name] for name in "xwb")
    for dtype in ("bfloat16", "float16"):
        a, c, d = (round_to(array, dtype) for array in (x, w, b))
        held = {
            "times": a @ w + b,
            "times and frequencies": a @ c + b,
            "times, frequencies and phases": a @ c + d,
            "angles": round_to(x @ w + b, dtype),
            "products": round_to(x @ w, dtype) + b,
            "everything": round_to(round_to(a @ c, dtype) + d, dtype),
        }
        for words, angle in held.items():
            every = waved(case, np.asarray(angle))
            waves_only = np.where(straight(case), angles_of(case), every)
            for output in (every, waves_only):
                yield Prediction(f"matches {words} in {dtype}", output)
            for output in (every, waves_only):
                rounded = round_to(output, dtype)
                yield Prediction(f"matches {words} in {dtype}, and a result in it", rounded)


KNOWLEDGE = {
    "time2vec": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        shape=shape,
        invariants={
            "affine": affine,
            "bounded": bounded,
            "doubled-angle": doubled_angle,
            "whole-turns": whole_turns,
            "scaled-time": scaled_time,
            "channels-apart": channels_apart,
        },
        deviations={
            "linear-misplaced": any_of(
                other_conventions(
                    "linear", "matches the linear channel {value}; {claimed} was claimed"
                ),
                rolled,
            ),
            "wave-swapped": other_conventions("wave", "matches {value}; {claimed} was claimed"),
            "linear-waved": linear_waved,
            "phase-left-out": any_of(
                angles("matches no phases", lambda case: case.arguments["x"] @ case.arguments["w"]),
                angles(
                    "matches no intercept",
                    lambda case: angles_of(case) - np.where(straight(case), case.arguments["b"], 0),
                ),
                angles(
                    "matches no phases but an intercept",
                    lambda case: angles_of(case) - np.where(straight(case), 0, case.arguments["b"]),
                ),
            ),
            "turns-for-radians": in_turns,
            "linear-added": linear_added,
            "time-alone": time_alone,
            "low-precision-angles": narrow_angles,
        },
    ),
}
