"""The mistake that each golden of binary positions alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, positions_altered, right, zero_taken_for_one


def single_channel_zero(case: Case) -> Array:
    """Nothing written where there is one channel."""
    return right(case) * (case.arguments["dim"] > 1)


def channels_8_to_11_zero(case: Case) -> Array:
    """Four digits of the second byte lost."""
    channel = np.arange(case.arguments["dim"])
    return right(case) * ((channel < 8) | (channel > 11))


def first_digits_of_a_byte(case: Case) -> Array:
    """Left-aligned where the byte is not full."""
    places, dim = case.arguments["positions"], case.arguments["dim"]
    return case.changed(positions=places >> (8 - dim)).truth if dim < 8 else right(case)


def minus_one_or_zero(case: Case) -> Array:
    """Signs for whole rows of zeros only; elsewhere digits of 0 stay 0."""
    out = right(case)
    rows = case.arguments["positions"] > 0
    out[rows] = np.maximum(out[rows], 0)
    return out


MISTAKES: dict[str, Mistake] = {
    "lsb-d3": zero_taken_for_one,
    "lsb-d1": single_channel_zero,
    "lsb-d3-unsorted": positions_altered(lambda p: np.minimum(p[0] + np.arange(len(p)), 2**18 - 1)),
    "lsb-d12": channels_8_to_11_zero,
    "lsb-d18-beyond-16-bits": positions_altered(lambda p: p & 0xFFFF),
    "msb-d5": first_digits_of_a_byte,
    "msb-d8": positions_altered(lambda p: p & 0x7F),
    "lsb-signs-d3": minus_one_or_zero,
    "msb-signs-d4": lambda case: -right(case),
}
