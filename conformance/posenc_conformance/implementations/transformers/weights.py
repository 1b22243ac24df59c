"""Weights that are read in the layout of another library."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posenc_conformance import claims
from posenc_conformance.adapters import FLOATS, Array
from posenc_conformance.implementations.transformers.base import Transformers

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Weights(Transformers):
    """Reading GGUF files of Llama, whose rows are for neighbouring channels.

    permute-qk    LlamaTensorProcessor, once for each projection
    """

    @claims("to-half", dtype=FLOATS)
    def permute_qk(self, q_weight: Array, k_weight: Array, heads: int, key_heads: int) -> object:
        """Call ``process`` on both weights."""
        return self._processed("weight", q_weight, k_weight, heads, key_heads)

    @claims("to-half", dtype=FLOATS)
    def permute_qk_bias(self, q_bias: Array, k_bias: Array, heads: int, key_heads: int) -> object:
        """Call ``process`` on both biases."""
        return self._processed("bias", q_bias, k_bias, heads, key_heads)

    def _processed(
        self, what: str, q: Array, k: Array, heads: int, key_heads: int
    ) -> NDArray[np.floating]:
        from transformers.modeling_gguf_pytorch_utils import LlamaTensorProcessor

        reader = LlamaTensorProcessor(
            {"num_attention_heads": heads, "num_key_value_heads": key_heads}
        )
        named = (("q", q), ("k", k))
        rows = [reader.process(w, f"blk.0.attn_{n}.{what}").weights for n, w in named]
        return np.concatenate(rows)
