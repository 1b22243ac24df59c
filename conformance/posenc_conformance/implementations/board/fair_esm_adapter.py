"""ESM of fair-esm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, in_sequence, once

if TYPE_CHECKING:
    from torch import Tensor


class FairEsmAdapter:
    """fair-esm (seen: 2.0.0): the rotary embedding of ESM-2, base 10,000, of sequences from 0 on.

    Modules have the dtype of their model, and their frequencies with them.
    """

    requires = ("torch", "fair-esm")

    def __init__(self) -> None:
        from esm.rotary_embedding import RotaryEmbedding

        self._made = once(lambda dim, dtype: RotaryEmbedding(dim).to(dtype))

    @claims("half", dtype=FLOATS, base=10000.0, max_position=8191)
    def rope(self, x: Array, positions: Positions) -> Any:
        """``RotaryEmbedding`` of queries and keys, rows that are not asked for being zeros."""
        values = to_torch(x)
        module = self._made(x.shape[-1], values.dtype)

        def turn(sequence: Tensor) -> Any:
            return by_heads(lambda rows: module(rows, rows)[0], sequence, form="hnd")

        return in_sequence(turn, values, positions)
