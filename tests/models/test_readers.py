"""Files of several formats: who has their defaults, what tells them apart, which parts are read."""

import json
import os
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posenc_conformance.commands.defaults_taken import taken as named_defaults
from posenc_conformance.commands.main import main
from posenc_conformance.errors import UserError
from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.configuration import Configuration, read_configuration
from posenc_conformance.models.defaults import (
    BETAS,
    ELSEWHERE,
    LLAMA_CPP,
    OLLAMA,
    OWN_CODE,
    TRANSFORMERS,
)
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.diffusers import AXIAL, REFUSED
from posenc_conformance.models.layer_frequencies import frequencies
from posenc_conformance.models.meaning import Meaning
from posenc_conformance.models.metadata import ARCHITECTURES

Fields = dict[str, Any]

LLAMA: Fields = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
}
MIXTRAL: Fields = {
    "dim": 4096,
    "n_layers": 32,
    "head_dim": 128,
    "hidden_dim": 14336,
    "n_heads": 32,
    "n_kv_heads": 8,
    "norm_eps": 1e-5,
    "vocab_size": 32000,
    "moe": {"num_experts_per_tok": 2, "num_experts": 8},
}
"""A params.json of Mistral without a base, as that of Mixtral 8x7B."""
LLAMA_2: Fields = {
    "dim": 4096,
    "multiple_of": 256,
    "n_heads": 32,
    "n_layers": 32,
    "norm_eps": 1e-5,
    "vocab_size": -1,
}
"""A params.json of Meta, as that of Llama 2 7B."""
FALCON: Fields = {
    "dim": 1024,
    "n_layers": 28,
    "n_heads": 16,
    "n_kv_heads": 8,
    "head_dim": 128,
    "norm_eps": 1e-5,
    "vocab_size": 65536,
    "max_seq_len": 8192,
    "rope_theta": 10000,
    "spatial_patch_size": 16,
}
"""A file with all the fields of Mistral's, and one more, as that of Falcon-Perception."""
Z_IMAGE: Fields = {
    "_class_name": "ZImageTransformer2DModel",
    "axes_dims": [32, 48, 48],
    "dim": 3840,
    "n_heads": 30,
    "n_kv_heads": 30,
    "n_layers": 30,
    "n_refiner_layers": 2,
    "norm_eps": 1e-5,
    "rope_theta": 256.0,
}


T5: Fields = {"model_type": "t5", "d_model": 64, "num_heads": 4, "num_layers": 2}
COGVIDEOX: Fields = {
    "_class_name": "CogVideoXTransformer3DModel",
    "use_rotary_positional_embeddings": True,
}


def config_of(folder: Path, fields: Mapping[str, Any], name: str = "config.json") -> Configuration:
    path = folder / name
    path.write_text(json.dumps(fields), encoding="utf-8")
    return read_configuration(path)


def refused(folder: Path, fields: Mapping[str, Any], name: str = "config.json") -> str:
    with pytest.raises(UserError) as caught:
        meaning(config_of(folder, fields, name))
    return f"{caught.value}"


def base_of(config: Configuration) -> float:
    (group,) = meaning(config).groups
    return float(group.parameters["base"])


def taken(config: Configuration) -> dict[str, tuple[Any, str, dict[str, Any]]]:
    """Return the defaults of a file by field: value, owner, and readers that differ."""
    defaults = named_defaults(config, meaning(config))
    return {item.field: (item.value, item.owner, dict(item.others)) for item in defaults}


# Forms of params.json.


def test_a_base_that_mistral_inference_takes_is_named(tmp_path: Path) -> None:
    config = config_of(tmp_path, MIXTRAL, "params.json")
    assert base_of(config) == 1000000
    assert taken(config) == {"rope_theta": (1000000, "mistral-inference", {TRANSFORMERS: 10000})}
    stated = config_of(tmp_path, {**MIXTRAL, "rope_theta": 5e5}, "params.json")
    assert (base_of(stated), stated.taken) == (500000, ())


