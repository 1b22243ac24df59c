"""What an implementation keeps of earlier calls: arguments of theirs that explain its results."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from posenc_conformance.diagnose.diagnosis import differs, left
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.subject import Subject

LATELY = 8
"""So many earlier values of an argument are tried: the first one, and the last ones."""

Answered = Sequence[tuple[Case, Floats]]


def of_the_first(subject: Subject, wrong: Answered) -> tuple[str, ...]:
    """The numbers that wrong results, two at least, have of the very first call.

    None if these do not explain all of them. No other call has them, and nobody's code.
    """
    first = subject.memory.get(("opening", wrong[0][0].dtype)) if wrong[1:] else None
    if first is None:
        return ()
    for names in _sets(wrong[0][0]):
        numbers = all(_is_number(first.arguments.get(name)) for name in names)
        if numbers and all(
            _explains(case, output, _taken(first, case, names)) for case, output in wrong
        ):
            asked = {tuple(case.arguments[name] for name in names) for case, _ in wrong}
            odd = any(first.arguments[name] % 1 for name in names)
            return names if odd or len(asked) > 1 else ()
    return ()


def of_an_earlier(subject: Subject, case: Case, output: Floats) -> str:
    """What a wrong result has of an earlier call, in words; empty if nothing explains it."""
    for names in _sets(case):
        for values in _earlier(subject, case, names):
            if _explains(case, output, values):
                words = _words(case, values, ", as an earlier call had")
                return f"no known deviation; {words}"
    return ""


def of_the_first_here(subject: Subject, case: Case, output: Floats) -> str:
    """What one wrong result has of the very first call, in words; empty if nothing.

    Whole numbers alone do not count: other calls have them as well.
    """
    first: Case | None = subject.memory.get(("opening", case.dtype))
    if first is None:
        return ""
    odd = {name for name, each in first.arguments.items() if _is_number(each) and each % 1}
    found = (
        of_the_first_in(subject, case, output, names)
        for names in _sets(case)
        if odd.intersection(names)
    )
    return next(filter(None, found), "")


def of_the_first_in(subject: Subject, case: Case, output: Floats, names: tuple[str, ...]) -> str:
    """What a result has of the very first call, in words; empty if they do not explain it."""
    first: Case = subject.memory["opening", case.dtype]
    values = _taken(first, case, names)
    if not _explains(case, output, values):
        return ""
    words = _words(case, values, " of that call")
    return f"keeps something of the first call: {words}"


def _words(case: Case, values: Mapping[str, Any], whose: str) -> str:
    """Arguments that explain a result, whose they are, and the numbers that were asked for."""
    numbers = [name for name, value in values.items() if not isinstance(value, np.ndarray)]
    shown = [f"{name} {values[name]:g}" if name in numbers else name for name in values]
    asked = [f"{case.arguments[name]:g}" for name in numbers]
    wanted = f"; {' and '.join(asked)} {'were' if asked[1:] else 'was'} asked for" if asked else ""
    return f"matches {' and '.join(shown)}{whose}{wanted}"


def _sets(case: Case) -> Iterator[tuple[str, ...]]:
    """Arguments that may be kept: one alone, then all numbers, then all but the first array."""
    numbers = tuple(name for name, value in case.arguments.items() if _is_number(value))
    arrays = tuple(n for n, each in case.arguments.items() if isinstance(each, np.ndarray))
    yield from ((name,) for name in (*numbers, *arrays))
    if len(numbers) > 1:
        yield numbers
    if arrays[1:]:
        yield (*numbers, *arrays[1:])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _earlier(subject: Subject, case: Case, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Other values of these arguments in earlier calls."""
    found: list[dict[str, Any]] = []
    for other in subject.asked:
        taken = _taken(other, case, names)
        if taken and not any(_same(taken, each) for each in found):
            found.append(taken)
    yield from [*found[:1], *found[1:][-LATELY:]]


def _taken(other: Case, case: Case, names: tuple[str, ...]) -> dict[str, Any]:
    """What a call has otherwise than a case; empty if it lacks something, or of another shape."""
    given: Mapping[str, Any] = other.arguments
    taken = {name: given[name] for name in names if given.get(name) is not None}
    if any(np.shape(value) != np.shape(case.arguments[name]) for name, value in taken.items()):
        return {}
    return {n: each for n, each in taken.items() if not np.array_equal(each, case.arguments[n])}


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)


def _explains(case: Case, output: Floats, values: Mapping[str, Any]) -> bool:
    """Whether a result is that of the case with these values."""
    if not values:
        return False
    other = case.changed(**values)
    try:
        truth = other.truth
    except (TypeError, ValueError, IndexError):
        return False
    same = truth.shape == case.shape
    return bool(same and differs(case, truth) and left(case, output, truth) <= 1)
