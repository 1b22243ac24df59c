"""Mistakes with binary positions that no wrong miniature makes."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_lab.golden_mistakes.common import Mistake, right


def channels_8_to_11_zero(case: Case) -> Array:
    """Four digits of the second byte lost."""
    channel = np.arange(case.arguments["dim"])
    return right(case) * ((channel < 8) | (channel > 11))


def first_digits_of_a_byte(case: Case) -> Array:
    """Left-aligned where the byte is not full."""
    places, dim = case.arguments["positions"], case.arguments["dim"]
    return case.with_arguments(positions=places >> (8 - dim)).truth if dim < 8 else right(case)


MISTAKES: dict[str, Mistake] = {
    "lsb-d12": channels_8_to_11_zero,
    "msb-d5": first_digits_of_a_byte,
}
