"""Wrong implementations: biases by clipped distance."""

from typing import Any

import ml_dtypes
import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, narrow


class Clipped(Mistake, steps=True):
    """A lookup by clipped distance, in steps."""

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
    """Distances are query minus key."""

    named = "sign-flipped"

    def distance(self, key: Array, query: Array) -> Array:
        return query - key


class ClippedFromZero(Clipped):
    """Query i is at position i although keys come before it."""

    named = "queries-from-zero"

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(q_len)


class ClippedOneAhead(Clipped):
    """Queries are one position too early."""

    named = "offset-shifted"

    def distance(self, key: Array, query: Array) -> Array:
        return key - query + 1


class ClippedOneBehind(Clipped):
    """Query positions are counted from 1."""

    named = "offset-shifted"

    def distance(self, key: Array, query: Array) -> Array:
        return key - (query + 1)


class ClippedExclusively(Clipped):
    """The upper end of the range is excluded, as in Python's slices."""

    named = "clip-shifted"

    def clip(self, distance: Array, reach: int) -> Array:
        return np.clip(distance, -reach, max(reach - 1, 0))


class ClippedTooNear(Clipped):
    """Distances are clipped one too early on both sides."""

    named = "clip-shifted"

    def clip(self, distance: Array, reach: int) -> Array:
        near = max(reach - 1, 0)
        return np.clip(distance, -near, near)


class ClippedByRemainder(Clipped):
    """Distances wrap around the table instead of being clipped."""

    named = "clip-shifted"

    def clip(self, distance: Array, reach: int) -> Array:
        return (distance + reach) % (2 * reach + 1) - reach


class ClippedUnshifted(Clipped):
    """Distances index the table unshifted; NumPy counts negative ones from the end."""

    named = "table-unshifted"

    def shift(self, clipped: Array, reach: int) -> Array:
        return clipped


class ClippedAbsolute(Clipped):
    """Distances lose their sign: past and future share rows."""

    def distance(self, key: Array, query: Array) -> Array:
        return np.abs(key - query)


class ClippedAtTheQuery(Clipped):
    """Keys after the query get the query's own row, as a decoder may do."""

    def distance(self, key: Array, query: Array) -> Array:
        return np.minimum(key - query, 0)


class ClippedOfBytes(Clipped):
    """Distances are held in int8."""

    def distance(self, key: Array, query: Array) -> Array:
        return (key - query).astype(np.int8).astype(np.int64)


class ClippedHeadsLast(Clipped):
    """The result is [q_len, k_len, heads], as gathered and as in the article."""

    def look_up(self, table: Array, rows: Array) -> Array:
        return table[rows]


class ClippedHeadsMixed(Clipped):
    """The table is read as [heads, 2k+1]."""

    def look_up(self, table: Array, rows: Array) -> Array:
        return super().look_up(table.reshape(table.shape[::-1]).T, rows)


class ClippedTransposed(Clipped):
    """A square bias is transposed, which its shape does not show."""

    def look_up(self, table: Array, rows: Array) -> Array:
        bias = super().look_up(table, rows)
        return np.swapaxes(bias, 1, 2) if rows.shape[0] == rows.shape[1] else bias


class ClippedScaled(Clipped):
    """The bias is divided by 8, the square root of a head dimension of 64."""

    def look_up(self, table: Array, rows: Array) -> Array:
        return super().look_up(table, rows) / np.float32(8)


class ClippedThroughBfloat16(Clipped):
    """The table is held in bfloat16 for a float32 result."""

    def look_up(self, table: Array, rows: Array) -> Array:
        return super().look_up(table.astype(ml_dtypes.bfloat16), rows).astype(table.dtype)


class ClippedCausally(Clipped):
    """Keys after the query are masked although no mask is claimed."""

    def answer(self, table: Array, q_len: int, k_len: int) -> Array:
        ahead = np.arange(k_len) > self.queries(q_len, k_len)[:, None]
        return np.where(ahead, np.float32(-1e9), super().answer(table, q_len, k_len))


