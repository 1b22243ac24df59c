"""The factors of queries and logits in transformers' own attention, judged as an engine."""

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from transformers import CONFIG_MAPPING, AttentionInterface

from posenc_conformance import claims
from posenc_conformance.checks import Options
from posenc_conformance.checks.execution import Execution, execute
from posenc_conformance.checks.model_adapter import checks, subjects_of
from posenc_conformance.judge.arrays import Array
from posenc_conformance.models.file import model_named

HEADS = 2
KEPT: list[torch.Tensor] = []
"""Queries of the last call, multiplied by the scale of their logits."""


def keep(module: Any, query: Any, key: Any, value: Any, *_: Any, scaling: float, **__: Any) -> Any:
    """Replace attention itself: keep the scaled queries, and return the values."""
    KEPT[:] = [query * scaling]
    return value.transpose(1, 2), None


AttentionInterface.register("keep", keep)


class Cache:
    """A cache that reports ``count`` keys before a query and keeps none."""

    def __init__(self, count: int) -> None:
        self.count = count

    def get_seq_length(self, layer: int = 0) -> int:
        return self.count

    def update(self, key: Any, value: Any, *_: Any, **__: Any) -> Any:
        return key, value


ATTENTION = {
    "llama4_text": ("llama4", "Llama4TextAttention", "Llama4TextRotaryEmbedding"),
    "ministral3": ("ministral3", "Ministral3Attention", "Ministral3RotaryEmbedding"),
    "deepseek_v3": ("deepseek_v3", "DeepseekV3Attention", "DeepseekV3RotaryEmbedding"),
}
SMALL = {"hidden_size", "num_attention_heads", "num_key_value_heads", "q_lora_rank"}


class Attention:
    """An adapter that takes queries from a whole attention layer, one position at a time."""

    @claims(models=["llama-4-scout", "llama-4-maverick", "ministral-3-3b", "deepseek-v3"])
    def scores(
        self,
        q: Array,
        k: Array,
        q_positions: Array,
        k_positions: Array,
        *,
        config: Mapping[str, Any],
        layer: int,
    ) -> Array:
        assert not np.any(k_positions)
        rows = [
            self.row(config, layer, q[:, [place]], int(position))
            for place, position in enumerate(q_positions)
        ]
        return np.asarray(np.concatenate(rows, axis=1) @ k.transpose(0, 2, 1))

    def changed(self, module: Any) -> Any:
        return module

    def row(self, config: Mapping[str, Any], layer: int, q: Array, position: int) -> Array:
        folder, attention, rotary = ATTENTION[config["model_type"]]
        code = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
        latent = config["model_type"] == "deepseek_v3"
        before = 8 if latent else 0
        size = q.shape[-1] + before
        own = {"qk_nope_head_dim": before, "kv_lora_rank": 8, "v_head_dim": 8} if latent else {}
        fields = {
            name: value for name, value in config.items() if name not in {*SMALL, "model_type"}
        }
        made = CONFIG_MAPPING[config["model_type"]](
            **{**fields, "hidden_size": HEADS * size, "head_dim": q.shape[-1], **own},
            num_attention_heads=HEADS,
            num_key_value_heads=HEADS,
            q_lora_rank=None,
            use_qk_norm=False,
        )
        made._attn_implementation = "keep"
        module = self.changed(getattr(code, attention)(made, layer))
        with torch.no_grad():
            module.q_proj.weight.copy_(torch.eye(HEADS * size))
            x = torch.zeros(1, 1, HEADS, size)
            x[0, 0, :, before:] = torch.from_numpy(q[:, 0])
            where = torch.tensor([[position]])
            tables = getattr(code, rotary)(made)(x, where)
            keywords = {"attention_mask": None, "cache": Cache(position), "position_ids": where}
            module(x.flatten(-2), tables, **keywords)
        queries = KEPT[0][0, :, :, before:] * size**0.5
        if latent:  # its function moves the channels of pairs apart
            queries = queries.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)
        return np.asarray(queries.numpy())


class AsUsual(Attention):
    """Attention that only divides logits by the root of the head size."""

    def changed(self, module: Any) -> Any:
        module.attn_temperature_tuning = False
        module.scaling = getattr(module, "qk_head_dim", module.config.head_dim) ** -0.5
        block = module.config.rope_parameters
        module.config.rope_parameters = {**block, "llama_4_scaling_beta": 0.0}
        return module


def judged(adapter: object, name: str) -> list[Execution]:
    """Return the execution of every check of a model."""
    model = model_named(name)
    (subjects,) = subjects_of(adapter, [model]).values()
    return [execute(check, Options(1)) for check in checks(model, subjects)]


MODELS = ("llama-4-scout", "llama-4-maverick", "ministral-3-3b", "deepseek-v3")


@pytest.mark.parametrize("model", MODELS)
def test_transformers_is_right(model: str) -> None:
    executions = judged(Attention(), model)
    assert executions
    assert not [execution.text for execution in executions if execution.verdict != "passed"]


@pytest.mark.parametrize("model", MODELS)
def test_attention_without_factors_is_wrong(model: str) -> None:
    failures = [
        execution for execution in judged(AsUsual(), model) if execution.verdict != "passed"
    ]
    assert failures
    texts = [execution.text for execution in failures]
    named = {
        execution.outcome.explanations[0][0]
        for execution in failures
        if execution.outcome.explanations
    }
    assert named & {"temperature-missing", "score-factor-missing"}, texts
