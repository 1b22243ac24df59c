"""Right implementations: the position itself."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, KINDS, NARROW, Array, right


@right
class CountingByBroadcast:
    """A read-only broadcast of one column."""

    @claims("textbook", dtype=FLOATS)
    def integer(self, positions: Array, dim: int, *, dtype: str) -> Array:
        if dim < 1:
            raise ValueError(dim)
        column = np.asarray(positions)[:, None].astype(KINDS[dtype])
        return np.broadcast_to(column, (len(positions), dim))


@right
class CountingByOuterProduct:
    """Positions in float32 times a row of ones, rounded again to the dtype."""

    @claims("textbook", dtype=NARROW, max_position=2**24)
    def integer(self, positions: Array, dim: int, *, dtype: str) -> Array:
        if dim < 1:
            raise ValueError(dim)
        return np.outer(positions.astype(np.float32), np.ones(dim, np.float32)).astype(KINDS[dtype])


@right
class CountingInLists:
    """Python numbers, row by row."""

    @claims("textbook", dtype="float64", dim=[1, 4])
    def integer(self, positions: Array, dim: int) -> Array:
        rows = [[float(position)] * dim for position in positions]
        return np.array(rows, dtype=np.float64).reshape(-1, dim)


@right
class CountingInATable:
    """A table of the first 4,096 positions, repeated along the channels."""

    table = np.arange(4096, dtype=np.float32)

    @claims("textbook", dtype="float32", max_position=4095)
    def integer(self, positions: Array, dim: int) -> Array:
        if dim < 1:
            raise ValueError(dim)
        return self.table.take(positions).repeat(dim).reshape(len(positions), dim)
