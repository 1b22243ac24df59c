"""What becomes of an argument before anything is computed with it, read from results.

The formula may be right and what it is given wrong: an array is read in another order, or rounded,
one of its rows stands for all, a part of it is left out, two arguments are exchanged.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from posenc_conformance.diagnose.diagnosis import differs, is_result_of
from posenc_conformance.diagnose.summed import Become, change_summed
from posenc_conformance.judge.arrays import DTYPES, PRECISE, Array, Floats, round_to
from posenc_conformance.judge.case import Case
from posenc_conformance.scheme_file.axis_names import forms_of

Answered = Sequence[tuple[Case, Floats]]
SHORT = ("bfloat16", "float16")
LARGEST = 2**12
"""Of a larger result no model is computed: there are many."""
ENDS = {"first": 0, "last": -1}
PAIRS = ["q_len", "k_len"]
FROM_ZERO = "queries stand at 0, 1, 2, …, although keys come before them"

Change = Callable[[Case], Mapping[str, Any]]
"""Gives the arguments of a call that are other than it was given; none if it cannot show that."""


def describe_given(wrong: Answered, right: Answered) -> str:
    """Say in words what becomes of an argument; empty if nothing known gives all results."""
    answers = (*wrong, *right)
    if not wrong or any(output.size > LARGEST for _, output in answers):
        return ""
    first, output = max(wrong, key=lambda each: _size(each[0]))
    for words, change in _changes(first):
        if not _gives(change, first, output) or not differs(first, _changed(first, change).truth):
            continue
        if all(_gives(change, *each) for each in answers):
            return words
    return ""


def _size(case: Case) -> int:
    """Count the elements of all arrays that a call is given."""
    return sum(np.size(each) for each in case.arguments.values())


def _gives(change: Change, case: Case, output: Floats) -> bool:
    """Return whether a result is that of the call that a change makes of it."""
    return is_result_of(case, output, _changed(case, change))


def _changed(case: Case, change: Change) -> Case:
    return case.with_arguments(**change(case))


def _changes(case: Case) -> Iterator[tuple[str, Change]]:
    """Yield words for what may have become of one argument, or of two, of calls like this one."""
    arrays = {n: each for n, each in case.arguments.items() if isinstance(each, np.ndarray)}
    for name, array in arrays.items():
        axes = _axes(case, name)
        if array.size:
            for words, become in _others(array, axes, case.dtype in PRECISE):
                yield f"{name} {words}", _of_one(name, become)
        if case.call.kind == "gradient" and axes[-2:] == PAIRS:
            yield FROM_ZERO, _of_one(name, _from_zero)
            for words, become in change_summed(array.shape, axes):
                yield f"{name} {words}", _of_one(name, become)
    for one, two in combinations(case.arguments, 2):
        if _may_be_exchanged(case, one, two):
            yield f"{one} and {two} are exchanged", _exchange(one, two)


def _of_one(name: str, become: Become) -> Change:
    """Make a change of one array, which a call without it, or without the axis, cannot show."""

    def change(case: Case) -> Mapping[str, Any]:
        array = case.arguments.get(name)
        with suppress(np.exceptions.AxisError):
            if isinstance(array, np.ndarray) and array.size:
                return {name: become(array)}
        return {}

    return change


def _exchange(one: str, two: str) -> Change:
    def exchange(case: Case) -> Mapping[str, Any]:
        given = case.arguments
        return {one: given[two], two: given[one]} if _may_be_exchanged(case, one, two) else {}

    return exchange


def _from_zero(gradient: Array) -> Array:
    """Put queries where the first keys are, others of no effect behind them."""
    missing = max(gradient.shape[-1] - gradient.shape[-2], 0)
    return np.pad(gradient, [(0, 0)] * (gradient.ndim - 2) + [(0, missing), (0, 0)])


def _axes(case: Case, name: str) -> list[str]:
    """Return what the axes of an array are called, those that have no name by their numbers."""
    array, form = case.arguments[name], forms_of(case.call).get(name)
    known = form.axes if form else ()
    others = [f"number {axis}" for axis in range(array.ndim - len(known))]
    return [*others, *known][-array.ndim :]


def _others(array: Array, axes: Sequence[str], is_precise: bool) -> Iterator[tuple[str, Become]]:
    """Yield words for what may have become of an array, and what makes that of it."""
    if array.dtype.kind == "f" and is_precise:
        for dtype in SHORT:
            if DTYPES[dtype] != array.dtype:
                yield f"is rounded to {dtype} first", partial(round_to, dtype=dtype)
    if array.ndim > 1:
        yield "is read as if its axes lay in memory in reverse order", _in_reverse_order
    if array.dtype.kind == "i":
        yield "is not read: 0, 1, 2, … stand for it", _numbers
        yield "is not read: it counts as 0", np.zeros_like
    for axis in range(-array.ndim, 0):
        if array.shape[axis] > 1:
            where = f" along its axis of {axes[axis]}" if array.ndim > 1 else ""
            yield from _along(axis, where)


def _in_reverse_order(array: Array) -> Array:
    return np.ascontiguousarray(array.reshape(array.shape[::-1]).T)


def _numbers(array: Array) -> Array:
    return np.broadcast_to(np.arange(array.shape[-1]), array.shape).copy()


def _along(axis: int, where: str) -> Iterator[tuple[str, Become]]:
    """Yield the same for what may have become of it along an axis."""
    yield f"is read in reverse{where}", lambda array: np.flip(array, axis).copy()
    for words, place in ENDS.items():
        yield (
            f"is read at its {words} place{where} alone, which stands for all",
            partial(_repeated, place=place, axis=axis),
        )
    yield f"is read one place late{where}", lambda array: np.roll(array, 1, axis)
    yield f"is read one place early{where}", lambda array: np.roll(array, -1, axis)


def _repeated(array: Array, place: int, axis: int) -> Array:
    return np.broadcast_to(array.take([place], axis), array.shape).copy()


def _may_be_exchanged(case: Case, one: str, two: str) -> bool:
    """Return whether a call is given two arguments that are of one kind, and differ."""
    a, b = case.arguments.get(one), case.arguments.get(two)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and not np.array_equal(a, b)
    return type(a) is type(b) and isinstance(a, int | float) and a != b
