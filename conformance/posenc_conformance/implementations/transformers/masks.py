"""Who sees whom, and which position a token has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import Positions
from posenc_conformance.implementations.transformers.base import Transformers

if TYPE_CHECKING:
    from torch import Tensor


class Masks(Transformers):
    """Boolean masks of ``masking_utils`` for SDPA, and position ids.

    ====================  ======================================================================
    causal-mask end       Llama (also every other decoder)
    sliding-window        window-keys: Mistral; half-each-side: ModernBERT, which halves its
                          local_attention; window-each-side: a bidirectional model that does not
    chunked               Llama 4
    position-ids          padded: generation; packed: DataCollatorWithFlattening; behind padding:
                          RoBERTa; cached: what Llama gives its rotary module if nobody gives it any
    ====================  ======================================================================

    Where there are more keys than queries, the others are in a cache of the whole past.
    """

    @claims("end")
    def causal_mask(self, q_len: int, k_len: int) -> Tensor:
        """Call ``create_causal_mask``."""
        config = self.transformers.LlamaConfig(attn_implementation="sdpa")
        return self._mask("create_causal_mask", config, q_len, k_len)

    @claims("window-keys", "window-each-side", "half-each-side")
    def sliding_window(self, q_len: int, k_len: int, window: int, *, reach: str) -> Tensor:
        """Make the mask of a window that looks back, or to both sides.

        Either ``create_sliding_window_causal_mask`` or ``create_bidirectional_sliding_window_mask``
        makes it.
        """
        auto = self.transformers
        if reach == "window-keys":
            config = auto.MistralConfig(sliding_window=window, attn_implementation="sdpa")
            return self._mask("create_sliding_window_causal_mask", config, q_len, k_len)
        if reach == "half-each-side":
            config = auto.ModernBertConfig(local_attention=window, attn_implementation="sdpa")
        else:
            config = auto.MistralConfig(sliding_window=window, attn_implementation="sdpa")
        return self._mask("create_bidirectional_sliding_window_mask", config, q_len, k_len)

    @claims("causal")
    def chunked_mask(self, q_len: int, k_len: int, chunk_size: int) -> Tensor:
        """Call ``create_chunked_causal_mask``."""
        config = self.transformers.Llama4TextConfig(
            attention_chunk_size=chunk_size, attn_implementation="sdpa"
        )
        return self._mask("create_chunked_causal_mask", config, q_len, k_len)

    def _mask(self, create: str, config: Any, q_len: int, k_len: int) -> Tensor:
        from transformers import masking_utils

        skip = "bidirectional" if "bidirectional" in create else "causal"
        mask = getattr(masking_utils, create)(
            config,
            inputs_embeds=self.torch.zeros(1, q_len, 1),
            attention_mask=None,
            past_key_values=self._cache(k_len - q_len),
            **{f"allow_is_{skip}_skip": False},
        )
        return mask[0, 0]

    def _cache(self, length: int, head_dim: int = 1) -> Any:
        """Make a cache that holds ``length`` keys."""
        cache = self.transformers.DynamicCache()
        if length:
            past = self.torch.zeros(1, 1, length, head_dim)
            cache.update(past, past, 0)
        return cache

    @claims("zero")
    def padded_position_ids(self, attention_mask: Positions) -> Tensor:
        """Call ``GenerationMixin._prepare_position_ids_for_generation``."""
        mask = to_torch(attention_mask)
        prepare = self.transformers.GenerationMixin._prepare_position_ids_for_generation
        return prepare(None, mask, {"attention_mask": mask})

    @claims()
    def fairseq_position_ids(self, attention_mask: Positions, padding_index: int) -> Tensor:
        """Call ``RobertaEmbeddings.create_position_ids_from_input_ids``."""
        return self.token_position_ids(padding_index + attention_mask, padding_index, 0)

    @claims()
    def token_position_ids(
        self, input_ids: Positions, padding_index: int, past_length: int
    ) -> Tensor:
        """Call ``RobertaEmbeddings.create_position_ids_from_input_ids``.

        Some tokens are in a cache already.
        """
        create = self.code["roberta"].RobertaEmbeddings.create_position_ids_from_input_ids
        return create(to_torch(input_ids), padding_index, past_length)

    @claims()
    def packed_position_ids(self, lengths: Positions) -> object:
        """Apply ``DataCollatorWithFlattening``."""
        texts = [{"input_ids": [0] * int(length)} for length in lengths]
        packed = self.transformers.DataCollatorWithFlattening()(texts, return_tensors="np")
        return packed["position_ids"][0]

    @claims()
    def cached_position_ids(self, past_length: int, q_len: int) -> Tensor:
        """Return what ``LlamaModel`` gives its rotary module."""
        config = self.transformers.LlamaConfig(
            vocab_size=1,
            hidden_size=2,
            num_attention_heads=1,
            num_hidden_layers=0,
            intermediate_size=1,
        )
        model = self.transformers.LlamaModel(config)
        seen: list[Tensor] = []
        model.rotary_emb.register_forward_pre_hook(
            lambda module, arguments, named: seen.append(named["position_ids"]), with_kwargs=True
        )
        model(
            inputs_embeds=self.torch.zeros(1, q_len, 2),
            past_key_values=self._cache(past_length, head_dim=2),
        )
        return seen[0][0]
