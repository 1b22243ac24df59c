"""Right implementations: query and key projections in another layout."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, Array, right


@right
class AsTransformersConverts:
    """A view of pairs with two axes swapped, without partial rotation."""

    @claims("to-half", "to-interleaved", dtype=FLOATS)
    def permute_qk(
        self, q_weight: Array, k_weight: Array, heads: int, key_heads: int, *, direction: str
    ) -> Array:
        parts = ((q_weight, heads), (k_weight, key_heads))
        if len(q_weight) * key_heads != len(k_weight) * heads:
            raise ValueError("heads of two sizes")
        return np.concatenate([self._permuted(*part, direction) for part in parts])

    @claims("to-half", "to-interleaved", dtype=FLOATS)
    def permute_qk_bias(
        self, q_bias: Array, k_bias: Array, heads: int, key_heads: int, *, direction: str
    ) -> Array:
        return self.permute_qk(
            q_bias[:, None], k_bias[:, None], heads, key_heads, direction=direction
        )[:, 0]

    @staticmethod
    def _permuted(rows: Array, heads: int, direction: str) -> Array:
        half = len(rows) // heads // 2
        if len(rows) != 2 * half * heads:
            raise ValueError("rows are no heads of pairs")
        pairs = (half, 2) if direction == "interleaved-to-half" else (2, half)
        seen = rows.reshape(heads, *pairs, rows.shape[1])
        return seen.swapaxes(1, 2).reshape(rows.shape)


@right
class MovedByMatrices:
    """A permutation matrix per head, also for heads with unrotated channels."""

    @claims("to-half", dtype="float64", rotation="partial")
    def permute_qk(
        self,
        q_weight: Array,
        k_weight: Array,
        heads: int,
        key_heads: int,
        *,
        direction: str,
        rotary_dim: int | None = None,
    ) -> Array:
        size = len(q_weight) // heads
        if size % 2 or (len(q_weight), len(k_weight)) != (heads * size, key_heads * size):
            raise ValueError("rows are no heads of pairs")
        width = rotary_dim or size
        matrix = np.zeros((size, size))
        matrix[np.arange(width, size), np.arange(width, size)] = 1
        for pair in range(width // 2):
            matrix[pair, 2 * pair] = matrix[width // 2 + pair, 2 * pair + 1] = 1
        every = np.kron(np.eye(heads + key_heads), matrix)
        return np.asarray(every @ np.concatenate([q_weight, k_weight]))
