"""Constants of an implementation's code: numbers that it uses whatever the arguments are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations

import numpy as np

from posenc_conformance.diagnose.diagnosis import is_result_of
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case

Numbers = Mapping[str, float]
MOST = 2
"""Maximum number of parameters that are tried as constants at the same time."""


def describe_fixed(
    wrong: Sequence[tuple[Case, Floats]], right: Sequence[tuple[Case, Floats]]
) -> str:
    """Say in words which numbers are the same in every call, whatever the arguments are.

    Tries the numbers of other calls and goldens. Empty if none explains all results.
    """
    answers = (*wrong, *right)
    for words, change in CHANGES.items():
        for name in _names(wrong[0][0]) if wrong else ():
            if _becomes(answers, name, change):
                return words.format(name=name)
    for numbers in _candidates([case for case, _ in answers]) if wrong else ():
        # A limit that no call reaches has the same effect as any larger one.
        twice = {name: 2 * value for name, value in numbers.items()}
        if _give(numbers, answers) and not _give(twice, answers):
            told = " and ".join(f"{name} {value:g}" for name, value in numbers.items())
            return f"{told} in every call, whatever is asked for"
    return ""


def _candidates(cases: Sequence[Case]) -> Iterator[Numbers]:
    """Yield candidate numbers by parameter: of one parameter first, then of several."""
    first = cases[0]
    names = _names(first)
    usual = [each.arguments for each in first.scheme.goldens if each.call == first.call.name]
    examples = [*usual, *(case.arguments for case in cases)]
    sets = chain.from_iterable(combinations(names, size) for size in range(1, MOST + 1))
    for subset in sets:
        requested = {
            tuple(case.arguments[name] for name in subset)
            for case in cases
            if case.arguments.keys() >= {*subset}
        }
        value_sets = dict.fromkeys(tuple(each.get(name) for name in subset) for each in examples)
        if len(requested) < 2:  # equal arguments cannot show whether they are constants
            continue
        for values in value_sets:
            numbers = {n: each for n, each in zip(subset, values, strict=True) if each is not None}
            if len(numbers) == len(subset):
                yield numbers


CHANGES: Mapping[str, Callable[[float], float]] = {
    "{name} is cut to a whole number": np.floor,
    "{name} is rounded to a whole number": np.rint,
}
"""Possible changes of a number, by their descriptions."""


def describe_inverted(answers: Sequence[tuple[Case, Floats]]) -> str:
    """Say in words that frequencies are inverted; empty if they are not.

    Inverted frequencies are high, and their angles too large to read frequencies from.
    """
    if not answers or "base" not in _names(answers[0][0]):
        return ""
    inverted = _becomes(answers, "base", lambda number: 1 / number)
    return "frequencies are inverted: 1/base stands for base" if inverted else ""


def _becomes(
    answers: Sequence[tuple[Case, Floats]], name: str, change: Callable[[float], float]
) -> bool:
    """Return whether all results are those of the changed number, and some number does change."""
    changed = [(_changed(case, name, change), case, output) for case, output in answers]
    is_other = any(
        numbers and numbers[name] != case.arguments[name] for numbers, case, _ in changed
    )
    return is_other and all(_gives(*result) for result in changed)


def _names(case: Case) -> list[str]:
    """Return the parameters that are passed as numbers."""
    return [n for n, p in case.call.parameters.items() if p.passed and n in case.arguments]


def _changed(case: Case, name: str, change: Callable[[float], float]) -> Numbers:
    """Return the changed number of a call, in its original type; empty if the call lacks it."""
    number = case.arguments.get(name)
    return {} if number is None else {name: type(number)(change(number))}


def _give(numbers: Numbers, answers: Sequence[tuple[Case, Floats]]) -> bool:
    return all(_gives(numbers, *answer) for answer in answers)


def _gives(numbers: Numbers, case: Case, output: Floats) -> bool:
    """Return whether a result is that of the call with these numbers, ignoring those it lacks."""
    applicable = {name: value for name, value in numbers.items() if name in case.arguments}
    return is_result_of(case, output, case.with_arguments(**applicable))
