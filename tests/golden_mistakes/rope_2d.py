"""The mistake that each golden of the rotary embedding of rows and columns alone catches."""

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import (
    Mistake,
    another_convention,
    base_altered,
    base_taken_for,
    last_row_missing,
    positions_altered,
    power_of_two_from,
    turned_forward,
    zero_taken_for_one,
)

counted_from_first = positions_altered(lambda p: p - p[:, :1])
cut_at_14 = positions_altered(lambda p: np.minimum(p, 13))


def head_padded(case: Case) -> Array:
    """Exponents 4t/d whose d is the next power of two."""
    head_dim = case.arguments["x"].shape[-1]
    return base_altered(lambda b: b ** (head_dim / power_of_two_from(head_dim)))(case)


def under(**conventions: str) -> Mistake:
    """Another convention."""
    return lambda case: case.under(**conventions).truth


def progression_halved(case: Case) -> Array:
    """Pairs of rows as for the whole head, those of columns going on where they end."""
    x, (rows, columns) = case.arguments["x"], case.arguments["positions"]
    half = x.shape[-1] // 2
    omega = case.arguments["base"] ** (-np.arange(half) / half)
    places = np.where(np.arange(half) < half // 2, rows[:, None], columns[:, None])
    numbers = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * places * omega)
    return np.concatenate([numbers.real, numbers.imag], axis=-1)


def first_head_for_all(case: Case) -> Array:
    """The frequencies of head 0 in every head."""
    weights = case.arguments["frequencies"]
    return case.changed(frequencies=np.repeat(weights[:, :1], weights.shape[1], axis=1)).truth


exchanged = positions_altered(lambda p: p[::-1])


MISTAKES: dict[str, Mistake] = {
    "rope-vit-d4-grid": zero_taken_for_one,
    "rope-vit-head64-grid14": base_taken_for(100, 10000),
    "rope-vit-batch-unsorted": counted_from_first,
    "llama-4-head88-grid24": head_padded,
    "rope-vit-head64-1023": last_row_missing(1024),
    "eva-head64-grid16": under(order="column-first"),
    "qwen2-vl-head80": under(layout="half-per-axis"),
    "pixtral-d8": under(progression="shared"),
    "pixtral-half-head64-grid64": progression_halved,
    "croco-head64": under(layout="half"),
    "gemma-4-head64": under(order="row-first"),
    "moonvit-head72": lambda case: case.changed(positions=case.arguments["positions"][::-1]).truth,
    "mixed-d8-heads2": first_head_for_all,
    "mixed-head64-beyond-14": cut_at_14,
    "vjp-rope-vit-d8": exchanged,
    "vjp-eva-d8": another_convention(order="column-first"),
    "vjp-qwen2-vl-d8": turned_forward,
    "vjp-pixtral-half-d8": another_convention(progression="shared"),
    "vjp-croco-d8": another_convention(layout="half"),
    "vjp-gemma-4-d8": another_convention(order="row-first"),
}
