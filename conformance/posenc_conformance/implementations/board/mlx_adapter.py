"""MLX."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from posenc_conformance import claims
from posenc_conformance.adapters import (
    FLOATS,
    Array,
    Positions,
    by_heads,
    in_stretches,
    once,
)

CONTEXT = 131_072


def to_mlx(x: Array) -> Any:
    """The same values in MLX, which takes bfloat16 of NumPy for something else."""
    import mlx.core as mx

    if x.dtype == ml_dtypes.bfloat16:
        return mx.array(x.view(np.uint16)).view(mx.bfloat16)
    return mx.array(x)


def to_numpy(x: Any) -> Array:
    """The same values in NumPy."""
    import mlx.core as mx

    if x.dtype == mx.bfloat16:
        return np.array(x.view(mx.uint16)).view(ml_dtypes.bfloat16)
    return np.array(x)


def turned(module: Any, x: Array, positions: Positions) -> Any:
    """Rows by a module that takes the position of the first, as in prefill and decoding."""

    def turn(rows: Array, offset: int) -> Any:
        return by_heads(lambda heads: to_numpy(module(to_mlx(heads), offset=offset)), rows)

    return in_stretches(turn, x, positions)


class MlxAdapter:
    """mlx (seen: 0.32.4), on the CPU: the modules of ``nn.layers.positional_encoding``.

    ``nn.RoPE`` takes the position of the first row; stretches of positions are calls of their own.
    """

    requires = ("mlx",)

    def __init__(self) -> None:
        import mlx.core as mx
        import mlx.nn as nn

        mx.set_default_device(mx.cpu)
        self.mx = mx
        self.nn = nn
        self._rope = once(nn.RoPE)
        self._sinusoidal = once(nn.SinusoidalPositionalEncoding)

    @claims("interleaved", "half", dtype=FLOATS, rotation="partial")
    def rope(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
    ) -> Any:
        """``nn.RoPE``."""
        module = self._rope(
            rotary_dim or x.shape[-1], traditional=layout == "interleaved", base=base
        )
        return turned(module, x, positions)

    @claims("interleaved", "half", dtype=FLOATS)
    def position_interpolation(
        self, x: Array, positions: Positions, *, base: float, factor: float, layout: str
    ) -> Any:
        """The ``scale`` of ``nn.RoPE``."""
        module = self._rope(
            x.shape[-1], traditional=layout == "interleaved", base=base, scale=1 / factor
        )
        return turned(module, x, positions)

    @claims("mlx")
    def sinusoidal(self, positions: Positions, dim: int, *, base: float) -> Array:
        """``nn.SinusoidalPositionalEncoding`` of positions, ``min_freq`` being 1 / base."""
        return to_numpy(self._sinusoidal(dim, min_freq=1 / base)(self.mx.array(positions)))

    @claims("interpolated", dtype=FLOATS)
    def alibi_slopes(self, heads: int, *, dtype: str) -> Array:
        """``create_alibi_slope``."""
        made = self.nn.ALiBi.create_alibi_slope(heads, dtype=getattr(self.mx, dtype))
        slopes: Array = to_numpy(made)[:, 0, 0]
        return slopes

    @claims("symmetric", dtype=FLOATS)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Array:
        """What ``ALiBi`` adds to scores of zero."""
        scores = self.mx.zeros((1, heads, q_len, k_len), dtype=getattr(self.mx, dtype))
        bias: Array = to_numpy(self.nn.ALiBi()(scores, offset=k_len - q_len))[0]
        return bias
