"""Right implementations: chunked attention."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import Array, right


@right
class ChunkedByDifferences:
    """Llama 4's code: keys of the query's chunk, without later keys."""

    @claims("causal")
    def chunked_mask(self, q_len: int, k_len: int, chunk_size: int) -> Array:
        if chunk_size < 1:
            raise ValueError("a chunk holds at least one key")
        place = np.arange(k_len)
        chunks = np.abs(place[None] // chunk_size - place[:, None] // chunk_size)
        ahead = place[None] - place[:, None]
        return ((chunks == 0) & (ahead <= 0))[k_len - q_len :]


@right
class ChunkedByTriangles:
    """A triangle per chunk, as if each were a separate text."""

    @claims("causal")
    def chunked_mask(self, q_len: int, k_len: int, chunk_size: int) -> Array:
        count = -(-k_len // chunk_size)
        whole = np.kron(np.eye(count), np.tri(chunk_size))
        return whole[k_len - q_len : k_len, :k_len] > 0


@right
class ChunkedByEmptiedCache:
    """A KV cache that is emptied at the start of each chunk."""

    @claims("causal")
    def chunked_mask(self, q_len: int, k_len: int, chunk_size: int) -> Array:
        rows = np.zeros((k_len, k_len), dtype=bool)
        cache: list[int] = []
        for position in range(k_len):
            if position % chunk_size == 0:
                cache = []
            cache.append(position)
            rows[position, cache] = True
        return rows[k_len - q_len :]