def test_metas_form_is_read_with_the_base_of_its_code(tmp_path: Path) -> None:
    config = config_of(tmp_path, LLAMA_2, "params.json")
    assert (base_of(config), config.layout) == (10000, "interleaved")
    ((_, owner, others),) = taken(config).values()
    assert "Llama 1 and 2" in owner
    assert [*others.values()] == [500000]
    new = {**LLAMA_2, "n_kv_heads": 8, "ffn_dim_multiplier": 1.3, "rope_theta": 500000.0}
    assert base_of(config_of(tmp_path, new, "params.json")) == 500000
    assert "use_scaled_rope" in refused(tmp_path, {**new, "use_scaled_rope": True}, "params.json")


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        (FALCON, "spatial_patch_size"),
        ({"dim": 64, "n_layers": 2, "n_heads": 4}, "model_type"),
        ({**FALCON, "use_hf_rope": True}, "ExecuTorch"),
        ({**LLAMA_2, "fusion_interval": 4}, "fusion_interval"),
        ({**MIXTRAL, "model_type": "mamba"}, "mamba"),
    ],
)
def test_a_file_with_some_fields_of_a_format_is_not_of_it(
    fields: Fields, named: str, tmp_path: Path
) -> None:
    for name in ("params.json", "config.json", "model_args.json"):
        assert named in refused(tmp_path, fields, name)


# Classes of transformers.


def test_a_default_of_a_class_is_named(tmp_path: Path) -> None:
    assert taken(config_of(tmp_path, LLAMA)) == {"rope_theta": (10000, TRANSFORMERS, {})}
    for block in ({"rope_theta": 5e5}, {"rope_parameters": {"rope_theta": 5e5}}):
        assert not config_of(tmp_path, {**LLAMA, **block}).taken
    own = {**LLAMA, "model_type": "chatglm", "rope_ratio": 50}
    assert taken(config_of(tmp_path, own))["rope_theta"] == (500000, OWN_CODE, {})
    gemma = taken(config_of(tmp_path, {**LLAMA, "model_type": "gemma3_text"}))
    bases = {"rope_theta", "rope_local_base_freq"}
    assert gemma.keys() == {*bases, "head_dim", "sliding_window", "sliding_window_pattern"}


def test_types_of_their_own_code_are_known() -> None:
    assert set(ROTARY) > ELSEWHERE


@pytest.mark.parametrize(
    "changed",
    [
        {"n_embd": None, "max_sequence_length": None, "seq_length": None},
        {"partial_rotary_factor": None, "rotary_pct": None},
        {"max_window_layers": 48, "use_sliding_window": False, "sliding_window": None},
        {"max_window_layers": 48, "use_sliding_window": False},
        {"max_window_layers": 48, "sliding_window": None},
        {"sliding_window": 512, "use_sliding_window": False},
        {"apply_query_key_layer_scaling": True},
        {"positional_encoding_temperature": 20, "video_seq_length": 288},
        {"global_contrastive_weight": 1.0, "temperature_init_value": 0.07},
        {"audio_chunk_size": 100, "audio_seq_length": 750, "acoustic_tokenizer_chunk_size": 1},
    ],
)
def test_what_changes_nothing_is_no_reason_to_refuse(changed: Fields, tmp_path: Path) -> None:
    plain = meaning(config_of(tmp_path, LLAMA))
    assert meaning(config_of(tmp_path, {**LLAMA, **changed})) == plain


@pytest.mark.parametrize(
    "changed",
    [
        {"max_window_layers": 48},
        {"max_window_layers": 48, "sliding_window": None, "use_sliding_window": True},
        {"sliding_window": 512},
        {"n_embd": 2048, "hidden_size": 4096},
        {"window_size": 15},
    ],
)
def test_a_window_that_is_not_switched_off_is_refused(changed: Fields, tmp_path: Path) -> None:
    assert next(iter(changed)) in refused(tmp_path, {**LLAMA, **changed})


def test_phi_3_saved_again_is_read(tmp_path: Path) -> None:
    phi = {**LLAMA, "model_type": "phi3", "max_position_embeddings": 16384}
    saved = {
        **phi,
        "original_max_position_embeddings": 4096,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4},
    }
    assert meaning(config_of(tmp_path, saved)) == meaning(config_of(tmp_path, phi))
    lost = {**phi, "original_max_position_embeddings": 4096}
    assert "original_max_position_embeddings" in refused(tmp_path, lost)
    other = {**saved, "original_max_position_embeddings": 8192}
    assert "original_max_position_embeddings" in refused(tmp_path, other)


