"""Models: their files, the meaning of their configurations, and the costs of mistakes."""

import json
import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml

from posenc_conformance.checks.golden import printed_truth
from posenc_conformance.commands import goldens
from posenc_conformance.commands.main import main
from posenc_conformance.errors import UserError
from posenc_conformance.judge.case import case_described_by
from posenc_conformance.models.configuration import configuration, read_configuration
from posenc_conformance.models.cost import POSITIONS, cost
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.file import (
    SCHEMA,
    Model,
    load_all,
    load_model,
    load_together,
    model_named,
    paths,
)
from posenc_conformance.models.layer_frequencies import frequencies, rotated
from posenc_conformance.models.meaning import (
    Group,
    Meaning,
    case_of,
    rows_of,
    scheme_of,
    unwritten,
    written,
)
from posenc_conformance.models.misreadings import MISTAKES, applicable, longer
from posenc_conformance.scheme_file.read import spec_folder

pytestmark = pytest.mark.remembered(shipped=True)

MODELS = load_all()
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.id)

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 4,
    "num_attention_heads": 32,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
GEMMA = {
    "model_type": "gemma3_text",
    "hidden_size": 2560,
    "num_hidden_layers": 7,
    "num_attention_heads": 8,
    "head_dim": 256,
    "max_position_embeddings": 131072,
    "rope_theta": 1000000.0,
    "rope_local_base_freq": 10000.0,
    "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    "sliding_window": 1024,
    "sliding_window_pattern": 6,
}
PHI = {
    "model_type": "phi3",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "max_position_embeddings": 131072,
    "original_max_position_embeddings": 4096,
    "rope_scaling": {"type": "su", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4},
}
LLAMA4 = {
    "model_type": "llama4_text",
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "attention_chunk_size": 8192,
}
QWEN_VL = {
    "model_type": "qwen2_5_vl",
    "hidden_size": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
}

HUNYUAN: dict[str, Any] = {
    "model_type": "hunyuan_v1_dense",
    "hidden_size": 4096,
    "num_hidden_layers": 2,
    "num_attention_heads": 32,
    "head_dim": 128,
    "max_position_embeddings": 32768,
    "rope_theta": 10000.0,
    "rope_scaling": {
        "type": "dynamic",
        "alpha": 1000.0,
        "factor": 1.0,
        "beta_fast": 32,
        "beta_slow": 1,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    },
}


def derived(fields: Mapping[str, Any]) -> Meaning:
    return meaning(configuration(fields, "config.json"))


# Files.


@pytest.mark.draws
@every_model
def test_model_files_obey_the_published_schema(model: Model) -> None:
    schema = json.loads((spec_folder() / SCHEMA).read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(model.path.read_text(encoding="utf-8")), schema)


@every_model
def test_what_a_file_states_follows_from_its_configuration(model: Model) -> None:
    result = meaning(model.configuration)
    assert result.groups == model.meaning.groups
    assert result.context == model.meaning.context
    assert result.layout == model.meaning.layout


@every_model
def test_the_goldens_of_a_model_are_certified(model: Model) -> None:
    assert goldens.check_model(model) == []


@every_model
def test_goldens_cover_the_ends_of_contexts(model: Model) -> None:
    context = model.meaning.context
    ends = {context.original, context.extended} - {None}
    for group in model.meaning.groups:
        positions: set[int] = set()
        for owner, golden in model.goldens:
            if owner == group and "positions" in golden.arguments:
                positions |= set(np.ravel(golden.arguments["positions"]).tolist())
        if group.turns:
            assert {0, 1, *(end - 1 for end in ends if end)} <= positions
            assert context.original in (None, *positions)
        elif group.call is not None:
            assert any(owner == group for owner, _ in model.goldens)


@every_model
def test_known_mistakes_can_be_made(model: Model) -> None:
    possible = {mistake.id for mistake, _ in applicable(model.meaning, model.configuration)}
    assert {listed.id for listed in model.mistakes} <= possible


@every_model
def test_goldens_catch_mistakes(model: Model) -> None:
    """Temperatures and factors of logits are left out: they change no call's result.

    So are the bounds of a ramp: they change pairs that a golden's digest covers, and no probe.
    """
    for mistake, concerned in applicable(model.meaning, model.configuration):
        if mistake.id.startswith(("temperature-", "score-factor-", "betas-")):
            continue
        for right, wrong in concerned.values():
            if right.call is not None and right.scheme != "alibi":
                assert any(caught(model, right, wrong)), (mistake.id, right.id)


