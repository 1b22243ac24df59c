"""MLX LM."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from posenc_conformance import claims
from posenc_conformance.adapters import FLOATS, Array, Positions, in_sequence, once

sys.path.append(str(Path(__file__).parent))

import mlx_adapter


class MlxLmAdapter:
    """mlx-lm (seen: 0.32.2), on the CPU: what ``initialize_rope`` makes of a ``rope_scaling``.

    Dynamic NTK looks at the sequence that it is given, so it gets one of the whole length.
    """

    requires = ("mlx", "mlx-lm")

    def __init__(self) -> None:
        import mlx.core as mx
        from mlx_lm.models.rope_utils import initialize_rope

        mx.set_default_device(mx.cpu)
        self._made = once(initialize_rope)

    @claims("interleaved", "half", dtype=FLOATS)
    def llama3(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        layout: str,
        factor: float,
        low_freq_factor: float,
        high_freq_factor: float,
        original_max_position_embeddings: int,
    ) -> Any:
        """The rope_type llama3."""
        return self._turned(
            x,
            positions,
            base,
            layout,
            rope_type="llama3",
            factor=factor,
            low_freq_factor=low_freq_factor,
            high_freq_factor=high_freq_factor,
            original_max_position_embeddings=original_max_position_embeddings,
        )

    @claims("code-half", "code-interleaved", dtype=FLOATS, rotation="partial", attention="mscale")
    def yarn(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        layout: str,
        factor: float,
        original_max_position_embeddings: int,
        beta_fast: float | None = None,
        beta_slow: float | None = None,
        rotary_dim: int | None = None,
        mscale: float | None = None,
        mscale_all_dim: float | None = None,
    ) -> Any:
        """The rope_type yarn."""
        return self._turned(
            x,
            positions,
            base,
            layout,
            rotary_dim,
            rope_type="yarn",
            factor=factor,
            original_max_position_embeddings=original_max_position_embeddings,
            beta_fast=beta_fast,
            beta_slow=beta_slow,
            mscale=mscale,
            mscale_all_dim=mscale_all_dim,
        )

    @claims("half", dtype=FLOATS)
    def p_rope(self, x: Array, positions: Positions, *, base: float, proportion: float) -> Any:
        """The rope_type proportional, of Gemma 4."""
        return self._turned(
            x,
            positions,
            base,
            "half",
            rope_type="proportional",
            partial_rotary_factor=proportion,
        )

    @claims("half", dtype=FLOATS, max_position=8191)
    def dynamic_ntk(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        length: int,
    ) -> Any:
        """The rope_type dynamic, for a sequence of the whole length."""
        module = self._made(
            x.shape[-1],
            base,
            False,
            {"rope_type": "dynamic", "factor": factor},
            original_max_position_embeddings,
        )

        def turn(sequence: Array) -> Array:
            heads = sequence.reshape(1, -1, *sequence.shape[-2:])
            made: Array = mlx_adapter.to_numpy(module(mlx_adapter.to_mlx(heads)))
            return made.reshape(sequence.shape)

        return in_sequence(turn, x, positions, length)

    def _turned(
        self,
        x: Array,
        positions: Positions,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
        **scaling: Any,
    ) -> Any:
        given = {name: value for name, value in scaling.items() if value is not None}
        dims = rotary_dim or x.shape[-1]
        module = self._made(dims, base, layout == "interleaved", given)
        return mlx_adapter.turned(module, x, positions)
