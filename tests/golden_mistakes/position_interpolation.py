"""The mistake that each golden of position interpolation alone catches."""

import numpy as np

import posenc
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import (
    Mistake,
    base_altered,
    base_ignored,
    positions_altered,
    power_of_two_from,
    right,
    turned_forward,
    unscaled_backward,
    zero_taken_for_one,
)

positions_sorted = positions_altered(np.sort)


def factor_cut(case: Case) -> Array:
    """The factor as a whole number."""
    return case.changed(factor=int(case.arguments["factor"])).truth


def channels_padded(case: Case) -> Array:
    """Exponents 2t/d whose d is the next power of two."""
    size = case.arguments["rotary_dim"]
    return base_altered(lambda b: b ** (size / power_of_two_from(size)))(case)


def unscaled_from(pair: int) -> Mistake:
    """Pairs from one on as without scaling."""

    def mistake(case: Case) -> Array:
        out = right(case)
        out[pair:] = case.changed(factor=1.0).truth[pair:]
        return out

    return mistake


def whole_positions(case: Case) -> Array:
    """Positions divided in whole numbers."""
    given = case.arguments
    return posenc.rope(
        given["x"],
        given["positions"] // int(given["factor"]),
        base=given["base"],
        layout=str(case.conventions["layout"]),
    )


MISTAKES: dict[str, Mistake] = {
    "frequencies-d8-factor-1-5": factor_cut,
    "frequencies-d6": channels_padded,
    "frequencies-llama-2-factor-4": unscaled_from(32),
    "frequencies-head64-base-500000": base_ignored,
    "interleaved-d4-start": zero_taken_for_one,
    "interleaved-head64-base-500000": base_ignored,
    "half-d4-start": zero_taken_for_one,
    "half-llama-2-factor-4": whole_positions,
    "half-batch-unsorted": positions_sorted,
    "vjp-interleaved-d4": turned_forward,
    "vjp-half-d4": unscaled_backward,
}
