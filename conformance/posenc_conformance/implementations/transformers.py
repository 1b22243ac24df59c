"""Hugging Face transformers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims, to_torch

if TYPE_CHECKING:
    from torch import Tensor

FLOATS = ("float32", "bfloat16", "float16")
"""Tables and angles are float32 throughout: a float64 input gets no better result."""
EXACT = 2**24
"""Positions are cast to float32, which holds every integer up to here."""
MODELS = (
    "bloom",
    "deepseek_v3",
    "distilbert",
    "glm",
    "gpt_neox",
    "llama",
    "m2m_100",
    "marian",
    "mpt",
    "musicgen",
    "t5",
    "vibevoice",
    "whisper",
)


class TransformersAdapter:
    """transformers (seen: 5.23.0), as its models call it: configuration, module, then function.

    Of several models that do the same, the most used stands for all:

    ====================  ======================================================================
    rope half             Llama (also Mistral, Qwen, Gemma); for partial rotation GPT-NeoX (also
                          Phi, StableLM)
    rope interleaved      GLM (also Cohere and Ernie in float32, Llama 4 and DeepSeek-V2 as complex
                          numbers, and GPT-J: see TransformersGPTJAdapter)
    interleaved-to-half   DeepSeek-V3, its rotary part of a head
    alibi first-key       BLOOM, slopes included (also Falcon: see TransformersFalconAdapter)
    alibi last-key        MPT, float32 only
    t5                    T5 (also mT5, LongT5, UDOP, Pop2Piano, Switch)
    sinusoidal paper      DistilBERT with ``sinusoidal_pos_embds`` (also XLM, FlauBERT, SpeechT5)
    sinusoidal concat     Marian (also Pegasus, RoFormer, Informer, CTRL)
    sinusoidal fairseq    M2M100, padding index 1 (also NLLB, XGLM, FSMT, Speech2Text, TrOCR)
    sinusoidal musicgen   MusicGen
    sinusoidal whisper    Whisper's encoder (also Qwen-Omni)
    sinusoidal adm        VibeVoice's diffusion head, which casts its time steps to float32 and, of
                          an odd number of channels, returns one less
    ====================  ======================================================================

    A partial rotation is a fraction of the head, of which the modules take
    ``int(head_dim * part)``: 58 channels of 100 become 57.

    Tables are built as long as the positions need, where the model would take its configured
    maximum. DistilBERT and Marian fill theirs element by element in Python: hence their limit.
    """

    requires = ("torch", "transformers")

    def __init__(self) -> None:
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        self.torch = torch
        self.transformers = transformers
        self.code = {
            name: import_module(f"transformers.models.{name}.modeling_{name}") for name in MODELS
        }
        self._rotary = lru_cache(maxsize=32)(self._make_rotary)
        self._waves = lru_cache(maxsize=8)(self._make_waves)

    @claims("interleaved", "half", dtype=FLOATS, rotation="partial", max_position=EXACT)
    @claims("interleaved-to-half", dtype=FLOATS, max_position=EXACT)
    def rope(
        self,
        x: npt.NDArray[Any],
        positions: npt.NDArray[np.int64],
        *,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
    ) -> Tensor:
        """The model's rotary module, then its ``apply_rotary_pos_emb`` on queries and keys."""
        values = to_torch(x)
        *batch, rows, head_dim = values.shape
        heads = values.reshape(1, math.prod(batch), rows, head_dim)
        module, rotate = self._rotary(layout, base, head_dim, rotary_dim)
        cos, sin = module(heads, to_torch(positions)[None])
        query, _key = rotate(heads, heads, cos, sin)
        return query.reshape(values.shape)

    def _make_rotary(
        self, layout: str, base: float, head_dim: int, rotary_dim: int | None
    ) -> tuple[Callable[..., Any], Callable[..., Any]]:
        rope = {"rope_type": "default", "rope_theta": base}
        rotated = head_dim if rotary_dim is None else rotary_dim
        part = {"partial_rotary_factor": rotated / head_dim}
        head = {"hidden_size": head_dim, "num_attention_heads": 1, "num_key_value_heads": 1}
        auto = self.transformers
        if layout == "interleaved":
            code = self.code["glm"]
            config = auto.GlmConfig(**head, head_dim=head_dim, rope_parameters=rope | part)
            return code.GlmRotaryEmbedding(config), code.apply_rotary_pos_emb
        if layout == "interleaved-to-half":
            code = self.code["deepseek_v3"]
            config = auto.DeepseekV3Config(**head, qk_rope_head_dim=head_dim, rope_parameters=rope)
            return code.DeepseekV3RotaryEmbedding(config), code.apply_rotary_pos_emb_interleave
        if rotary_dim is None:
            code = self.code["llama"]
            config = auto.LlamaConfig(**head, head_dim=head_dim, rope_parameters=rope)
            return code.LlamaRotaryEmbedding(config), code.apply_rotary_pos_emb
        code = self.code["gpt_neox"]
        config = auto.GPTNeoXConfig(
            hidden_size=head_dim, num_attention_heads=1, rope_parameters=rope | part
        )
        return code.GPTNeoXRotaryEmbedding(config), code.apply_rotary_pos_emb

    @claims("paper", "concat", dtype=FLOATS, base=10000.0, odd_dim="uneven", max_position=1023)
    @claims("fairseq", "musicgen", dtype=FLOATS, base=10000.0, max_position=131_071)
    @claims("whisper", dtype=FLOATS, max_position=131_071)
    @claims(
        "adm",
        dtype="float32",
        base=10000.0,
        dim=(256, 128, 96, 64, 16, 8, 6, 4, 2),
        domain=("real", "negative"),
        max_position=EXACT,
    )
    def sinusoidal(
        self,
        positions: npt.NDArray[Any],
        dim: int,
        *,
        layout: str,
        denominator: str,
        first_position: int,
        dtype: str,
        base: float = 10000.0,
    ) -> Tensor:
        """Rows of the table that a model adds to its token embeddings, or of time steps."""
        where = to_torch(positions)
        if (layout, denominator) == ("cos-sin", "d/2"):
            config = self.transformers.VibeVoiceDiffusionHeadConfig(frequency_embedding_size=dim)
            return self.code["vibevoice"].VibeVoiceDiffusionHeadSinusoidalEmbedding(config)(where)
        if layout == "cos-sin":
            code = self.code["musicgen"]
            module = code.MusicgenSinusoidalPositionalEmbedding(2048, dim)
            return self._stretch(module, where, dtype, axes=3)
        if first_position:
            code = self.code["m2m_100"]
            module = code.M2M100SinusoidalPositionalEmbedding(1024, dim, padding_idx=1)
            return self._stretch(module, where, dtype, axes=2)[0]
        name = {"interleaved": "paper", "sin-cos": "concat"}[layout]
        name = "whisper" if denominator == "d/2-1" else name
        table = self._waves(name, _length(positions), dim, base, dtype)
        return self.torch.nn.functional.embedding(where, table)

    def _make_waves(self, name: str, length: int, dim: int, base: float, dtype: str) -> Tensor:
        """A whole table, in the dtype of a model."""
        kind = getattr(self.torch, dtype)
        if name == "whisper":
            return self.code["whisper"].sinusoids(length, dim, base).to(kind)
        if name == "paper":
            out = self.torch.empty(length, dim, dtype=kind)
            return self.code["distilbert"].create_sinusoidal_embeddings(length, dim, out)
        config = self.transformers.MarianConfig(
            d_model=dim,
            max_position_embeddings=length,
            vocab_size=2,
            pad_token_id=1,
            encoder_layers=0,
            encoder_attention_heads=1,
        )
        return self.code["marian"].MarianEncoder(config).to(kind).embed_positions.weight

    def _stretch(self, module: Any, where: Tensor, dtype: str, axes: int) -> Tensor:
        """Rows of a stretch of tokens without padding, from the first to the last asked for.

        The modules lengthen their tables themselves.
        """
        module.to(getattr(self.torch, dtype))
        first, last = (int(where.min()), int(where.max())) if len(where) else (0, -1)
        tokens = self.torch.zeros(1, 1, last + 1 - first, dtype=self.torch.int64)
        rows = module(tokens if axes == 3 else tokens[0], past_key_values_length=first)
        return rows[..., where - first, :]

    @claims("interpolated", dtype=FLOATS)
    def alibi_slopes(self, heads: int, *, dtype: str) -> Tensor:
        """The column of BLOOM's bias at key position 1."""
        mask = self.torch.ones(1, 2, dtype=self.torch.int64)
        bias = self.code["bloom"].build_alibi_tensor(mask, heads, getattr(self.torch, dtype))
        return bias[:, 0, 1]

    @claims("first-key", dtype=FLOATS)
    @claims("last-key", dtype="float32")
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, form: str, dtype: str) -> Tensor:
        """One row for all queries, as BLOOM and MPT add it."""
        if form == "last-key":
            bias = self.code["mpt"].build_mpt_alibi_tensor(heads, k_len)
        else:
            mask = self.torch.ones(1, k_len, dtype=self.torch.int64)
            bias = self.code["bloom"].build_alibi_tensor(mask, heads, getattr(self.torch, dtype))
        return bias.expand(heads, q_len, k_len)

    @claims("bidirectional", "causal")
    def t5_bucket(
        self,
        relative_position: npt.NDArray[np.int64],
        *,
        direction: str,
        num_buckets: int,
        max_distance: int,
    ) -> Tensor:
        """``T5Attention._relative_position_bucket``."""
        return self.code["t5"].T5Attention._relative_position_bucket(
            to_torch(relative_position), direction == "bidirectional", num_buckets, max_distance
        )

    @claims("bidirectional", "causal", dtype=("float64", *FLOATS))
    def t5_bias(
        self,
        table: npt.NDArray[Any],
        q_len: int,
        k_len: int,
        *,
        direction: str,
        max_distance: int,
    ) -> Tensor:
        """``T5Attention.compute_bias`` with the table as its weights, of a decoder if causal."""
        weights = to_torch(table)
        config = self.transformers.T5Config(
            d_model=1,
            d_kv=1,
            num_heads=weights.shape[1],
            relative_attention_num_buckets=weights.shape[0],
            relative_attention_max_distance=max_distance,
            is_decoder=direction == "causal",
        )
        layer = self.code["t5"].T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
        layer.to(weights.dtype)
        layer.load_state_dict({"relative_attention_bias.weight": weights}, strict=False)
        return layer.compute_bias(q_len, k_len, past_seen_tokens=k_len - q_len)[0]


