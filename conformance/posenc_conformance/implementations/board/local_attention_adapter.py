"""local-attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, in_sequence, once

if TYPE_CHECKING:
    from torch import Tensor


class LocalAttentionAdapter:
    """local-attention (seen: 1.11.2) by lucidrains: its rotary embedding, of windows from 0 on.

    Modules have the dtype of their model, and their frequencies with them.
    """

    requires = ("torch", "local-attention")

    def __init__(self) -> None:
        from local_attention.rotary import SinusoidalEmbeddings, apply_rotary_pos_emb

        self._apply = apply_rotary_pos_emb
        self._made = once(lambda dim, base, dtype: SinusoidalEmbeddings(dim, theta=base).to(dtype))

    @claims("half", dtype=FLOATS, max_position=8191)
    def rope(self, x: Array, positions: Positions, *, base: float) -> Any:
        """``SinusoidalEmbeddings`` and ``apply_rotary_pos_emb``, as in ``LocalAttention``."""
        values = to_torch(x)
        module = self._made(x.shape[-1], base, values.dtype)

        def turn(rows: Tensor) -> Any:
            angles, scale = module(rows)
            return self._apply(rows, rows, angles, scale=scale)[0]

        return in_sequence(lambda each: by_heads(turn, each, form="hnd"), values, positions)
