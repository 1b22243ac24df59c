"""Metadata of GGUF files: their meaning, and refusals where readers would differ."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from posenc_conformance.errors import UserError
from posenc_conformance.models.configuration import configuration
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.file import model_named
from posenc_conformance.models.gguf import Said, understood
from posenc_conformance.models.layer_frequencies import frequencies
from posenc_conformance.models.meaning import Group, Meaning
from posenc_conformance.models.metadata import (
    ABOUT_POSITIONS,
    ARCHITECTURES,
    IGNORED,
    NEEDED,
    to_config,
)
from posenc_conformance.models.misreadings import longer

PLAIN: dict[str, Any] = {
    "block_count": 32,
    "context_length": 65536,
    "embedding_length": 4096,
    "attention.head_count": 32,
    "attention.head_count_kv": 32,
    "attention.layer_norm_rms_epsilon": 1e-6,
    "rope.freq_base": 500000.0,
}
YARN: dict[str, Any] = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 8.0,
    "rope.scaling.original_context_length": 8192,
    "rope.scaling.yarn_beta_fast": 32.0,
    "rope.scaling.yarn_beta_slow": 1.0,
}
WINDOW: dict[str, Any] = {"attention.sliding_window": 4096}
EVERY_FOURTH = [bool((number + 1) % 4) for number in range(32)]
NO_TABLES: dict[str, list[float]] = {}
HALF_OF_THE_PAIRS = {"rope_freqs.weight": [1.0] * 128 + [1e30] * 128}
MAGNITUDE = 1 + math.log(8) / 10


def read(
    architecture: str, keys: Mapping[str, Any], tables: Mapping[str, list[float]] = NO_TABLES
) -> Meaning:
    metadata = {f"{architecture}.{key}": value for key, value in keys.items()}
    metadata["general.architecture"] = architecture
    fields, layout, _ = to_config(metadata, tables, "model.gguf")
    return meaning(replace(configuration(fields, "model.gguf"), stored=layout))


def refused(
    architecture: str, keys: Mapping[str, Any], tables: Mapping[str, list[float]] = NO_TABLES
) -> str:
    with pytest.raises(UserError) as caught:
        read(architecture, keys, tables)
    assert caught.value.cause.startswith("model.gguf: ")
    return f"{caught.value}"


ROTATION = ("rope.freq_base",)
"""Keys of ``PLAIN`` that files of models without rotation do not have."""
LEAST: dict[str, dict[str, Any]] = {
    "deepseek2": {"rope.dimension_count": 64},
    "gemma4": {
        "attention.key_length": 512,
        "attention.key_length_swa": 256,
        "rope.dimension_count": 512,
        "rope.dimension_count_swa": 256,
        "rope.freq_base_swa": 10000.0,
    },
    "gpt-oss": YARN,
    "gptj": {"rope.freq_base": 10000.0},
    "granitehybrid": {"attention.head_count_kv": [0, 8] * 16},
    "nemotron_h": {"attention.head_count_kv": [0, 8] * 16},
    "nemotron_h_moe": {"attention.head_count_kv": [0, 8] * 16},
    "lfm2": {"attention.head_count_kv": [0, 8] * 16},
    "lfm2moe": {"attention.head_count_kv": [0, 8] * 16},
    "mistral3": YARN,
    "mpt": {"attention.max_alibi_bias": 8.0},
    "qwen2vl": {"rope.dimension_sections": [16, 24, 24, 0]},
    "qwen35": {"rope.dimension_sections": [11, 11, 10, 0], "rope.dimension_count": 64},
    "qwen35moe": {"rope.dimension_sections": [11, 11, 10, 0], "rope.dimension_count": 64},
    "qwen3vl": {"rope.dimension_sections": [24, 20, 20, 0]},
    "qwen3vlmoe": {"rope.dimension_sections": [24, 20, 20, 0]},
}
"""Keys that some architectures need in addition to those of most."""


UNROTATED = ("bert", "bloom", "gpt2", "mpt", "starcoder")


def least(architecture: str) -> dict[str, Any]:
    """Return the required keys of an architecture."""
    window = WINDOW if ARCHITECTURES[architecture].window == NEEDED else {}
    keys = {**PLAIN, **window, **LEAST.get(architecture, {})}
    return {key: keys[key] for key in keys if architecture not in UNROTATED or key not in ROTATION}


# Olmo 3, whose files say that they are Olmo 2.


@pytest.mark.parametrize(
    "more",
    [
        {"attention.sliding_window_pattern": EVERY_FOURTH},
        {"attention.sliding_window_pattern": 4},
        {},
        {"rope.scaling.yarn_attn_factor": MAGNITUDE},
        {"rope.scaling.attn_factor": 1.0},
    ],
)
def test_olmo_3_is_recognised_by_its_window(more: Mapping[str, Any]) -> None:
    assert read("olmo2", {**PLAIN, **YARN, **WINDOW, **more}) == model_named("olmo-3-7b").meaning


def test_olmo_3_without_scaling() -> None:
    sliding, full = read("olmo2", {**PLAIN, **WINDOW}).groups
    assert (sliding.scheme, sliding.window, len(sliding.layers)) == ("rope", 4096, 24)
    assert (full.scheme, full.window, len(full.layers)) == ("rope", None, 8)


def test_olmo_2_has_no_window() -> None:
    (group,) = read("olmo2", {**PLAIN, "attention.sliding_window": 0}).groups
    assert group.window is None


def test_another_list_of_layers_is_respected() -> None:
    other = [*EVERY_FOURTH[1:], True]
    result = read("olmo2", {**PLAIN, **WINDOW, "attention.sliding_window_pattern": other})
    assert result.groups[1].layers == tuple(n for n, slides in enumerate(other) if not slides)


@pytest.mark.parametrize("pattern", [EVERY_FOURTH[:-1], 0, -1, True, "LLLG", 1.5])
def test_an_invalid_pattern_is_refused(pattern: Any) -> None:
    metadata = {**PLAIN, **WINDOW, "attention.sliding_window_pattern": pattern}
    assert "olmo2.attention.sliding_window_pattern" in refused("olmo2", metadata)


def test_a_pattern_without_a_window_is_refused() -> None:
    assert "sliding_window_pattern" in refused(
        "olmo2", {**PLAIN, "attention.sliding_window_pattern": 4}
    )


@pytest.mark.parametrize("given", [[1.0], "x", True, -1.0, float("inf"), float("nan")], ids=str)
@pytest.mark.parametrize(
    ("architecture", "key"),
    [
        ("qwen2", "rope.freq_base"),
        ("qwen2", "rope.scaling.factor"),
        ("deepseek2", "rope.scaling.yarn_log_multiplier"),
        ("mistral3", "attention.temperature_scale"),
    ],
)
def test_values_in_formulas_must_be_numbers(architecture: str, key: str, given: Any) -> None:
    message = refused(architecture, {**PLAIN, **YARN, key: given})
    assert f"{architecture}.{key}: it is" in message


# Factors that readers interpret differently.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("attn_factor", MAGNITUDE),
        ("attn_factor", 0.8),
        ("yarn_attn_factor", 1.0),
        ("yarn_ext_factor", 0.5),
    ],
)
def test_a_factor_that_readers_interpret_differently_is_refused(name: str, value: float) -> None:
    keys = {**PLAIN, **YARN, f"rope.scaling.{name}": value}
    assert f"qwen2.rope.scaling.{name}: it is {value}" in refused("qwen2", keys)


# Undefined keys.

STRANGE = (
    "attention.key_length_swa",
    "attention.stretch",
    "attention.indexer.top_k",
    "context_shift",
    "rope.dimension_count_swa",
    "rope.scale_log",
    "rope.scaling.alpha",
    "sliding.size",
)
OF_SOME = (
    "attention.sliding_window",
    "attention.temperature_scale",
    "full_attention_interval",
    "rope.dimension_sections",
    "rope.freq_base_swa",
    "rope.scaling.yarn_log_multiplier",
)
"""Keys with a meaning in files of some architectures only."""


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_unknown_keys_about_positions_are_refused(architecture: str) -> None:
    tables = HALF_OF_THE_PAIRS if ARCHITECTURES[architecture].two_sizes else NO_TABLES
    assert read(architecture, least(architecture), tables).groups
    for key in set(STRANGE) - least(architecture).keys():
        keys = {**least(architecture), key: 1}
        assert f"{architecture}.{key}: " in refused(architecture, keys, tables)


def test_scaling_needs_the_length_that_a_file_states() -> None:
    block = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}
    keys = {f"llama.{key}": value for key, value in (PLAIN | block).items()}
    keys["general.architecture"] = "llama"
    assert meaning(understood(Said(keys, {}, set()), "model.gguf")).groups
    del keys["llama.context_length"]
    with pytest.raises(UserError, match=r"llama\.context_length: it is missing"):
        understood(Said(keys, {}, set()), "model.gguf")


@pytest.mark.parametrize("key", OF_SOME)
def test_keys_of_other_architectures_are_refused(key: str) -> None:
    assert f"qwen2.{key}: " in refused("qwen2", {**PLAIN, key: 4})


@pytest.mark.parametrize("architecture", ["gemma2", "gpt-oss", "cohere2", "afmoe"])
def test_a_window_that_all_models_have_is_required(architecture: str) -> None:
    metadata = {**least(architecture), "attention.sliding_window": 0}
    assert "attention.sliding_window" in refused(architecture, metadata)


def keys_of(model: str) -> dict[str, Any]:
    """Return the keys that the converter writes for every model, from a model file."""
    config = model_named(model).configuration
    head_dim = config.get("head_dim")
    keys: dict[str, Any] = {
        "block_count": config.get("num_hidden_layers"),
        "context_length": config.get("max_position_embeddings"),
        "embedding_length": config.get("hidden_size"),
        "attention.head_count": config.get("num_attention_heads"),
        "attention.head_count_kv": config.get("num_key_value_heads"),
    }
    if head_dim is not None:
        keys |= {"attention.key_length": head_dim, "attention.value_length": head_dim}
    return {key: value for key, value in keys.items() if value is not None}


GEMMA_3 = {
    "rope.freq_base": 1000000.0,
    "rope.scaling.type": "linear",
    "rope.scaling.factor": 8.0,
    "attention.sliding_window": 1024,
}
GPT_OSS = {
    "rope.freq_base": 150000.0,
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 32.0,
    "rope.scaling.original_context_length": 4096,
    "rope.scaling.yarn_beta_fast": 32.0,
    "rope.scaling.yarn_beta_slow": 1.0,
    "attention.sliding_window": 128,
}
DEEPSEEK_3 = {
    "attention.head_count_kv": 1,
    "attention.kv_lora_rank": 512,
    "attention.q_lora_rank": 1536,
    "attention.key_length": 576,
    "attention.value_length": 512,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
    "rope.dimension_count": 64,
    "rope.freq_base": 10000.0,
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 40.0,
    "rope.scaling.original_context_length": 4096,
    "rope.scaling.yarn_log_multiplier": 0.1,
    "rope.scaling.yarn_beta_fast": 32.0,
    "rope.scaling.yarn_beta_slow": 1.0,
}
MINISTRAL_3 = {
    "rope.freq_base": 1000000.0,
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 16.0,
    "rope.scaling.original_context_length": 16384,
    "rope.scaling.yarn_beta_fast": 32.0,
    "rope.scaling.yarn_beta_slow": 1.0,
    "rope.scaling.yarn_log_multiplier": 1.0,
    "attention.temperature_scale": 0.1,
}


@pytest.mark.parametrize(
    ("architecture", "model", "keys"),
    [
        ("gemma3", "gemma-3-4b", GEMMA_3),
        ("gemma3", "gemma-3-4b", {**GEMMA_3, "rope.freq_base_swa": 10000.0}),
        ("gemma3", "gemma-3-4b", {**GEMMA_3, "attention.sliding_window_pattern": 6}),
        ("gpt-oss", "gpt-oss-20b", GPT_OSS),
        ("deepseek2", "deepseek-v3", DEEPSEEK_3),
        ("mistral3", "ministral-3-3b", MINISTRAL_3),
        (
            "qwen2vl",
            "qwen2.5-vl-7b",
            {"rope.freq_base": 1000000.0, "rope.dimension_sections": [16, 24, 24, 0]},
        ),
        (
            "qwen3vl",
            "qwen3-vl-4b",
            {"rope.freq_base": 5000000.0, "rope.dimension_sections": [24, 20, 20, 0]},
        ),
        (
            "qwen35moe",
            "qwen3.5-35b-a3b",
            {
                "rope.freq_base": 10000000.0,
                "rope.dimension_count": 64,
                "rope.dimension_sections": [11, 11, 10, 0],
                "full_attention_interval": 4,
            },
        ),
        (
            "qwen3next",
            "qwen3-next-80b-a3b",
            {"rope.freq_base": 10000000.0, "rope.dimension_count": 64},
        ),
        (
            "phi3",
            "phi-3-mini-4k",
            {
                "rope.freq_base": 10000.0,
                "rope.dimension_count": 96,
                "rope.scaling.original_context_length": 4096,
                "attention.sliding_window": 2047,
            },
        ),
        (
            "phi3",
            "phi-4",
            {
                "rope.freq_base": 250000.0,
                "rope.dimension_count": 128,
                "rope.scaling.original_context_length": 16384,
                "attention.sliding_window": 0,
            },
        ),
    ],
)
def test_files_of_released_models_have_the_meaning_of_the_models(
    architecture: str, model: str, keys: Mapping[str, Any]
) -> None:
    result, released = read(architecture, {**keys_of(model), **keys}), model_named(model).meaning
    ours, theirs = (
        {group.layers: (omega(group), group.attention, group.window) for group in side.groups}
        for side in (result, released)
    )
    assert ours.keys() == theirs.keys()
    for layers, (turned, *details) in ours.items():
        expected, *others = theirs[layers]
        assert details == others
        assert turned == pytest.approx(expected, rel=1e-6)
    beside = [(group.score_factor, group.temperature) for group in result.groups]
    assert beside == [(group.score_factor, group.temperature) for group in released.groups]
    assert result.context == released.context


def omega(group: Group) -> list[float]:
    """Return the frequencies and the length of pairs; nothing for layers without rotation."""
    return [*frequencies(group), longer(group)] if group.turns else []


def test_layers_that_predict_further_tokens_are_left_out() -> None:
    (group,) = read("glm4moe", {**PLAIN, "block_count": 47, "nextn_predict_layers": 1}).groups
    assert group.layers == tuple(range(46))
    assert "block_count" in refused("glm4moe", {**PLAIN, "nextn_predict_layers": 32})
    listed = {**PLAIN, **WINDOW, "block_count": 33, "nextn_predict_layers": 1}
    for pattern in (EVERY_FOURTH, [*EVERY_FOURTH, False]):
        result = read("exaone4", {**listed, "attention.sliding_window_pattern": pattern})
        assert [len(layers.layers) for layers in result.groups] == [24, 8]


def test_gemma_3_without_a_window_turns_all_layers_alike() -> None:
    (group,) = read("gemma3", {**PLAIN, "rope.freq_base": 1000000.0}).groups
    assert (group.attention, group.parameters["base"]) == ("full", 1000000)


def test_layers_without_keys_have_no_attention() -> None:
    linear, full = read("lfm2", least("lfm2")).groups
    assert (linear.attention, full.attention) == ("linear", "full")
    assert full.layers == tuple(range(1, 32, 2))
    assert "head_count_kv" in refused("lfm2", {**least("lfm2"), "attention.head_count_kv": 8})


def test_an_extended_model_without_scaling_is_refused() -> None:
    metadata = {**PLAIN, "rope.scaling.original_context_length": 4096, "context_length": 131072}
    assert "original_max_position_embeddings" in refused("phi3", metadata)


@pytest.mark.parametrize("sections", [[16, 24, 24], [16, 24, 24, 8], 64])
def test_sections_that_are_not_three_are_refused(sections: Any) -> None:
    assert "rope.dimension_sections" in refused(
        "qwen2vl", {**PLAIN, "rope.dimension_sections": sections}
    )


def test_ignored_keys_are_about_positions_and_change_nothing() -> None:
    assert all(ABOUT_POSITIONS.search(key) for key in IGNORED)
    assert read("qwen2", {**PLAIN, **dict.fromkeys(IGNORED, 1)}) == read("qwen2", PLAIN)
    assert read("qwen2", {**PLAIN, "expert_count": 4}) == read("qwen2", PLAIN)


# Tensors that divide frequencies.


def divisors_of(model: str) -> list[float]:
    """Return the converter's divisors in float32 for a model that is scaled like Llama 3.1."""
    (group,) = model_named(model).meaning.groups
    base, size = group.parameters["base"], group.parameters["head_dim"]
    plain = base ** (-np.arange(0, size, 2) / size)
    return [float(divisor) for divisor in (plain / frequencies(group)).astype(np.float32)]


