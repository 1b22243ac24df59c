"""The adapter of torchscale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import (
    ALL_FLOATS,
    FLOATS,
    Array,
    Positions,
    by_heads,
    in_sequence,
    once,
)
from posenc_conformance.adapters.torch import backward

if TYPE_CHECKING:
    from torch import Tensor


class TorchscaleAdapter:
    """torchscale (seen: 0.3.0, without its dependencies): xPos and T5's bias.

    ``XPOS`` turns all positions from 0 on; rows that are not asked for are zeros, base 10,000 only.
    Its scale is a buffer and has the dtype of its model.
    """

    requires = ("torch", "torchscale")

    def __init__(self) -> None:
        from torchscale.component.relative_position_bias import RelativePositionBias
        from torchscale.component.xpos_relative_position import XPOS

        self._bias = RelativePositionBias
        self._xpos = once(lambda dim, base, dtype: XPOS(dim, base).to(dtype))

    @claims("torchscale", dtype=FLOATS, base=10000.0, max_position=4095)
    def xpos(self, x: Array, positions: Positions, *, scale_base: float, downscale: int) -> object:
        """Apply ``XPOS`` to x of shape [heads, length, head_dim]."""
        values = to_torch(x)
        module = self._xpos(x.shape[-1], scale_base, values.dtype)

        def turn(sequence: Tensor) -> object:
            return by_heads(lambda x: module(x, downscale=bool(downscale)), sequence, form="hnd")

        return in_sequence(turn, values, positions)

    xpos_vjp = backward(xpos)

    @claims("bidirectional", "causal")
    def t5_bucket(
        self,
        relative_position: Positions,
        *,
        direction: str,
        num_buckets: int,
        max_distance: int,
    ) -> Tensor:
        """Call ``RelativePositionBias._relative_position_bucket``."""
        return self._bias._relative_position_bucket(
            to_torch(relative_position), direction == "bidirectional", num_buckets, max_distance
        )

    @claims("bidirectional", "causal", dtype=ALL_FLOATS)
    def t5_bias(
        self, table: Array, q_len: int, k_len: int, *, direction: str, max_distance: int
    ) -> Tensor:
        """Call ``RelativePositionBias`` after a step for each key before the queries."""
        weights = to_torch(table)
        rows, heads = weights.shape
        module = self._bias(direction == "bidirectional", rows, max_distance, heads)
        module.relative_attention_bias.weight.data = weights
        return module(1, q_len, k_len, step=k_len - q_len)
