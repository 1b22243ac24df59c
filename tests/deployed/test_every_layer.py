"""Every layer is checked for its window and its farthest distance, and every query for its keys."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import ml_dtypes
import numpy as np
import pytest

from posenc_conformance.checks import Options
from posenc_conformance.checks.deployed import checks, subjects_of
from posenc_conformance.checks.execution import Execution, execute
from posenc_conformance.deployed.engine import VERSION, Deployed, _probe_served, probe_for
from posenc_conformance.deployed.instrument import READ
from posenc_conformance.deployed.key_places import place_of_key
from posenc_conformance.deployed.keys_counted import counted
from posenc_conformance.deployed.layer_questions import prompt_for, scores_of
from posenc_conformance.deployed.layer_sums import LayerSum, across, can_add_up, visible
from posenc_conformance.deployed.measure import Measured, measure
from posenc_conformance.errors import UserError
from posenc_conformance.judge.verdict import Verdict
from posenc_lab.deployed.engine import Array, Engine, read_checkpoint
from posenc_lab.deployed.judging import InProcess
from posenc_lab.deployed.outside.judging import model_of
from posenc_lab.deployed.outside.layers import window_one_less, window_one_more
from posenc_lab.deployed.outside.places import Paged, page_twice
from posenc_lab.deployed.outside.serving import Served

pytestmark = pytest.mark.remembered(shipped=True)

LAYERS = range(6)


def deployed(engine: type[Engine], config: str) -> Deployed:
    model = model_of(config)
    served = engine(*read_checkpoint(model.path.parent / "probe"))
    return Deployed(InProcess(served), model, probe_for(model))


def run(engine: Deployed, name: str, length: int = 512) -> list[Execution]:
    """Run the checks of an engine whose id begins with ``name``."""
    found = checks(engine, subjects_of(engine, "float32"), length)
    return [execute(check, Options(1)) for check in found if check.id.startswith(name)]


HEADS = ((0, 1), (2, 3))
"""The heads that measure, by turns of layers."""


def blind(bad: int, size: int) -> type[Served]:
    """Hide keys beyond ``size`` from one layer."""

    class Blind(Served):
        def window(self, layer: int) -> int | None:
            return size if layer == bad else super().window(layer)

    return Blind


@pytest.mark.slow
@pytest.mark.parametrize("bad", LAYERS)
@pytest.mark.parametrize(("change", "seen"), [(window_one_more, 181), (window_one_less, 179)])
def test_a_window_that_is_one_off_is_found_in_any_layer(
    change: partial[type[Served]], seen: int, bad: int
) -> None:
    (result,) = run(deployed(change(bad), "mistral-deep"), "window-layers")
    assert result.verdict is Verdict.FAILED
    assert f"layer {bad} sees {seen} positions [window-off]" in result.text


@pytest.mark.slow
@pytest.mark.parametrize("bad", LAYERS)
def test_a_window_where_there_is_none_is_found_in_any_layer(bad: int) -> None:
    (result,) = run(deployed(blind(bad, 400), "llama-deep"), "far-layers")
    assert result.verdict is Verdict.FAILED
    heads = "heads {} and {}".format(*HEADS[bad % 2])
    assert f"in layer {bad} ({heads}): does not see keys at a distance of" in result.text


def late(bad: int) -> type[Served]:
    """Rotate the late keys of one layer by one position more."""

    class Late(Served):
        def key_places(self, where: Array, layer: int) -> Array:
            places = super().key_places(where, layer)
            return places + (places >= 200) * (layer == bad)

    return Late


@pytest.mark.slow
@pytest.mark.parametrize("bad", LAYERS)
def test_late_keys_at_wrong_places_are_found_in_any_layer(bad: int) -> None:
    (result,) = run(deployed(late(bad), "llama-deep"), "late-layers")
    assert result.verdict is Verdict.FAILED
    assert f"in layer {bad}" in result.text
    assert "have positions" in result.text


@pytest.mark.slow
def test_late_keys_of_no_wrong_layer_are_right() -> None:
    for kind in (Served, late(-1)):
        (result,) = run(deployed(kind, "llama-deep"), "late-layers")
        assert result.verdict is Verdict.PASSED, result.text


@pytest.mark.slow
@pytest.mark.parametrize("config", ["mistral-deep", "llama-deep"])
def test_several_layers_share_a_text_whose_sum_is_read_to_a_hundred_thousandth(config: str) -> None:
    engine = deployed(Served, config)
    (group,) = engine.model.meaning.groups
    text = across(prompt_for(engine.probe, group, 64, steps=8), group.layers)
    assert can_add_up(engine.probe)
    expected = LayerSum(engine.probe, group, text, "float32").scores(visible(group, text))
    assert np.abs(measure(engine.probe, engine, text).values - expected.values).max() < 1e-5


def test_gemma_has_a_text_for_each_layer() -> None:
    """A norm after attention, and a cap of scores, leave no sum."""
    assert not can_add_up(probe_for(model_of("gemma2-deep")))


def lost(place: int) -> type[Served]:
    """Hide one key from all queries but its own."""

    class Lost(Served):
        def seen(self, queries: Array, keys: Array, layer: int) -> Array:
            own = queries[:, None] == keys
            return np.asarray(super().seen(queries, keys, layer) & (own | (keys != place)))

    return Lost


@pytest.mark.parametrize("place", [0, 17, 100, 240])
def test_a_lost_key_is_counted(place: int) -> None:
    """No score shows it, since it is that of a filler."""
    first, *_ = run(deployed(lost(place), "llama-far"), "distance-1")
    assert first.verdict is Verdict.FAILED
    assert "sees 249 other keys, and there are 250 [keys-miscounted]" in first.text


@pytest.mark.parametrize("config", ["llama-far", "mistral-deep", "gpt_oss"])
def test_keys_are_counted_to_a_thousandth(config: str) -> None:
    engine = deployed(Served, config)
    for group in engine.model.meaning.groups:
        text = prompt_for(engine.probe, group, 64)
        logits = measure(engine.probe, engine, text).logits
        assert logits is not None
        rows = logits.reshape(-1, 2, 2).transpose(0, 2, 1)
        count = counted(engine.probe, group, text, rows, "float32")
        assert count is not None
        assert np.abs(count.got / count.expected - 1).max() < 1e-3
        assert count.ratio <= 1


@pytest.mark.parametrize("place", [0, 9, 200, 240])
def test_the_position_of_a_key_is_derived(place: int) -> None:
    engine = deployed(Served, "llama-far")
    (group,) = engine.model.meaning.groups
    text = prompt_for(engine.probe, group, 64, steps=8)
    right = scores_of(engine.probe, group, text, "float32")
    moved = scores_of(engine.probe, group, replace(text, key=place), "float32")
    assert place_of_key(engine.probe, group, Measured(text, moved.values), right) == place
    assert place_of_key(engine.probe, group, Measured(text, -right.values), right) is None


def test_a_probe_of_another_version_must_be_written_again() -> None:
    with pytest.raises(UserError, match="another version of posenc has written") as refused:
        _probe_served("a folder", "llama-3.1-8b", [])
    assert "posenc probe NAME --out FOLDER" in str(refused.value)
    model, probe = _probe_served("a folder", f"llama-3.1-8b{VERSION}", [])
    assert model.id == "llama-3.1-8b"
    assert probe.plan.name == f"llama-3.1-8b{VERSION}"


class KeysFromZero(Served):
    """Counts the keys that it generates from 0."""

    def key_places(self, where: Array, layer: int) -> Array:
        return np.asarray(where - self.now.ends * self.written)


def test_a_generated_key_that_is_rotated_to_another_position_is_named() -> None:
    (result,) = run(deployed(KeysFromZero, "llama-far"), "written-keys")
    assert result.verdict is Verdict.FAILED
    assert "which the engine writes, have positions 0, and given ones are right" in result.text


def test_a_text_goes_on_after_a_generated_key() -> None:
    """In a conversation the next prompt contains what the engine generated."""
    engine = deployed(Served, "llama-far")
    (group,) = engine.model.meaning.groups
    text = replace(prompt_for(engine.probe, group, 1, steps=4), written=True, given=0)
    generated, given = text.tokens(engine.probe), replace(text, given=4).tokens(engine.probe)
    assert given[: len(generated)] == generated
    assert len(given) == len(generated) + 1 + 4
    answers = engine.read(generated, 3)
    words = [max(answer, key=answer.__getitem__) for answer in answers]
    assert [engine.probe.plan.tokens[word] for word in words] == given[len(generated) :][:3]


def test_where_no_key_can_be_generated_is_reported() -> None:
    for result in run(deployed(Served, "gemma2"), "written-keys"):
        assert result.verdict is Verdict.NOT_CLAIMED
    assert not any(probe_for(model_of(name)).plan.writes for name in ("t5", "gpt2", "modernbert"))


@pytest.mark.slow
@pytest.mark.parametrize("config", ["llama", "llama-deep", "mistral-512"])
def test_every_key_of_a_text_is_checked(config: str) -> None:
    results = run(deployed(Served, config), "every-key", 1024)
    assert Verdict.PASSED in {result.verdict for result in results}


@pytest.mark.slow
@pytest.mark.parametrize(("start", "first"), [(400, "400, 401, 402"), (900, "900, 901, 902")])
def test_a_page_of_keys_is_found_wherever_it_is(start: int, first: str) -> None:
    """Keys of the second half of the context are asked as those of the first."""
    (result,) = run(deployed(page_twice(start), "llama-far"), "every-key", 1024)
    assert result.verdict is Verdict.FAILED
    assert f"keys at {first}" in result.text
    assert "[keys-lost]" in result.text


@pytest.mark.slow
def test_keys_that_are_kept_in_pages_are_right() -> None:
    (result,) = run(deployed(Paged, "llama-far"), "every-key", 1024)
    assert result.verdict is Verdict.PASSED, result.text


class RoundsLogProbabilities(Served):
    """Returns log-probabilities in bfloat16, as mlx-lm does with a model in bfloat16."""

    def complete(self, prompt: Sequence[int], steps: int) -> Iterator[dict[str, float]]:
        for answer in super().complete(prompt, steps):
            yield {word: float(ml_dtypes.bfloat16(value)) for word, value in answer.items()}


def test_rounded_log_probabilities_are_no_mistake_of_positions() -> None:
    (result,) = run(deployed(RoundsLogProbabilities, "llama"), "distance-64")
    assert result.outcome.explanations == ()
    assert "all log-probabilities are rounded to bfloat16" in result.text


class NoSharesInHalves(Served):
    """Gives keys no share, in steps of a half, as bfloat16 has between 64 and 128."""

    def complete(self, prompt: Sequence[int], steps: int) -> Iterator[dict[str, float]]:
        for answer in super().complete(prompt, steps):
            values = {word: value - n for n, (word, value) in enumerate(answer.items())}
            lost = dict.fromkeys(READ, values["zero"])
            yield {word: self.told(value) for word, value in (values | lost).items()}

    def told(self, value: float) -> float:
        return round(2 * value) / 2


class NoShares(NoSharesInHalves):
    """Gives keys no share, in all digits."""

    def told(self, value: float) -> float:
        return value


def test_shares_lost_to_rounding_are_no_missing_values() -> None:
    (exact,) = run(deployed(NoShares, "llama"), "distance-64")
    assert "[values-missing]" in exact.text.splitlines()[0]
    (result,) = run(deployed(NoSharesInHalves, "llama"), "distance-64")
    assert result.outcome.explanations == ()
    assert "all log-probabilities are rounded to bfloat16" in result.text
