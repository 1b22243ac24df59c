"""IBM's Foundation Model Stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, in_stretches, once

if TYPE_CHECKING:
    from torch import Tensor

CONTEXT = 32_768


class IbmFmsAdapter:
    """ibm-fms (seen: 1.13.1): ``fms.modules.positions``.

    ``RotaryEmbedding`` makes its tables as long as the position of the first row and the number of
    rows ask for, so it gets rows that follow each other, as in prefill and decoding.

    rope, llama3            interleaved, for a model whose max_seq_len is 32,768
    yarn gpt-oss            the same class with rope_type yarn, as gpt-oss of fms uses it
    yarn code-interleaved   ``CachedYarnRotaryEmbedding``, as Mistral 3 of fms uses it
    rope-2d pixtral         ``PixtralRotaryEmbedding`` for 1,024 pixels in patches of 16
    alibi symmetric         ``Alibi``, a model's mask without padding
    """

    requires = ("torch", "ibm-fms")

    def __init__(self) -> None:
        import torch
        from fms.modules import positions

        self._empty = torch.zeros
        self._alibi = positions.Alibi
        self._rope = once(positions.RotaryEmbedding, size=4)
        self._yarn = once(positions.CachedYarnRotaryEmbedding, size=4)
        self._grid = once(positions.PixtralRotaryEmbedding)

    @claims("interleaved", dtype=FLOATS, rotation="partial", max_position=CONTEXT - 1)
    def rope(
        self, x: Array, positions: Positions, *, base: float, rotary_dim: int | None = None
    ) -> Any:
        """``RotaryEmbedding``."""
        share = (rotary_dim or x.shape[-1]) / x.shape[-1]
        module = self._rope(x.shape[-1], base, max_seq_len=CONTEXT, partial_rope=share)
        return _turned(module, x, positions)

    @claims("interleaved", dtype=FLOATS, max_position=CONTEXT - 1)
    def llama3(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        factor: float,
        low_freq_factor: float,
        high_freq_factor: float,
        original_max_position_embeddings: int,
    ) -> Any:
        """``RotaryEmbedding`` with rope_type llama3."""
        scaling = {
            "rope_type": "llama3",
            "factor": factor,
            "low_freq_factor": low_freq_factor,
            "high_freq_factor": high_freq_factor,
            "original_max_position_embeddings": original_max_position_embeddings,
        }
        module = self._rope(x.shape[-1], base, max_seq_len=CONTEXT, scaling=scaling)
        return _turned(module, x, positions)

    @claims("gpt-oss", "code-interleaved", dtype=FLOATS, max_position=CONTEXT - 1)
    def yarn(
        self,
        x: Array,
        positions: Positions,
        *,
        ramp: str,
        layout: str,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
    ) -> Any:
        """The class that rounds its bounds and turns neighbours, or the one that does neither."""
        if (ramp, layout) == ("untruncated", "half"):
            scaling = {
                "rope_type": "yarn",
                "scaling_factor": factor,
                "ntk_beta": beta_fast,
                "ntk_alpha": beta_slow,
            }
            length = original_max_position_embeddings
            return _turned(self._rope(x.shape[-1], base, length, scaling=scaling), x, positions)
        module = self._yarn(
            x.shape[-1],
            original_max_position_embeddings,
            base,
            factor,
            beta_fast=beta_fast,
            beta_slow=beta_slow,
            mscale_all_dim=0.0,
            llama_4_scaling_beta=0.0,
        )
        return _turned(module, x, positions)

    @claims("pixtral", dtype=FLOATS, max_position=63)
    def rope_2d(self, x: Array, positions: Positions, *, base: float) -> Any:
        """``PixtralRotaryEmbedding``."""
        module = self._grid(x.shape[-1], base, 1024, 16)
        ids = to_torch(positions).T[None]
        return by_heads(lambda x: module.adjusted_qk(x, x, ids)[0], to_torch(x), form="bnhd")

    @claims("symmetric")
    def alibi_bias(self, heads: int, q_len: int, k_len: int) -> Tensor:
        """``Alibi.adjusted_mask`` without a cache."""
        q, k = (self._empty(1, length, heads, 1) for length in (q_len, k_len))
        return self._alibi(heads).adjusted_mask(None, q, k, None)[0]


def _turned(module: Any, x: Array, positions: Positions) -> Any:
    def turn(rows: Tensor, first: int) -> Any:
        ids = to_torch(first + np.arange(rows.shape[-2]))[None]
        return by_heads(lambda heads: module.adjusted_qk(heads, heads, ids)[0], rows, form="bnhd")

    return in_stretches(turn, to_torch(x), positions)
