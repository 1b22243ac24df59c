"""vLLM, whose layers rotate queries and keys with modules that get_rope makes and caches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import Array, Positions, once

SMALL: Mapping[str, Any] = {"vocab_size": 256, "intermediate_size": 64, "quantization_config": None}
"""Fields that do not affect positions."""
LONGEST = 131072
"""The longest tables, in tokens: those of Llama 4 Scout's whole context take 12 GB."""
BY_LENGTH = ("longrope", "su")
"""Kinds of scaling that depend on the length for which the engine is started, not on the text."""
PLAIN = (
    "gemma",
    "gemma2",
    "gemma3_text",
    "gpt_neox",
    "gpt_oss",
    "granite",
    "llama",
    "mistral",
    "olmo",
    "olmo2",
    "phi",
    "phi3",
    "qwen2",
    "qwen3",
    "seed_oss",
    "stablelm",
    "starcoder2",
)
"""Types whose layers all rotate queries and keys with one call of the module rotary_emb."""


class VllmAdapter:
    """vLLM (seen: 0.32.0 for CPUs): the module ``rotary_emb`` of a layer, with its own kernel.

    ``initialize_model`` makes the model without memory, except for its tables. The cache of
    get_rope is cleared for each engine, because a process normally has only one.
    """

    requires = ("torch", "vllm")

    def __init__(self) -> None:
        import torch
        from vllm.engine.arg_utils import EngineArgs
        from vllm.model_executor.layers import rotary_embedding

        self.torch, self.code, self._arguments = torch, rotary_embedding, EngineArgs
        plain = rotary_embedding.get_rope

        def with_tables(*arguments: Any, **named: Any) -> Any:
            with torch.device("cpu"):
                return plain(*arguments, **named)

        rotary_embedding.get_rope = with_tables  # before any model has imported it
        self._model = once(self._make)

    @claims(dtype=["float32"])
    def rotary(
        self, x: Array, positions: Positions, *, config: Mapping[str, Any], layer: int
    ) -> Any:
        """Rotate x as keys, [tokens, heads * channels], all positions in one call."""
        if positions.ndim > 1:
            raise NotImplementedError("positions of an image are those of a text here")
        length = _length(config, int(positions.max(initial=0)) + 1)
        turn = self._model({**config, "_length": length})[layer]
        if not type(turn).__module__.startswith("vllm."):
            raise NotImplementedError("vLLM runs this type by the code of transformers")
        rows = to_torch(x).movedim(-2, 0).contiguous()
        where = self.torch.as_tensor(positions.astype("int64"))
        flat = rows.reshape(len(rows), -1).clone()
        turned, _ = turn(where, flat, flat.clone())
        return turned.reshape(rows.shape).movedim(0, -2)

    def _make(self, config: Mapping[str, Any]) -> list[Any]:
        """Make the model, and return the rotary module of each layer."""
        from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
        from vllm.config import set_current_vllm_config
        from vllm.distributed import (
            ensure_model_parallel_initialized,
            init_distributed_environment,
        )
        from vllm.model_executor.model_loader.utils import initialize_model

        own = {name: value for name, value in config.items() if name != "_length"}
        if own["model_type"] not in PLAIN:
            raise NotImplementedError(f"{own['model_type']} is asked by its probe alone")
        classes = [dict(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)[own["model_type"]]]
        whole = {**own, **SMALL, "architectures": classes}
        with TemporaryDirectory() as folder:
            Path(folder, "config.json").write_text(json.dumps(whole), "utf-8")
            made = self._arguments(
                model=folder,
                skip_tokenizer_init=True,
                dtype="float32",
                enforce_eager=True,
                max_model_len=config["_length"],
            ).create_engine_config()
            store = f"file://{folder}/store"
            init_distributed_environment(1, 0, store, 0, "gloo")
            with set_current_vllm_config(made):
                ensure_model_parallel_initialized(1, 1)
        self.code._ROPE_DICT.clear()
        with self.torch.device("meta"):
            model = initialize_model(made)
        # Layers share a module, which is listed once for each layer.
        named = model.named_modules(remove_duplicate=False)
        return [module for name, module in named if name.endswith(".rotary_emb")]


def _length(config: Mapping[str, Any], asked: int) -> int:
    """Return the length for which to start an engine that gets ``asked`` positions."""
    longest = min(config.get("max_position_embeddings") or LONGEST, LONGEST)
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    original = config.get("original_max_position_embeddings")
    if (
        scaling.get("rope_type", scaling.get("type")) in BY_LENGTH
        and original
        and asked <= original
    ):
        return int(original)
    return int(longest)
