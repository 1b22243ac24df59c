"""Unusual calls to an implementation, once its plain call is right."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from posenc_conformance.checks.smoke import smallest_case
from posenc_conformance.checks.variations import amount_of, draw_cases
from posenc_conformance.diagnose.diagnosis import Diagnosis, diagnose
from posenc_conformance.diagnose.explain import Explain, require_agreement
from posenc_conformance.diagnose.followups import describe_unsteady
from posenc_conformance.judge.arrays import Array, Floats
from posenc_conformance.judge.calling import ask, find_changes, hold
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import agrees
from posenc_conformance.judge.history import once_per_subject
from posenc_conformance.judge.in_memory import Held
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Blocked, NotClaimed, TookTooLong
from posenc_conformance.scheme_file.scheme import Arguments, Value

ELSEWHERE = ("domain", "odd_dim")
"""Optional conventions that have checks of their own: the domain of positions, and odd dims."""


@dataclass
class Bench:
    """An implementation under test, and the number of calls that a check has made."""

    subject: Subject
    calls: int = 0

    def run(self, case: Case) -> Array:
        """Return the result of a case, and count the call."""
        output = ask(self.subject, case)
        self.calls += 1
        return output

    def invoke(self, case: Case, inputs: Arguments) -> Array:
        """Return the result for inputs of an unusual form, and count the call."""
        output = ask(self.subject, case, inputs)
        self.calls += 1
        return output

    def hold(self, case: Case, inputs: Arguments) -> Held:
        """Return the result in the implementation's own memory, and count the call."""
        held = hold(self.subject, case, inputs)
        self.calls += 1
        return held

    def changes(self, case: Case) -> list[str]:
        """Name the process-wide state that a call changes, and count the call."""
        names = find_changes(self.subject, case)
        self.calls += 1
        return names

    def assert_correct(
        self,
        case: Case,
        what: str,
        inputs: Arguments | None = None,
        explain: Explain | None = None,
    ) -> None:
        """Check that a claimed case, with inputs of an unusual form, has the true result.

        Raises Blocked if the plain call is wrong already: the check would say nothing new. A call
        that the implementation declines is not judged. ``explain`` diagnoses a wrong result, in
        place of a search among the known mistakes.
        """
        require_plainly_right(self.subject, case.dtype)
        if not self.subject.covers(case):
            self.subject.note_size(case)
            return
        try:
            output = self.run(case) if inputs is None else self.invoke(case, inputs)
        except NotClaimed:
            return
        if output.shape != case.shape:
            raise Misbehaviour(f"{what}: returned shape {output.shape}; expected {case.shape}")
        if inputs is None:
            require_agreement(self.subject, case, output, what, explain)
            return

        def explained(asked: Case, found: Floats) -> Diagnosis:
            if unsteady := describe_unsteady(self.subject, asked.dtype):
                return Diagnosis((), otherwise=unsteady)
            # Diagnosing the subject would call it again with plain arrays.
            return (explain or diagnose)(asked, found)

        require_agreement(None, case, output, what, explained)


def require_plainly_right(subject: Subject, dtype: str) -> None:
    """Raise Blocked unless the plain call is right."""
    if not plainly_right(subject, dtype):
        raise Blocked("the plain call is wrong already")


@once_per_subject
def plainly_right(subject: Subject, dtype: str) -> bool:
    """Return whether the smallest call, with plain arrays, is right.

    It is made once per subject and dtype.
    """
    case = smallest_case(subject, dtype)
    return agrees(case, subject.run(case))


@once_per_subject
def optional_cases(subject: Subject, dtype: str) -> tuple[Case, ...]:
    """Return a small call for each claimed value of an optional convention.

    Leaves out calls whose plain answer is wrong already, and conventions with checks of their own.
    """
    if not plainly_right(subject, dtype):  # first, since the calls below may leave state
        return ()
    return tuple(case for case in _with_options(subject, dtype) if is_right(subject, case))


def _with_options(subject: Subject, dtype: str) -> Iterator[Case]:
    met: set[tuple[str, Value]] = set()
    for name in (each for each in subject.call.options if each not in ELSEWHERE):
        scopes = [each for each in subject.scopes if dtype in each.dtypes and name in each.options]
        values = dict.fromkeys(value for scope in scopes for value in scope.options[name])
        for value in (each for each in values if (name, each) not in met):
            drawn = draw_cases(subject, scopes, dtype)
            chosen = [each for each in drawn if each.conventions.get(name) == value]
            chosen.sort(key=amount_of)
            candidates = (like for each in chosen for like in (_as_smallest(subject, each), each))
            for case in islice(subject.runnable(candidates), 1):
                met |= case.conventions.items()
                yield case


def _as_smallest(subject: Subject, case: Case) -> Case:
    """Return the smallest call with what ``case`` adds, or ``case`` if that gives no new result."""
    smallest = smallest_case(subject, case.dtype)
    more = {n: value for n, value in case.arguments.items() if n not in smallest.arguments}
    both = smallest.with_arguments(**more).with_conventions(**case.conventions)
    return both if both.has_result and not agrees(both, smallest.truth) else case


def is_right(subject: Subject, case: Case) -> bool:
    """Return whether a call, with plain arrays, is right."""
    with suppress(Misbehaviour, NotClaimed, TookTooLong):
        return agrees(case, ask(subject, case))
    return False
