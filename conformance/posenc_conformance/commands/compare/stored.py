"""Tensors in files: their shapes, and the first columns of their rows on demand.

Files are mapped into memory, and a matrix is dropped from there once its columns are copied.
"""

import math
import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from posenc_conformance.door import named, opened
from posenc_conformance.errors import in_line
from posenc_conformance.judge.arrays import Array, Floats

COLUMNS = 256
"""Columns of a row that are read: the longest block of the quantised types."""
HINT = "give a folder of transformers, MLX, Mistral or Meta, or a GGUF file"
LARGEST_HEADER = 2**27
"""Bytes of the largest description of tensors."""
ROUNDING: Mapping[str, float] = {
    "F64": 2.0**-52,
    "F32": 2.0**-23,
    "F16": 2.0**-10,
    "BF16": 2.0**-8,
    "F8_E4M3": 2.0**-4,
    "F8_E5M2": 2.0**-3,
}
"""Largest relative error of a number by rounding to a type, if both are rounded differently: one
unit in the last place."""
DTYPES: Mapping[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "F8_E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
}
"""NumPy's types, by their names in safetensors files."""
SLACK = 1.5
"""A scale is rounded itself, and importance moves the steps: allowance on the error of a group."""
UNRELATED = 0.7
"""Half of the relative distance of unrelated rows, the square root of 2."""


def error_of_groups(bits: float, size: int) -> float:
    """Compute the largest relative error of ``size`` numbers that share a scale.

    The worst group has one large number, which decides the step, and small ones, whose errors are
    spread evenly over half a step on both sides. No bound is so large that unrelated rows are
    within it.
    """
    return min(UNRELATED, SLACK * math.sqrt(size / 12) * 2 / (2**bits - 1))


@dataclass(frozen=True)
class Stored:
    """A tensor in a file; one axis stands for one column in each row."""

    shape: tuple[int, ...]
    kind: str
    """How numbers are stored, for people: ``BF16``, ``Q4_K``, ``4 bits in groups of 64``."""
    bound: float
    """Largest relative error of a row by rounding to this kind."""
    load: Callable[[int], Floats]
    """Returns the first columns of all rows: ``[rows, columns]``."""
    is_read: bool = True
    """Whether its numbers are those of the matrix, and not packed in a way that is not read."""
    lacks: str = ""
    """The tensors without which its numbers are not known; empty if it has all."""

    @property
    def rows(self) -> int:
        """Count the rows: all numbers of a vector, also of one that is stored by heads."""
        return self.shape[0]

    @property
    def columns(self) -> int:
        """Count the columns of a row."""
        return math.prod(self.shape[1:])

    def read(self) -> Floats:
        """Read the first columns of all rows.

        Raises UserError for numbers that cannot be read.
        """
        return self.load(min(COLUMNS, self.columns))


Tensors = dict[str, Stored]
"""Tensors by name."""


@contextmanager
def mapped(path: Path) -> Iterator[mmap.mmap]:
    """Map a regular file into memory, for reading; turn exceptions in the block into a UserError.

    The map lives as long as arrays are made of it.
    """
    with opened(path, HINT) as stream:
        area = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        yield area


def bytes_of(area: mmap.mmap, begin: int, rows: int, width: int, name: str) -> Array:
    """Return a view of rows of ``width`` bytes: ``[rows, width]``.

    Raises ValueError if the file ends before.
    """
    if begin < 0 or rows < 0 or begin + rows * width > len(area):
        raise ValueError(f"{in_line(name)}: the file ends before its last row")
    return np.frombuffer(area, np.uint8, rows * width, begin).reshape(rows, width)


@contextmanager
def needed(area: mmap.mmap, begin: int, size: int) -> Iterator[None]:
    """Let the system read a range ahead while the block runs, and drop it from memory after it.

    Faults for the single pages of its rows take longer than reading all of a matrix.
    """
    start = begin - begin % mmap.PAGESIZE
    whole = (start, size + begin - start)
    if hasattr(mmap, "MADV_WILLNEED"):
        area.madvise(mmap.MADV_WILLNEED, *whole)
    yield
    if hasattr(mmap, "MADV_DONTNEED"):
        area.madvise(mmap.MADV_DONTNEED, *whole)


def plain(
    area: mmap.mmap, begin: int, shape: Sequence[int], kind: str, name: str, path: Path
) -> Stored:
    """Return a tensor whose numbers stand one after the other."""
    dtype = DTYPES[kind]
    shape = tuple(shape) or (1,)
    width = math.prod(shape[1:]) * dtype.itemsize
    content = bytes_of(area, begin, shape[0], width, name)

    def load(columns: int) -> Floats:
        with named(path, HINT), needed(area, begin, content.nbytes):
            part = np.ascontiguousarray(content[:, : columns * dtype.itemsize])
            return np.asarray(part.view(dtype), dtype=np.float64)

    return Stored(shape, kind, ROUNDING.get(kind, 0.0), load, kind in ROUNDING)


def joined(parts: Sequence[Stored]) -> Stored:
    """Return tensors that were cut between rows as one."""
    if len(parts) == 1:
        return parts[0]
    shape = (sum(part.rows for part in parts), *parts[0].shape[1:])
    return replace(
        parts[0],
        shape=shape,
        load=lambda columns: np.concatenate([part.load(columns) for part in parts]),
    )
