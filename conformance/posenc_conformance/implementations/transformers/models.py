"""Models as transformers builds them from their configuration."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import EXACT, FLOATS, Array, Positions, by_heads, once
from posenc_conformance.implementations.transformers.base import Transformers

if TYPE_CHECKING:
    from torch import Tensor

Config = Mapping[str, Any]
Module = Any
"""A module of transformers, or one of PyTorch: their types are not there without them."""


class TransformersModelsAdapter(Transformers):
    """transformers (seen: 5.24.0) as an engine: configuration class, rotary module, function.

    Every model is asked whose type ``CONFIG_MAPPING`` knows. The attention of a layer, made without
    weights, says whether the layer rotates. DeepSeek-V3's function moves the channels of pairs
    apart; here they are moved back. Whisper's encoder and the biases of BLOOM and MPT are
    functions.
    """

    def __init__(self) -> None:
        super().__init__()
        self._model = once(self._make)

    @claims(dtype=FLOATS, max_position=EXACT)
    def rotary(self, x: Array, positions: Positions, *, config: Config, layer: int) -> object:
        """Turn queries as the model's attention turns them."""
        made, code, module, still = self._model(dict(config))
        tensor = to_torch(x)
        if layer in still:
            return tensor
        if made.model_type == "gptj":
            return self._of_gptj(code, made, module, tensor, positions)
        width = self._width(module, made, layer, tensor.shape[-1])
        turned = by_heads(
            lambda part: self._turned(code, made, module, part, positions, layer),
            tensor[..., :width],
        )
        return self.torch.cat([turned, tensor[..., width:]], dim=-1)

    @claims(models=["bloom", "replit-code-v1.5-3b"])
    def bias(self, q_len: int, k_len: int, *, config: Config, layer: int) -> Tensor:
        """Return the bias of BLOOM or MPT, one row for all queries."""
        made, code, *_ = self._model(dict(config))
        heads = made.num_attention_heads
        if config["model_type"] == "mpt":
            most = made.attn_config.alibi_bias_max
            bias = code.build_mpt_alibi_tensor(heads, k_len, alibi_bias_max=most)
        else:
            mask = self.torch.ones(1, k_len, dtype=self.torch.int64)
            bias = code.build_alibi_tensor(mask, heads, self.torch.float32)
        return bias.expand(heads, q_len, k_len)

    @claims(models=["whisper-tiny"])
    def encoding(self, positions: Positions, *, config: Config) -> Tensor:
        """Return rows of the table of Whisper's encoder."""
        made, code, *_ = self._model(dict(config))
        return code.sinusoids(made.max_source_positions, made.d_model)[positions]

    def _make(self, config: Config) -> tuple[Any, Any, Any, list[int]]:
        """Make what a model needs to rotate.

        These are configuration, modelling code, the module of cosines and sines if any, and the
        layers that are not rotated.

        Raises NotImplementedError for a type of model that transformers does not have.
        """
        type = str(config["model_type"])
        known = self.transformers.CONFIG_MAPPING
        if type not in known:
            raise NotImplementedError(f"transformers has no model of the type {type}")
        fields = {name: value for name, value in config.items() if name != "model_type"}
        made = known[type](**fields).get_text_config()
        code = self.code[made.__class__.__module__.split(".")[-2]]
        modules = [
            each
            for name, each in vars(code).items()
            if name.endswith("RotaryEmbedding") and "Vision" not in name and "Audio" not in name
        ]
        still = self._unrotated(code, made) if made.model_type == "llama4_text" else []
        return made, code, modules[0](made) if modules else None, still

    def _unrotated(self, code: Module, made: Module) -> list[int]:
        """Find the layers that are not rotated, as the attention of each says.

        The attention is made without memory for its weights.
        """
        with self.torch.device("meta"):
            layers = [code.Llama4TextAttention(made, n) for n in range(made.num_hidden_layers)]
        return [number for number, layer in enumerate(layers) if not layer.use_rope]

    def _width(self, module: Module, made: Module, layer: int, size: int) -> int:
        """Count the channels that the module has cosines and sines for."""
        own = f"{_kind(made, layer)}_inv_freq"
        frequencies = getattr(module, own) if hasattr(module, own) else module.inv_freq
        return min(size, 2 * len(frequencies))

    def _turned(
        self, code: Module, made: Module, module: Module, q: Any, positions: Positions, layer: int
    ) -> Any:
        where = to_torch(positions)[..., None, :]
        kinds = "layer_type" in inspect.signature(module.forward).parameters
        tables = module(q, where, *([_kind(made, layer)] if kinds else []))
        if not isinstance(tables, tuple):  # complex numbers, for heads before or behind positions
            swap = code.__name__.endswith("llama4")
            given = q.transpose(1, 2) if swap else q
            turned = code.apply_rotary_emb(given, given, tables)[0]
            return turned.transpose(1, 2) if swap else turned
        if getattr(made, "rope_interleave", False):
            halves = code.apply_rotary_pos_emb_interleave(q, q, *tables)[0]
            return halves.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)
        if "k" in inspect.signature(code.apply_rotary_pos_emb).parameters:
            return code.apply_rotary_pos_emb(q, q, *tables)[0]
        return code.apply_rotary_pos_emb(q, *tables, unsqueeze_dim=1)

    def _of_gptj(
        self, code: Module, made: Module, module: Module, x: Any, positions: Positions
    ) -> Any:
        """Turn x as ``GPTJAttention.forward`` does, for heads behind positions."""
        width = made.rotary_dim
        sin, cos = module(x, to_torch(positions)[None])

        def turned(q: Any) -> object:
            rotated = code.apply_rotary_pos_emb(q[..., :width], sin, cos)
            return self.torch.cat([rotated, q[..., width:]], dim=-1)

        return by_heads(turned, x, form="bnhd")


def _kind(made: Module, layer: int) -> str:
    """Return what transformers calls this kind of layer."""
    types = getattr(made, "layer_types", None)
    return types[layer] if types else "full_attention"
