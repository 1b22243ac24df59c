"""Spellings of a configuration with the same meaning, and variations with another meaning."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from posenc_conformance.errors import UserError
from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.configuration import configuration
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.meaning import Meaning
from posenc_conformance.models.understood import read_by
from posenc_lab.models.configurations import Fields, small

PLAIN: Fields = {"rope_type": "default"}
LISTS: Fields = {"short_factor": [1.0] * 128, "long_factor": [2.0] * 128}

BLOCKS: Mapping[str, Fields] = {
    "linear": {"rope_type": "linear", "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "factor": 2.0},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024},
    "yarn, all said": {
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 1024,
        "beta_fast": 16.0,
        "beta_slow": 2.0,
        "attention_factor": 1.5,
    },
    "yarn, its mscales": {
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 1024,
        "mscale": 1.0,
        "mscale_all_dim": 0.5,
    },
    "llama3": {
        "rope_type": "llama3",
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 1024,
    },
    "longrope": {
        "rope_type": "longrope",
        "factor": 4.0,
        "original_max_position_embeddings": 1024,
        "short_factor": [1.5] * 32,
        "long_factor": [2.0] * 32,
    },
}
"""Scaling blocks, for heads of 64 channels."""

CHANGES: Mapping[str, Fields] = {
    "another base": {"rope_theta": 12345.0},
    "a part of a head": {"partial_rotary_factor": 0.75},
    "channels that turn": {"rotary_dim": 32},
    "a head of its own size": {"head_dim": 96},
    "a window": {"sliding_window": 3},
    "no window": {"sliding_window": None},
    "a window, switched on": {
        "sliding_window": 3,
        "use_sliding_window": True,
        "max_window_layers": 4,
    },
    "a window, switched on from the layer on that is usual": {
        "sliding_window": 3,
        "use_sliding_window": True,
    },
    "a window, switched off": {
        "sliding_window": 3,
        "use_sliding_window": False,
        "max_window_layers": 4,
    },
    "a window that is not given, switched on": {"use_sliding_window": True, "max_window_layers": 4},
    "layers without attention": {"layer_types": ["linear_attention", "full_attention"] * 4},
    "a pattern": {"sliding_window": 3, "sliding_window_pattern": 2},
    "a pattern under another name": {"sliding_window": 3, "global_attn_every_n_layers": 2},
    "layers one by one": {
        "sliding_window": 3,
        "layer_types": ["full_attention", "sliding_attention"] * 4,
    },
    "layers one by one, all full": {
        "sliding_window": 3,
        "layer_types": ["full_attention"] * 8,
    },
    "both sides": {"sliding_window": 4, "use_bidirectional_attention": True},
    "an interval": {"full_attention_interval": 2},
    "an interval without positions": {"no_rope_layer_interval": 2},
    "layers without positions": {"no_rope_layers": [1, 1, 0, 1, 0, 1, 1, 1]},
    "other chunks": {"attention_chunk_size": 3},
    "no chunks": {"attention_chunk_size": None},
    "no temperature": {"attn_temperature_tuning": False},
    "its local base": {"rope_local_base_freq": 5000.0},
    "its bases": {"local_rope_theta": 5000.0, "global_rope_theta": 70000.0},
    "its local window": {"local_attention": 4},
    "heads that are not given": {"head_dim": None},
    "pairs in halves": {"rope_interleave": False},
}
"""Optional fields of a configuration, under the names that some types use."""


def changed(type: str) -> Iterator[tuple[str, Fields]]:
    """Yield named configurations of a type with optional fields.

    Changes with a field that the type doesn't have are left out; other tests check that such
    fields are refused.
    """
    least = small(type)
    understood = read_by(type) | {"head_dim"}
    for name, fields in CHANGES.items():
        if fields.keys() <= understood:
            yield name, {**least, **fields}
    if type in ROTARY:
        others = {name: value for name, value in least.items() if not name.startswith("rope_")}
        for name, block in BLOCKS.items():
            yield name, {**others, BASE.get(type, "rope_theta"): 500000.0, "rope_scaling": block}


def spelled(fields: Fields) -> Iterator[tuple[str, Fields]]:
    """Yield a configuration in other, named spellings; none changes its meaning."""
    block, base = fields.get("rope_scaling"), fields.get("rope_theta")
    others = {
        name: value for name, value in fields.items() if name not in ("rope_scaling", "rope_theta")
    }
    if block is not None and "type" not in block:
        old = {"type": block["rope_type"], **{k: v for k, v in block.items() if k != "rope_type"}}
        yield "type for rope_type", {**fields, "rope_scaling": old}
        yield "type beside rope_type", {**fields, "rope_scaling": {**old, **block}}
    style = ROTARY.get(fields["model_type"])
    if style is not None and style.blocks:
        yield from _by_kind(fields, others)
    elif style is not None and style.types != ("default",) and (block or base):
        new = {**PLAIN, **(block or {}), **_given("rope_theta", base)}
        yield "a new name", {**others, "rope_parameters": new}
        if block is not None:
            yield "both blocks", {**fields, "rope_parameters": block}
            outside = _given("rope_theta", base)
            yield "a base outside", {**others, **outside, "rope_parameters": block}
    yield "a text among others", {"model_type": "several", "text_config": fields}
    yield "whole numbers as floats", _floats(fields)
    yield "furniture", {**fields, **FURNITURE}
    yield "nothing said in so many words", {**dict.fromkeys(UNSAID), **fields}


def _by_kind(fields: Fields, rest: Fields) -> Iterator[tuple[str, Fields]]:
    """Yield a configuration with a block per kind of layers, for a type with such blocks."""
    style = ROTARY[fields["model_type"]]
    if fields.get("rope_parameters") is not None:
        return
    full, local = BASES.get(fields["model_type"], ("rope_theta", "rope_theta"))
    scaled = {**PLAIN, **fields.get("rope_scaling", {})}
    blocks = {
        "full_attention": {**scaled, "rope_theta": fields.get(full, style.base)},
        "sliding_attention": {
            **(scaled if "sliding" in style.scaled else PLAIN),
            "rope_theta": fields.get(local, style.local_base or style.base),
        },
    }
    rest = {name: value for name, value in rest.items() if name not in (full, local)}
    yield "a block for each kind of layers", {**rest, "rope_parameters": blocks}


BASE: Mapping[str, str] = {
    "gpt_neox": "rotary_emb_base",
    "gpt_neox_japanese": "rotary_emb_base",
    "modernbert": "global_rope_theta",
    "modernbert-decoder": "global_rope_theta",
}
"""The field of the base, for types that don't call it rope_theta."""
BASES: Mapping[str, tuple[str, str]] = {
    "gemma3_text": ("rope_theta", "rope_local_base_freq"),
    "gemma3n_text": ("rope_theta", "rope_local_base_freq"),
    "modernbert": ("global_rope_theta", "local_rope_theta"),
    "modernbert-decoder": ("global_rope_theta", "local_rope_theta"),
}
"""The fields of the bases, first that of full layers, then that of local ones."""


