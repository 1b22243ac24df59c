"""mlx-lm, which reads configurations with a dataclass for each model type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from importlib import import_module
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_conformance.adapters import Array, Positions, by_heads, in_stretches, once

SMALL = ("vocab_size", "intermediate_size", "moe_intermediate_size")
"""Sizes that do not affect positions."""
REST: Mapping[str, Any] = {
    "attention_bias": False,
    "layer_norm_eps": 1e-6,
    "layer_norm_epsilon": 1e-6,
    "num_experts": 2,
    "num_experts_per_tok": 1,
    "num_local_experts": 2,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True,
    "use_qkv_bias": False,
}
"""Fields that it requires, and that model files of the kit omit."""


class MlxLmAdapter:
    """mlx-lm (seen: 0.32.2, with mlx 0.32.4 for CPUs): the module ``rope`` of a layer's attention.

    The model is built as for loading. Its arrays are never computed, so it takes no memory.
    """

    requires = ("mlx", "mlx-lm")

    def __init__(self) -> None:
        import mlx.core
        from mlx_lm.utils import MODEL_REMAPPING

        self.mx, self._types = mlx.core, MODEL_REMAPPING
        self._layers = once(self._make)

    @claims(dtype=["float32", "float16"])
    def rotary(
        self, x: Array, positions: Positions, *, config: Mapping[str, Any], layer: int
    ) -> Any:
        """Rotate each stretch of positions by its offset, as in prefill and decoding."""
        if positions.ndim > 1 and (positions != positions[0]).any():
            raise NotImplementedError("positions of an image are those of a text here")
        block = self._layers(dict(config))[layer]
        attention = _first(block, "self_attn", "attention", "attn")
        rope = _first(attention, "rope", "rotary_emb")
        if rope is None or not getattr(attention, "use_rope", True):
            return x

        def turned(rows: Array, start: int) -> Any:
            return by_heads(lambda q: np.array(rope(self.mx.array(q), offset=start)), rows)

        return in_stretches(turned, x, np.atleast_2d(positions)[0])

    def _make(self, config: Mapping[str, Any]) -> Any:
        type = self._types.get(config["model_type"], config["model_type"])
        if type == "olmo":
            raise NotImplementedError("its olmo wants another package, ai2-olmo")
        try:
            code = import_module(f"mlx_lm.models.{type}")
        except ImportError as error:
            raise NotImplementedError(f"mlx-lm has no model of the type {type}") from error
        arguments = {field.name: field for field in fields(code.ModelArgs)}
        usual = dict(REST)
        if "hidden_size" in config:
            heads = config["num_attention_heads"]
            usual |= {"head_dim": config["hidden_size"] // heads, "num_key_value_heads": heads}
        missing = {
            name: value
            for name, value in usual.items()
            if name in arguments and arguments[name].default is MISSING
        }
        small = {name: 8 for name in SMALL if name in arguments}
        try:
            return code.Model(code.ModelArgs.from_dict({**missing, **config, **small})).layers
        except TypeError as error:
            raise NotImplementedError(f"more must be given: {error}") from error


def _first(thing: Any, *names: str) -> Any:
    """Return the first attribute that exists; an mlx module without arrays is falsy."""
    attributes = (getattr(thing, name, None) for name in names)
    return next((attribute for attribute in attributes if attribute is not None), None)
