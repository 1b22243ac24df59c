"""Biases of logits."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import ALL_FLOATS, FLOATS, Array, Positions
from posenc_conformance.implementations.transformers.base import Transformers

if TYPE_CHECKING:
    from torch import Tensor


class Biases(Transformers):
    """Biases that models add to their logits.

    ====================  ======================================================================
    alibi first-key       BLOOM, slopes included (also Falcon: see TransformersFalconAdapter)
    alibi last-key        MPT, float32 only
    t5                    T5 (also mT5, LongT5, UDOP, Pop2Piano, Switch)
    clipped-bias          ESMFold, whose table has one more row, for masked pairs, before all others
    ====================  ======================================================================
    """

    @claims("interpolated", dtype=FLOATS)
    def alibi_slopes(self, heads: int, *, dtype: str) -> Tensor:
        """Return the column of BLOOM's bias at key position 1."""
        mask = self.torch.ones(1, 2, dtype=self.torch.int64)
        bias = self.code["bloom"].build_alibi_tensor(mask, heads, getattr(self.torch, dtype))
        return bias[:, 0, 1]

    @claims("first-key", dtype=FLOATS)
    @claims("last-key", dtype="float32")
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, form: str, dtype: str) -> Tensor:
        """Return the bias, one row for all queries, as BLOOM and MPT add it."""
        if form == "last-key":
            bias = self.code["mpt"].build_mpt_alibi_tensor(heads, k_len)
        else:
            mask = self.torch.ones(1, k_len, dtype=self.torch.int64)
            bias = self.code["bloom"].build_alibi_tensor(mask, heads, getattr(self.torch, dtype))
        return bias.expand(heads, q_len, k_len)

    @claims("bidirectional", "causal")
    def t5_bucket(
        self,
        relative_position: Positions,
        *,
        direction: str,
        num_buckets: int,
        max_distance: int,
    ) -> Tensor:
        """Call ``T5Attention._relative_position_bucket``."""
        return self.code["t5"].T5Attention._relative_position_bucket(
            to_torch(relative_position), direction == "bidirectional", num_buckets, max_distance
        )

    @claims("bidirectional", "causal", dtype=ALL_FLOATS)
    def t5_bias(
        self,
        table: Array,
        q_len: int,
        k_len: int,
        *,
        direction: str,
        max_distance: int,
    ) -> Tensor:
        """Call ``T5Attention.compute_bias`` with the table as its weights.

        The layer is one of a decoder if the direction is causal.
        """
        weights = to_torch(table)
        rows, heads = weights.shape
        layer = self._t5(rows, heads, direction, max_distance).to(weights.dtype)
        layer.load_state_dict({"relative_attention_bias.weight": weights}, strict=False)
        return layer.compute_bias(q_len, k_len, past_seen_tokens=k_len - q_len)[0]

    @claims("bidirectional", "causal", dtype=ALL_FLOATS)
    def t5_bias_vjp(
        self,
        gradient: Array,
        *,
        direction: str,
        num_buckets: int,
        max_distance: int,
    ) -> Tensor:
        """Compute what autograd makes of ``T5Attention.compute_bias``.

        The gradient is that for the weights of the table.
        """
        heads, q_len, k_len = gradient.shape
        cotangent = to_torch(gradient)
        layer = self._t5(num_buckets, heads, direction, max_distance).to(cotangent.dtype)
        bias = layer.compute_bias(q_len, k_len, past_seen_tokens=k_len - q_len)[0]
        table = layer.relative_attention_bias.weight
        return self.torch.autograd.grad(bias, table, cotangent)[0]

    def _t5(self, num_buckets: int, heads: int, direction: str, max_distance: int) -> Any:
        config = self.transformers.T5Config(
            d_model=1,
            d_kv=1,
            num_heads=heads,
            relative_attention_num_buckets=num_buckets,
            relative_attention_max_distance=max_distance,
            is_decoder=direction == "causal",
        )
        return self.code["t5"].T5Attention(config, has_relative_attention_bias=True, layer_idx=0)

    @claims(dtype=ALL_FLOATS)
    def clipped_bias(self, table: Array, q_len: int, k_len: int) -> Tensor:
        """Apply ``EsmFoldRelativePosition``, and take the rows of the last residues."""
        weights = to_torch(table)
        module = self._esmfold(*weights.shape).to(weights.dtype)
        masked = self.torch.zeros(1, weights.shape[1], dtype=weights.dtype)
        module.load_state_dict({"embedding.weight": self.torch.cat([masked, weights])})
        return self._pairs(module, q_len, k_len)

    @claims(dtype=ALL_FLOATS)
    def clipped_bias_vjp(self, gradient: Array, *, rows: int) -> Tensor:
        """Compute what autograd makes of ``EsmFoldRelativePosition``.

        The gradient is that for the rows of the table that serve pairs.
        """
        heads, q_len, k_len = gradient.shape
        cotangent = to_torch(gradient)
        module = self._esmfold(rows, heads).to(cotangent.dtype)
        bias = self._pairs(module, q_len, k_len)
        return self.torch.autograd.grad(bias, module.embedding.weight, cotangent)[0][1:]

    def _esmfold(self, rows: int, heads: int) -> Any:
        config = self.transformers.EsmConfig(vocab_size=33)
        config.position_bins, config.pairwise_state_dim = rows // 2, heads
        code = import_module("transformers.models.esm.modeling_esmfold")
        return code.EsmFoldRelativePosition(config)

    def _pairs(self, module: Any, q_len: int, k_len: int) -> Tensor:
        pairs = module(self.torch.arange(k_len)[None])[0, k_len - q_len :]
        return pairs.permute(2, 0, 1)
