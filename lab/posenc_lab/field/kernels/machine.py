"""A model of a kernel's machine: flat memory, strides, programs of a grid, and tiles of rows."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc_lab.field.pieces import Array, omega

Places = Callable[[int, Array], Array]
"""A function that takes a head and rows, and returns the rows' positions."""


@dataclass(frozen=True)
class Pointer:
    """Flat memory, the index of an array's first element, and its strides in elements."""

    memory: Array
    start: int
    strides: tuple[int, ...]

    def of(self, *index: Any) -> Any:
        """Return the offsets of elements, for indices of the leading axes."""
        steps = zip(index, self.strides, strict=False)
        return self.start + sum(np.asarray(place, np.int64) * step for place, step in steps)

    def part(self, *index: int) -> "Pointer":
        """Return a pointer to the same array that starts at an element."""
        return Pointer(self.memory, int(self.of(*index)), self.strides)

    def at(self, index: int) -> "Pointer":
        """Return a pointer to one index of the first axis."""
        return Pointer(self.memory, self.start + index * self.strides[0], self.strides[1:])

    def load(self, where: Array) -> Array:
        """Return elements, 0 outside of the memory."""
        size = len(self.memory)
        values = self.memory[where % size].astype(wide(self.memory.dtype))
        return np.where((where >= 0) & (where < size), values, values.dtype.type(0))

    def store(self, where: Array, values: Array) -> None:
        """Write elements; drop those outside of the memory."""
        inside = (where >= 0) & (where < len(self.memory))
        self.memory[where[inside]] = np.broadcast_to(values, where.shape)[inside]


def wide(dtype: Any) -> Any:
    """Return the dtype of computations."""
    return np.float64 if dtype == np.float64 else np.float32


def dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides, in elements, of an array without gaps."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def pointer(x: Array, guard: bool = False) -> Pointer:
    """Return a pointer to a non-empty array; with ``guard``, copy it if channels have gaps."""
    size = x.itemsize
    if any(step < 0 or step % size for step in x.strides) or (guard and x.strides[-1] != size):
        x = np.ascontiguousarray(x)
    last = sum((n - 1) * step for n, step in zip(x.shape, x.strides, strict=True)) // size
    memory = np.lib.stride_tricks.as_strided(x, (last + 1,), (size,))
    return Pointer(memory, 0, tuple(step // size for step in x.strides))


def from_the_storage(x: Array) -> Pointer:
    """Return a pointer to the beginning of a view's storage, not of the view."""
    whole = x
    while isinstance(whole.base, np.ndarray) and whole.base.dtype == x.dtype:
        whole = whole.base
    own = pointer(x)
    return replace(own, memory=whole.ravel(order="K")) if whole is not x else own


def restrided(found: Pointer, axis: int, step: int) -> Pointer:
    """Return a pointer with another stride of one axis."""
    strides = list(found.strides)
    strides[axis] = step
    return replace(found, strides=tuple(strides))


def pairs(size: int, layout: str) -> tuple[Array, Array]:
    """Return the first and second channels of the pairs of ``size`` channels."""
    steps = np.arange(size // 2)
    return (steps, steps + size // 2) if layout == "half" else (2 * steps, 2 * steps + 1)


def grid(*sizes: int) -> Iterator[tuple[int, ...]]:
    """Iterate over the indices of all programs, the last axis fastest."""
    return itertools.product(*map(range, sizes))


def turned(a: Array, b: Array, angle: Array) -> tuple[Array, Array]:
    """Rotate pairs, each product in the dtype of a."""
    cos, sin = np.cos(angle).astype(a.dtype), np.sin(angle).astype(a.dtype)
    return a * cos - b * sin, b * cos + a * sin


def tile(
    source: Pointer,
    target: Pointer,
    head: int,
    row: Array,
    positions: Array,
    channels: tuple[Array, Array],
    frequencies: Array,
) -> None:
    """Run one program: rotate rows of a head, reading pairs before writing them."""
    first, second = channels
    at, to = source.of(head, row[:, None]), target.of(head, row[:, None])
    step, width = source.strides[-1], target.strides[-1]
    a, b = source.load(at + first * step), source.load(at + second * step)
    angle = np.asarray(positions, np.float64)[:, None] * frequencies
    new_a, new_b = turned(a, b, angle)
    target.store(to + first * width, new_a)
    target.store(to + second * width, new_b)


def passed(source: Pointer, target: Pointer, head: int, row: Array, channels: Array) -> None:
    """Copy the channels that don't rotate."""
    at, to = source.of(head, row[:, None]), target.of(head, row[:, None])
    target.store(
        to + channels * target.strides[-1], source.load(at + channels * source.strides[-1])
    )


def launch(
    source: Pointer,
    target: Pointer,
    shape: tuple[int, int, int],
    places: Places,
    base: float,
    layout: str,
    block: int = 32,
) -> None:
    """Run a grid of heads and tiles of rows, from one array [heads, rows, width] to another."""
    heads, rows, width = shape
    channels, frequencies = pairs(width, layout), omega(width, base)
    for head, number in grid(heads, -(-rows // block)):
        row = np.arange(number * block, min((number + 1) * block, rows))
        tile(source, target, head, row, places(head, row), channels, frequencies)


def by_heads(x: Array) -> Array:
    """Reshape [..., n, d] to [heads, n, d]; copies only if the leading axes can't be merged."""
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def sinks(x: Array) -> Array:
    """Return a new dense array of zeros."""
    return np.zeros(x.shape, x.dtype)
