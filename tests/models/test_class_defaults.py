"""What the class of a type makes of a field that is missing, null, or not its own."""

from collections.abc import Mapping
from typing import Any

import pytest

from posenc_conformance.commands.defaults_taken import taken
from posenc_conformance.errors import UserError
from posenc_conformance.models.configuration import configuration
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.layer_kinds import kinds
from posenc_conformance.models.meaning import Meaning
from posenc_conformance.models.types.names import usual_name
from posenc_lab.models.configurations import COMMON, small

Fields = dict[str, Any]

FULL = {"rope_type": "default", "rope_theta": 1000000.0}
SLIDING = {"rope_type": "default", "rope_theta": 10000.0}
BY_KIND = {"full_attention": FULL, "sliding_attention": SLIDING}
LONG = {"type": "longrope", "short_factor": [1.0] * 32, "long_factor": [2.0] * 32}
FROM_1024 = {"original_max_position_embeddings": 1024}
PROPORTION = {"rope_type": "proportional", "rope_theta": 1000000.0}
YARN = {"rope_type": "yarn", "factor": 4.0}
LLAMA_3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
ALL_FULL = {"layer_types": ["full_attention"] * 8}
FLUX = {"_class_name": "FluxTransformer2DModel"}
FLUX_2 = {"_class_name": "Flux2Transformer2DModel"}


def of(type: str, **changed: Any) -> Fields:
    """Return a small configuration of a type with some fields."""
    return {**small(type), **changed}


def derived(fields: Mapping[str, Any]) -> Meaning:
    return meaning(configuration(fields, "config.json"))


def defaults(fields: Mapping[str, Any]) -> dict[str, Any]:
    config = configuration(fields, "config.json")
    return {default.field: default.value for default in taken(config, meaning(config))}


