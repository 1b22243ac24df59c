"""Wrong implementations: biases by clipped distance."""

from typing import Any

import ml_dtypes
import numpy as np

from tests.miniatures.mistakes import Array, Mistake


class Clipped(Mistake, steps=True):
    """A look-up by clipped distance, in steps."""

    call = "clipped_bias"
    claimed = ("key-minus-query",)

    def answer(self, table: Array, q_len: int, k_len: int) -> Array:
        reach = (len(table) - 1) // 2
        distance = self.distance(np.arange(k_len)[None, :], self.queries(q_len, k_len)[:, None])
        return self.look_up(table, self.shift(self.clip(distance, reach), reach))

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len)[k_len - q_len :]

    def distance(self, key: Array, query: Array) -> Array:
        return key - query

    def clip(self, distance: Array, reach: int) -> Array:
        return np.minimum(np.maximum(distance, -reach), reach)

    def shift(self, clipped: Array, reach: int) -> Array:
        return clipped + reach

    def look_up(self, table: Array, rows: Array) -> Array:
        return np.ascontiguousarray(table[rows].transpose(2, 0, 1))


class ClippedSignFlipped(Clipped):
    """Query minus key."""

    named = "sign-flipped"

    def distance(self, key: Array, query: Array) -> Array:
        return query - key


class ClippedFromZero(Clipped):
    """Query i taken to stand at position i although keys come before it."""

    named = "queries-from-zero"

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(q_len)


class ClippedOneAhead(Clipped):
    """The query taken to stand one position earlier."""

    named = "offset-shifted"

    def distance(self, key: Array, query: Array) -> Array:
        return key - query + 1


class ClippedOneBehind(Clipped):
    """Positions of queries counted from 1."""

    named = "offset-shifted"

    def distance(self, key: Array, query: Array) -> Array:
        return key - (query + 1)


class ClippedExclusively(Clipped):
    """The upper end of the range taken for excluded, as in Python's slices."""

    named = "clip-shifted"

    def clip(self, distance: Array, reach: int) -> Array:
        return np.clip(distance, -reach, max(reach - 1, 0))


class ClippedTooNear(Clipped):
    """Clipped one too early on both sides."""

    named = "clip-shifted"

    def clip(self, distance: Array, reach: int) -> Array:
        near = max(reach - 1, 0)
        return np.clip(distance, -near, near)


class ClippedByRemainder(Clipped):
    """Rows counted around the table instead of clipped."""

    named = "clip-shifted"

    def clip(self, distance: Array, reach: int) -> Array:
        return (distance + reach) % (2 * reach + 1) - reach


class ClippedUnshifted(Clipped):
    """Negative distances as indices, which NumPy counts from the end."""

    named = "table-unshifted"

    def shift(self, clipped: Array, reach: int) -> Array:
        return clipped


class ClippedAbsolute(Clipped):
    """The magnitude of the distance: past and future share rows."""

    def distance(self, key: Array, query: Array) -> Array:
        return np.abs(key - query)


class ClippedAtTheQuery(Clipped):
    """Keys ahead of the query treated as the query itself, as a decoder may."""

    def distance(self, key: Array, query: Array) -> Array:
        return np.minimum(key - query, 0)


class ClippedOfBytes(Clipped):
    """Distances held in eight bits."""

    def distance(self, key: Array, query: Array) -> Array:
        return (key - query).astype(np.int8).astype(np.int64)


class ClippedHeadsLast(Clipped):
    """[q_len, k_len, heads], as gathered and as the article prints it."""

    def look_up(self, table: Array, rows: Array) -> Array:
        return table[rows]


class ClippedHeadsMixed(Clipped):
    """The table read as [heads, 2k+1]."""

    def look_up(self, table: Array, rows: Array) -> Array:
        return super().look_up(table.reshape(table.shape[::-1]).T, rows)


class ClippedTransposed(Clipped):
    """Keys before queries, which squares do not show in the shape."""

    def look_up(self, table: Array, rows: Array) -> Array:
        found = super().look_up(table, rows)
        return np.swapaxes(found, 1, 2) if rows.shape[0] == rows.shape[1] else found


class ClippedScaled(Clipped):
    """Divided by 8, the square root of a head's size."""

    def look_up(self, table: Array, rows: Array) -> Array:
        return super().look_up(table, rows) / np.float32(8)


class ClippedThroughBfloat16(Clipped):
    """The table held in bfloat16 behind a float32 result."""

    def look_up(self, table: Array, rows: Array) -> Array:
        return super().look_up(table.astype(ml_dtypes.bfloat16), rows).astype(table.dtype)


class ClippedCausally(Clipped):
    """Keys after the query masked, which was not asked for."""

    def answer(self, table: Array, q_len: int, k_len: int) -> Array:
        ahead = np.arange(k_len) > self.queries(q_len, k_len)[:, None]
        return np.where(ahead, np.float32(-1e9), super().answer(table, q_len, k_len))


class ClippedKeepsTheFirstTable(Clipped):
    """Results kept by sizes, whatever the table holds."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def answer(self, table: Array, q_len: int, k_len: int) -> Array:
        key = table.shape, q_len, k_len
        if key not in self._kept:
            self._kept[key] = super().answer(table, q_len, k_len)
        return self._kept[key].copy()
