"""Calls with axes of equal, short or large lengths.

Axes are inferred from drawn calls: lengths that are equal in every drawn call are one axis.
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
taken. Many implementations require even lengths, or multiples of eight."""
GROWING = tuple(24 * round(2 ** (step / 2)) for step in (0, *range(2, 29)))
"""Lengths tried until an array has more than MANY values: multiples of 24, growing by about √2."""
LONG = 4128
"""Longest axis of rows, keys or channels: an implementation may compute all pairs of them."""
COUNTED = ("q_len", "k_len", "n", "length")
"""Integer arguments that count rows or keys."""
RESULT = "the result"
LIMIT = 2**17
"""Maximum number of values in the result, and in all arrays together, of a call that must be
fast."""
MOST = 2**19
"""The same limit for a call that must have more than MANY values."""
WORK = 2**22
"""Largest product of the lengths of all axes of a call, which limits the work for its result."""

ArrayAxis = tuple[str, int | None]
"""Name of an argument, and a negative axis, counted from the last; None for an integer."""
Lengths = Mapping[ArrayAxis, int]
Groups = Sequence[Sequence[ArrayAxis]]


@dataclass(frozen=True)
class Axes:
    """The axes of a call whose lengths can be chosen."""

    groups: tuple[tuple[ArrayAxis, ...], ...]
    """Groups of axes that always have the same length."""
    signed: frozenset[str]
    """Names of arrays that may contain negative numbers."""
    met: tuple[Lengths, ...]
    """The lengths of axes in the calls that other checks make."""


def reshaped(subject: Subject, case: Case) -> Iterator[ArgumentDict]:
    """Yield arguments with all axes (or else pairs of axes) equal; then with one short or wide.

    Finally, give the result and each array more values than a grid has blocks.
    """
    axes = axes_of(subject, case)
    current = lengths_of(case.arguments)

    def first(groups: Groups, lengths: Sequence[int]) -> Iterator[ArgumentDict]:
        for length in lengths:
            change = _changed(case, axes, {place for places in groups for place in places}, length)
            if _sound(subject, case.with_arguments(**change)):
                yield change
                return

    every = list(first(axes.groups, EQUAL)) if len(axes.groups) > 1 else []
    yield from every
    for pair in combinations(axes.groups, 2) if not every else ():
        if not any(_equal(lengths, pair) for lengths in axes.met):
            yield from first(pair, [current[places[0]] for places in pair[::-1]])
    for group in axes.groups:
        met = {lengths.get(group[0], 0) for lengths in axes.met}
        if 1 not in met:
            yield from first([group], SHORT)
        if max(met) < min(WIDE):
            yield from first([group], WIDE)
    if _is_first(subject):
        yield from _many(subject, case, axes)


def _is_first(subject: Subject) -> bool:
    """Return whether this is the first combination that the method claims.

    Mistakes beyond some number of elements rarely depend on the combination, and are slow to
    find.
    """
    claimed = {subject.combination.name, *subject.siblings}
    return next(name for name in subject.call.combinations if name in claimed) == (
        subject.combination.name
    )


def _many(subject: Subject, case: Case, axes: Axes) -> Iterator[ArgumentDict]:
    """Yield arguments that give the result, and each array of floats, more than MANY values.

    Two axes are enlarged first, since most calls have two; then three, then one, and finally one
    with all other axes short. An array that none of these enlarges enough is left out.
    """
    changes = list(case.knowledge.many(case)) if case.knowledge.many else []
    yield from changes
    all_changes = (*changes, *sizes_of(case), *many_and_equal(case), *many_batches(case))
    met = set(chain.from_iterable(_large(case.with_arguments(**change)) for change in all_changes))
    floats = (name for name, array in _arrays(case).items() if array.dtype.kind == "f")
    for target in (RESULT, *floats):
        if target not in met:
            for count, others in ((2, 0), (3, 0), (1, 0), (1, 2), (1, 1)):
                if change := _first_of_many(subject, case, axes, target, count, others):
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
        remaining = set(chain.from_iterable(axes.groups)) - places if others else set()
        short = _changed(case, axes, remaining, others)
        longest = max(GROWING) if all(_of_heads(case, *each) for each in places) else LONG
        before = 0  # an array that does not grow with these lengths never will
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
    """Return whether a length may count heads: it is not known to count rows, keys or channels."""
    if axis is None:
        return name not in COUNTED
    alone = np.ndim(case.arguments[name]) == 1 and name != "positions"
    return alone or axis == -3 or name == "table"


def _shows(case: Case, wanted: str) -> bool:
    """Return whether values beyond the first MANY, in the result or an array, make a difference.

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
    """Name the arrays, and the result, with more than MANY values."""
    return {name for name, number in _numbers(case).items() if number > MANY}


def _numbers(case: Case) -> dict[str, int]:
    """Count the values in the result, and in each array; empty if shapes do not fit."""
    with suppress(TypeError, ValueError, IndexError):
        sizes = {name: array.size for name, array in _arrays(case).items()}
        return sizes | {RESULT: prod(case.shape)}
    return {}


def _arrays(case: Case) -> dict[str, Array]:
    arguments = case.arguments
    return {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}


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
    examples = [dict(each.arguments) for each in (case, *draw_cases(subject, [scope], case.dtype))]
    examples += [{**case.arguments, **each} for each in (*sizes_of(case), *many_and_equal(case))]
    met = [lengths_of(each) for each in examples]
    tied = tied_of(case)
    groups: dict[tuple[int | None, ...], list[ArrayAxis]] = {}
    for place, length in met[0].items():
        of_all = tuple(each.get(place) for each in met)
        if len(set(of_all)) > 1 and 0 < length <= LARGEST_AXIS and place not in tied:
            groups.setdefault(of_all, []).append(place)
    signed = {
        name
        for each in examples
        for name, value in each.items()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and (value < 0).any()
    }
    others = (met[0], *met[1 + DRAWN :])
    return Axes(tuple(map(tuple, groups.values())), frozenset(signed), others)


def lengths_of(arguments: Arguments) -> Lengths:
    """Collect the length of every axis of every array, and every integer argument."""
    lengths: dict[ArrayAxis, int] = {}
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            lengths |= {(name, axis): value.shape[axis] for axis in range(-value.ndim, 0)}
        elif isinstance(value, int) and not isinstance(value, bool):
            lengths[name, None] = value
    return lengths


def _equal(lengths: Lengths, groups: Groups) -> bool:
    first, other = (lengths.get(group[0], 0) for group in groups)
    return first == other > 1


def _changed(case: Case, axes: Axes, places: set[ArrayAxis], length: int) -> ArgumentDict:
    change: ArgumentDict = {name: length for name, axis in places if axis is None}
    for start, (name, value) in enumerate(case.arguments.items()):
        if not isinstance(value, np.ndarray):
            continue
        lengths = {axis: length for axis in range(-value.ndim, 0) if (name, axis) in places}
        if lengths:
            change[name] = _resized(value, lengths, start if name in axes.signed else None)
    return change


def _resized(array: Array, lengths: Mapping[int, int], start: int | None) -> Array:
    """Return an array with other lengths: new values from ``start`` on, or its own values repeated.

    The array's own values are repeated if ``start`` is None.
    """
    if start is not None:
        shape = [lengths.get(axis, array.shape[axis]) for axis in range(-array.ndim, 0)]
        return fine(tuple(shape), 7 * start)
    for axis, length in lengths.items():
        array = np.take(array, np.arange(length) % array.shape[axis], axis)
    return array
