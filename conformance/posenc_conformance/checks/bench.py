"""Asking an implementation in unusual ways, once its plain call is right."""

from dataclasses import dataclass

from posenc_conformance.checks.smoke import smallest_case
from posenc_conformance.diagnose.explain import require_agreement
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.asking import ask, find_changes, hold
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import agrees
from posenc_conformance.judge.held import Held
from posenc_conformance.judge.history import once_per_subject
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Blocked, NotClaimed
from posenc_conformance.scheme_file.model import Arguments


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

    def assert_correct(self, case: Case, what: str, inputs: Arguments | None = None) -> None:
        """Check that a claimed case, given in inputs of an unusual form, has the true result.

        Raises Blocked if the plain call is wrong already: then this would say nothing new. A call
        that the implementation declines is not judged.
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
        known = self.subject if inputs is None else None  # which is asked again in plain arrays
        require_agreement(known, case, output, what)


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
