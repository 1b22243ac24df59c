"""Other calls than a given one: of the same shape, much larger, or under other conventions.

They differ from it in one thing each, so that whatever an implementation keeps under too weak a key
comes to light.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from posenc_conformance.judge.arrays import DTYPES, Array, fine
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import agrees
from posenc_conformance.judge.knowledge import knowledge_of
from posenc_conformance.judge.subject import Scope, Subject
from posenc_conformance.judge.trial import Seeded, Trial

ROWS = ("x", "q", "k", "qkv")
"""Names of arrays that have a row for each position."""
CAPACITIES = (4097, 2049, 257)
"""Rows, keys or heads: beyond what tables and caches are first made for."""
TWINS = 2
DRAWN = 24
"""Calls that are drawn to see what calls can be like."""
STEPS = 9
"""Steps up and down in which a number is looked for whose fraction the result tells."""
MANY = 2**16
"""Numbers; a grid has 65,535 blocks along its second and third axis, and a launch may have one of
them for each number."""


def sizes_of(case: Case) -> Iterator[dict[str, Any]]:
    """Changes of its arguments that take it through the sizes at which implementations branch."""
    sizes: Iterator[dict[str, Any]] = knowledge_of(case.scheme).SIZES[case.call.name](case)
    return sizes


def others(subject: Subject, case: Case) -> Iterator[Case]:
    """Cases that differ in one thing: a parameter, a value, a size, a convention or the dtype."""
    given = case.arguments
    changes: list[dict[str, Any]] = []
    if "base" in given:
        changes += [{"base": 500000.0}, {"base": 10000.0}, {"base": 97.3}]
    if "factor" in given:
        changes.append({"factor": 1.0})
    if "positions" in given:
        longer = at(case, np.arange(4 * given["positions"].shape[-1]))
        changes += [dict(longer.arguments), {"positions": given["positions"] + 7}]
    for name, values in (("heads", (4, 8)), ("k_len", (17,)), ("max_distance", (64,))):
        changes += [{name: value} for value in values if name in given]
    changes += islice(sizes_of(case), 2)
    for change in changes:
        other = case.changed(**change)
        is_new = any(_is_new(value, given.get(name)) for name, value in change.items())
        if is_new and has_result(other):  # a number of heads may have to fit arrays
            yield from _covered(subject, other)
    yield from twins(subject, case)
    yield from elsewhere(subject, case)
    for combination, scopes in subject.siblings.items():
        other = case.under(**case.call.combinations[combination].conventions)
        if has_result(other) and any(scope.covers(other) for scope in scopes):
            yield other
    for dtype in subject.dtypes:
        if dtype != case.dtype:
            yield from _covered(subject, subject.case(given, dtype))


def twins(subject: Subject, case: Case) -> Iterator[Case]:
    """Cases of the same shapes, with other values in one argument: numbers, then arrays."""
    for name, _ in sorted(case.arguments.items(), key=lambda item: np.ndim(item[1]) > 0):
        yield from islice(_twins_in(subject, case, name), 1)


def elsewhere(subject: Subject, case: Case) -> Iterator[Case]:
    """Twins of drawn calls in each parameter whose fraction no twin of a case shows."""
    names = [name for name, each in case.call.parameters.items() if each.type == "real"]
    missing = [name for name in names if not any(_twins_in(subject, case, name))]
    scopes = [scope for scope in subject.scopes if case.dtype in scope.dtypes]
    for other in drawn(subject, scopes, case.dtype) if missing else ():
        for name in tuple(missing):
            for twin in islice(_twins_in(subject, other, name), 1):
                missing.remove(name)
                yield twin
        if not missing:
            return


def drawn(subject: Subject, scopes: Sequence[Scope], dtype: str) -> Iterator[Case]:
    """Calls that claims cover, of one claim after the other."""
    draw = knowledge_of(subject.scheme).ARGUMENTS[subject.call.name]
    for number in range(DRAWN):
        trial = Trial(subject, scopes[number % len(scopes)], dtype, {}, Seeded(number))
        yield trial.case(**draw(trial))


def _twins_in(subject: Subject, case: Case, name: str) -> Iterator[Case]:
    """Cases of the same shape with other values in one argument, if it is given.

    The result tells them from the case, and a number from what it is if its fraction is cut off.
    """
    for other in _other_values(subject, name, case.arguments.get(name)):
        twin = case.changed(**{name: other})
        cut = case.changed(**{name: float(int(other))}) if isinstance(other, float) else case
        if _tells(twin, case) and _tells(twin, cut):
            yield from _covered(subject, twin)


def _tells(case: Case, other: Case) -> bool:
    """Whether a case has a result, which no right one has for another of the same shape."""
    if not has_result(case) or case.shape != other.shape:
        return False
    return not has_result(other) or not agrees(case, other.truth)


def with_other_numbers(subject: Subject, case: Case) -> Case:
    """The case with as many other numbers as leave its shape and are claimed; it itself if none."""
    for name, value in case.arguments.items():
        if np.ndim(value) == 0:
            for other in _other_values(subject, name, value):
                twin = case.changed(**{name: other})
                if has_result(twin) and twin.shape == case.shape and subject.covers(twin):
                    case = twin
                    break
    return case


def has_result(case: Case) -> bool:
    """Whether the definition has a result for these arguments, and the dtype can hold it."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            truth = case.truth
    except (TypeError, ValueError, IndexError):
        return False
    most = float(ml_dtypes.finfo(DTYPES[case.dtype]).max) if case.dtype in DTYPES else np.inf
    size = np.abs(truth, where=np.isfinite(truth), out=np.zeros(truth.shape))
    return truth.shape == case.shape and bool(size.max(initial=0) <= most)


