"""Other combinations of a specification, which give what an implementation returns."""

from collections.abc import Sequence

from posenc_conformance.diagnose.diagnosis import is_result_of
from posenc_conformance.diagnose.predictors import BASES, apply_constant
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case

FEWEST = 16
"""Fewest values by which a combination is known."""
SHOWN = 3
"""So many combinations are told that give the same."""


def name_combination(case: Case) -> str:
    """Return the name of the combination whose conventions a case has; empty if it has none."""
    for name, combination in case.call.combinations.items():
        if all(case.conventions.get(key) == each for key, each in combination.conventions.items()):
            return name
    return ""


def describe_combination(
    wrong: Sequence[tuple[Case, Floats]], right: Sequence[tuple[Case, Floats]]
) -> str:
    """Say in words which other combination gives all results, as asked or with a fixed base.

    Empty if none does.
    """
    if sum(output.size for _, output in wrong) < FEWEST:
        return ""
    first, claimed = wrong[0][0], name_combination(wrong[0][0])
    for base in (None, *BASES):
        found = [
            name
            for name in first.call.combinations
            if name != claimed and all(_gives(name, base, *each) for each in (*wrong, *right))
        ]
        if found:
            whatever = "" if base is None else f", with base {base:,.0f} in every call"
            return f"this is {_either(found)}{whatever}; {claimed} was claimed"
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
