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
    """Rotary embedding whose base goes through a step."""

    def base(self, base: float) -> float:
        return base

    @claims("half")
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        return halves(x, np.outer(positions, omega(x.shape[-1], self.base(base))))


class KeepsTheFirst(Turning):
    """As a module that makes its frequencies once."""

    kept: float | None = None

    def base(self, base: float) -> float:
        if self.kept is None:
            self.kept = base
        return self.kept


class KeepsForSizes:
    """As a cache keyed by the number of rows and channels."""

    def __init__(self) -> None:
        self.kept: dict[Any, float] = {}

    @claims("half")
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        base = self.kept.setdefault(x.shape[-2:], base)
        return halves(x, np.outer(positions, omega(x.shape[-1], base)))


class HardCoded(Turning):
    """No state: one base for all."""

    def base(self, base: float) -> float:
        return 10000.0


class KeepsTheLast(Turning):
    """The base of the call before."""

    kept: float = 10000.0

    def base(self, base: float) -> float:
        before, self.kept = self.kept, base
        return before


class KeepsTheFirstPeriod:
    """Frequencies kept by their number."""

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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "number"),
    [(KeepsTheFirst, "base 1428.57"), (KeepsTheFirstPeriod, "max_period 1428.57")],
)
def test_what_is_kept_of_the_first_call_is_told(made: type, number: str) -> None:
    verdicts = judge(made())
    assert diagnoses(verdicts) == []
    lines = [line for line in first_lines(verdicts) if line.startswith("keeps something")]
    assert lines
    assert f"keeps something of the first call: matches {number} of that call" in lines[0]


@pytest.mark.slow
def test_what_is_kept_for_a_size_is_no_other_base() -> None:
    verdicts = judge(KeepsForSizes())
    assert diagnoses(verdicts) == []
    said = "keeps something of the first call: matches base 1428.57 of that call"
    assert any(said in line for line in first_lines(verdicts))


@pytest.mark.slow
def test_what_is_kept_of_the_last_call_is_no_other_base() -> None:
    verdicts = judge(KeepsTheLast())
    assert diagnoses(verdicts) == []
    assert any("earlier call" in line for line in first_lines(verdicts))


def test_one_base_for_all_is_not_told_as_kept() -> None:
    verdicts = judge(HardCoded())
    assert diagnoses(verdicts)[:1] == ["wrong-base"]
    assert not [line for line in first_lines(verdicts) if "call" in line]


def test_a_first_call_that_is_wrong_is_seen() -> None:
    """As of tables that are not yet there."""

    class Warming(Turning):
        calls = 0

        def base(self, base: float) -> float:
            self.calls += 1
            return base if self.calls > 1 else 2 * base

    verdicts = judge(Warming())
    assert failed(verdicts)
    assert diagnoses(verdicts) == []


def of_base(asked: float, kept: float, earlier: list[float]) -> str:
    """The explanation of an answer that has another base, after calls with these bases."""
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
def test_what_one_of_the_last_eight_calls_had_is_told(ago: int) -> None:
    """As of a cache that throws out the oldest of several entries and takes a wrong one."""
    bases = [100.0 + n for n in range(20)]
    assert f"base {bases[-ago]:g}," in of_base(50, bases[-ago], bases)


def test_what_the_very_first_call_had_is_told_however_long_ago() -> None:
    bases = [100.0 + n for n in range(20)]
    assert "base 100," in of_base(50, 100, bases)


def test_what_a_call_in_between_had_is_no_state() -> None:
    """After this many different values, some explain a result by accident."""
    bases = [100.0 + n for n in range(20)]
    assert of_base(50, bases[-9], bases) == ""
    assert of_base(50, bases[1], bases) == ""
    assert of_base(50, 99, bases) == ""


def test_values_that_were_asked_again_count_once() -> None:
    bases = [100.0, 101.0, *[102.0 + n % 7 for n in range(21)]]
    assert "base 101," in of_base(50, 101, bases)