@dataclass(frozen=True)
class Tally:
    """Counts of the configurations of some types, and of their other spellings."""

    read: int
    refused: int
    same: int
    unsaid: int
    """Other spellings that were refused."""
    different: int
    """Other spellings that were read with another meaning."""


def tally(types: Iterable[str]) -> Tally:
    """Count how all configurations of some types are read."""
    counts = Counter[str]()
    for type in types:
        for _, fields in [("least", small(type)), *changed(type)]:
            meant = read(fields)
            counts["refused" if meant is None else "read"] += 1
            for _, other in spelled(fields) if meant is not None else ():
                again = read(other)
                if again is None:
                    counts["unsaid"] += 1
                else:
                    counts["same" if again == meant else "different"] += 1
    return Tally(*(counts[name] for name in ("read", "refused", "same", "unsaid", "different")))


def read(fields: Fields) -> Meaning | None:
    """Return the meaning of a configuration; None if it is refused."""
    try:
        return meaning(configuration(fields, "config.json"))
    except UserError:
        return None


def _given(name: str, value: Any) -> Fields:
    return {} if value is None else {name: value}


def _floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _floats(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_floats(item) for item in value]
    return float(value) if type(value) is int else value


UNSAID = (
    "rope_scaling",
    "rope_parameters",
    "rope_interleaved",
    "layer_types",
    "original_max_position_embeddings",
)
"""Fields that have no meaning if null, in every type."""

FURNITURE: Fields = {
    "_name_or_path": "/models/some-model",
    "architectures": ["SomeForCausalLM"],
    "auto_map": {"AutoConfig": "configuration_some.SomeConfig"},
    "bos_token_id": 1,
    "dtype": "bfloat16",
    "eos_token_id": [1, 2],
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "quantization_config": {
        "quant_method": "fp8",
        "activation_scheme": "dynamic",
        "weight_block_size": [128, 128],
        "modules_to_not_convert": ["model.layers.0.self_attn"],
    },
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "transformers_version": "5.24.0",
    "unsloth_fixed": True,
    "unsloth_version": "2026.10.1",
    "use_cache": True,
    "vocab_size": 32000,
}
"""Common fields that say nothing about positions."""
