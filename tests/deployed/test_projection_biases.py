"""Biases of queries and keys: what a right engine makes of them, and the names of mistakes."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from posenc_conformance.checks import Options
from posenc_conformance.checks.execution import execute
from posenc_conformance.deployed.bias_mistakes import wrong_biases
from posenc_conformance.deployed.checkpoint.gguf_file import gguf_of
from posenc_conformance.deployed.checkpoint.probe_weights import tensors
from posenc_conformance.deployed.engine import probe_for
from posenc_conformance.deployed.expected_scores import Scores, expected
from posenc_conformance.deployed.instrument import UNKNOWN
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.projection_biases import (
    ALL_OF_QUERIES,
    PAIR_OF_KEYS,
    in_heads,
    left,
    off_of_score,
)
from posenc_conformance.deployed.prompts import Prompt, prompt_for
from posenc_conformance.judge.arrays import DTYPES, UNIT_ROUNDOFF, Floats
from posenc_conformance.models.file import model_named
from posenc_lab.deployed.outside.cases import Case
from posenc_lab.deployed.outside.judging import checks_of, judge
from posenc_lab.deployed.outside.listed import CASES
from posenc_lab.deployed.outside.naming import Answer

pytestmark = pytest.mark.remembered(shipped=True)

HERE = [case for case in CASES if case.engine.__module__.endswith("projections")]
MODELS = ("qwen2.5-0.5b", "pythia-70m", "phi-2", "starcoder2-7b", "gpt-oss-20b", "mimo-7b-base")


def _same(scores: Scores, prompt: Prompt) -> Scores:
    return scores


def rows_of(probe: Probe, layer: int) -> dict[str, tuple[Floats, Floats]]:
    """Return the weights and biases of a layer's projections, by name."""
    plain = dict(tensors(probe))
    place = f"{probe.family.names.layer.format(layer)}.{probe.family.names.attention}."
    names = [name for name in plain if name.startswith(place) and name.endswith(".bias")]
    return {
        name.removeprefix(place).removesuffix(".bias"): (
            plain[name.removesuffix("bias") + "weight"],
            plain[name],
        )
        for name in names
        if plain[name].any()
    }


@pytest.mark.parametrize("name", MODELS)
def test_all_tokens_take_the_biases_back(name: str) -> None:
    probe = probe_for(model_named(name))
    plan = probe.plan
    embeddings = dict(tensors(probe))[f"{probe.family.names.embeddings}.weight"]
    used = embeddings[UNKNOWN + 1 :]  # no text of a right engine sees padding
    used = used[used.any(axis=1)]
    size = np.sqrt((used**2).mean(axis=1, keepdims=True) + probe.eps)
    assert {*np.sign(used[:, plan.common])} == {plan.sign_of_common}
    made = rows_of(probe, 1)
    assert made
    for weights, bias in made.values():
        # The channels with a meaning of their own are not what takes biases back.
        taken = (used / size)[:, [plan.common]] * weights[:, plan.common]
        off = np.abs(taken + bias).max() / np.abs(bias).max()
        assert off <= 1e-9 + max(left(probe, gain, 0.0) for gain in plan.gains)


@pytest.mark.parametrize("name", MODELS)
def test_biases_are_exact_in_every_dtype_and_differ_by_head(name: str) -> None:
    probe = probe_for(model_named(name))
    for weights, bias in rows_of(probe, 0).values():
        for values in (weights[:, probe.plan.common], bias):
            for dtype in ("bfloat16", "float16"):
                assert np.array_equal(values.astype(DTYPES[dtype]).astype(float), values)
    query, key = in_heads(probe, 0, probe.plan.gains[-1])
    later, _ = in_heads(probe, 1, probe.plan.gains[-1])
    assert (query[0] != query[1]).any()
    assert (query[0] != later[0]).any()
    assert 0.25 * ALL_OF_QUERIES < np.abs(query).sum(axis=1).max() <= ALL_OF_QUERIES
    of_pairs = [np.hypot(key[:, first], key[:, second]) for first, second in probe.plan.pairs]
    assert 0.25 * PAIR_OF_KEYS < np.max(of_pairs) <= PAIR_OF_KEYS


@pytest.mark.parametrize("name", ["llama-3.1-8b", "qwen3-0.6b", "gpt2", "bert-base"])
def test_models_without_such_biases_have_none(name: str) -> None:
    probe = probe_for(model_named(name))
    assert not probe.plan.with_biases
    assert left(probe, probe.plan.gains[0], 1.0) == 0
    assert not rows_of(probe, 0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_is_left_of_biases_is_a_small_part_of_the_bound(dtype: str) -> None:
    model = model_named("qwen2.5-0.5b")
    probe, (group,) = probe_for(model), model.meaning.groups
    without = replace(probe, plan=replace(probe.plan, with_biases=False))
    prompt = prompt_for(probe, group, 4095)
    ours, plain = (expected(each, group, prompt, dtype).bound for each in (probe, without))
    assert (ours / plain).max() < 1.25
    assert (ours - plain).max() <= 1.01 * off_of_score(
        left(probe, prompt.gain, UNIT_ROUNDOFF[dtype])
    )


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_every_mistake_exceeds_the_bound(dtype: str) -> None:
    model = model_named("qwen2.5-0.5b")
    probe, (group,) = probe_for(model), model.meaning.groups
    for distance in (1, 64, 777):
        prompt = prompt_for(probe, group, distance)
        right = expected(probe, group, prompt, dtype)
        found = {
            id: np.abs(scores(prompt).values - right.values).max() / right.bound.max()
            for id, _, scores in wrong_biases(probe, group, partial(_same, right))
        }
        small = {"query-biases-not-permuted", "query-biases-after-rotation"}
        assert all(off > 1 for id, off in found.items() if dtype != "bfloat16" or id not in small)


def test_a_gguf_file_has_the_biases() -> None:
    model = model_named("qwen2.5-0.5b")
    probe = probe_for(model)
    content = gguf_of(probe, model.meaning, "float16")
    for _, bias in rows_of(probe, 0).values():
        assert bias.astype(np.float32).tobytes() in content


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in HERE if case.right], ids=lambda case: case.id)
def test_a_right_engine_is_accepted(case: Case) -> None:
    judged = judge(case)
    assert judged.answer is Answer.ACCEPTED, judged.said


WRONG = [case for case in HERE if not case.right]


@pytest.mark.slow
@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.id)
def test_a_wrong_engine_is_named(case: Case) -> None:
    execution = execute(next(checks_of(case, "distance-1[")), Options(1))
    names = [id for id, _ in execution.outcome.explanations]
    assert execution.verdict.name == "FAILED"
    assert not case.ids or names == [*case.ids], execution.text
