"""Rotary embedding and its scalings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import EXACT, FLOATS, Array, Positions, by_heads, once
from posenc_conformance.adapters.torch import backward
from posenc_conformance.implementations.transformers.base import Transformers

if TYPE_CHECKING:
    from torch import Tensor

LARGEST_LENGTH = 16_384
"""Longest sequence for which dynamic scaling is asked: its length follows from the positions."""


class Rotary(Transformers):
    """A model's rotary module, then its ``apply_rotary_pos_emb`` on queries and keys.

    ====================  ======================================================================
    half                  Llama (also Mistral, Qwen, Gemma); for partial rotation GPT-NeoX (also
                          Phi, StableLM)
    interleaved           GLM (also Cohere and Ernie in float32, Llama 4 and DeepSeek-V2 as complex
                          numbers, and GPT-J: see TransformersGPTJAdapter)
    interleaved-to-half   DeepSeek-V3, its rotary part of a head
    yarn gpt-oss          gpt-oss
    longrope              Phi-3
    ntk-aware             HunYuan, whose rope_type is dynamic, with an alpha
    ====================  ======================================================================

    The modules take the scalings of ``ROPE_INIT_FUNCTIONS`` from their configuration. A partial
    rotation is a fraction of the head, of which they take ``int(head_dim * part)``: 58 channels of
    100 become 57.
    """

    def __init__(self) -> None:
        super().__init__()
        self._rotary = once(self._make_rotary)

    @claims("interleaved", "half", dtype=FLOATS, rotation="partial", max_position=EXACT)
    @claims("interleaved-to-half", dtype=FLOATS, max_position=EXACT)
    def rope(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
    ) -> object:
        """Turn queries by the model of the layout."""
        return self._scaled(x, positions, layout, rotary_dim=rotary_dim, rope_theta=base)

    rope_vjp = backward(rope)

    @claims("batched-half", "batched-interleaved", dtype=FLOATS, max_position=EXACT)
    def rope_batched(self, x: Array, positions: Array, *, base: float, layout: str) -> object:
        """Turn queries by the model of the layout, with ``position_ids`` of shape [batch, n]."""
        module, rotate = self._rotary(layout, x.shape[-1], rope_theta=base)
        values = to_torch(x)
        return rotate(values, values, *module(values, to_torch(positions)))[0]

    @claims("query-key-half", "query-key-interleaved", dtype=FLOATS, max_position=EXACT)
    def rope_query_key(
        self, q: Array, k: Array, positions: Positions, *, base: float, layout: str
    ) -> Tensor:
        """Return both results of ``apply_rotary_pos_emb``."""
        module, rotate = self._rotary(layout, q.shape[-1], rope_theta=base)
        queries, keys = to_torch(q)[None], to_torch(k)[None]
        tables = module(queries, to_torch(positions)[None])
        return self.torch.cat(rotate(queries, keys, *tables), dim=1)[0]

    @claims("half-doubled", dtype=FLOATS, rotation="partial")
    @claims("interleaved-doubled", dtype=FLOATS)
    def rope_apply(self, x: Array, cos: Array, sin: Array, *, layout: str) -> object:
        """Call GPT-NeoX's ``apply_rotary_pos_emb``, or Cohere's, which computes in float32."""
        model = {"half": "gpt_neox", "interleaved": "cohere"}[layout]
        rotate = self.code[model].apply_rotary_pos_emb
        tables = (to_torch(cos)[None], to_torch(sin)[None])
        return by_heads(lambda heads: rotate(heads, heads, *tables)[0], to_torch(x))

    @claims()
    def position_interpolation_frequencies(
        self, rotary_dim: int, *, base: float, factor: float
    ) -> Tensor:
        """Return the inverse frequencies of rope_type linear."""
        return self._frequencies(rotary_dim, rope_type="linear", rope_theta=base, factor=factor)

    @claims("interleaved", "half", dtype=FLOATS, max_position=EXACT)
    def position_interpolation(
        self, x: Array, positions: Positions, *, base: float, factor: float, layout: str
    ) -> object:
        """Turn queries by the rope_type linear."""
        return self._scaled(
            x, positions, layout, rope_type="linear", rope_theta=base, factor=factor
        )

    position_interpolation_vjp = backward(position_interpolation)

    @claims("half", dtype=FLOATS, max_position=EXACT)
    def ntk_aware(self, x: Array, positions: Positions, *, base: float, factor: float) -> object:
        """Turn queries by HunYuan's rope_type dynamic with an alpha, which is the factor."""
        return self._scaled(
            x, positions, "hunyuan", rope_type="dynamic", rope_theta=base, alpha=factor, factor=1.0
        )

    ntk_aware_vjp = backward(ntk_aware)

    @claims()
    def dynamic_ntk_frequencies(
        self,
        rotary_dim: int,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        length: int,
    ) -> Tensor:
        """Return the inverse frequencies of rope_type dynamic for sequences of a length."""
        return self._frequencies(
            rotary_dim,
            max_position_embeddings=original_max_position_embeddings,
            length=length,
            rope_type="dynamic",
            rope_theta=base,
            factor=factor,
        )

    @claims("interleaved", "half", dtype=FLOATS, max_position=LARGEST_LENGTH - 1)
    def dynamic_ntk(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        length: int,
        layout: str,
    ) -> object:
        """Turn queries by the rope_type dynamic.

        The model has not seen any other sequence.
        """
        return self.dynamic(
            x,
            positions,
            layout,
            length,
            original_max_position_embeddings,
            rope_theta=base,
            factor=factor,
        )

    dynamic_ntk_vjp = backward(dynamic_ntk)

    def dynamic(
        self,
        x: Array,
        positions: Positions,
        layout: str,
        length: int,
        original_max_position_embeddings: int,
        seen: int = 0,
        **rope: Any,
    ) -> object:
        """Turn queries by the rope_type dynamic.

        The model has seen a sequence of ``seen`` tokens before, unless that is 0. The module takes
        the largest position for the end of the sequence; so a row is added there.
        """
        module, rotate = self._make_rotary(
            layout,
            x.shape[-1],
            max_position_embeddings=original_max_position_embeddings,
            rope_type="dynamic",
            **rope,
        )
        values = self.torch.nn.functional.pad(to_torch(x), (0, 0, 0, 1))
        if seen:
            module(values, self.torch.tensor([[seen - 1]]))
        return _turned(module, rotate, values, np.append(positions, length - 1))[..., :-1, :]

    @claims()
    def llama3_frequencies(
        self,
        rotary_dim: int,
        *,
        base: float,
        factor: float,
        low_freq_factor: float,
        high_freq_factor: float,
        original_max_position_embeddings: int,
    ) -> Tensor:
        """Return the inverse frequencies of rope_type llama3."""
        return self._frequencies(
            rotary_dim,
            rope_type="llama3",
            rope_theta=base,
            factor=factor,
            low_freq_factor=low_freq_factor,
            high_freq_factor=high_freq_factor,
            original_max_position_embeddings=original_max_position_embeddings,
        )

    @claims("interleaved", "half", dtype=FLOATS, max_position=EXACT)
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
        layout: str,
    ) -> object:
        """Turn queries by the rope_type llama3."""
        return self._scaled(
            x,
            positions,
            layout,
            rope_type="llama3",
            rope_theta=base,
            factor=factor,
            low_freq_factor=low_freq_factor,
            high_freq_factor=high_freq_factor,
            original_max_position_embeddings=original_max_position_embeddings,
        )

    llama3_vjp = backward(llama3)

    @claims(scaling="linear")
    def p_rope_frequencies(
        self, rotary_dim: int, *, base: float, proportion: float, factor: float = 1.0
    ) -> Tensor:
        """Return the inverse frequencies of rope_type proportional."""
        return self._frequencies(
            rotary_dim,
            rope_type="proportional",
            rope_theta=base,
            partial_rotary_factor=proportion,
            factor=factor,
        )

    @claims("half", dtype=FLOATS, max_position=EXACT, scaling="linear")
    def p_rope(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        proportion: float,
        factor: float = 1.0,
    ) -> object:
        """Turn queries by the rope_type proportional, of Gemma 4."""
        return self._scaled(
            x,
            positions,
            "half",
            rope_type="proportional",
            rope_theta=base,
            partial_rotary_factor=proportion,
            factor=factor,
        )

    p_rope_vjp = backward(p_rope)

    @claims("code", "gpt-oss")
    def yarn_frequencies(
        self,
        rotary_dim: int,
        *,
        ramp: str,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        beta_fast: float | None = None,
        beta_slow: float | None = None,
    ) -> Tensor:
        """Return the inverse frequencies of rope_type yarn."""
        return self._frequencies(
            rotary_dim,
            rope_type="yarn",
            rope_theta=base,
            factor=factor,
            original_max_position_embeddings=original_max_position_embeddings,
            beta_fast=beta_fast,
            beta_slow=beta_slow,
            truncate=ramp == "index",
        )

    @claims(
        "code-half",
        "code-interleaved",
        dtype=FLOATS,
        rotation="partial",
        attention=("explicit", "mscale"),
        max_position=EXACT,
    )
    @claims("gpt-oss", dtype=FLOATS, attention=("explicit", "mscale"), max_position=EXACT)
    def yarn(
        self,
        x: Array,
        positions: Positions,
        *,
        layout: str,
        ramp: str,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        beta_fast: float | None = None,
        beta_slow: float | None = None,
        rotary_dim: int | None = None,
        attention_factor: float | None = None,
        mscale: float | None = None,
        mscale_all_dim: float | None = None,
    ) -> object:
        """Turn queries by the rope_type yarn, of gpt-oss if bounds are not rounded."""
        return self._scaled(
            x,
            positions,
            layout if ramp == "index" else "gpt-oss",
            rotary_dim=rotary_dim,
            rope_type="yarn",
            rope_theta=base,
            factor=factor,
            original_max_position_embeddings=original_max_position_embeddings,
            beta_fast=beta_fast,
            beta_slow=beta_slow,
            truncate=ramp == "index",
            attention_factor=attention_factor,
            mscale=mscale,
            mscale_all_dim=mscale_all_dim,
        )

    yarn_vjp = backward(yarn)

    @claims()
    def longrope_frequencies(self, factors: Array, *, base: float) -> Tensor:
        """Return the inverse frequencies of rope_type longrope in long texts."""
        return self._frequencies(
            2 * len(factors),
            length=2,
            rope_type="longrope",
            rope_theta=base,
            short_factor=[1.0] * len(factors),
            long_factor=factors.tolist(),
            factor=1.0,
            original_max_position_embeddings=1,
        )

    @claims("phi-3", dtype=FLOATS, rotation="partial", attention="explicit", max_position=EXACT)
    def longrope(
        self,
        x: Array,
        positions: Positions,
        short_factors: Array,
        long_factors: Array,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        rotary_dim: int | None = None,
        attention_factor: float | None = None,
    ) -> object:
        """Turn queries by Phi-3 with rope_type longrope."""
        return self._scaled(
            x,
            positions,
            "phi-3",
            rotary_dim=rotary_dim,
            rope_type="longrope",
            rope_theta=base,
            short_factor=short_factors.astype(float).tolist(),
            long_factor=long_factors.astype(float).tolist(),
            factor=factor,
            original_max_position_embeddings=original_max_position_embeddings,
            attention_factor=attention_factor,
        )

    longrope_vjp = backward(longrope)

    def _scaled(self, x: Array, positions: Positions, layout: str, **rope: Any) -> Any:
        module, rotate = self._rotary(layout, x.shape[-1], **rope)
        return _turned(module, rotate, to_torch(x), positions)

    def _frequencies(
        self,
        rotary_dim: int,
        length: int | None = None,
        max_position_embeddings: int = 2048,
        **rope: Any,
    ) -> Tensor:
        from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

        config = self.transformers.LlamaConfig(
            head_dim=rotary_dim,
            max_position_embeddings=max_position_embeddings,
            rope_parameters=rope,
        )
        frequencies, _factor = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, seq_len=length)
        return frequencies

    def _make_rotary(
        self,
        layout: str,
        head_dim: int,
        rotary_dim: int | None = None,
        max_position_embeddings: int = 2048,
        **rope: Any,
    ) -> tuple[Any, Any]:
        """Make the module of the model that stands for a layout, and return its function too."""
        auto = self.transformers
        given = {name: value for name, value in rope.items() if value is not None}
        rope = {"rope_type": "default", **given}
        sizes: Mapping[str, Any] = {
            "hidden_size": head_dim,
            "num_attention_heads": 1,
            "num_key_value_heads": 1,
            "max_position_embeddings": max_position_embeddings,
        }
        part = {"partial_rotary_factor": (rotary_dim or head_dim) / head_dim}
        if layout == "interleaved":
            code = self.code["glm"]
            config = auto.GlmConfig(**sizes, head_dim=head_dim, rope_parameters=part | rope)
            return code.GlmRotaryEmbedding(config), code.apply_rotary_pos_emb
        if layout == "interleaved-to-half":
            code = self.code["deepseek_v3"]
            config = auto.DeepseekV3Config(**sizes, qk_rope_head_dim=head_dim, rope_parameters=rope)
            return code.DeepseekV3RotaryEmbedding(config), code.apply_rotary_pos_emb_interleave
        if layout == "gpt-oss":
            code = self.code["gpt_oss"]
            config = auto.GptOssConfig(**sizes, head_dim=head_dim, rope_parameters=rope)
            return code.GptOssRotaryEmbedding(config), code.apply_rotary_pos_emb
        if layout == "hunyuan":
            code = self.code["hunyuan_v1_dense"]
            config = auto.HunYuanDenseV1Config(**sizes, head_dim=head_dim, rope_parameters=rope)
            return code.HunYuanDenseV1RotaryEmbedding(config), code.apply_rotary_pos_emb
        if layout == "phi-3":
            code = self.code["phi3"]
            config = auto.Phi3Config(
                **sizes,
                pad_token_id=None,
                original_max_position_embeddings=rope["original_max_position_embeddings"],
                rope_parameters=part | rope,
            )
            return code.Phi3RotaryEmbedding(config), code.apply_rotary_pos_emb
        if rotary_dim is None:
            code = self.code["llama"]
            config = auto.LlamaConfig(**sizes, head_dim=head_dim, rope_parameters=rope)
            return code.LlamaRotaryEmbedding(config), code.apply_rotary_pos_emb
        code = self.code["gpt_neox"]
        config = auto.GPTNeoXConfig(
            hidden_size=head_dim, num_attention_heads=1, rope_parameters=part | rope
        )
        return code.GPTNeoXRotaryEmbedding(config), code.apply_rotary_pos_emb


def _turned(module: Any, rotate: Any, values: Tensor, positions: Positions) -> Any:
    ids = to_torch(positions)[None]
    return by_heads(lambda heads: rotate(heads, heads, *module(heads, ids))[0], values)
