"""Requests that save time: several texts at once, and late texts with one beginning."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from posenc_conformance.checks import Options
from posenc_conformance.checks.deployed import checks, subjects_of
from posenc_conformance.checks.execution import Execution, execute
from posenc_conformance.deployed.engine import Deployed, probe_for
from posenc_conformance.deployed.http.endpoint import Reading
from posenc_conformance.deployed.layer_questions import prompt_for
from posenc_conformance.deployed.layer_sums import LayerSum, across, visible
from posenc_conformance.deployed.prompts import DIGITS
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF
from posenc_conformance.judge.verdict import Verdict
from posenc_lab.deployed.engine import Array, Engine, read_checkpoint
from posenc_lab.deployed.judging import InProcess
from posenc_lab.deployed.outside.batches import PaddingLeftSeen
from posenc_lab.deployed.outside.judging import model_of
from posenc_lab.deployed.outside.reuse import KeptKeysTurnedTwice
from posenc_lab.deployed.outside.serving import Served

pytestmark = pytest.mark.remembered(shipped=True)

LATE = ("late-keys", "late-layers", "written-keys")


@dataclass(frozen=True)
class Recorded(InProcess):
    """An engine whose requests are recorded."""

    requests: list[Sequence[Sequence[int] | str]] = field(default_factory=list)

    def read(self, prompt: Sequence[int] | str, steps: int) -> list[Reading]:
        self.requests.append([prompt])
        return super().read(prompt, steps)

    def read_together(
        self, prompts: Sequence[Sequence[int] | str], steps: int
    ) -> list[list[dict[str, float]]]:
        self.requests.append(prompts)
        return super().read_together(prompts, steps)


def deployed(engine: type[Engine], config: str, *, batches: bool = True) -> Deployed:
    model = model_of(config)
    served = Recorded(engine(*read_checkpoint(model.path.parent / "probe")))
    return Deployed(served, model, probe_for(model), batches=batches)


def run(engine: Deployed, *names: str, length: int = 512) -> dict[str, Execution]:
    """Run the checks of an engine whose ids begin with one of some names."""
    found = checks(engine, subjects_of(engine, "float32"), length)
    return {check.id: execute(check, Options(1)) for check in found if check.id.startswith(names)}


def failed(found: dict[str, Execution]) -> dict[str, str]:
    """Return the name that each failed check gives."""
    return {
        id.partition("[")[0]: each.outcome.explanations[0][0]
        for id, each in found.items()
        if each.verdict is Verdict.FAILED
    }


def requests(engine: Deployed) -> list[Sequence[Sequence[int] | str]]:
    assert isinstance(engine.source, Recorded)
    return engine.source.requests


@pytest.mark.slow
def test_texts_of_all_layers_are_one_request_if_that_saves_time() -> None:
    alone, together = (deployed(Served, "llama-deep", batches=way) for way in (False, True))
    assert not failed(run(alone, "layers")) | failed(run(together, "layers"))
    assert [len(texts) for texts in requests(alone)] == [1] * 6
    assert [len(texts) for texts in requests(together)] == [6]


@pytest.mark.slow
def test_a_wrong_batch_is_told_as_such_where_other_checks_send_batches() -> None:
    found = failed(run(deployed(PaddingLeftSeen, "mistral"), ""))
    assert found == {"one-batch": "wrong-in-batch"}


@pytest.mark.slow
def test_layers_that_are_wrong_alone_are_found_where_batches_are_right() -> None:
    class WrongAlone(Served):
        """Puts the keys of one layer 3 positions ahead, unless several texts are sent at once."""

        def key_places(self, where: Array, layer: int) -> Array:
            return where + 3 * (layer == 4 and not self.now.texts)

    found = failed(run(deployed(WrongAlone, "llama-deep"), "late-layers", "far-layers"))
    assert [*found] == ["late-layers", "far-layers"]


@pytest.mark.slow
def test_late_texts_begin_alike() -> None:
    engine = deployed(Served, "llama-deep", batches=False)
    assert not failed(run(engine, *LATE, length=1024))
    late = [text for (text,) in requests(engine) if len(text) > 1000]
    assert len(late) > len(LATE) - 1
    assert len({tuple(text[:DIGITS]) for text in late}) == 1


@pytest.mark.slow
def test_a_reused_beginning_that_is_wrong_has_its_own_name() -> None:
    engine = deployed(KeptKeysTurnedTwice, "llama", batches=False)
    found = failed(run(engine, *LATE, "same-text-again", length=1024))
    assert found == {"same-text-again": "changes-when-repeated"}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_roundings_of_a_hidden_state_stay_within_the_bound_of_a_sum(dtype: str) -> None:
    engine = deployed(Served, "llama-deep")
    (group,) = engine.model.meaning.groups
    text = across(replace(prompt_for(engine.probe, group, 20), steps=8), group.layers)
    summed, seen = LayerSum(engine.probe, group, text, dtype), visible(group, text)
    layers, unit = np.array([text.layer, *text.also]), UNIT_ROUNDOFF[dtype]
    parts = np.stack(
        [summed._raised[layers == layer].sum(axis=0) for layer in dict.fromkeys(layers)]
    )
    for sign in (-1, 1):
        state = np.zeros_like(parts[0])
        for part in parts:  # every sum is rounded as far as can be, in one direction
            state = (state + part) * (1 + sign * unit)
        off = np.abs(np.log(state / parts.sum(axis=0)))
        counted = summed._roundings_of_sums(seen[..., np.newaxis])
        assert (off <= (counted + 1) * unit * (1 + len(layers) * unit)).all()
        assert (counted <= 2 * len(text.also)).all()  # if each sum were as large as the last
