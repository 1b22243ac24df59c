"""The mistake that each golden of the sum of embedding and sinusoid alone catches."""

import numpy as np

import posenc
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import (
    Mistake,
    base_ignored,
    last_row_missing,
    positions_altered,
    power_of_two_from,
    right,
    zero_taken_for_one,
)


def root_of_power_of_two(case: Case) -> Array:
    """As if channels were padded."""
    x = case.arguments["x"]
    dim = x.shape[-1]
    return right(case) + x * (power_of_two_from(dim) ** 0.5 - dim**0.5)


def along_the_batch(case: Case) -> Array:
    """One position for all rows of a sequence."""
    if case.arguments["x"].ndim < 3:
        return right(case)
    dim, batch = case.shape[-1], np.arange(case.shape[-3])
    given = posenc.sinusoidal(case.arguments["positions"], dim, base=case.arguments["base"])
    wrong = posenc.sinusoidal(batch, dim, base=case.arguments["base"])
    return right(case) - given + wrong[:, None]


MISTAKES: dict[str, Mistake] = {
    "paper-start": zero_taken_for_one,
    "paper-d6": root_of_power_of_two,
    "paper-batch": along_the_batch,
    "paper-base-500000": base_ignored,
    "paper-last-of-4096": last_row_missing(4096),
    "unscaled-start": zero_taken_for_one,
    "unscaled-d6-unsorted": positions_altered(lambda p: p[0] + np.arange(len(p))),
}
