"""Sources of a model's configuration, and the values that only one of them states."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from posenc_conformance.models.configuration import Fields

TOPICS: Mapping[str, tuple[str, ...]] = {
    "base": (
        *("rope_theta", "rotary_emb_base", "rope_local_base_freq"),
        *("global_rope_theta", "local_rope_theta"),
    ),
    "scaling": (
        *("rope_scaling", "rope_parameters", "original_max_position_embeddings"),
        *("attn_temperature_tuning", "attn_scale", "floor_scale"),
    ),
    "head size": ("head_dim", "global_head_dim", "qk_rope_head_dim"),
    "heads": (*("num_attention_heads", "num_key_value_heads", "n_head", "n_heads", "num_heads"),),
    "windows": (
        *("sliding_window", "use_sliding_window", "max_window_layers"),
        *("local_attention", "attention_chunk_size"),
    ),
    "layers": (
        *("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers"),
        *("encoder_layers", "decoder_layers"),
    ),
    "layer types": (
        *("layer_types", "sliding_window_pattern", "full_attention_interval"),
        *("global_attn_every_n_layers", "no_rope_layer_interval", "hybrid_override_pattern"),
        *("layers_block_type", "cross_attention_layers", "attn_type_list", "linear_attn_config"),
    ),
    "context": (
        *("max_position_embeddings", "n_positions", "max_seq_len", "model_max_length"),
        *("max_source_positions", "max_target_positions"),
    ),
    "rotary share": ("partial_rotary_factor", "rotary_pct", "rotary_dim"),
    "table": ("image_size", "patch_size", "pad_token_id"),
    "buckets": (
        *("relative_attention_num_buckets", "relative_attention_max_distance"),
        *("position_buckets", "max_relative_positions"),
    ),
    "kind": (
        *("alibi", "attn_config", "position_embedding_type", "mla_use_nope", "use_mrope"),
        *("relative_attention", "position_biased_input", "pos_att_type", "share_att_key"),
        *("norm_rel_ebd", "rope_interleaved"),
    ),
}
"""What the values of a configuration decide, and their fields; of a block, all that is in it."""

WIDTHS = ("hidden_size", "n_embd", "d_model")
"""Fields that decide the size of a head if none of its own is given."""

WITHOUT_NUMBER = ("model_type", "use_bidirectional_attention")
"""Fields that decide no number of a text: its class, and what tokens of an image see."""

_TOPIC_OF = {field: topic for topic, fields in TOPICS.items() for field in fields}


@dataclass(frozen=True)
class Source:
    """The source of a part of a configuration."""

    key: str
    title: str
    where: str
    url: str
    fields: tuple[str, ...]
    differs: Fields
    note: str
    family: str
    """Whom it was copied from: the sources of one family count as one."""
    apart: str
    """Why it counts for nothing; empty if it counts."""


def read_source(key: str, raw: Fields) -> Source:
    """Make a source from its entry in a model file."""
    return Source(
        key=key,
        title=raw["title"],
        where=raw["where"],
        url=raw["url"],
        fields=tuple(raw["fields"]),
        differs=raw.get("differs", {}),
        note=raw.get("note", ""),
        family=raw.get("family", _repository(raw["url"])),
        apart=raw.get("apart", ""),
    )


def _repository(url: str) -> str:
    """Return the owner and the name of the repository that a link leads into."""
    return "/".join(urlsplit(url).path.split("/")[1:3]).lower()


def topic(field: str, leaves: Fields) -> str | None:
    """Say what a known field of a flat configuration decides; None if it decides no number."""
    block, _, name = field.rpartition(".")
    if field in WITHOUT_NUMBER or _is_switched_off(field, leaves):
        return None
    if field in WIDTHS:
        sized = any(size in leaves for size in TOPICS["head size"])
        return None if sized else "head size"
    if block and name in _TOPIC_OF:
        return _TOPIC_OF[name]
    return _TOPIC_OF[block.partition(".")[0] or field]


def is_known(field: str) -> bool:
    """Return whether it is known what a field decides."""
    block, _, name = field.rpartition(".")
    owner = block.partition(".")[0] or field
    return not {field, owner, name}.isdisjoint((*_TOPIC_OF, *WIDTHS, *WITHOUT_NUMBER))


def _is_switched_off(field: str, leaves: Fields) -> bool:
    return field in ("sliding_window", "max_window_layers") and (
        leaves.get("use_sliding_window") is False
    )


def families_of(field: str, sources: tuple[Source, ...]) -> set[str]:
    """Find the independent sources that state a field of a configuration."""
    return {source.family for source in sources if field in source.fields and not source.apart}


def one_source_words(topics: tuple[str, ...]) -> str:
    """Say which values rest on one source; an empty text if none does."""
    return f"one source: {', '.join(topics)}" if topics else ""


def with_one_source(leaves: Fields, sources: tuple[Source, ...]) -> tuple[str, ...]:
    """List what is decided by values that fewer than two independent sources state."""
    alone = set(_alone(leaves, sources))
    return tuple(name for name in TOPICS if name in alone)


def _alone(leaves: Fields, sources: tuple[Source, ...]) -> Iterator[str]:
    for field in leaves:
        decided = topic(field, leaves)
        if decided is not None and len(families_of(field, sources)) < 2:
            yield decided
