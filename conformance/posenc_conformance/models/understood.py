"""Fields of configurations that affect positions, and those of them that may be ignored."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.types.others import LEARNED

ABOUT_POSITIONS = re.compile(
    r"rope|rotary|position|sinusoid|yarn|alibi|ntk|mscale|relative|theta|frequenc|base_freq|"
    r"sliding|window|swa|local|global|chunk|compress|sparse_attention|index_|indexer|"
    r"(^|_)pos_|_pos$|partial_|scaling|attn_scale|floor_scale|temperature|logn|"
    r"context|seq_len|sequence_len|max_seq|layer_types|layers_block|block_types|attn_type|"
    r"attention_type|attn_layer|attention_layer|attn_config|full_attn|full_attention|"
    r"pattern|interval|hybrid|per_layer_|linear_attn|block_configs|nope|bidirection|causal|cross_attention|"
    r"condense|mixer|sparse_config|mrope|section|bucket|stretch|extrapolat|wavelength|interleave|per_second"
)
"""Names of fields that seem to affect positions: what rotates, by how much, or which keys are
seen."""

_IGNORED: Mapping[str, str] = {
    "experts and gates, which know no positions": "interleave_moe_layer_step mlp_layer_types "
    "activation_sparsity_pattern moe_layer_interval moe_routed_scaling_factor "
    "moe_router_scaling_factor num_local_experts routed_scaling_factor router_scaling_factor",
    "what logits or hidden states are multiplied by at every position alike": "logits_scaling "
    "full_attn_alpha_factor full_attn_beta_factor linear_attn_alpha_factor "
    "layernorm_full_attention_alpha layernorm_full_attention_beta "
    "linear_attn_beta_factor logit_scaling residual_gate_temperature residual_scaling",
    "what scores are divided by, and multiplied by again before the softmax": ""
    "apply_query_key_layer_scaling",
    "channels of other parts of a head, or of layers without positions": "qk_nope_head_dim "
    "hidden_size_per_layer_input vocab_size_per_layer_input chunk_size mamba_chunk_size "
    "num_global_key_value_heads",
    "layers that are not part of the model proper, but predict further tokens": "mtp_layer_types "
    "mtp_layers_block_type mtp_hybrid_override_pattern mtp_loss_scaling_factor "
    "mtp_per_layer_config",
    "how texts are generated or prepared": "temperature chunk_size_feed_forward "
    "cross_attention_hidden_size bos_token_position",
    "how a model is trained on several machines": "context_parallel_size local_rank",
    "at which moment images and sound stand": "position_id_per_seconds seconds_per_chunk "
    "tokens_per_second",
    "images and sound, whose parts have configurations of their own": "image_seq_length "
    "img_token_compression_config use_unified_vision_chunk video_seq_length audio_chunk_size "
    "audio_seq_length acoustic_tokenizer_chunk_size positional_encoding_temperature "
    "positional_embedding_temperature "
    "global_backprop_contrastive global_contrastive_weight temperature_init_value "
    "vision_num_cross_attention_layers cross_layer_interval",
    "how weights are stored, and how attention is computed": "compression_config attn_type "
    "for_llm_compressor",
}
IGNORED: Mapping[str, str] = {
    name: reason for reason, names in _IGNORED.items() for name in names.split()
}
"""Fields that may be ignored although their names resemble those of fields about positions, each
with the reason."""

OF_ANOTHER_PART: Mapping[str, tuple[str, ...]] = {
    "position_embedding_type": ("grounding-dino", "mm-grounding-dino"),
    "rope_parameters": ("musicflamingo",),
    "window_size": ("granite_speech",),
}
"""Fields beside the part for the text that are about images or sound, with the beginnings of the
types of models that have them there: elsewhere the same name may be about the text."""

SWITCHES = frozenset(
    [
        "add_cross_attention",
        "alibi",
        "sinusoidal_pos_embds",
        "use_bidirectional_attention",
        "use_logn_attn",
        "use_mrope",
        "use_sliding_window",
    ]
)
"""Fields that have no effect if they are false, whatever code reads them."""

OF_A_WINDOW = ("max_window_layers", "sliding_window")
"""Fields without effect where ``use_sliding_window`` is false, in types that do not read them."""

LEFT_OVER = "_sliding_window_pattern"
"""The field in which transformers keeps the pattern that it has made ``layer_types`` of, and which
it does not read."""

OF_ROTATED = frozenset(
    [
        "layer_types",
        "max_position_embeddings",
        "original_max_position_embeddings",
        "partial_rotary_factor",
        "per_layer_config",
        "rope_interleave",
        "rope_interleaved",
        "rope_parameters",
        "rope_scaling",
        "rope_theta",
        "rotary",
        "rotary_dim",
        "use_rotary_pos_emb",
    ]
)
"""Fields that are read for every model with rotated queries and keys."""

OF_T5 = "max_position_embeddings relative_attention_max_distance relative_attention_num_buckets"
OF_OTHERS: Mapping[str, frozenset[str]] = {
    type: frozenset(names.split())
    for type, names in {
        "bloom": "max_position_embeddings offset_alibi",
        "deberta": "max_position_embeddings max_relative_positions norm_rel_ebd pos_att_type "
        "position_biased_input relative_attention",
        "deberta-v2": "max_position_embeddings max_relative_positions norm_rel_ebd pos_att_type "
        "position_biased_input position_buckets relative_attention share_att_key",
        "jamba": "attn_layer_offset attn_layer_period max_position_embeddings",
        "kimi_linear": "linear_attn_config max_position_embeddings mla_use_nope qk_rope_head_dim "
        "rope_scaling rope_theta",
        "nemotron_h": "hybrid_override_pattern layer_types layers_block_type "
        "max_position_embeddings partial_rotary_factor rope_theta",
        "mpt": "attn_config learned_pos_emb max_position_embeddings",
        "mt5": OF_T5,
        "t5": OF_T5,
        "whisper": "max_position_embeddings max_source_positions max_target_positions",
    }.items()
}
"""Fields about positions that are understood in other types. Some models without rotation are
released with a base that no code reads."""
OF_TABLES = frozenset(["max_position_embeddings", "position_embedding_type"])
"""Fields that are read for every model with a table of positions."""


def read_by(type: str) -> frozenset[str]:
    """Return the names of the fields about positions that are understood in models of a type."""
    if type in ROTARY:
        own = set(ROTARY[type].reads.split())
        return OF_ROTATED | own | ({LEFT_OVER} if "sliding_window_pattern" in own else set())
    fields = OF_OTHERS.get(type, frozenset())
    return fields | OF_TABLES if type in LEARNED else fields


def read_by_any() -> frozenset[str]:
    """Return the names of the fields about positions that are understood in any type of model."""
    return frozenset(name for type in (*ROTARY, *OF_OTHERS, *LEARNED) for name in read_by(type))


def unknown_fields(type: str, fields: Mapping[str, object]) -> Iterable[tuple[str, str, str]]:
    """Yield the fields that affect positions, but are not understood in models of a type.

    Yields the name of each, the problem and a hint.
    """
    understood = read_by(type)
    for name, value in fields.items():
        if value is None or name in understood or name in IGNORED:
            continue
        if not ABOUT_POSITIONS.search(name) or (name in SWITCHES and not value):
            continue
        elsewhere = [other for other in (*ROTARY, *OF_OTHERS, *LEARNED) if name in read_by(other)]
        near = get_close_matches(name, understood, 1, 0.8)
        if elsewhere:
            problem = f"it is not known what it means in {type}"
            hint = f"it is read in {', '.join(elsewhere[:3])}; "
        else:
            problem = "it seems to be about positions, but is not known here"
            hint = f"did you mean {near[0]}? " if near else ""
        yield name, problem, f"{hint}unknown fields about positions are refused, not ignored"


def without_idle(type: str, fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields without those of a window that is switched off, if no code reads them."""
    switch, size = fields.get("use_sliding_window"), fields.get("sliding_window", False)
    off = switch is False or (size is None and not switch)
    idle = set(OF_A_WINDOW) - read_by(type) if off else set[str]()
    return {name: value for name, value in fields.items() if name not in idle}
