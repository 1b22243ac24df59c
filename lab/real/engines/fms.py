"""IBM's Foundation Model Stack, which converts configurations to its own parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, in_stretches, once

REST: Mapping[str, Any] = {"vocab_size": 64, "intermediate_size": 64, "tie_word_embeddings": False}
"""Fields that do not affect positions."""


class FmsAdapter:
    """ibm-fms (seen: 1.13.1, transformers 5.23.0): ``get_model("hf_configured", variant=folder)``.

    The model has no weights. Loading a checkpoint permutes queries and keys of most models; the
    library's own loading steps give the permutation, which is applied to x, too.
    """

    requires = ("torch", "transformers", "ibm-fms")

    def __init__(self) -> None:
        import torch
        from fms.models import get_model
        from fms.models.hf.utils import infer_model_configuration
        from fms.utils.serialization import get_adapted
        from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

        self.torch, self._get = torch, get_model
        self._read, self._adapted = infer_model_configuration, get_adapted
        self._classes = dict(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
        self._model = once(self._make)

    @claims(dtype=FLOATS)
    def rotary(
        self, x: Array, positions: Positions, *, config: Mapping[str, Any], layer: int
    ) -> Any:
        """Rotate keys, each stretch of positions as in prefill and decoding."""
        layers, order = self._model(dict(config))
        encoder = layers[layer].attn.position_encoder

        def turned(rows: Any, start: int) -> Any:
            where = self.torch.arange(start, start + rows.shape[-2])[None]
            return by_heads(lambda k: encoder.adjusted_qk(k, k, where)[1], rows, form="bnhd")

        keys = in_stretches(turned, to_torch(x)[..., order], positions)
        return keys[..., order.argsort()]

    def _make(self, config: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the layers of the model, and the order of a head's channels in it."""
        if config["model_type"] == "mixtral":
            raise NotImplementedError("it loads Mixtral from a checkpoint of another form")
        with TemporaryDirectory() as folder:
            path = Path(folder, "config.json")
            path.write_text(json.dumps(self._whole(config)), encoding="utf-8")
            try:
                parameters = self._read(folder, download_weights=False)
            except KeyError as error:
                raise NotImplementedError(f"it has no {config['model_type']}") from error
            kind = parameters["architecture"]
            if kind == "ministral3":  # its vision part cannot be made without weights
                model = self._of_ministral(parameters)
            else:
                model = self._get("hf_configured", variant=folder, device_type="meta")
        layers = getattr(model, "language_model", model).base_model.layers
        return layers, self._order(kind, model.config, layers[0].attn)

    def _of_ministral(self, given: Mapping[str, Any]) -> Any:
        from fms.models.ministral3 import Ministral3

        named = {"architecture", "variant", "model_path"}
        fields = {name: value for name, value in given.items() if name not in named}
        with self.torch.device("meta"):
            return Ministral3(**fields)

    def _whole(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the configuration file as released with the model."""
        type = config["model_type"]
        if type != "ministral3":
            return {**REST, **config, "architectures": [self._classes.get(type, type)]}
        return {
            "model_type": "mistral3",
            "architectures": ["Mistral3ForConditionalGeneration"],
            "text_config": {**REST, **config},
            "vision_config": {"model_type": "pixtral"},
        }

    def _order(self, kind: str, config: Any, attention: Any) -> Any:
        """Return the source of each channel of a key, from the steps that load a checkpoint."""
        size = attention.emb_kq_per_head
        heads = {"q": attention.nheads, "k": attention.kvheads, "v": attention.kvheads}
        prefix = "language_model." if hasattr(config, "text_config") else ""
        checkpoint = {
            f"{prefix}model.layers.0.self_attn.{name}_proj.weight": self._numbered(size * count)
            for name, count in heads.items()
        }
        loaded = self._adapted(kind, "hf", checkpoint, {"model_config": config})
        (name,) = [key for key in loaded if key.endswith(("key.weight", "qkv_fused.weight"))]
        first = size * attention.nheads if "fused" in name else 0
        return loaded[name][first : first + size, 0]

    def _numbered(self, count: int) -> Any:
        """Return a weight of one column with numbered rows."""
        return self.torch.arange(count)[:, None]
