"""State kept from earlier calls: their arguments, where these explain later results."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MethodType
from typing import Any

import numpy as np

from posenc_conformance.diagnose.diagnosis import differs, residual_of
from posenc_conformance.errors import apart
from posenc_conformance.judge.arrays import Array, Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import agrees
from posenc_conformance.judge.history import History
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import TookTooLong

LATELY = 8
"""Number of latest values of an argument that are tried after its first one."""
REPEATS = 5
"""Number of repetitions of a call before anything is called state."""

Answered = Sequence[tuple[Case, Floats]]


def describe_repeats(subject: Subject, case: Case, times: int = REPEATS) -> str:
    """Say in words that the same call, repeated, gives several results.

    Empty if it gives one. No other call is made in between, which could leave state.
    """
    results: list[Array] = []
    for _ in range(times):
        with suppress(Misbehaviour, TookTooLong):
            answer = subject.run(case)
            if not any(np.array_equal(answer, result, equal_nan=True) for result in results):
                results.append(answer.copy())
    if len(results) < 2:
        return ""
    message = f"the same call, {times} times one after the other, gives {len(results)} results"
    counts = "it counts its calls, or is" if len(results) == times else "it is"
    return f"{message}: {counts} not deterministic"


def kept_from_first(subject: Subject, wrong: Answered) -> tuple[str, ...]:
    """Name the numbers that two or more wrong results share with the very first call.

    Empty if these do not explain all results, or if no result distinguishes them from adjacent
    numbers. A number with a fraction counts, because no other call and no code has it. Integers
    count only if the wrong results were requested with different ones.
    """
    first = subject.history.openings.get(wrong[0][0].dtype) if wrong[1:] else None
    if first is None:
        return ()
    for names in _sets(wrong[0][0]):
        numbers = all(_is_number(first.arguments.get(name)) for name in names)
        if numbers and all(
            _explains(case, output, _differing(first, case, names)) for case, output in wrong
        ):
            requested = {tuple(map(case.arguments.get, names)) for case, _ in wrong}
            odd = any(first.arguments[name] % 1 for name in names)
            seen = any(_tells(*answer, _differing(first, answer[0], names)) for answer in wrong)
            return names if seen and (odd or len(requested) > 1) else ()
    return ()


def describe_earlier(subject: Subject, case: Case, output: Floats) -> str:
    """Say in words which arguments of an earlier call explain a wrong result; empty if none do.

    A constant of an implementation may equal an argument of an earlier call by chance. So there
    must be evidence that calls leave state.
    """
    for names, words in explained_by_earlier(subject, case, output):
        seen = is_fresh_right(subject, case) or shows_in_next_call(subject, case, names)
        if seen and not describe_repeats(subject, case):  # unless it is flaky
            return f"no known deviation; {words}"
    return ""


def explained_by_earlier(
    subject: Subject, case: Case, output: Floats
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield names of arguments whose values in earlier calls explain a result, and words for it."""
    for names in _sets(case):
        for values in _earlier(subject, case, names):
            if _tells(case, output, values):
                yield names, _words(case, values, ", as an earlier call had")
                break


def is_fresh_right(subject: Subject, case: Case) -> bool:
    """Return whether a new instance of an adapter's class is right, if this is its only call.

    False if there is no such class.
    """
    with suppress(Exception):
        fresh = made_anew(subject)
        return fresh is not None and agrees(case, fresh.run(case))
    return False


def made_anew(subject: Subject) -> Subject | None:
    """Return the subject with a new instance of the adapter's class, which has had no calls.

    None unless the class can be instantiated without arguments, as the kit does.
    """
    method = subject.method
    if not isinstance(method, MethodType) or isinstance(method.__self__, type):
        return None
    with suppress(Exception):
        made = MethodType(method.__func__, type(method.__self__)())
        return replace(subject, method=made, history=History())
    return None


def shows_in_next_call(subject: Subject, case: Case, names: tuple[str, ...]) -> bool:
    """Return whether a call shows arguments of the previous one that occur nowhere else."""
    for values in _odd(case, names):
        other = case.with_arguments(**values)
        if subject.covers(other) and _has_other_result(case, other):
            with suppress(Misbehaviour, TookTooLong):
                subject.run(other)
                again = subject.run(case).astype(np.float64)
                return _explains(case, again, values)
    return False


