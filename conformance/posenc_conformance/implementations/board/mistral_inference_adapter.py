"""mistral-inference."""

from __future__ import annotations

from typing import Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, once

CONTEXT = 131_072


class MistralInferenceAdapter:
    """mistral-inference (seen: 1.6.0): ``rope.py``, with tables of 131,072 positions."""

    requires = ("torch", "mistral-inference")

    def __init__(self) -> None:
        from mistral_inference import rope

        self._apply = rope.apply_rotary_emb
        self._table = once(rope.precompute_freqs_cis, size=4)

    @claims("interleaved", dtype=FLOATS)
    def rope(self, x: Array, positions: Positions, *, base: float) -> Any:
        """As in ``Transformer.forward``: rows of the table by position, heads behind positions."""
        waves = self._table(x.shape[-1], CONTEXT, base)[to_torch(positions)]
        return by_heads(
            lambda heads: self._apply(heads[0], heads[0], freqs_cis=waves)[0][None],
            to_torch(x),
            form="bnhd",
        )
