"""Numbers that an implementation has whatever it is asked for: constants of its code."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations

from posenc_conformance.diagnose.diagnosis import residual_of
from posenc_conformance.diagnose.mistakes import predict_case
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case

Numbers = Mapping[str, float]
MOST = 2
"""Most numbers that are taken for constants together."""


def describe_fixed(
    wrong: Sequence[tuple[Case, Floats]], right: Sequence[tuple[Case, Floats]]
) -> str:
    """Say in words which numbers are the same in every call, whatever is asked for.

    Numbers that other calls or goldens have are tried. Empty if none explains all results.
    """
    answers = (*wrong, *right)
    for numbers in _candidates([case for case, _ in answers]) if wrong else ():
        if all(_gives(numbers, *each) for each in answers):
            told = " and ".join(f"{name} {value:g}" for name, value in numbers.items())
            return f"{told} in every call, whatever is asked for"
    return ""


def _candidates(cases: Sequence[Case]) -> Iterator[Numbers]:
    """Yield numbers by the names of their parameters, one alone first, then several of one call."""
    first = cases[0]
    names = [n for n, each in first.call.parameters.items() if each.passed and n in first.arguments]
    usual = [each.arguments for each in first.scheme.goldens if each.call == first.call.name]
    known = [*usual, *(case.arguments for case in cases)]
    sets = chain.from_iterable(combinations(names, size) for size in range(1, MOST + 1))
    for some in sets:
        asked = {tuple(case.arguments.get(name) for name in some) for case in cases}
        found = dict.fromkeys(tuple(each.get(name) for name in some) for each in known)
        if len(asked) > 1:  # otherwise it is not seen whether they are constants
            yield from (
                dict(zip(some, values, strict=True)) for values in found if None not in values
            )


def _gives(numbers: Numbers, case: Case, output: Floats) -> bool:
    """Return whether a result is that of the call with these numbers."""
    other = case.with_arguments(**numbers)
    if not any(predict_case(other, "")) or other.shape != case.shape:
        return False
    return residual_of(case, output, other.truth, other) <= 1
