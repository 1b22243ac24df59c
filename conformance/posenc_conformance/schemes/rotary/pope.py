"""PoPE: bounds, invariants and deviations."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from posenc_conformance.diagnose.predictors import (
    any_of,
    bases,
    negated_positions,
    other_conventions,
    rounded_angles,
    shifted_positions,
)
from posenc_conformance.families.encodings import dot_products
from posenc_conformance.families.rotary import in_dtype
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.measured_frequencies import PairFrequencies, fit_frequencies
from posenc_conformance.judge.positions import positions_up_to
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

ROWS = 5
TURN = 2 * np.pi
SPREADS = ((2.0, 0.0), (2.0, 0.0), (90.0, 35.0))
"""The spread and the middle of x. The exponential of 98 overflows in float32; that of -28 is far
below the rounding of 1."""


def softplus(x: Floats) -> Floats:
    """Compute ln(1 + exp(x)) without overflow."""
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


def frequencies(case: Case, step: float = 1.0) -> Floats:
    """Return the frequency of every channel, in radians per position."""
    head_dim = case.arguments["x"].shape[-1]
    base = case.arguments.get("base", 10000.0)
    return np.asarray(float(base) ** (-step * np.arange(head_dim) / head_dim))


def phases(case: Case) -> Floats:
    """Return the phase of every channel; 0 for queries."""
    if case.call.name == "pope_query":
        return np.zeros(case.arguments["x"].shape[-1])
    return np.asarray(np.clip(case.arguments["bias"], -TURN, 0.0))


def places(case: Case) -> Floats:
    """Return positions as a column."""
    return np.asarray(case.arguments["positions"][:, None], dtype=np.float64)


def arranged(case: Case, cos: Floats, sin: Floats) -> Floats:
    """Arrange cosines and sines in the layout of the case."""
    if case.conventions["layout"] == "half":
        return np.concatenate([cos, sin], axis=-1)
    return np.stack([cos, sin], axis=-1).reshape(*cos.shape[:-1], 2 * cos.shape[-1])


def polar(case: Case, angles: Floats, length: Any = None, dtype: str = "float64") -> Floats:
    """Compute the result for ``angles``, [n, head_dim], and ``length``.

    By default, the lengths are the right ones. Cosines and sines are rounded to ``dtype``.
    """
    long = softplus(case.arguments["x"]) if length is None else length
    cos, sin = in_dtype(angles, dtype)
    return arranged(case, long * cos, long * sin)


def shape(case: Case) -> tuple[int, ...]:
    """Return the shape of x with twice the channels."""
    *leading, head_dim = case.arguments["x"].shape
    return *leading, 2 * head_dim


def error_terms(case: Case) -> ErrorTerms:
    """Return the scale, which is the length of each channel's vector, and the angle."""
    w = frequencies(case)
    angle = np.abs(places(case)) * w
    lost = angle * (1 + np.abs(np.log(w)))
    if case.call.name == "pope_key":
        lost = lost + (angle + 2 * np.abs(phases(case))) / 4
    length = softplus(case.arguments["x"])
    return ErrorTerms(arranged(case, length, length), arranged(case, lost, lost))


def arguments(trial: Trial) -> ArgumentDict:
    """Draw two heads and a few consecutive rows."""
    head_dim = trial.choose("head_dim", (8, 1, 2, 6, 64))
    start = trial.position(ROWS)
    spread, middle = trial.pick.one_of(SPREADS)
    chosen = {
        "x": spread * fine((2, ROWS, head_dim), start % 5) + middle,
        "positions": start + np.arange(ROWS),
        "base": trial.choose("base", (10000.0, 500000.0, 100.0)),
    }
    if trial.subject.call.name == "pope_key":
        chosen["bias"] = phases_of(head_dim)
    return chosen