def caught(model: Model, right: Group, wrong: Group) -> list[bool]:
    """Return for each golden of a group whether another computation misses a printed value."""
    misses = []
    for owner, golden in model.goldens:
        if owner == right:
            case = case_described_by(scheme_of(right), golden, "float64")
            printed = printed_truth(golden, case)
            inputs = {name: case.arguments[name] for name in ("x", "positions")}
            off = np.abs(case_of(wrong, inputs).truth - printed)
            misses.append(bool(np.nanmax(off) > 1e-6))
    return misses


def test_every_mistake_can_be_made_with_some_model() -> None:
    """A mistake that no model of the spec can have would have no cost."""
    made = {
        mistake.id
        for model in MODELS
        for mistake, _ in applicable(model.meaning, model.configuration)
    }
    assert made == {mistake.id for mistake in MISTAKES}


def broken(tmp_path: Path, old: str, new: str, name: str = "llama-3.1-8b") -> Path:
    """Copy a model file, with the first occurrence of a text replaced."""
    text = model_named(name).path.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "models" / f"{name}.yaml"
    path.parent.mkdir()
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("posenc-model: 1", "posenc-model: 2", "posenc-model"),
        ("id: llama-3.1-8b", "id: llama-3.1", "the file is called"),
        ("model_type: llama", "model_type: llama\n  rope_local_base_freq: 1", "is in no source"),
        ("hidden_size, num_hidden", "hidden_sizes, num_hidden", "hidden_sizes is not in config"),
        ("call: llama3", "call: llama4", "no such call"),
        ("combination: half", "combination: halves", "no such one"),
        ("group: layers", "group: layer", "no such group"),
        ('layers: "0-31"', 'layers: "0 to 31"', "layers"),
        ("https://github.com/unslothai", "github.com/unslothai", "mistakes"),
    ],
)
def test_a_mistake_in_a_file_is_located(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = broken(tmp_path, old, new)
    with pytest.raises(UserError) as caught:
        load_model(path)
    assert f"{path}:" in caught.value.cause
    assert said in caught.value.cause


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("factor: 8.0", "factor: 32.0"),
        ("rope_theta: 500000.0", "rope_theta: 10000.0"),
        ('layers: "0-31"', 'layers: "0-30"'),
        ("context: {original: 8192", "context: {original: 4096"),
        ("layout: half", "layout: interleaved"),
    ],
)
def test_a_file_that_contradicts_its_configuration_is_found(
    tmp_path: Path, old: str, new: str
) -> None:
    model = load_model(broken(tmp_path, old, new))
    assert meaning(model.configuration) != model.meaning


def test_a_golden_that_was_changed_is_found_and_written_again(tmp_path: Path) -> None:
    path = broken(tmp_path, "-0.8882471352323238", "-0.8882471352323228")
    assert [drift.where for drift in goldens.check_model(load_model(path))] == [
        "llama-3.1-8b.yaml::golden::within"
    ] * 3
    load_model.cache_clear()
    assert goldens.main([str(path)], writing=True) == 0
    written_again = path.read_text(encoding="utf-8")
    assert written_again == model_named(path.stem).path.read_text(encoding="utf-8")


def test_ids_and_repositories_are_unique() -> None:
    assert len({model.repository for model in MODELS}) == len(MODELS) == len(paths())


# Configurations.


def test_cached_models_equal_those_of_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    files = tuple(paths()[:3])
    alone = [load_model(path) for path in files]  # goldens are equal by identity only
    for _ in range(2):  # from the files, then from the cache
        load_together.cache_clear()
        assert [*map(repr, load_together(files))] == [*map(repr, alone)]
    changed = tmp_path / files[0].name
    text = files[0].read_text(encoding="utf-8")
    changed.write_text(text.replace("title: ", "title: Another ", 1), encoding="utf-8")
    assert load_together((changed,))[0].title.startswith("Another")
    changed.write_text(text.replace(f"id: {alone[0].id}", "id: another-id", 1), encoding="utf-8")
    load_together.cache_clear()
    with pytest.raises(UserError, match="id: the file is called"):
        load_together((changed,))


