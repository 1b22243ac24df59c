"""Position interpolation: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

import posenc
from posenc_conformance.diagnose.predictors import predict_case
from posenc_conformance.families.rotary import rotary_dim
from posenc_conformance.families.rotary_scaling import (
    Scaling,
    lists_of_frequencies,
    unscaled,
)
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments


def frequencies(given: Arguments, size: int) -> Floats:
    """Return RoPE's frequencies, divided by the factor."""
    return np.asarray(unscaled(given, size) / given["factor"])


SCALING = Scaling(
    "position_interpolation",
    frequencies,
    choices={"factor": (4.0, 2.0, 8.0, 1.5, 3.0)},
    changes=({"factor": 2.0}, {"factor": 8.0}),
)


def times_factor(trial: Trial) -> None:
    """Check that the factor times the frequencies gives those of factor 1."""
    chosen = SCALING.frequency_arguments(trial)
    scaled, plain = trial.answer(**chosen), trial.answer(**(chosen | {"factor": 1.0}))
    factor = chosen["factor"]
    trial.assert_zero(
        scaled * Exact(factor) - plain,
        f"{factor:g} times the frequencies are not those of factor 1",
    )


def stretched_positions(trial: Trial) -> None:
    """Check that positions of the longer context turn like those of the original one.

    With factor s, position s·m is compared with position m without scaling.
    """
    chosen: ArgumentDict = SCALING.rotary_arguments(trial)
    factor, positions = chosen["factor"], chosen["positions"]
    if factor % 1 or positions.max() * factor > trial.scope.max_position:
        return
    answer = trial.answer(**(chosen | {"positions": positions * int(factor)}))
    expected = posenc.rope(
        answer.case.arguments["x"],
        positions,
        base=chosen["base"],
        layout=str(answer.case.conventions["layout"]),
    )
    trial.assert_zero(
        answer - Exact(expected),
        f"position {factor:g} m is not turned like position m without scaling",
    )


def unscaled_models(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict RoPE's frequencies, with the factor ignored."""
    yield "matches plain RoPE; factor was ignored", unscaled(case.arguments, rotary_dim(case))


def multiplied(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict frequencies multiplied by the factor."""
    omega = unscaled(case.arguments, rotary_dim(case))
    yield "matches frequencies multiplied by factor", omega * case.arguments["factor"]


def scaled_twice(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict positions and frequencies both divided by the factor."""
    omega = unscaled(case.arguments, rotary_dim(case))
    yield "matches frequencies divided by factor twice", omega / case.arguments["factor"] ** 2


def exponent_scaled(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict frequencies with the factor in the exponent."""
    omega = unscaled(case.arguments, rotary_dim(case))
    factor = case.arguments["factor"]
    yield "matches exponents divided by factor, not frequencies", omega ** (1 / factor)


def base_scaled(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict NTK-aware scaling instead."""
    size, factor = rotary_dim(case), case.arguments["factor"]
    if size > 2:
        slowdown = factor ** (-np.arange(0, size, 2) / (size - 2))
        yield "matches NTK-aware scaling by factor", unscaled(case.arguments, size) * slowdown


def whole_positions(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions that are divided by the factor, and cut or rounded to whole numbers."""
    shares = case.arguments["positions"] / case.arguments["factor"]
    for whole, words in ((np.floor(shares), "cut"), (np.rint(shares), "rounded")):
        yield from predict_case(
            case.with_arguments(positions=whole.astype(np.int64), factor=1.0),
            f"matches positions divided by factor and {words} to whole numbers",
        )


KNOWLEDGE = SCALING.knowledge(
    frequency_invariants={"times-factor": times_factor, "geometric": SCALING.geometric},
    rotation_invariants={
        "factor-one": SCALING.is_rope(factor=1.0),
        "stretched-positions": stretched_positions,
    },
    readings=[whole_positions],
    mistakes={
        "unscaled": unscaled_models,
        "multiplied": multiplied,
        "scaled-twice": scaled_twice,
        "exponent-scaled": exponent_scaled,
        "base-scaled": base_scaled,
    },
    identify=lists_of_frequencies(
        *({"base": 10000.0, "factor": factor} for factor in (1.0, 2.0, 4.0, 8.0, 16.0))
    ),
)
