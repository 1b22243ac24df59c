"""The mistake that each golden of the rotary embedding alone catches."""

from collections.abc import Callable

import numpy as np

import posenc
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import (
    Mistake,
    base_altered,
    base_ignored,
    base_taken_for,
    cast_to_int32,
    last_row_missing,
    no_gradient_beyond,
    positions_altered,
    power_of_two_from,
    right,
    zero_taken_for_one,
)

numbered_from_first = positions_altered(lambda p: p[0] + np.arange(len(p)))


def head_padded(case: Case) -> Array:
    """Exponents 2t/d whose d is the next power of two."""
    head_dim = case.arguments["x"].shape[-1]
    return base_altered(lambda b: b ** (head_dim / power_of_two_from(head_dim)))(case)


def head_dim_frequencies(case: Case) -> Array:
    """Exponents 2t/d although only r < d channels are rotated."""
    share = case.arguments["rotary_dim"] / case.arguments["x"].shape[-1]
    return base_altered(lambda b: b**share)(case)


def single_pair_unrotated(case: Case) -> Array:
    """Heads of one pair returned as they are."""
    x: Array = case.arguments["x"]
    return x if x.shape[-1] == 2 else right(case)


def unrotated_from(channel: int) -> Mistake:
    """Channels from one on returned as they are."""

    def mistake(case: Case) -> Array:
        out = right(case)
        out[..., channel:] = case.arguments["x"][..., channel:]
        return out

    return mistake


def rotary_dim_altered(alter: Callable[[int, int], int]) -> Mistake:
    """Another number of rotated channels, from the number asked for and the size of the head."""

    def mistake(case: Case) -> Array:
        asked, head_dim = case.arguments["rotary_dim"], case.arguments["x"].shape[-1]
        return case.changed(rotary_dim=alter(asked, head_dim)).truth

    return mistake


def whole_head_reordered(case: Case) -> Array:
    """Pairs of the whole head, not only of its rotated part, reordered to halves."""
    x = case.arguments["x"]
    halves = np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)
    return case.changed(x=halves).under(layout="half").truth


turned_forward = positions_altered(lambda p: -p)
late_positions_unturned = positions_altered(lambda p: np.where(p < 2048, p, 0))


def layout_as_forward(case: Case) -> Array:
    """Neighbours read and halves written, as by the forward pass."""
    x = case.arguments["x"]
    return posenc.rope(
        x, -case.arguments["positions"], base=case.arguments["base"], layout="interleaved-to-half"
    )


MISTAKES: dict[str, Mistake] = {
    "interleaved-d4-start": zero_taken_for_one,
    "interleaved-d2": single_pair_unrotated,
    "interleaved-head64-4k": last_row_missing(4096),
    "llama3-meta-head128": base_ignored,
    "interleaved-head80": head_padded,
    "interleaved-batch-unsorted": numbered_from_first,
    "interleaved-head64-131071": last_row_missing(131072),
    "interleaved-head256-beyond-int32": cast_to_int32,
    "gpt-j-head256-rotary64": head_dim_frequencies,
    "half-d4-start": zero_taken_for_one,
    "half-d2": single_pair_unrotated,
    "llama-head128-4k": last_row_missing(4096),
    "llama3-head128-128k": base_taken_for(500000, 10000),
    "mistral-head128-base-1000000": base_taken_for(1000000, 100000),
    "gemma-head256": unrotated_from(128),
    "half-head80": head_padded,
    "half-head64-1048575": last_row_missing(1048576),
    "half-head64-beyond-int32": cast_to_int32,
    "half-batch-unsorted": numbered_from_first,
    "gpt-neox-head64-rotary16": rotary_dim_altered(lambda asked, head_dim: max(asked, 32)),
    "phi-head80-rotary32": rotary_dim_altered(lambda asked, head_dim: head_dim // 4),
    "deepseek-d4-start": zero_taken_for_one,
    "deepseek-head64-4k": last_row_missing(4096),
    "deepseek-head64-base-500000": base_ignored,
    "deepseek-batch-unsorted": numbered_from_first,
    "deepseek-head64-rotary32": whole_head_reordered,
    "vjp-interleaved-d4": turned_forward,
    "vjp-interleaved-head128-rotary64": no_gradient_beyond,
    "vjp-half-d4": base_taken_for(10000, 500000),
    "vjp-half-head64-4k": late_positions_unturned,
    "vjp-deepseek-d4": layout_as_forward,
}
