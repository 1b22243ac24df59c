"""Mistakes that several schemes share.

All are the reference with altered arguments, or its result altered; ``case.changed()`` is the case
without the printed truth, so that ``case.changed().truth`` is what the reference says.
"""

from collections.abc import Callable

import numpy as np

import posenc
from posenc_conformance.families.rotary import forward_of, rotary_dim
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case

Mistake = Callable[[Case], Array]


def right(case: Case) -> Array:
    """A copy of what the reference says."""
    return case.changed().truth.copy()


def power_of_two_from(number: int) -> int:
    """The least power of two that is not below a number."""
    return 1 << (number - 1).bit_length()


def positions_altered(alter: Callable[[Array], Array]) -> Mistake:
    """Other positions than those asked for."""
    return lambda case: case.changed(positions=alter(case.arguments["positions"])).truth


def last_row_missing(rows: int) -> Mistake:
    """A table one row short: the row before stands in; longer sequences have a table of theirs."""
    return positions_altered(lambda p: np.where(p == rows - 1, rows - 2, p))


zero_taken_for_one = positions_altered(lambda p: np.maximum(p, 1))

cast_to_int32 = positions_altered(lambda p: p.astype(np.int32))


def base_altered(alter: Callable[[float], float]) -> Mistake:
    """Another base than the one asked for."""
    return lambda case: case.changed(base=alter(case.arguments["base"])).truth


def base_taken_for(base: float, other: float) -> Mistake:
    """One base replaced by another; all others are right."""
    return base_altered(lambda b: other if b == base else b)


base_ignored = base_altered(lambda b: 10000)


def queries_from_zero(case: Case) -> Array:
    """Query i at position i although keys come before it."""
    q_len, k_len = case.arguments["q_len"], case.arguments["k_len"]
    return case.changed(q_len=k_len).truth[:, :q_len]


def turned_forward(case: Case) -> Array:
    """Of a backward call: the gradient turned as queries and keys are."""
    return forward_of(case).truth


def unscaled_backward(case: Case) -> Array:
    """Of a backward call: pairs turned back at RoPE's frequencies."""
    given = case.arguments
    return posenc.rope_vjp(
        given["x"], given["positions"], base=given["base"], layout=str(case.conventions["layout"])
    )


def no_gradient_beyond(case: Case) -> Array:
    """Of a backward call: zero where channels pass through."""
    out = right(case)
    out[..., rotary_dim(case) :] = 0
    return out


def another_convention(**conventions: str) -> Mistake:
    """The result of other conventions."""
    return lambda case: case.changed().under(**conventions).truth
