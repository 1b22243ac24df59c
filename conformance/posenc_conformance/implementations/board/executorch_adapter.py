"""ExecuTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, once

if TYPE_CHECKING:
    from torch import Tensor

CONTEXT = 131_072


class ExecutorchAdapter:
    """executorch (seen: 1.5.1): ``Rope`` of the models that it exports, for 131,072 tokens.

    Its tables are buffers and have the dtype of their model.

    interleaved   as Llama is exported by default
    half          with use_hf_rope, as Qwen, Phi and Gemma are
    llama3        with use_scaled_rope, whose original length and low factor are fixed
    """

    requires = ("torch", "executorch")

    def __init__(self) -> None:
        from executorch.examples.models.llama.model_args import ModelArgs
        from executorch.examples.models.llama.rope import Rope

        self._made = once(
            lambda dtype, **fields: Rope(ModelArgs(n_heads=1, **fields)).to(dtype), size=4
        )

    @claims("interleaved", "half", dtype=FLOATS, max_position=CONTEXT - 1)
    def rope(self, x: Array, positions: Positions, *, base: float, layout: str) -> Any:
        """``Rope`` with a cache of keys and values, which gives it positions."""
        return self._turned(x, positions, base, use_hf_rope=layout == "half")

    @claims(
        "interleaved",
        dtype=FLOATS,
        low_freq_factor=1.0,
        original_max_position_embeddings=8192,
        max_position=CONTEXT - 1,
    )
    def llama3(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        factor: float,
        high_freq_factor: float,
    ) -> Any:
        """``Rope`` with use_scaled_rope."""
        more = {"rope_scale_factor": factor, "high_freq_factor": high_freq_factor}
        return self._turned(x, positions, base, use_scaled_rope=True, **more)

    def _turned(self, x: Array, positions: Positions, base: float, **fields: Any) -> Any:
        values = to_torch(x)
        module = self._made(
            values.dtype,
            dim=x.shape[-1],
            head_dim=x.shape[-1],
            rope_theta=base,
            max_context_len=CONTEXT,
            use_kv_cache=True,
            **fields,
        )
        rows = to_torch(positions)
        tables = module.get_freqs(rows, len(rows))

        def turn(heads: Tensor) -> Any:
            return module(heads, heads, *tables)[0]

        return by_heads(turn, values, form="bnhd")
