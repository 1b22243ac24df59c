"""x-transformers."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims, to_torch
from posenc_conformance.implementations.torch_tools import as_tensor, backward, gradient

if TYPE_CHECKING:
    from torch import Tensor

FLOATS = ("float32", "bfloat16", "float16")
ALL_FLOATS = ("float64", *FLOATS)
EXACT = 2**24
HEAD_DIMS = (8, 4, 6, 10, 16, 20, 32, 34, 64, 80, 96, 100, 128, 130, 192, 256, 512)
"""``RotaryEmbedding`` divides by dim - 2, whatever it is asked for: there is none of two."""
Array = npt.NDArray[Any]
Positions = npt.NDArray[np.int64]


class XTransformersAdapter:
    """x-transformers (seen: 2.31.10), its modules as its ``AttentionLayers`` uses them.

    Angles are formed by a module in float32, whatever the dtype of queries and keys. ``Attend``
    without flash returns logits and weights among its intermediates; its softmax is in float32.
    The bias of T5 is multiplied by a scale, which is 1 here.
    """

    requires = ("torch", "x-transformers")

    def __init__(self) -> None:
        import torch
        from x_transformers import x_transformers
        from x_transformers.attend import Attend

        self.torch = torch
        self.code = x_transformers
        self._attend = Attend
        self._rotary = lru_cache(maxsize=64)(x_transformers.RotaryEmbedding)
        self._alibi = lru_cache(maxsize=64)(x_transformers.AlibiPositionalBias)

    @claims("interleaved", dtype=FLOATS, head_dim=HEAD_DIMS, max_position=EXACT)
    @claims("interleaved", dtype=FLOATS, rotation="partial", head_dim=HEAD_DIMS, rotary_dim=4)
    @claims("interleaved", dtype=FLOATS, rotation="partial", head_dim=256, rotary_dim=64)
    def rope(
        self, x: Array, positions: Positions, *, base: float, rotary_dim: int | None = None
    ) -> Tensor:
        """``RotaryEmbedding``, then ``apply_rotary_pos_emb``."""
        return self._turned(to_torch(x), positions, dim=rotary_dim or x.shape[-1], base=base)

    @claims("interleaved", dtype=FLOATS, head_dim=HEAD_DIMS, max_position=EXACT)
    def rope_vjp(self, x: Array, positions: Positions, *, base: float) -> Tensor:
        """What autograd makes of it."""
        return gradient(
            lambda each: self._turned(each, positions, dim=x.shape[-1], base=base), to_torch(x)
        )

    @claims("interleaved", dtype=FLOATS, head_dim=HEAD_DIMS, max_position=EXACT)
    def position_interpolation(
        self, x: Array, positions: Positions, *, base: float, factor: float
    ) -> Tensor:
        """The ``interpolation_factor``."""
        return self._turned(
            as_tensor(x), positions, dim=x.shape[-1], base=base, interpolation_factor=factor
        )

    @claims("interleaved", dtype=FLOATS, head_dim=HEAD_DIMS, max_position=EXACT)
    def position_interpolation_vjp(
        self, x: Array, positions: Positions, *, layout: str, **parameters: Any
    ) -> Tensor:
        """What autograd makes of it."""
        return backward(self.position_interpolation, x, positions, **parameters)

    @claims()
    def ntk_aware_frequencies(self, rotary_dim: int, *, base: float, factor: float) -> Tensor:
        """The frequencies of a module with ``base_rescale_factor``."""
        new = self.code.RotaryEmbedding
        return new(dim=rotary_dim, base=base, base_rescale_factor=factor).inv_freq

    @claims("interleaved", dtype=FLOATS, max_position=EXACT)
    def ntk_aware(self, x: Array, positions: Positions, *, base: float, factor: float) -> Tensor:
        """The ``base_rescale_factor``."""
        return self._turned(
            as_tensor(x), positions, dim=x.shape[-1], base=base, base_rescale_factor=factor
        )

    @claims("interleaved", dtype=FLOATS, max_position=EXACT)
    def ntk_aware_vjp(
        self, x: Array, positions: Positions, *, layout: str, **parameters: Any
    ) -> Tensor:
        """What autograd makes of it."""
        return backward(self.ntk_aware, x, positions, **parameters)

    @claims("lucidrains", dtype=FLOATS, head_dim=HEAD_DIMS, max_position=EXACT)
    def xpos(
        self, x: Array, positions: Positions, *, base: float, scale_base: float, downscale: int
    ) -> Tensor:
        """The scale, and its inverse for keys."""
        return self._turned(
            as_tensor(x),
            positions,
            power=-1 if downscale else 1,
            dim=x.shape[-1],
            base=base,
            use_xpos=True,
            scale_base=scale_base,
        )

    @claims("lucidrains", dtype=FLOATS, head_dim=HEAD_DIMS, max_position=EXACT)
    def xpos_vjp(
        self, x: Array, positions: Positions, *, center: str, layout: str, **parameters: Any
    ) -> Tensor:
        """What autograd makes of it."""
        return backward(self.xpos, x, positions, **parameters)

    def _turned(
        self, values: Tensor, positions: Positions, power: int | None = None, **parameters: Any
    ) -> Tensor:
        angles, scale = self._rotary(**parameters)(to_torch(positions))
        heads = headed(values)
        turned = self.code.apply_rotary_pos_emb(heads, angles, scale**power if power else scale)
        return turned.reshape(values.shape)

    @claims("x-transformers", dtype="float32", odd_dim="refuse", max_position=EXACT)
    def sinusoidal(self, positions: Positions, dim: int, *, base: float) -> Tensor:
        """``ScaledSinusoidalEmbedding`` as it is initialised."""
        module = self.code.ScaledSinusoidalEmbedding(dim, base)
        where = to_torch(positions)
        return module(where[None], pos=where)

    @claims("interpolated", dtype="float32")
    def alibi_slopes(self, heads: int) -> Tensor:
        """The slopes of a new ``AlibiPositionalBias``."""
        return self.code.AlibiPositionalBias(heads).slopes.flatten()

    @claims("symmetric", dtype="float32")
    def alibi_bias(self, heads: int, q_len: int, k_len: int) -> Tensor:
        """``AlibiPositionalBias``, which keeps the largest bias that it made."""
        return self._alibi(heads)(q_len, k_len)

    @claims("bidirectional", "causal")
    def t5_bucket(
        self,
        relative_position: Positions,
        *,
        direction: str,
        num_buckets: int,
        max_distance: int,
    ) -> Tensor:
        """``RelativePositionBias._relative_position_bucket``."""
        return self.code.RelativePositionBias._relative_position_bucket(
            to_torch(relative_position), direction == "causal", num_buckets, max_distance
        )

    @claims("bidirectional", "causal", dtype=ALL_FLOATS)
    def t5_bias(
        self, table: Array, q_len: int, k_len: int, *, direction: str, max_distance: int
    ) -> Tensor:
        """``RelativePositionBias`` with a scale of 1."""
        weights = to_torch(table)
        rows, heads = weights.shape
        module = self.code.RelativePositionBias(1, direction == "causal", rows, max_distance, heads)
        module.relative_attention_bias.weight.data = weights
        return module(q_len, k_len)

    @claims("full", "causal", dtype=FLOATS)
    def attention_weights(self, q: Array, k: Array, *, mask: str) -> Tensor:
        """The weights of ``Attend``."""
        _output, inside = self._attended(q, k, k, causal=mask == "causal")
        return inside.post_softmax_attn.reshape(*q.shape[:-1], k.shape[-2])

    @claims("full", "causal", dtype=FLOATS)
    def attention(self, q: Array, k: Array, v: Array, *, mask: str) -> Tensor:
        """``Attend``."""
        output, _inside = self._attended(q, k, v, causal=mask == "causal")
        return output.reshape(*q.shape[:-1], v.shape[-1])

    @claims("causal", "unscaled", dtype=FLOATS)
    def attention_with_bias(
        self, q: Array, k: Array, v: Array, bias: Array, *, mask: str, scaling: str
    ) -> Tensor:
        """``Attend`` with an ``attn_bias``."""
        every = self.torch.broadcast_to(to_torch(bias), (*q.shape[:-1], k.shape[-2]))
        output, _inside = self._attended(
            q,
            k,
            v,
            bias=headed(every),
            causal=mask == "causal",
            scale=1.0 if scaling == "unscaled" else None,
        )
        return output.reshape(*q.shape[:-1], v.shape[-1])

    @claims("listing", dtype=FLOATS)
    def cope_scores(self, q: Array, k: Array, table: Array) -> Tensor:
        """The logits of ``Attend`` with a ``CoPE``."""
        rows = to_torch(table)
        cope = self.code.CoPE(dim=rows.shape[1], heads=len(q), max_pos=len(rows))
        cope.pos_emb.data = rows
        _output, inside = self._attended(q, k, k, causal=True, cope=cope)
        return inside.pre_softmax_attn[0]

    def _attended(
        self, q: Array, k: Array, v: Array, bias: Tensor | None = None, **parameters: Any
    ) -> tuple[Tensor, Any]:
        query, key, value = (headed(to_torch(each)) for each in (q, k, v))
        output, inside = self._attend(**parameters)(query, key, value, attn_bias=bias)
        return output, inside


def headed(values: Tensor) -> Tensor:
    """x of shape ``[..., n, head_dim]`` as ``[1, heads, n, head_dim]``, as the library holds it."""
    *batch, rows, head_dim = values.shape
    return values.reshape(1, math.prod(batch), rows, head_dim)