def _other_values(subject: Subject, name: str, value: Any) -> Iterator[Any]:
    """Values that an argument may have as well; of a number none that no claim has.

    Of a number that is claimed alone the truths of all others would be computed for nothing.
    """
    claimed = [scope.parameters.get(name) for scope in subject.scopes]
    for other in _others_of(value):
        if any(some is None or other in some for some in claimed):
            yield other


def _others_of(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        if value.size:
            yield np.roll(value, 1)
        if value.dtype.kind == "i":
            yield value + 1
    elif isinstance(value, float):
        some = (other for other in _scaled(value) if other % 1)
        yield from sorted(some, key=lambda other: abs(other) < 1)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield value + 1


def _scaled(value: float) -> Iterator[float]:
    """Numbers with a fraction, first those that are used most."""
    if value > 16:
        yield value / 7
    for power in range(1, STEPS):
        yield value * 1.37**power
        yield value / 1.37**power


def large(subject: Subject, case: Case) -> Case | None:
    """The call beyond the capacity of a first table; where only a scheme knows how, its largest."""
    for each in _larger(case):
        if subject.covers(each) and has_result(each):
            return each
    return None


def _larger(case: Case) -> Iterator[Case]:
    for rows in CAPACITIES:
        if change := _enlarged(case, rows):
            yield case.changed(**change)
    own = (case.changed(**change) for change in sizes_of(case))
    yield max(own, key=lambda each: max(each.shape, default=0), default=case)


def large_twins(subject: Subject, case: Case) -> Iterator[Case]:
    """Calls of the same large shapes: with other parameters first, then with other arrays."""
    return islice(twins(subject, case), TWINS)


def above_first(subject: Subject, case: Case) -> Case | None:
    """The call just beyond the least capacity; small enough for all others to be made there."""
    other = case.changed(**_enlarged(case, CAPACITIES[-1]))
    is_large = other.shape != case.shape and subject.covers(other)
    return other if is_large and has_result(other) else None


def others_above(subject: Subject, case: Case) -> Iterator[Case]:
    """Those that differ in one thing, and the same with more channels or queries.

    All in one dtype: what a narrow one loses at these positions is told by its own checks.
    """
    yield from (other for other in others(subject, case) if other.dtype == case.dtype)
    given, tied = case.arguments, tied_of(case)
    changes: list[dict[str, Any]] = []
    if "x" in given and ("x", -1) not in tied:
        changes.append({"x": fine((*given["x"].shape[:-1], 2 * given["x"].shape[-1]))})
    if "dim" in given:
        changes.append({"dim": 2 * given["dim"]})
    if {"q_len", "k_len"} <= given.keys():
        changes.append({"q_len": given["q_len"] + 1})
    for change in changes:
        if has_result(other := case.changed(**change)):
            yield from _covered(subject, other)


def tied_of(case: Case) -> Collection[tuple[str, int | None]]:
    """Arguments and their axes whose lengths are not to be chosen alone."""
    tied: Collection[tuple[str, int | None]] = getattr(knowledge_of(case.scheme), "TIED", {}).get(
        case.call.name, ()
    )
    return tied


def _enlarged(case: Case, rows: int) -> dict[str, Any]:
    """The arguments with so many rows, keys, distances or heads; empty if that cannot be."""
    given = case.arguments
    if "positions" in given:
        positions = np.arange(rows, dtype=given["positions"].dtype)
        axes = given["positions"].shape[:-1]
        larger: dict[str, Any] = {"positions": np.broadcast_to(positions, (*axes, rows)).copy()}
        return larger | _of_rows(given, rows)
    if {"q_len", "k_len"} <= set(given):
        return {"q_len": min(2, given["q_len"]), "k_len": rows}
    if "gradient" in given:
        return {"gradient": fine((len(given["gradient"]), 2, rows))}
    if "relative_position" in given:
        return {"relative_position": np.arange(rows) - rows // 2}
    if "heads" in given:
        return {"heads": rows}
    return {"rotary_dim": 2 * rows} if "rotary_dim" in given else {}


def many_and_equal(case: Case) -> Iterator[dict[str, Any]]:
    """Arguments with many heads, batches or distances, and with equal axes, pair by pair."""
    return (change for change in _many_and_equal(case) if has_result(case.changed(**change)))


def _many_and_equal(case: Case) -> Iterator[dict[str, Any]]:
    given = case.arguments
    if {"x", "positions"} <= given.keys():
        dim, axes = given["x"].shape[-1], given["positions"].shape[:-1]
        for leading, rows in ((2, dim), (dim, dim), (5, 5), (dim, 5), (300, 1)):
            positions = [np.arange(rows) + axis for axis in range(1, prod(axes) + 1)]
            yield {
                "x": fine((leading, rows, dim)),
                "positions": np.reshape(positions, (*axes, rows)),
            }
    if {"heads", "q_len", "k_len"} <= given.keys():
        for heads, q_len, k_len in ((5, 5, 5), (3, 3, 5), (5, 3, 5), (130, 1, 2)):
            yield {"heads": heads, "q_len": q_len, "k_len": k_len}
    if {"positions", "dim"} <= given.keys():
        yield {"positions": np.arange(given["dim"]) + 1}
    if "relative_position" in given:
        yield {"relative_position": np.resize(given["relative_position"], MANY + 1)}


def batched(case: Case) -> tuple[str, ...]:
    """Names of the arrays that take any leading axes."""
    usual = ("x",) if "x" in case.arguments else ()
    own = getattr(knowledge_of(case.scheme), "BATCHED", {})
    return tuple(own.get(case.call.name, usual))


def many_batches(case: Case) -> Iterator[dict[str, Any]]:
    """The call in as many batches as give each array, and the result, more than MANY numbers."""
    names = batched(case)
    if names:
        least = min(prod(case.arguments[name].shape[-2:]) for name in names)
        yield with_leading(case, (MANY // least + 1,))


def with_leading(case: Case, axes: tuple[int, ...]) -> dict[str, Any]:
    """The arrays that take leading axes, with these."""
    return {
        name: fine((*axes, *case.arguments[name].shape[-2:]), start)
        for start, name in enumerate(batched(case))
    }


def at(case: Case, positions: Array) -> Case:
    """The case at other positions, with as many rows; where there are axes, others on each."""
    arguments: dict[str, Any] = {"positions": positions}
    axes = case.arguments["positions"].shape[:-1]
    if axes:
        arguments["positions"] = np.stack([np.roll(positions, axis) for axis in range(*axes)])
    return case.changed(**arguments, **_of_rows(case.arguments, len(positions)))


def _of_rows(given: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """The arrays that have a row for each position, with so many rows."""
    return {
        name: fine((*given[name].shape[:-2], rows, given[name].shape[-1]), start)
        for start, name in enumerate(ROWS)
        if name in given
    }


def _is_new(value: Any, given: Any) -> bool:
    return given is None or not np.array_equal(value, given)


def _covered(subject: Subject, case: Case) -> Iterator[Case]:
    if subject.covers(case):
        yield case
