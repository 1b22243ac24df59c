"""The mistake that each golden of p-RoPE alone catches."""

import math
from collections.abc import Callable
from fractions import Fraction

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import (
    Mistake,
    base_ignored,
    last_row_missing,
    turned_forward,
    unscaled_backward,
    zero_taken_for_one,
)
from tests.golden_mistakes.rope import numbered_from_first


def counted(rule: Callable[[Fraction, int], int]) -> Mistake:
    """Another number of pairs that turn, from the proportion and the number of channels."""

    def mistake(case: Case) -> Array:
        proportion, size = case.arguments["proportion"], case.arguments["rotary_dim"]
        out = case.changed(proportion=1.0).truth.copy()
        out[rule(Fraction(str(proportion)), size) :] = 0
        return out

    return mistake


MISTAKES: dict[str, Mistake] = {
    "frequencies-d6-half": counted(lambda p, d: math.ceil(p * d / 2)),
    "frequencies-d8-all": counted(lambda p, d: min(math.floor(p * d / 2), d // 2 - 1)),
    "frequencies-d8-none": counted(lambda p, d: max(math.floor(p * d / 2), 1)),
    "frequencies-gemma-4": base_ignored,
    "frequencies-d180-seven-tenths": counted(lambda p, d: int(float(p) * d // 2)),
    "interleaved-d4-start": zero_taken_for_one,
    "interleaved-head64-base-1000000": base_ignored,
    "half-d4-start": zero_taken_for_one,
    "half-gemma-4": last_row_missing(8192),
    "half-batch-unsorted": numbered_from_first,
    "vjp-interleaved-d4": turned_forward,
    "vjp-half-d4": unscaled_backward,
}