@pytest.mark.parametrize("type", ["gpt_neo", "molmo", "minicpmv", "qwen3_asr_text", "zamba"])
def test_another_model_is_no_misspelling(type: str, tmp_path: Path) -> None:
    assert "similar" not in refused(tmp_path, {**LLAMA, "model_type": type})


@pytest.mark.parametrize(("type", "meant"), [("Llama", "llama"), ("gpt-neox", "gpt_neox")])
def test_a_misspelling_is_named(type: str, meant: str, tmp_path: Path) -> None:
    assert f"similar ones are {meant}" in refused(tmp_path, {**LLAMA, "model_type": type})


# Parts.


def test_a_flat_file_is_read_as_its_text(tmp_path: Path) -> None:
    flat = {**LLAMA, "model_type": "llava", "mm_vision_tower": "openai/clip-vit-large-patch14"}
    config = config_of(tmp_path, flat)
    assert meaning(config) == meaning(config_of(tmp_path, LLAMA))
    assert [(part.name, part.read) for part in config.parts] == [("mm_vision_tower", False)]
    assert "four axes" in refused(tmp_path, {**LLAMA, "model_type": "hunyuan_vl"})
    assert "text_config" in refused(tmp_path, {"model_type": "llava", "hidden_size": 4096})


def test_parts_are_named_as_read_or_not(tmp_path: Path, capsys: Any) -> None:
    text = {**LLAMA, "model_type": "qwen2_5_omni_text", "rope_scaling": {"type": "mrope"}}
    thinker = {
        "text_config": text,
        "audio_config": {"model_type": "qwen2_5_omni_audio_encoder"},
        "vision_config": {},
    }
    whole = {
        "model_type": "qwen2_5_omni",
        "thinker_config": thinker,
        "talker_config": {"model_type": "qwen2_5_omni_talker"},
        "quantization_config": {"bits": 4},
    }
    config = config_of(tmp_path, whole)
    assert {part.name: part.read for part in config.parts} == {
        "thinker_config.text_config": True,
        "thinker_config.audio_config": False,
        "thinker_config.vision_config": False,
        "talker_config": False,
    }
    assert main(["model", str(tmp_path / "config.json")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "read is its part thinker_config.text_config (qwen2_5_omni_text)" in said
    assert "talker_config (qwen2_5_omni_talker)" in said
    assert "quantization" not in said


def test_sizes_that_a_part_leaves_out_are_those_of_its_class(tmp_path: Path) -> None:
    part = {"model_type": "llama", "max_position_embeddings": 4096}
    config = config_of(tmp_path, {"model_type": "llava", "text_config": part})
    sizes = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32}
    assert {field: value for field, (value, *_) in taken(config).items()} == {
        **sizes,
        "rope_theta": 10000,
    }
    assert len(meaning(config).groups[0].layers) == 32
    assert "missing" in refused(tmp_path, part)


def test_a_model_without_text_is_refused(tmp_path: Path) -> None:
    whole = {
        "architectures": ["StableDiffusionSafetyChecker"],
        "model_type": "clip",
        "text_config": {**LLAMA, "model_type": "clip_text_model"},
    }
    assert "StableDiffusionSafetyChecker" in refused(tmp_path, whole)
    whole["architectures"] = ["CLIPModel"]
    assert "max_position_embeddings" in refused(tmp_path, whole)


def test_an_encoder_alone_has_no_decoder(tmp_path: Path) -> None:
    ids = {
        name: [group.id for group in meaning(config_of(tmp_path, fields)).groups]
        for name, fields in {
            "whole": {**T5, "architectures": ["T5ForConditionalGeneration"]},
            "encoder": {**T5, "architectures": ["T5EncoderModel"]},
        }.items()
    }
    assert ids == {"whole": ["encoder", "decoder"], "encoder": ["encoder"]}


def test_a_class_stands_in_for_a_missing_type(tmp_path: Path) -> None:
    fields = {name: LLAMA[name] for name in LLAMA if name != "model_type"}
    named = {**fields, "architectures": ["LlamaForCausalLM"]}
    assert config_of(tmp_path, named).type == "llama"
    for strange in (["CustomForCausalLM"], ["LlamaModel"], ["LlamaForCausalLM"] * 2, "llama"):
        assert "model_type" in refused(tmp_path, {**fields, "architectures": strange})


def test_a_probe_has_the_type_of_the_text(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "probe"
    flat = {**LLAMA, "model_type": "llava", "max_position_embeddings": 4096, "vocab_size": 32000}
    nameless = {name: flat[name] for name in flat if name != "model_type"}
    for fields in (flat, {**nameless, "architectures": ["LlamaForCausalLM"]}):
        config_of(tmp_path, fields)
        assert main(["probe", str(tmp_path / "config.json"), "--out", str(out), "--force"]) == 0
        written = json.loads((out / "config.json").read_text(encoding="utf-8"))
        assert written["model_type"] == "llama"
    config_of(tmp_path, {**T5, "architectures": ["T5EncoderModel"], "vocab_size": 100, "d_kv": 16})
    assert main(["probe", str(tmp_path / "config.json"), "--out", str(out), "--force"]) == 2
    assert "in both directions" in capsys.readouterr().err


# diffusers.


@pytest.mark.parametrize(
    ("fields", "base", "widths"),
    [
        ({"_class_name": "FluxTransformer2DModel"}, 10000, [16, 56, 56]),
        ({"_class_name": "WanTransformer3DModel"}, 10000, [44, 42, 42]),
        ({"_class_name": "HunyuanVideoTransformer3DModel"}, 256, [16, 56, 56]),
        ({"_class_name": "Flux2Transformer2DModel"}, 2000, [32, 32, 32, 32]),
        (
            {
                "_class_name": "CogVideoXTransformer3DModel",
                "use_rotary_positional_embeddings": True,
            },
            10000,
            [16, 24, 24],
        ),
        (Z_IMAGE, 256, [32, 48, 48]),
    ],
)
def test_axes_of_diffusers(fields: Fields, base: float, widths: list[int], tmp_path: Path) -> None:
    config = config_of(tmp_path, fields)
    for group in meaning(config).groups:
        assert (group.parameters["base"], group.parameters["widths"]) == (base, widths)
        expected = np.concatenate([base ** (-np.arange(0, width, 2) / width) for width in widths])
        assert frequencies(group) == pytest.approx(expected, rel=1e-12)
    stated = {item.field for item in config.taken}
    assert not stated & fields.keys()


@pytest.mark.parametrize("name", AXIAL)
def test_every_class_of_diffusers_is_described(name: str, tmp_path: Path, capsys: Any) -> None:
    switch = {AXIAL[name].switch: True} if AXIAL[name].switch else {}
    config_of(tmp_path, {"_class_name": name, **switch})
    assert main(["model", str(tmp_path / "config.json")]) == 0
    said = capsys.readouterr().out
    assert "config.json of diffusers" in said
    assert "on axis 2" in said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"_class_name": "FluxTransformer2DModel", "axes_dims_rope": [16, 56, 58]}, "has 128"),
        ({"_class_name": "FluxTransformer2DModel", "axes_dims_rope": [17, 55, 56]}, "pairs"),
        ({"_class_name": "FluxTransformer2DModel", "axes_dims_rope": "x"}, "axes_dims_rope"),
        ({"_class_name": "FluxTransformer2DModel", "num_layers": 0}, "num_layers"),
        ({"_class_name": "QwenImageTransformer2DModel", "use_layer3d_rope": True}, "use_layer3d"),
        ({"_class_name": "CogVideoXTransformer3DModel"}, "use_rotary_positional_embeddings"),
        ({"_class_name": "UNet2DConditionModel", "model_type": "llama"}, "convolves"),
        ({**Z_IMAGE, "n_heads": 24}, "has 160"),
        ({"_class_name": "NewTransformer3DModel"}, "NewTransformer3DModel"),
        ({"_class_name": ["x"]}, "_class_name"),
    ],
)
def test_what_is_not_read_of_diffusers_is_named(fields: Fields, said: str, tmp_path: Path) -> None:
    assert said in refused(tmp_path, fields)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_classes_have_a_reason(name: str, tmp_path: Path) -> None:
    assert REFUSED[name] in refused(tmp_path, {"_class_name": name})


