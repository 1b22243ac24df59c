"""Meta's own Llama models."""

from __future__ import annotations

from typing import Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, once

CONTEXT = 131_072


class LlamaModelsAdapter:
    """llama-models (seen: 0.3.0): ``llama3/model.py``; its scaling has the numbers of Llama 3.1."""

    requires = ("torch", "llama-models")

    def __init__(self) -> None:
        from llama_models.llama3 import model

        self._apply = model.apply_rotary_emb
        self._table = once(model.precompute_freqs_cis, size=4)

    @claims("interleaved", dtype=FLOATS)
    def rope(self, x: Array, positions: Positions, *, base: float) -> Any:
        """``precompute_freqs_cis`` and ``apply_rotary_emb``."""
        return self._turned(x, positions, base, False)

    @claims(
        "interleaved",
        dtype=FLOATS,
        factor=8.0,
        low_freq_factor=1.0,
        high_freq_factor=4.0,
        original_max_position_embeddings=8192,
    )
    def llama3(self, x: Array, positions: Positions, *, base: float) -> Any:
        """The same with ``use_scaled``."""
        return self._turned(x, positions, base, True)

    def _turned(self, x: Array, positions: Positions, base: float, scaled: bool) -> Any:
        waves = self._table(x.shape[-1], CONTEXT, base, scaled)[to_torch(positions)]
        return by_heads(lambda heads: self._apply(heads, heads, waves)[0], to_torch(x), form="bnhd")
