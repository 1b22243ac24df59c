"""Probes with as many heads as the model: what is wrong in one head, or with its keys, is found."""

import json
from pathlib import Path

import numpy as np
import pytest

from posenc_conformance.commands.main import main
from posenc_conformance.deployed.checkpoint.writing import write_checkpoint
from posenc_conformance.deployed.engine import Deployed, probe_for
from posenc_conformance.deployed.instrument import Instrument
from posenc_conformance.judge.verdict import Verdict
from posenc_conformance.models.file import model_named, with_configuration
from posenc_lab.deployed.engine import Array, Engine, read_checkpoint
from posenc_lab.deployed.judging import InProcess
from posenc_lab.deployed.outside.configs import LLAMA
from posenc_lab.deployed.outside.serving import Served
from tests.deployed.test_every_layer import run

pytestmark = pytest.mark.remembered(shipped=True)

HEADS, KEYS = 6, 3
CONFIG = {
    **LLAMA,
    "hidden_size": 32 * HEADS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KEYS,
    "num_hidden_layers": 3,
}


def served(engine: type[Engine], folder: Path) -> Deployed:
    """Return an engine that serves the probe with all heads."""
    path = folder / "config.json"
    path.write_text(json.dumps(CONFIG))
    model = with_configuration(path)
    probe = probe_for(model, all_heads=True)
    write_checkpoint(probe, "float32", folder / "probe")
    return Deployed(InProcess(engine(*read_checkpoint(folder / "probe"))), model, probe)


def one_head(head: int) -> type[Served]:
    """Turn one query head by twice the angle."""

    class OneHead(Served):
        def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
            turned = np.array(super().turn_query(x, positions, layer))
            turned[head] = super().turn_query(x, 2 * positions, layer)[head]
            return turned

    return OneHead


class KeysOfRanks(Served):
    """Give each of three ranks a key head, and the last two ranks each other's."""

    def spread(self, x: Array) -> Array:
        return super().spread(x[[0, 2, 1]])


class Tiled(Served):
    """Give heads the keys of heads 0, 1, 2, 0, 1, 2 … in turn."""

    def spread(self, x: Array) -> Array:
        return np.tile(x, (self.heads // self.kv_heads, 1, 1))


@pytest.mark.slow
def test_all_heads_are_those_of_the_model(tmp_path: Path) -> None:
    engine = served(Served, tmp_path)
    plan = engine.probe.plan
    assert (plan.heads, plan.kv_heads) == (HEADS, KEYS)
    assert {head for layer in range(3) for head in plan.heads_of(layer)} == {*range(HEADS)}
    found = run(engine, "layers") + run(engine, "distance-64")
    assert [each.verdict for each in found] == [Verdict.PASSED] * len(found)


@pytest.mark.slow
@pytest.mark.parametrize("head", range(HEADS))
def test_a_wrong_head_is_found_whichever_it_is(head: int, tmp_path: Path) -> None:
    (result,) = run(served(one_head(head), tmp_path), "layers")
    assert result.verdict is Verdict.FAILED
    assert f"in layer {head // 2} " in result.text
    assert f"head {head}" in result.text


@pytest.mark.slow
@pytest.mark.parametrize("engine", [KeysOfRanks, Tiled])
def test_keys_of_other_heads_are_found(engine: type[Served], tmp_path: Path) -> None:
    found = run(served(engine, tmp_path), "layers")
    assert Verdict.FAILED in {each.verdict for each in found}


def test_few_layers_are_spread_over_all_heads() -> None:
    plan = probe_for(model_named("smollm-135m")).plan
    few = Instrument("few", 3, 32, plan.pairs, 512, 32, 8)
    assert [few.heads_of(layer)[0] for layer in range(3)] == [0, 10, 20]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("deepseek-v2-lite", "its keys are latent"),
        ("gpt2", "it asks rows"),
        ("t5-small", "it asks distances"),
        ("olmo-2-13b", "1,048,576,000 weights"),
    ],
)
def test_a_probe_that_cannot_have_all_heads_says_why(
    model: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", model, "--all-heads", "--out", str(tmp_path / "p")]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "write it without --all-heads" in error
    assert not (tmp_path / "p").exists()
