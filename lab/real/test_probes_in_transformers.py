"""Probes of every family, run by transformers: the family's own code reads the weights."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from posenc_conformance.checks import Options
from posenc_conformance.checks.deployed import checks, subjects_of
from posenc_conformance.checks.execution import Execution, execute
from posenc_conformance.commands.main import main
from posenc_conformance.deployed.architectures.decoders import FAMILIES
from posenc_conformance.deployed.architectures.encoders import ENCODERS
from posenc_conformance.deployed.engine import find_deployed
from posenc_conformance.judge.verdict import Verdict
from posenc_conformance.models.file import Model, load_all, with_configuration
from posenc_lab.deployed.cases import CONFIGS
from posenc_lab.deployed.judging import folder_of

LENGTH = 512
"""Tokens of the longest text: transformers is slow for more."""
ASKED = ("distance-1", "distance-64", "ahead", "row-1", "row-64", "prefill")
IN_A_BATCH = ("one-batch",)
"""Further checks of encoders: transformers counts padding in Llama 4's temperature."""


def smallest(type: str) -> str:
    """Return the model of a type with the fewest layers, or the laboratory's configuration."""
    if type in CONFIGS:
        return str(folder_of(type) / "config.json")
    models = [model for model in load_all() if model.configuration.type == type]
    return min(models, key=lambda candidate: candidate.configuration.whole("num_hidden_layers")).id


def asked_for(name: str) -> list[Model]:
    """Return the models that the command line must name for a probe."""
    return [with_configuration(Path(name))] if name.endswith(".json") else []


def judge(folder: Path, name: str, dtype: str, asked: tuple[str, ...]) -> dict[str, Execution]:
    """Run the checks ``asked`` on a probe in transformers; return their executions by id."""
    engine = find_deployed(str(folder), None, asked_for(name), dtype)
    return {
        check.id: execute(check, Options(1))
        for check in checks(engine, subjects_of(engine, dtype), LENGTH)
        if check.id.startswith(asked)
    }


READ_AS: Mapping[str, str] = {"kimi_k2": "deepseek_v3", "mimo": "qwen2"}
"""Types that only code beside a model reads, and the types of transformers that are the same."""
UNREAD = ("internlm2",)
"""Types that only such code reads, and whose tensors have names and layouts of their own."""


def written(folder: Path, name: str, dtype: str, spelling: str = "released") -> Path:
    """Write a probe, and return its folder."""
    out = folder / "probe"
    options = ["--out", str(out), "--dtype", dtype, "--spelling", spelling]
    assert main(["probe", name, *options]) == 0
    path = out / "config.json"
    config = json.loads(path.read_text())
    if config["model_type"] in READ_AS:
        path.write_text(json.dumps({**config, "model_type": READ_AS[config["model_type"]]}))
    return out


@pytest.mark.parametrize(
    "type", [*(type for type in FAMILIES if type not in UNREAD), "falcon_alibi"]
)
@pytest.mark.parametrize(
    ("dtype", "spelling"),
    [("float32", "released"), ("float32", "transformers-5"), ("bfloat16", "released")],
)
def test_transformers_reads_a_probe(type: str, dtype: str, spelling: str, tmp_path: Path) -> None:
    name = smallest(type)
    ids = ASKED + (IN_A_BATCH if type in (*ENCODERS, "t5") else ())
    executions = judge(written(tmp_path, name, dtype, spelling), name, dtype, ids)
    assert len(executions) >= 3
    assert {
        id: execution.text
        for id, execution in executions.items()
        if execution.verdict != Verdict.PASSED
    } == {}


@dataclass(frozen=True)
class Misread:
    """Changes to a probe's configuration, and the mistake that they cause."""

    type: str
    changed: Mapping[str, Any]
    name: str
    """The name of the mistake; empty if it has none."""

    @property
    def id(self) -> str:
        return f"{self.type}-{self.name}"


def changed(type: str, **fields: Any) -> Mapping[str, Any]:
    """Return a block of rotation with other fields."""
    return {"rope_parameters": {**CONFIGS[type]["rope_parameters"], **fields}}


def of_full(**fields: Any) -> Mapping[str, Any]:
    """Return Gemma 4's blocks of rotation, with other fields for layers without a window."""
    blocks = CONFIGS["gemma4_text"]["rope_parameters"]
    return {"rope_parameters": {**blocks, "full_attention": {**blocks["full_attention"], **fields}}}


