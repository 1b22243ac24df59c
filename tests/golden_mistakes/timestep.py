"""The mistake that each golden of the timestep embedding alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import (
    Mistake,
    last_row_missing,
    positions_altered,
    right,
)

cut_to_whole = positions_altered(np.trunc)

zero_taken_for_one = positions_altered(lambda p: np.where(p == 0, 1, p))


def column_of_zeros(between: bool) -> Mistake:
    """For an odd number of channels, the zeros elsewhere: between the halves, or first."""

    def mistake(case: Case) -> Array:
        out, half = right(case), case.arguments["dim"] // 2
        if case.arguments["dim"] % 2:
            out = np.insert(out[:, :-1], half if between else 0, 0.0, axis=1)
        return out

    return mistake


def single_pair_lowest(case: Case) -> Array:
    """The last frequency of the progression for a single pair."""
    period = case.arguments["max_period"]
    alter = positions_altered(lambda p: p / period)
    return alter(case) if case.arguments["dim"] == 2 else right(case)


def channels_repeated(size: int) -> Mistake:
    """Only the first channels computed, and repeated for the rest."""
    return lambda case: right(case)[:, np.arange(case.arguments["dim"]) % size]


def odd_rounded_up(case: Case) -> Array:
    """One channel more, the last one cut."""
    dim = case.arguments["dim"]
    return case.changed(dim=dim + dim % 2).truth[:, :dim]


def unshifted_for_many(case: Case) -> Array:
    """Frequency shift 0 where there are many channels."""
    return case.under(frequency_shift=0).truth if case.arguments["dim"] > 64 else right(case)


MISTAKES: dict[str, Mistake] = {
    "ddpm-d8": zero_taken_for_one,
    "ddpm-d9": column_of_zeros(between=False),
    "ddpm-d128-last-step": last_row_missing(1000),
    "ddpm-d8-unit-interval": lambda case: case.changed(scale=1.0).truth,
    "adm-d8-fractional": lambda case: (
        cut_to_whole(case) if case.arguments["scale"] == 1 else right(case)
    ),
    "adm-d5": column_of_zeros(between=True),
    "adm-d2": single_pair_lowest,
    "adm-d256-flow": channels_repeated(128),
    "adm-d6-max-period-100": lambda case: case.changed(max_period=10000).truth,
    "ernie-image-d8": zero_taken_for_one,
    "ernie-image-d7": odd_rounded_up,
    "diffusers-dit-d8": zero_taken_for_one,
    "diffusers-dit-d256": unshifted_for_many,
}
