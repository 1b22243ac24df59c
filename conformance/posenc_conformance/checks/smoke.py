"""Smoke: it can be called, and returns finite numbers of the right shape and dtype."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import prod

from posenc_conformance.adapters.claims import where
from posenc_conformance.checks import Check, Options, variant
from posenc_conformance.errors import UserError, told
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.asking import asked
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.knowledge import knowledge_of
from posenc_conformance.judge.subject import Misbehaviour, Scope, Subject
from posenc_conformance.judge.trial import First, Trial
from posenc_conformance.judge.verdict import Blocked, Outcome, Wrong

LARGEST = 2**27
"""Values of a result; a smallest call that has more is not meant."""


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
    return _smallest(subject, scope, dtype)


def _smallest(subject: Subject, scope: Scope, dtype: str) -> Case:
    trial = Trial(subject, scope, dtype, {}, First())
    return trial.case(**knowledge_of(subject.scheme).ARGUMENTS[subject.call.name](trial))


def demand_sense(subject: Subject) -> None:
    """Raise UserError for a claim of parameters with which the definition has no result."""
    for scope in subject.scopes:
        for name, values in scope.parameters.items():
            for value in values:
                parameters = {**scope.parameters, name: (value,)}
                problem = _senseless(subject, replace(scope, parameters=parameters))
                if problem:
                    raise UserError(
                        f"{where(subject.method)}: {subject.call.name}() claims {name}={value!r}, "
                        f"with which {subject.scheme.id} cannot be computed: {problem}",
                        f"{name}: {subject.call.parameters[name].description}",
                    )


def _senseless(subject: Subject, scope: Scope) -> str:
    """Why the reference refuses the smallest call of a scope; empty if it does not."""
    try:
        case = _smallest(subject, scope, subject.dtypes[0])
        size = prod(case.shape)
        if size > LARGEST:
            return f"its smallest result would have {size:,} values"
        case.truth  # noqa: B018  # computed here, so that a refusal comes before any check
    except Exception as error:
        return told(error)
    return ""


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
