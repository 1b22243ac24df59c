"""State kept from an earlier call is reported as such, and nothing else is."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import posenc
from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.diagnose.state import (
    describe_first_of_one,
    explained_by_earlier,
    is_fresh_right,
    kept_from_first,
    shows_in_next_call,
)
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.subject import Subject
from posenc_lab.judging import diagnoses, failed, judge, schemes
from posenc_lab.miniatures.base import Array
from tests.turning import first_lines, halves, omega

pytestmark = pytest.mark.remembered(shipped=True)


class Turning:
    """RoPE whose base passes through a method."""

    def base(self, base: float) -> float:
        return base

    @claims("half")
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        return halves(x, np.outer(positions, omega(x.shape[-1], self.base(base))))


class KeepsTheFirst(Turning):
    """RoPE with frequencies made once, as in a module."""

    kept: float | None = None

    def base(self, base: float) -> float:
        if self.kept is None:
            self.kept = base
        return self.kept


class KeepsForSizes:
    """RoPE with a cache keyed by the numbers of rows and channels."""

    def __init__(self) -> None:
        self.kept: dict[Any, float] = {}

    @claims("half")
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        base = self.kept.setdefault(x.shape[-2:], base)
        return halves(x, np.outer(positions, omega(x.shape[-1], base)))


class HardCoded(Turning):
    """RoPE without state: one base for all calls."""

    def base(self, base: float) -> float:
        return 10000.0


class KeepsTheLast(Turning):
    """RoPE with the base of the previous call."""

    kept: float = 10000.0

    def base(self, base: float) -> float:
        before, self.kept = self.kept, base
        return before


class KeepsTheFirstPeriod:
    """Timesteps with frequencies cached by ``dim``."""

    def __init__(self) -> None:
        self.kept: dict[int, float] = {}

    @claims("adm")
    def timestep(
        self, positions: Array, dim: int, *, max_period: float, scale: float, dtype: str, **_: Any
    ) -> Array:
        period = self.kept.setdefault(dim, max_period)
        half = dim // 2
        frequencies = period ** (-np.arange(half) / half)
        angles = scale * np.outer(np.asarray(positions, np.float64), frequencies)
        odd = np.zeros((len(positions), dim % 2))
        return np.concatenate([np.cos(angles), np.sin(angles), odd], axis=1).astype(dtype)


class TurnsOnce(Turning):
    """RoPE right in its first calls; later ones turn nothing, and every call is repeated alike."""

    def __init__(self) -> None:
        self.left = 12

    @claims("half")
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        self.left -= 1
        return super().rope(x, positions, base=base, layout=layout) if self.left > 0 else x


class TurnsNothing(Turning):
    """RoPE without state that turns nothing."""

    @claims("half")
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        return x


def test_state_that_stays_is_no_mistake_of_the_formula() -> None:
    verdicts = judge(TurnsOnce())
    assert diagnoses(verdicts) == []
    assert any("earlier calls leave something behind" in line for line in first_lines(verdicts))


def test_a_formula_that_is_wrong_at_once_is_no_state() -> None:
    verdicts = judge(TurnsNothing())
    assert diagnoses(verdicts)[:1] == ["unrotated"]
    assert not any("earlier calls" in line for line in first_lines(verdicts))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "number"),
    [(KeepsTheFirst, "base 1428.57"), (KeepsTheFirstPeriod, "max_period 1428.57")],
)
def test_state_of_the_first_call_is_reported(made: type, number: str) -> None:
    verdicts = judge(made())
    assert diagnoses(verdicts) == []
    lines = [line for line in first_lines(verdicts) if line.startswith("keeps something")]
    assert lines
    assert f"keeps something of the first call: matches {number} of that call" in lines[0]


@pytest.mark.slow
def test_state_for_each_size_is_not_reported_as_another_base() -> None:
    verdicts = judge(KeepsForSizes())
    assert diagnoses(verdicts) == []
    message = "keeps something of the first call: matches base 1428.57 of that call"
    assert any(message in line for line in first_lines(verdicts))


@pytest.mark.slow
def test_state_of_the_last_call_is_not_reported_as_another_base() -> None:
    verdicts = judge(KeepsTheLast())
    assert diagnoses(verdicts) == []
    assert any("earlier call" in line for line in first_lines(verdicts))


def test_one_base_for_all_is_not_reported_as_state() -> None:
    verdicts = judge(HardCoded())
    assert diagnoses(verdicts)[:1] == ["wrong-base"]
    assert not [line for line in first_lines(verdicts) if "call" in line]


def test_a_first_call_that_is_wrong_is_seen() -> None:
    """The first call may be wrong because tables are not ready yet."""

    class Warming(Turning):
        calls = 0

        def base(self, base: float) -> float:
            self.calls += 1
            return base if self.calls > 1 else 2 * base

    verdicts = judge(Warming())
    assert failed(verdicts)
    assert diagnoses(verdicts) == []


def of_base(asked: float, kept: float, earlier: list[float]) -> str:
    """Return the explanation of an answer with the base ``kept``, after calls with other bases."""
    (subject,) = subjects(Turning(), schemes())
    x, positions = np.ones((2, 4)), np.arange(2)
    cases = [
        subject.case({"x": x, "positions": positions, "base": base}, "float64")
        for base in (*earlier, asked)
    ]
    subject.history.calls.extend(cases)
    turned = cases[-1].with_arguments(base=kept).truth
    return next((words for _, words in explained_by_earlier(subject, cases[-1], turned)), "")


@pytest.mark.parametrize("ago", [1, 2, 5, 8])
def test_a_base_of_one_of_the_last_eight_calls_is_reported(ago: int) -> None:
    """A cache may evict the oldest of several entries and read a wrong one."""
    bases = [100.0 + n for n in range(20)]
    assert f"base {bases[-ago]:g}," in of_base(50, bases[-ago], bases)


def test_the_base_of_the_very_first_call_is_always_reported() -> None:
    bases = [100.0 + n for n in range(20)]
    assert "base 100," in of_base(50, 100, bases)


def test_the_base_of_a_call_in_between_is_not_reported() -> None:
    """After this many different values, some explain a result by accident."""
    bases = [100.0 + n for n in range(20)]
    assert of_base(50, bases[-9], bases) == ""
    assert of_base(50, bases[1], bases) == ""
    assert of_base(50, 99, bases) == ""


def test_repeated_values_count_once() -> None:
    bases = [100.0, 101.0, *[102.0 + n % 7 for n in range(21)]]
    assert "base 101," in of_base(50, 101, bases)


def opened(first: float, *asked: float) -> tuple[Subject, list[Case]]:
    """Return a subject whose first call had the base ``first``, and cases with other bases."""
    (subject,) = subjects(Turning(), schemes())
    fixed = {"x": np.ones((2, 4)), "positions": np.arange(2)}
    opening, *cases = (subject.case({**fixed, "base": base}, "float64") for base in (first, *asked))
    subject.history.openings["float64"] = opening
    return subject, cases


def kept_first(first: float, *asked: float, answered: float | None = None) -> tuple[str, ...]:
    subject, cases = opened(first, *asked)
    wrong = [
        (case, np.asarray(case.with_arguments(base=answered or first).truth)) for case in cases
    ]
    return kept_from_first(subject, wrong)


def test_a_whole_number_counts_as_kept_if_calls_have_several_others() -> None:
    """Next to one other base, a mistake with that number built in would look the same."""
    assert kept_first(1001.0, 10.0, 20.0) == ("base",)
    assert kept_first(1001.0, 10.0, 10.0) == ()
    assert kept_first(1000.5, 10.0, 10.0) == ("base",)


def test_a_value_that_explains_one_or_some_results_is_not_kept() -> None:
    assert kept_first(1000.5, 10.0) == ()
    assert kept_first(1000.5, 10.0, 20.0, answered=30.0) == ()
    assert kept_first(1000.5, 10.0, 1000.5) == ()  # which is right
    subject, cases = opened(1000.5, 10.0, 20.0)
    subject.history.forget()
    wrong = [(case, np.asarray(case.with_arguments(base=1000.5).truth)) for case in cases]
    assert kept_from_first(subject, wrong) == ()


def test_a_parameter_that_a_call_lacks_is_not_kept() -> None:
    subject, (case, plain) = opened(10.0, 10.0, 20.0)
    partial = {**case.conventions, "rotation": "partial"}
    opening = replace(case.with_arguments(rotary_dim=2), conventions=partial)
    subject.history.openings["float64"] = opening
    whole = replace(case.with_arguments(rotary_dim=4), conventions=partial)
    wrong = [(whole, np.asarray(opening.truth)), (plain, np.asarray(plain.truth) + 1)]
    assert kept_from_first(subject, wrong) == ()


@pytest.mark.parametrize(("first", "told"), [(1000.5, True), (1001.0, False)])
def test_one_result_shows_a_number_that_no_other_call_has(first: float, told: bool) -> None:
    subject, (case,) = opened(first, 10.0)
    text = describe_first_of_one(subject, case, np.asarray(case.with_arguments(base=first).truth))
    assert ("base 1000.5 " in text) == told == bool(text)
    assert (
        describe_first_of_one(subject, case, np.asarray(case.with_arguments(base=7.0).truth)) == ""
    )
    subject.history.forget()
    assert (
        describe_first_of_one(subject, case, np.asarray(case.with_arguments(base=first).truth))
        == ""
    )


class LongRowsOf500000(Turning):
    """RoPE with a hard-coded base for long rows, which another call also has."""

    @claims("half")
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        base = 500_000.0 if len(positions) > 64 else base
        return halves(x, np.outer(positions, omega(x.shape[-1], base)))


class LongRowsOneLate(Turning):
    @claims("half")
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        places = positions + (len(positions) > 64)
        return halves(x, np.outer(places, omega(x.shape[-1], base)))


class OneRowAtZero(Turning):
    @claims("half")
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        places = positions * (len(positions) > 1)
        return halves(x, np.outer(places, omega(x.shape[-1], base)))


class OfWholeBases(Turning):
    def base(self, base: float) -> float:
        return float(int(base))


class WideHeadsOf10000(Turning):
    @claims("half")
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        base = 10_000.0 if x.shape[-1] > 16 else base
        return halves(x, np.outer(positions, omega(x.shape[-1], base)))


class OfLength8192:
    @claims("half", dtype="float32")
    def llama3(self, x: Array, positions: Array, **given: Any) -> Array:
        return posenc.llama3(x, positions, **given | {"original_max_position_embeddings": 8192})


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [
        *(LongRowsOf500000, LongRowsOneLate, OneRowAtZero, OfWholeBases, WideHeadsOf10000),
        OfLength8192,
    ],
)
def test_implementations_without_state_are_not_said_to_have_any(made: type) -> None:
    verdicts = judge(made())
    assert failed(verdicts)
    blamed = ("earlier call", "first call", "leave", "kept")
    assert not [line for line in first_lines(verdicts) if any(word in line for word in blamed)]


def test_state_left_by_a_call_is_found_by_repeating_it() -> None:
    """It is repeated in a new instance of a class, or, without a class, in the next call."""

    class Last:
        kept: ClassVar[list[float]] = [10000.0]

        @claims("half")
        def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
            self.kept.append(base)
            return halves(x, np.outer(positions, omega(x.shape[-1], self.kept[-2])))

    arguments = {"x": np.ones((2, 4)), "positions": np.arange(2), "base": 50.0}
    for made, fresh, following in (
        *((Turning, True, False), (HardCoded, False, False), (KeepsTheFirst, True, False)),
        (Last, True, True),
    ):
        (subject,) = subjects(made(), schemes())
        subject.run(subject.case({**arguments, "base": 20.0}, "float32"))
        case = subject.case(arguments, "float32")
        subject.run(case)
        assert is_fresh_right(subject, case) == fresh
        assert shows_in_next_call(subject, case, ("base",)) == following
