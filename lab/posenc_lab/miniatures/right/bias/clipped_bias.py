"""Right implementations: biases by clipped distance."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


@right
class EmbeddingOfDistances:
    """Clip, shift, look up, and move the heads to the front as a view."""

    @claims(dtype=FLOATS)
    def clipped_bias(self, table: Array, q_len: int, k_len: int) -> Array:
        if len(table) % 2 == 0 or q_len > k_len:
            raise ValueError((table.shape, q_len, k_len))
        reach = len(table) // 2
        memory, context = np.arange(k_len), np.arange(k_len)[k_len - q_len :]
        relative = (memory[None] - context[:, None]).clip(-reach, reach) + reach
        return table[relative].transpose(2, 0, 1)


@right
class SlidingRow:
    """One long row of all distances per head; every query reads a window of it."""

    @claims(dtype=["float32", "bfloat16"])
    def clipped_bias(self, table: Array, q_len: int, k_len: int) -> Array:
        reach = len(table) // 2
        ends = max(k_len - 1 - reach, 0)
        long = np.concatenate([table[:1].repeat(ends, 0), table, table[-1:].repeat(ends, 0)]).T
        middle = ends + reach
        rows = [long[:, middle - i : middle - i + k_len] for i in range(k_len - q_len, k_len)]
        return np.stack(rows, axis=1)


@right
class OneHotRows:
    """A product with one-hot rows, as on hardware without a gather."""

    @claims(dtype=["float64", "float32"])
    def clipped_bias(self, table: Array, q_len: int, k_len: int) -> Array:
        reach = len(table) // 2
        offset = np.subtract.outer(np.arange(k_len - q_len, k_len), np.arange(k_len))
        row = reach - np.clip(offset, -reach, reach)
        one_hot = (row[..., None] == np.arange(len(table))).astype(table.dtype)
        return np.einsum("ijr,rh->hij", one_hot, table)


@right
class BiasByLoops:
    """Python loops, for a decoder with a single query."""

    @claims(dtype="float32", q_len=1)
    def clipped_bias(self, table: Array, q_len: int, k_len: int) -> Array:
        reach, last = len(table) // 2, k_len - 1
        return np.array(
            [
                [[table[max(j - last, -reach) + reach, head] for j in range(k_len)]]
                for head in range(table.shape[1])
            ]
        )


@right
class GradientOfDiagonals:
    """Sums of whole diagonals in float32, those beyond the reach added to the end rows."""

    @claims(dtype=NARROW)
    def clipped_bias_vjp(self, gradient: Array, *, rows: int) -> Array:
        heads, q_len, k_len = gradient.shape
        reach, wide = rows // 2, gradient.astype(np.float32)
        table = np.zeros((rows, heads), dtype=np.float32)
        for offset in range(1 - k_len, q_len):
            diagonal = np.trace(wide, offset + k_len - q_len, axis1=1, axis2=2)
            table[min(max(offset, -reach), reach) + reach] += diagonal
        return table.astype(gradient.dtype)


@right
class GradientOfOneHotRows:
    """A product with one-hot rows."""

    @claims(dtype=FLOATS)
    def clipped_bias_vjp(self, gradient: Array, *, rows: int) -> Array:
        _, q_len, k_len = gradient.shape
        reach = rows // 2
        offset = np.arange(k_len)[None] - np.arange(k_len - q_len, k_len)[:, None]
        one_hot = np.eye(rows)[np.clip(offset, -reach, reach) + reach]
        wide = gradient.astype(np.float64)
        return np.einsum("hij,ijr->rh", wide, one_hot).astype(gradient.dtype)