WRONG_AND_RIGHT: Mapping[str, tuple[Fields, str, Fields]] = {
    "LongRoPE's original length, inside": (
        of("phi3", rope_scaling={**LONG, "original_max_position_embeddings": 1024}),
        "rope_scaling.original_max_position_embeddings: it is 1024",
        of("phi3", rope_scaling=LONG, original_max_position_embeddings=1024),
    ),
    "LongRoPE's original length, null": (
        of("phi3", rope_scaling=LONG, original_max_position_embeddings=None),
        "original_max_position_embeddings: it is null",
        of("phi3", rope_scaling=LONG),
    ),
    "a local base, null": (
        of("modernbert", local_rope_theta=None),
        "local_rope_theta: it is null, which older releases of transformers read as",
        of("modernbert", local_rope_theta=160000.0),
    ),
    "a global base, null": (
        of("modernbert", global_rope_theta=None),
        "global_rope_theta: it is null",
        of("modernbert"),
    ),
    "a local base of Gemma 3, null": (
        of("gemma3_text", rope_local_base_freq=None),
        "rope_local_base_freq: it is null",
        of("gemma3_text", rope_local_base_freq=None, **ALL_FULL),
    ),
    "a base, null": (
        of("llama", rope_theta=None),
        "rope_theta: it is null, which transformers' class does not take for missing",
        of("llama", rope_theta=None, rope_parameters=FULL),
    ),
    "a base, null in its block": (
        of("llama", rope_parameters={"rope_type": "default", "rope_theta": None}),
        "rope_parameters.rope_theta: it is null",
        of("llama", rope_parameters={"rope_type": "default"}),
    ),
    "the original length in a block, null": (
        of("llama", rope_scaling={**YARN, "original_max_position_embeddings": None}),
        "rope_scaling.original_max_position_embeddings: it is null",
        of("llama", rope_scaling={**YARN, "beta_fast": None, "attention_factor": None}),
    ),
    "ends that are not rounded, null": (
        of("llama", rope_scaling={**YARN, "truncate": None}),
        "rope_scaling.truncate: it is null, which transformers' class takes for false",
        of("llama", rope_scaling={**YARN, "truncate": False}),
    ),
    "sections, null": (
        of("qwen3_vl_text", rope_scaling={"rope_type": "default", "mrope_section": None}),
        "rope_scaling.mrope_section: it is null",
        of("qwen3_vl_text", rope_scaling={"rope_type": "default"}),
    ),
    "a base that the code does not read": (
        of("gptj", rope_theta=500000.0),
        "rope_theta: it is 500000, but the code of gptj has 10000",
        of("gptj", rope_theta=10000.0),
    ),
    "scaling that the code does not read": (
        of("codegen", rope_scaling={"rope_type": "linear", "factor": 2.0}),
        "rope_type: it is 'linear', but the code of codegen has 'default'",
        of("codegen", rope_theta=None, rope_scaling=None),
    ),
    "a base under a name of its own, null": (
        of("gpt_neox", rotary_emb_base=None),
        "rotary_emb_base: it is null",
        of("gpt_neox", rope_theta=None, partial_rotary_factor=None),
    ),
    "a base of a model with biases, null": (
        of("falcon", rope_theta=None),
        "rope_theta: it is null",
        of("falcon", rope_theta=None, alibi=True),
    ),
    "a pattern, null": (
        of("cohere2", sliding_window_pattern=None),
        "sliding_window_pattern: it is null",
        of("cohere2", sliding_window_pattern=None, **ALL_FULL),
    ),
    "channels of a latent head, null": (
        of("deepseek_v3", qk_rope_head_dim=None),
        "qk_rope_head_dim: it is null",
        {"model_type": "deepseek_v3", **COMMON},
    ),
    "layers from which on windows begin, null": (
        of("qwen3", use_sliding_window=True, sliding_window=64, max_window_layers=None),
        "max_window_layers: it is null",
        of("qwen3", use_sliding_window=False, max_window_layers=None),
    ),
    "a window of layers that slide, null": (
        of("gemma3_text", sliding_window=None),
        "sliding_window: it is null, but all layers of gemma3_text slide except one of 6",
        of("gemma3_text", sliding_window=None, **ALL_FULL),
    ),
    "a window of Gemma 2, null": (
        of("gemma2", sliding_window=None),
        "sliding_window: it is null",
        of("mistral", sliding_window=None),
    ),
    "a block for layers that no layer is": (
        of("gemma3_text", rope_parameters={**BY_KIND, "chunked_attention": FULL}),
        "rope_parameters: it has a block for layers that are chunked",
        of("gemma3_text", rope_parameters=BY_KIND, **ALL_FULL),
    ),
    "a pattern that nobody reads": (
        of("gemma3_text", _sliding_window_pattern=4),
        ": _sliding_window_pattern: it is 4",
        of("gemma3_text", _sliding_window_pattern=4, **ALL_FULL),
    ),
    "a layout of a type that has one": (
        of("deepseek_v2", rope_interleave=False),
        "rope_interleave: it is False",
        of("deepseek_v3", rope_interleave=False),
    ),
    "a layout, null": (
        of("deepseek_v3", rope_interleave=None),
        "rope_interleave: it is null, which transformers' class takes for false",
        of("deepseek_v3", rope_interleave=True),
    ),
    "channels that turn, null": (
        of("gptj", rotary_dim=None),
        "rotary_dim: it is null",
        of("minimax_m2", rotary_dim=None),
    ),
    "a share of Phi-3, null": (
        of("phi3", partial_rotary_factor=None),
        "partial_rotary_factor: it is null",
        of("llama", partial_rotary_factor=None),
    ),
    "a share under a name of its own, null": (
        of("gpt_neox_japanese", rotary_pct=None),
        "rotary_pct: it is null",
        of("gpt_neox_japanese"),
    ),
    "a type of scaling, null": (
        of("llama", rope_parameters={"rope_type": None, "rope_theta": 10000.0}),
        "rope_parameters.rope_type: it is null",
        of("llama", rope_parameters={"rope_theta": 10000.0}),
    ),
    "channels of full layers, null": (
        of("gemma4_text", global_head_dim=None),
        "global_head_dim: it is null",
        of("gemma4_text"),
    ),
    "a share that is read, null": (
        of("glm", partial_rotary_factor=None),
        "partial_rotary_factor: it is null",
        of("chatglm", partial_rotary_factor=None),
    ),
    "a base that a class of diffusers does not read": (
        {**FLUX, "rope_theta": 5000.0},
        "rope_theta: it is 5000, and FluxTransformer2DModel does not read it",
        {**FLUX, "rope_theta": 10000.0},
    ),
    "another name for a base of diffusers": (
        {**FLUX_2, "theta": 5000},
        "theta: it is 5000",
        {**FLUX_2, "rope_theta": 5000},
    ),
    "a base of diffusers, null": (
        {**FLUX_2, "rope_theta": None},
        "rope_theta: it is null, which diffusers' class does not take for missing",
        FLUX_2,
    ),
    "a table beside the rotation": (
        {
            "_class_name": "CogVideoXTransformer3DModel",
            "use_rotary_positional_embeddings": True,
            "use_learned_positional_embeddings": True,
        },
        "use_learned_positional_embeddings: it is True",
        {
            "_class_name": "CogVideoXTransformer3DModel",
            "use_rotary_positional_embeddings": True,
            "use_learned_positional_embeddings": False,
        },
    ),
    **{
        f"a length of {type}, null": (
            of(type, max_position_embeddings=None),
            "max_position_embeddings: it is null, with which transformers' class fails",
            {name: v for name, v in of(type).items() if name != "max_position_embeddings"},
        )
        for type in ("internlm3", "hy_v3", "phi", "olmo3")
    },
    **{
        f"an old name of LongRoPE in {type}": (
            of(type, head_dim=64, rope_scaling={**LONG, "type": "su", **FROM_1024}),
            "rope_scaling.type: it is 'su', which transformers' class does not know in",
            of(type, head_dim=64, rope_scaling={**LONG, **FROM_1024}),
        )
        for type in ("llama", "muse_glimmer_text")
    },
    **{
        f"a proportion in {type}, which cuts heads off": (
            of(type, rope_parameters={**PROPORTION, "partial_rotary_factor": 0.5}),
            "rope_parameters.rope_type: it is 'proportional'",
            of("llama", rope_parameters={**PROPORTION, "partial_rotary_factor": 0.5}),
        )
        for type in ("phi", "stablelm", "persimmon")
    },
    "a temperature that is missing": (
        of("ministral3", rope_scaling=YARN),
        "rope_scaling.llama_4_scaling_beta: it is missing",
        of("ministral3", rope_scaling={**YARN, "llama_4_scaling_beta": 0}),
    ),
    "a proportion without temperature": (
        of("ministral3", rope_scaling=PROPORTION),
        "rope_scaling.llama_4_scaling_beta: it is missing",
        of("mistral", rope_scaling=PROPORTION),
    ),
    "heads of keys, null": (
        of("sarvam_moe", num_key_value_heads=None),
        "num_key_value_heads: it is null, with which",
        of("llama", num_key_value_heads=None),
    ),
    "a window that must be one, null": (
        of("cwm", sliding_window=None, **ALL_FULL),
        "sliding_window: it is null, with which",
        of("cwm", **ALL_FULL),
    ),
    **{
        f"no window of {type}, and no list of layers": (
            of(type, sliding_window=None),
            "sliding_window: it is null, but all layers",
            of(type, sliding_window=None, **ALL_FULL),
        )
        for type in ("exaone4", "kolibri1")
    },
}
"""A file that is refused, what is said of it, and a file beside it that is read."""