def test_old_and_new_form_mean_the_same() -> None:
    old = derived({**LLAMA, "rope_scaling": LLAMA3})
    without = {name: value for name, value in LLAMA.items() if name != "rope_theta"}
    new = derived({**without, "rope_parameters": {**LLAMA3, "rope_theta": 500000}})
    assert old == new
    assert old.groups[0].scheme == "llama3"
    typed = {**LLAMA3, "type": LLAMA3["rope_type"]}
    del typed["rope_type"]
    assert derived({**LLAMA, "rope_scaling": typed}) == old


def test_equal_bounds_are_those_of_released_models() -> None:
    """Kimi K2 has a ramp between equal turns, Llama 4 Scout scaling between equal bounds."""
    kimi = {
        "model_type": "kimi_k2",
        "num_hidden_layers": 1,
        "qk_rope_head_dim": 64,
        "max_position_embeddings": 131072,
        "rope_theta": 50000.0,
    }
    yarn = {"type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096}
    (group,) = derived(
        {**kimi, "rope_scaling": {**yarn, "beta_fast": 1.0, "beta_slow": 1.0}}
    ).groups
    plain = 50000.0 ** (-np.arange(32) / 32)
    assert np.allclose(frequencies(group) / plain, [1.0] * 20 + [1 / 32] * 12)
    step = {**LLAMA3, "factor": 16.0, "high_freq_factor": 1.0}
    (group,) = derived({**LLAMA, "rope_scaling": step}).groups
    slow = 8192 * 500000.0 ** (-np.arange(64) / 64) < 2 * np.pi
    plain = 500000.0 ** (-np.arange(64) / 64)
    assert np.allclose(frequencies(group) / plain, np.where(slow, 1 / 16, 1.0))


def test_a_block_for_each_kind_of_layers_means_the_same() -> None:
    names = ("rope_theta", "rope_local_base_freq", "rope_scaling", "sliding_window_pattern")
    others = {name: value for name, value in GEMMA.items() if name not in names}
    blocks = {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
    }
    types = ["sliding_attention"] * 5 + ["full_attention", "sliding_attention"]
    assert derived({**others, "rope_parameters": blocks, "layer_types": types}) == derived(GEMMA)


def test_other_names_of_fields_mean_the_same() -> None:
    names = {"n_embd": 4096, "n_layer": 28, "n_head": 16, "n_positions": 2048}
    usual = {
        "hidden_size": 4096,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "max_position_embeddings": 2048,
    }
    gptj = {"model_type": "gptj", "rotary_dim": 64}
    assert derived({**gptj, **names}) == derived({**gptj, **usual})


def test_a_multimodal_model_is_read_by_its_text_part() -> None:
    whole = {"model_type": "gemma3", "text_config": GEMMA, "vision_config": {"hidden_size": 1}}
    assert derived(whole) == derived(GEMMA)


@pytest.mark.parametrize(
    ("fields", "layers"),
    [
        ({**LLAMA, "chunk_size_feed_forward": 0, "rope_scaling": {}}, ["0-3"]),
        ({**LLAMA, "pretraining_tp": 1, "rope_scaling": {"rope_type": "default"}}, ["0-3"]),
        (
            {
                **LLAMA,
                "rope_scaling": {
                    "type": "yarn",
                    "factor": 16.0,
                    "original_max_position_embeddings": 4096,
                    "finetuned": True,
                },
            },
            ["0-3"],
        ),
        ({**LLAMA, "model_type": "qwen2", "use_mrope": False, "sliding_window": 4096}, ["0-3"]),
        (
            {**LLAMA, "model_type": "qwen2", "use_sliding_window": True, "sliding_window": 64}
            | {"max_window_layers": 3},
            ["0-2", "3"],
        ),
        (
            {**LLAMA, "model_type": "cohere2", "sliding_window": 4096, "rotary_pct": 1.0}
            | {"position_embedding_type": "rope_gptj"},
            ["0-2", "3"],
        ),
        (
            {**LLAMA, "model_type": "exaone4", "sliding_window": 4096}
            | {"sliding_window_pattern": "LLG"},
            ["0-1", "2-3"],
        ),
        ({**LLAMA, "model_type": "smollm3", "no_rope_layers": [1, 1, 1, 0]}, ["0-2", "3"]),
        ({**LLAMA, "model_type": "falcon", "alibi": True}, ["0-3"]),
        ({**GEMMA, "_sliding_window_pattern": 6}, ["0-4, 6", "5"]),
        ({**LLAMA4, "no_rope_layers": [], "attn_temperature_tuning": 4}, ["0-2", "3"]),
        (
            {**QWEN_VL, "rope_scaling": {"mrope_section": [16, 24, 24]}}
            | {"rope_theta": 1000000.0},
            ["0"],
        ),
        (HUNYUAN, ["0-1"]),
        ({**HUNYUAN, "model_type": "hunyuan_v1_moe", "rope_scaling": None}, ["0-1"]),
        (
            {"model_type": "bloom", "n_embed": 64, "n_layer": 2, "n_head": 8, "offset_alibi": 100}
            | {"seq_length": 2048},
            ["0-1"],
        ),
        (
            {"model_type": "t5", "d_model": 64, "num_layers": 2, "num_heads": 8}
            | {"n_positions": 512},
            ["0-1", "0-1"],
        ),
        (
            {"model_type": "xlm-roberta", "hidden_size": 64, "pad_token_id": 1}
            | {"max_position_embeddings": 514, "position_embedding_type": "absolute"},
            [""],
        ),
    ],
)
def test_released_configurations_are_read(fields: Mapping[str, Any], layers: list[str]) -> None:
    assert [written(group.layers) for group in derived(fields).groups] == layers


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"hidden_size": 64}, "model_type", "missing"),
        ({"model_type": "lama"}, "model_type", "similar ones are llama"),
        ({**LLAMA, "rope_teta": 1}, "rope_teta", "is not known here"),
        ({**LLAMA, "dual_chunk_attention_config": {}}, "dual_chunk_attention", "is not known"),
        ({**LLAMA, "use_mrope": True}, "use_mrope", "what it means in llama"),
        (
            {**LLAMA, "model_type": "qwen2", "use_mrope": True},
            "use_mrope",
            "qwen2 has no sections",
        ),
        (
            {"model_type": "mpt", "d_model": 64, "n_heads": 8, "n_layers": 1}
            | {"attn_config": {"alibi": True, "rope": True}},
            "attn_config.rope",
            "known here",
        ),
        ({**LLAMA, "n_embd": 2048}, "n_embd", "hidden_size is 4096"),
        ({**LLAMA, "hidden_size": 4097}, "hidden_size", "not divisible"),
        ({**LLAMA, "rope_theta": 0.5}, "rope_theta", "above 1"),
        ({**LLAMA, "rope_interleaved": True}, "rope_interleaved", "layout of llama is half"),
        ({**LLAMA, "head_dim": 127}, "head_dim", "even"),
        ({**LLAMA, "head_dim": 0}, "head_dim", "above 0"),
        ({**LLAMA, "num_hidden_layers": None}, "num_hidden_layers", "missing"),
        ({**LLAMA, "rope_scaling": {"factor": 8}}, "rope_scaling.rope_type", "although there is"),
        (
            {**LLAMA, "rope_scaling": {**LLAMA3, "type": "linear"}},
            "rope_scaling",
            "type is 'linear' and rope_type is 'llama3'",
        ),
        (
            {**LLAMA, "rope_scaling": {"type": "ntk", "factor": 2}},
            "rope_scaling.rope_type",
            "'ntk' is not known",
        ),
        (
            {**LLAMA, "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0}},
            "rope_scaling.alpha",
            "known for HunYuan only, not for llama",
        ),
        (
            {**HUNYUAN, "rope_scaling": {"type": "linear", "alpha": 1000.0, "factor": 2.0}},
            "rope_scaling.alpha",
            "belongs to rope_type 'dynamic', not 'linear'",
        ),
        (
            {**HUNYUAN, "rope_scaling": {"type": "dynamic", "alpha": 0.5}},
            "rope_scaling.alpha",
            "a number from 1 on",
        ),
        (
            {**HUNYUAN, "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 4.0}},
            "rope_scaling.factor",
            "it is 4, but alpha decides, which is 1000",
        ),
        (
            {**HUNYUAN, "rope_scaling": {**HUNYUAN["rope_scaling"], "low_freq_factor": 1.0}},
            "rope_scaling.low_freq_factor",
            "does not use it; these do: llama3",
        ),
        (
            {**LLAMA, "rope_scaling": {**LLAMA3, "beta_fast": 32}},
            "rope_scaling.beta_fast",
            "does not use it; these do: yarn",
        ),
        (
            {**LLAMA, "rope_scaling": {**LLAMA3, "gamma": 32}},
            "rope_scaling.gamma",
            "nobody has defined",
        ),
        (
            {**LLAMA, "rope_scaling": {**LLAMA3, "factor": None}},
            "rope_scaling.factor",
            "missing",
        ),
        (
            {**LLAMA, "rope_scaling": {**LLAMA3, "rope_theta": 10000}},
            "rope_theta",
            "rope_scaling.rope_theta is 10000",
        ),
        (
            {**LLAMA, "rope_scaling": LLAMA3, "rope_parameters": {"rope_type": "default"}},
            "rope_scaling",
            "says something else",
        ),
        (
            {**LLAMA, "rope_scaling": {**LLAMA3, "low_freq_factor": 5}},
            "rope_scaling.low_freq_factor",
            "above high_freq_factor",
        ),
        (
            {**LLAMA, "rope_scaling": {**LLAMA3, "original_max_position_embeddings": 1 << 20}},
            "original_max_position_embeddings",
            "more than max_position_embeddings",
        ),
        (
            {**LLAMA, "rope_scaling": {"type": "yarn", "factor": 4, "beta_fast": 0.5}},
            "rope_scaling.beta_fast",
            "below beta_slow",
        ),
        ({**LLAMA, "partial_rotary_factor": 0.01}, "partial_rotary_factor", "1 of 128 channels"),
        (
            {**LLAMA, "model_type": "phi", "partial_rotary_factor": 0.01},
            "partial_rotary_factor",
            "an even number",
        ),
        (
            {**LLAMA, "model_type": "phi", "rope_scaling": LLAMA3, "partial_rotary_factor": 0.5},
            "partial_rotary_factor",
            "no known model",
        ),
        (
            {**PHI, "rope_scaling": {"type": "su", "short_factor": [1] * 4, "long_factor": [2]}},
            "long_factor",
            "4 pairs",
        ),
        ({**GEMMA, "layer_types": ["full_attention"]}, "layer_types", "num_hidden_layers is 7"),
        ({**GEMMA, "layer_types": ["global"] * 7}, "layer_types", "'global' is not known"),
        (
            {**GEMMA, "layer_types": ["full_attention"] * 7},
            "sliding_window_pattern",
            "layer_types says something else",
        ),
        (
            {**GEMMA, "sliding_window": None, "layer_types": ["sliding_attention"] * 7},
            "layer_types",
            "sliding_window is null",
        ),
        (
            {**GEMMA, "rope_scaling": None, "rope_parameters": {"full_attention": {}}},
            "rope_parameters",
            "nothing for sliding_attention",
        ),
        ({**LLAMA4, "no_rope_layers": [1, 0]}, "no_rope_layers", "2 entries"),
        (
            {**LLAMA4, "no_rope_layers": [1, 1, 0, 1], "no_rope_layer_interval": 4},
            "no_rope_layer_interval",
            "says something else",
        ),
        (
            {**QWEN_VL, "rope_scaling": {"type": "mrope", "mrope_section": [8, 8, 8]}},
            "mrope_section",
            "24 pairs, but 64 are rotated",
        ),
        (
            {"model_type": "bert", "position_embedding_type": "relative_key"},
            "position_embedding_type",
            "not known",
        ),
        (
            {**LLAMA, "model_type": "gptj", "rope_theta": 10000, "rotary_dim": 64}
            | {"partial_rotary_factor": 0.25},
            "rotary_dim",
            "32 channels of 128 follow",
        ),
    ],
)
def test_a_contradiction_is_reported_with_the_field(
    fields: Mapping[str, Any], field: str, said: str
) -> None:
    with pytest.raises(UserError) as caught:
        derived(fields)
    assert caught.value.cause.startswith("config.json: ")
    assert field in caught.value.cause
    assert said in f"{caught.value}"


