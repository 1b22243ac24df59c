"""What an implementation keeps of earlier calls: arguments of theirs that explain its results."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from posenc_conformance.diagnose.diagnosis import differs, residual_of
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.subject import Subject

LATELY = 8
"""So many of the latest values of an argument are tried, besides the first one."""

Answered = Sequence[tuple[Case, Floats]]


def kept_from_first(subject: Subject, wrong: Answered) -> tuple[str, ...]:
    """Name the numbers that wrong results, two at least, have of the very first call.

    Empty if these do not explain all of the results. A number with a fraction counts, because no
    other call has it, and nobody's code. Whole numbers count only if the wrong results were asked
    for with different ones.
    """
    first = subject.history.openings.get(wrong[0][0].dtype) if wrong[1:] else None
    if first is None:
        return ()
    for names in _sets(wrong[0][0]):
        numbers = all(_is_number(first.arguments.get(name)) for name in names)
        if numbers and all(
            _explains(case, output, _differing(first, case, names)) for case, output in wrong
        ):
            asked = {tuple(case.arguments[name] for name in names) for case, _ in wrong}
            odd = any(first.arguments[name] % 1 for name in names)
            return names if odd or len(asked) > 1 else ()
    return ()


def describe_earlier(subject: Subject, case: Case, output: Floats) -> str:
    """Say in words what a wrong result has of an earlier call; empty if nothing explains it."""
    for names in _sets(case):
        for values in _earlier(subject, case, names):
            if _explains(case, output, values):
                words = _words(case, values, ", as an earlier call had")
                return f"no known deviation; {words}"
    return ""


def describe_first_of_one(subject: Subject, case: Case, output: Floats) -> str:
    """Say in words what one wrong result has of the very first call; empty if nothing.

    Whole numbers alone do not count: other calls have them as well.
    """
    first = subject.history.openings.get(case.dtype)
    if first is None:
        return ""
    odd = {name for name, each in first.arguments.items() if _is_number(each) and each % 1}
    found = (
        describe_first(subject, case, output, names)
        for names in _sets(case)
        if odd.intersection(names)
    )
    return next(filter(None, found), "")


def describe_first(subject: Subject, case: Case, output: Floats, names: tuple[str, ...]) -> str:
    """Say in words that a result has these arguments of the very first call.

    Empty if they do not explain it.
    """
    first = subject.history.openings[case.dtype]
    values = _differing(first, case, names)
    if not _explains(case, output, values):
        return ""
    words = _words(case, values, " of that call")
    return f"keeps something of the first call: {words}"


def _words(case: Case, values: Mapping[str, Any], whose: str) -> str:
    """Name arguments that explain a result, whose they are, and the numbers that were asked for."""
    numbers = [name for name, value in values.items() if not isinstance(value, np.ndarray)]
    shown = [f"{name} {values[name]:g}" if name in numbers else name for name in values]
    asked = [f"{case.arguments[name]:g}" for name in numbers]
    wanted = f"; {' and '.join(asked)} {'were' if asked[1:] else 'was'} asked for" if asked else ""
    return f"matches {' and '.join(shown)}{whose}{wanted}"


def _sets(case: Case) -> Iterator[tuple[str, ...]]:
    """Yield arguments that may be kept: each alone, all numbers, all but the first array."""
    numbers = tuple(name for name, value in case.arguments.items() if _is_number(value))
    arrays = tuple(n for n, each in case.arguments.items() if isinstance(each, np.ndarray))
    yield from ((name,) for name in (*numbers, *arrays))
    if len(numbers) > 1:
        yield numbers
    if arrays[1:]:
        yield (*numbers, *arrays[1:])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _earlier(subject: Subject, case: Case, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield other values of these arguments in earlier calls."""
    found: list[dict[str, Any]] = []
    for other in subject.history.calls:
        taken = _differing(other, case, names)
        if taken and not any(_same(taken, each) for each in found):
            found.append(taken)
    yield from [*found[:1], *found[1:][-LATELY:]]


def _differing(other: Case, case: Case, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the named arguments of another call that differ from those of a case.

    Empty if none differs, or if one has another shape.
    """
    given: Mapping[str, Any] = other.arguments
    taken = {name: given[name] for name in names if given.get(name) is not None}
    if any(np.shape(value) != np.shape(case.arguments[name]) for name, value in taken.items()):
        return {}
    return {n: each for n, each in taken.items() if not np.array_equal(each, case.arguments[n])}


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)


def _explains(case: Case, output: Floats, values: Mapping[str, Any]) -> bool:
    """Return whether a result is that of the case with these values.

    It must differ from the truth of the case.
    """
    if not values:
        return False
    other = case.with_arguments(**values)
    try:
        truth = other.truth
    except (TypeError, ValueError, IndexError):
        return False
    same = truth.shape == case.shape
    return bool(same and differs(case, truth) and residual_of(case, output, truth) <= 1)