@pytest.mark.parametrize("model", ["llama-3.1-8b", "llama-3.2-1b"])
def test_divisors_of_llama_3_are_read(model: str) -> None:
    released = model_named(model).meaning
    keys = {**keys_of(model), "rope.freq_base": 500000.0, "rope.dimension_count": 128}
    keys["rope.dimension_count"] = released.groups[0].parameters["head_dim"]
    result = read("llama", keys, {"rope_freqs.weight": divisors_of(model)})
    assert result.context == released.context
    assert result.groups[0].parameters == released.groups[0].parameters
    assert (result.groups[0].scheme, result.layout) == ("llama3", "interleaved")


def test_other_divisors_are_refused() -> None:
    keys = {**keys_of("llama-3.1-8b"), "rope.freq_base": 500000.0}
    divisors = divisors_of("llama-3.1-8b")
    for wrong in ([*divisors[:-1], 7.0], [8.0] * 64, [1.0] * 63 + [8.0]):
        assert "rope_freqs.weight" in refused("llama", keys, {"rope_freqs.weight": wrong})
    linear = {**keys, "rope.scaling.type": "linear", "rope.scaling.factor": 2.0}
    assert "rope_freqs.weight" in refused("llama", linear, {"rope_freqs.weight": divisors})


def test_divisors_for_long_and_short_texts_are_read() -> None:
    released = model_named("phi-3.5-mini").meaning
    (group,) = released.groups
    tables = {
        "rope_factors_long.weight": group.parameters["long_factors"],
        "rope_factors_short.weight": group.parameters["short_factors"],
    }
    keys = {
        **keys_of("phi-3.5-mini"),
        "rope.dimension_count": 96,
        "rope.freq_base": 10000.0,
        "rope.scaling.original_context_length": 4096,
        "rope.scaling.attn_factor": longer(group),
        "attention.sliding_window": 262144,
    }
    (result,) = read("phi3", keys, tables).groups
    assert result.window == group.window
    assert longer(result) == longer(group)
    for name in ("long_factors", "short_factors", "factor", "original_max_position_embeddings"):
        assert result.parameters[name] == group.parameters[name]
    (bare,) = read("phi3", {**keys, "rope.scaling.attn_factor": 1.0}, tables).groups
    assert longer(bare) == 1
    del tables["rope_factors_short.weight"]
    assert "rope_factors_long.weight" in refused("phi3", keys, tables)


