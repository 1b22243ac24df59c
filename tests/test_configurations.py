"""Configurations: what is not understood is refused, and no saved form changes what is meant."""

from collections.abc import Mapping
from typing import Any

import pytest

from posenc_conformance.errors import UserError
from posenc_conformance.models.configuration import configuration
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.fields import ABOUT_POSITIONS, IGNORED, SWITCHES, read_by
from posenc_conformance.models.meaning import Meaning, written
from tests.configurations import TYPES, small

STRANGE = (
    "attention_stretch",
    "context_multiplier",
    "global_layers_base",
    "layer_windows",
    "max_seq_scale",
    "nope_layers",
    "per_layer_rotation",
    "position_scheme",
    "relative_span",
    "rope_phase",
    "rotary_offset",
    "swa_theta",
)
"""Fields that nobody has defined, each of which could change what a position means."""


def derived(fields: Mapping[str, Any]) -> Meaning:
    return meaning(configuration(fields, "config.json"))


def refused(fields: Mapping[str, Any]) -> str:
    with pytest.raises(UserError) as caught:
        derived(fields)
    return f"{caught.value}"


every_type = pytest.mark.parametrize("type", TYPES)


# Fields that nobody has defined.


@every_type
def test_every_type_is_read(type: str) -> None:
    assert derived(small(type)).groups


@every_type
def test_an_unknown_field_about_positions_is_refused(type: str) -> None:
    for name in STRANGE:
        assert f"config.json: {name}: " in refused({**small(type), name: 1})


@every_type
def test_an_unknown_field_beside_that_of_the_text_is_refused(type: str) -> None:
    whole = {"model_type": "several", "text_config": small(type)}
    assert derived(whole) == derived(small(type))
    assert "config.json: rope_phase: " in refused({**whole, "rope_phase": 1})


@every_type
def test_fields_that_ask_for_nothing_do_no_harm(type: str) -> None:
    nothing = dict.fromkeys(STRANGE) | dict.fromkeys(SWITCHES - {"alibi"}, False)
    ignored = dict.fromkeys(IGNORED, 1)
    assert derived({**small(type), **nothing, **ignored}) == derived(small(type))


def test_what_is_ignored_would_be_refused_otherwise_and_is_read_by_nobody() -> None:
    for name, reason in IGNORED.items():
        assert ABOUT_POSITIONS.search(name), name
        assert not [type for type in TYPES if name in read_by(type)], name
        assert len(reason.split()) > 2


@pytest.mark.parametrize(
    ("type", "name", "value"),
    [
        ("llama", "sliding_window", 4096),
        ("llama", "use_sliding_window", True),
        ("llama", "global_head_dim", 512),
        ("qwen3", "attention_chunk_size", 8192),
        ("deepseek_v3", "llama_4_scaling", {"beta": 0.1}),
        ("mistral", "alibi", True),
        ("gemma2", "use_bidirectional_attention", True),
        ("bert", "rope_theta", 10000),
        ("vit", "max_position_embeddings", 10),
    ],
)
def test_a_field_that_means_something_in_other_types_alone_is_refused(
    type: str, name: str, value: object
) -> None:
    assert f": {name}: " in refused({**small(type), name: value})


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"alibi": True, "sliding_window_size": 512}, "attn_config.sliding_window_size"),
        ({"alibi": True, "rope_phase": 1}, "attn_config.rope_phase"),
        ({"alibi": False}, "attn_config.alibi"),
        ({"alibi_bias_max": 16}, "attn_config.alibi_bias_max"),
    ],
)
def test_fields_of_mpt_are_looked_at_where_they_stand(
    changed: Mapping[str, Any], field: str
) -> None:
    assert field in refused({**small("mpt"), "attn_config": changed})


def test_mpt_as_it_was_released_is_read() -> None:
    attention = {
        "alibi": True,
        "alibi_bias_max": 8,
        "attn_impl": "torch",
        "attn_pdrop": 0,
        "attn_type": "multihead_attention",
        "attn_uses_sequence_id": False,
        "clip_qkv": None,
        "prefix_lm": False,
        "rope": False,
        "rope_theta": 10000,
        "sliding_window_size": -1,
        "softmax_scale": None,
    }
    assert derived({**small("mpt"), "attn_config": attention}) == derived(small("mpt"))


# Blocks, and what stands outside of them.

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}


