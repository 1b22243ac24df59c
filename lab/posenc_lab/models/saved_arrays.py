"""Positional arrays that libraries cache and save, as files. Needs what ``make real`` installs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers.models.embeddings import get_1d_rotary_pos_embed, get_timestep_embedding
from rotary_embedding_torch import RotaryEmbedding
from safetensors.torch import save_file
from torchtune.models.llama3_1 import Llama3ScaledRoPE
from torchtune.models.phi3._position_embeddings import Phi3RotaryPositionalEmbeddings
from torchtune.modules import RotaryPositionalEmbeddings
from transformers import DeepseekV3Config, DINOv3ViTConfig, GptOssConfig, LlamaConfig
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.deberta_v2.modeling_deberta_v2 import build_relative_position
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3RotaryEmbedding
from transformers.models.dinov3_vit.modeling_dinov3_vit import DINOv3ViTRopePositionEmbedding
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssRotaryEmbedding
from transformers.models.gptj.modeling_gptj import create_sinusoidal_positions
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.whisper.modeling_whisper import sinusoids
from x_transformers import x_transformers

LLAMA_3_1: dict[str, Any] = {
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}
DEEPSEEK_V3: dict[str, Any] = {
    "max_position_embeddings": 163840,
    "rope_scaling": {
        "rope_type": "yarn",
        "factor": 40.0,
        "beta_fast": 32,
        "beta_slow": 1,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 4096,
    },
}


def llama_cache(part: int) -> torch.Tensor:
    """Return cosines (``part`` 0) or sines (1) of 256 positions."""
    module = LlamaRotaryEmbedding(LlamaConfig(**LLAMA_3_1))
    return torch.as_tensor(module(torch.zeros(1, 1), torch.arange(256)[None])[part])


def cos_sin_cache() -> torch.Tensor:
    """Return the first halves of cosines and sines side by side, as inference engines do."""
    return torch.cat([llama_cache(part)[0, :, :64] for part in (0, 1)], -1)


def buckets(bidirectional: bool) -> torch.Tensor:
    distance = torch.arange(300)[None] - torch.arange(300)[:, None]
    indices = T5Attention._relative_position_bucket(distance, bidirectional, 32, 128)
    return torch.as_tensor(indices)


def causal() -> torch.Tensor:
    return torch.full((30, 30), torch.finfo(torch.float32).min).triu(1)[None, None]


SAVED: dict[str, tuple[str, Callable[[], Any], str]] = {
    "transformers, Llama 3.1, inv_freq": (
        "pt",
        lambda: LlamaRotaryEmbedding(LlamaConfig(**LLAMA_3_1)).inv_freq,
        "Llama 3.1 8B",
    ),
    "transformers, Llama 3.1, cos": ("npy", lambda: llama_cache(0), "Llama 3.1 8B"),
    "transformers, Llama 3.1, sin": ("npy", lambda: llama_cache(1), "Llama 3.1 8B"),
    "transformers, Llama 3.1, cos in bfloat16": (
        "safetensors",
        lambda: llama_cache(0).bfloat16(),
        "Llama 3.1 8B",
    ),
    "cos_sin_cache of Llama 3.1": ("pt", cos_sin_cache, "Llama 3.1 8B"),
    "transformers, Llama 2, inv_freq": (
        "safetensors",
        lambda: LlamaRotaryEmbedding(LlamaConfig()).inv_freq,
        "Llama 2 7B",
    ),
    "transformers, gpt-oss, inv_freq": (
        "pt",
        lambda: GptOssRotaryEmbedding(GptOssConfig()).inv_freq,
        "gpt-oss 20B",
    ),
    "transformers, DeepSeek-V3, inv_freq": (
        "pt",
        lambda: DeepseekV3RotaryEmbedding(DeepseekV3Config(**DEEPSEEK_V3)).inv_freq,
        "DeepSeek-V3",
    ),
    "transformers, GPT-J, embed_positions": (
        "pt",
        lambda: create_sinusoidal_positions(2048, 64),
        "GPT-J 6B",
    ),
    "transformers, DINOv3, inv_freq": (
        "npy",
        lambda: DINOv3ViTRopePositionEmbedding(DINOv3ViTConfig()).inv_freq,
        "base 100, rotary_dim 32",
    ),
    "transformers, T5, buckets of the encoder": (
        "npy",
        lambda: buckets(True),
        "bidirectional, num_buckets 32, max_distance 128",
    ),
    "transformers, T5, buckets of the decoder": (
        "pt",
        lambda: buckets(False),
        "causal, num_buckets 32, max_distance 128",
    ),
    "transformers, DeBERTa, buckets": (
        "pt",
        lambda: build_relative_position(
            torch.zeros(1, 400, 8), torch.zeros(1, 400, 8), bucket_size=256, max_position=512
        ),
        "deberta: deberta_bucket",
    ),
    "transformers, BLOOM, alibi": (
        "npy",
        lambda: build_alibi_tensor(torch.ones(1, 40), 16, torch.float32),
        "alibi: alibi_bias, first-key",
    ),
    "transformers, Whisper, sinusoids": ("pt", lambda: sinusoids(200, 64), "whisper"),
    "mask of four axes": ("npy", causal, "causal-mask"),
    "torchtune, cache": (
        "pt",
        lambda: RotaryPositionalEmbeddings(128, 4096).cache,
        "rope: cosines and sines, cos first in the last axis (base 10000",
    ),
    "torchtune, Llama 3.1, cache": (
        "pt",
        lambda: Llama3ScaledRoPE(128, max_seq_len=4096, base=500000).cache,
        "Llama 3.1 8B",
    ),
    "torchtune, Phi-3, cache": (
        "npy",
        lambda: Phi3RotaryPositionalEmbeddings(96, 2048).cache,
        "Phi-3 mini 4K",
    ),
    "rotary-embedding-torch, freqs": (
        "pt",
        lambda: RotaryEmbedding(dim=32).freqs,
        "base 10000, rotary_dim 32",
    ),
    "rotary-embedding-torch, pixel": (
        "pt",
        lambda: RotaryEmbedding(dim=32, freqs_for="pixel", max_freq=256).freqs,
        "from 1 π to 128 π",
    ),
    "rotary-embedding-torch, rescaled": (
        "npy",
        lambda: RotaryEmbedding(dim=64, theta_rescale_factor=4).freqs,
        "NTK-aware scaling makes of 10000 with factor 4",
    ),
    "rotary-embedding-torch, angles": (
        "npy",
        lambda: RotaryEmbedding(dim=32)(torch.arange(100)),
        "rope: angles, each channel twice",
    ),
    "x-transformers, inv_freq": (
        "npy",
        lambda: x_transformers.RotaryEmbedding(64).inv_freq,
        "base 10000, rotary_dim 64",
    ),
    "x-transformers, slopes": (
        "npy",
        lambda: x_transformers.AlibiPositionalBias(8, 8).slopes,
        "alibi: alibi_slopes",
    ),
    "diffusers, freqs_cis": (
        "pt",
        lambda: get_1d_rotary_pos_embed(56, torch.arange(64), use_real=False),
        "rope: cos + i sin",
    ),
    "diffusers, cos": (
        "npy",
        lambda: get_1d_rotary_pos_embed(56, torch.arange(64), use_real=True)[0],
        "rope: cosines, each channel twice",
    ),
    "diffusers, timesteps": (
        "npy",
        lambda: get_timestep_embedding(torch.arange(100), 64),
        "sinusoidal: sinusoidal, ddpm",
    ),
}


def saved(name: str, folder: Path) -> Path:
    """Save a library's array in a folder, and return the path."""
    suffix, make, _ = SAVED[name]
    tensor = make().detach().contiguous()
    path = folder / f"saved.{suffix}"
    if suffix == "pt":
        torch.save(tensor, path)
    elif suffix == "safetensors":
        save_file({"rotary": tensor}, path)
    else:
        np.save(path, tensor.numpy())
    return path
