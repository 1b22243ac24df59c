"""Configurations: unknown fields are refused, and every saved form has the same meaning."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posenc_conformance.commands.main import main
from posenc_conformance.errors import UserError
from posenc_conformance.models.configuration import configuration, read_configuration
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.file import model_file, model_named
from posenc_conformance.models.layer_frequencies import frequencies
from posenc_conformance.models.meaning import Meaning, written
from posenc_conformance.models.misreadings import longer
from posenc_conformance.models.types.refused import NOT_SPECIFIED
from posenc_conformance.models.understood import ABOUT_POSITIONS, IGNORED, SWITCHES, read_by
from posenc_lab.models.configurations import TYPES, small

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
"""Undefined fields, each of which could change the meaning of a position."""


def derived(fields: Mapping[str, Any]) -> Meaning:
    return meaning(configuration(fields, "config.json"))


def refused(fields: Mapping[str, Any]) -> str:
    with pytest.raises(UserError) as caught:
        derived(fields)
    return f"{caught.value}"


every_type = pytest.mark.parametrize("type", TYPES)


# Undefined fields.


@every_type
def test_every_type_is_read(type: str) -> None:
    assert derived(small(type)).groups


@every_type
def test_an_unknown_field_about_positions_is_refused(type: str) -> None:
    for name in STRANGE:
        assert f"config.json: {name}: " in refused({**small(type), name: 1})


@every_type
def test_an_unknown_field_next_to_the_text_part_is_refused(type: str) -> None:
    whole = {"model_type": "several", "text_config": small(type)}
    assert derived(whole) == derived(small(type))
    assert "config.json: rope_phase: " in refused({**whole, "rope_phase": 1})


@every_type
def test_fields_that_change_nothing_are_accepted(type: str) -> None:
    nothing = dict.fromkeys(STRANGE) | dict.fromkeys(SWITCHES - {"alibi"}, False)
    ignored = dict.fromkeys(IGNORED, 1)
    assert derived({**small(type), **nothing, **ignored}) == derived(small(type))


def test_ignored_fields_are_about_positions_and_read_by_no_type() -> None:
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
def test_a_field_with_a_meaning_in_other_types_only_is_refused(
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
def test_fields_of_mpt_are_checked_in_their_block(changed: Mapping[str, Any], field: str) -> None:
    assert field in refused({**small("mpt"), "attn_config": changed})


def test_mpt_as_released_is_read() -> None:
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


# Blocks, and fields outside of them.

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
    message = refused({**small("llama"), **inside, "original_max_position_embeddings": 2048})
    assert "original_max_position_embeddings: it is 2048" in message


def test_an_original_context_that_nothing_stretches_is_refused() -> None:
    whole = {**small("llama"), "original_max_position_embeddings": 4096}
    assert derived(whole) == derived(small("llama"))
    assert "has no use for it" in refused({**whole, "original_max_position_embeddings": 1024})


def test_the_original_context_of_gpt_oss_has_two_names() -> None:
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
    fields = {**small("gpt_oss"), "sliding_window": 128, "rope_scaling": yarn}
    assert derived({**fields, "initial_context_length": 1024}) == derived(fields)
    assert "it is 512" in refused({**fields, "initial_context_length": 512})


def test_blocks_for_kinds_of_layers_hold_nothing_else() -> None:
    fields = small("gemma4_text")
    blocks = fields["rope_parameters"]
    assert "rope_parameters.rope_theta" in refused(
        {**fields, "rope_parameters": {**blocks, "rope_theta": 1e6}}
    )
    assert "rope_parameters.odd_attention" in refused(
        {**fields, "rope_parameters": {**blocks, "odd_attention": {}}}
    )
    bare = {**blocks, "full_attention": {"rope_type": "default"}}
    assert "rope_theta: it is missing" in refused({**fields, "rope_parameters": bare})


# Single layers.


def gemma4(**changes: Any) -> dict[str, Any]:
    return {**small("gemma4_text"), **changes}


FULL = {"3": {"head_dim": 512}, "7": {"head_dim": 512, "num_key_value_heads": 2}}


def test_gemma_4_means_the_same_as_released_and_as_saved_again() -> None:
    released = derived(gemma4(global_head_dim=512))
    assert [group.parameters["head_dim"] for group in released.groups] == [256, 512]
    assert derived(gemma4(per_layer_config=FULL)) == released
    assert derived(
        gemma4(per_layer_config={f"{int(n):02}": fields for n, fields in FULL.items()})
    ) == (released)
    assert derived(gemma4()) == released
    narrow = derived(gemma4(per_layer_config={}))
    assert [group.parameters["head_dim"] for group in narrow.groups] == [256, 256]


def test_a_layer_may_have_a_window_of_its_own() -> None:
    windows = {str(n): {"sliding_window": 64} for n in (0, 1, 2, 4, 5, 6)}
    result = derived(gemma4(global_head_dim=512, per_layer_config=windows))
    assert [group.window for group in result.groups] == [64, None]


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
def test_invalid_layers_are_refused(given: Any, said: str) -> None:
    assert said in refused(gemma4(per_layer_config=given))


def test_two_sizes_for_full_layers_are_refused() -> None:
    assert "global_head_dim is 256" in refused(gemma4(global_head_dim=256, per_layer_config=FULL))


# Directions of attention.


def test_queries_of_an_embedding_model_see_both_sides() -> None:
    gemma = {**small("gemma3_text"), "sliding_window": 512}
    causal = derived(gemma)
    both = derived({**gemma, "use_bidirectional_attention": True})
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


# Layers that follow from the type.


def test_layers_without_attention_and_attention_without_positions() -> None:
    groups = {group.id: written(group.layers) for group in derived(small("nemotron_h")).groups}
    assert groups == {"linear": "0-2, 4-5, 7", "without-positions": "3, 6"}
    listed = {**small("nemotron_h"), "hybrid_override_pattern": None}
    names = {"M": "mamba", "E": "moe", "*": "attention", "-": "mlp"}
    listed["layers_block_type"] = [names[letter] for letter in "MEM*-M*E"]
    assert derived(listed) == derived(small("nemotron_h"))
    assert "'X' is not known" in refused({**listed, "hybrid_override_pattern": "MEM*-M*X"})
    assert "names 7 layers" in refused({**listed, "hybrid_override_pattern": "MEM*-M*"})
    assert "hybrid_override_pattern" in refused({**listed, "layers_block_type": None})
    full = {group.id: written(group.layers) for group in derived(small("jamba")).groups}
    assert full == {"linear": "0-3, 5-7", "without-positions": "4"}


def test_kimi_counts_layers_from_one() -> None:
    kimi = small("kimi_linear")
    groups = {group.id: written(group.layers) for group in derived(kimi).groups}
    assert groups == {"linear": "0-2, 4-6", "without-positions": "3, 7"}
    assert "mla_use_nope" in refused({**kimi, "mla_use_nope": False})
    lists = {"full_attn_layers": [3, 7], "kda_layers": [0, 1, 2, 4, 5, 6]}
    assert "from 1 to 8" in refused({**kimi, "linear_attn_config": lists})


def test_granite_4_turns_nothing_unless_it_says_so() -> None:
    still = derived({**small("granitemoehybrid"), "position_embedding_type": "nope"})
    assert {group.scheme for group in still.groups} == {"nope"}
    old = {**small("granitemoehybrid"), "layer_types": ["mamba", "attention"] * 4}
    assert written(derived(old).groups[1].layers) == "1, 3, 5, 7"
    named = {**old, "layer_types": None, "layers_block_type": old["layer_types"]}
    assert derived(named) == derived(old)
    missing = small("granitemoehybrid")
    del missing["layer_types"]
    assert "layer_types: it is missing" in refused(missing)


def test_layers_that_look_at_an_image_have_no_positions() -> None:
    result = derived({**small("mllama_text_model"), "cross_attention_layers": [3, 5]})
    assert {group.id: written(group.layers) for group in result.groups} == {
        "full": "0-2, 4, 6-7",
        "cross": "3, 5",
    }


@pytest.mark.parametrize(
    ("type", "missing"),
    [("gpt_oss", "rope_scaling"), ("apertus", "rope_scaling"), ("lfm2_moe", "layer_types")],
)
def test_fields_without_a_default_are_required(type: str, missing: str) -> None:
    fields = small(type)
    del fields[missing]
    assert "it is missing" in refused(fields)


@pytest.mark.parametrize(
    ("type", "window"), [("mistral", 4096), ("gpt_oss", 128), ("afmoe", 1024), ("mixtral", None)]
)
def test_the_default_window_is_that_of_the_type(type: str, window: int | None) -> None:
    assert derived(small(type)).groups[0].window == window
    none = {**small(type), "sliding_window": None}
    if window in (None, 4096):
        assert derived(none).groups[0].window is None
    else:
        assert f"layers of {type} slide" in refused(none)
    whole = {**none, "layer_types": ["full_attention"] * 8}
    assert [group.window for group in derived(whole).groups] == [None]


def test_the_default_sections_are_those_of_the_type() -> None:
    (group,) = derived({**small("qwen3_vl_text"), "rope_scaling": None}).groups
    assert (group.combination, group.parameters["sections"]) == ("qwen3-vl", [24, 20, 20])
    chunked = {"rope_type": "default", "mrope_interleaved": False}
    assert "mrope_interleaved" in refused({**small("qwen3_vl_text"), "rope_scaling": chunked})
    most = {"rope_type": "default", "mrope_section": [8, 28, 28]}
    assert "every third pair" in refused({**small("qwen3_vl_text"), "rope_scaling": most})
    small_head = {**small("qwen2_vl"), "rope_scaling": None}
    assert "64 pairs, but 32 are rotated" in refused(small_head)


def test_the_factors_of_phi_moe_are_read_if_equal() -> None:
    block = {
        "type": "longrope",
        "short_factor": [1.0] * 32,
        "long_factor": [2.0] * 32,
        "short_mscale": 1.25,
        "long_mscale": 1.25,
        "original_max_position_embeddings": 1024,
    }
    (group,) = derived({**small("phimoe"), "rope_scaling": block}).groups
    assert group.parameters["attention_factor"] == 1.25
    assert "long_mscale" in refused(
        {**small("phimoe"), "rope_scaling": {**block, "long_mscale": 1.5}}
    )


def test_chatglm_multiplies_its_base() -> None:
    config = {
        "model_type": "chatglm",
        "hidden_size": 4096,
        "num_layers": 28,
        "num_attention_heads": 32,
        "kv_channels": 128,
        "seq_length": 131072,
        "original_rope": True,
        "rope_ratio": 500,
    }
    (group,) = derived(config).groups
    assert group.parameters == {"head_dim": 128, "base": 5000000, "rotary_dim": 64}
    assert group.conventions["layout"] == "interleaved"
    assert "original_rope" in refused({**config, "original_rope": False})
    assert "rope_ratio" in refused({**config, "rope_ratio": 0})
    assert "position_encoding_2d" in refused({**config, "position_encoding_2d": True})


@pytest.mark.parametrize(
    ("type", "given"),
    [("esm", None), ("esm", "absolute"), ("gte", "absolute"), ("jina_embeddings_v3", "absolute")],
)
def test_positions_of_another_style_are_refused(type: str, given: str | None) -> None:
    assert "position_embedding_type" in refused({**small(type), "position_embedding_type": given})


def test_layers_of_bamba_are_those_that_it_lists() -> None:
    groups = {group.id: group for group in derived(small("bamba")).groups}
    assert groups["full"].layers == (3, 7)
    assert groups["full"].parameters["rotary_dim"] == 32
    assert "layer_types" in refused({**small("bamba"), "attn_layer_indices": None})


@pytest.mark.parametrize("block", ["yarn", "linear", "dynamic"])
@pytest.mark.parametrize("type", ["qwen2_5_vl_text", "qwen3_vl_text", "qwen3_5_text"])
def test_three_axes_under_scaling_are_refused_with_the_reason(type: str, block: str) -> None:
    own = {name: value for name, value in small(type).items() if "rope" not in name}
    scaled = {"rope_type": block, "factor": 4.0, "rope_theta": 1e6}
    for sections in ({}, {"mrope_section": [16, 24, 24]}):
        message = refused({**own, "rope_parameters": {**scaled, **sections}})
        assert "three axes" in message
        assert f"under {block} alone" in message


@pytest.mark.parametrize("type", [*NOT_SPECIFIED])
def test_types_that_are_not_specified_are_refused_with_what_is_missing(type: str) -> None:
    assert type not in TYPES
    message = refused({**small("llama"), "model_type": type})
    assert NOT_SPECIFIED[type] in message


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("lama", "similar ones are llama"),
        ("qwen_3", "similar ones are qwen3"),
        ("minimax_m4", None),
        ("lfm9", None),
        ("exaone5", None),
        ("dbrx", None),
    ],
)
def test_another_version_is_no_typo(given: str, hint: str | None) -> None:
    message = refused({**small("llama"), "model_type": given})
    assert hint in message if hint else "similar" not in message


# Mistral's own form, and folders.

PARAMS: dict[str, Any] = {
    "dim": 3072,
    "n_layers": 26,
    "head_dim": 128,
    "hidden_dim": 9216,
    "n_heads": 32,
    "n_kv_heads": 8,
    "norm_eps": 1e-5,
    "vocab_size": 131072,
    "rope_theta": 1000000.0,
    "max_position_embeddings": 262144,
    "yarn": {
        "original_max_position_embeddings": 16384,
        "factor": 16,
        "apply_scale": False,
        "beta": 32,
        "alpha": 1,
    },
    "llama_4_scaling": {"original_max_position_embeddings": 16384, "beta": 0.1},
    "vision_encoder": {"rope_theta": 10000.0},
}
"""Fields of a params.json of the size of Ministral 3 3B."""


def of_file(path: Path, fields: Mapping[str, Any]) -> Meaning:
    path.write_text(json.dumps(fields), encoding="utf-8")
    return meaning(read_configuration(path))


def test_params_mean_what_the_configuration_does(tmp_path: Path) -> None:
    read = of_file(tmp_path / "params.json", PARAMS)
    released = model_named("ministral-3-3b").meaning
    assert read.layout == "interleaved"
    assert read.context == released.context
    (ours,), (theirs,) = read.groups, released.groups
    assert frequencies(ours) == pytest.approx(frequencies(theirs), rel=1e-12)
    assert longer(ours) == longer(theirs) == 1
    assert ours.temperature == theirs.temperature
    grown = {**PARAMS, "yarn": {**PARAMS["yarn"], "apply_scale": True}}
    (group,) = of_file(tmp_path / "params.json", grown).groups
    assert longer(group) == pytest.approx(1 + np.log(16) / 10)
    plain = {
        name: PARAMS[name] for name in ("dim", "n_layers", "n_heads", "n_kv_heads", "head_dim")
    }
    (group,) = of_file(tmp_path / "params.json", plain).groups
    assert (group.scheme, group.window) == ("rope", None)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"rope_phase": 1}, "rope_phase"),
        ({"qk_rope_head_dim": 64}, "qk_rope_head_dim"),
        ({"sliding_window": [4096, None]}, "sliding_window"),
        ({"yarn": {"factor": 16}}, "yarn"),
        ({"yarn": {**PARAMS["yarn"], "apply_scale": None}}, "yarn.apply_scale"),
        ({"yarn": None}, "llama_4_scaling"),
        ({"llama_4_scaling": {"beta": 0.1}}, "llama_4_scaling"),
        (
            {"llama_4_scaling": {"original_max_position_embeddings": 8192, "beta": 0.1}},
            "llama_4_scaling.original_max_position_embeddings",
        ),
    ],
)
def test_invalid_params_are_refused(changed: Mapping[str, Any], field: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        of_file(tmp_path / "params.json", {**PARAMS, **changed})
    assert f"params.json: {field}: " in caught.value.cause


def test_a_folder_is_read_by_the_file_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", str(tmp_path)]) == 2
    assert "no config.json" in capsys.readouterr().err
    (tmp_path / "params.json").write_text(json.dumps(PARAMS), encoding="utf-8")
    assert main(["model", str(tmp_path)]) == 0
    assert "ministral3" in capsys.readouterr().out
    with pytest.raises(UserError, match=r"engine is given a config\.json"):
        model_file(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(small("llama")), encoding="utf-8")
    assert main(["model", str(tmp_path)]) == 0
    assert "type llama" in capsys.readouterr().out
    assert model_file(str(tmp_path)) == tmp_path / "config.json"


@pytest.mark.parametrize(
    ("type", "field"),
    [
        ("minimax_m2", "attn_type_list"),
        ("mllama_text_model", "cross_attention_layers"),
        ("lfm2", "full_attn_idxs"),
        ("llama", "layer_types"),
        ("granitemoehybrid", "layers_block_type"),
        ("nemotron_h", "hybrid_override_pattern"),
        ("jamba", "attn_layer_period"),
        ("kimi_linear", "linear_attn_config"),
    ],
)
@pytest.mark.parametrize("value", [5, {"a": 1}, True])
def test_invalid_lists_are_refused(type: str, field: str, value: Any) -> None:
    if (type, value) != ("jamba", 5):
        fields = {**small(type), field: value}
        if field == "layers_block_type":
            del fields["layer_types"]
        assert f"config.json: {field}: " in refused(fields)


# Fields that transformers does not read in a type, or reads differently from related types.


@pytest.mark.parametrize("type", ["olmo", "llama", "afmoe", "cohere2", "llama4_text", "gpt_oss"])
def test_a_share_of_a_head_is_refused_for_types_that_rotate_it_whole(type: str) -> None:
    fields = small(type)
    assert derived({**fields, "partial_rotary_factor": 1.0}) == derived(fields)
    assert "rotates whole heads" in refused({**fields, "partial_rotary_factor": 0.5})
    assert ": rotary_pct: " in refused({**fields, "rotary_pct": 0.5})
    assert ": rotary_dim: " in refused({**fields, "rotary_dim": 32})
    if "rope_scaling" not in fields:
        block = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}
        assert "rotates whole heads" in refused({**fields, "rope_parameters": block})


@pytest.mark.parametrize("type", ["phi", "stablelm", "nemotron", "phi3", "phi4_multimodal"])
def test_a_share_of_a_head_is_read_for_types_that_have_one(type: str) -> None:
    (group,) = derived({**small(type), "partial_rotary_factor": 0.75}).groups
    assert group.parameters["rotary_dim"] == 48
    assert derived({**small(type), "partial_rotary_factor": 0.75, "rotary_dim": 48}).groups
    assert ": rotary_dim: " in refused({**small(type), "rotary_dim": 40})


def test_names_of_one_type_are_refused_in_others() -> None:
    assert derived({**small("gpt_neox"), "rotary_pct": 0.5, "rotary_emb_base": 5000}).groups
    for name, value in (("rotary_emb_base", 5000), ("kv_channels", 32)):
        assert f": {name}: " in refused({**small("qwen2"), name: value})


ONE_BLOCK = {"rope_type": "default", "rope_theta": 30000.0}
BLOCKS = {"full_attention": ONE_BLOCK, "sliding_attention": {**ONE_BLOCK, "rope_theta": 7000.0}}


@pytest.mark.parametrize("type", ["olmo", "llama", "gemma2", "qwen3", "gpt_oss"])
def test_blocks_for_kinds_of_layers_are_refused_for_types_with_one_block(type: str) -> None:
    fields = {name: value for name, value in small(type).items() if name != "rope_scaling"}
    assert derived({**fields, "rope_parameters": ONE_BLOCK}).groups
    assert ": rope_parameters: " in refused({**fields, "rope_parameters": BLOCKS})


@pytest.mark.parametrize("type", ["gemma3_text", "gemma3n_text", "olmo3", "modernbert", "mellum"])
def test_one_block_is_refused_for_types_with_blocks_for_kinds_of_layers(type: str) -> None:
    assert derived({**small(type), "rope_parameters": BLOCKS}).groups
    assert ": rope_parameters: " in refused({**small(type), "rope_parameters": ONE_BLOCK})


@pytest.mark.parametrize(
    ("type", "window", "turned"),
    [
        ("afmoe", 64, 0),
        ("cohere2", 64, 0),
        ("cohere2", None, 0),
        ("exaone4", 64, 0),
        ("exaone4", None, 8),
    ],
)
def test_models_of_full_layers_turn_only_in_exaone_4_without_a_window(
    type: str, window: int | None, turned: int
) -> None:
    whole = {**small(type), "layer_types": ["full_attention"] * 8, "sliding_window": window}
    result = derived(whole)
    assert sum(len(group.layers) for group in result.groups if group.turns) == turned


@pytest.mark.parametrize("type", ["gpt_oss", "apertus", "cwm", "ministral3"])
def test_no_scaling_is_refused_for_types_that_scale_by_default(type: str) -> None:
    for nothing in ({"rope_scaling": None}, {"rope_parameters": None}):
        fields = {name: value for name, value in small(type).items() if name != "rope_scaling"}
        assert ": rope_parameters: it is missing" in refused({**fields, **nothing})


# The type of the text part, if it is missing.


@pytest.mark.parametrize(
    ("whole", "text"),
    [
        ("llava", "llama"),
        ("gemma3", "gemma3_text"),
        ("qwen3_vl_moe", "qwen3_vl_moe_text"),
        ("internvl", "qwen2"),
        ("mistral3", "mistral"),
        ("kimi_k25", "deepseek_v3"),
    ],
)
def test_a_text_without_a_type_has_that_of_the_whole(whole: str, text: str) -> None:
    inner = {name: value for name, value in small(text).items() if name != "model_type"}
    assert derived({"model_type": whole, "text_config": inner}) == derived(small(text))


def test_a_text_within_another_part_has_the_type_of_the_whole() -> None:
    text = "qwen3_omni_moe_text"
    inner = {name: value for name, value in small(text).items() if name != "model_type"}
    whole = {"model_type": "qwen3_omni_moe", "thinker_config": {"text_config": inner}}
    assert derived(whole) == derived(small(text))


def test_a_text_whose_type_is_not_specified_or_not_known_is_refused() -> None:
    inner = {name: value for name, value in small("llama").items() if name != "model_type"}
    message = refused({"model_type": "minimax_m3_vl", "text_config": inner})
    assert "minimax_m3_vl_text" in message
    assert "it is missing" in refused({"model_type": "new_thing", "text_config": inner})


@pytest.mark.parametrize("type", ["gemma3_text", "gemma3n_text", "olmo3", "modernbert"])
def test_a_key_that_releases_of_transformers_read_differently_is_refused(type: str) -> None:
    fields = small(type)
    assert derived({**fields, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}).groups
    message = refused({**fields, "rope_scaling": {"type": "linear", "factor": 2.0}})
    assert ": rope_scaling.type: " in message


def test_a_null_head_dim_is_refused_if_it_is_ambiguous() -> None:
    assert ": head_dim: " in refused({**small("seed_oss"), "head_dim": None})
    assert derived({**small("mistral"), "head_dim": None}) == derived(small("mistral"))
    same = {**small("seed_oss"), "hidden_size": 512}
    assert derived({**same, "head_dim": None}) == derived(same)


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}


@pytest.mark.parametrize("type", ["modernbert", "gemma3_text", "olmo3"])
def test_fields_not_read_next_to_blocks_for_kinds_of_layers_are_refused(type: str) -> None:
    assert derived({**small(type), "rope_scaling": YARN}).groups
    name = "original_max_position_embeddings"
    outside = {other: value for other, value in YARN.items() if other != name}
    assert f": {name}: " in refused({**small(type), "rope_scaling": outside, name: 1024})
    assert "truncate" in refused({**small(type), "rope_scaling": {**YARN, "truncate": False}})


def test_a_temperature_is_refused_for_types_that_do_not_read_it() -> None:
    block = {**YARN, "llama_4_scaling_beta": 0.1}
    message = refused({**small("deepseek_v3"), "rope_scaling": block})
    assert "llama_4_scaling_beta" in message
    assert derived({**small("deepseek_v3"), "rope_scaling": {**block, "llama_4_scaling_beta": 0}})
    (group,) = derived({**small("ministral3"), "rope_scaling": block}).groups
    assert group.temperature is not None


def test_interleaved_sections_have_two_names() -> None:
    type = "qwen3_omni_moe_text"
    block = {"rope_type": "default", "mrope_section": [12, 10, 10]}
    for name in ("interleaved", "mrope_interleaved"):
        fields = {**small(type), "rope_scaling": {**block, name: True}}
        assert derived(fields) == derived(small(type))
        assert f": {name}: " in refused({**fields, "rope_scaling": {**block, name: False}})
        assert f": {name}: " in refused({**small("qwen3"), "rope_scaling": {name: True}})


def test_other_names_of_fields_are_read_or_refused() -> None:
    whole = {"model_type": "granite_speech", "window_size": 15, "text_config": small("granite")}
    assert derived(whole) == derived(small("granite"))
    assert ": window_size: " in refused({**whole, "model_type": "several"})
    hunyuan = {**small("hunyuan_v1_dense"), "use_rotary_pos_emb": True}
    assert derived(hunyuan) == derived(small("hunyuan_v1_dense"))
    assert ": use_rotary_pos_emb: " in refused({**hunyuan, "use_rotary_pos_emb": False})
    assert ": longchat_condense_ratio: " in refused(
        {**small("llama"), "longchat_condense_ratio": 8}
    )


def test_a_long_value_is_shown_in_part() -> None:
    message = refused({**small("phi3"), "sliding_window": [512] * 1000})
    assert len(message) < 300


LISTS = {"short_factor": [1.0] * 32, "long_factor": [2.0] * 32}


@pytest.mark.parametrize("type", ["minicpm", "phi3_v"])
def test_a_type_whose_code_knows_few_kinds_of_scaling(type: str) -> None:
    block, original = {"type": "longrope", **LISTS}, {"original_max_position_embeddings": 1024}
    fields = {**small(type), **original, "rope_scaling": block}
    (group,) = derived(fields).groups
    assert (group.scheme, group.parameters["factor"]) == ("longrope", 4)
    assert group == derived({**small("phi3"), **original, "rope_scaling": block}).groups[0]
    assert "ignores it" in refused({**fields, "rope_scaling": {**block, "factor": 8.0}})
    assert "not known of" in refused({**small(type), "rope_scaling": YARN})


def test_sparse_attention_is_refused() -> None:
    for name in ("sparse_config", "mixer_types"):
        assert f": {name}: " in refused({**small("minicpm"), name: {"topk": 64}})
    assert derived({**small("minicpm"), "sparse_config": None}) == derived(small("minicpm"))


def test_sliding_layers_without_a_window_are_refused_with_what_is_missing() -> None:
    listed = {"layer_types": ["sliding_attention"] * 8}
    assert "sliding_window is null" in refused(
        {**small("mistral"), **listed, "sliding_window": None}
    )
    message = refused({**small("qwen3"), **listed, "sliding_window": 64})
    assert "use_sliding_window is not true" in message
    on = {"sliding_window": 64, "use_sliding_window": True}
    assert derived({**small("qwen3"), **listed, **on}).groups[0].window == 64


def test_a_pattern_of_0_is_read_without_a_window() -> None:
    """transformers writes a pattern of 0 for EXAONE 4.0 1.2B."""
    none = {"sliding_window": None, "sliding_window_pattern": 0}
    listed = {"layer_types": ["full_attention"] * 8}
    (group,) = derived({**small("exaone4"), **none, **listed}).groups
    assert (group.turns, group.window) == (True, None)
    for type in ("exaone4", "gemma3_text"):
        assert ": sliding_window_pattern: " in refused(
            {**small(type), "sliding_window": 64, "sliding_window_pattern": 0}
        )


# Types that say something in fields of their own.


@pytest.mark.parametrize("type", ["phi3", "phi4_multimodal"])
def test_the_original_length_beside_the_block_is_the_one_read(type: str) -> None:
    block = {"type": "longrope", **LISTS, "original_max_position_embeddings": 1024}
    alone = {**small(type), "rope_scaling": block}
    assert "which is 4096 by default" in refused(alone)
    assert derived({**alone, "original_max_position_embeddings": 1024}).context.original == 1024
    usual = {**block, "original_max_position_embeddings": 4096}
    assert derived({**small(type), "rope_scaling": usual}).context.original == 4096


def test_a_null_block_leaves_its_layers_unrotated() -> None:
    rotated, still = derived(small("cohere_compass_text")).groups
    assert (rotated.attention, rotated.scheme, still.scheme) == ("sliding", "m-rope", "nope")
    released = dict(small("cohere_compass_text"))
    released["rope_parameters"] = {**released["rope_parameters"], "rope_type": "default"}
    assert derived(released) == derived(small("cohere_compass_text"))
    without = {**small("gemma4_text")}
    without["rope_parameters"] = {**without["rope_parameters"], "full_attention": None}
    assert "it has nothing for full_attention" in refused(without)


def test_mlps_that_are_listed_as_layers_are_none() -> None:
    fields = small("dory")
    doubled = [name for kind in fields["layer_types"] for name in (kind, "mlp")]
    listed = {**fields, "layer_types": doubled, "num_hidden_layers": len(doubled)}
    assert derived(listed).groups == derived(fields).groups
    assert "'mlp' is not known" in refused({**listed, "layer_types": doubled[::-1]})
    assert "'mlp' is not known" in refused({**listed, "model_type": "laguna"})


def test_each_layer_may_have_a_base() -> None:
    ids = {group.id: group.layers for group in derived(small("granite_swa")).groups}
    assert ids == {
        "full-10000": (0,),
        "sliding-5000": (1, 7),
        "without-positions": (2, 3, 6),
        "full-20000": (4,),
        "sliding-10000": (5,),
    }
    unlike = {**small("granite_swa"), "layer_rope_theta": [0, 0] + [10000] * 6}
    assert [group.id for group in derived(unlike).groups] == [
        "without-positions-full",
        "without-positions-sliding",
        "sliding",
        "full",
    ]
    for wrong, words in (([1.0] * 8, "above 1"), ([10000] * 7, "names 7 layers")):
        assert words in refused({**small("granite_swa"), "layer_rope_theta": wrong})


def test_bases_of_layers_may_be_switches() -> None:
    rotated, still = derived(small("muse_spark_text")).groups
    assert (rotated.parameters["base"], still.layers) == (500000, (3, 7))
    switches = {**small("muse_spark_text"), "layer_rope_theta": [0] + [500000] * 7}
    assert derived(switches).groups[0].layers == (0,)
    counted_from_the_end = derived({**small("muse_spark_text"), "num_hidden_layers": 7})
    assert counted_from_the_end.groups[1].layers == (2, 6)
    others = {**switches, "layer_rope_theta": [0] + [10000] * 7}
    assert "10000 is not read" in refused(others)


def test_a_base_outside_of_the_block_is_not_passed_over() -> None:
    fields = small("muse_spark_text")
    assert "nobody reads it" in refused({**fields, "rope_theta": 12345.0})
    for inner in ({"rope_theta": 12345.0}, {"rope_type": "default"}):
        given = {**fields, "rope_theta": 12345.0, "rope_parameters": inner}
        assert derived(given).groups[0].parameters["base"] == 12345


def test_a_type_may_have_names_of_its_own_for_kinds_of_layers() -> None:
    sliding, full = derived(small("zaya")).groups
    assert (sliding.parameters["base"], full.parameters["base"]) == (10000, 5000000)
    assert (sliding.window, full.window, full.parameters["rotary_dim"]) == (512, None, 64)
    usual = ["sliding_attention"] * 4 + ["full_attention"] * 4
    assert "is not known" in refused({**small("zaya"), "layer_types": usual})
    assert "is not known" in refused({**small("laguna"), "layer_types": ["hybrid_sliding"] * 8})


def test_heads_of_other_layers_have_a_size_of_their_own() -> None:
    fields = {**small("bailing_hybrid"), "head_dim": 128, "layer_group_size": 4}
    full = derived(fields).groups[1]
    assert (full.layers, full.parameters["head_dim"]) == ((3, 7), 32)
    assert "but qk_rope_head_dim is" in refused({**small("deepseek_v3"), "head_dim": 128})
    assert "full_attention_interval" in refused({**fields, "full_attention_interval": 4})
    lengths = {"max_position_embeddings": None, "model_max_length": 8192}
    assert derived({**fields, **lengths}).context.extended == 8192
    assert "two names" in refused({**fields, "model_max_length": 8192})


@pytest.mark.parametrize(("type", "size"), [("deepseek_v3", 64), ("minicpm3", 32)])
def test_the_rotated_part_of_a_latent_head_has_a_default(type: str, size: int) -> None:
    fields = {name: value for name, value in small(type).items() if name != "qk_rope_head_dim"}
    assert derived(fields).groups[0].parameters["head_dim"] == size


def test_height_and_width_may_alternate_before_time() -> None:
    (group,) = derived(small("ernie4_5_vl_moe_text")).groups
    assert (group.combination, group.parameters["sections"]) == ("ernie-4-5-vl", [10, 11, 11])
    odd = {"rope_scaling": {"rope_type": "default", "mrope_section": [10, 12, 10]}}
    assert "must be equal" in refused({**small("ernie4_5_vl_moe_text"), **odd})
    (group,) = derived(small("glm4v_text")).groups
    assert (group.combination, group.parameters["sections"]) == ("glm-4v", [8, 12, 12])


def test_a_release_may_be_longer_than_what_programs_allocate() -> None:
    fields = {**small("cohere"), "max_position_embeddings": 8192}
    assert derived(fields).context.extended == 8192
    assert derived({**fields, "model_max_length": 131072}).context.extended == 131072
    other = {**small("llama"), "max_position_embeddings": 8192, "model_max_length": 131072}
    assert derived(other).context.extended == 8192