# Architectures whose layers are of several kinds.

NOT_TURNED = {"rope.freq_base": 10000.0, "rope.dimension_count": 128}


@pytest.mark.parametrize(
    ("architecture", "model", "beside"),
    [
        ("nemotron_h_moe", "nemotron-3-nano-30b-a3b", NOT_TURNED),
        ("nemotron_h", "nemotron-h-56b-base-8k", {}),
    ],
)
def test_models_without_rotation_are_read_by_the_layers_with_keys(
    architecture: str, model: str, beside: Mapping[str, Any]
) -> None:
    released = model_named(model).meaning
    (attends,) = (group.layers for group in released.groups if group.attention == "full")
    keys = {**keys_of(model), **beside, "rope.scaling.finetuned": False}
    counts = [8 if number in attends else 0 for number in range(keys["block_count"])]
    result = read(architecture, {**keys, "attention.head_count_kv": counts})
    assert result.groups == released.groups
    assert "finetuned" in refused(
        architecture,
        {**keys, "attention.head_count_kv": counts, "rope.scaling.finetuned": True},
    )
    assert "head_count_kv" in refused(architecture, {**keys, "attention.head_count_kv": 8})


def test_granite_4_is_read_without_rotation() -> None:
    keys = {**least("granitehybrid"), "rope.scaling.finetuned": False}
    groups = {group.id: group for group in read("granitehybrid", keys).groups}
    assert groups["linear"].layers == tuple(range(0, 32, 2))
    assert (groups["without-positions"].scheme, groups["without-positions"].call) == ("nope", None)
    assert "finetuned" in refused("granitehybrid", {**keys, "rope.scaling.finetuned": True})


