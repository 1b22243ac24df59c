"""What becomes of an argument before anything is computed with it, read from results.

The formula may be right and what it is given wrong: an array is read in another order, or rounded,
one of its rows stands for all, two arguments are exchanged.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from posenc_conformance.diagnose.diagnosis import differs, is_result_of
from posenc_conformance.judge.arrays import DTYPES, PRECISE, Array, Floats, round_to
from posenc_conformance.judge.case import Case
from posenc_conformance.scheme_file.forms import forms_of

Answered = Sequence[tuple[Case, Floats]]
SHORT = ("bfloat16", "float16")
LARGEST = 2**12
"""Of a larger result no model is computed: there are many."""
ENDS = {"first": slice(0, 1), "last": slice(-1, None)}
PAIRS = ["q_len", "k_len"]
FROM_ZERO = "queries stand at 0, 1, 2, …, although keys come before them"


@dataclass(frozen=True)
class Change:
    """What may have become of arguments."""

    words: str
    arguments: Mapping[str, Any]


def describe_given(wrong: Answered, right: Answered) -> str:
    """Say in words what becomes of an argument; empty if nothing known gives all results."""
    answers = (*wrong, *right)
    if not wrong or any(output.size > LARGEST for _, output in answers):
        return ""
    first, output = max(wrong, key=lambda each: each[1].size)
    for change in _changes(first):
        other = first.with_arguments(**change.arguments)
        fits = is_result_of(first, output, other) and differs(first, other.truth)
        if fits and all(_gives(change.words, *each) for each in answers):
            return change.words
    return ""


def _gives(words: str, case: Case, output: Floats) -> bool:
    """Return whether a result is that of the call that a change, known by its words, makes of it.

    A change that this call cannot show, such as of an axis of one, leaves it as it is.
    """
    found = (each for each in _changes(case) if each.words == words)
    change = next(found, Change(words, {}))
    return is_result_of(case, output, case.with_arguments(**change.arguments))


def _changes(case: Case) -> Iterator[Change]:
    """Yield what may have become of one argument, or of two."""
    arrays = {n: each for n, each in case.arguments.items() if isinstance(each, np.ndarray)}
    for name, array in arrays.items():
        if array.size:
            for words, other in _others(array, _axes(case, name), case.dtype in PRECISE):
                yield Change(f"{name} {words}", {name: other})
        if array.ndim > 2 and _axes(case, name)[-2:] == PAIRS and array.shape[-2] < array.shape[-1]:
            missing = [(0, 0)] * (array.ndim - 2)
            missing += [(0, array.shape[-1] - array.shape[-2]), (0, 0)]
            yield Change(FROM_ZERO, {name: np.pad(array, missing)})
    for one, two in combinations(case.arguments, 2):
        if _may_be_exchanged(case, one, two):
            swapped = {one: case.arguments[two], two: case.arguments[one]}
            yield Change(f"{one} and {two} are exchanged", swapped)


def _axes(case: Case, name: str) -> list[str]:
    """Return what the axes of an array are called, those that have no name by their numbers."""
    array, form = case.arguments[name], forms_of(case.call).get(name)
    known = form.axes if form else ()
    others = [f"number {axis}" for axis in range(array.ndim - len(known))]
    return [*others, *known][-array.ndim :]


def _others(array: Array, axes: Sequence[str], is_precise: bool) -> Iterator[tuple[str, Array]]:
    """Yield words for what may have become of an array, and what it is then."""
    if array.dtype.kind == "f" and is_precise:
        for dtype in SHORT:
            if DTYPES[dtype] != array.dtype:
                yield f"is rounded to {dtype} first", round_to(array, dtype)
    if array.ndim > 1:
        shape = array.shape[::-1]
        words = "is read as if its axes lay in memory in reverse order"
        yield words, np.ascontiguousarray(array.reshape(shape).T)
    if array.dtype.kind == "i":
        numbers = np.broadcast_to(np.arange(array.shape[-1]), array.shape)
        yield "is not read: 0, 1, 2, … stand for it", numbers.copy()
        yield "is not read: it counts as 0", np.zeros_like(array)
    for axis in range(array.ndim):
        if array.shape[axis] > 1:
            where = f" along its axis of {axes[axis - array.ndim]}" if array.ndim > 1 else ""
            yield from _along(array, axis, where)


def _along(array: Array, axis: int, where: str) -> Iterator[tuple[str, Array]]:
    """Yield the same for what may have become of it along an axis."""
    yield f"is read in reverse{where}", np.flip(array, axis).copy()
    for words, end in ENDS.items():
        one = np.moveaxis(np.moveaxis(array, axis, 0)[end], 0, axis)
        repeated = np.broadcast_to(one, array.shape).copy()
        yield f"is read at its {words} place{where} alone, which stands for all", repeated
    yield f"is read one place late{where}", np.roll(array, 1, axis)
    yield f"is read one place early{where}", np.roll(array, -1, axis)


def _may_be_exchanged(case: Case, one: str, two: str) -> bool:
    """Return whether two arguments are of one kind, and differ."""
    a, b = case.arguments[one], case.arguments[two]
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and not np.array_equal(a, b)
    return type(a) is type(b) and isinstance(a, int | float) and a != b
