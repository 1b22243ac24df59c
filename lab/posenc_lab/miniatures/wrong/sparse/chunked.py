"""Wrong implementations: chunked attention."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.masks import Steps, everyday, forgetful, zero_based


class Chunked(Steps, Mistake, steps=True):
    """Keys of the query's chunk up to the query, in steps."""

    call = "chunked_mask"
    claimed = ("causal",)

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        return self.same(query, key, sizes[0]) & self.past(query, key)

    def same(self, query: Array, key: Array, size: int) -> Array:
        return query // size == key // size

    def past(self, query: Array, key: Array) -> Array:
        return key <= query


everyday(Chunked, "causal")
forgetful(Chunked, "causal")
zero_based(Chunked, "causal")

for _shift in (1, -1):
    made(
        Chunked,
        f"Chunked {_shift:+d}",
        "A chunk off by one.",
        named="chunk-off-by-one",
        same=lambda self, query, key, size, shift=_shift: Chunked.same(
            self, query, key, max(size + shift, 1)
        ),
    )


class ChunkedSliding(Chunked):
    """A sliding window of the chunk's size replaces the chunk."""

    named = "window-for-chunk"

    def same(self, query: Array, key: Array, size: int) -> Array:
        return key > query - size


class ChunkedWithTheOneBefore(Chunked):
    """The previous chunk is visible too, as in blockwise local attention."""

    named = "window-for-chunk"

    def same(self, query: Array, key: Array, size: int) -> Array:
        return query // size - key // size <= 1


class ChunkedBothWays(Chunked):
    """The whole chunk is visible, including keys after the query."""

    named = "future-visible"

    def past(self, query: Array, key: Array) -> Array:
        return key < query + 10**6


class ChunkedFutureOpen(Chunked):
    """All keys after the query are visible."""

    named = "future-visible"

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        return super().allowed(query, key, *sizes, **conventions) | (key > query)


class ChunkedBehindPadding(Chunked):
    """Chunks start as if one padding token preceded the text."""

    named = "chunks-shifted"

    def same(self, query: Array, key: Array, size: int) -> Array:
        return (query + 1) // size == (key + 1) // size


class ChunkedDropped(Chunked):
    """The mask is causal without chunks."""

    named = "chunks-dropped"

    def same(self, query: Array, key: Array, size: int) -> Array:
        return key >= 0 * query


class ChunkedFromTheEnd(Chunked):
    """Chunks are counted back from the last key, as in a cache of one chunk."""

    named = "chunks-shifted"

    def same(self, query: Array, key: Array, size: int) -> Array:
        last = key.max(initial=0)
        return (last - query) // size == (last - key) // size


class ChunkedFromTheFirstKeptKey(Chunked):
    """A cache keeps one key less than a chunk, and chunks are counted from the first kept key."""

    named = "chunks-of-kept-keys"

    def answer(self, q_len: int, k_len: int, *sizes: int, **conventions: Any) -> Any:
        kept = min(k_len, sizes[0] - 1 + q_len)
        mask = np.zeros((q_len, k_len), dtype=bool)
        mask[:, k_len - kept :] = super().answer(q_len, kept, *sizes, **conventions)
        return mask


class ChunkedBeforeTheFirst(Chunked):
    """A single query that begins a chunk still sees the chunk before it."""

    def answer(self, q_len: int, k_len: int, *sizes: int, **conventions: Any) -> Any:
        if q_len == 1 and k_len % sizes[0] == 1:
            return np.arange(k_len)[None] >= k_len - 1 - sizes[0]
        return super().answer(q_len, k_len, *sizes, **conventions)


class ChunkedNotForOneQuery(Chunked):
    """A single query has no mask, as in Llama 4's own code."""

    def answer(self, q_len: int, k_len: int, *sizes: int, **conventions: Any) -> Any:
        if q_len == 1:
            return np.ones((1, k_len), dtype=bool)
        return super().answer(q_len, k_len, *sizes, **conventions)


class ChunkedByPowersOfTwo(Chunked):
    """Chunk sizes are rounded up to a power of two."""

    def same(self, query: Array, key: Array, size: int) -> Array:
        return super().same(query, key, 1 << (size - 1).bit_length())


class ChunkedFirstOnly(Chunked):
    """Only the first chunk has a boundary."""

    def same(self, query: Array, key: Array, size: int) -> Array:
        return (query < size) == (key < size)