@pytest.mark.parametrize("name", WRONG_AND_RIGHT)
def test_a_null_or_a_stranger_is_no_missing_field(name: str) -> None:
    wrong, said, right = WRONG_AND_RIGHT[name]
    with pytest.raises(UserError) as caught:
        derived(wrong)
    assert said in f"{caught.value}"
    assert derived(right).groups


def renamed(type: str, name: str) -> Fields:
    """Return a small configuration of a type with another name for one of its fields."""
    fields = of(type)
    return {name: fields.pop(usual_name(name)), **fields}


@pytest.mark.parametrize(
    ("type", "name"),
    [
        *(("llama", name) for name in ("n_head", "n_heads", "num_heads", "n_embd", "n_embed")),
        *(("llama", name) for name in ("d_model", "dim", "n_layer", "n_layers", "num_layers")),
        *(("llama", name) for name in ("max_seq_len", "seq_length", "max_sequence_length")),
        ("qwen3", "n_layer"),
        ("mistral", "max_seq_len"),
        ("glm", "n_positions"),
        ("bert", "n_positions"),
        ("gpt2", "max_seq_len"),
        ("mpt", "n_head"),
    ],
)
def test_names_that_the_class_does_not_read_are_refused(type: str, name: str) -> None:
    with pytest.raises(UserError, match=f": {name}: it is .* does not read it in {type}") as caught:
        derived(renamed(type, name))
    assert usual_name(name) in caught.value.hint
    value = of(type)[usual_name(name)]
    assert derived(of(type, **{name: value})) == derived(of(type))
    with pytest.raises(UserError, match=f": {name}: .* where {usual_name(name)} is {value}"):
        derived(of(type, **{name: 2 * value}))


