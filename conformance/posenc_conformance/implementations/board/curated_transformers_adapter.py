"""Curated Transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, once

if TYPE_CHECKING:
    from torch import Tensor

CONTEXT = 131_072


class CuratedTransformersAdapter:
    """curated-transformers (seen: 2.0.1): its rotary embedding, ALiBi and sines, in float32 models.

    Modules are converted as ``model.to(dtype)`` does it, and with them tables and frequencies. The
    bias that is not causal is for as many queries as keys.
    """

    requires = ("torch", "curated-transformers")

    def __init__(self) -> None:
        import torch
        from curated_transformers.layers import attention, embeddings

        self.torch = torch
        self._alibi = attention.AttentionLinearBiases
        self._rope = once(
            lambda width, fraction, base, dtype: embeddings.QueryKeyRotaryEmbeddings(
                base=base, fraction=fraction, head_width=width
            ).to(dtype),
            size=8,
        )
        self._sines = once(
            lambda width: embeddings.SinusoidalPositionalEmbedding(
                width=width, max_len=CONTEXT, normalize=False
            ),
            size=4,
        )

    @claims("half", dtype=FLOATS, rotation="partial")
    def rope(
        self, x: Array, positions: Positions, *, base: float, rotary_dim: int | None = None
    ) -> Any:
        """``QueryKeyRotaryEmbeddings`` with positions."""
        values, ids = to_torch(x), to_torch(positions)[None]
        width = x.shape[-1]
        module = self._rope(width, (rotary_dim or width) / width, base, values.dtype)
        return by_heads(lambda heads: module(query=heads, key=heads, positions=ids)[0], values)

    @claims("paper", base=10000.0, odd_dim="refuse")
    def sinusoidal(self, positions: Positions, dim: int) -> Tensor:
        """Rows of ``SinusoidalPositionalEmbedding``, not normalised."""
        return self._sines(dim).pe[to_torch(positions)]

    @claims("symmetric", dtype=FLOATS, max_position=1023, when=lambda q_len, k_len: q_len == k_len)
    @claims("last-key", dtype=FLOATS)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, form: str, dtype: str) -> Tensor:
        """What ``AttentionLinearBiases`` adds to scores of zero."""
        kind = getattr(self.torch, dtype)
        module = self._alibi(
            n_attention_heads=heads, is_causal=form == "last-key", is_inverted=False
        ).to(kind)
        return module(attention_scores=self.torch.zeros(1, heads, q_len, k_len, dtype=kind))[0]

    @claims("interpolated")
    def alibi_slopes(self, heads: int) -> Tensor:
        """The buffer ``slopes``."""
        module = self._alibi(n_attention_heads=heads, is_causal=True, is_inverted=False)
        return module.slopes.flatten()
