"""Constants of an implementation's code: numbers and conventions of its own, whatever is asked."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations

import numpy as np

from posenc_conformance.diagnose.diagnosis import APART, differs, is_result_of, residual_of
from posenc_conformance.diagnose.predictors import BASES, apply_constant
from posenc_conformance.diagnose.sample import last_queries
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.judge.case import Case

Numbers = Mapping[str, float]
LARGEST = 2**16
"""Largest result, in values, for which other numbers are tried."""
MOST = 2
"""Maximum number of parameters that are tried as constants at the same time."""
FEWEST_TO_IDENTIFY = 16
"""Fewest values that identify a combination."""
SHOWN = 3
"""Maximum number of combinations listed, among those with the same results."""


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


def describe_other_number(
    wrong: Sequence[tuple[Case, Floats]], right: Sequence[tuple[Case, Floats]] = ()
) -> str:
    """Say which other number than the one asked for gives all results; empty if none does.

    One parameter at a time is another. One of which several values fit tells nothing.
    """
    if not wrong:
        return ""
    told = []
    for name in _names(wrong[0][0]):
        fitting = [set(_other_values(name, *answer)) for answer in wrong]
        values = set.intersection(*fitting)
        others = [(case, case.with_arguments(**{name: min(values)})) for case, _ in right if values]
        if len(values) == 1 and not any(_shows(*each) for each in others):
            asked = {each.arguments[name] for each, _ in wrong}
            given = f", where {asked.pop():g} is asked for" if len(asked) == 1 else ""
            told.append(f"{name} is {values.pop():g}{given}")
    return ", or ".join(told)


def _other_values(name: str, case: Case, output: Floats) -> Iterator[float]:
    """Yield other values of a parameter that give a result, far enough from the right one.

    Other bases and unscaled frequencies are read as formulas.
    """
    value = case.arguments.get(name)
    if not isinstance(value, int | float) or name == "base" or output.size > LARGEST:
        return
    powers = [2.0**power for power in range(-5, 6) if power]
    shares = [value * share for share in (*powers, 0.1, 10)]
    few = last_queries(case, output)
    steps = [value + 1, value - 1] if isinstance(value, int) else [step / 10 for step in range(11)]
    for other in dict.fromkeys((*shares, *steps)):
        is_like = isinstance(value, float) or other == int(other)
        if not is_like or other == value or (name == "factor" and other == 1):  # unscaled
            continue
        number = {name: type(value)(other)}
        if few is not None and not _may_be(few[0].with_arguments(**number), *few):
            continue
        changed = case.with_arguments(**number)
        if _is_clearly_of(changed, case, output):
            yield other


def _shows(case: Case, other: Case) -> bool:
    """Return whether a change of arguments would show in the result of a call."""
    return other.has_result and other.shape == case.shape and differs(case, other.truth)


def _with_places(rule: Callable[[Ints], Ints], case: Case) -> Case:
    """Return a case with changed positions, or as it is if it has none."""
    given = case.arguments.get("positions")
    if not isinstance(given, np.ndarray):
        return case
    return case.with_arguments(positions=np.asarray(rule(given)))


def _may_be(other: Case, case: Case, output: Floats) -> bool:
    """Return False if another call refutes a part of a result."""
    is_alike = other.has_result and other.shape == case.shape
    return is_alike and residual_of(case, output, other.truth, other.bound) <= 1


def _is_clearly_of(other: Case, case: Case, output: Floats) -> bool:
    """Return whether a result is that of another call, which the right one is far from."""
    is_of = is_result_of(case, output, other)
    return is_of and residual_of(case, case.truth, other.truth, other.bound) > APART


def describe_other_positions(
    wrong: Sequence[tuple[Case, Floats]], right: Sequence[tuple[Case, Floats]] = ()
) -> str:
    """Say at which other positions all rows of results stand; empty if no simple rule tells."""
    for words, rule in PLACES.items() if wrong else ():
        if all(_stand_at(rule, *answer) for answer in wrong):
            if any(_shows(case, _with_places(rule, case)) for case, _ in right):
                continue
            single = {tuple(case.arguments["positions"]) for case, _ in wrong}
            only = single.pop() if len(single) == 1 else ()
            if len(only) != 1:
                return words
            return f"the row stands at position {rule(np.array(only))[0]:g}, not at {only[0]:g}"
    return ""


def _stand_at(rule: Callable[[Ints], Ints], case: Case, output: Floats) -> bool:
    """Return whether rows of a result are clearly those of changed positions."""
    given = case.arguments.get("positions")
    if not isinstance(given, np.ndarray) or given.ndim != 1 or output.size > LARGEST:
        return False
    places = np.asarray(rule(given))
    if not given.size or np.array_equal(places, given) or (places < 0).any():
        return False
    return _is_clearly_of(case.with_arguments(positions=places), case, output)


PLACES: Mapping[str, Callable[[Ints], Ints]] = {
    "every position is 1 more than was given": lambda given: given + 1,
    "every position is 1 less than was given": lambda given: given - 1,
    "every position is 2 more than was given": lambda given: given + 2,
    "every position is 2 less than was given": lambda given: given - 2,
    "positions are ignored: rows stand at 0, 1, 2, …": lambda given: np.arange(
        len(given), dtype=np.int64
    ),
    "positions are ignored: rows stand at 1, 2, 3, …": lambda given: np.arange(
        1, len(given) + 1, dtype=np.int64
    ),
}
"""Possible changes of positions, in words."""
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
    if sum(output.size for _, output in wrong) < FEWEST_TO_IDENTIFY:
        return ""
    first, claimed = wrong[0][0], name_combination(wrong[0][0])
    for base in (None, *BASES):
        names = [
            name
            for name in first.call.combinations
            if name != claimed
            and all(_gives_combination(name, base, *answer) for answer in (*wrong, *right))
        ]
        if names:
            fixed = "" if base is None else f", with base {base:,.0f} in every call"
            return f"this is {_either(names)}{fixed}; {claimed} was claimed"
    return ""


def _gives_combination(name: str, base: float | None, case: Case, output: Floats) -> bool:
    """Return whether a result is that of another combination."""
    other: Case | None = case.with_conventions(**case.call.combinations[name].conventions)
    if other is not None and base is not None:
        other = apply_constant(other, ("base", base))
    return other is not None and is_result_of(case, output, other)


def _either(names: Sequence[str]) -> str:
    *more, last = names[:SHOWN]
    return f"{', '.join(more)} or {last}" if more else last
