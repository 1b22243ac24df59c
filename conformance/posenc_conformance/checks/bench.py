"""Asking an implementation in unusual ways, once its plain call is right."""

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
"""Optional conventions that have checks of their own: where positions lie, odd channels."""


@dataclass
class Bench:
    """An implementation under test, and how often a check has asked it something."""

    subject: Subject
    calls: int = 0

    def run(self, case: Case) -> Array:
        """Ask for the result of a case, and count the call."""
        found = ask(self.subject, case)
        self.calls += 1
        return found

    def invoke(self, case: Case, inputs: Arguments) -> Array:
        """Ask for the result for inputs of an unusual form, and count the call."""
        found = ask(self.subject, case, inputs)
        self.calls += 1
        return found

    def hold(self, case: Case, inputs: Arguments) -> Held:
        """Ask for the result in the memory where the implementation has it, and count the call."""
        found = hold(self.subject, case, inputs)
        self.calls += 1
        return found

    def changes(self, case: Case) -> list[str]:
        """Name what a call changes that belongs to the whole process, and count the call."""
        found = find_changes(self.subject, case)
        self.calls += 1
        return found

    def assert_correct(
        self,
        case: Case,
        what: str,
        inputs: Arguments | None = None,
        explain: Explain | None = None,
    ) -> None:
        """Check that a claimed case, given in inputs of an unusual form, has the true result.

        Raises Blocked if the plain call is wrong already: then this would say nothing new. A call
        that the implementation declines is not judged. ``explain`` says what is wrong with another
        result, if that is not to be looked for among the known mistakes.
        """
        require_plainly_right(self.subject, case.dtype)
        if not self.subject.admit(case):
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
            # The subject would be asked again in plain arrays.
            return (explain or diagnose)(asked, found)

        require_agreement(None, case, output, what, explained)


def require_plainly_right(subject: Subject, dtype: str) -> None:
    """Raise Blocked unless the plain call is right."""
    if not plainly_right(subject, dtype):
        raise Blocked("the plain call is wrong already")


@once_per_subject
def plainly_right(subject: Subject, dtype: str) -> bool:
    """Return whether the smallest call, in plain arrays, gives the truth.

    It is asked once per process.
    """
    case = smallest_case(subject, dtype)
    return agrees(case, subject.run(case))


@once_per_subject
def optional_cases(subject: Subject, dtype: str) -> tuple[Case, ...]:
    """Return a small call for each value of an optional convention that is claimed.

    Left out are those whose plain answer is wrong already, and conventions of which other checks
    are made.
    """
    if not plainly_right(subject, dtype):  # which is asked first: these may leave something behind
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
            some = (like for each in chosen for like in (_as_smallest(subject, each), each))
            for case in islice((each for each in some if subject.admit(each)), 1):
                met |= case.conventions.items()
                yield case


def _as_smallest(subject: Subject, case: Case) -> Case:
    """Return the smallest call with what another has besides; that one, if the two do not fit."""
    smallest = smallest_case(subject, case.dtype)
    more = {n: each for n, each in case.arguments.items() if n not in smallest.arguments}
    both = smallest.with_arguments(**more).with_conventions(**case.conventions)
    return both if both.has_result and not agrees(both, smallest.truth) else case


def is_right(subject: Subject, case: Case) -> bool:
    """Return whether a call, in plain arrays, gives the truth."""
    with suppress(Misbehaviour, NotClaimed, TookTooLong):
        return agrees(case, ask(subject, case))
    return False
