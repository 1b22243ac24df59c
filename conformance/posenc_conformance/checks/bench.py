"""Asking an implementation in unusual ways, once its plain call is right."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posenc_conformance.checks.smoke import smallest_case
from posenc_conformance.diagnose.explain import compared
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.asking import asked, changes, held
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import agrees
from posenc_conformance.judge.subject import Held, Misbehaviour, Subject, remembered
from posenc_conformance.judge.verdict import Blocked, NotClaimed


@dataclass
class Bench:
    """An implementation under test, and how often a check has asked it something."""

    subject: Subject
    asked: int = 0

    def run(self, case: Case) -> Array:
        """The result for a case."""
        found = asked(self.subject, case)
        self.asked += 1
        return found

    def invoke(self, case: Case, inputs: Mapping[str, Any]) -> Array:
        """The result for inputs of an unusual form."""
        found = asked(self.subject, case, inputs)
        self.asked += 1
        return found

    def held(self, case: Case, inputs: Mapping[str, Any]) -> Held:
        """The result in the memory where the implementation has it."""
        found = held(self.subject, case, inputs)
        self.asked += 1
        return found

    def changes(self, case: Case) -> list[str]:
        """What a call changes that belongs to the whole process."""
        found = changes(self.subject, case)
        self.asked += 1
        return found

    def right(self, case: Case, what: str, inputs: Mapping[str, Any] | None = None) -> None:
        """Demand the true result for a case, given in inputs of an unusual form, if it is claimed.

        Raises Blocked if the plain call is wrong already: then this would say nothing new.
        """
        demand_plainly_right(self.subject, case.dtype)
        if not self.subject.covers(case):
            return
        try:
            output = self.run(case) if inputs is None else self.invoke(case, inputs)
        except NotClaimed:
            return
        if output.shape != case.shape:
            raise Misbehaviour(f"{what}: returned shape {output.shape}; expected {case.shape}")
        known = self.subject if inputs is None else None  # which is asked again in plain arrays
        compared(known, case, output, what)


def demand_plainly_right(subject: Subject, dtype: str) -> None:
    """Raise Blocked unless the plain call is right."""
    if not plainly_right(subject, dtype):
        raise Blocked("the plain call is wrong already")


@remembered
def plainly_right(subject: Subject, dtype: str) -> bool:
    """Whether the smallest call, in plain arrays, gives the truth. Asked once per process."""
    case = smallest_case(subject, dtype)
    return agrees(case, subject.run(case))
