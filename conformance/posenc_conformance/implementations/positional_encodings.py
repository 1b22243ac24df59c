"""positional-encodings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import Array, Positions, by_heads, in_sequence, once, rows_of

if TYPE_CHECKING:
    from torch import Tensor

LONGEST = 65_535


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
        self._encoding = once(PositionalEncoding1D)
        self._sum = once(lambda dim: Summer(PositionalEncoding1D(dim)))

    @claims("paper", base=10000.0, odd_dim="cut", max_position=LONGEST)
    def sinusoidal(self, positions: Positions, dim: int) -> Tensor:
        """Rows of the encoding of a sequence that reaches the largest position."""
        table = self._encoding(dim)
        return rows_of(lambda length: table(self.torch.empty(1, length, dim))[0], positions)

    @claims("unscaled", base=10000.0, max_position=LONGEST)
    def embedding_sum(self, x: Array, positions: Positions) -> Any:
        """``Summer`` of a sequence with these rows."""
        add = self._sum(x.shape[-1])
        return in_sequence(lambda each: by_heads(add, each, form="hnd"), to_torch(x), positions)
