"""Smoke: a call works, and returns finite numbers of the right shape and dtype."""

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from posenc_conformance.checks import Check, Options, golden, variant
from posenc_conformance.checks.variations import with_other_numbers
from posenc_conformance.diagnose.explain import require_agreement
from posenc_conformance.errors import UserError, describe_exception, location_of
from posenc_conformance.judge.arrays import DTYPES, UNIT_ROUNDOFF, Array, dtype_name
from posenc_conformance.judge.calling import ask
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.claim_scope import Scope
from posenc_conformance.judge.history import once_per_subject
from posenc_conformance.judge.misbehaviour import Escape, Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.trial import First, Seeded, Trial
from posenc_conformance.judge.verdict import Blocked, Declined, Outcome, TookTooLong, Wrong

TRIED = 24
"""Maximum number of calls tried until the implementation answers one."""
DRAWN = 200
"""Maximum number of draws until a call meets a claim's condition."""
LARGEST_RESULT = 2**27
"""Maximum number of values in the smallest call's result: a claim that needs more is a mistake."""


def checks(subject: Subject) -> Iterator[Check]:
    """Yield one check per dtype."""
    for dtype in subject.dtypes:

        def run(subject: Subject, options: Options, dtype: str = dtype) -> Outcome:
            if problem := smoke_problem(subject, dtype):
                raise Wrong(problem + _apart_from_dtype(subject, dtype))
            return Outcome()

        yield Check("smoke", f"callable[{variant(subject)}-{dtype}]", subject, dtype, run)


def smallest_case(subject: Subject, dtype: str) -> Case:
    """Return the simplest call that the claims allow and the implementation does not decline."""
    return _covered(subject, dtype, subject.history.declined.get(dtype, 0))


@once_per_subject
def _covered(subject: Subject, dtype: str, start: int) -> Case:
    scope = next(scope for scope in subject.scopes if dtype in scope.dtypes)
    return _smallest(subject, scope, dtype, start)


def _smallest(subject: Subject, scope: Scope, dtype: str, start: int = 0) -> Case:
    """Return the first call, from number ``start`` on, that meets the scope's condition.

    Call 0 is the simplest one, others are drawn. Raises UserError if none meets the condition.
    """
    draw = subject.knowledge.arguments
    for number in range(start, start + DRAWN):
        trial = Trial(subject, scope, dtype, {}, Seeded(number) if number else First())
        case = trial.case(**draw(trial))
        if scope.when is None or scope.when.holds(case):
            return case
    raise UserError(
        f"{location_of(subject.method)}: none of {DRAWN} calls of {subject.call.name}() that the "
        "kit drew meets the condition of the claim",
        "loosen when=, or also claim the values that meet it, such as head_dim=[64, 128]",
    )


def require_computable(subject: Subject) -> None:
    """Raise UserError if the definition has no result for a claimed value of a parameter."""
    for scope in subject.scopes:
        for name, values in scope.parameters.items():
            for value in values:
                parameters = {**scope.parameters, name: (value,)}
                problem = _why_not_computable(subject, replace(scope, parameters=parameters))
                if problem:
                    raise UserError(
                        f"{location_of(subject.method)}: {subject.call.name}() claims "
                        f"{name}={value!r}, with which {subject.scheme.id} cannot be computed: "
                        f"{problem}",
                        f"{name}: {subject.call.parameters[name].description}",
                    )


def _why_not_computable(subject: Subject, scope: Scope) -> str:
    """Say why the reference cannot compute the smallest call of a scope; empty if it can.

    A result that is too large counts as a reason.
    """
    try:
        case = _smallest(subject, scope, min(scope.dtypes, key=UNIT_ROUNDOFF.__getitem__))
        size = prod(case.shape)
        if size > LARGEST_RESULT:
            return f"its smallest result would have {size:,} values"
        case.truth  # noqa: B018  # computed here, so that an error is raised before any check runs
    except UserError:
        raise
    except Exception as error:
        return describe_exception(error)
    return ""


def _apart_from_dtype(subject: Subject, dtype: str) -> str:
    """Say whether a result with the wrong dtype has the right values.

    Empty if the dtype is right, or the values cannot be compared.
    """
    case = next(golden.cases(subject, dtype), None) or smallest_case(subject, dtype)
    try:
        output = subject.invoke(case, case.inputs)
    except (Misbehaviour, TookTooLong):
        return ""
    had = dtype_name(output)
    if had == dtype or output.shape != case.shape or not {had, dtype} <= DTYPES.keys():
        return ""
    coarser = max(had, dtype, key=UNIT_ROUNDOFF.__getitem__)
    try:
        require_agreement(None, replace(case, dtype=coarser), output, f"values as {coarser}")
    except Wrong as wrong:
        return f"\nIts values are wrong as well, even as {coarser}:\n{wrong.text}"
    return f"\nIts values are right, as {coarser}."


def callable_part(check: Check) -> Subject:
    """Return the check's subject without the dtypes in which its smoke check fails.

    Raises Blocked if it fails in all dtypes of the check.
    """
    subject = check.subject
    if check.level == "smoke" or subject.engine:  # models have no smoke check
        return subject
    asked_for = [check.dtype] if check.dtype else subject.dtypes
    problems = {dtype: smoke_problem(subject, dtype) for dtype in asked_for}
    if all(problems.values()):
        raise Blocked(f"the smoke check fails: {problems[asked_for[0]].splitlines()[0]}")
    return subject.without({dtype for dtype, problem in problems.items() if problem})


def smoke_problem(subject: Subject, dtype: str) -> str:
    """Say what is wrong with the smallest call; empty if nothing is."""
    answer = first_answer(subject, dtype)
    return answer if isinstance(answer, str) else ""


@once_per_subject
def first_answer(subject: Subject, dtype: str) -> Array | str:
    """Return a copy of the very first result of the smallest call, or the problem with it.

    An implementation may decline some calls with NotImplementedError, but not all.
    """
    try:
        opening_answer(subject, dtype)
    except TookTooLong as problem:  # a second call may take as long
        return problem.reason
    except Escape as problem:  # a second call may end the process
        return str(problem)
    reasons = []
    for number in range(TRIED):
        try:
            return ask(subject, smallest_case(subject, dtype)).copy()
        except TookTooLong as problem:
            return problem.reason
        except Misbehaviour as problem:
            return str(problem)
        except Declined as reason:
            reasons.append(reason)
            subject.history.declined[dtype] = number + 1
    return f"all of {TRIED} calls were {reasons[0]}"


@once_per_subject
def opening_answer(subject: Subject, dtype: str) -> Array | None:
    """Make the very first call, with numbers of its own, and return a copy of its result.

    No other call has these numbers: an implementation that keeps them shows them in later results.
    None if no other numbers are claimed, so that no call is made, or if the call has no result.
    """
    case = smallest_case(subject, dtype)
    other = with_other_numbers(subject, case)
    if other is case:
        return None
    subject.history.openings[dtype] = other
    try:
        return ask(subject, other).copy()
    except (Escape, TookTooLong):
        raise
    except (Misbehaviour, Declined):
        return None
