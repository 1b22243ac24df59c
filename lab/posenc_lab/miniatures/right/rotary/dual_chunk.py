"""Right implementations: dual chunk attention."""

from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.remapped import by_complex_numbers, by_distance, fitting, scores, turned
from posenc_lab.miniatures.styles import FLOATS, Array, right


def chunk_length(chunk_size: int, local_size: int) -> int:
    """Return the number of tokens per chunk; refuse local sizes that do not fit."""
    if not 0 <= local_size < chunk_size:
        raise ValueError(f"{local_size} local tokens of {chunk_size}")
    return chunk_size - local_size


@right
class ChunkByChunk:
    """The authors' code for prefill: one product per query chunk and kind of key chunk."""

    @claims("half", "interleaved", dtype=FLOATS)
    def dual_chunk_scores(
        self, q: Array, k: Array, *, chunk_size: int, local_size: int, base: float, layout: str
    ) -> Array:
        length = chunk_length(chunk_size, local_size)
        query, key = fitting(q, k)
        where, first = query[:, 0], k.shape[1] - q.shape[1]
        keys = turned(k, key % length, base, layout)
        table = np.minimum(np.arange(length) + length, chunk_size)
        out = np.full((*q.shape[:2], k.shape[1]), -np.inf, dtype=q.dtype)
        for begin in range(0, k.shape[1], length):
            end = min(begin + length, k.shape[1])
            rows = slice(max(begin - first, 0), max(end - first, 0))
            own, inside = q[:, rows], where[rows] % length
            if not own.shape[1]:
                continue
            before = max(begin - length, 0)
            for columns, places in (
                (slice(begin, end), inside),
                (slice(before, begin), table[inside]),
                (slice(0, before), 0 * inside + table[-1]),
            ):
                out[:, rows, columns] = scores(turned(own, places, base, layout), keys[:, columns])
        return out


@right
class ThreeQueries:
    """vLLM's code: every query rotated three ways, and the one for a key's chunk taken."""

    @claims("half", "interleaved", dtype=FLOATS)
    def dual_chunk_scores(
        self, q: Array, k: Array, *, chunk_size: int, local_size: int, base: float, layout: str
    ) -> Array:
        length = chunk_length(chunk_size, local_size)
        query, key = fitting(q, k)
        inside = query[:, 0] % length
        successive = np.clip(np.arange(length) + length, None, chunk_size)
        keys = turned(k, key % length, base, layout)
        own, next_to, far = (
            scores(turned(q, places, base, layout), keys)
            for places in (inside, successive[inside], np.full_like(inside, successive[-1]))
        )
        apart = query // length - key // length
        return np.where(apart == 0, own, np.where(apart == 1, next_to, far))


def mapped(query: Array, key: Array, chunk_size: int, local_size: int) -> Array:
    """Return each query's mapped distance to each key up to its own."""
    length = chunk_length(chunk_size, local_size)
    out = np.zeros((len(query), len(key)))
    for (i, _), m in np.ndenumerate(query):
        for j in key[: m + 1]:
            begin = m - m % length
            if j >= begin:
                out[i, j] = m - j
            elif j >= begin - length:
                out[i, j] = min(m - begin + length, chunk_size) - (j - begin + length)
            else:
                out[i, j] = min(2 * length - 1, chunk_size) - j % length
    return out


@right
class ChunkMap:
    """The distance map, then complex numbers in float64."""

    @claims("half", "interleaved", dtype=FLOATS)
    def dual_chunk_scores(
        self, q: Array, k: Array, *, chunk_size: int, local_size: int, **rest: Any
    ) -> Array:
        distance = mapped(*fitting(q, k), chunk_size, local_size)
        return by_complex_numbers(q, k, distance, **rest)


@right
class ChunkPairByPair:
    """One logit at a time, in Python floats."""

    @claims("half", "interleaved", dtype="float64", heads=[1, 2], head_dim=[2, 4])
    def dual_chunk_scores(
        self, q: Array, k: Array, *, chunk_size: int, local_size: int, **rest: Any
    ) -> Array:
        distance = mapped(*fitting(q, k), chunk_size, local_size)
        return by_distance(q, k, distance, **rest)
