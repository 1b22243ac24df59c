"""Metadata of GGUF files: what they mean, and what is refused because readers would differ."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from posenc_conformance.errors import UserError
from posenc_conformance.models.configuration import configuration
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.file import model_named
from posenc_conformance.models.meaning import Meaning
from posenc_conformance.models.metadata import ABOUT_POSITIONS, ARCHITECTURES, IGNORED, to_config

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
MAGNITUDE = 1 + math.log(8) / 10


def read(architecture: str, keys: Mapping[str, Any], tensors: tuple[str, ...] = ()) -> Meaning:
    metadata = {f"{architecture}.{key}": value for key, value in keys.items()}
    metadata["general.architecture"] = architecture
    fields, layout = to_config(metadata, tensors, "model.gguf")
    return meaning(replace(configuration(fields, "model.gguf"), stored=layout))


def refused(architecture: str, keys: Mapping[str, Any], tensors: tuple[str, ...] = ()) -> str:
    with pytest.raises(UserError) as caught:
        read(architecture, keys, tensors)
    assert caught.value.cause.startswith("model.gguf: ")
    return f"{caught.value}"


def least(architecture: str) -> dict[str, Any]:
    """The keys without which nothing is read."""
    windowed = ARCHITECTURES[architecture].sliding == ARCHITECTURES[architecture].type
    return {**PLAIN, **(WINDOW if windowed else {})}


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
def test_olmo_3_is_read_from_the_window(more: Mapping[str, Any]) -> None:
    assert read("olmo2", {**PLAIN, **YARN, **WINDOW, **more}) == model_named("olmo-3-7b").meaning


def test_olmo_3_before_it_was_stretched() -> None:
    sliding, full = read("olmo2", {**PLAIN, **WINDOW}).groups
    assert (sliding.scheme, sliding.window, len(sliding.layers)) == ("rope", 4096, 24)
    assert (full.scheme, full.window, len(full.layers)) == ("rope", None, 8)


def test_olmo_2_has_no_window() -> None:
    (group,) = read("olmo2", {**PLAIN, "attention.sliding_window": 0}).groups
    assert group.window is None


def test_layers_that_are_listed_otherwise_are_believed() -> None:
    other = [*EVERY_FOURTH[1:], True]
    found = read("olmo2", {**PLAIN, **WINDOW, "attention.sliding_window_pattern": other})
    assert found.groups[1].layers == tuple(n for n, slides in enumerate(other) if not slides)


@pytest.mark.parametrize("pattern", [EVERY_FOURTH[:-1], 0, -1, True, "LLLG", 1.5])
def test_a_pattern_that_cannot_be_is_refused(pattern: Any) -> None:
    given = {**PLAIN, **WINDOW, "attention.sliding_window_pattern": pattern}
    assert "olmo2.attention.sliding_window_pattern" in refused("olmo2", given)


def test_a_pattern_without_a_window_is_refused() -> None:
    assert "sliding_window_pattern" in refused(
        "olmo2", {**PLAIN, "attention.sliding_window_pattern": 4}
    )


# Factors that readers take for different things.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("attn_factor", MAGNITUDE),
        ("attn_factor", 0.8),
        ("yarn_attn_factor", 1.0),
        ("yarn_ext_factor", 0.5),
    ],
)
def test_a_factor_that_readers_take_for_different_things_is_refused(
    name: str, value: float
) -> None:
    keys = {**PLAIN, **YARN, f"rope.scaling.{name}": value}
    assert f"qwen2.rope.scaling.{name}: it is {value}" in refused("qwen2", keys)


# Keys that nobody has defined.

STRANGE = (
    "attention.key_length_swa",
    "attention.stretch",
    "attention.temperature_scale",
    "context_shift",
    "full_attention_interval",
    "rope.dimension_sections",
    "rope.freq_base_swa",
    "rope.scale_linear",
    "rope.scaling.alpha",
    "rope.scaling.yarn_log_multiplier",
    "sliding.size",
)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_keys_about_positions_that_are_not_known_are_refused(architecture: str) -> None:
    assert read(architecture, least(architecture)).groups
    for key in STRANGE:
        assert f"{architecture}.{key}: " in refused(architecture, {**least(architecture), key: 1})


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_window_where_none_is_known_is_refused(architecture: str) -> None:
    if ARCHITECTURES[architecture].sliding is None:
        assert "attention.sliding_window" in refused(architecture, {**PLAIN, **WINDOW})


def test_what_is_ignored_would_be_refused_otherwise() -> None:
    assert all(ABOUT_POSITIONS.search(key) for key in IGNORED)
    assert read("qwen2", {**PLAIN, **dict.fromkeys(IGNORED, 1)}) == read("qwen2", PLAIN)
    assert read("qwen2", {**PLAIN, "expert_count": 4}) == read("qwen2", PLAIN)


@pytest.mark.parametrize("tensor", ["rope_freqs.weight", "rope_factors_long.weight"])
def test_tensors_that_divide_frequencies_are_refused(tensor: str) -> None:
    assert tensor in refused("qwen2", PLAIN, ("output.weight", tensor))
