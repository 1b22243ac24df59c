"""An invariant of layers, rotations and gradients: they are linear in one argument."""

import numpy as np

from posenc_conformance.judge.arrays import lattice
from posenc_conformance.judge.trial import DrawArguments, InvariantCheck, Trial


def linear_in(name: str, arguments: DrawArguments) -> InvariantCheck:
    """Make a check that f(a / 2 - b / 4) = f(a) / 2 - f(b) / 4.

    a and b are values of the argument ``name``.
    """

    def check(trial: Trial) -> None:
        chosen = arguments(trial)
        a = lattice(chosen[name].shape)  # values of few bits, so that the sum below is exact
        b = np.roll(a, 3)
        both, first, second = (
            trial.answer(**(chosen | {name: value})) for value in (a / 2 - b / 4, a, b)
        )
        trial.assert_zero(
            both - (first / 2 - second / 4), f"the result is not linear in the {name}"
        )

    return check
