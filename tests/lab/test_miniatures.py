"""Every right implementation passes, whatever its style; every wrong one is rejected and named."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from posenc_conformance.judge.form import EXACT
from posenc_lab.judging import Verdict, diagnoses, failed, judge, judge_until_named, schemes
from posenc_lab.miniatures import right, wrong
from posenc_lab.miniatures.base import STEPS, WRONG, Mistake
from posenc_lab.miniatures.everywhere import whole
from posenc_lab.miniatures.styles import RIGHT
from posenc_lab.store import FRESH
from posenc_lab.verdicts import key_of, once
from tests.shares import drawn

assert right.__path__, wrong.__path__  # importing them fills the lists


def told(verdicts: Sequence[Verdict]) -> str:
    """Return verdicts as text, with the kit's words about them."""
    return "\n\n".join(f"{verdict.id} {verdict.verdict}:\n{verdict.text}" for verdict in verdicts)


def name_of(miniature: Any) -> str:
    return str(miniature.__name__).strip("_").replace(" ", "-")


def assert_right(adapter: object) -> None:
    verdicts = judge(adapter)
    bad = [verdict for verdict in verdicts if verdict.verdict in ("failed", "blocked")]
    assert verdicts
    assert not bad, told(bad)


MODULES = sorted({miniature.__module__ for miniature in (*RIGHT, *STEPS, *WRONG)})
"""The modules of miniatures, one for the right ones and one for the wrong ones of each scheme."""


def scheme_of(module: str) -> str:
    return module.rpartition(".")[2]


def made_in(module: str, miniatures: Iterable[Any]) -> list[Any]:
    """Return a share of a module's miniatures, or all if their scheme has changed."""
    own = [miniature for miniature in miniatures if miniature.__module__ == module]
    return drawn(own, name_of, scheme_of(module))


def hold_all(miniatures: Iterable[Any], hold: Callable[[Any], None]) -> None:
    """Check each miniature by ``hold``, then report all that fail."""
    broken = []
    for miniature in miniatures:
        try:
            hold(miniature)
        except Exception as problem:
            broken.append(f"{name_of(miniature)}: {problem or type(problem).__name__}")
    assert not broken, "\n\n".join(broken)


@pytest.mark.always
@pytest.mark.parametrize("module", MODULES, ids=scheme_of)
def test_right_passes(module: str) -> None:
    hold_all(made_in(module, RIGHT), lambda make: once_right(make(), make))


@pytest.mark.always
@pytest.mark.parametrize("module", MODULES, ids=scheme_of)
def test_the_steps_that_wrong_ones_change_are_right(module: str) -> None:
    """Thus each wrong one is wrong only in the step that it changes."""
    hold_all(made_in(module, STEPS), lambda steps: once_right(whole(steps), steps))


@pytest.mark.always
@pytest.mark.parametrize("module", MODULES, ids=scheme_of)
def test_wrong_is_rejected_and_named(module: str) -> None:
    hold_all(made_in(module, WRONG), once_wrong)


def once_right(adapter: object, miniature: Any) -> None:
    key = key_of(adapter, name_of(miniature), miniature.__module__, __name__)
    once(key, lambda: assert_right(adapter))


def once_wrong(mistake: type[Mistake]) -> None:
    key = key_of(mistake(), name_of(mistake), mistake.__module__, __name__)
    once(key, lambda: assert_wrong(mistake))


def assert_wrong(mistake: type[Mistake]) -> None:
    verdicts = judge(mistake()) if FRESH else judge_until_named(mistake(), mistake.named)
    bad = failed(verdicts)
    assert bad, f"nothing failed, but: {mistake.__doc__}"
    if mistake.named is not None:
        names = diagnoses(verdicts)
        assert names[:1] == [mistake.named], f"{mistake.__doc__}\n{names}\n\n{told(bad)}"


@pytest.mark.always
def test_every_claim_of_the_spec_has_a_right_miniature() -> None:
    """Right miniatures claim each combination of each call, in each dtype."""
    claimed = {
        (verdict.check.subject.call.name, verdict.check.subject.label, dtype)
        for adapter in [*(make() for make in RIGHT), *map(whole, tuple(STEPS))]
        for verdict in judge(adapter, levels=("smoke",))
        for dtype in verdict.check.subject.dtypes
    }
    expected = {
        (call.name, combination, dtype)
        for scheme in schemes()
        for call in scheme.calls.values()
        for combination in call.combinations
        for dtype in (
            (call.dtype,) if call.dtype in EXACT else ("float64", "float32", "bfloat16", "float16")
        )
    }
    assert expected <= claimed


def test_every_deviation_of_the_spec_has_a_wrong_miniature() -> None:
    expected = {
        (call, deviation.id)
        for entry in schemes()
        for deviation in entry.deviations
        for call in deviation.calls
    }
    named = {(entry.call, entry.named) for entry in WRONG if entry.named and "+" not in entry.named}
    assert expected == named


def test_miniatures_have_unique_names() -> None:
    for miniatures in (RIGHT, WRONG):
        names = [name_of(miniature) for miniature in miniatures]
        assert len(set(names)) == len(names)