def test_layers_are_written_as_ranges() -> None:
    assert written((0, 1, 2, 4, 6, 7)) == "0-2, 4, 6-7"
    assert unwritten("0-2, 4, 6-7") == (0, 1, 2, 4, 6, 7)
    assert unwritten("") == ()


def test_alpha_of_hunyuan_makes_the_base_larger_for_good() -> None:
    """The base is that of ``compute_ntk_alpha_rope_parameters`` in transformers."""
    (group,) = derived(HUNYUAN).groups
    larger = 10000 * 1000 ** (128 / 126)
    assert frequencies(group) == pytest.approx(larger ** -(np.arange(0, 128, 2) / 128), rel=1e-12)
    assert longer(group) == 1  # mscale is left over from YaRN
    config = configuration(HUNYUAN, "config.json")
    assert {"scaling-ignored", "factor-of-another-model"} <= {
        mistake.id for mistake, _ in applicable(meaning(config), config)
    }


# Costs.


def test_the_cost_of_ignored_scaling_follows_from_the_angles() -> None:
    """Each pair is off by p (w - w'); its part of the score is multiplied by the cosine of that."""
    model = next(model for model in MODELS if model.id == "llama-3.1-8b")
    ((right, wrong),) = next(
        concerned.values()
        for mistake, concerned in applicable(model.meaning, model.configuration)
        if mistake.id == "scaling-ignored"
    )
    off = frequencies(right) - frequencies(wrong)
    assert off.max() == 0
    assert off.min() < 0
    for position in POSITIONS:
        angle, true = position * frequencies(wrong), position * frequencies(right)
        errors = [np.cos(angle) - np.cos(true), np.sin(angle) - np.sin(true)]
        result = cost(right, wrong, position)
        assert result.error == pytest.approx(np.abs(errors).max(), abs=1e-9)
        assert result.loss == pytest.approx(1 - np.cos(position * off).mean(), abs=1e-9)


