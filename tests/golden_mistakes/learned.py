"""The mistake that each golden of learned positions alone catches."""

from collections.abc import Callable

import numpy as np

from posenc_conformance.judge.arrays import Array, Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.schemes.learned import (
    centres,
    class_tokens,
    cubic,
    keys,
    linear,
    old_size,
    read_with,
)
from tests.golden_mistakes.common import (
    Mistake,
    last_row_missing,
    positions_altered,
    right,
    zero_taken_for_one,
)


def zeros_at_position_0(case: Case) -> Array:
    """Padding, as it were."""
    return right(case) * (case.arguments["positions"] > 0)[:, None]


def padding_taken_for_1(case: Case) -> Array:
    """Two rows before position 0."""
    return case.changed(padding_idx=1).truth


def read_if(when: Callable[[Case], bool], weights: Callable[[int, int], Floats]) -> Mistake:
    """Other weights under a condition."""
    return lambda case: read_with(case, weights) if when(case) else right(case)


def sizes(case: Case) -> set[int]:
    """New sizes."""
    return {case.arguments["height"], case.arguments["width"]}


def exchanged(case: Case) -> Array:
    """Height for width."""
    return case.changed(height=case.arguments["width"], width=case.arguments["height"]).truth


def at_most_16_cells(case: Case) -> Array:
    """The sixteenth for all after it."""
    height, width = case.arguments["height"], case.arguments["width"]
    cell = np.minimum(np.arange(height), 15)[:, None] * width + np.minimum(np.arange(width), 15)
    first = class_tokens(case)
    return right(case)[np.concatenate([np.arange(first), first + cell.ravel()])]


def first_cell_passed_through(case: Case) -> Array:
    """As if it were a class token."""
    out = right(case)
    out[0] = case.arguments["table"][0]
    return out


def first_row_twice(case: Case) -> Array:
    """The class token's row for the distillation token."""
    out = right(case)
    out[1] = out[0]
    return out


def class_token_lost(case: Case) -> Array:
    """Where the size stays."""
    out = right(case)
    if sizes(case) == {old_size(case)}:
        out[0] = 0
    return out


def rescaled(grid: int, size: int, stretch: float) -> Floats:
    """Keys' kernel with a = -1/2 over the cells that there are."""
    distance = (centres(grid, size)[:, None] - np.arange(grid)) / stretch
    weights = keys(distance, -0.5)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def grows(case: Case) -> bool:
    """Along both axes."""
    return min(sizes(case)) > old_size(case)


MISTAKES: dict[str, Mistake] = {
    "plain-start": zeros_at_position_0,
    "plain-unsorted": positions_altered(
        lambda p: p[0] + np.arange(len(p)) if np.any(np.diff(p) < 0) else p
    ),
    "plain-last-of-512": last_row_missing(512),
    "after-padding-1": zero_taken_for_one,
    "after-padding-4": padding_taken_for_1,
    "two-start": zero_taken_for_one,
    "two-last-of-2048": positions_altered(lambda p: np.minimum(p, 2045)),
    "vit-2-to-3": read_if(lambda case: old_size(case) < 3, lambda g, n: linear(g, centres(g, n))),
    "vit-3-to-2-by-4": exchanged,
    "vit-4-to-4": read_if(
        lambda case: sizes(case) == {old_size(case)},
        lambda g, n: cubic(g, centres(g, n, 0.1), -0.75),
    ),
    "vit-14-to-24": at_most_16_cells,
    "siglip-2-to-3": first_cell_passed_through,
    "deit-2-to-3": first_row_twice,
    "dinov2-3-to-4": lambda case: case.under(resampling="bicubic").truth,
    "dinov2-3-to-3": class_token_lost,
    "timm-4-to-2": lambda case: read_with(case, lambda g, n: rescaled(g, n, 1)),
    "timm-2-to-3": read_if(grows, lambda g, n: cubic(g, centres(g, n), -0.5)),
    "vit-jax-3-to-4": lambda case: read_with(case, lambda g, n: linear(g, centres(g, n))),
}
