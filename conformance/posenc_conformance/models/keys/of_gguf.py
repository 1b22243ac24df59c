"""Keys of GGUF files about positions, and the fields of config.json that they stand for."""

from collections.abc import Mapping

from posenc_conformance.models.configuration import Fields

NAMES: Mapping[str, str] = {
    "attention.head_count": "num_attention_heads",
    "attention.key_length": "head_dim",
    "block_count": "num_hidden_layers",
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "rope.dimension_count": "rotary_dim",
    "rope.freq_base": "rope_theta",
}
"""Fields of config.json, by GGUF key."""
SCALING: Mapping[str, str] = {
    "rope.scaling.type": "rope_type",
    "rope.scaling.factor": "factor",
    "rope.scaling.original_context_length": "original_max_position_embeddings",
    "rope.scaling.yarn_beta_fast": "beta_fast",
    "rope.scaling.yarn_beta_slow": "beta_slow",
}
"""Fields of the block of scaling, by GGUF key."""
OF_CONFIG: Mapping[str, str] = {
    **{field: key for key, field in NAMES.items()},
    "full_attention_interval": "full_attention_interval",
    "full_attn_idxs": "attention.head_count_kv",
    "layer_types": "attention.sliding_window_pattern",
    "mrope_section": "rope.dimension_sections",
    "partial_rotary_factor": "rope.dimension_count",
    "qk_rope_head_dim": "rope.dimension_count",
    "rope_local_base_freq": "rope.freq_base_swa",
    "rotary_emb_base": "rope.freq_base",
    "rotary_pct": "rope.dimension_count",
    "sliding_window": "attention.sliding_window",
    "attention_factor": "rope.scaling.attn_factor",
}
"""GGUF keys, by the field of config.json that is made of them."""
BLOCKS = ("rope_scaling", "rope_parameters")
FREQUENCIES = "rope_freqs.weight"
LONG, SHORT = "rope_factors_long.weight", "rope_factors_short.weight"
TABLES = (FREQUENCIES, LONG, SHORT)
"""Tensors that divide frequencies: for all texts, or for long and for short ones."""


def keys_of(metadata: Fields) -> Mapping[str, str]:
    """Return the keys of a file, by the fields of config.json that stand for them in messages."""
    prefix = str(metadata.get("general.architecture"))
    fields = {**OF_CONFIG, **{field: key for key, field in SCALING.items()}}
    keys = {field: f"{prefix}.{key}" for field, key in fields.items()}
    inner = {**keys, "long_factor": LONG, "short_factor": SHORT}
    within = {f"{block}.{field}": key for block in BLOCKS for field, key in inner.items()}
    # By itself, this is a word of any sentence.
    del keys["factor"]
    return {
        **keys,
        **within,
        **dict.fromkeys(BLOCKS, f"{prefix}.rope.scaling"),
        "model_type": "general.architecture",
    }