def test_the_cost_of_a_missing_factor_does_not_depend_on_the_position() -> None:
    model = next(model for model in MODELS if model.id == "phi-3.5-mini")
    longer = np.sqrt(17 / 12)  # 4,096 and 131,072 are 2 to the 12 and to the 17
    costs = dict(costs_of(model, 4096))
    assert costs["attention-factor-missing"] == pytest.approx(1 - 1 / longer**2)
    assert costs["attention-factor-twice"] == pytest.approx(1 - longer**2)
    assert costs["long-list-always"] == 0
    short = dict(costs_of(model, 128))
    assert short["short-list-always"] == 0
    assert short["long-list-always"] > 0.4


def costs_of(model: Model, position: int) -> list[tuple[str, float]]:
    costs = []
    for mistake, concerned in applicable(model.meaning, model.configuration):
        for pair in concerned.values():
            loss = cost(*pair, position).loss
            assert loss is not None
            costs.append((mistake.id, loss))
    return costs


def test_the_costs_of_temperatures_and_factors_of_logits() -> None:
    maverick = next(model for model in MODELS if model.id == "llama-4-maverick")
    warm = 1 + 0.1 * np.log(1 + 131073 // 8192)
    assert dict(costs_of(maverick, 131072))["temperature-missing"] == pytest.approx(1 - 1 / warm)
    deepseek = next(model for model in MODELS if model.id == "deepseek-v3")
    factor = (0.1 * np.log(40) + 1) ** 2
    assert dict(costs_of(deepseek, 128))["score-factor-missing"] == pytest.approx(1 - 1 / factor)


def of_every_kind() -> list[Group]:
    """Return a group of each scheme, combination and options among models and their mistakes."""
    groups: dict[str, Group] = {}
    for model in MODELS:
        own = [group for group in model.meaning.groups if group.turns]
        made = [
            wrong
            for _, concerned in applicable(model.meaning, model.configuration)
            for _, wrong in concerned.values()
            if wrong.turns
        ]
        for group in (*own, *made):
            kind = (group.scheme, group.combination, dict(group.options), rotated(group))
            groups.setdefault(repr(kind), group)
    return [*groups.values()]


@pytest.mark.slow
def test_costs_agree_with_the_rotation_of_every_channel() -> None:
    for group in of_every_kind():
        size = int(group.parameters["head_dim"])
        x, where = np.eye(size)[:, None], rows_of(group, np.array([77]))
        whole = case_of(group, {"x": x, "positions": where}).truth[:, 0, :].T
        still = {"head_dim": size, "base": 10000, "proportion": 0}
        plain = replace(group, scheme="p-rope", call="p_rope", combination="half")
        plain = replace(plain, options={}, parameters=still, score_factor=None, temperature=None)
        result = cost(plain, replace(group, score_factor=None, temperature=None), 77)
        assert result.error == pytest.approx(np.abs(whole - np.eye(size)).max(), rel=1e-12)
        assert result.loss is not None
        if group.reach is None or group.reach >= 77:
            diagonal = np.diagonal(case_of(group, {"x": x, "positions": 0 * where}).truth[:, 0, :])
            assert 1 - result.loss == pytest.approx(np.trace(whole * diagonal) / size, abs=1e-12)


def test_distances_are_limited_by_the_window() -> None:
    gemma = next(model for model in MODELS if model.id == "gemma-3-4b")
    near, far = (dict(sliding_costs(gemma, position)) for position in (1023, 131072))
    assert near == pytest.approx(far)
    assert (
        next(
            group.reach
            for model in MODELS
            if model.id == "modernbert-base"
            for group in model.meaning.groups
            if group.attention == "two-sided"
        )
        == 64
    )


def sliding_costs(model: Model, position: int) -> list[tuple[str, float]]:
    costs = []
    for mistake, concerned in applicable(model.meaning, model.configuration):
        for right, wrong in concerned.values():
            loss = cost(right, wrong, position).loss
            if right.attention == "sliding" and loss is not None:
                costs.append((mistake.id, loss))
    return costs


# The command.


def test_a_model_is_shown_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "llama-3.1-8b"]) == 0
    shown = capsys.readouterr().out
    for text in ("layers 0-31 (32)", "factor 8", "3.06893e-07", "scaling-ignored", "pull/6197"):
        assert text in shown
    assert len(shown.splitlines()) < 40
    assert main(["model", "meta-llama/Llama-3.1-8B"]) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gemma-3-4b", "llama-4-maverick", "bloom", "gpt2", "t5-small"])
