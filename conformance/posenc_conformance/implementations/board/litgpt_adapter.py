"""LitGPT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, once

if TYPE_CHECKING:
    from torch import Tensor

CONTEXT = 131_072


class LitgptAdapter:
    """litgpt (seen: 0.5.13): the tables of a model, and how its attention applies them.

    ``Config.rope_adjustments`` says what is scaled: ``factor`` alone is position interpolation,
    with ``low_freq_factor`` and ``high_freq_factor`` Llama 3.1's, with ``beta_fast`` and
    ``beta_slow`` YaRN. Tables are float32, as in a model made under ``fabric.init_module``.
    """

    requires = ("torch", "litgpt")

    def __init__(self) -> None:
        import torch
        from litgpt.model import apply_rope, build_rope_cache

        self.torch = torch
        self._apply = apply_rope
        self._tables = once(build_rope_cache, size=2)

    @claims("half", dtype=FLOATS, rotation="partial")
    def rope(
        self, x: Array, positions: Positions, *, base: float, rotary_dim: int | None = None
    ) -> Any:
        """As in ``CausalSelfAttention``."""
        return self._turned(x, positions, base, rotary_dim or x.shape[-1])

    @claims("half", dtype=FLOATS)
    def position_interpolation(
        self, x: Array, positions: Positions, *, base: float, factor: float
    ) -> Any:
        """The adjustment ``factor``."""
        return self._turned(x, positions, base, x.shape[-1], factor=factor)

    @claims("half", dtype=FLOATS)
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
        """The adjustment of Llama 3.1."""
        return self._turned(
            x,
            positions,
            base,
            x.shape[-1],
            factor=factor,
            low_freq_factor=low_freq_factor,
            high_freq_factor=high_freq_factor,
            original_max_seq_len=original_max_position_embeddings,
        )

    @claims("code")
    def yarn_frequencies(
        self,
        rotary_dim: int,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        beta_fast: float = 32,
        beta_slow: float = 1,
    ) -> Tensor:
        """The angles of position 1, which are frequencies, from the tables."""
        adjusted = {
            "factor": factor,
            "beta_fast": beta_fast,
            "beta_slow": beta_slow,
            "original_max_seq_len": original_max_position_embeddings,
        }
        cos, sin = self._tables(2, rotary_dim, base=base, extra_config=adjusted)
        return self.torch.atan2(sin[1], cos[1])[: rotary_dim // 2]

    def _turned(
        self, x: Array, positions: Positions, base: float, rotated: int, **adjusted: Any
    ) -> Any:
        cos, sin = self._tables(CONTEXT, rotated, base=base, extra_config=adjusted or None)
        ids = to_torch(positions)

        def turn(heads: Tensor) -> Tensor:
            turned = self._apply(heads[..., :rotated], cos[ids][None], sin[ids][None])
            return self.torch.cat((turned, heads[..., rotated:]), dim=-1)

        return by_heads(turn, to_torch(x))