# GGUF.

KEYS: Fields = {
    "block_count": 32,
    "context_length": 32768,
    "embedding_length": 4096,
    "attention.head_count": 32,
    "attention.head_count_kv": 8,
    "attention.layer_norm_rms_epsilon": 1e-6,
}
GEMMA_3: Fields = {
    **{key: value for key, value in KEYS.items() if "epsilon" not in key},
    "block_count": 34,
    "context_length": 131072,
    "embedding_length": 2560,
    "attention.head_count": 8,
    "attention.key_length": 256,
    "attention.sliding_window": 1024,
}
"""Keys of Gemma 3 4B as Ollama has published it."""
KINDS = {bool: (7, "<?"), int: (4, "<I"), float: (6, "<f")}


def text_in(value: str) -> bytes:
    content = value.encode()
    return struct.pack("<Q", len(content)) + content


def gguf(architecture: str, keys: Mapping[str, Any], tensors: tuple[str, ...] = ()) -> bytes:
    """Make the header of a GGUF file, with tensors of one number each."""
    entries = {"general.architecture": architecture}
    entries |= {f"{architecture}.{key}": value for key, value in keys.items()}
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(entries))]
    for key, value in entries.items():
        parts.append(text_in(key))
        if isinstance(value, str):
            parts += [struct.pack("<I", 8), text_in(value)]
        else:
            number, form = KINDS[type(value)]
            parts += [struct.pack("<I", number), struct.pack(form, value)]
    for name in tensors:
        parts += [text_in(name), struct.pack("<IQIQ", 1, 1, 0, 0)]
    return b"".join(parts)


