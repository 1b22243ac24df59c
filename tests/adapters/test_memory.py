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
    return {each.check.subject.name for each in judge(adapter, ["smoke"])}


def names(adapter: object) -> set[str]:
    bad = failed(judge(adapter, ["behaviour"]))
    return {each.check.id.partition("[")[0] for each in bad}


@pytest.mark.slow
@pytest.mark.parametrize("wrong", MEMORY, ids=[each.__name__ for each in MEMORY])
def test_a_memory_mistake_is_found_here_and_in_a_worker(wrong: type[Turning]) -> None:
    there = load(f"{wrong.__module__}:{wrong.__name__}", How(Isolation.APART), schemes())
    try:
        found = names(there.adapter)
    finally:
        there.end()
    assert wrong.caught <= found
    if wrong.certain:
        assert found == names(wrong())


@pytest.mark.slow
@pytest.mark.parametrize("wrong", SOME, ids=[each.__name__ for each in SOME])
def test_claimed_options_are_checked_for_memory_mistakes(wrong: type[TurningSome]) -> None:
    assert wrong.caught <= names(wrong())


@pytest.mark.slow
def test_a_recorded_step_is_found_in_every_call() -> None:
    bad = failed(judge(Recorded(), ["behaviour"]))
    found = {each.check.subject.name: each.text for each in bad if "single-row" in each.check.id}
    assert found.keys() == subjects_of(Recorded())
    assert all("as an earlier call had" in text for text in found.values())


@pytest.mark.slow
@pytest.mark.parametrize("right", [Turning, TurningSome, Counting, Conditional])
def test_right_code_passes_in_a_worker(right: type) -> None:
    there = load(f"{right.__module__}:{right.__name__}", How(Isolation.APART), schemes())
    verdicts = judge(there.adapter)
    there.end()
    assert not failed(verdicts), failed(verdicts)[0].text
    found = {each.id: each.verdict for each in verdicts}
    assert found == {each.id: each.verdict for each in judge(right())}
    assert "passed" in found.values()
    assert ("not_claimed" in found.values()) == (right is Conditional)
