"""Mistakes with position interpolation that no wrong miniature makes."""

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake, power_of_two_from


def channels_padded(case: Case) -> Array:
    """Exponents 2t/d whose d is the next power of two."""
    size = case.arguments["rotary_dim"]
    base = case.arguments["base"]
    return case.with_arguments(base=base ** (size / power_of_two_from(size))).truth


MISTAKES: dict[str, Mistake] = {"frequencies-d6": channels_padded}
