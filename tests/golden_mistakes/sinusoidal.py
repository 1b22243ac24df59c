"""The mistake that each golden of the sinusoidal encoding alone catches."""

from collections.abc import Callable

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import (
    Mistake,
    base_altered,
    base_ignored,
    base_taken_for,
    cast_to_int32,
    last_row_missing,
    positions_altered,
    power_of_two_from,
    right,
    zero_taken_for_one,
)

cut_to_whole = positions_altered(np.trunc)

wrapped_as_index = positions_altered(lambda p: p % 4096)


def zeros_at_zero(case: Case) -> Array:
    """A row of zeros where the position is 0."""
    out = right(case)
    out[case.arguments["positions"] == 0] = 0
    return out


base_at_most_500000 = base_altered(lambda b: min(b, 500000))


def odd_rounded_up(case: Case) -> Array:
    """Exponents t/(n-1) of n pairs, with n counted from d+1 channels where d is odd."""
    pairs, odd = case.arguments["dim"] // 2, case.arguments["dim"] % 2
    return base_altered(lambda b: b ** ((pairs - 1) / (pairs - 1 + odd)))(case)


def single_pair_frequency(frequency: Callable[[float], float]) -> Mistake:
    """A frequency other than 1 for a single pair, made from the base."""

    def mistake(case: Case) -> Array:
        factor = frequency(case.arguments["base"]) if case.arguments["dim"] == 2 else 1
        return positions_altered(lambda p: p * factor)(case)

    return mistake


def other_odd_dim(odd_dim: str) -> Mistake:
    """Another rule for an odd number of channels."""
    return lambda case: case.under(odd_dim=odd_dim).truth


def channels_repeated(size: int) -> Mistake:
    """Only the first channels computed, and repeated for the rest."""
    return lambda case: right(case)[:, np.arange(case.arguments["dim"]) % size]


def zeros_first(case: Case) -> Array:
    """For odd d, the column of zeros before the others."""
    return np.roll(right(case), case.arguments["dim"] % 2, axis=1)


def zeros_between(case: Case) -> Array:
    """For odd d, the column of zeros between the two halves."""
    out, half = right(case), case.arguments["dim"] // 2
    if case.arguments["dim"] % 2:
        out = np.insert(out[:, :-1], half, 0.0, axis=1)
    return out


def sine_cut(case: Case) -> Array:
    """For odd d, one sine fewer than cosines."""
    return np.roll(case.under(layout="cos-sin").truth, case.arguments["dim"] // 2, axis=1)


def cosines_early(case: Case) -> Array:
    """For odd d, cosines written from column d//2 on, over the last sine."""
    without_last_sine = np.delete(right(case), case.arguments["dim"] // 2, axis=1)
    return np.pad(without_last_sine, [(0, 0), (0, 1)])


def scale_padded(case: Case) -> Array:
    """The scale (2/d)^1/2 with the next power of two for d."""
    dim = case.arguments["dim"]
    return right(case) * (dim / power_of_two_from(dim)) ** 0.5


MISTAKES: dict[str, Mistake] = {
    "paper-d8-start": zeros_at_zero,
    "paper-d2": single_pair_frequency(lambda base: 1 / base),
    "paper-d512": channels_repeated(256),
    "paper-d128-last-row-of-4096": last_row_missing(4096),
    "paper-d16-131071": last_row_missing(131072),
    "paper-d16-1048575": last_row_missing(1048576),
    "paper-d256-beyond-int32": cast_to_int32,
    "paper-d64-base-500000": base_taken_for(500000, 50000),
    "paper-d64-base-1000000": base_at_most_500000,
    "paper-d7-zero": other_odd_dim("cut"),
    "paper-d7-cut": other_odd_dim("uneven"),
    "paper-d7-uneven": other_odd_dim("cut"),
    "paper-d8-real": cut_to_whole,
    "paper-d8-negative": wrapped_as_index,
    "concat-d8": zeros_at_zero,
    "concat-d64-last-row-of-4096": last_row_missing(4096),
    "concat-d16-base-1000000": base_ignored,
    "concat-d5-zero": zeros_between,
    "concat-d5-cut": sine_cut,
    "concat-d5-uneven": cosines_early,
    "tensor2tensor-d8": zeros_at_zero,
    "tensor2tensor-d2": single_pair_frequency(lambda base: 0),
    "tensor2tensor-d9": zeros_first,
    "tensor2tensor-d512": channels_repeated(256),
    "fairseq-d8": zeros_at_zero,
    "fairseq-d64-1024": last_row_missing(1024),
    "fairseq-d9": odd_rounded_up,
    "ddpm-d8": zero_taken_for_one,
    "ddpm-d128-last-step": last_row_missing(1000),
    "ddpm-d9": odd_rounded_up,
    "ddpm-d8-real": cut_to_whole,
    "whisper-d8": zeros_at_zero,
    "whisper-d384-last-frame": last_row_missing(1500),
    "adm-d8": zero_taken_for_one,
    "adm-d256": last_row_missing(1000),
    "adm-d9": zeros_between,
    "adm-d8-real": cut_to_whole,
    "musicgen-d8": zeros_at_zero,
    "musicgen-d512": last_row_missing(2048),
    "opennmt-d8": zeros_at_zero,
    "opennmt-d512": channels_repeated(256),
    "mlx-d8": zeros_at_zero,
    "mlx-d96": scale_padded,
    "x-transformers-d8": zeros_at_zero,
    "x-transformers-d512": last_row_missing(4096),
}