def test_models_of_every_kind_fit_on_a_screen(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", name]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 5 < len(lines) < 50
    assert max(len(line) for line in lines if "https://" not in line) <= 112


def test_a_configuration_is_shown_by_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA, "rope_scaling": LLAMA3}), encoding="utf-8")
    assert main(["model", str(path)]) == 0
    assert "3.06893e-07" in capsys.readouterr().out


def test_the_base_that_alpha_makes_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(HUNYUAN), encoding="utf-8")
    assert main(["model", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "alpha makes the base 10,000 · 1,000^(128/126) = 11,158,840 at every length" in shown
    assert "1.15478e-07" in shown


def shown_of(config: Mapping[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    assert main(["model", str(path)]) == 0
    return capsys.readouterr().out


def test_factors_without_effect_are_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    yarn = {"type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192}
    fields = {**LLAMA, "model_type": "ministral3"}
    warm = shown_of(
        {**fields, "rope_scaling": {**yarn, "llama_4_scaling_beta": 0.1}}, tmp_path, capsys
    )
    cold = shown_of(
        {**fields, "rope_scaling": {**yarn, "llama_4_scaling_beta": 0}}, tmp_path, capsys
    )
    assert "queries × 1 + 0.1 ln" in warm
    assert "temperature-missing" in warm
    assert "queries ×" not in cold
    assert "temperature-missing" not in cold
    still = shown_of({**LLAMA4, "attn_scale": 0}, tmp_path, capsys)
    assert "queries ×" not in still


def test_a_mistake_that_costs_nothing_is_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    far = {"rope_type": "longrope", "short_factor": [1.0] * 64, "long_factor": [4.0] * 64}
    config = {
        **LLAMA,
        "model_type": "phi3",
        "max_position_embeddings": 1 << 20,
        "original_max_position_embeddings": 1 << 19,
        "rope_scaling": far,
    }
    shown = shown_of(config, tmp_path, capsys)
    assert "long-list-always" in shown
    assert "short-list-always" not in shown  # no text in the table is that long


def test_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{model.id}: {model.title}" in shown for model in MODELS)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("llama-3.1", "similar ones are llama-3.1"),
        ("missing.json", "missing.json"),
        ("zzzz", "for a list run"),
    ],
)
def test_a_missing_model_or_file_is_reported(
    name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", name]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "[]", '{"model_type": "llama"}'])
def test_an_incomplete_configuration_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=str(path)):
        meaning(read_configuration(path))


# GGUF.

KINDS = {int: (4, "<I"), float: (6, "<f"), bool: (7, "<?")}


def packed(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def value(given: Any) -> bytes:
    if isinstance(given, str):
        return struct.pack("<I", 8) + packed(given)
    if isinstance(given, list):
        inner = [value(item) for item in given]
        return (
            struct.pack("<I", 9)
            + inner[0][:4]
            + struct.pack("<Q", len(given))
            + b"".join(item[4:] for item in inner)
        )
    number, form = KINDS[type(given)]
    return struct.pack("<I", number) + struct.pack(form, given)


def gguf(path: Path, metadata: Mapping[str, Any], tensors: tuple[str, ...] = ()) -> Path:
    """Write a GGUF file of version 3, whose tensors have no data."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    pairs = b"".join(packed(key) + value(content) for key, content in metadata.items())
    names = b"".join(packed(name) + struct.pack("<IQIQ", 1, 64, 0, 0) for name in tensors)
    path.write_bytes(head + pairs + names)
    return path


QWEN = {
    "general.architecture": "qwen2",
    "tokenizer.ggml.tokens": ["a", "b"],
    "tokenizer.ggml.scores": [0.5, 1.5],
    "qwen2.block_count": 24,
    "qwen2.context_length": 131072,
    "qwen2.embedding_length": 896,
    "qwen2.attention.head_count": 14,
    "qwen2.attention.head_count_kv": 2,
    "qwen2.rope.freq_base": 1000000.0,
}


def test_gguf_metadata_mean_what_the_configuration_does(tmp_path: Path) -> None:
    result = meaning(read_configuration(gguf(tmp_path / "model.gguf", QWEN, ("output.weight",))))
    assert result == next(model for model in MODELS if model.id == "qwen2-0.5b").meaning
    scaled = {
        **QWEN,
        "qwen2.rope.scaling.type": "yarn",
        "qwen2.rope.scaling.factor": 4.0,
        "qwen2.rope.scaling.original_context_length": 8192,
    }
    (group,) = meaning(read_configuration(gguf(tmp_path / "yarn.gguf", scaled))).groups
    assert (group.scheme, group.parameters["factor"]) == ("yarn", 4)


def test_tensors_that_divide_frequencies_are_read_at_their_offsets(tmp_path: Path) -> None:
    (group,) = next(model for model in MODELS if model.id == "llama-3.1-8b").meaning.groups
    plain = 500000.0 ** (-np.arange(64) / 64)
    divisors = (plain / frequencies(group)).astype("<f4").tobytes()
    llama = {
        "general.architecture": "llama",
        "general.alignment": 64,
        "llama.block_count": 32,
        "llama.context_length": 131072,
        "llama.embedding_length": 4096,
        "llama.attention.head_count": 32,
        "llama.rope.freq_base": 500000.0,
    }
    path = gguf(tmp_path / "model.gguf", llama, ("rope_freqs.weight", "output.weight"))
    head = path.read_bytes()
    path.write_bytes(head + b"\0" * (-len(head) % 64) + divisors)
    (read,) = meaning(read_configuration(path)).groups
    assert frequencies(read) == pytest.approx(frequencies(group), rel=1e-12)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match="breaks off"):
        read_configuration(path)
    gguf(path, {**llama, "general.alignment": 0}, ("rope_freqs.weight",))
    with pytest.raises(UserError, match=r"general\.alignment is 0"):
        read_configuration(path)


def test_gguf_stores_queries_and_keys_of_llama_interleaved(tmp_path: Path) -> None:
    llama = {key.replace("qwen2", "llama"): content for key, content in QWEN.items()}
    llama["general.architecture"] = "llama"
    result = meaning(read_configuration(gguf(tmp_path / "model.gguf", llama)))
    assert result.layout == "interleaved"
    assert result.groups[0].combination == "interleaved"


@pytest.mark.parametrize(
    ("changed", "tensors", "said"),
    [
        ({}, ("rope_freqs.weight",), "rope_freqs.weight"),
        ({"general.architecture": "mamba"}, (), "general.architecture"),
        ({"qwen2.rope.dimension_sections": [1, 2]}, (), "qwen2.rope.dimension_sections"),
    ],
)
def test_ambiguous_gguf_metadata_are_refused(
    tmp_path: Path, changed: Mapping[str, Any], tensors: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        read_configuration(gguf(tmp_path / "model.gguf", {**QWEN, **changed}, tensors))


@pytest.mark.parametrize("content", [b"", b"GGML", b"GGUF\1\0\0\0", b"GGUF\3\0\0\0\1"])
def test_an_invalid_gguf_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(UserError, match="cannot be read as GGUF"):
        read_configuration(path)
