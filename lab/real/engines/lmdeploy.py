"""LMDeploy's PyTorch engine, with its rotation kernel run in Triton's interpreter."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import EXACT, Array, Positions, once

REST: Mapping[str, Any] = {
    "first_k_dense_replace": 1000,
    "n_routed_experts": 2,
    "num_experts": 2,
    "num_local_experts": 2,
    "tie_word_embeddings": False,
}
"""Fields that do not affect positions."""

MISSING = ("Can not found rewrite", "been removed", "No available implementation for CausalConv1d")
"""Parts of its errors for models that it lacks, or that need a GPU's libraries."""


class LmdeployAdapter:
    """lmdeploy (seen: 0.18.0, with transformers 5.23.0): the model as ``PyTorchEngine`` builds it.

    The model has no weights. For DeepSeek, the engine moves the channels of pairs apart while
    loading weights.
    """

    requires = ("torch", "transformers", "triton", "lmdeploy")

    def __init__(self) -> None:
        os.environ |= {"TRITON_INTERPRET": "1", "TORCH_COMPILE_DISABLE": "1"}
        import torch
        from lmdeploy.pytorch.models.patch import build_model_from_hf_config
        from lmdeploy.pytorch.transformers import config_from_pretrained
        from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

        self.torch, self._build = torch, build_model_from_hf_config
        self._read, self._classes = config_from_pretrained, dict(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
        self._model = once(self._make)

    @claims(dtype=["float32", "float16"], max_position=EXACT)
    def rotary(
        self, x: Array, positions: Positions, *, config: Mapping[str, Any], layer: int
    ) -> Any:
        """Rotate with heads after positions, as ``forward`` of a model and its attention do."""
        model, tensor = self._model(dict(config)), to_torch(x)
        attention = model.layers[layer].self_attn
        local = getattr(model, "rotary_emb_local", None)
        if local is None or attention.sliding_window == -1:
            local = model.rotary_emb
        cos, sin = local(tensor, to_torch(positions)[None])
        order = self.torch.arange(x.shape[-1])
        if config["model_type"].startswith("deepseek"):
            order = order.unflatten(0, (-1, 2)).T.flatten()
        q, k = (tensor[..., order].movedim(-2, 0).contiguous() for _ in "qk")
        attention.apply_rotary_pos_emb(q, k, cos[0], sin[0], inplace=True)
        return k.movedim(0, -2)[..., order.argsort()]

    def _make(self, config: Mapping[str, Any]) -> Any:
        type = config["model_type"]
        whole = {**REST, **config, "architectures": [self._classes.get(type, type)]}
        with TemporaryDirectory() as folder:
            Path(folder, "config.json").write_text(json.dumps(whole), encoding="utf-8")
            read = self._read(folder)
        try:
            model = self._build(read, dtype=self.torch.float32, device=self.torch.device("meta"))
        except RuntimeError as error:
            if not any(words in f"{error}" for words in MISSING):
                raise
            raise NotImplementedError(f"lmdeploy does not run {type} here: {error}") from error
        return model.model
