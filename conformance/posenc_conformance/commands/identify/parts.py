"""Choose the parts of an array to examine if it is too large to be examined whole.

Identifying a part identifies the whole: the first rows of a table, or the corner of a query-key
matrix, which is the same bias or mask for a shorter text.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posenc_conformance.judge.arrays import Array

LOOKED_AT = 2**20
"""Most numbers that are examined; each needs some five hundred bytes of memory."""


@dataclass(frozen=True)
class Part:
    """An examined part of an array."""

    array: Array
    words: str
    """Description of the part's place in the array; empty if it is the whole array."""


def parts_of(array: Array) -> Iterator[Part]:
    """Yield the parts of an array to examine, until one is identified."""
    array = array.reshape([n for n in array.shape if n != 1] or [1])
    if array.size <= LOOKED_AT:
        yield Part(array, "")
        if array.ndim == 2 and array.dtype.kind == "f":
            yield from _without_padding(array)
            yield Part(array.T, "the transpose: columns for rows")
        return
    shape = array.shape
    if len(shape) > 1 and shape[-1] == shape[-2]:
        side = math.isqrt(LOOKED_AT // math.prod(shape[:-2]))
        if side > 1:
            words = f"the first {side:,} queries and keys of {shape[-1]:,}"
            yield Part(array[..., :side, :side], words)
    # Rows are the first axis of a table; in a cache of cosines and sines they may be the second.
    axis = 0 if len(shape) < 3 else max(range(len(shape) - 1), key=lambda index: shape[index])
    rows = LOOKED_AT // (math.prod(shape) // shape[axis])
    if rows > 0:
        words = f"the first {rows:,} of {shape[axis]:,} rows"
        yield Part(array[(slice(None),) * axis + (slice(rows),)], words)


def _without_padding(array: Array) -> Iterator[Part]:
    """Yield the array without last columns that are all 1 or all 0, as for unrotated channels."""
    for value in (1, 0):
        padding = np.logical_and.accumulate((array == value).all(axis=0)[::-1])
        count = array.shape[1] - int(padding.sum())
        if 0 < count < array.shape[1]:
            words = f"the first {count:,} of {array.shape[1]:,} columns; the others are {value}"
            yield Part(array[:, :count], words)
