"""Right implementations: the strided pattern."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import Array, right


@right
class StridedBySets:
    """The paper's sets, one query at a time."""

    @claims("union", "local", "local-inclusive", "column")
    def strided_mask(self, q_len: int, k_len: int, stride: int, *, part: str) -> Array:
        mask = np.zeros((q_len, k_len), dtype=bool)
        for row in range(q_len):
            i = k_len - q_len + row
            local = set(range(max(0, i - stride + (part != "local-inclusive")), i + 1))
            column = {j for j in range(i + 1) if (i - j) % stride == 0}
            chosen = {"union": local | column, "column": column}.get(part, local)
            mask[row, sorted(chosen)] = True
        return mask


@right
class StridedByBandPart:
    """The authors' dense masks: a band, and a comparison of remainders."""

    @claims("local", "column")
    def strided_mask(self, q_len: int, k_len: int, stride: int, *, part: str) -> Array:
        if stride < 1:
            raise ValueError("a stride leads on")
        q, k = np.indices((k_len, k_len))
        if part == "local":
            whole = np.tril(np.ones((k_len, k_len))) - np.tril(np.ones((k_len, k_len)), -stride)
            return whole[k_len - q_len :] == 1
        return ((q >= k) & ((q - k) % stride == 0))[k_len - q_len :]


@right
class StridedByDistance:
    """Visibility by distance, looked up for all pairs."""

    @claims("union", "local-inclusive")
    def strided_mask(self, q_len: int, k_len: int, stride: int, *, part: str) -> Array:
        seen = np.zeros(2 * k_len + 1, dtype=bool)  # the second half is for negative distances
        seen[: min(stride + 1, k_len)] = True
        if part == "union":
            seen[:k_len:stride] = True
        distance = np.subtract.outer(np.arange(k_len - q_len, k_len), np.arange(k_len))
        return seen[distance]
