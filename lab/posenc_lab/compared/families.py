"""Small original checkpoints of several families, with random weights."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from posenc_lab.compared.files import Array, Arrays, Fields

LAYERS, HEADS, KV_HEADS, SIZE, HIDDEN = 4, 8, 2, 32, 256


@dataclass
class Original:
    """A checkpoint as transformers has it."""

    name: str
    config: Fields
    arrays: Arrays = field(default_factory=dict)


def _numbers(seed: int) -> Callable[..., Array]:
    generator = np.random.default_rng(seed)

    def draw(*shape: int) -> Array:
        return np.asarray(0.05 * generator.standard_normal(shape), dtype=np.float32)

    return draw


def _apart(biases: bool = False, norms: bool = False) -> Iterator[tuple[str, tuple[int, ...]]]:
    for part, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
        yield f"self_attn.{part}_proj.weight", (heads * SIZE, HIDDEN)
        if biases:
            yield f"self_attn.{part}_proj.bias", (heads * SIZE,)
        if norms and part != "v":
            yield f"self_attn.{part}_norm.weight", (SIZE,)


FUSED = HEADS + 2 * KV_HEADS
SHAPES: dict[str, list[tuple[str, tuple[int, ...]]]] = {
    "llama": [*_apart()],
    "llama-biased": [*_apart(biases=True)],
    "mistral": [*_apart()],
    "qwen2": [*_apart(biases=True)],
    "qwen3": [*_apart(norms=True)],
    "gemma3": [*_apart(norms=True)],
    "granite": [*_apart()],
    "gpt2": [
        ("attn.c_attn.weight", (HIDDEN, 3 * HEADS * SIZE)),
        ("attn.c_attn.bias", (3 * HEADS * SIZE,)),
    ],
    "phi3": [("self_attn.qkv_proj.weight", (FUSED * SIZE, HIDDEN))],
    "gpt-neox": [
        ("attention.query_key_value.weight", (3 * HEADS * SIZE, HIDDEN)),
        ("attention.query_key_value.bias", (3 * HEADS * SIZE,)),
    ],
}
COMMON: Fields = {
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": SIZE,
    "hidden_size": HIDDEN,
}
LLAMA_3: Fields = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
SHORT = [1.0 + 0.05 * pair for pair in range(SIZE // 2)]
LONG = [1.0 + 2.0 * pair for pair in range(SIZE // 2)]
OWN: dict[str, Fields] = {
    "llama": {
        "model_type": "llama",
        "rope_theta": 500000.0,
        "rope_scaling": LLAMA_3,
        "max_position_embeddings": 131072,
    },
    "llama-biased": {
        "model_type": "llama",
        "rope_theta": 10000.0,
        "attention_bias": True,
        "rope_scaling": {"rope_type": "linear", "factor": 4.0},
        "max_position_embeddings": 16384,
    },
    "mistral": {
        "model_type": "mistral",
        "rope_theta": 1000000.0,
        "sliding_window": None,
        "max_position_embeddings": 32768,
    },
    "qwen2": {
        "model_type": "qwen2",
        "rope_theta": 1000000.0,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 32768,
        },
        "max_position_embeddings": 131072,
    },
    "qwen3": {
        "model_type": "qwen3",
        "rope_theta": 1000000.0,
        "max_position_embeddings": 40960,
    },
    "gemma3": {
        "model_type": "gemma3_text",
        "rope_theta": 1000000.0,
        "rope_local_base_freq": 10000.0,
        "sliding_window": 512,
        "sliding_window_pattern": 2,
        "max_position_embeddings": 32768,
    },
    "granite": {
        "model_type": "granite",
        "rope_theta": 10000000.0,
        "attention_multiplier": 0.0078125,
        "max_position_embeddings": 131072,
    },
    "gpt2": {"model_type": "gpt2", "max_position_embeddings": 1024},
    "phi3": {
        "model_type": "phi3",
        "rope_theta": 10000.0,
        "rope_scaling": {"rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG},
        "original_max_position_embeddings": 4096,
        "max_position_embeddings": 131072,
        "sliding_window": 2048,
    },
    "gpt-neox": {
        "model_type": "gpt_neox",
        "rotary_emb_base": 10000,
        "rotary_pct": 0.25,
        "max_position_embeddings": 2048,
    },
}
WITHOUT = {
    "phi3": ("head_dim",),
    "gpt-neox": ("head_dim", "num_key_value_heads"),
    "gpt2": ("head_dim", "num_key_value_heads"),
}
"""Fields that a family's configuration does not have."""
OUTER = {"gpt-neox": "gpt_neox.layers", "gpt2": "transformer.h"}


def original(name: str) -> Original:
    """Make the checkpoint of a family; the same numbers each time."""
    draw = _numbers(sum(map(ord, name)))
    config = {key: value for key, value in COMMON.items() if key not in WITHOUT.get(name, ())}
    made = Original(name, {**config, **OWN[name]})
    for layer in range(LAYERS):
        for part, shape in SHAPES[name]:
            array = draw(*shape)
            if "norm" in part:
                array = array + np.float32(0.3)
            made.arrays[f"{OUTER.get(name, 'model.layers')}.{layer}.{part}"] = array
    return made
