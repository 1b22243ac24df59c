"""The mistake that each golden of Llama 3's scaling alone catches."""

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import (
    Mistake,
    base_ignored,
    last_row_missing,
    right,
    turned_forward,
    unscaled_backward,
    zero_taken_for_one,
)
from tests.golden_mistakes.rope import numbered_from_first


def fixed(**values: float) -> Mistake:
    """Parameters that are not what was asked for."""
    return lambda case: case.changed(**values).truth


def divided_from_32(case: Case) -> Array:
    """Pairs from 32 on divided."""
    out, factor = right(case), case.arguments["factor"]
    out[32:] = case.changed(factor=1.0).truth[32:] / factor
    return out


MISTAKES: dict[str, Mistake] = {
    "frequencies-llama-3-1-8b": divided_from_32,
    "frequencies-llama-3-2-1b": fixed(factor=8.0),
    "frequencies-d8-context-128": fixed(original_max_position_embeddings=8192),
    "frequencies-d8-other-bounds": fixed(low_freq_factor=1.0, high_freq_factor=4.0),
    "interleaved-d4-start": zero_taken_for_one,
    "interleaved-llama-3-1-8b": base_ignored,
    "half-d4-start": zero_taken_for_one,
    "half-llama-3-1-8b-128k": last_row_missing(131072),
    "half-batch-unsorted": numbered_from_first,
    "vjp-interleaved-d4": turned_forward,
    "vjp-half-d4": unscaled_backward,
}