@pytest.mark.parametrize(
    ("type", "name"),
    [
        ("gptj", "n_head"),
        ("gpt2", "n_positions"),
        ("falcon", "n_embed"),
        ("distilbert", "dim"),
        ("exaone", "num_layers"),
        ("t5", "num_heads"),
        ("mpt", "max_seq_len"),
        ("bloom", "seq_length"),
    ],
)
def test_names_that_the_class_reads_are_those_of_fields(type: str, name: str) -> None:
    assert derived(renamed(type, name)) == derived(of(type))


UNLISTED: Mapping[str, tuple[str, ...]] = {
    "cohere_compass_text": ("f" * 8,),
    "dory": ("sssfsssf", "sssf"),
    "flint": ("ffsssfsf", "ffsf", "ffsssfsssfssf"),
    "laguna": ("f" * 8,),
    "lara_mini": ("lslfslsl", "lslfslslfslsl"),
    "lfm2": ("f" * 8, "ff"),
    "lfm3": ("llflslfl", "llf", "llflslflslfls"),
    "mellum": ("f" * 8,),
    "olmo_hybrid": ("lllflllf", "lllflllflllfl"),
    "zaya": ("f" * 8,),
}
"""First letters of the kinds of layers that classes take if nothing lists them, as they make them
for several numbers of layers."""


def unlisted(type: str, count: int) -> Fields:
    fields = of(type, num_hidden_layers=count)
    lists = ("layer_types", "full_attn_idxs")
    return {name: value for name, value in fields.items() if name not in lists}


@pytest.mark.parametrize("type", UNLISTED)
def test_layers_that_nothing_lists_are_those_of_the_class(type: str) -> None:
    for letters in UNLISTED[type]:
        fields = unlisted(type, len(letters))
        found = kinds(configuration(fields, "config.json"))
        assert "".join(kind[0] for kind in found) == letters
        assert "layer_types" in defaults(fields)
    assert "layer_types" not in defaults(of(type))


@pytest.mark.parametrize(("type", "count"), [("lfm2_moe", 8), ("bamba", 8), ("lfm3", 2)])
def test_layers_without_a_full_one_must_be_listed(type: str, count: int) -> None:
    fields = {**unlisted(type, count), "layers_block_type": None, "attn_layer_indices": None}
    with pytest.raises(UserError, match=r"layer_types: it is missing"):
        derived(fields)
    assert derived(of(type)).groups


def test_longrope_of_phi_3_begins_at_its_class_s_length() -> None:
    fields = of("phi3", rope_scaling=LONG, max_position_embeddings=131072)
    (group,) = derived(fields).groups
    assert (group.parameters["original_max_position_embeddings"], group.parameters["factor"]) == (
        4096,
        32,
    )
    assert defaults(fields)["original_max_position_embeddings"] == 4096
    stated = {**fields, "original_max_position_embeddings": 4096}
    assert derived(stated) == derived(fields)
    assert "original_max_position_embeddings" not in defaults(stated)


def test_layers_that_attend_to_images_are_those_of_the_class_if_null() -> None:
    usual, empty = of("mllama_text_model"), of("mllama_text_model", cross_attention_layers=[])
    assert derived({**usual, "cross_attention_layers": None}) == derived(usual) != derived(empty)


def test_half_pairs_of_deepseek_are_read() -> None:
    halves, usual = (derived(of("deepseek_v3", rope_interleave=flag)) for flag in (False, True))
    assert (halves.layout, usual.layout) == ("half", "interleaved")
    assert {group.combination for group in halves.groups} == {"half"}
    assert usual == derived(of("deepseek_v3"))


