"""Interleaved calls: the state that a call leaves for others, in tables, caches and buffers."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np

from posenc_conformance.checks.anew import ask_anew
from posenc_conformance.checks.bench import optional_cases, require_plainly_right
from posenc_conformance.checks.smoke import first_answer, smallest_case
from posenc_conformance.checks.variations import (
    above_first,
    large,
    large_twins,
    other_cases,
    others_above,
)
from posenc_conformance.diagnose.explain import require_agreement
from posenc_conformance.diagnose.followups import describe_unsteady
from posenc_conformance.diagnose.state import describe_repeats
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.calling import ask, call_line, hold
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import agrees
from posenc_conformance.judge.history import once_per_subject
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Blocked, NotClaimed, Wrong


@dataclass(frozen=True)
class TurnResults:
    """The problems found while the smallest call and others are made in turn."""

    calls: int
    problems: Mapping[str, Exception]
    """The first problem found by each check."""


@once_per_subject
def take_in_turn(subject: Subject, dtype: str) -> TurnResults:
    """Make the smallest call before, between and after others. Done once, for three checks."""
    case = smallest_case(subject, dtype)
    problems: dict[str, Exception] = {}
    first = hold(subject, case, case.inputs)
    original = first.result.copy()
    with _noting(problems, "no-leak"):
        before = first_answer(subject, dtype)
        assert not isinstance(before, str)  # else smoke would have failed, and blocked this
        since = "calls since the first one changed the result"
        require_same_again(subject, case, before, original, since)
    others = [*other_cases(subject, case), *optional_cases(subject, dtype)]
    for other in others:
        with _noting(problems, "results-last", "no-leak", "after-others"), suppress(NotClaimed):
            output = ask(subject, other, other.inputs).copy()
            with _noting(problems, "results-last"):
                require_same(
                    other, original, first.now(), "computing another result changed an earlier one"
                )
            _note_wrong(problems, subject, other, output, "after a call with other arguments")
            with _noting(problems, "no-leak"):
                again = ask(subject, case)
                between = "another call in between changed the result"
                require_same_again(subject, case, original, again, between, other)
    for find, vary in ((large, large_twins), (above_first, others_above)):
        if (wide := find(subject, case)) is not None:
            with _noting(problems, "no-leak", "after-others"), suppress(NotClaimed):
                _vary(problems, subject, wide, vary(subject, wide))
    with _noting(problems, "after-others"), suppress(NotClaimed):
        ask_anew(subject, case)
    return TurnResults(len(others), problems)


def _vary(
    problems: dict[str, Exception], subject: Subject, wide: Case, others: Iterator[Case]
) -> None:
    """Make a large call, others after it, and the large one again; note problems."""
    before = ask(subject, wide).copy()
    for other in others:
        with suppress(NotClaimed):
            output = ask(subject, other)
            _note_wrong(problems, subject, other, output, "after a call of the same size")
    with _noting(problems, "no-leak"):
        again = ask(subject, wide)
        others_changed = "other calls of the same size changed the result"
        require_same_again(subject, wide, before, again, others_changed)


def _note_wrong(
    problems: dict[str, Exception], subject: Subject, case: Case, output: Array, what: str
) -> None:
    """Note only the first wrong answer and its cause, since finding the cause may be slow."""
    if "after-others" in problems:
        return
    with _noting(problems, "after-others"):
        require_plainly_right(subject, case.dtype)
        subject.require_form(case, output)
        if not agrees(case, output):
            require_agreement(subject, case, output, what)


@contextmanager
def _noting(problems: dict[str, Exception], *names: str) -> Iterator[None]:
    try:
        yield
    except (Wrong, Misbehaviour, Blocked) as problem:
        for name in names:
            problems.setdefault(name, problem)


def require_same_again(
    subject: Subject,
    case: Case,
    first: Array,
    second: Array,
    what: str,
    between: Case | None = None,
) -> None:
    """Raise Wrong unless two results of a call are equal, or differ by the order of a sum.

    Sums by atomic additions on a GPU differ by rounding even without calls in between.
    ``what`` describes the calls in between, unless the implementation is flaky; ``between`` is one
    of them to show.
    """
    if np.array_equal(first, second, equal_nan=True):
        return
    is_sum = case.call.kind == "gradient"  # with respect to a table, with many terms per row
    if is_sum and agrees(case, first) and agrees(case, second) and describe_repeats(subject, case):
        return
    message = describe_unsteady(subject, case.dtype) or what
    require_same(between or case, first, second, message)


def require_same(case: Case, first: Array, second: Array, what: str) -> None:
    """Raise Wrong, with the words ``what``, unless two results are equal in every value."""
    if not np.array_equal(first, second, equal_nan=True):
        count = f"{np.count_nonzero(first != second)} of {first.size} values differ"
        raise Wrong(f"{what}: {count}\n{call_line(case)}")