class ClippedKeepsTheFirstTable(Clipped):
    """Results are cached by shape, ignoring the table's values."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def answer(self, table: Array, q_len: int, k_len: int) -> Array:
        key = table.shape, q_len, k_len
        if key not in self._kept:
            self._kept[key] = super().answer(table, q_len, k_len)
        return self._kept[key].copy()


class TableGradients(Mistake, steps=True):
    """Upstream gradients summed by table row, in steps."""

    call = "clipped_bias_vjp"
    claimed = ("key-minus-query",)

    def answer(self, gradient: Array, *, rows: int) -> Array:
        heads, q_len, k_len = gradient.shape
        offset = self.offset(np.arange(k_len)[None], self.queries(q_len, k_len)[:, None])
        seen = np.moveaxis(gradient.astype(np.float64), 0, -1)
        table = np.zeros((rows, heads))
        self.add(table, offset, seen, rows // 2)
        return table.astype(gradient.dtype)

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len)[k_len - q_len :]

    def offset(self, key: Array, query: Array) -> Array:
        return key - query

    def add(self, table: Array, offset: Array, gradient: Array, reach: int) -> None:
        np.add.at(table, np.clip(offset, -reach, reach) + reach, gradient)


class TableGradientsOfTheBand(TableGradients):
    """Only diagonals within reach are summed, as in a convolution's gradient."""

    named = "gradient-clipped-lost"

    def add(self, table: Array, offset: Array, gradient: Array, reach: int) -> None:
        for distance in range(-reach, reach + 1):
            table[distance + reach] = gradient[offset == distance].sum(axis=0)


class TableGradientsAssigned(TableGradients):
    """Gradients are assigned to rows by index, not added."""

    named = "gradient-overwritten"

    def add(self, table: Array, offset: Array, gradient: Array, reach: int) -> None:
        table[np.clip(offset, -reach, reach) + reach] = gradient


class TableGradientsAugmented(TableGradients):
    """Gradients are added by an augmented assignment, which keeps one per row."""

    named = "gradient-overwritten"

    def add(self, table: Array, offset: Array, gradient: Array, reach: int) -> None:
        table[np.clip(offset, -reach, reach) + reach] += gradient


class TableGradientsAveraged(TableGradients):
    """Gradients of a row are averaged, not summed."""

    named = "gradient-averaged"

    def add(self, table: Array, offset: Array, gradient: Array, reach: int) -> None:
        super().add(table, offset, gradient, reach)
        row = (np.clip(offset, -reach, reach) + reach).ravel()
        table /= np.maximum(np.bincount(row, minlength=len(table)), 1)[:, None]


class TableGradientsSignFlipped(TableGradients):
    """Offsets are query minus key."""

    named = "gradient-sign-flipped"

    def offset(self, key: Array, query: Array) -> Array:
        return query - key


class TableGradientsFromZero(TableGradients):
    """Queries start at position 0."""

    named = "gradient-queries-from-zero"

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(q_len)


class TableGradientsOfEnds(TableGradients):
    """Of all clipped keys, only the nearest contribute."""

    def add(self, table: Array, offset: Array, gradient: Array, reach: int) -> None:
        near = np.abs(offset) <= reach + 1
        super().add(table, offset, gradient * near[..., None], reach)


class TableGradientsCausal(TableGradients):
    """Keys after the query do not contribute."""

    def add(self, table: Array, offset: Array, gradient: Array, reach: int) -> None:
        super().add(table, offset, gradient * (offset <= 0)[..., None], reach)


class TableGradientsInBfloat16(TableGradients):
    """Sums are held in bfloat16."""

    def add(self, table: Array, offset: Array, gradient: Array, reach: int) -> None:
        row = np.clip(offset, -reach, reach) + reach
        for place in np.ndindex(row.shape):
            table[row[place]] = narrow(table[row[place]] + gradient[place], "bfloat16")


class TableGradientsOfTheFirstBlock(TableGradients):
    """Queries from index 128 on are skipped, as in a kernel with one block."""

    def add(self, table: Array, offset: Array, gradient: Array, reach: int) -> None:
        super().add(table, offset[:128], gradient[:128], reach)