def phases_of(head_dim: int) -> Floats:
    """Return phases between -2π and 0."""
    return np.asarray(-np.pi * (1 + fine((head_dim,), 23)))


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call at all powers of two up to the largest position."""
    positions, head_dim = positions_up_to(largest), parameters.get("head_dim", 16)
    return {
        "x": fine((len(positions), head_dim)),
        "positions": positions,
        "base": parameters.get("base", 10000.0),
    }


def key_sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a call at all powers of two up to the largest position, with phases."""
    chosen = sweep(parameters, largest)
    return {**chosen, "bias": phases_of(chosen["x"].shape[-1])}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many channels, and many rows."""
    for head_dim, rows in ((1, 3), (2, 3), (5, 3), (64, 3), (96, 3), (128, 3), (256, 2), (3, 1025)):
        spread, middle = SPREADS[head_dim % len(SPREADS)]
        chosen = {"x": spread * fine((rows, head_dim)) + middle, "positions": 3 * np.arange(rows)}
        if case.call.name == "pope_key":
            chosen["bias"] = phases_of(head_dim)
        yield chosen


def parts(answer: Answer) -> tuple[Answer, Answer]:
    """Split an answer into cosines and sines."""
    half = answer.values.shape[-1] // 2
    if answer.case.conventions["layout"] == "half":
        return answer[..., :half], answer[..., half:]
    return answer[..., 0::2], answer[..., 1::2]


def same_length(trial: Trial) -> None:
    """Check that rows of equal content have vectors of equal length at all positions."""
    chosen = arguments(trial)
    chosen["x"] = np.broadcast_to(chosen["x"][:, :1], chosen["x"].shape).copy()
    cos, sin = parts(trial.answer(**chosen))
    squares = cos * cos + sin * sin
    trial.assert_zero(
        squares[:, 1:] - squares[:, :1], "the length of a vector depends on its position"
    )


def origin(trial: Trial) -> None:
    """Check that all sines are 0 at position 0."""
    chosen = arguments(trial)
    _, sin = parts(trial.answer(**(chosen | {"positions": np.zeros(ROWS, dtype=np.int64)})))
    trial.assert_zero(sin, "at position 0 a sine is not 0")


def softplus_difference(trial: Trial) -> None:
    """Check that at position 0 the cosines of x and -x differ by x."""
    chosen = arguments(trial)
    chosen["positions"] = np.zeros(ROWS, dtype=np.int64)
    answer = trial.answer(**chosen)
    cos, _ = parts(answer)
    other, _ = parts(trial.answer(**(chosen | {"x": -chosen["x"]})))
    trial.assert_zero(cos - other - answer.given("x"), "the lengths of x and -x do not differ by x")


def by_offset(trial: Trial) -> None:
    """Check that dot products of rows do not change when all positions move by one step."""
    chosen = arguments(trial)
    chosen["x"] = chosen["x"][0]
    chosen["positions"] = chosen["positions"] - chosen["positions"][0]
    step = trial.position(ROWS)
    here, moved = (
        dot_products(trial.answer(**(chosen | {"positions": chosen["positions"] + more})))
        for more in (0, step)
    )
    trial.assert_zero(here - moved, "dot products change when all positions move by the same step")


def full_phase(trial: Trial) -> None:
    """Check that phases beyond the limits give the same result as no phase."""
    chosen = arguments(trial)
    plain = trial.answer(**(chosen | {"bias": np.zeros_like(chosen["bias"])}))
    for beyond in (-7.5, 0.75):
        other = trial.answer(**(chosen | {"bias": np.full_like(chosen["bias"], beyond)}))
        trial.assert_zero(other - plain, "a phase beyond the limits is not taken to them")


def angles(words: str, made: Callable[[Case], Floats]) -> DeviationModel:
    """Make a model that predicts the result of other angles."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(words, polar(case, np.asarray(made(case))))

    return models


def right_angles(case: Case) -> Floats:
    """Compute the correct angle of every row and channel."""
    return np.asarray(places(case) * frequencies(case) + phases(case))


