"""Exported vectors as plain data: cases with inputs, expected elements, and the error allowed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from posenc_conformance.judge.arrays import Array, dtype_name
from posenc_conformance.scheme_file.scheme import Point

FORMAT = 1
MARK = "posenc-vectors"
NOTE = (
    "An element is right if |got - expected| <= allowed, computed in float64; NaN is wrong. "
    "Elements that are not listed are not judged. An array of bfloat16 is given as the 16 bits of "
    "each value, which are the upper 16 bits of a float32."
)
Element = tuple[int, float, float]
"""Index in row-major order, expected value, allowed error."""
WHOLE = ("integer", "boolean")
"""Dtypes of results whose elements are whole numbers."""


@dataclass(frozen=True)
class Tensor:
    """An array among the arguments of a call."""

    dtype: str
    shape: tuple[int, ...]
    values: tuple[int | float, ...]
    """Values in row-major order; those of bfloat16 as bit patterns."""

    @classmethod
    def of(cls, array: Array) -> "Tensor":
        """Make a tensor from an array."""
        name = dtype_name(array)
        plain = array.view(np.uint16) if name == "bfloat16" else array
        return cls(name, array.shape, tuple(plain.ravel().tolist()))

    @property
    def array(self) -> Array:
        """The tensor as a NumPy array."""
        if self.dtype == "bfloat16":
            bits = np.array(self.values, dtype=np.uint16)
            return np.asarray(bits.view(ml_dtypes.bfloat16).reshape(self.shape))
        return np.array(self.values, dtype=self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class Vector:
    """One call with its expected result."""

    id: str
    call: str
    combination: str
    conventions: Point
    comment: str
    kills: tuple[str, ...]
    """Deviations for which the case rejects every form that its group can reject."""
    kills_some: tuple[str, ...]
    """Deviations for which the case rejects only some forms."""
    arguments: Mapping[str, Tensor | int | float]
    shape: tuple[int, ...]
    elements: tuple[Element, ...]


@dataclass(frozen=True)
class Vectors:
    """The cases of a scheme in one dtype of the result."""

    scheme: str
    dtype: str
    about: Mapping[str, Any]
    """Descriptions of the scheme's calls, conventions and deviations."""
    cases: tuple[Vector, ...]
    note: str = NOTE

    @property
    def name(self) -> str:
        """The name of the exported files, without an ending."""
        return f"{self.scheme}.{self.dtype}"