def test_channels_of_a_latent_head_are_those_of_the_class() -> None:
    fields = {"model_type": "deepseek_v3", **COMMON, "hidden_size": 512}
    assert derived(fields).groups[0].parameters["head_dim"] == 64
    assert defaults(fields)["qk_rope_head_dim"] == 64


def test_windows_begin_at_the_layer_of_the_class() -> None:
    switched = {"use_sliding_window": True, "sliding_window": 64, "num_hidden_layers": 81}
    first = {
        type: derived(of(type, **switched)).groups[1].layers[0]
        for type in ("qwen2", "qwen2_vl_text")
    }
    assert first == {"qwen2": 28, "qwen2_vl_text": 80}


NAMED: dict[str, tuple[Fields, set[str]]] = {
    "a pattern": (of("gemma3_text"), {"sliding_window_pattern", "sliding_window"}),
    "a pattern that no field has": (of("gemma2"), {"layer_types"}),
    "a pattern of another name": (of("afmoe"), {"global_attn_every_n_layers"}),
    "Llama 3's original length": (
        of("llama", rope_scaling=LLAMA_3),
        {"original_max_position_embeddings"},
    ),
    "YaRN's": (
        of("llama", rope_scaling=YARN),
        {"original_max_position_embeddings", "beta_fast", "beta_slow", "truncate"},
    ),
    "Llama 4's": (
        of("llama4_text"),
        {"attention_chunk_size", "attn_scale", "floor_scale", "no_rope_layer_interval"},
    ),
    "ModernBERT's": (of("modernbert"), {"local_attention", "global_attn_every_n_layers"}),
    "a type by its class": (
        {**COMMON, "architectures": ["LlamaForCausalLM"]},
        {"model_type"},
    ),
    "a type of a part": ({"model_type": "llava", "text_config": COMMON}, {"model_type"}),
    "sections": (of("qwen3_vl_text", rope_scaling=None), {"mrope_section"}),
    "a name of its own": (of("gpt_neox"), {"rotary_emb_base", "rotary_pct"}),
}
WITHOUT_LENGTH = {name: v for name, v in of("llama").items() if name != "max_position_embeddings"}
NAMED |= {
    f"the length under {block['rope_type']}": (
        {**WITHOUT_LENGTH, "rope_scaling": block},
        {"max_position_embeddings"},
    )
    for block in (YARN, LLAMA_3, {"rope_type": "dynamic", "factor": 2.0})
}
NEEDLESS: Mapping[str, tuple[Fields, set[str]]] = {
    "a window that is off": (of("qwen3"), {"sliding_window", "max_window_layers"}),
    "a base beside biases": (of("falcon", alibi=True), {"rope_theta"}),
    "a base where nothing turns": (
        of("granitemoehybrid", position_embedding_type="nope"),
        {"rope_theta"},
    ),
    "a window of full layers": (
        of("gemma3_text", **ALL_FULL),
        {"sliding_window", "sliding_window_pattern", "rope_local_base_freq"},
    ),
    "what a block says": (
        of(
            "llama",
            rope_scaling={
                **YARN,
                "original_max_position_embeddings": 1024,
                "beta_fast": 32,
                "beta_slow": 1,
                "truncate": True,
            },
        ),
        {"original_max_position_embeddings", "beta_fast", "beta_slow", "truncate"},
    ),
    "a length that nothing is computed from": (
        {**WITHOUT_LENGTH, "rope_scaling": {**YARN, "original_max_position_embeddings": 1024}},
        {"max_position_embeddings"},
    ),
    "a type that is said": (of("llama"), {"model_type"}),
}


@pytest.mark.parametrize("name", NAMED)
def test_every_default_that_matters_is_named(name: str) -> None:
    fields, expected = NAMED[name]
    assert defaults(fields).keys() >= expected


def test_scaling_begins_at_the_length_of_the_class() -> None:
    for type, length in (("llama", 2048), ("qwen3", 32768)):
        fields = of(type, rope_scaling=YARN)
        del fields["max_position_embeddings"]
        assert derived(fields) == derived({**fields, "max_position_embeddings": length})


@pytest.mark.parametrize("name", NEEDLESS)
def test_a_default_that_changes_nothing_is_not_named(name: str) -> None:
    fields, needless = NEEDLESS[name]
    assert not defaults(fields).keys() & needless