def gemma_4(model: str) -> dict[str, Any]:
    config = model_named(model).configuration
    kinds = config.get("layer_types")
    return {
        **keys_of(model),
        "attention.sliding_window": config.get("sliding_window"),
        "attention.sliding_window_pattern": [kind == "sliding_attention" for kind in kinds],
        "attention.key_length": 512,
        "attention.value_length": 512,
        "attention.key_length_swa": 256,
        "attention.value_length_swa": 256,
        "rope.dimension_count": 512,
        "rope.dimension_count_swa": 256,
        "rope.freq_base": 1000000.0,
        "rope.freq_base_swa": 10000.0,
    }


QUARTER = {"rope_freqs.weight": [1.0] * 64 + [1.0000000150474662e30] * 192}


@pytest.mark.parametrize("model", ["gemma-4-e2b", "gemma-4-e4b", "gemma-4-26b-a4b"])
def test_gemma_4_is_read_with_two_sizes_of_heads(model: str) -> None:
    result, released = read("gemma4", gemma_4(model), QUARTER), model_named(model).meaning
    assert result.groups == released.groups


@pytest.mark.parametrize(
    ("changes", "tables"),
    [
        ({}, NO_TABLES),
        ({}, {"rope_freqs.weight": [1.0] * 128 + [8.0] * 128}),
        ({}, {"rope_freqs.weight": [1e30] * 256}),
        ({"rope.dimension_count": 128}, QUARTER),
        ({"rope.dimension_count_swa": 128}, QUARTER),
        ({"attention.key_length_swa": None}, QUARTER),
    ],
)
def test_gemma_4_without_its_rotated_channels_is_refused(
    changes: Mapping[str, Any], tables: Mapping[str, list[float]]
) -> None:
    assert "rope" in refused("gemma4", {**gemma_4("gemma-4-e2b"), **changes}, tables)


