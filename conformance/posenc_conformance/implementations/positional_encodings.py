"""positional-encodings."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims, to_torch

if TYPE_CHECKING:
    from torch import Tensor

Positions = npt.NDArray[np.int64]


class PositionalEncodingsAdapter:
    """positional-encodings (seen: 6.0.3) for torch: rows of ``PositionalEncoding1D``; ``Summer``.

    A module keeps the last table and gives it out again for a tensor of the same shape, of whatever
    dtype that is: hence float32 alone, so that all calls may share the modules.
    """

    requires = ("torch", "positional-encodings")

    def __init__(self) -> None:
        import torch
        from positional_encodings.torch_encodings import PositionalEncoding1D, Summer

        self.torch = torch
        self._encoding = lru_cache(maxsize=64)(PositionalEncoding1D)
        self._sum = lru_cache(maxsize=64)(lambda dim: Summer(PositionalEncoding1D(dim)))

    @claims("paper", base=10000.0, odd_dim="cut", max_position=65_535)
    def sinusoidal(self, positions: Positions, dim: int) -> Tensor:
        """Rows of the encoding of a sequence that reaches the largest position."""
        sequence = self.torch.empty(1, _length(positions), dim)
        return self._encoding(dim)(sequence)[0, to_torch(positions)]

    @claims("unscaled", base=10000.0, max_position=65_535)
    def embedding_sum(self, x: npt.NDArray[Any], positions: Positions) -> Tensor:
        """``Summer``; a row at a time, for positions may repeat."""
        values = to_torch(x)
        *batch, _n, dim = values.shape
        every = values.new_zeros(math.prod(batch), _length(positions), dim)
        sums = self.torch.empty_like(values)
        for row, position in enumerate(positions):
            every[:, position] = values[..., row, :].reshape(-1, dim)
            sums[..., row, :] = self._sum(dim)(every)[:, position].reshape(*batch, dim)
        return sums


def _length(positions: Positions) -> int:
    return int(positions.max()) + 1 if positions.size else 0
