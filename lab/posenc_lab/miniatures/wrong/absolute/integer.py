"""Wrong implementations: the position itself."""

from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import KINDS, Array, Mistake, narrow


class Counting(Mistake, steps=True):
    """The position in every channel, in steps."""

    call = "integer"
    claimed = ("textbook",)

    def answer(self, positions: Array, dim: int, *, dtype: str) -> Array:
        column = self.places(np.asarray(positions)).astype(np.float64)[:, None]
        return self.finish(column * self.row(dim)).astype(KINDS[dtype])

    def places(self, positions: Array) -> Array:
        return positions

    def row(self, dim: int) -> Array:
        return np.ones(dim)

    def finish(self, table: Array) -> Array:
        return table


class CountingFromOne(Counting):
    """Positions are counted from 1."""

    named = "positions-shifted"

    def places(self, positions: Array) -> Array:
        return positions + 1


class CountingFromMinusThree(Counting):
    """Positions are counted from -3."""

    named = "positions-shifted"

    def places(self, positions: Array) -> Array:
        return positions - 3


class CountingRows(Counting):
    """Rows are numbered from 0, ignoring positions."""

    named = "row-numbers"

    def places(self, positions: Array) -> Array:
        return np.arange(len(positions))


class CountingChannels(Counting):
    """Channels are numbered, not positions."""

    named = "channel-numbers"

    def answer(self, positions: Array, dim: int, *, dtype: str) -> Array:
        return np.tile(np.arange(dim), (len(positions), 1)).astype(KINDS[dtype])


class CountingToOne(Counting):
    """Positions are divided by the largest position."""

    named = "normalized-after-all"

    def finish(self, table: Array) -> Array:
        return table / max(table.max(initial=0), 1)


class CountingByLength(Counting):
    """Positions are divided by their number."""

    named = "normalized-after-all"

    def finish(self, table: Array) -> Array:
        return table / max(len(table), 1)


class CountingInBfloat16(Counting):
    """Positions are held in bfloat16 for a float32 result."""

    named = "narrow-positions"

    def finish(self, table: Array) -> Array:
        return narrow(table, "bfloat16")


class CountingInFloat16(Counting):
    """Positions are held in float16 for a float64 result."""

    named = "narrow-positions"
    dtype = "float64"

    def finish(self, table: Array) -> Array:
        return narrow(np.minimum(table, 60000), "float16")


class CountingInAByte(Counting):
    """Positions wrap at 256."""

    named = "positions-wrapped"

    def places(self, positions: Array) -> Array:
        return positions.astype(np.uint8)


class CountingInInt16(Counting):
    """Positions wrap at 32,768."""

    named = "positions-wrapped"

    def places(self, positions: Array) -> Array:
        return positions.astype(np.int16)


class CountingInInt32(Counting):
    """Positions wrap at 2^31."""

    named = "positions-wrapped"
    limits: ClassVar = {"max_position": 2**32}

    def places(self, positions: Array) -> Array:
        return positions.astype(np.int32)


class CountingBackwards(Counting):
    """Positions are negated."""

    def finish(self, table: Array) -> Array:
        return -table


class CountingOnceTooFew(Counting):
    """The last channel is 0."""

    def row(self, dim: int) -> Array:
        return (np.arange(dim) < dim - 1).astype(np.float64)


class CountingUpTo256Channels(Counting):
    """Channels from index 256 on are 0."""

    def row(self, dim: int) -> Array:
        return (np.arange(dim) < 256).astype(np.float64)


class CountingUpTo2048(Counting):
    """Positions are clamped at 2,048."""

    def places(self, positions: Array) -> Array:
        return np.minimum(positions, 2048)


class CountingSorted(Counting):
    """Positions are sorted first."""

    def places(self, positions: Array) -> Array:
        return np.sort(positions)


class CountingOnce(Counting):
    """Results are cached by shape and dtype, ignoring positions."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def answer(self, positions: Array, dim: int, *, dtype: str) -> Array:
        key = len(positions), dim, dtype
        if key not in self._kept:
            self._kept[key] = super().answer(positions, dim, dtype=dtype)
        return self._kept[key].copy()
