"""performer-pytorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, in_sequence, once

if TYPE_CHECKING:
    from torch import Tensor

CONTEXT = 8192


class PerformerPytorchAdapter:
    """performer-pytorch (seen: 1.1.4) by lucidrains: its tables, and rotary attention's turn.

    Models have a largest length, here 8,192, and base 10,000.
    """

    requires = ("torch", "performer-pytorch")

    def __init__(self) -> None:
        import torch
        from performer_pytorch import performer_pytorch

        self.torch = torch
        self._apply = performer_pytorch.apply_rotary_pos_emb
        self._made = once(
            lambda dim, dtype: performer_pytorch.FixedPositionalEmbedding(dim, CONTEXT).to(dtype)
        )

    @claims("concat", base=10000.0, max_position=CONTEXT - 1, odd_dim="refuse")
    def sinusoidal(self, positions: Positions, dim: int) -> Tensor:
        """Rows of ``FixedPositionalEmbedding``."""
        module = self._made(dim, self.torch.float32)
        return module(self.torch.empty(1, CONTEXT, 1))[0, to_torch(positions)]

    @claims("interleaved", dtype=FLOATS, base=10000.0, max_position=CONTEXT - 1)
    def rope(self, x: Array, positions: Positions) -> Any:
        """``apply_rotary_pos_emb`` with that table, as ``SelfAttention`` uses it."""
        values = to_torch(x)
        module = self._made(x.shape[-1], values.dtype)

        def turn(rows: Tensor) -> Any:
            return self._apply(rows, rows, module(rows[:1]))[0]

        return in_sequence(lambda each: by_heads(turn, each, form="hnd"), values, positions)