MISREAD = (
    Misread("modernbert", {"global_rope_theta": 10000.0}, "local-base-everywhere"),
    Misread("modernbert", {"local_rope_theta": 160000.0}, "global-base-everywhere"),
    Misread("modernbert", {"local_attention": 192}, "window-off"),
    Misread("modernbert", {"local_attention": 98}, "window-off"),
    Misread("nomic_bert", {"rope_theta": 10000.0}, "base-ignored"),
    Misread("granite", {"attention_multiplier": 0.03125}, "scores-multiplied"),
    Misread("granite", {"rope_theta": 10000.0}, "base-ignored"),
    Misread("cohere", {"rope_theta": 10000.0}, "base-ignored"),
    Misread("cohere2", {"sliding_window": 181}, "window-off"),
    Misread("falcon_alibi", {"alibi": False}, "bias-missing"),
    Misread("t5", {"relative_attention_max_distance": 256}, "wrong-max-distance"),
    Misread("t5", {"relative_attention_max_distance": 64}, "wrong-max-distance"),
    Misread("deepseek_v2", {"rope_theta": 1000000.0}, "base-of-another-model"),
    Misread("deepseek_v3", {"rope_scaling": None}, "scaling-ignored"),
    Misread("deepseek_v3", {"rope_interleave": False}, "layout-swapped"),
    Misread("exaone4", {"rope_scaling": None}, "scaling-ignored"),
    Misread("ministral", {"layer_types": ["sliding_attention"] * 4}, "window-everywhere"),
    Misread("olmo", {"rope_theta": 500000.0}, "base-of-another-model"),
    Misread("seed_oss", {"rope_theta": 10000.0}, "base-ignored"),
    Misread("falcon", {"rope_theta": 10000.0}, "base-ignored"),
    Misread("gemma", {"rope_theta": 1000000.0}, "base-of-another-model"),
    Misread("gemma2", {"attn_logit_softcapping": None}, "score-cap-missing"),
    Misread("gemma2", {"final_logit_softcapping": None}, "logit-cap-missing"),
    Misread("gemma2", {"query_pre_attn_scalar": 32}, "scores-multiplied"),
    Misread("gemma3_text", {"rope_local_base_freq": 20000.0}, ""),
    Misread("gemma3_text", {"rope_scaling": None}, "scaling-ignored"),
    Misread("gpt_oss", {"sliding_window": 181}, "window-off"),
    Misread("gpt_oss", {"layer_types": ["sliding_attention"] * 4}, "window-everywhere"),
    Misread("olmo2", {"rope_theta": 10000.0}, "base-ignored"),
    Misread("olmo3", {"sliding_window": 179}, "window-off"),
    Misread("glm4", {"partial_rotary_factor": 1.0}, "partial-ignored"),
    Misread("glm", {"partial_rotary_factor": 1.0}, "partial-ignored"),
    Misread("llama4_text", {"attention_chunk_size": 321}, "window-off"),
    Misread("llama4_text", {"attention_chunk_size": 319}, "window-off"),
    Misread("llama4_text", {"attn_temperature_tuning": False}, "temperature-missing"),
    Misread("kimi_k2", {"rope_scaling": None}, "scaling-ignored"),
    Misread("kimi_k2", {"rope_interleave": False}, "layout-swapped"),
    Misread("kimi_k2", {"rope_theta": 10000.0}, "base-ignored"),
    Misread("mimo", {"rope_theta": 10000.0}, "base-ignored"),
    Misread("exaone4_5_text", {"rope_scaling": None}, "scaling-ignored"),
    Misread("exaone4_5_text", {"sliding_window": 181}, "window-off"),
    Misread("lfm2", {"rope_theta": 10000.0}, "base-ignored"),
    Misread("lfm2", {"rope_theta": 500000.0}, "base-of-another-model"),
    Misread("mllama_text_model", {"rope_scaling": None}, "scaling-ignored"),
    Misread("qwen2_5_vl_text", {"rope_theta": 10000.0}, "base-ignored"),
    Misread("qwen3_vl_text", {"rope_theta": 10000.0}, "base-ignored"),
    Misread("qwen3_vl_moe_text", {"rope_theta": 1000000.0}, "base-of-another-model"),
    Misread("qwen3_next", {"partial_rotary_factor": 1.0}, "partial-ignored"),
    Misread("qwen3_next", {"partial_rotary_factor": 0.0625}, "share-twice"),
    Misread("qwen3_next", {"rope_theta": 10000.0}, "base-ignored"),
    Misread("qwen3_5_text", changed("qwen3_5_text", rope_theta=10000.0), "base-ignored"),
    Misread("qwen3_5_text", changed("qwen3_5_text", partial_rotary_factor=1.0), "partial-ignored"),
    Misread("gemma4_text", {"sliding_window": 181}, "window-off"),
    Misread("gemma4_text", of_full(partial_rotary_factor=1.0), "partial-ignored"),
    Misread("gemma4_text", of_full(partial_rotary_factor=0.0625), "share-twice"),
    Misread("gemma4_text", of_full(rope_theta=10000.0), "local-base-everywhere"),
    Misread("ministral3", changed("ministral3", llama_4_scaling_beta=0), "temperature-missing"),
)


@pytest.mark.parametrize("misread", MISREAD, ids=lambda result: result.id)
def test_a_misread_configuration_is_named(misread: Misread, tmp_path: Path) -> None:
    name = smallest(misread.type)
    folder = written(tmp_path, name, "float32")
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config.get("text_config", config).update(misread.changed)
    path.write_text(json.dumps(config))
    executions = judge(folder, name, "float32", ("distance", "row", "window"))
    failed = [result for result in executions.values() if result.verdict == Verdict.FAILED]
    named = {result.outcome.explanations[0][0] for result in failed if result.outcome.explanations}
    assert failed
    assert named == ({misread.name} if misread.name else set())