def test_gemma_3n_is_read_by_its_pattern() -> None:
    pattern = [bool((number + 1) % 5) for number in range(30)]
    keys = {
        **PLAIN,
        "block_count": 30,
        "attention.key_length": 256,
        "rope.freq_base": 1000000.0,
        "attention.sliding_window": 512,
        "attention.sliding_window_pattern": pattern,
        "attention.shared_kv_layers": 10,
    }
    groups = {group.id: group for group in read("gemma3n", keys).groups}
    assert groups["full"].layers == tuple(range(4, 30, 5))
    assert groups["full"].parameters["base"] == 1000000
    assert groups["sliding"].parameters["base"] == 10000
    assert "attention.sliding_window" in refused(
        "gemma3n", {**keys, "attention.sliding_window": None}
    )


def steps(factor: float) -> list[float]:
    """Return divisors with a step instead of a ramp, as for Llama 4."""
    turns = 8192 * 500000.0 ** (-np.arange(64) / 64) / (2 * np.pi)
    return [float(divisor) for divisor in np.where(turns >= 1, 1.0, factor)]


def test_llama_4_is_read_with_its_chunks_and_temperature() -> None:
    keys = {**keys_of("llama-4-scout"), "rope.freq_base": 500000.0, "rope.dimension_count": 128}
    result = read("llama4", keys, {"rope_freqs.weight": steps(16.0)})
    released = model_named("llama-4-scout").meaning
    assert result.groups == released.groups
    assert result.layout == "interleaved"
    keys = {**keys_of("llama-4-maverick"), "rope.freq_base": 500000.0}
    assert read("llama4", keys).groups == model_named("llama-4-maverick").meaning.groups
    assert "sliding_window" in refused("llama4", {**keys, "attention.sliding_window": 0})
