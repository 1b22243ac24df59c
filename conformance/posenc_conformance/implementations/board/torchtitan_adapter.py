"""torchtitan."""

from __future__ import annotations

from typing import Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, once

CONTEXT = 131_072


class TorchtitanAdapter:
    """torchtitan (seen: 0.3.0): ``ComplexRoPE`` is interleaved, ``CosSinRoPE`` half-split.

    YaRN's tables are not made longer, which is left to the softmax; their frequencies are judged.
    """

    requires = ("torch", "torchtitan")

    def __init__(self) -> None:
        from torchtitan.models.common import rope

        self._yarn = rope._yarn_inv_freq
        self._complex = once(lambda **fields: _made(rope.ComplexRoPE, fields), size=4)
        self._halves = once(lambda **fields: _made(rope.CosSinRoPE, fields), size=4)

    @claims("interleaved", "half", dtype=FLOATS)
    def rope(self, x: Array, positions: Positions, *, base: float, layout: str) -> Any:
        """The module that has this layout."""
        make = self._complex if layout == "interleaved" else self._halves
        return _turned(make(dim=x.shape[-1], max_seq_len=CONTEXT, theta=base), x, positions)

    @claims("interleaved", dtype=FLOATS)
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
        """``ComplexRoPE`` with the scaling llama."""
        module = self._complex(
            dim=x.shape[-1],
            max_seq_len=CONTEXT,
            theta=base,
            scaling="llama",
            scaling_factor=factor,
            low_freq_factor=low_freq_factor,
            high_freq_factor=high_freq_factor,
            original_max_position_embeddings=original_max_position_embeddings,
        )
        return _turned(module, x, positions)

    @claims("code", "gpt-oss")
    def yarn_frequencies(
        self,
        rotary_dim: int,
        *,
        ramp: str,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
    ) -> Any:
        """What both modules make their tables of."""
        return self._yarn(
            rotary_dim,
            base,
            factor,
            beta_fast,
            beta_slow,
            original_max_position_embeddings,
            ramp == "index",
        )


def _made(kind: Any, fields: dict[str, Any]) -> Any:
    return kind(kind.Config(**fields))


def _turned(module: Any, x: Array, positions: Positions) -> Any:
    ids = to_torch(positions)[None]
    return by_heads(lambda heads: module(heads, heads, ids)[0], to_torch(x), form="bnhd")
