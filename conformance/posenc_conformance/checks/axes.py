"""Calls whose axes are equal, or wide: which axes there are is seen from what is drawn.

Lengths that are the same number in every call that the kit draws are one axis.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod
from typing import Any

import numpy as np

from posenc_conformance.checks.variations import (
    DRAWN,
    MANY,
    drawn,
    has_result,
    many_and_equal,
    many_batches,
    sizes_of,
    tied_of,
)
from posenc_conformance.judge.arrays import Array, fine
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.knowledge import knowledge_of
from posenc_conformance.judge.subject import Subject

LARGEST = 64
"""A number above this, in the smallest call, is no length of an axis."""
SHORT = (1, 2)
EQUAL = (4, 6, 8, 9, 16)
WIDE = (264, 258, 257)
"""Beyond a block of 128 or 256 threads; many axes must be even, or come in eights."""
GROWING = tuple(24 * round(2 ** (step / 2)) for step in (0, *range(2, 29)))
"""Lengths among which one is looked for that makes many numbers and not too many."""
LONG = 4128
"""The longest axis of rows, keys or channels, of which an implementation may make all pairs."""
COUNTED = ("q_len", "k_len", "n", "length")
RESULT = "the result"
LIMIT = 2**17
MOST = 2**19
WORK = 2**22
"""The most of what is added up on the way to a result."""

Place = tuple[str, int | None]
"""An argument and its axis, counted from the last; None for a number."""
Lengths = Mapping[Place, int]
Groups = Sequence[Sequence[Place]]


@dataclass(frozen=True)
class Axes:
    """Which lengths of a call can be chosen."""

    groups: tuple[tuple[Place, ...], ...]
    """Places of one length each."""
    signed: frozenset[str]
    """Arrays that may hold numbers of any sign."""
    met: tuple[Lengths, ...]
    """The lengths that calls of other checks have."""


def reshaped(subject: Subject, case: Case) -> Iterator[dict[str, Any]]:
    """Arguments with all axes of one length, or else two by two; then with each short and wide.

    Last, with more numbers in the result and in each array than a grid has blocks.
    """
    axes = axes_of(subject, case)
    given = lengths_of(case.arguments)

    def first(groups: Groups, lengths: Sequence[int]) -> Iterator[dict[str, Any]]:
        for length in lengths:
            change = _changed(case, axes, {place for each in groups for place in each}, length)
            if _sound(subject, case.changed(**change)):
                yield change
                return

    every = list(first(axes.groups, EQUAL)) if len(axes.groups) > 1 else []
    yield from every
    for pair in combinations(axes.groups, 2) if not every else ():
        if not any(_equal(lengths, pair) for lengths in axes.met):
            yield from first(pair, [given[each[0]] for each in pair[::-1]])
    for group in axes.groups:
        met = {lengths.get(group[0], 0) for lengths in axes.met}
        if 1 not in met:
            yield from first([group], SHORT)
        if max(met) < min(WIDE):
            yield from first([group], WIDE)
    if _is_first(subject):
        yield from _many(subject, case, axes)


def _is_first(subject: Subject) -> bool:
    """Whether no combination before this one is claimed by the same method.

    What happens beyond some number of elements seldom hangs on it, and takes long to look for.
    """
    claimed = {subject.combination.name, *subject.siblings}
    return next(each for each in subject.call.combinations if each in claimed) == (
        subject.combination.name
    )


def _many(subject: Subject, case: Case, axes: Axes) -> Iterator[dict[str, Any]]:
    """Arguments with more than MANY numbers in the result, and in each array of floats.

    First of those with two long axes, as there are more often, then three, then one, and in the end
    with all other axes short. What none of them makes that large is left out.
    """
    own = getattr(knowledge_of(subject.scheme), "MANY", {}).get(subject.call.name)
    changes = list(own(case)) if own else []
    yield from changes
    some = (*changes, *sizes_of(case), *many_and_equal(case), *many_batches(case))
    met = set(chain.from_iterable(_large(case.changed(**change)) for change in some))
    floats = (name for name, array in _arrays(case).items() if array.dtype.kind == "f")
    for wanted in (RESULT, *floats):
        if wanted not in met:
            for count, others in ((2, 0), (3, 0), (1, 0), (1, 2), (1, 1)):
                if change := _first_of_many(subject, case, axes, wanted, count, others):
                    met |= _large(case.changed(**change))
                    yield change
                    break


def _first_of_many(
    subject: Subject, case: Case, axes: Axes, wanted: str, count: int, others: int
) -> dict[str, Any]:
    """A change of so many lengths that makes the result or an array large; empty if none does.

    The other lengths become ``others``, or stay as they are if that is 0.
    """
    for groups in combinations(axes.groups, count):
        places = set(chain.from_iterable(groups))
        rest = set(chain.from_iterable(axes.groups)) - places if others else set()
        short = _changed(case, axes, rest, others)
        longest = max(GROWING) if all(_of_heads(case, *each) for each in places) else LONG
        before = 0  # numbers that do not grow with these lengths never will
        for length in (each for each in GROWING if each <= longest):
            change = short | _changed(case.changed(**short), axes, places, length)
            other = case.changed(**change)
            numbers = _numbers(other)
            if not numbers or numbers[wanted] == before or max(numbers.values()) > MOST:
                break
            if _work(axes, other) > WORK:
                break
            before = numbers[wanted]
            if numbers[wanted] > MANY:
                if _sound(subject, other, MOST) and _shows(other, wanted):
                    return change
                break
    return {}


def _of_heads(case: Case, name: str, axis: int | None) -> bool:
    """Whether a length is none of rows, keys or channels, as far as can be seen."""
    if axis is None:
        return name not in COUNTED
    alone = np.ndim(case.arguments[name]) == 1 and name != "positions"
    return alone or axis == -3 or name == "table"


def _shows(case: Case, wanted: str) -> bool:
    """Whether the numbers beyond MANY, of the result or of an array, are not 0 or act on it.

    Those of an array do if the first one in their place changes the result; 0 it need not allow.
    """
    if wanted == RESULT:
        seen = np.where(case.shown, case.truth, 0).astype(np.float64)
        return bool(seen.reshape(-1)[MANY:].any())
    array = case.arguments[wanted].copy()
    array.reshape(-1)[MANY:] = array.flat[0]
    other = case.changed(**{wanted: array})
    return not has_result(other) or not np.array_equal(other.truth, case.truth, equal_nan=True)


def _work(axes: Axes, case: Case) -> int:
    """The product of the lengths of all axes of arrays and of the result."""
    lengths = lengths_of(case.arguments)
    return prod(
        lengths[group[0]]
        for group in axes.groups
        if any(axis is not None for _, axis in group) or lengths[group[0]] in case.shape
    )


def _large(case: Case) -> set[str]:
    """The arrays that have more than MANY numbers."""
    return {name for name, number in _numbers(case).items() if number > MANY}


def _numbers(case: Case) -> dict[str, int]:
    """How many numbers the result has, and each array; nothing where shapes do not fit."""
    with suppress(TypeError, ValueError, IndexError):
        sizes = {name: array.size for name, array in _arrays(case).items()}
        return sizes | {RESULT: prod(case.shape)}
    return {}


def _arrays(case: Case) -> dict[str, Array]:
    given = case.arguments
    return {name: value for name, value in given.items() if isinstance(value, np.ndarray)}


def _sound(subject: Subject, case: Case, most: int = LIMIT) -> bool:
    """Whether a case is claimed, and is soon computed."""
    numbers = _numbers(case)
    if not numbers or max(numbers[RESULT], sum(numbers.values()) - numbers[RESULT]) > most:
        return False
    with suppress(TypeError, ValueError, IndexError):
        return _keys_suffice(case) and subject.claimed(case) and has_result(case)
    return False


def _keys_suffice(case: Case) -> bool:
    """Not more queries than keys, which not every library takes."""
    if not {"q_len", "k_len"} <= case.call.parameters.keys():
        return True
    return bool(case.parameter("q_len") <= case.parameter("k_len"))


def axes_of(subject: Subject, case: Case) -> Axes:
    """The axes of a call, from calls that are drawn and from those of other sizes."""
    scope = next(each for each in subject.scopes if case.dtype in each.dtypes)
    some = [dict(each.arguments) for each in (case, *drawn(subject, [scope], case.dtype))]
    some += [{**case.arguments, **each} for each in (*sizes_of(case), *many_and_equal(case))]
    met = [lengths_of(each) for each in some]
    tied = tied_of(case)
    groups: dict[tuple[int | None, ...], list[Place]] = {}
    for place, length in met[0].items():
        of_all = tuple(each.get(place) for each in met)
        if len(set(of_all)) > 1 and 0 < length <= LARGEST and place not in tied:
            groups.setdefault(of_all, []).append(place)
    signed = {
        name
        for each in some
        for name, value in each.items()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and (value < 0).any()
    }
    others = (met[0], *met[1 + DRAWN :])
    return Axes(tuple(map(tuple, groups.values())), frozenset(signed), others)


def lengths_of(arguments: Mapping[str, Any]) -> Lengths:
    """Every axis of an array, and every whole number."""
    found: dict[Place, int] = {}
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            found |= {(name, axis): value.shape[axis] for axis in range(-value.ndim, 0)}
        elif isinstance(value, int) and not isinstance(value, bool):
            found[name, None] = value
    return found


def _equal(lengths: Lengths, groups: Groups) -> bool:
    one, other = (lengths.get(group[0], 0) for group in groups)
    return one == other > 1


def _changed(case: Case, axes: Axes, places: set[Place], length: int) -> dict[str, Any]:
    change: dict[str, Any] = {name: length for name, axis in places if axis is None}
    for start, (name, value) in enumerate(case.arguments.items()):
        if not isinstance(value, np.ndarray):
            continue
        wanted = {axis: length for axis in range(-value.ndim, 0) if (name, axis) in places}
        if wanted:
            change[name] = _resized(value, wanted, start if name in axes.signed else None)
    return change


def _resized(array: Array, lengths: Mapping[int, int], start: int | None) -> Array:
    """An array with other lengths: drawn anew, or what it holds over and over."""
    if start is not None:
        shape = [lengths.get(axis, array.shape[axis]) for axis in range(-array.ndim, 0)]
        return fine(tuple(shape), 7 * start)
    for axis, length in lengths.items():
        array = np.take(array, np.arange(length) % array.shape[axis], axis)
    return array
