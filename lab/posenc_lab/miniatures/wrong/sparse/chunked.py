"""Wrong implementations: chunked attention."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.masks import Steps, everyday, forgetful, zero_based


class Chunked(Steps, Mistake, steps=True):
    """The query's chunk, up to the query."""

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
    """A window of the chunk's size."""

    named = "window-for-chunk"

    def same(self, query: Array, key: Array, size: int) -> Array:
        return key > query - size


class ChunkedWithTheOneBefore(Chunked):
    """The chunk before as well, as in blockwise local attention."""

    named = "window-for-chunk"

    def same(self, query: Array, key: Array, size: int) -> Array:
        return query // size - key // size <= 1


class ChunkedBothWays(Chunked):
    """The whole chunk, what comes after the query too."""

    named = "future-visible"

    def past(self, query: Array, key: Array) -> Array:
        return key < query + 10**6


class ChunkedFutureOpen(Chunked):
    """Everything after the query."""

    named = "future-visible"

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        return super().allowed(query, key, *sizes, **conventions) | (key > query)


class ChunkedBehindPadding(Chunked):
    """One token of padding counted."""

    named = "chunks-shifted"

    def same(self, query: Array, key: Array, size: int) -> Array:
        return (query + 1) // size == (key + 1) // size


class ChunkedDropped(Chunked):
    """Plainly causal."""

    named = "chunks-dropped"

    def same(self, query: Array, key: Array, size: int) -> Array:
        return key >= 0 * query


class ChunkedFromTheEnd(Chunked):
    """Chunks counted back from the last key, as what a cache of one chunk holds."""

    named = "chunks-shifted"

    def same(self, query: Array, key: Array, size: int) -> Array:
        last = key.max(initial=0)
        return (last - query) // size == (last - key) // size


class ChunkedNotForOneQuery(Chunked):
    """No mask for a single query, as Llama 4's own code has it."""

    def answer(self, q_len: int, k_len: int, *sizes: int, **conventions: Any) -> Any:
        if q_len == 1:
            return np.ones((1, k_len), dtype=bool)
        return super().answer(q_len, k_len, *sizes, **conventions)


class ChunkedByPowersOfTwo(Chunked):
    """Chunks rounded up to a power of two."""

    def same(self, query: Array, key: Array, size: int) -> Array:
        return super().same(query, key, 1 << (size - 1).bit_length())


class ChunkedFirstOnly(Chunked):
    """One boundary only."""

    def same(self, query: Array, key: Array, size: int) -> Array:
        return (query < size) == (key < size)
