"""transformers, compiled by ``torch.compile`` for a GPU."""

from __future__ import annotations

from typing import Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import EXACT, FLOATS, Array, Positions, by_heads, once
from posenc_conformance.adapters.torch import backward


class TransformersCompiledAdapter:
    """transformers (seen: 5.17.0): Llama's rotary module and its rotation, compiled as one.

    ``torch.compile(dynamic=True)`` makes Triton kernels of both, forward and backward. Each head
    size is compiled anew, as each model is; where torch stops to compile anew, it goes on as it
    always does.
    """

    requires = ("torch", "triton", "transformers")

    def __init__(self) -> None:
        import torch

        torch.set_default_device("cuda")
        from transformers import LlamaConfig
        from transformers.models.llama import modeling_llama

        self._torch, self._config, self._code = torch, LlamaConfig, modeling_llama
        self._compiled = once(self._make)

    @claims("half", dtype=FLOATS, max_position=EXACT)
    def rope(self, x: Array, positions: Positions, *, base: float) -> Any:
        """Turn queries that are their own keys."""
        turn, places = self._compiled(x.shape[-1], base), to_torch(positions)[None]
        return by_heads(lambda rows: turn(rows, rows, places)[0], to_torch(x))

    rope_vjp = backward(rope)

    @claims("half", dtype=FLOATS, max_position=EXACT)
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
        """Turn queries by the rope_type llama3."""
        turn = self._compiled(
            x.shape[-1],
            base,
            rope_type="llama3",
            factor=factor,
            low_freq_factor=low_freq_factor,
            high_freq_factor=high_freq_factor,
            original_max_position_embeddings=original_max_position_embeddings,
        )
        places = to_torch(positions)[None]
        return by_heads(lambda rows: turn(rows, rows, places)[0], to_torch(x))

    @claims("batched-half", dtype=FLOATS, max_position=EXACT)
    def rope_batched(self, x: Array, positions: Positions, *, base: float) -> Any:
        """Turn queries, with ``position_ids`` of shape [batch, n]."""
        values = to_torch(x)
        return self._compiled(x.shape[-1], base)(values, values, to_torch(positions))[0]

    @claims("query-key-half", dtype=FLOATS, max_position=EXACT)
    def rope_query_key(self, q: Array, k: Array, positions: Positions, *, base: float) -> Any:
        """Turn both."""
        turn, places = self._compiled(q.shape[-1], base), to_torch(positions)[None]
        return self._torch.cat(turn(to_torch(q)[None], to_torch(k)[None], places), 1)[0]

    def _make(self, head_dim: int, base: float, **scaling: Any) -> Any:
        settings = {"rope_type": "default", "rope_theta": base, **scaling}
        config = self._config(
            head_dim=head_dim, hidden_size=head_dim, num_attention_heads=1, rope_parameters=settings
        )
        module = self._code.LlamaRotaryEmbedding(config)

        def turn(queries: Any, keys: Any, places: Any) -> Any:
            return self._code.apply_rotary_pos_emb(queries, keys, *module(queries, places))

        return self._torch.compile(turn, dynamic=True)
