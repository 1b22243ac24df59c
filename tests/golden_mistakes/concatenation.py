"""The mistake that each golden of embedding and sinusoid side by side alone catches."""

from collections.abc import Callable

import numpy as np

import posenc
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import (
    Mistake,
    base_ignored,
    last_row_missing,
    positions_altered,
    right,
    zero_taken_for_one,
)


def with_encoding(alter: Callable[[Case], Array | None]) -> Mistake:
    """Another encoding after the embedding, or the right one where there is none."""

    def mistake(case: Case) -> Array:
        out, wrong = right(case), alter(case)
        if wrong is not None:
            out[..., case.arguments["x"].shape[-1] :] = wrong
        return out

    return mistake


def lowest_frequency(case: Case) -> Array | None:
    """1/base for a single pair."""
    if case.arguments["encoding_dim"] > 2:
        return None
    angle = case.arguments["positions"] / case.arguments["base"]
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1)


def width_of_embedding(case: Case) -> Array | None:
    """The first channels of a wider encoding."""
    dim, wide = case.arguments["x"].shape[-1], case.arguments["encoding_dim"]
    if dim <= wide:
        return None
    given = case.arguments
    return posenc.sinusoidal(given["positions"], dim, base=given["base"])[:, :wide]


def along_the_batch(case: Case) -> Array | None:
    """One position for all rows of a sequence."""
    if case.arguments["x"].ndim < 3:
        return None
    batch, wide = np.arange(case.shape[-3]), case.arguments["encoding_dim"]
    return posenc.sinusoidal(batch, wide, base=case.arguments["base"])[:, None]


MISTAKES: dict[str, Mistake] = {
    "content-first-start": zero_taken_for_one,
    "content-first-single-pair": with_encoding(lowest_frequency),
    "content-first-wide": with_encoding(width_of_embedding),
    "content-first-batch": with_encoding(along_the_batch),
    "content-first-base-500000": base_ignored,
    "content-first-unsorted": positions_altered(
        lambda p: p[0] + np.arange(len(p)) if np.any(np.diff(p) < 0) else p
    ),
    "encoding-first-start": zero_taken_for_one,
    "encoding-first-last-of-4096": last_row_missing(4096),
}
