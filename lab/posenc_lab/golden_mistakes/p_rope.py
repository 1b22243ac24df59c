"""Mistakes with p-RoPE that no wrong miniature makes."""

import math
from collections.abc import Callable
from fractions import Fraction

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake


def counted(rule: Callable[[Fraction, int], int]) -> Mistake:
    """Another number of pairs that turn, from the proportion and the number of channels."""

    def mistake(case: Case) -> Array:
        proportion, size = case.arguments["proportion"], case.arguments["rotary_dim"]
        out = case.with_arguments(proportion=1.0).truth.copy()
        out[rule(Fraction(str(proportion)), size) :] = 0
        return out

    return mistake


MISTAKES: dict[str, Mistake] = {
    "frequencies-d8-all": counted(lambda p, d: min(math.floor(p * d / 2), d // 2 - 1)),
    "frequencies-d8-none": counted(lambda p, d: max(math.floor(p * d / 2), 1)),
}
