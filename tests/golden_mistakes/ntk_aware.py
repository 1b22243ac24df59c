"""The mistake that each golden of NTK-aware scaling alone catches."""

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
from tests.golden_mistakes.position_interpolation import factor_cut, unscaled_from
from tests.golden_mistakes.rope import numbered_from_first


def four_channels_unscaled(case: Case) -> Array:
    """No scaling where d - 2 is small."""
    small = case.arguments["rotary_dim"] <= 4
    return case.changed(factor=1.0 if small else case.arguments["factor"]).truth


MISTAKES: dict[str, Mistake] = {
    "frequencies-d4": four_channels_unscaled,
    "frequencies-d8-factor-2-5": factor_cut,
    "frequencies-llama-2-factor-4": unscaled_from(32),
    "frequencies-head64-base-500000": base_ignored,
    "interleaved-d4-start": zero_taken_for_one,
    "interleaved-head64-base-500000": base_ignored,
    "half-d4-start": zero_taken_for_one,
    "half-llama-2-factor-4": last_row_missing(16384),
    "half-batch-unsorted": numbered_from_first,
    "vjp-interleaved-d4": turned_forward,
    "vjp-half-d4": unscaled_backward,
}
