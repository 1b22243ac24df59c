"""Position interpolation: bounds, invariants and deviations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import posenc
from posenc_conformance.families.rotary import rotary_dim
from posenc_conformance.families.rotary_scaling import (
    Arguments,
    Scaling,
    lists_of_frequencies,
    unscaled,
)
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.bounded import Exact
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.trial import Trial


def frequencies(given: Arguments, size: int) -> Floats:
    """RoPE's, divided."""
    return np.asarray(unscaled(given, size) / given["factor"])


SCALING = Scaling(
    "position_interpolation",
    frequencies,
    choices={"factor": (4.0, 2.0, 8.0, 1.5, 3.0)},
    changes=({"factor": 2.0}, {"factor": 8.0}),
)


def times_factor(trial: Trial) -> None:
    """Multiplied by the factor, the frequencies are those of factor 1."""
    chosen = SCALING.frequency_arguments(trial)
    scaled, plain = trial.answer(**chosen), trial.answer(**(chosen | {"factor": 1.0}))
    factor = chosen["factor"]
    trial.zero(
        scaled * Exact(factor) - plain,
        f"{factor:g} times the frequencies are not those of factor 1",
    )


def stretched_positions(trial: Trial) -> None:
    """Position s·m of the longer context is turned like position m of the original one."""
    chosen: dict[str, Any] = SCALING.rotary_arguments(trial)
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
    trial.zero(
        answer - Exact(expected),
        f"position {factor:g} m is not turned like position m without scaling",
    )


def unscaled_models(case: Case) -> Iterator[tuple[str, Floats]]:
    """The factor ignored."""
    yield "matches plain RoPE; factor was ignored", unscaled(case.arguments, rotary_dim(case))


def multiplied(case: Case) -> Iterator[tuple[str, Floats]]:
    """Times the factor."""
    omega = unscaled(case.arguments, rotary_dim(case))
    yield "matches frequencies multiplied by factor", omega * case.arguments["factor"]


def scaled_twice(case: Case) -> Iterator[tuple[str, Floats]]:
    """Positions and frequencies both divided."""
    omega = unscaled(case.arguments, rotary_dim(case))
    yield "matches frequencies divided by factor twice", omega / case.arguments["factor"] ** 2


def exponent_scaled(case: Case) -> Iterator[tuple[str, Floats]]:
    """The factor in the exponent."""
    omega = unscaled(case.arguments, rotary_dim(case))
    factor = case.arguments["factor"]
    yield "matches exponents divided by factor, not frequencies", omega ** (1 / factor)


def base_scaled(case: Case) -> Iterator[tuple[str, Floats]]:
    """NTK-aware scaling instead."""
    size, factor = rotary_dim(case), case.arguments["factor"]
    if size > 2:
        slowdown = factor ** (-np.arange(0, size, 2) / (size - 2))
        yield "matches NTK-aware scaling by factor", unscaled(case.arguments, size) * slowdown


IDENTIFY = {
    "position_interpolation_frequencies": lists_of_frequencies(
        *({"base": 10000.0, "factor": factor} for factor in (1.0, 2.0, 4.0, 8.0, 16.0))
    )
}
TURNS = SCALING.turns
ERROR_TERMS, ARGUMENTS = SCALING.error_terms, SCALING.arguments
SWEEPS, SIZES = SCALING.sweeps, SCALING.sizes
INVARIANTS = SCALING.invariants(
    {"times-factor": times_factor, "geometric": SCALING.geometric},
    {"factor-one": SCALING.is_rope(factor=1.0), "stretched-positions": stretched_positions},
)
DEVIATIONS = SCALING.deviations(
    {
        "unscaled": unscaled_models,
        "multiplied": multiplied,
        "scaled-twice": scaled_twice,
        "exponent-scaled": exponent_scaled,
        "base-scaled": base_scaled,
    }
)