def gguf_of(
    folder: Path, architecture: str, keys: Mapping[str, Any], tensors: tuple[str, ...] = ()
) -> Configuration:
    path = folder / "model.gguf"
    path.write_bytes(gguf(architecture, keys, tensors))
    return read_configuration(path)


@pytest.mark.parametrize("architecture", ["llama", "command-r", "qwen3", "exaone4", "smollm3"])
def test_a_base_that_a_file_lacks_is_that_of_llama_cpp(architecture: str, tmp_path: Path) -> None:
    config = gguf_of(tmp_path, architecture, KEYS)
    value, owner, others = taken(config)["rope.freq_base"]
    usual = ROTARY[ARCHITECTURES[architecture].type].base
    assert (value, owner) == (10000, LLAMA_CPP)
    assert others == ({} if usual == 10000 else {TRANSFORMERS: usual})
    assert {group.parameters["base"] for group in meaning(config).groups if group.turns} == {10000}


@pytest.mark.parametrize("key", ["rope.scaling.factor", "rope.scale_linear"])
def test_a_factor_without_a_type_is_linear(key: str, tmp_path: Path) -> None:
    config = gguf_of(tmp_path, "llama", {**KEYS, "rope.freq_base": 10000.0, key: 8.0})
    (group,) = meaning(config).groups
    assert (group.scheme, group.parameters["factor"]) == ("position-interpolation", 8)
    assert taken(config) == {"rope.scaling.type": ("linear", LLAMA_CPP, {})}
    none = {**KEYS, "rope.scaling.factor": 8.0, "rope.scaling.type": "none"}
    assert meaning(gguf_of(tmp_path, "llama", none)).groups[0].scheme == "rope"


def gemma_3(config: Configuration) -> dict[str, tuple[str, float, float]]:
    return {
        group.id: (
            group.scheme,
            float(group.parameters["base"]),
            float(group.parameters.get("factor", 1)),
        )
        for group in meaning(config).groups
    }


SCALED = {
    "full": ("position-interpolation", 1000000.0, 8.0),
    "sliding": ("rope", 10000.0, 1.0),
}


