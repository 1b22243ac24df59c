"""What every model of a type has in common and its configuration does not say.

Read in the configuration and modelling code of transformers 5.23.0, where the layout is that of
``apply_rotary_pos_emb`` or ``rotate_half``, and the defaults are those of the configuration class.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from posenc_conformance.models.meaning import Number

HALF = "half"
INTERLEAVED = "interleaved"


@dataclass(frozen=True)
class Rotary:
    """A type of model whose queries and keys are rotated."""

    layout: str = HALF
    base: Number | None = 10000
    """Base if the configuration names none; None if it must name one."""
    local_base: Number | None = None
    """Base of sliding layers, where they have one of their own."""
    partial: Number = 1
    """Share of a head that is rotated, if the configuration does not say."""
    head_dim: int | None = None
    """Channels of a head, if the configuration does not say and it is not
    ``hidden_size / num_attention_heads``."""
    global_dim: int | None = None
    """Channels of a head of full layers, if the configuration says nothing of single layers."""
    pattern: int | None = None
    """One layer in this many is not sliding; None if all layers are alike."""
    offset: int = 1
    """1 if the last layer of a pattern is not sliding, 0 if the first is."""
    unrotated: str | None = None
    """Kind of layers without positions."""
    scaled: tuple[str, ...] = ("full", "sliding", "chunked")
    """Kinds of layers that rope_scaling is for."""
    sections: bool = False
    """Whether pairs look at time, height and width."""
    reads: str = ""
    """Fields about positions that are read beside those that are read of every rotated model."""
    alpha: bool = False
    """Whether ``alpha`` in a block of the type ``dynamic`` makes the base larger for good."""


QWEN = "sliding_window use_sliding_window max_window_layers use_mrope"
"""Fields that all models of Qwen have."""

ROTARY: Mapping[str, Rotary] = {
    "codegen": Rotary(INTERLEAVED),
    "cohere": Rotary(INTERLEAVED, base=500000),
    "cohere2": Rotary(
        INTERLEAVED,
        base=10000,
        pattern=4,
        unrotated="full",
        reads="sliding_window sliding_window_pattern position_embedding_type",
    ),
    "deepseek_v2": Rotary(INTERLEAVED, reads="qk_rope_head_dim"),
    "deepseek_v3": Rotary(INTERLEAVED, reads="qk_rope_head_dim"),
    "exaone4": Rotary(pattern=4, unrotated="full", reads="sliding_window sliding_window_pattern"),
    "falcon": Rotary(reads="alibi"),
    "gemma": Rotary(head_dim=256),
    "gemma2": Rotary(head_dim=256, pattern=2, reads="sliding_window"),
    "gemma3_text": Rotary(
        base=1000000,
        local_base=10000,
        head_dim=256,
        pattern=6,
        scaled=("full",),
        reads="sliding_window sliding_window_pattern rope_local_base_freq "
        "use_bidirectional_attention",
    ),
    "gemma4_text": Rotary(
        base=None,
        head_dim=256,
        global_dim=512,
        reads="sliding_window global_head_dim use_bidirectional_attention",
    ),
    "glm": Rotary(INTERLEAVED, partial=0.5),
    "glm4": Rotary(INTERLEAVED, partial=0.5),
    "glm4_moe": Rotary(partial=0.5),
    "gpt_neox": Rotary(partial=0.25),
    "gpt_oss": Rotary(base=150000, pattern=2, reads="sliding_window"),
    "gptj": Rotary(INTERLEAVED),
    "granite": Rotary(),
    "helium": Rotary(INTERLEAVED, base=100000),
    "hunyuan_v1_dense": Rotary(alpha=True),
    "hunyuan_v1_moe": Rotary(alpha=True),
    "kimi_k2": Rotary(INTERLEAVED, reads="qk_rope_head_dim"),
    "llama": Rotary(),
    "llama4_text": Rotary(
        INTERLEAVED,
        base=500000,
        unrotated="full",
        reads="attention_chunk_size attn_scale attn_temperature_tuning floor_scale "
        "no_rope_layer_interval no_rope_layers",
    ),
    "ministral": Rotary(reads="sliding_window"),
    "ministral3": Rotary(head_dim=128, reads="sliding_window"),
    "mistral": Rotary(reads="sliding_window"),
    "mixtral": Rotary(base=1000000, reads="sliding_window"),
    "modernbert": Rotary(
        base=160000,
        local_base=10000,
        pattern=3,
        offset=0,
        reads="global_attn_every_n_layers global_rope_theta local_attention local_rope_theta "
        "position_embedding_type",
    ),
    "olmo": Rotary(),
    "olmo2": Rotary(),
    "olmo3": Rotary(base=500000, pattern=4, scaled=("full",), reads="sliding_window"),
    "phi": Rotary(partial=0.5),
    "phi3": Rotary(reads="sliding_window"),
    "qwen2": Rotary(reads=QWEN),
    "qwen2_5_vl": Rotary(base=1000000, sections=True, reads=QWEN),
    "qwen2_5_vl_text": Rotary(base=1000000, sections=True, reads=QWEN),
    "qwen2_moe": Rotary(reads=QWEN),
    "qwen2_vl": Rotary(base=1000000, sections=True, reads=QWEN),
    "qwen2_vl_text": Rotary(base=1000000, sections=True, reads=QWEN),
    "qwen3": Rotary(head_dim=128, reads=QWEN),
    "qwen3_5_moe_text": Rotary(
        partial=0.25,
        head_dim=256,
        sections=True,
        pattern=4,
        reads=QWEN + " full_attention_interval",
    ),
    "qwen3_5_text": Rotary(
        partial=0.25,
        head_dim=256,
        sections=True,
        pattern=4,
        reads=QWEN + " full_attention_interval",
    ),
    "qwen3_moe": Rotary(reads=QWEN),
    "qwen3_next": Rotary(
        partial=0.25, head_dim=256, pattern=4, reads=QWEN + " full_attention_interval"
    ),
    "qwen3_vl_moe_text": Rotary(base=500000, sections=True, head_dim=None, reads=QWEN),
    "qwen3_vl_text": Rotary(base=500000, sections=True, head_dim=128, reads=QWEN),
    "seed_oss": Rotary(head_dim=128),
    "smollm3": Rotary(
        base=2000000,
        reads="no_rope_layer_interval no_rope_layers sliding_window use_sliding_window "
        "max_window_layers",
    ),
    "stablelm": Rotary(partial=0.25),
    "starcoder2": Rotary(reads="sliding_window"),
}
"""Types of models whose queries and keys are rotated, by ``model_type``."""

LEARNED: Mapping[str, str] = {
    "bert": "plain",
    "clip_text_model": "plain",
    "distilbert": "plain",
    "gpt2": "plain",
    "gpt_bigcode": "plain",
    "opt": "two",
    "roberta": "after-padding",
    "xlm-roberta": "after-padding",
}
"""Types with a table of positions: the combination of ``learned`` that says where it begins."""

GRIDS: Mapping[str, tuple[str, int]] = {
    "deit": ("deit", 2),
    "dinov2": ("dinov2", 1),
    "siglip_vision_model": ("siglip", 0),
    "vit": ("vit", 1),
}
"""Types with a table for the patches of an image: combination of ``learned_grid``, class tokens."""