def _odd(case: Case, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield values of arguments that no check uses: all of them changed, by one step or two."""
    for step in (1, 2):
        values = {name: _moved(case.arguments[name], step) for name in names}
        yield {name: value for name, value in values.items() if value is not None}


def _moved(value: Any, step: int) -> Any:
    """Return another value of the same kind, or None."""
    if isinstance(value, np.ndarray):
        return value + 211 * step if value.dtype.kind == "i" else np.roll(value, 3 * step)
    if isinstance(value, float):
        return value * 1.1317**step
    return value + 2 * step if _is_number(value) else None


def _has_other_result(case: Case, other: Case) -> bool:
    try:
        truth = other.truth
    except (TypeError, ValueError, IndexError):
        return False
    return truth.shape == case.shape and differs(case, truth)


def describe_first_of_one(subject: Subject, case: Case, output: Floats) -> str:
    """Say in words which arguments of the very first call explain one wrong result.

    Empty if none do. Integers by themselves do not count: other calls have them as well.
    """
    first = subject.history.openings.get(case.dtype)
    if first is None:
        return ""
    odd = {name for name, value in first.arguments.items() if _is_number(value) and value % 1}
    descriptions = (
        describe_first(subject, case, output, names)
        for names in _sets(case)
        if odd.intersection(names) and _tells(case, output, _differing(first, case, names))
    )
    return next(filter(None, descriptions), "")


def describe_first(subject: Subject, case: Case, output: Floats, names: tuple[str, ...]) -> str:
    """Say in words that a result uses these arguments of the very first call.

    Empty if they do not explain it.
    """
    first = subject.history.openings[case.dtype]
    values = _differing(first, case, names)
    if not _explains(case, output, values):
        return ""
    words = _words(case, values, " of that call")
    return f"keeps something of the first call: {words}"


def _words(case: Case, values: Mapping[str, Any], whose: str) -> str:
    """Name the arguments that explain a result, their origin, and the requested numbers."""
    numbers = [name for name, value in values.items() if not isinstance(value, np.ndarray)]
    both = {name: apart(values[name], case.arguments[name], digits=6) for name in numbers}
    shown = [f"{name} {both[name][0]}" if name in both else name for name in values]
    right = [asked for _, asked in both.values()]
    ending = f"; {' and '.join(right)} {'were' if right[1:] else 'was'} asked for" if right else ""
    return f"matches {' and '.join(shown)}{whose}{ending}"


def _tells(case: Case, output: Floats, values: Mapping[str, Any]) -> bool:
    """Return whether a result is that of the case with these values, and not with adjacent ones.

    A rule that compares with a threshold looks the same for adjacent numbers.
    """
    return _explains(case, output, values) and not any(
        _explains(case, output, {**values, name: near})
        for name, value in values.items()
        if _is_number(value)
        for near in _next_to(value)
    )


def _next_to(number: float) -> tuple[float, ...]:
    """Return the whole numbers next to a number, in its type."""
    if number % 1:
        return float(np.floor(number)), float(np.ceil(number))
    return number - 1, number + 1


def _sets(case: Case) -> Iterator[tuple[str, ...]]:
    """Yield sets of arguments that may be kept: each one, all numbers, all but the first array."""
    numbers = tuple(name for name, value in case.arguments.items() if _is_number(value))
    arrays = tuple(n for n, argument in case.arguments.items() if isinstance(argument, np.ndarray))
    yield from ((name,) for name in (*numbers, *arrays))
    if len(numbers) > 1:
        yield numbers
    if arrays[1:]:
        yield (*numbers, *arrays[1:])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _earlier(subject: Subject, case: Case, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield other values of these arguments, from earlier calls."""
    earlier: list[dict[str, Any]] = []
    for other in subject.history.calls:
        taken = _differing(other, case, names)
        if taken and not any(_same(taken, values) for values in earlier):
            earlier.append(taken)
    yield from [*earlier[:1], *earlier[1:][-LATELY:]]


def _differing(other: Case, case: Case, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the named arguments of another call that differ from those of a case.

    Empty if none differs, or if one has another shape. Arguments that either call lacks are
    ignored.
    """
    arguments: Mapping[str, Any] = other.arguments
    both = [name for name in names if name in case.arguments]
    taken = {name: arguments[name] for name in both if arguments.get(name) is not None}
    if any(np.shape(value) != np.shape(case.arguments[name]) for name, value in taken.items()):
        return {}
    return {n: each for n, each in taken.items() if not np.array_equal(each, case.arguments[n])}


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)


def _explains(case: Case, output: Floats, values: Mapping[str, Any]) -> bool:
    """Return whether a result is that of the case with these values.

    That result must differ from the truth of the case.
    """
    if not values:
        return False
    other = case.with_arguments(**values)
    return _has_other_result(case, other) and residual_of(case, output, other.truth) <= 1
