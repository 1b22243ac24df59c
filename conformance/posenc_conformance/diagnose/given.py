"""Arguments that are changed before any computation, read from results.

The formula may be right and its input wrong: an array is read in another order, or rounded, one of
its rows replaces all, a part of it is ignored, two arguments are exchanged.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from posenc_conformance.diagnose.diagnosis import differs, is_result_of, residual_of
from posenc_conformance.diagnose.sample import ROW_BY_ROW, at_leading_index, can_be_taken_apart
from posenc_conformance.diagnose.summed import Become, change_summed
from posenc_conformance.judge.arrays import DTYPES, PRECISE, Array, Floats, round_to
from posenc_conformance.judge.case import Case
from posenc_conformance.scheme_file.axis_names import forms_of

Answered = Sequence[tuple[Case, Floats]]
SHORT = ("bfloat16", "float16")
FACTOR = "factor"
"""A number that, as 1, changes nothing."""
LARGEST = 2**12
"""Largest result, in values, for which the many models are computed."""
FEW_ROWS = 8
"""Rows of a larger one that are compared first."""
ENDS = {"first": 0, "last": -1}
PAIRS = ["the q_len axis", "the k_len axis"]
IN_COLUMNS = "is read in column-major order, but stored in row-major order"
FROM_ZERO = "queries stand at 0, 1, 2, …, although the cache holds keys before them"

Change = Callable[[Case], Mapping[str, Any]]
"""Returns the changed arguments of a call; empty if the call cannot show the change."""


def describe_given(wrong: Answered, right: Answered) -> str:
    """Say in words how an argument is changed; empty if nothing known gives all results."""
    answers = (*wrong, *right)
    if not wrong or any(output.size > LARGEST for _, output in answers):
        return ""
    first, output = max(wrong, key=lambda answer: _size(answer[0]))
    for words, change in _changes(first):
        if not _gives(change, first, output) or not differs(first, _changed(first, change).truth):
            continue
        if all(_gives(change, *answer) for answer in answers):
            return words
    return ""


def describe_moved_rows(wrong: Answered) -> str:
    """Say that rows are read in another order, of results of any size; empty if they are not."""
    if not wrong:
        return ""
    case, _ = wrong[0]
    for name, form in forms_of(case.call).items():
        if not form.has_rows or "n" not in form.axes or name not in case.arguments:
            continue
        axis = form.axes.index("n") - len(form.axes)
        if case.arguments[name].shape[axis] < 2:
            continue
        for words, become in _along(axis, " along the n axis"):
            if all(_gives(_of_one(name, become), *answer) for answer in wrong):
                return words.format(name)
    return ""


def describe_stored(wrong: Answered) -> str:
    """Say that an array of any size is read in another order of memory; empty if none is."""
    for name, value in wrong[0][0].arguments.items() if wrong else ():
        if isinstance(value, np.ndarray) and value.ndim > 1:
            change = _of_one(name, _in_reverse_order)
            if all(_gives(change, *answer) for answer in wrong):
                return f"{name} {IN_COLUMNS}"
    return ""


def describe_viewed(wrong: Answered) -> str:
    """Say that heads and positions of x are mixed up by a view; empty if they are not."""
    for words, view, back in VIEWS if wrong else ():
        if all(_is_of_view(view, back, *answer) for answer in wrong):
            return words
    return ""


def _is_of_view(
    view: Become, back: Callable[[Array, tuple[int, ...]], Array], case: Case, output: Floats
) -> bool:
    """Return whether a result is that of x in another view, viewed back."""
    x = case.arguments.get("x")
    if case.call.kind not in ROW_BY_ROW or not isinstance(x, np.ndarray) or x.ndim < 3:
        return False
    if output.shape != x.shape or min(x.shape[-3:-1]) < 2:
        return False
    other = case.with_arguments(x=view(x))
    if not other.has_result or not differs(case, model := back(other.truth, x.shape)):
        return False
    return residual_of(case, output, model, back(np.asarray(other.bound), x.shape)) <= 1


def _heads_last(x: Array) -> Array:
    """View an array of [heads, n, d] that is stored as [n, heads, d] without a transpose."""
    return np.ascontiguousarray(x.swapaxes(-3, -2)).reshape(x.shape)


def _from_heads_last(x: Array, shape: tuple[int, ...] = ()) -> Array:
    """Undo that view."""
    *leading, heads, n, dim = x.shape
    return x.reshape(*leading, n, heads, dim).swapaxes(-3, -2)


def _joined(x: Array) -> Array:
    """Join the heads of each row: [..., heads, n, d] becomes [..., n, heads * d]."""
    *leading, heads, n, dim = x.shape
    return x.swapaxes(-3, -2).reshape(*leading, n, heads * dim)


def _parted(x: Array, shape: tuple[int, ...]) -> Array:
    """Undo that view."""
    *leading, heads, n, dim = shape
    return x.reshape(*leading, n, heads, dim).swapaxes(-3, -2)


VIEWS: Sequence[tuple[str, Become, Callable[[Array, tuple[int, ...]], Array]]] = (
    (
        "x of [n, heads, d] is viewed as [heads, n, d], not transposed: rows of other heads and "
        "positions are taken for each other",
        _heads_last,
        _from_heads_last,
    ),
    (
        "x of [heads, n, d] is viewed as [n, heads, d], not transposed: rows of other heads and "
        "positions are taken for each other",
        _from_heads_last,
        lambda x, shape: _heads_last(x),
    ),
    ("all heads of a row are turned together, as one head of all their channels", _joined, _parted),
)
"""Views that mix up heads and positions, in words, with the view back."""


def _size(case: Case) -> int:
    """Count the elements of all arguments of a call."""
    return sum(np.size(value) for value in case.arguments.values())


def _gives(change: Change, case: Case, output: Floats) -> bool:
    """Return whether a result is that of the changed call."""
    other = _changed(case, change)
    return _may_give(other, case, output) and is_result_of(case, output, other)


def _may_give(other: Case, case: Case, output: Floats) -> bool:
    """Return False if a few rows of a large result are not those of another call."""
    if output.size <= LARGEST or not can_be_taken_apart(case):
        return True
    places = [np.abs(each.arguments["positions"]) for each in (case, other)]
    longest = [int(each.reshape(-1, each.shape[-1]).max(axis=0).argmax()) for each in places]
    spread = np.linspace(0, output.shape[-2] - 1, FEW_ROWS).astype(np.int64)
    rows = np.unique([*longest, *spread])
    asked, moved = (
        at_leading_index(each, output, (0,) * (output.ndim - 2), rows) for each in (case, other)
    )
    return is_result_of(*asked, moved[0])


def _changed(case: Case, change: Change) -> Case:
    return case.with_arguments(**change(case))


def _changes(case: Case) -> Iterator[tuple[str, Change]]:
    """Yield possible changes of one or two arguments of a call, with words."""
    arrays = {n: value for n, value in case.arguments.items() if isinstance(value, np.ndarray)}
    for name, array in arrays.items():
        axes = _axes(case, name)
        if array.size:
            for words, become in _others(array, axes, case.dtype in PRECISE):
                yield words.format(name), _of_one(name, become)
        if case.call.kind == "gradient" and axes[-2:] == PAIRS:
            yield FROM_ZERO, _of_one(name, _from_zero)
            for words, become in change_summed(array.shape, axes):
                yield words.format(name), _of_one(name, become)
    for first, second in combinations(case.arguments, 2):
        if _may_be_exchanged(case, first, second):
            words = f"{first} and {second} are exchanged"
            if _sets_factor_to_one(case, first, second):
                words = f"{FACTOR} is ignored, as if it were 1, or {words}"
            yield words, _exchange(first, second)


def _of_one(name: str, become: Become) -> Change:
    """Make a change of one array; a call without the array, or without the axis, cannot show it."""

    def change(case: Case) -> Mapping[str, Any]:
        array = case.arguments.get(name)
        with suppress(np.exceptions.AxisError):
            if isinstance(array, np.ndarray) and array.size:
                return {name: become(array)}
        return {}

    return change


def _sets_factor_to_one(case: Case, one: str, two: str) -> bool:
    """Return whether an exchange of two numbers would make the factor 1."""
    other = {one: two, two: one}.get(FACTOR)
    return other is not None and bool(case.arguments[other] == 1)


def _exchange(one: str, two: str) -> Change:
    def exchange(case: Case) -> Mapping[str, Any]:
        values = case.arguments
        return {one: values[two], two: values[one]} if _may_be_exchanged(case, one, two) else {}

    return exchange


def _from_zero(gradient: Array) -> Array:
    """Move queries to the positions of the first keys, and append rows of zeros."""
    missing = max(gradient.shape[-1] - gradient.shape[-2], 0)
    return np.pad(gradient, [(0, 0)] * (gradient.ndim - 2) + [(0, missing), (0, 0)])


def _axes(case: Case, name: str) -> list[str]:
    """Return what each axis of an array is called; axes without a name are numbered."""
    array, form = case.arguments[name], forms_of(case.call).get(name)
    names = [_axis(axis) for axis in form.axes] if form else []
    more = " (batch or heads)" if form and form.leading else ""
    others = [f"axis {axis}{more}" for axis in range(array.ndim - len(names))]
    return [*others, *names][-array.ndim :]


def _axis(name: str) -> str:
    return f"the {name} axis" if name.isidentifier() else f"the axis of length {name}"


def _others(array: Array, axes: Sequence[str], is_precise: bool) -> Iterator[tuple[str, Become]]:
    """Yield possible changes of an array, with words in which ``{}`` stands for its name."""
    if array.dtype.kind == "f" and is_precise:
        for dtype in SHORT:
            if DTYPES[dtype] != array.dtype:
                yield f"{{}} is rounded to {dtype} first", partial(round_to, dtype=dtype)
    if array.ndim > 1:
        yield f"{{}} {IN_COLUMNS}", _in_reverse_order
    if array.dtype.kind == "i":
        yield "{} is ignored: 0, 1, 2, … are used instead", _numbers
        yield "{} is ignored: 0 is used instead", np.zeros_like
    for axis in range(-array.ndim, 0):
        if array.shape[axis] > 1:
            where = f" along {axes[axis]}" if array.ndim > 1 else ""
            yield from _along(axis, where)


def _in_reverse_order(array: Array) -> Array:
    return np.ascontiguousarray(array.reshape(array.shape[::-1]).T)


def _numbers(array: Array) -> Array:
    return np.broadcast_to(np.arange(array.shape[-1]), array.shape).copy()


def _along(axis: int, where: str) -> Iterator[tuple[str, Become]]:
    """Yield possible changes of an array along an axis, with words."""
    yield f"{{}} is read in reverse{where}", lambda array: np.flip(array, axis).copy()
    for words, place in ENDS.items():
        yield (
            f"the {words} entry of {{}}{where} is used for all entries",
            partial(_repeated, place=place, axis=axis),
        )
    for words, step in (("before", 1), ("after", -1)):
        yield (
            f"each entry of {{}}{where} is replaced by the one {words} it",
            partial(np.roll, shift=step, axis=axis),
        )


def _repeated(array: Array, place: int, axis: int) -> Array:
    return np.broadcast_to(array.take([place], axis), array.shape).copy()


def _may_be_exchanged(case: Case, one: str, two: str) -> bool:
    """Return whether a call has both arguments, and they have the same form and differ."""
    a, b = case.arguments.get(one), case.arguments.get(two)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and not np.array_equal(a, b)
    return type(a) is type(b) and isinstance(a, int | float) and a != b
