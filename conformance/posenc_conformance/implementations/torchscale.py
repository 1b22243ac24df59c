"""torchscale."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims, to_torch
from posenc_conformance.implementations.torch_tools import as_tensor, backward

if TYPE_CHECKING:
    from torch import Tensor

FLOATS = ("float32", "bfloat16", "float16")


class TorchscaleAdapter:
    """torchscale (seen: 0.3.0, without its dependencies): xPos and T5's bias.

    ``XPOS`` turns all positions from 0 on; rows that are not asked for are zeros, base 10,000 only.
    Its scale is a buffer, and here it is float32 whatever the model is: what it computes then is
    float32, too, and only float32 is claimed.
    """

    requires = ("torch", "torchscale")

    def __init__(self) -> None:
        import torch
        from torchscale.component.relative_position_bias import RelativePositionBias
        from torchscale.component.xpos_relative_position import XPOS

        self.torch = torch
        self._bias = RelativePositionBias
        self._xpos = lru_cache(maxsize=32)(XPOS)

    @claims("torchscale", base=10000.0, max_position=4095)
    def xpos(
        self,
        x: npt.NDArray[Any],
        positions: npt.NDArray[np.int64],
        *,
        scale_base: float,
        downscale: int,
    ) -> Tensor:
        """``XPOS`` on x of shape [heads, length, head_dim]."""
        values = as_tensor(x)
        *batch, rows, head_dim = values.shape
        length = int(positions.max()) + 1 if rows else 0
        module = self._xpos(head_dim, scale_base)
        turned = values.clone()
        for row, position in enumerate(positions):
            every = values.new_zeros(math.prod(batch), length, head_dim)
            every[:, position] = values[..., row, :].reshape(-1, head_dim)
            whole = module(every, downscale=bool(downscale))
            turned[..., row, :] = whole[:, position].reshape(*batch, head_dim)
        return turned

    @claims("torchscale", base=10000.0, max_position=4095)
    def xpos_vjp(
        self,
        x: npt.NDArray[Any],
        positions: npt.NDArray[np.int64],
        *,
        base: float,
        center: str,
        layout: str,
        **parameters: Any,
    ) -> Tensor:
        """What autograd makes of it."""
        return backward(self.xpos, x, positions, **parameters)

    @claims("bidirectional", "causal")
    def t5_bucket(
        self,
        relative_position: npt.NDArray[np.int64],
        *,
        direction: str,
        num_buckets: int,
        max_distance: int,
    ) -> Tensor:
        """``RelativePositionBias._relative_position_bucket``."""
        return self._bias._relative_position_bucket(
            to_torch(relative_position), direction == "bidirectional", num_buckets, max_distance
        )

    @claims("bidirectional", "causal", dtype=("float64", *FLOATS))
    def t5_bias(
        self,
        table: npt.NDArray[Any],
        q_len: int,
        k_len: int,
        *,
        direction: str,
        max_distance: int,
    ) -> Tensor:
        """``RelativePositionBias`` after a step for each key before the queries."""
        weights = to_torch(table)
        rows, heads = weights.shape
        module = self._bias(direction == "bidirectional", rows, max_distance, heads)
        module.relative_attention_bias.weight.data = weights
        return module(1, q_len, k_len, step=k_len - q_len)
