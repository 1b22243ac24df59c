"""Right implementations: causal masks."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import Array, right


@right
class CausalByTriangles:
    """A lower triangle with an offset, the common form."""

    @claims(alignment=["end", "start"])
    def causal_mask(self, q_len: int, k_len: int, *, alignment: str) -> Array:
        offset = k_len - q_len if alignment == "end" else 0
        return np.tril(np.ones((q_len, k_len), dtype=bool), offset)


@right
class CausalByBias:
    """An additive mask of 0 and -inf, filled row by row, then compared with 0."""

    @claims("end")
    def causal_mask(self, q_len: int, k_len: int) -> Array:
        bias = np.full((q_len, k_len), -np.inf, dtype=np.float32)
        for row, position in enumerate(range(k_len - q_len, k_len)):
            bias[row, : position + 1] = 0
        return bias == 0


@right
class CausalByRunningCount:
    """A running sum over queries of one-hot rows: a key stays visible from its own query on."""

    @claims("end", "start")
    def causal_mask(self, q_len: int, k_len: int, *, alignment: str) -> Array:
        rows = np.cumsum(np.eye(k_len, dtype=np.int32), axis=0) > 0
        return rows[k_len - q_len :] if alignment == "end" else rows[:q_len]


@right
class CausalForOneQuery:
    """Python lists of booleans, for one query."""

    @claims("end", q_len=1)
    def causal_mask(self, q_len: int, k_len: int) -> list[list[bool]]:
        return [[True] * k_len]