def test_gemma_3_of_ollama_is_completed_as_ollama_does(tmp_path: Path) -> None:
    config = gguf_of(tmp_path, "gemma3", GEMMA_3)
    assert gemma_3(config) == SCALED
    owners = {field: owner for field, (_, owner, _) in taken(config).items()}
    assert owners["rope.scaling.factor"] == owners["rope.freq_base"] == OLLAMA
    assert taken(config)["rope.freq_base"][2] == {LLAMA_CPP: 10000}
    renamed = {"rope.global.freq_base": 1e6, "rope.local.freq_base": 1e4, "context_length": 32768}
    (first, second) = gemma_3(gguf_of(tmp_path, "gemma3", {**GEMMA_3, **renamed})).values()
    assert {first, second} == {("rope", 1e4, 1.0), ("rope", 1e6, 1.0)}


def test_gemma_3_of_llama_cpp_is_not_completed_as_ollama_does(tmp_path: Path) -> None:
    converted = {**GEMMA_3, "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e6}
    assert gemma_3(gguf_of(tmp_path, "gemma3", converted))["full"][0] == "rope"
    with_tower = gguf_of(tmp_path, "gemma3", converted, ("v.patch_embd.weight",))
    assert gemma_3(with_tower) == SCALED


def test_other_files_of_ollama_are_read_under_the_names_of_llama_cpp(tmp_path: Path) -> None:
    yarn = {
        "rope.freq_base": 150000.0,
        "rope.scaling.factor": 32.0,
        "rope.scaling.original_context_length": 4096,
        "attention.sliding_window": 128,
        "attention.key_length": 64,
    }
    config = gguf_of(tmp_path, "gptoss", {**KEYS, **yarn})
    assert {group.scheme for group in meaning(config).groups} == {"yarn"}
    named = {"rope.scaling.type": ("yarn", OLLAMA, {LLAMA_CPP: "linear"})}
    named |= {name: (value, LLAMA_CPP, {}) for name, value in BETAS.items() if name != "truncate"}
    assert taken(config) == {**named, "layer_types": ("one of 2 full", LLAMA_CPP, {})}
    window = {**KEYS, "attention.sliding_window": 4096, "rope.freq_base": 5e5}
    olmo = meaning(gguf_of(tmp_path, "olmo3", window))
    assert olmo == meaning(gguf_of(tmp_path, "olmo2", window))
    scaling = {
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 16.0,
        "rope.scaling.original_context_length": 16384,
        "rope.freq_base": 1e6,
        "attention.key_length": 128,
    }
    names = {
        "rope.scaling.beta_fast": ("rope.scaling.yarn_beta_fast", 32.0),
        "rope.scaling.beta_slow": ("rope.scaling.yarn_beta_slow", 1.0),
        "rope.scaling.mscale_all_dim": ("rope.scaling.yarn_log_multiplier", 1.0),
        "rope.scaling_beta": ("attention.temperature_scale", 0.1),
    }
    old = {key: value for key, (_, value) in names.items()}
    new = dict(names.values())
    read = [
        meaning(gguf_of(tmp_path, "mistral3", {**KEYS, **scaling, **more})) for more in (old, new)
    ]
    assert read[0] == read[1]
    assert read[0].groups[0].temperature is not None


@pytest.mark.parametrize(("width", "size"), [(24, 96), (32, 128), (128, 128), (48, 80), (20, 80)])
def test_any_share_of_a_head_is_read(width: int, size: int, tmp_path: Path) -> None:
    keys = {**KEYS, "embedding_length": 32 * size, "rope.dimension_count": width}
    for architecture in ("gptneox", "phi2", "stablelm", "nemotron"):
        (group,) = meaning(gguf_of(tmp_path, architecture, keys)).groups
        assert group.parameters.get("rotary_dim", size) == width, architecture


def test_all_channels_turn_if_a_file_does_not_say_how_many(tmp_path: Path) -> None:
    config = gguf_of(tmp_path, "gptneox", KEYS)
    assert "rotary_dim" not in meaning(config).groups[0].parameters
    assert taken(config)["rope.dimension_count"] == (128, LLAMA_CPP, {TRANSFORMERS: 32})
    config = gguf_of(tmp_path, "qwen3", {**KEYS, "embedding_length": 2048})
    assert meaning(config).groups[0].parameters["head_dim"] == 64
    assert taken(config)["attention.key_length"] == (64, LLAMA_CPP, {TRANSFORMERS: 128})


@pytest.mark.parametrize(
    ("architecture", "more", "scheme"),
    [
        ("bloom", {}, "alibi"),
        ("mpt", {"attention.max_alibi_bias": 8.0}, "alibi"),
        ("gpt2", {}, "learned"),
        ("starcoder", {}, "learned"),
        ("bert", {"attention.causal": False}, "learned"),
    ],
)
def test_architectures_without_rotation(
    architecture: str, more: Fields, scheme: str, tmp_path: Path
) -> None:
    config = gguf_of(tmp_path, architecture, {**KEYS, **more})
    (group,) = meaning(config).groups
    assert (group.scheme, meaning(config).layout, config.taken) == (scheme, None, ())
    for key in ("rope.freq_base", "attention.sliding_window"):
        with pytest.raises(UserError, match=key):
            gguf_of(tmp_path, architecture, {**KEYS, **more, key: 4})
    if architecture == "mpt":
        with pytest.raises(UserError, match="max_alibi_bias"):
            gguf_of(tmp_path, architecture, KEYS)


# Output.


def test_json_says_what_the_text_says(tmp_path: Path, capsys: Any) -> None:
    config = config_of(tmp_path, {**LLAMA, "rope_scaling": {"rope_type": "linear", "factor": 4.0}})
    assert main(["model", str(tmp_path / "config.json"), "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    (group,) = whole["groups"]
    found: Meaning = meaning(config)
    assert group["parameters"] == dict(found.groups[0].parameters)
    assert group["layers"] == [*range(32)]
    (turning,) = group["rotation"]
    assert turning["frequencies"] == pytest.approx(frequencies(found.groups[0]))
    (default,) = whole["taken"]
    assert (default["field"], default["owner"]) == ("rope_theta", TRANSFORMERS)
    assert "scaling-ignored" in {row["mistake"] for row in whole["costs"]}


@pytest.mark.parametrize(
    "name",
    ["gemma-3-4b", "phi-3.5-mini", "llama-4-scout", pytest.param("bloom", marks=pytest.mark.slow)],
)
def test_json_describes_models_of_the_spec(name: str, capsys: Any) -> None:
    assert main(["model", name, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["name"] == name
    assert whole["groups"]


def test_json_needs_a_model(capsys: Any) -> None:
    assert main(["model", "--json"]) == 2
    assert "name a model of the spec" in capsys.readouterr().err


@pytest.mark.slow
def test_a_file_is_described_in_half_a_second_of_processor_time(tmp_path: Path) -> None:
    config_of(tmp_path, {**LLAMA, "max_position_embeddings": 4096})
    code = "from posenc_conformance.commands.main import main; main(['model', 'config.json'])"
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    kept["PYTHONPYCACHEPREFIX"] = str(tmp_path)
    spent = []
    for _ in range(4):  # the first run compiles
        before = os.times()
        subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=kept, check=True, capture_output=True
        )
        after = os.times()
        spent.append(sum(after[2:4]) - sum(before[2:4]))
    assert min(spent) < 0.5


def test_defaults_of_a_gguf_are_those_of_its_reader(tmp_path: Path) -> None:
    llama_4 = gguf_of(tmp_path, "llama4", {**KEYS, "rope.freq_base": 5e5})
    assert taken(llama_4)["attention_chunk_size"] == (8192, LLAMA_CPP, {})
    keys = {key: value for key, value in GEMMA_3.items() if key != "attention.sliding_window"}
    keys |= {"attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e6}
    plain = gguf_of(tmp_path, "gemma3", keys)
    assert [group.window for group in meaning(plain).groups] == [None]
    assert "sliding_window_pattern" not in taken(plain)
    gptj = gguf_of(tmp_path, "gptj", {**KEYS, "rope.freq_base": 1e4})
    assert taken(gptj) == {"rope.dimension_count": (128, LLAMA_CPP, {TRANSFORMERS: 64})}
