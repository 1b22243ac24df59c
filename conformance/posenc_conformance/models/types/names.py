"""Other names of fields in configurations, and the types of models whose code reads them."""

from collections.abc import Mapping

NAMES: Mapping[str, tuple[str, ...]] = {
    "head_dim": ("kv_channels",),
    "hidden_size": ("n_embd", "n_embed", "d_model", "dim"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers"),
    "max_position_embeddings": ("n_positions", "max_seq_len", "max_sequence_length", "seq_length"),
    "original_max_position_embeddings": ("initial_context_length",),
    "partial_rotary_factor": ("rotary_pct",),
    "rope_theta": ("rotary_emb_base",),
}
"""Other names of fields in configurations, by the name that this package uses."""

_OF_GPT_2 = ("codegen", "gpt2", "gpt_bigcode", "gptj", "openai-gpt")
_OF_T5 = ("mt5", "t5")

NAMES_OF_SOME: Mapping[str, tuple[str, ...]] = {
    "d_model": ("mpt", *_OF_T5, "whisper"),
    "dim": ("distilbert",),
    "initial_context_length": ("gpt_oss",),
    "kv_channels": ("chatglm", "jetmoe"),
    "max_seq_len": ("mpt",),
    "max_sequence_length": (),
    # T5 and BLOOM are released with lengths that their classes keep, and that nothing depends on.
    "n_positions": (*_OF_GPT_2, *_OF_T5),
    "n_embd": _OF_GPT_2,
    "n_embed": ("bloom", "falcon"),
    "n_head": ("bloom", *_OF_GPT_2),
    "n_heads": ("distilbert", "mpt"),
    "n_layer": ("bloom", *_OF_GPT_2),
    "n_layers": ("distilbert", "mpt"),
    "num_heads": _OF_T5,
    "num_layers": ("chatglm", "exaone", *_OF_T5),
    "rotary_emb_base": ("gpt_neox", "gpt_neox_japanese"),
    "rotary_pct": ("gpt_neox", "gpt_neox_japanese"),
    "seq_length": ("bloom", "chatglm"),
}
"""The types that read each of these names: transformers' classes have it as a field or map it, or
the code does that a type is released with."""

OF_GPT_NEOX = ("rotary_emb_base", "rotary_pct")
"""Other names of fields that are read instead of the usual names, not in addition to them."""


def usual_name(name: str) -> str:
    """Return the name that is used here for a field, whatever name a file has for it."""
    return next((usual for usual, others in NAMES.items() if name in others), name)