class TransformersGPTJAdapter:
    """GPT-J in transformers (seen: 5.23.0): a table of sines and cosines, base 10000 only.

    The table is float32 and rows of it are cast to the dtype of the keys, as in a model that
    ``from_pretrained`` loads. CodeGen has the same code.
    """

    requires = ("torch", "transformers")

    def __init__(self) -> None:
        import torch
        from transformers.models.gptj import modeling_gptj

        self.torch = torch
        self.gptj = modeling_gptj
        self._table = lru_cache(maxsize=8)(modeling_gptj.create_sinusoidal_positions)

    @claims("interleaved", dtype=FLOATS, rotation="partial", base=10000.0, max_position=131_071)
    def rope(
        self,
        x: npt.NDArray[Any],
        positions: npt.NDArray[np.int64],
        *,
        rotary_dim: int | None = None,
    ) -> Tensor:
        """As in ``GPTJAttention.forward``, heads after positions."""
        values = to_torch(x)
        *batch, rows, head_dim = values.shape
        rotated = head_dim if rotary_dim is None else rotary_dim
        ids = to_torch(positions)[None]
        table = self.gptj.get_embed_positions(self._table(_length(positions), rotated), ids)
        waves = self.torch.gather(table, 1, ids[..., None].expand(1, rows, table.shape[-1]))
        sin, cos = waves.to(values.dtype).tensor_split(2, dim=-1)
        heads = values.reshape(1, math.prod(batch), rows, head_dim).transpose(1, 2)
        turned = self.gptj.apply_rotary_pos_emb(heads[..., :rotated], sin, cos)
        whole = self.torch.cat([turned, heads[..., rotated:]], dim=-1)
        return whole.transpose(1, 2).reshape(values.shape)


class TransformersFalconAdapter:
    """Falcon's ALiBi in transformers (seen: 5.23.0).

    It rounds slopes and products to bfloat16 whatever dtype it is asked for.
    """

    requires = ("torch", "transformers")

    def __init__(self) -> None:
        import torch
        from transformers.models.falcon import modeling_falcon

        self.torch = torch
        self.falcon = modeling_falcon

    @claims("interpolated", dtype=FLOATS)
    def alibi_slopes(self, heads: int, *, dtype: str) -> Tensor:
        """The column of the bias at key position 1."""
        return self.alibi_bias(heads, 1, 2, dtype=dtype)[:, 0, 1]

    @claims("first-key", dtype=FLOATS)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Tensor:
        """One row for all queries."""
        mask = self.torch.ones(1, k_len, dtype=self.torch.int64)
        bias = self.falcon.build_alibi_tensor(mask, heads, getattr(self.torch, dtype))
        return bias.expand(heads, q_len, k_len)


def _length(positions: npt.NDArray[np.int64]) -> int:
    """Length of a table that holds the positions, a power of two so that few tables are made."""
    largest = int(positions.max()) if positions.size else 0
    return max(64, 1 << largest.bit_length())
