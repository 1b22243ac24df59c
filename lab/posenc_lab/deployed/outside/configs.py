"""Configurations that engines from outside are given, beside those of the other small engines.

Each is small, and its positions are like those of a released model.
"""

from collections.abc import Mapping

from posenc_lab.deployed import cases
from posenc_lab.deployed.engine import Config

LLAMA: Config = {
    "model_type": "llama",
    "hidden_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 8192,
    "rope_theta": 500000.0,
}
DEEP = 6
"""Layers of the configurations in which one layer of many is wrong."""

MORE: Mapping[str, Config] = {
    "llama-far": LLAMA,
    "llama-deep": {**LLAMA, "num_hidden_layers": DEEP},
    "llama-wide": {
        **LLAMA,
        "hidden_size": 256,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
    },
    "mistral-deep": {**cases.CONFIGS["mistral"], "num_hidden_layers": DEEP},
    "mistral-512": {**cases.CONFIGS["mistral"], "sliding_window": 512},
    "gemma2-deep": {
        **cases.CONFIGS["gemma2"],
        "num_hidden_layers": DEEP,
        "layer_types": ["sliding_attention", "full_attention"] * 3,
    },
    "gemma3-deep": {
        **cases.CONFIGS["gemma3_text"],
        "num_hidden_layers": DEEP,
        "layer_types": [*["sliding_attention"] * 5, "full_attention"],
    },
    "qwen2": {
        "model_type": "qwen2",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 2,
        "max_position_embeddings": 2048,
        "rope_theta": 1000000.0,
        "rms_norm_eps": 1e-06,
    },
    "qwen3-plain": {
        "model_type": "qwen3",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "num_hidden_layers": 2,
        "max_position_embeddings": 2048,
        "rope_theta": 1000000.0,
        "rms_norm_eps": 1e-06,
    },
    "linear": {
        **LLAMA,
        "max_position_embeddings": 2048,
        "rope_theta": 10000.0,
        "rope_scaling": {"rope_type": "linear", "factor": 4.0},
    },
    "yarn-betas": {
        **LLAMA,
        "max_position_embeddings": 2048,
        "rope_theta": 10000.0,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 8.0,
            "beta_fast": 4.0,
            "beta_slow": 0.25,
            "original_max_position_embeddings": 256,
        },
    },
    "yarn-factor": {
        **LLAMA,
        "max_position_embeddings": 2048,
        "rope_theta": 10000.0,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 8.0,
            "attention_factor": 1.0,
            "original_max_position_embeddings": 256,
        },
    },
    "llama-nested": {
        **{name: value for name, value in LLAMA.items() if name != "rope_theta"},
        "max_position_embeddings": 2048,
        "rope_parameters": {
            "rope_type": "llama3",
            "rope_theta": 500000.0,
            "factor": 32.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 128,
        },
    },
    "gemma3-nested": {
        **{
            name: value
            for name, value in cases.CONFIGS["gemma3_text"].items()
            if name not in ("rope_theta", "rope_local_base_freq", "rope_scaling")
        },
        "rope_parameters": {
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        },
    },
    "phi3": {
        "model_type": "phi3",
        "hidden_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 2,
        "max_position_embeddings": 2048,
        "original_max_position_embeddings": 2048,
        "rope_theta": 10000.0,
        "sliding_window": 180,
    },
    "gpt_neox": {
        "model_type": "gpt_neox",
        "hidden_size": 256,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "max_position_embeddings": 2048,
        "rotary_pct": 0.25,
        "rotary_emb_base": 10000,
    },
    "modernbert-deep": {
        **cases.CONFIGS["modernbert"],
        "num_hidden_layers": 7,
        "max_position_embeddings": 2048,
    },
}
CONFIGS: Mapping[str, Config] = {**cases.CONFIGS, **MORE}

MODELS: Mapping[str, tuple[str, ...]] = {
    "bert": ("bert-base",),
    "bloom": ("bloom",),
    "cohere2": (),
    "deepseek_v3": ("deepseek-v3", "deepseek-r1"),
    "dynamic": (),
    "falcon_alibi": (),
    "gemma2": ("gemma-2-2b",),
    "gemma2-deep": ("gemma-2-2b",),
    "gemma3-deep": ("gemma-3-4b",),
    "gemma3-nested": ("gemma-3-4b",),
    "gemma3_text": ("gemma-3-270m", "gemma-3-4b"),
    "glm": (),
    "glm4": (),
    "gpt2": ("gpt2",),
    "gpt_neox": ("pythia-70m",),
    "gpt_bigcode": ("santacoder",),
    "gpt_oss": ("gpt-oss-20b",),
    "granite": (),
    "linear": (),
    "llama": ("llama-3.1-8b", "llama-3.2-1b"),
    "llama-deep": ("llama-3-8b",),
    "llama-far": ("llama-3-8b",),
    "llama-nested": ("llama-3.2-1b",),
    "llama-wide": ("llama-3-8b",),
    "llama4_text": ("llama-4-scout",),
    "longrope": ("phi-3.5-mini", "phi-4-mini"),
    "ministral3": ("ministral-3-3b",),
    "mistral": ("mistral-7b-v0.1",),
    "mistral-512": ("mistral-7b-v0.1",),
    "mistral-deep": ("mistral-7b-v0.1",),
    "modernbert": ("modernbert-base",),
    "modernbert-deep": ("modernbert-base",),
    "mpt": (),
    "nomic_bert": (),
    "olmo2": ("olmo-2-7b",),
    "opt": (),
    "phi3": ("phi-3-mini-4k",),
    "qwen2": ("qwen2-0.5b",),
    "qwen3": ("qwen3-8b",),
    "qwen3-plain": ("qwen3-0.6b",),
    "roberta": ("roberta-base",),
    "seed_oss": (),
    "smollm3": (),
    "t5": ("t5-small",),
    "t5-far": ("t5-small",),
    "xlm-roberta": (),
    "yarn-betas": ("gpt-oss-20b", "devstral-2-123b"),
    "yarn-factor": ("olmo-3-32b",),
}
"""Models of the spec whose positions a configuration has on a small scale; none if the spec has
no model of the kind."""