def test_an_original_context_outside_of_the_block_is_read() -> None:
    inside = {"rope_scaling": {**LLAMA3, "original_max_position_embeddings": 1024}}
    outside = {"rope_scaling": LLAMA3, "original_max_position_embeddings": 1024}
    assert derived({**small("llama"), **inside}) == derived({**small("llama"), **outside})
    said = refused({**small("llama"), **inside, "original_max_position_embeddings": 2048})
    assert "original_max_position_embeddings: it is 2048" in said


def test_an_original_context_that_nothing_stretches_is_refused() -> None:
    whole = {**small("llama"), "original_max_position_embeddings": 4096}
    assert derived(whole) == derived(small("llama"))
    assert "has no use for it" in refused({**whole, "original_max_position_embeddings": 1024})


def test_the_original_context_of_gpt_oss_has_two_names() -> None:
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
    given = {**small("gpt_oss"), "sliding_window": 128, "rope_scaling": yarn}
    assert derived({**given, "initial_context_length": 1024}) == derived(given)
    assert "it is 512" in refused({**given, "initial_context_length": 512})


def test_blocks_for_kinds_of_layers_hold_nothing_else() -> None:
    given = small("gemma4_text")
    blocks = given["rope_parameters"]
    assert "rope_parameters.rope_theta" in refused(
        {**given, "rope_parameters": {**blocks, "rope_theta": 1e6}}
    )
    assert "rope_parameters.odd_attention" in refused(
        {**given, "rope_parameters": {**blocks, "odd_attention": {}}}
    )
    bare = {**blocks, "full_attention": {"rope_type": "default"}}
    assert "rope_theta: it is missing" in refused({**given, "rope_parameters": bare})


# Single layers.


def gemma4(**changes: Any) -> dict[str, Any]:
    return {**small("gemma4_text"), **changes}


FULL = {"3": {"head_dim": 512}, "7": {"head_dim": 512, "num_key_value_heads": 2}}


def test_gemma_4_means_the_same_as_released_and_as_saved_again() -> None:
    released = derived(gemma4(global_head_dim=512))
    assert [group.parameters["head_dim"] for group in released.groups] == [256, 512]
    assert derived(gemma4(per_layer_config=FULL)) == released
    assert derived(gemma4(per_layer_config={f"{int(n):02}": each for n, each in FULL.items()})) == (
        released
    )
    assert derived(gemma4()) == released
    narrow = derived(gemma4(per_layer_config={}))
    assert [group.parameters["head_dim"] for group in narrow.groups] == [256, 256]


def test_a_layer_may_have_a_window_of_its_own() -> None:
    windows = {str(n): {"sliding_window": 64} for n in (0, 1, 2, 4, 5, 6)}
    found = derived(gemma4(global_head_dim=512, per_layer_config=windows))
    assert [group.window for group in found.groups] == [64, None]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"3": {"head_dim": 512}, "7": {"head_dim": 256}}, "layers 3 and 7 are both full"),
        ({"3": {"head_dim": 512}}, "layers 3 and 7 are both full"),
        ({"8": {"head_dim": 512}}, "per_layer_config.8"),
        ({"full": {"head_dim": 512}}, "per_layer_config.full"),
        ({"3": {"rope_theta": 1e4}}, "per_layer_config.3.rope_theta"),
        ({"3": {"skip": ["self_attn"]}}, "per_layer_config.3.skip"),
        ([{"head_dim": 512}], "per_layer_config"),
    ],
)
def test_layers_that_are_not_understood_are_refused(given: Any, said: str) -> None:
    assert said in refused(gemma4(per_layer_config=given))


def test_two_sizes_for_full_layers_are_refused() -> None:
    assert "global_head_dim is 256" in refused(gemma4(global_head_dim=256, per_layer_config=FULL))


# Who sees whom.


def test_queries_of_an_embedding_model_see_both_sides() -> None:
    causal = derived(small("gemma3_text"))
    both = derived({**small("gemma3_text"), "use_bidirectional_attention": True})
    assert [(group.attention, group.window) for group in causal.groups] == [
        ("sliding", 512),
        ("full", None),
    ]
    assert [(group.attention, group.window) for group in both.groups] == [
        ("two-sided", 256),
        ("full", None),
    ]
    assert written(both.groups[0].layers) == "0-4, 6-7"
    assert derived(gemma4(use_bidirectional_attention="vision")) == derived(gemma4())
    assert "'all'" in refused(gemma4(use_bidirectional_attention="all"))
