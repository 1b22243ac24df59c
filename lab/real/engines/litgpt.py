"""LitGPT, which has its own table of models in place of configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, once


class LitGPTAdapter:
    """litgpt (seen: 0.5.13): ``Config.from_name``, then the table and function of ``GPT``."""

    requires = ("torch", "litgpt")

    def __init__(self) -> None:
        import torch
        from litgpt import model
        from litgpt.config import Config

        self.torch, self.code, self._config = torch, model, Config
        self._model = once(self._make)

    @claims(dtype=FLOATS)
    def rotary(
        self, x: Array, positions: Positions, *, config: Mapping[str, Any], layer: int
    ) -> Any:
        """Rotate as ``GPT.forward`` and ``CausalSelfAttention.forward`` do."""
        own, cos, sin = self._model(config["_name_or_path"])
        if positions.max() >= own.block_size:
            raise NotImplementedError(f"the block size of {own.name} is {own.block_size}")
        cos, sin = cos[positions][None], sin[positions][None]
        if own.rope_local_base_freq is not None:
            cos, sin = (table[..., own.rope_indices[layer]] for table in (cos, sin))
        width = own.rope_n_elem

        def turned(q: Any) -> Any:
            rotated = self.code.apply_rope(q[..., :width], cos, sin)
            return self.torch.cat([rotated, q[..., width:]], dim=-1)

        return by_heads(turned, to_torch(x))

    def _make(self, name: str) -> tuple[Any, Any, Any]:
        try:
            own = self._config.from_name(name)
        except ValueError as error:
            raise NotImplementedError(f"litgpt has no {name}") from error
        with self.torch.device("meta"):
            model = self.code.GPT(own)
        return own, *model.rope_cache(device="cpu")
