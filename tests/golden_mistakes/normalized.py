"""The mistake that each golden of normalised positions alone catches."""

from collections.abc import Callable

import numpy as np

from posenc_conformance.judge.arrays import DTYPES, Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, right


def divided_by(divisor: Callable[[int], int]) -> Mistake:
    """Another denominator, from the length."""

    def mistake(case: Case) -> Array:
        length = case.arguments["length"]
        return right(case) * ((length - 1) / divisor(length))

    return mistake


def from_channel_4_zero(case: Case) -> Array:
    """Four channels filled, however many there are."""
    return right(case) * (np.arange(case.arguments["dim"]) < 4)


def single_channel_zero(case: Case) -> Array:
    """Nothing written where there is one channel."""
    return right(case) * (case.arguments["dim"] > 1)


def held_in_bfloat16(case: Case) -> Array:
    """Rounded to bfloat16, whatever the dtype of the result."""
    return right(case).astype(DTYPES["bfloat16"]).astype(np.float64)


MISTAKES: dict[str, Mistake] = {
    "length-2-d3": divided_by(lambda length: max(length - 1, 2)),
    "length-3-d6": from_channel_4_zero,
    "length-4-d2": held_in_bfloat16,
    "length-5-d1": single_channel_zero,
    "length-17-d2": divided_by(lambda length: min(length, 16) - 1),
}