def opened(first: float, *asked: float) -> tuple[Subject, list[Case]]:
    """One whose first call had a base, and calls with others."""
    (subject,) = subjects(Turning(), schemes())
    given = {"x": np.ones((2, 4)), "positions": np.arange(2)}
    opening, *cases = (subject.case({**given, "base": base}, "float64") for base in (first, *asked))
    subject.history.openings["float64"] = opening
    return subject, cases


def kept_first(first: float, *asked: float, answered: float | None = None) -> tuple[str, ...]:
    subject, cases = opened(first, *asked)
    wrong = [
        (case, np.asarray(case.with_arguments(base=answered or first).truth)) for case in cases
    ]
    return kept_from_first(subject, wrong)


def test_whole_numbers_are_kept_where_several_others_are_asked_for() -> None:
    """A mistake that has that number by itself would look the same beside one other alone."""
    assert kept_first(1001.0, 10.0, 20.0) == ("base",)
    assert kept_first(1001.0, 10.0, 10.0) == ()
    assert kept_first(1000.5, 10.0, 10.0) == ("base",)


def test_what_explains_one_wrong_result_or_not_all_is_not_kept() -> None:
    assert kept_first(1000.5, 10.0) == ()
    assert kept_first(1000.5, 10.0, 20.0, answered=30.0) == ()
    assert kept_first(1000.5, 10.0, 1000.5) == ()  # which is right
    subject, cases = opened(1000.5, 10.0, 20.0)
    subject.history.forget()
    wrong = [(case, np.asarray(case.with_arguments(base=1000.5).truth)) for case in cases]
    assert kept_from_first(subject, wrong) == ()


def test_what_a_call_is_not_given_is_not_kept() -> None:
    subject, (case, plain) = opened(10.0, 10.0, 20.0)
    partial = {**case.conventions, "rotation": "partial"}
    opening = replace(case.with_arguments(rotary_dim=2), conventions=partial)
    subject.history.openings["float64"] = opening
    whole = replace(case.with_arguments(rotary_dim=4), conventions=partial)
    wrong = [(whole, np.asarray(opening.truth)), (plain, np.asarray(plain.truth) + 1)]
    assert kept_from_first(subject, wrong) == ()


@pytest.mark.parametrize(("first", "told"), [(1000.5, True), (1001.0, False)])
def test_one_result_tells_of_a_number_that_no_other_call_has(first: float, told: bool) -> None:
    subject, (case,) = opened(first, 10.0)
    found = describe_first_of_one(subject, case, np.asarray(case.with_arguments(base=first).truth))
    assert ("base 1000.5 " in found) == told == bool(found)
    assert (
        describe_first_of_one(subject, case, np.asarray(case.with_arguments(base=7.0).truth)) == ""
    )
    subject.history.forget()
    assert (
        describe_first_of_one(subject, case, np.asarray(case.with_arguments(base=first).truth))
        == ""
    )


class LongRowsOf500000(Turning):
    """The number of another call, and of the code."""

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
def test_what_has_no_state_is_not_said_to_have_any(made: type) -> None:
    verdicts = judge(made())
    assert failed(verdicts)
    blamed = ("earlier call", "first call", "leave", "kept")
    assert not [line for line in first_lines(verdicts) if any(word in line for word in blamed)]


def test_that_a_call_leaves_something_is_seen_by_making_it() -> None:
    """With a class, by a new instance of it; without, by what the next call has of it."""

    class Last:
        kept: ClassVar[list[float]] = [10000.0]

        @claims("half")
        def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
            self.kept.append(base)
            return halves(x, np.outer(positions, omega(x.shape[-1], self.kept[-2])))

    given = {"x": np.ones((2, 4)), "positions": np.arange(2), "base": 50.0}
    for made, fresh, following in (
        *((Turning, True, False), (HardCoded, False, False), (KeepsTheFirst, True, False)),
        (Last, True, True),
    ):
        (subject,) = subjects(made(), schemes())
        subject.run(subject.case({**given, "base": 20.0}, "float32"))
        case = subject.case(given, "float32")
        subject.run(case)
        assert is_fresh_right(subject, case) == fresh
        assert shows_in_next_call(subject, case, ("base",)) == following
