"""Other combinations of a scheme whose results an implementation returns."""

from collections.abc import Sequence

from posenc_conformance.diagnose.diagnosis import is_result_of
from posenc_conformance.diagnose.predictors import BASES, apply_constant
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case

FEWEST = 16
"""Fewest values that identify a combination."""
SHOWN = 3
"""Maximum number of combinations listed, among those with the same results."""


def name_combination(case: Case) -> str:
    """Return the name of the combination that has a case's conventions; empty if none has."""
    for name, combination in case.call.combinations.items():
        if all(case.conventions.get(n) == value for n, value in combination.conventions.items()):
            return name
    return ""


def describe_combination(
    wrong: Sequence[tuple[Case, Floats]], right: Sequence[tuple[Case, Floats]]
) -> str:
    """Name in words the other combination that gives all results, perhaps with a fixed base.

    Empty if none does.
    """
    if sum(output.size for _, output in wrong) < FEWEST:
        return ""
    first, claimed = wrong[0][0], name_combination(wrong[0][0])
    for base in (None, *BASES):
        names = [
            name
            for name in first.call.combinations
            if name != claimed and all(_gives(name, base, *answer) for answer in (*wrong, *right))
        ]
        if names:
            fixed = "" if base is None else f", with base {base:,.0f} in every call"
            return f"this is {_either(names)}{fixed}; {claimed} was claimed"
    return ""


def _gives(name: str, base: float | None, case: Case, output: Floats) -> bool:
    """Return whether a result is that of another combination."""
    other: Case | None = case.with_conventions(**case.call.combinations[name].conventions)
    if other is not None and base is not None:
        other = apply_constant(other, ("base", base))
    return other is not None and is_result_of(case, output, other)


def _either(names: Sequence[str]) -> str:
    *more, last = names[:SHOWN]
    return f"{', '.join(more)} or {last}" if more else last