def waves_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sine and cosine exchanged."""
    angle, length = right_angles(case), softplus(case.arguments["x"])
    output = arranged(case, length * np.sin(angle), length * np.cos(angle))
    yield Prediction("matches sine and cosine exchanged", output)


def length_wrong(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict another function of the channel as its length."""
    x = case.arguments["x"]
    for words, length in (
        ("the channel itself", x),
        ("the magnitude of the channel", np.abs(x)),
        ("the positive part of the channel", np.maximum(x, 0)),
        ("the exponential of the channel", np.exp(np.minimum(x, 50))),
    ):
        yield Prediction(f"matches {words} as length", polar(case, right_angles(case), length))


def negated(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict angles of the opposite sign, with or without the phase negated."""
    yield from negated_positions(case, got)
    yield Prediction("matches angles of the opposite sign", polar(case, -right_angles(case)))


def shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions that start too early or too late."""
    yield from shifted_positions(case, np.nan)


def wrong_base(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the result with another base."""
    yield from bases(case, None)


def narrow_angles(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions, frequencies or angles in a narrow dtype, and tables of them."""
    yield from rounded_angles(
        places(case),
        frequencies(case),
        lambda angle: polar(case, angle + phases(case)),
        lambda angle, dtype: polar(case, angle + phases(case), dtype=dtype),
    )


def unlimited(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict phases without limits, or with other limits."""
    turned = places(case) * frequencies(case)
    bias = case.arguments["bias"]
    for words, phase in (
        ("phases without limits", bias),
        ("phases from 0 to 2π", np.clip(bias, 0.0, TURN)),
        ("phases up to 0", np.minimum(bias, 0.0)),
        ("phases from -π to π", np.clip(bias, -np.pi, np.pi)),
    ):
        yield Prediction(f"matches {words}", polar(case, turned + phase))


SHARED: dict[str, DeviationModel] = {
    "layout-swapped": other_conventions(
        "layout", "matches the layout {value} exactly; {claimed} was claimed"
    ),
    "waves-swapped": waves_swapped,
    "frequencies-of-pairs": angles(
        "matches exponents of 2j/head_dim",
        lambda case: places(case) * frequencies(case, 2.0) + phases(case),
    ),
    "length-wrong": length_wrong,
    "negated-angles": negated,
    "positions-shifted": shifted,
    "wrong-base": wrong_base,
    "low-precision-angles": narrow_angles,
}


def read_frequencies(case: Case, output: Floats) -> Iterator[list[PairFrequencies] | None]:
    """Read frequencies from the vectors of channels, allowing for the phases."""
    size = case.arguments["x"].shape[-1]
    half = case.conventions["layout"] == "half"
    cos, sin = (slice(size), slice(size, None)) if half else (slice(0, None, 2), slice(1, None, 2))
    yield fit_frequencies(
        case,
        (
            softplus(case.arguments["x"]) * np.exp(1j * phases(case)),
            output[..., cos] + 1j * output[..., sin],
        ),
        places(case),
        frequencies(case),
        case.bound[..., cos] + case.bound[..., sin],
        dim=size,
    )


KNOWLEDGE = {
    "pope_query": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        shape=shape,
        frequencies=read_frequencies,
        invariants={
            "length": same_length,
            "origin": origin,
            "softplus-difference": softplus_difference,
        },
        deviations=SHARED,
    ),
    "pope_key": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=key_sweep,
        sizes=sizes,
        shape=shape,
        frequencies=read_frequencies,
        invariants={
            "key-length": same_length,
            "by-offset": by_offset,
            "full-phase": full_phase,
        },
        deviations=SHARED
        | {
            "phase-ignored": any_of(
                angles(
                    "matches keys without phases", lambda case: places(case) * frequencies(case)
                ),
                angles(
                    "matches phases subtracted",
                    lambda case: places(case) * frequencies(case) - phases(case),
                ),
            ),
            "phase-unlimited": unlimited,
        },
    ),
}
