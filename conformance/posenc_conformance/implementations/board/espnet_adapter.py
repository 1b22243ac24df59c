"""ESPnet."""

from __future__ import annotations

from typing import Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, in_sequence, once


class EspnetAdapter:
    """espnet (seen: 202511): ``PositionalEncoding`` of its transformers, without dropout.

    A module of a model keeps its table, and meets inputs of whatever dtype comes.
    """

    requires = ("torch", "espnet")

    def __init__(self) -> None:
        from espnet.nets.pytorch_backend.transformer.embedding import PositionalEncoding

        self._made = once(lambda dim: PositionalEncoding(dim, dropout_rate=0.0).eval())

    @claims("paper", dtype=FLOATS, base=10000.0, max_position=8191)
    def embedding_sum(self, x: Array, positions: Positions) -> Any:
        """The module on a sequence with these rows."""
        module = self._made(x.shape[-1])
        return in_sequence(
            lambda sequence: by_heads(module, sequence, form="hnd"), to_torch(x), positions
        )
