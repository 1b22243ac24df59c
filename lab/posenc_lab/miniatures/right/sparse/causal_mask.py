"""Right implementations: causal masks."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import Array, right


@right
class CausalByTriangles:
    """A lower triangle with an offset, as everybody writes it."""

    @claims(alignment=["end", "start"])
    def causal_mask(self, q_len: int, k_len: int, *, alignment: str) -> Array:
        offset = k_len - q_len if alignment == "end" else 0
        return np.tril(np.ones((q_len, k_len), dtype=bool), offset)


@right
class CausalByBias:
    """An additive mask of zeros and minus infinity, filled row by row, and then compared."""

    @claims("end")
    def causal_mask(self, q_len: int, k_len: int) -> Array:
        bias = np.full((q_len, k_len), -np.inf, dtype=np.float32)
        for row, position in enumerate(range(k_len - q_len, k_len)):
            bias[row, : position + 1] = 0
        return bias == 0


@right
class CausalByRunningCount:
    """A key is seen from its own query on: a running sum over queries of one-hot rows."""

    @claims("end", "start")
    def causal_mask(self, q_len: int, k_len: int, *, alignment: str) -> Array:
        rows = np.cumsum(np.eye(k_len, dtype=np.int32), axis=0) > 0
        return rows[k_len - q_len :] if alignment == "end" else rows[:q_len]


@right
class CausalForOneQuery:
    """Python's lists of booleans, and one query only."""

    @claims("end", q_len=1)
    def causal_mask(self, q_len: int, k_len: int) -> list[list[bool]]:
        return [[True] * k_len]
