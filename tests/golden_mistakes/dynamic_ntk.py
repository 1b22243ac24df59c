"""The mistake that each golden of dynamic NTK scaling alone catches."""

import numpy as np

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
from tests.golden_mistakes.position_interpolation import factor_cut


def short_lengths_as_they_are(case: Case) -> Array:
    """A length below the original one shrinks the base."""
    given = case.arguments
    factor, ratio = given["factor"], given["length"] / given["original_max_position_embeddings"]
    if ratio >= 1:
        return right(case)
    size = given["rotary_dim"]
    base = given["base"] * (factor * ratio - (factor - 1)) ** (size / (size - 2))
    return np.asarray(base ** -(np.arange(0, size, 2) / size))


def full_beyond(case: Case) -> Array:
    """One base for all lengths beyond the original one."""
    given = case.arguments
    full = int(given["factor"] * given["original_max_position_embeddings"])
    longer = given["length"] > given["original_max_position_embeddings"]
    return case.changed(length=full if longer else given["length"]).truth


def length_of_positions(case: Case) -> Array:
    """The length taken from the positions."""
    return case.changed(length=int(case.arguments["positions"].max()) + 1).truth


MISTAKES: dict[str, Mistake] = {
    "frequencies-short": short_lengths_as_they_are,
    "frequencies-d8-factor-2-5": factor_cut,
    "frequencies-llama-2-length-6000": full_beyond,
    "frequencies-head64-base-500000": base_ignored,
    "interleaved-d4-start": zero_taken_for_one,
    "interleaved-head64-base-500000": base_ignored,
    "half-d4-start": zero_taken_for_one,
    "half-llama-2-length-8192": last_row_missing(8192),
    "half-batch-unsorted": length_of_positions,
    "vjp-interleaved-d4": turned_forward,
    "vjp-half-d4": unscaled_backward,
}
