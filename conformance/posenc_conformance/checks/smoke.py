"""Smoke: it can be called, and returns finite numbers of the right shape and dtype."""

from collections.abc import Iterator
from functools import cache

from posenc_conformance import schemes
from posenc_conformance.arrays import Array
from posenc_conformance.cases import Case
from posenc_conformance.checks import Blocked, Check, Options, Outcome, Wrong, variant
from posenc_conformance.failure import asked
from posenc_conformance.subject import Misbehaviour, Subject
from posenc_conformance.trial import First, Trial


def checks(subject: Subject) -> Iterator[Check]:
    """One check per dtype."""
    for dtype in subject.dtypes:

        def run(options: Options, dtype: str = dtype) -> Outcome:
            if problem := smoke_problem(subject, dtype):
                raise Wrong(problem)
            return Outcome()

        yield Check("smoke", f"callable[{variant(subject)}-{dtype}]", subject, dtype, run)


@cache
def smallest_case(subject: Subject, dtype: str) -> Case:
    """The simplest call that the claims allow."""
    scope = next(scope for scope in subject.scopes if dtype in scope.dtypes)
    trial = Trial(subject, scope, dtype, {}, First())
    return trial.case(**schemes.module(subject.scheme).ARGUMENTS[subject.call.name](trial))


def require_smoke(check: Check) -> None:
    """Raise Blocked for a check of a claim whose smoke check fails."""
    if check.level == "smoke":
        return
    for dtype in [check.dtype] if check.dtype else check.subject.dtypes:
        if problem := smoke_problem(check.subject, dtype):
            raise Blocked(f"the smoke check fails: {problem.splitlines()[0]}")


def smoke_problem(subject: Subject, dtype: str) -> str:
    """What is wrong with the smallest call; empty if nothing is."""
    answer = first_answer(subject, dtype)
    return answer if isinstance(answer, str) else ""


@cache
def first_answer(subject: Subject, dtype: str) -> Array | str:
    """A copy of the very first result for the smallest call, or what was wrong with it."""
    try:
        return asked(subject, smallest_case(subject, dtype)).copy()
    except Misbehaviour as problem:
        return str(problem)
