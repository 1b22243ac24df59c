"""The mistake that each golden of the positions themselves alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import DTYPES, Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import (
    Mistake,
    cast_to_int32,
    last_row_missing,
    positions_altered,
    right,
    zero_taken_for_one,
)


def single_channel_zero(case: Case) -> Array:
    """Nothing written where there is one channel."""
    return right(case) * (case.arguments["dim"] > 1)


def held_in_bfloat16(case: Case) -> Array:
    """Rounded to bfloat16, whatever the dtype of the result."""
    return right(case).astype(DTYPES["bfloat16"]).astype(np.float64)


MISTAKES: dict[str, Mistake] = {
    "d4-start": zero_taken_for_one,
    "d2-unsorted": positions_altered(lambda p: p[0] + np.arange(len(p))),
    "d1": single_channel_zero,
    "d3-beyond-bfloat16": held_in_bfloat16,
    "d2-beyond-int16": last_row_missing(32769),
    "d2-beyond-int32": cast_to_int32,
}
