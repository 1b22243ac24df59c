"""Right implementations: randomized positions."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


def slopes_as_released(heads: int) -> list[float]:
    """Return the slopes by the authors' recursion, as powers of a ratio."""
    if math.log2(heads).is_integer():
        start = 2 ** (-(2 ** -(math.log2(heads) - 3)))
        return [start * start**i for i in range(heads)]
    below = 2 ** math.floor(math.log2(heads))
    more = slopes_as_released(2 * below)[0::2][: heads - below]
    return slopes_as_released(below) + more


@right
class RandomizedAsReleased:
    """The authors' steps: rows of a table at sorted indices, and one list of distances, shifted."""

    @claims("authors")
    def randomized_positions(self, order: Array, n: int) -> Array:
        if n > len(order) or sorted(order) != list(range(len(order))):
            raise ValueError(order)
        return np.arange(len(order))[np.sort(order[:n])]

    @claims("authors", dtype=NARROW)
    def randomized_alibi_bias(
        self, heads: int, q_len: int, k_len: int, before: Array, after: Array, *, dtype: Any
    ) -> Array:
        for side in (before, after):
            if min([1, *side]) < 1 or len(set(side.tolist())) < max(len(side), k_len - 1):
                raise ValueError(side)
        right = -np.sort(after[: k_len - 1])
        left = np.sort(-before[: k_len - 1]) + np.float32(0.5)
        every = np.concatenate([np.zeros(1), left, np.zeros(1), right]).astype(np.float32)
        rows = [every[k_len - i : 2 * k_len - i] for i in range(k_len - q_len, k_len)]
        table = np.array(rows, dtype=np.float32).reshape(q_len, k_len)
        slopes = np.array(slopes_as_released(heads), dtype=np.float32)
        return (table * slopes[:, None, None]).astype(dtype)


@right
class RandomizedByMarks:
    """Positions read off a boolean mask; biases row by row in float64."""

    @claims("authors")
    def randomized_positions(self, order: Array, n: int) -> Array:
        marked = np.zeros(len(order), dtype=bool)
        if n > len(order) or np.any(np.bincount(order, minlength=len(order)) != 1):
            raise ValueError(order)
        marked[order[:n]] = True
        return np.flatnonzero(marked)

    @claims("authors", dtype=FLOATS)
    def randomized_alibi_bias(
        self, heads: int, q_len: int, k_len: int, before: Array, after: Array, *, dtype: Any
    ) -> Array:
        near, far = (np.unique(side[: k_len - 1]) for side in (before, after))
        if not len(near) == len(far) == k_len - 1 or min([1, *near, *far]) < 1:
            raise ValueError((before, after))
        bias = np.zeros((heads, q_len, k_len))
        for row in range(q_len):
            own = k_len - q_len + row
            bias[:, row, own + 1 :] = -far[: k_len - 1 - own]
            bias[:, row, :own] = (0.5 - near[:own])[::-1]
        return (np.array(slopes_as_released(heads))[:, None, None] * bias).astype(dtype)
