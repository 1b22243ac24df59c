"""Mistakes with NTK-aware scaling that no wrong miniature makes."""

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake


def four_channels_unscaled(case: Case) -> Array:
    """No scaling where d - 2 is small."""
    small = case.arguments["rotary_dim"] <= 4
    return case.with_arguments(factor=1.0 if small else case.arguments["factor"]).truth


MISTAKES: dict[str, Mistake] = {"frequencies-d4": four_channels_unscaled}
