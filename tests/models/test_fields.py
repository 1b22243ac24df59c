"""Configurations with invalid fields: one message that names the field."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from posenc_conformance.commands.main import main
from posenc_conformance.models.block import IN_A_BLOCK as USED_IN_A_BLOCK
from posenc_conformance.models.fields import BLOCK, FIELDS, IN_A_BLOCK
from posenc_conformance.models.file import load_all
from posenc_conformance.models.types.names import NAMES
from posenc_conformance.models.understood import read_by_any
from tests.building import CHECKOUT

pytestmark = pytest.mark.remembered(shipped=True)

LLAMA: Mapping[str, Any] = {
    "model_type": "llama",
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_hidden_layers": 2,
    "max_position_embeddings": 8192,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}
LLAMA3 = {
    **{"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 2048},
    **{"low_freq_factor": 1.0, "high_freq_factor": 4.0},
}
PHI3 = {
    **{"rope_type": "longrope", "original_max_position_embeddings": 4096},
    **{"short_factor": [1.0] * 32, "long_factor": [2.0] * 32},
}
GEMMA = {**LLAMA, "model_type": "gemma3_text", "sliding_window": 512}
LLAMA4 = {**LLAMA, "model_type": "llama4_text"}
QWEN_VL = {**LLAMA, "model_type": "qwen2_vl", "rope_scaling": {"mrope_section": [16, 8, 8]}}
BLOOM = {"model_type": "bloom", "n_embed": 64, "n_layer": 2, "n_head": 8}
MPT = {"model_type": "mpt", "d_model": 64, "n_layers": 2, "n_heads": 8, "max_seq_len": 64}
T5 = {"model_type": "t5", "d_model": 64, "num_layers": 2, "num_heads": 8}
ROBERTA = {"model_type": "roberta", "hidden_size": 64, "max_position_embeddings": 514}
RIGHT: Mapping[str, Mapping[str, Any]] = {
    "llama": LLAMA,
    "llama, whole numbers as floats": {**LLAMA, "num_hidden_layers": 2.0, "rope_theta": 1e6},
    "llama, yarn": {**LLAMA, "rope_scaling": YARN},
    "llama, llama3": {**LLAMA, "rope_scaling": LLAMA3},
    "phi3": {**LLAMA, "model_type": "phi3", "rope_scaling": PHI3},
    "gemma3": GEMMA,
    "llama4": {**LLAMA4, "no_rope_layers": [1, 0]},
    "qwen2-vl": QWEN_VL,
    "bloom": BLOOM,
    "mpt": MPT,
    "t5": T5,
    "roberta": {**ROBERTA, "pad_token_id": 1},
    "nulls": {**LLAMA, "rope_scaling": None, "sliding_window": None, "head_dim": None},
    "numbers of something else": {**LLAMA, "time_step_limit": [0.0, float("inf")]},
}
NAN, INFINITE = float("nan"), float("inf")


def scaled(block: Mapping[str, Any], **changed: Any) -> dict[str, Any]:
    return {**LLAMA, "rope_scaling": {**block, **changed}}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


WRONG: list[tuple[str, Mapping[str, Any]]] = [
    *(("rope_scaling", {**LLAMA, "rope_scaling": odd}) for odd in ("linear", [1, 2], 4, True)),
    *(("rope_parameters", {**LLAMA, "rope_parameters": odd}) for odd in ("linear", [1], 4, True)),
    *(("rope_theta", {**LLAMA, "rope_theta": odd}) for odd in (INFINITE, NAN, "1e4", True, -1)),
    ("rope_theta", {**LLAMA, "rope_theta": 10**400}),
    ("rotary_emb_base", {**LLAMA, "rotary_emb_base": NAN}),
    *(("layer_types", {**GEMMA, "layer_types": odd}) for odd in (5, [["full_attention"]], "f")),
    *(("sliding_window", {**GEMMA, "sliding_window": odd}) for odd in ("abc", -1, 12.5, True, 0)),
    ("sliding_window_pattern", {**GEMMA, "sliding_window_pattern": [6]}),
    ("no_rope_layers", {**LLAMA4, "no_rope_layers": [[1]]}),
    ("no_rope_layers", {**LLAMA4, "no_rope_layers": 5}),
    ("no_rope_layer_interval", {**LLAMA4, "no_rope_layer_interval": 0}),
    (
        "full_attention_interval",
        {**LLAMA, "model_type": "qwen3_next", "full_attention_interval": 0},
    ),
    ("local_attention", {**LLAMA, "model_type": "modernbert", "local_attention": "x"}),
    *(
        ("partial_rotary_factor", {**LLAMA, "partial_rotary_factor": odd})
        for odd in ("a", INFINITE, NAN, -0.5, 2)
    ),
    *(
        ("max_position_embeddings", {**LLAMA, "max_position_embeddings": odd})
        for odd in ("many", [1], -5, 0, 2048.5, True, 1e300)
    ),
    (
        "original_max_position_embeddings",
        scaled(YARN, original_max_position_embeddings={"a": 1}),
    ),
    *(("beta_fast", scaled(YARN, beta_fast=odd)) for odd in ("a", 0, NAN)),
    *(("factor", scaled(YARN, factor=odd)) for odd in (INFINITE, 1e300, 5e-324, "4", True)),
    *(("mscale", scaled(YARN, mscale=odd, mscale_all_dim=1.0)) for odd in ("x", -1)),
    *(
        ("original_max_position_embeddings", scaled(block, original_max_position_embeddings=odd))
        for block in (YARN, LLAMA3)
        for odd in (0, -1, "x", 2.5)
    ),
    *(
        ("mrope_section", {**QWEN_VL, "rope_scaling": {"mrope_section": odd}})
        for odd in ("abc", [16.5, 8, 7.5], [-8, 20, 20], 32)
    ),
    *(
        ("short_factor", {**LLAMA, "model_type": "phi3", "rope_scaling": {**PHI3, **odd}})
        for odd in ({"short_factor": [0.0] * 32}, {"short_factor": [[1.0]] * 32})
    ),
    ("attn_config", {**MPT, "attn_config": "x"}),
    ("model_type", {**LLAMA, "model_type": "l" * 10**6}),
    ("model_type", {**LLAMA, "model_type": ["llama"]}),
    *(("num_hidden_layers", {**LLAMA, "num_hidden_layers": odd}) for odd in (10**9, 1e12, -1)),
    ("hidden_size", {**LLAMA, "hidden_size": 4 * 10**9}),
    ("hidden_size", {**LLAMA, "hidden_size": 2**16, "num_attention_heads": 1}),
    ("head_dim", {**LLAMA, "head_dim": 10**8}),
    ("n_head", {**BLOOM, "n_head": 10**9}),
    ("n_head", {**BLOOM, "n_head": 1000}),
    *(
        ("relative_attention_num_buckets", {**T5, "relative_attention_num_buckets": odd})
        for odd in ("x", 0)
    ),
    ("relative_attention_max_distance", {**T5, "relative_attention_max_distance": 1}),
    *(("pad_token_id", {**ROBERTA, "pad_token_id": odd}) for odd in ("x", -1, 513, [1])),
    ("extra", {**LLAMA, "extra": nested(400)}),
    ("rope_scaling", {**LLAMA, "rope_scaling": {"a": nested(400)}}),
]


@pytest.mark.parametrize("name", RIGHT)
def test_right_configurations_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(RIGHT[name]), encoding="utf-8")
    assert main(["model", str(path)]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(("field", "fields"), WRONG)
def test_a_wrong_field_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], field: str, fields: Mapping[str, Any]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    assert main(["model", str(path)]) == 2
    message = capsys.readouterr().err
    assert "config.json: " in message
    assert field in message
    assert "hint" in message
    assert len(message) < 1000


@pytest.mark.parametrize("text", ["[" * 10**5, '{"model_type": ' + "9" * 5000, "[]", "{"])
def test_an_invalid_configuration_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    assert main(["model", str(path)]) == 2
    assert "config.json" in capsys.readouterr().err
    assert main(["model", "x" * 6000]) == 2


@pytest.mark.parametrize(
    "changed", [{"num_hidden_layers": 4096}, {"num_key_value_heads": "x"}, {"rope_scaling": 4}]
)
def test_no_probe_is_made_of_a_large_or_wrong_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: Mapping[str, Any]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA, **changed}), encoding="utf-8")
    out = tmp_path / "probe"
    assert main(["probe", str(path), "--out", str(out)]) == 2
    assert next(iter(changed)) in capsys.readouterr().err
    assert not out.exists()


def test_every_field_that_means_something_has_its_kind() -> None:
    assert not sorted((read_by_any() | set(NAMES)) - FIELDS.keys())
    used = {name for names in USED_IN_A_BLOCK.values() for name in names}
    assert not sorted(used - IN_A_BLOCK.keys())


def test_released_models_are_far_from_every_bound() -> None:
    for model in load_all():
        for name, value in model.config.items():
            kind = FIELDS.get(name)
            if kind is not None and kind is not BLOCK and type(value) is int and value > 1:
                assert kind.holds(2 * value), (model.id, name)


@pytest.mark.slow
def test_a_wrong_configuration_is_a_usage_error_of_a_run(pytester: pytest.Pytester) -> None:
    config = pytester.path / "config.json"
    config.write_text(json.dumps({**LLAMA, "rope_scaling": "linear"}), encoding="utf-8")
    adapter = CHECKOUT / "docs/examples/myengine_adapter.py"
    result = pytester.runpytest_subprocess(f"--impl={adapter}", f"--posenc-model={config}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = "\n".join([*result.outlines, *result.errlines])
    assert "rope_scaling" in text
    assert "INTERNALERROR" not in text
    assert "Traceback" not in text
