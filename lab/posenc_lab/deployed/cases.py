"""The lists of small engines: what each is given, and what must come of it.

A name is what a diagnosis must begin with; an empty one stands for a fault that has no name yet.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from posenc_lab.deployed.engine import Config, Engine

CONFIGS: Mapping[str, Config] = {
    "llama": {
        "model_type": "llama",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 3,
        "max_position_embeddings": 2048,
        "rope_theta": 500000.0,
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 128,
        },
    },
    "mistral": {
        "model_type": "mistral",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 2,
        "max_position_embeddings": 2048,
        "rope_theta": 10000.0,
        "sliding_window": 180,
    },
    "qwen3": {
        "model_type": "qwen3",
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "num_hidden_layers": 4,
        "max_position_embeddings": 1024,
        "rope_theta": 1000000.0,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 128,
        },
        "use_sliding_window": True,
        "sliding_window": 180,
        "max_window_layers": 2,
    },
    "cohere": {
        "model_type": "cohere",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 2,
        "max_position_embeddings": 1024,
        "rope_theta": 75000.0,
        "logit_scale": 0.0625,
        "layer_norm_eps": 1e-05,
    },
    "cohere2": {
        "model_type": "cohere2",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "num_hidden_layers": 4,
        "max_position_embeddings": 1024,
        "rope_theta": 50000.0,
        "logit_scale": 0.25,
        "sliding_window": 180,
        "layer_types": [*["sliding_attention"] * 3, "full_attention"],
        "layer_norm_eps": 1e-05,
    },
    "deepseek_v2": {
        "model_type": "deepseek_v2",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "num_hidden_layers": 2,
        "max_position_embeddings": 1024,
        "q_lora_rank": None,
        "kv_lora_rank": 64,
        "qk_nope_head_dim": 32,
        "qk_rope_head_dim": 16,
        "v_head_dim": 32,
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-06,
    },
    "deepseek_v3": {
        "model_type": "deepseek_v3",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "num_hidden_layers": 2,
        "max_position_embeddings": 1024,
        "q_lora_rank": 96,
        "kv_lora_rank": 64,
        "qk_nope_head_dim": 32,
        "qk_rope_head_dim": 32,
        "v_head_dim": 32,
        "rope_theta": 10000.0,
        "rope_scaling": {
            "type": "yarn",
            "factor": 8.0,
            "beta_fast": 32,
            "beta_slow": 1,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            "original_max_position_embeddings": 128,
        },
        "rms_norm_eps": 1e-06,
    },
    "exaone4": {
        "model_type": "exaone4",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "num_hidden_layers": 4,
        "max_position_embeddings": 1024,
        "rope_theta": 1000000.0,
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 16.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 128,
        },
        "sliding_window": 180,
        "sliding_window_pattern": "LLLG",
        "layer_types": [*["sliding_attention"] * 3, "full_attention"],
        "rms_norm_eps": 1e-05,
    },
    "falcon": {
        "model_type": "falcon",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "max_position_embeddings": 1024,
        "rope_theta": 50042.0,
        "alibi": False,
    },
    "gemma": {
        "model_type": "gemma",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "head_dim": 32,
        "num_hidden_layers": 2,
        "max_position_embeddings": 1024,
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-06,
    },
    "gemma2": {
        "model_type": "gemma2",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "num_hidden_layers": 4,
        "max_position_embeddings": 1024,
        "rope_theta": 10000.0,
        "query_pre_attn_scalar": 24,
        "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0,
        "sliding_window": 180,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "rms_norm_eps": 1e-06,
    },
    "gemma3_text": {
        "model_type": "gemma3_text",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "head_dim": 32,
        "num_hidden_layers": 4,
        "max_position_embeddings": 1024,
        "rope_theta": 1000000.0,
        "rope_local_base_freq": 10000.0,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0},
        "query_pre_attn_scalar": 24,
        "sliding_window": 180,
        "layer_types": [*["sliding_attention"] * 3, "full_attention"],
        "rms_norm_eps": 1e-06,
    },
    "glm": {
        "model_type": "glm",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "num_hidden_layers": 2,
        "max_position_embeddings": 1024,
        "rope_theta": 500000.0,
        "partial_rotary_factor": 0.5,
        "attention_bias": True,
        "rms_norm_eps": 1.5625e-07,
    },
    "glm4": {
        "model_type": "glm4",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "num_hidden_layers": 2,
        "max_position_embeddings": 1024,
        "rope_theta": 10000.0,
        "partial_rotary_factor": 0.5,
        "attention_bias": True,
        "rms_norm_eps": 1e-05,
    },
    "gpt_oss": {
        "model_type": "gpt_oss",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "num_hidden_layers": 4,
        "max_position_embeddings": 1024,
        "rope_theta": 150000.0,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 8.0,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "original_max_position_embeddings": 128,
            "truncate": False,
        },
        "sliding_window": 180,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
    },
    "granite": {
        "model_type": "granite",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 2,
        "max_position_embeddings": 1024,
        "rope_theta": 5000000.0,
        "attention_multiplier": 0.015625,
        "embedding_multiplier": 12.0,
        "residual_multiplier": 0.22,
        "logits_scaling": 8.0,
    },
    "llama4_text": {
        "model_type": "llama4_text",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "num_hidden_layers": 4,
        "max_position_embeddings": 1024,
        "rope_theta": 500000.0,
        "no_rope_layer_interval": 2,
        "attention_chunk_size": 320,
        "attn_temperature_tuning": True,
        "floor_scale": 64,
        "attn_scale": 0.1,
    },
    "ministral": {
        "model_type": "ministral",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "num_hidden_layers": 4,
        "max_position_embeddings": 1024,
        "rope_theta": 100000000.0,
        "sliding_window": 180,
        "layer_types": ["full_attention", *["sliding_attention"] * 3],
        "rms_norm_eps": 1e-05,
    },
    "ministral3": {
        "model_type": "ministral3",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "num_hidden_layers": 2,
        "max_position_embeddings": 1024,
        "rope_parameters": {
            "rope_type": "yarn",
            "rope_theta": 1000000.0,
            "factor": 8.0,
            "original_max_position_embeddings": 128,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            "llama_4_scaling_beta": 0.1,
        },
    },
    "olmo": {
        "model_type": "olmo",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "num_hidden_layers": 2,
        "max_position_embeddings": 1024,
        "rope_theta": 10000.0,
        "clip_qkv": 8.0,
    },
    "olmo2": {
        "model_type": "olmo2",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 2,
        "max_position_embeddings": 1024,
        "rope_theta": 500000.0,
        "rms_norm_eps": 1e-06,
    },
    "olmo3": {
        "model_type": "olmo3",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "num_hidden_layers": 4,
        "max_position_embeddings": 1024,
        "rope_theta": 500000.0,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 8.0,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "original_max_position_embeddings": 128,
        },
        "sliding_window": 180,
        "layer_types": [*["sliding_attention"] * 3, "full_attention"],
        "rms_norm_eps": 1e-06,
    },
    "seed_oss": {
        "model_type": "seed_oss",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "num_hidden_layers": 2,
        "max_position_embeddings": 1024,
        "rope_theta": 10000000.0,
        "attention_bias": True,
        "attention_out_bias": False,
        "rms_norm_eps": 1e-06,
    },
    "smollm3": {
        "model_type": "smollm3",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 4,
        "max_position_embeddings": 1024,
        "rope_theta": 2000000.0,
        "no_rope_layer_interval": 2,
    },
}
"""Small configurations whose positions are like those of released models."""


@dataclass(frozen=True)
class Case:
    """An engine, the configuration that it is given, and what is to come of it."""

    engine: type[Engine]
    config: str
    name: str
    """What is wrong."""
    dtype: str = "float32"
    """The shortest dtype that the engine has."""


RIGHT: list[Case] = []
WRONG: list[Case] = []
Decorator = Callable[[type[Engine]], type[Engine]]


def right(config: str, dtype: str = "float32") -> Decorator:
    """Put an engine on the list of the right ones."""

    def listed(engine: type[Engine]) -> type[Engine]:
        RIGHT.append(Case(engine, config, "", dtype))
        return engine

    return listed


def wrong(config: str, name: str = "", dtype: str = "float32") -> Decorator:
    """Put an engine on the list of the wrong ones."""

    def listed(engine: type[Engine]) -> type[Engine]:
        WRONG.append(Case(engine, config, name, dtype))
        return engine

    return listed
