"""Calls with equal, short, wide or many axes, which are inferred from drawn calls.

Lengths that are equal in every drawn call are one axis.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod

import numpy as np

from posenc_conformance.checks.variations import (
    DRAWN,
    MANY,
    draw_cases,
    many_and_equal,
    many_batches,
    sizes_of,
    tied_of,
)
from posenc_conformance.judge.arrays import Array, fine
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.subject import Subject
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

LARGEST_AXIS = 64
"""Largest number in the smallest call that counts as the length of an axis."""
SHORT = (1, 2)
"""Lengths tried for a short axis; the first that works is taken."""
EQUAL = (4, 6, 8, 9, 16)
"""Lengths tried for all axes together; the first that works is taken."""
WIDE = (264, 258, 257)
"""Lengths tried for a wide axis, beyond a block of 128 or 256 threads; the first that works is
taken. Many axes must be even, or multiples of eight."""
GROWING = tuple(24 * round(2 ** (step / 2)) for step in (0, *range(2, 29)))
"""Lengths tried for many, but not too many, numbers: multiples of 24 that grow by about √2."""
LONG = 4128
"""Longest axis of rows, keys or channels, of which an implementation may form all pairs."""
COUNTED = ("q_len", "k_len", "n", "length")
"""Numbers among the arguments that count rows or keys."""
RESULT = "the result"
LIMIT = 2**17
"""Most numbers in the result, and in all arrays, of a call with other lengths, so that it is
fast."""
MOST = 2**19
"""Most numbers in the result, and in all arrays, of a call that must have more than MANY."""
WORK = 2**22
"""Largest product of all axes of a call, which limits the terms that are summed for a result."""

ArrayAxis = tuple[str, int | None]
"""An argument and its axis, counted from the last; None for a number."""
Lengths = Mapping[ArrayAxis, int]
Groups = Sequence[Sequence[ArrayAxis]]


@dataclass(frozen=True)
class Axes:
    """The axes of a call whose lengths can be chosen."""

    groups: tuple[tuple[ArrayAxis, ...], ...]
    """The axes, as groups of places that share one length."""
    signed: frozenset[str]
    """Arrays that may hold numbers of any sign."""
    met: tuple[Lengths, ...]
    """The lengths in the calls of other checks."""


def reshaped(subject: Subject, case: Case) -> Iterator[ArgumentDict]:
    """Yield arguments with all axes equal, or else pairs of axes; then each axis short and wide.

    Last, those with more numbers in the result and in each array than a grid has blocks.
    """
    axes = axes_of(subject, case)
    given = lengths_of(case.arguments)

    def first(groups: Groups, lengths: Sequence[int]) -> Iterator[ArgumentDict]:
        for length in lengths:
            change = _changed(case, axes, {place for each in groups for place in each}, length)
            if _sound(subject, case.with_arguments(**change)):
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
    """Return whether the method claims no combination before this one.

    Behaviour beyond some number of elements rarely depends on the combination, and is slow to
    check.
    """
    claimed = {subject.combination.name, *subject.siblings}
    return next(each for each in subject.call.combinations if each in claimed) == (
        subject.combination.name
    )


def _many(subject: Subject, case: Case, axes: Axes) -> Iterator[ArgumentDict]:
    """Yield arguments with more than MANY numbers in the result, and in each array of floats.

    First two axes are made long, since most calls have two; then three, then one, and finally one
    with all other axes short. An array that none of these enlarges is left out.
    """
    changes = list(case.knowledge.many(case)) if case.knowledge.many else []
    yield from changes
    some = (*changes, *sizes_of(case), *many_and_equal(case), *many_batches(case))
    met = set(chain.from_iterable(_large(case.with_arguments(**change)) for change in some))
    floats = (name for name, array in _arrays(case).items() if array.dtype.kind == "f")
    for wanted in (RESULT, *floats):
        if wanted not in met:
            for count, others in ((2, 0), (3, 0), (1, 0), (1, 2), (1, 1)):
                if change := _first_of_many(subject, case, axes, wanted, count, others):
                    met |= _large(case.with_arguments(**change))
                    yield change
                    break


def _first_of_many(
    subject: Subject, case: Case, axes: Axes, wanted: str, count: int, others: int
) -> ArgumentDict:
    """Find a change of ``count`` lengths that makes the result or an array large.

    Empty if none does. The other lengths become ``others``, or stay unchanged if that is 0.
    """
    for groups in combinations(axes.groups, count):
        places = set(chain.from_iterable(groups))
        rest = set(chain.from_iterable(axes.groups)) - places if others else set()
        short = _changed(case, axes, rest, others)
        longest = max(GROWING) if all(_of_heads(case, *each) for each in places) else LONG
        before = 0  # numbers that do not grow with these lengths never will
        for length in (each for each in GROWING if each <= longest):
            change = short | _changed(case.with_arguments(**short), axes, places, length)
            other = case.with_arguments(**change)
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
    """Return whether a length belongs to no rows, keys or channels that are known."""
    if axis is None:
        return name not in COUNTED
    alone = np.ndim(case.arguments[name]) == 1 and name != "positions"
    return alone or axis == -3 or name == "table"


def _shows(case: Case, wanted: str) -> bool:
    """Return whether the numbers beyond MANY, of the result or of an array, make a difference.

    Those of the result do if they are not all 0. Those of an array do if the result changes when
    they are replaced by the array's first number; 0 might not be allowed there.
    """
    if wanted == RESULT:
        seen = np.where(case.shown, case.truth, 0).astype(np.float64)
        return bool(seen.reshape(-1)[MANY:].any())
    array = case.arguments[wanted].copy()
    array.reshape(-1)[MANY:] = array.flat[0]
    other = case.with_arguments(**{wanted: array})
    return not other.has_result or not np.array_equal(other.truth, case.truth, equal_nan=True)


def _work(axes: Axes, case: Case) -> int:
    """Compute the product of the lengths of all axes of arrays and of the result."""
    lengths = lengths_of(case.arguments)
    return prod(
        lengths[group[0]]
        for group in axes.groups
        if any(axis is not None for _, axis in group) or lengths[group[0]] in case.shape
    )


def _large(case: Case) -> set[str]:
    """Name the arrays, and the result, with more than MANY numbers."""
    return {name for name, number in _numbers(case).items() if number > MANY}


def _numbers(case: Case) -> dict[str, int]:
    """Count the numbers of the result, and of each array; empty if shapes do not fit."""
    with suppress(TypeError, ValueError, IndexError):
        sizes = {name: array.size for name, array in _arrays(case).items()}
        return sizes | {RESULT: prod(case.shape)}
    return {}


def _arrays(case: Case) -> dict[str, Array]:
    given = case.arguments
    return {name: value for name, value in given.items() if isinstance(value, np.ndarray)}


def _sound(subject: Subject, case: Case, most: int = LIMIT) -> bool:
    """Return whether a case is claimed, has a result, and is fast to compute."""
    numbers = _numbers(case)
    if not numbers or max(numbers[RESULT], sum(numbers.values()) - numbers[RESULT]) > most:
        return False
    with suppress(TypeError, ValueError, IndexError):
        return _keys_suffice(case) and subject.claimed(case) and case.has_result
    return False


def _keys_suffice(case: Case) -> bool:
    """Return whether there are no more queries than keys, as some libraries require."""
    if not {"q_len", "k_len"} <= case.call.parameters.keys():
        return True
    return bool(case.parameter("q_len") <= case.parameter("k_len"))


def axes_of(subject: Subject, case: Case) -> Axes:
    """Find the axes of a call, from drawn calls and from calls of other sizes."""
    scope = next(each for each in subject.scopes if case.dtype in each.dtypes)
    some = [dict(each.arguments) for each in (case, *draw_cases(subject, [scope], case.dtype))]
    some += [{**case.arguments, **each} for each in (*sizes_of(case), *many_and_equal(case))]
    met = [lengths_of(each) for each in some]
    tied = tied_of(case)
    groups: dict[tuple[int | None, ...], list[ArrayAxis]] = {}
    for place, length in met[0].items():
        of_all = tuple(each.get(place) for each in met)
        if len(set(of_all)) > 1 and 0 < length <= LARGEST_AXIS and place not in tied:
            groups.setdefault(of_all, []).append(place)
    signed = {
        name
        for each in some
        for name, value in each.items()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and (value < 0).any()
    }
    others = (met[0], *met[1 + DRAWN :])
    return Axes(tuple(map(tuple, groups.values())), frozenset(signed), others)


def lengths_of(arguments: Arguments) -> Lengths:
    """Collect the length of every axis of an array, and every integer."""
    lengths: dict[ArrayAxis, int] = {}
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            lengths |= {(name, axis): value.shape[axis] for axis in range(-value.ndim, 0)}
        elif isinstance(value, int) and not isinstance(value, bool):
            lengths[name, None] = value
    return lengths


def _equal(lengths: Lengths, groups: Groups) -> bool:
    one, other = (lengths.get(group[0], 0) for group in groups)
    return one == other > 1


def _changed(case: Case, axes: Axes, places: set[ArrayAxis], length: int) -> ArgumentDict:
    change: ArgumentDict = {name: length for name, axis in places if axis is None}
    for start, (name, value) in enumerate(case.arguments.items()):
        if not isinstance(value, np.ndarray):
            continue
        wanted = {axis: length for axis in range(-value.ndim, 0) if (name, axis) in places}
        if wanted:
            change[name] = _resized(value, wanted, start if name in axes.signed else None)
    return change


def _resized(array: Array, lengths: Mapping[int, int], start: int | None) -> Array:
    """Return an array with other lengths: new values, or its own values repeated.

    New values begin at ``start``, unless that is None.
    """
    if start is not None:
        shape = [lengths.get(axis, array.shape[axis]) for axis in range(-array.ndim, 0)]
        return fine(tuple(shape), 7 * start)
    for axis, length in lengths.items():
        array = np.take(array, np.arange(length) % array.shape[axis], axis)
    return array
