"""NTK-aware scaling: bounds, invariants and deviations."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.families.rotary import progression, rotary_dim
from posenc_conformance.families.rotary_scaling import Scaling, unscaled
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.scheme_file.scheme import Arguments


def frequencies(given: Arguments, size: int) -> Floats:
    """Compute the frequencies of the larger base."""
    return progression(given["base"] * given["factor"] ** (size / (size - 2)), size)


SCALING = Scaling(
    "ntk_aware",
    frequencies,
    choices={"factor": (4.0, 2.0, 8.0, 1.5, 3.0)},
    changes=({"factor": 2.0}, {"factor": 8.0}),
    least_dim=4,
)


def ends(given: Arguments, size: int) -> Floats:
    """Return the multipliers of the first and the last frequency, and nan between them."""
    multipliers = np.full(size // 2, np.nan)
    multipliers[0], multipliers[-1] = 1, 1 / given["factor"]
    return multipliers


def unscaled_models(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict plain RoPE, with the factor ignored."""
    yield "matches plain RoPE; factor was ignored", unscaled(case.arguments, rotary_dim(case))


def exponent_missing(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict the base times the factor itself, without an exponent."""
    base, factor = case.arguments["base"], case.arguments["factor"]
    yield "matches the base times factor", progression(base * factor, rotary_dim(case))


def exponent_inverted(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict the inverted exponent, (d-2)/d."""
    base, factor, size = case.arguments["base"], case.arguments["factor"], rotary_dim(case)
    omega = progression(base * factor ** ((size - 2) / size), size)
    yield "matches the base times factor to the power (d-2)/d, not d/(d-2)", omega


def interpolated(case: Case) -> Iterator[tuple[str, Floats]]:
    """Predict position interpolation in place of the larger base, or in addition to it."""
    omega, factor = unscaled(case.arguments, rotary_dim(case)), case.arguments["factor"]
    yield "matches frequencies divided by factor, with the base as it was", omega / factor
    both = SCALING.frequencies(case) / factor
    yield "matches frequencies divided by factor on top of the larger base", both


KNOWLEDGE = SCALING.knowledge(
    frequency_invariants={
        "ends": SCALING.multiplier(
            ends, "the first frequency changed, or the last is not divided by factor"
        ),
        "geometric": SCALING.geometric,
    },
    rotation_invariants={"factor-one": SCALING.is_rope(factor=1.0)},
    mistakes={
        "unscaled": unscaled_models,
        "exponent-missing": exponent_missing,
        "exponent-inverted": exponent_inverted,
        "interpolated": interpolated,
    },
)
