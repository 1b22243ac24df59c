"""Interleaved calls: the state that a call leaves for others, in tables, caches and buffers."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np

from posenc_conformance.checks.bench import is_right, optional_cases, require_plainly_right
from posenc_conformance.checks.precision import sweep_case
from posenc_conformance.checks.smoke import first_answer, smallest_case
from posenc_conformance.checks.variations import (
    above_first,
    growing,
    large,
    large_twins,
    other_cases,
    others_above,
)
from posenc_conformance.diagnose.diagnosis import Diagnosis
from posenc_conformance.diagnose.explain import Explain, require_agreement
from posenc_conformance.diagnose.followups import describe_unsteady
from posenc_conformance.diagnose.rules import diagnose_subject
from posenc_conformance.diagnose.state import describe_repeats, is_fresh_right, made_anew
from posenc_conformance.judge.arrays import PRECISE, UNIT_ROUNDOFF, Array, Floats
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
        _ask_anew(subject, case)
    return TurnResults(len(others), problems)


def _ask_anew(subject: Subject, case: Case) -> None:
    """Ask new instances: in each shorter dtype, after that in this one, and step by step.

    One instance answers all checks, widest dtype first: a table that has grown in float32 is long
    enough for bfloat16, so that the code which makes it in bfloat16 never runs.

    Does nothing if the class cannot be instantiated without arguments.
    """
    require_plainly_right(subject, case.dtype)
    shorter = [name for name in subject.dtypes if UNIT_ROUNDOFF[name] > UNIT_ROUNDOFF[case.dtype]]
    # float32 holds all positions that are asked: it matters only if nothing is shorter.
    for dtype in [name for name in shorter if name not in PRECISE] or shorter:
        _ask_short_first(subject, case, dtype)
    _ask_in_steps(subject, case)


NEW_IS_WRONG = "a new instance is wrong, whatever it was called with before"


def _ask_short_first(subject: Subject, case: Case, short: str) -> None:
    """Call a new instance in a shorter dtype, in which it makes its tables, then in this dtype.

    A small call comes first, then one that makes tables grow. An answer that is also wrong after
    calls in this dtype has other checks.
    """
    if (fresh := made_anew(subject)) is None:
        return
    cases = [case, *_far(subject, case, case.dtype)]
    in_short = [subject.case(case.arguments, short), *_far(subject, case, short)]
    alone = f"a new instance is wrong that is called in {short} alone"
    kept = f"something of the first call is kept in its dtype: after one in {short} it is wrong"
    for other in subject.runnable(in_short):
        if not is_right(fresh, other) and _is_right_after(subject, cases, other):
            _require_new(fresh, other, f"in {short} alone, by a new instance", _named(fresh, alone))
    for other in subject.runnable(cases):
        if not is_right(fresh, other) and _is_right_after(subject, [], other):
            _require_new(fresh, other, f"after a first call in {short}", _said(kept))
        _require_new(fresh, other, "by a new instance", _named(fresh, NEW_IS_WRONG))


def _is_right_after(subject: Subject, cases: Iterable[Case], other: Case) -> bool:
    """Return whether a new instance is right after ``cases``.

    The used instance is not asked: it would keep a wrong table for later checks.
    """
    fresh = made_anew(subject)
    return fresh is not None and all(is_right(fresh, each) for each in (*cases, other))


def _far(subject: Subject, case: Case, dtype: str) -> list[Case]:
    """Return the call in ``dtype`` that reaches furthest: the sweep's, the large one, or none."""
    if (found := sweep_case(subject, dtype)) is not None:
        return [found]
    found = large(subject, case)
    return [] if found is None else [subject.case(found.arguments, dtype)]


def _ask_in_steps(subject: Subject, case: Case) -> None:
    """Call a new instance at one position after the other, as decoding does.

    Reports the first wrong answer, unless the used instance gives it as well.
    """
    if (fresh := made_anew(subject)) is None:
        return
    for change in growing(case):
        other = case.with_arguments(**change)
        if other.has_result and subject.covers(other) and not is_right(fresh, other):
            if is_fresh_right(subject, other):
                words = "a table is one row too short: wrong at the position after the last call's"
            elif is_right(subject, other):
                words = "a table is too short at first: right only after calls at later positions"
            else:
                return
            _require_new(fresh, other, "step by step, by a new instance", _said(words))


def _require_new(subject: Subject, case: Case, what: str, explain: Explain) -> None:
    require_agreement(None, case, ask(subject, case), what, explain)


def _said(words: str) -> Explain:
    return lambda case, output: Diagnosis((), otherwise=words)


def _named(subject: Subject, words: str) -> Explain:
    """Name the mistake of a new instance; else say ``words``, and what its results show."""

    def explain(case: Case, output: Floats) -> Diagnosis:
        found = diagnose_subject(subject, case, output)
        read = f": {found.recovered}" if found.recovered else ""
        return found if found.explanations else Diagnosis((), otherwise=words + read)

    return explain


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
