"""Slopes of ALiBi, by the definition of the scheme."""

import numpy as np

from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.meaning import Group, case_of


def slopes(group: Group) -> Floats:
    """Compute the slope of each head of a group."""
    bias = case_of(group, {"q_len": 1, "k_len": 2}).truth[:, 0]
    return np.asarray(bias[:, 1] - bias[:, 0], dtype=np.float64)


def in_twos(slopes: Floats) -> tuple[tuple[int, int], ...]:
    """Return pairs of heads, those with the largest slopes first, without leaving one out.

    If the number of heads is odd, the last one is paired with one that is measured already.
    """
    order = [int(head) for head in np.argsort(-slopes, kind="stable")]
    if len(order) % 2:
        order.append(order[-2])
    return tuple(zip(order[::2], order[1::2], strict=True))
