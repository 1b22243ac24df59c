"""Permitted values of the fields of a configuration, checked before their meaning is derived.

A configuration is data from outside. Every number that determines an allocation, a loop or a
division has its bounds here; they are far beyond every released model.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from posenc_conformance.errors import UserError, in_line

DEEPEST = 16
LAYERS = 4096
HEADS = 1024
BIASED_HEADS = 160
"""Most heads of a model with a bias, whose cost is computed for every key of a long text."""
CHANNELS = 1024
"""Most channels of one head: costs are computed from matrices of this size."""
LENGTH = 2**40
LEAST = 1e-9
"""Smallest number that is not 0, so that division by it is harmless."""
WORD = 100


@dataclass(frozen=True)
class Kind:
    """The permitted values of a field, in words and as a condition."""

    words: str
    holds: Callable[[Any], bool]


def integer(most: int, least: int = 1) -> Kind:
    """Return the kind of integers between two bounds, whether written 8 or 8.0."""
    words = f"an integer above 0, at most {most:,}"
    if least != 1:
        words = f"an integer from {least:,} to {most:,}"
    return Kind(words, lambda value: _is_whole(value) and least <= value <= most)


def number(most: float, *, zero: bool = False) -> Kind:
    """Return the kind of numbers above 0, and of 0 itself if ``zero``."""

    def holds(value: Any) -> bool:
        return _is_number(value) and (LEAST <= value <= most or (zero and value == 0))

    return Kind(f"{'0, or ' if zero else ''}a number from {LEAST:g} to {most:g}", holds)


def listed(kind: Kind, most: int) -> Kind:
    """Return the kind of lists with entries of one kind."""

    def holds(value: Any) -> bool:
        few = isinstance(value, list | tuple) and len(value) <= most
        return few and all(map(kind.holds, value))

    return Kind(f"a list of at most {most:,}, each {kind.words}", holds)


def either(one: Kind, other: Kind) -> Kind:
    """Return the kind that permits the values of two kinds."""
    return Kind(
        f"{one.words}, or {other.words}", lambda value: one.holds(value) or other.holds(value)
    )


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


FLAG = Kind("true or false", lambda value: isinstance(value, bool))
TEXT = Kind(
    f"a text of at most {WORD} characters",
    lambda value: isinstance(value, str) and len(value) <= WORD,
)
PATTERN = Kind(
    f"a text of at most {LAYERS:,} letters",
    lambda value: isinstance(value, str) and len(value) <= LAYERS,
)
LETTERS = Kind(
    "a text of the letters L and G, as LLLG",
    lambda value: TEXT.holds(value) and bool(value) and not set(value) - {"L", "G"},
)
BLOCK = Kind("a block of fields", lambda value: isinstance(value, Mapping))
BASE = number(1e15)

FIELDS: Mapping[str, Kind] = {
    "_sliding_window_pattern": either(integer(LAYERS, 0), LETTERS),
    "alibi": FLAG,
    "alibi_bias_max": number(1000),
    "attention_chunk_size": integer(LENGTH),
    "attention_multiplier": number(1000),
    "attn_config": BLOCK,
    "attn_layer_indices": listed(integer(LAYERS, 0), LAYERS),
    "attn_layer_offset": integer(LAYERS, 0),
    "attn_layer_period": integer(LAYERS),
    "attn_scale": number(1000, zero=True),
    "attn_temperature_tuning": either(FLAG, number(1000, zero=True)),
    "attn_type_list": listed(integer(LAYERS, 0), LAYERS),
    "context_length": integer(LENGTH),
    "cross_attention_layers": listed(integer(LAYERS, 0), LAYERS),
    "floor_scale": integer(LENGTH),
    "full_attn_idxs": listed(integer(LAYERS, 0), LAYERS),
    "full_attention_interval": integer(LAYERS),
    "global_attn_every_n_layers": integer(LAYERS),
    "global_head_dim": integer(CHANNELS),
    "global_rope_theta": BASE,
    "head_dim": integer(CHANNELS),
    "hidden_size": integer(2**20),
    "hybrid_override_pattern": PATTERN,
    "layer_group_size": integer(LAYERS),
    "layer_rope_theta": listed(number(1e15, zero=True), LAYERS),
    "layer_types": listed(TEXT, LAYERS),
    "layers_block_type": listed(TEXT, LAYERS),
    "learned_pos_emb": FLAG,
    "linear_attn_config": BLOCK,
    "local_attention": integer(LENGTH, 2),
    "local_rope_theta": BASE,
    "max_position_embeddings": integer(LENGTH),
    "max_relative_positions": integer(LENGTH, -1),
    "max_source_positions": integer(LENGTH),
    "max_target_positions": integer(LENGTH),
    "max_window_layers": integer(LAYERS, 0),
    "mla_use_nope": FLAG,
    "model_type": TEXT,
    "no_rope_layer_interval": integer(LAYERS),
    "no_rope_layers": listed(either(FLAG, integer(1, 0)), LAYERS),
    "norm_rel_ebd": TEXT,
    "num_attention_heads": integer(HEADS),
    "num_decoder_layers": integer(LAYERS),
    "num_key_value_heads": integer(HEADS),
    "num_hidden_layers": integer(LAYERS),
    "offset_alibi": number(LENGTH, zero=True),
    "original_max_position_embeddings": integer(LENGTH),
    "original_rope": FLAG,
    "partial_rotary_factor": number(1),
    "per_layer_config": BLOCK,
    "pos_att_type": either(TEXT, listed(TEXT, 16)),
    "position_biased_input": FLAG,
    "position_buckets": integer(2**20, -1),
    "position_embedding_type": TEXT,
    "qk_rope_head_dim": integer(CHANNELS),
    "relative_attention": FLAG,
    "relative_attention_max_distance": integer(2**31),
    "relative_attention_num_buckets": integer(2**20, 4),
    "rope_interleave": FLAG,
    "rope_interleaved": FLAG,
    "rope_local_base_freq": BASE,
    "rope_parameters": BLOCK,
    "rope_ratio": number(1e15),
    "rope_scaling": BLOCK,
    "rope_theta": BASE,
    "rotary": FLAG,
    "rotary_dim": integer(CHANNELS),
    "share_att_key": FLAG,
    "sliding_window": integer(LENGTH, 0),
    "sliding_window_pattern": either(integer(LAYERS, 0), LETTERS),
    "use_bidirectional_attention": either(FLAG, TEXT),
    "use_mrope": FLAG,
    "use_rotary_pos_emb": FLAG,
    "use_sliding_window": FLAG,
}
"""Fields of a configuration, under the names that are used here. Null counts as missing."""

FACTOR = number(1e6)
IN_A_BLOCK: Mapping[str, Kind] = {
    "alibi": FLAG,
    "alibi_bias_max": number(1000),
    "alpha": number(1e9),
    "attention_factor": number(1000),
    "beta_fast": number(1e6),
    "beta_slow": number(1e6),
    "factor": FACTOR,
    "finetuned": FLAG,
    "high_freq_factor": FACTOR,
    "llama_4_scaling_beta": number(1000, zero=True),
    "full_attn_layers": listed(integer(LAYERS, 0), LAYERS),
    "head_dim": integer(CHANNELS),
    "interleaved": FLAG,
    "kda_layers": listed(integer(LAYERS, 0), LAYERS),
    "long_factor": listed(FACTOR, CHANNELS),
    "long_mscale": number(1000, zero=True),
    "low_freq_factor": FACTOR,
    "max_position_embeddings": integer(LENGTH),
    "mrope_interleaved": FLAG,
    "mrope_section": listed(integer(CHANNELS, 0), 16),
    "mscale": number(1000, zero=True),
    "mscale_all_dim": number(1000, zero=True),
    "original_max_position_embeddings": integer(LENGTH),
    "partial_rotary_factor": number(1),
    "rope": FLAG,
    "rope_theta": BASE,
    "rope_type": TEXT,
    "short_factor": listed(FACTOR, CHANNELS),
    "short_mscale": number(1000, zero=True),
    "truncate": FLAG,
    "type": TEXT,
}
"""Fields of blocks, such as ``rope_scaling`` and ``per_layer_config``."""

BLOCKS = tuple(name for name, kind in FIELDS.items() if kind is BLOCK)
BIASED = ("bloom", "mpt")


def demand_sound(raw: Mapping[str, Any], where: str, names: Mapping[str, tuple[str, ...]]) -> None:
    """Raise UserError naming the first field with a value that is not permitted.

    ``names`` lists other names of fields, by the name that is used here. A field that is not in
    ``FIELDS`` is not used as a number, and passes.
    """
    demand_shallow(raw, where)
    usual = {other: name for name, others in names.items() for other in others}
    for name, value in raw.items():
        kind = FIELDS.get(usual.get(name, name))
        if kind is not None and value is not None:
            _demand(where, name, value, kind)
            if kind is BLOCK:
                _demand_block(where, name, value)
        if usual.get(name, name) == "num_attention_heads" and value is not None and _biased(raw):
            _demand(where, name, value, integer(BIASED_HEADS))


def _biased(raw: Mapping[str, Any]) -> bool:
    return raw.get("model_type") in BIASED or raw.get("alibi") is True


def _demand_block(where: str, name: str, block: Mapping[str, Any]) -> None:
    for inner, value in block.items():
        kind = IN_A_BLOCK.get(inner)
        if kind is not None and value is not None:
            _demand(where, f"{name}.{inner}", value, kind)
        elif isinstance(value, Mapping):  # the block of one kind of layers
            _demand_block(where, f"{name}.{inner}", value)


def _demand(where: str, name: str, value: Any, kind: Kind) -> None:
    if not kind.holds(value):
        raise UserError(
            f"{where}: {in_line(name)}: it is {_shown(value)}", f"it must be {kind.words}"
        )


SHOWN = 80
"""Most characters of a value that are shown."""


def _shown(value: Any) -> str:
    text = in_line(repr(value))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def demand_shallow(raw: Mapping[str, Any], where: str) -> None:
    """Raise UserError for a field that is nested too deeply."""
    for name, value in raw.items():
        level: list[Any] = [value]
        for _ in range(DEEPEST):
            level = [part for node in level for part in _parts(node)]
        if level:
            raise UserError(
                f"{where}: {in_line(name)}: it is nested too deeply",
                f"no field needs more than {DEEPEST} levels",
            )


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
