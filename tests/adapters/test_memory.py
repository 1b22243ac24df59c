"""Mistakes with memory are found, wherever the implementation runs."""

import pytest

from posenc_conformance.remote.load import How, Isolation, load
from posenc_lab.judging import failed, judge, schemes
from posenc_lab.miniatures.memory import (
    MEMORY,
    SOME,
    Conditional,
    Counting,
    Recorded,
    Turning,
    TurningSome,
)

pytestmark = pytest.mark.remembered(shipped=True)


def subjects_of(adapter: object) -> set[str]:
    return {verdict.check.subject.name for verdict in judge(adapter, ["smoke"])}


def names(adapter: object) -> set[str]:
    bad = failed(judge(adapter, ["behaviour"]))
    return {verdict.check.id.partition("[")[0] for verdict in bad}


@pytest.mark.slow
@pytest.mark.parametrize("wrong", MEMORY, ids=[mistake.__name__ for mistake in MEMORY])
def test_a_memory_mistake_is_found_here_and_in_a_worker(wrong: type[Turning]) -> None:
    loaded = load(f"{wrong.__module__}:{wrong.__name__}", How(Isolation.APART), schemes())
    try:
        names_apart = names(loaded.adapter)
    finally:
        loaded.end()
    assert wrong.caught <= names_apart
    if wrong.certain:
        assert names_apart == names(wrong())


@pytest.mark.slow
@pytest.mark.parametrize("wrong", SOME, ids=[mistake.__name__ for mistake in SOME])
def test_claimed_options_are_checked_for_memory_mistakes(wrong: type[TurningSome]) -> None:
    assert wrong.caught <= names(wrong())


@pytest.mark.slow
def test_a_recorded_step_is_found_in_every_call() -> None:
    bad = failed(judge(Recorded(), ["behaviour"]))
    texts = {run.check.subject.name: run.text for run in bad if "single-row" in run.check.id}
    assert texts.keys() == subjects_of(Recorded())
    assert all("as an earlier call had" in text for text in texts.values())


@pytest.mark.slow
@pytest.mark.parametrize("right", [Turning, TurningSome, Counting, Conditional])
def test_right_code_passes_in_a_worker(right: type) -> None:
    loaded = load(f"{right.__module__}:{right.__name__}", How(Isolation.APART), schemes())
    verdicts = judge(loaded.adapter)
    loaded.end()
    assert not failed(verdicts), failed(verdicts)[0].text
    outcomes = {verdict.id: verdict.verdict for verdict in verdicts}
    assert outcomes == {verdict.id: verdict.verdict for verdict in judge(right())}
    assert "passed" in outcomes.values()
    assert ("not_claimed" in outcomes.values()) == (right is Conditional)
