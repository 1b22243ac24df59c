"""The adapter of positional-encodings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import (
    FLOATS,
    Array,
    Positions,
    by_heads,
    in_sequence,
    once,
    rows_of,
)

if TYPE_CHECKING:
    from torch import Tensor

LONGEST = 65_535


class PositionalEncodingsAdapter:
    """positional-encodings (seen: 6.0.3) for torch: rows of ``PositionalEncoding1D``; ``Summer``.

    Modules have the dtype of their model, and their frequencies with them. A module keeps the last
    table and gives it out again for a tensor of the same shape.
    """

    requires = ("torch", "positional-encodings")

    def __init__(self) -> None:
        import torch
        from positional_encodings.torch_encodings import PositionalEncoding1D, Summer

        self.torch = torch
        self._encoding = once(lambda dim, dtype: PositionalEncoding1D(dim).to(dtype))
        self._sum = once(lambda dim, dtype: Summer(PositionalEncoding1D(dim)).to(dtype))

    @claims("paper", dtype=FLOATS, base=10000.0, odd_dim="cut", max_position=LONGEST)
    def sinusoidal(self, positions: Positions, dim: int, *, dtype: str) -> Tensor:
        """Return rows of the encoding of a sequence.

        The sequence reaches the largest position.
        """
        kind = getattr(self.torch, dtype)
        table = self._encoding(dim, kind)
        return rows_of(
            lambda length: table(self.torch.empty(1, length, dim, dtype=kind))[0], positions
        )

    @claims("unscaled", dtype=FLOATS, base=10000.0, max_position=LONGEST)
    def embedding_sum(self, x: Array, positions: Positions) -> object:
        """Apply ``Summer`` to a sequence with these rows."""
        values = to_torch(x)
        add = self._sum(x.shape[-1], values.dtype)
        return in_sequence(lambda each: by_heads(add, each, form="hnd"), values, positions)
