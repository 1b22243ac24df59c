"""What the parts of the adapter share."""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from torch import Tensor

FLOATS = ("float32", "bfloat16", "float16")
"""Tables and angles are float32 throughout: a float64 input gets no better result."""
ALL_FLOATS = ("float64", *FLOATS)
EXACT = 2**24
"""Positions are cast to float32, which holds every integer up to here."""


class Code(dict[str, Any]):
    """Modules of modelling code by the name of their model, imported when first asked for."""

    def __missing__(self, model: str) -> Any:
        self[model] = import_module(f"transformers.models.{model}.modeling_{model}")
        return self[model]


class Transformers:
    """The library, imported."""

    requires = ("torch", "transformers")

    def __init__(self) -> None:
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        self.torch = torch
        self.transformers = transformers
        self.code = Code()


def headed(values: Tensor) -> Tensor:
    """x of shape ``[..., n, head_dim]`` as ``[1, heads, n, head_dim]``, as models hold it."""
    *batch, rows, head_dim = values.shape
    return values.reshape(1, math.prod(batch), rows, head_dim)


def table_length(positions: npt.NDArray[np.int64]) -> int:
    """Length of a table that holds the positions, a power of two so that few tables are made."""
    largest = int(positions.max()) if positions.size else 0
    return max(64, 1 << largest.bit_length())
