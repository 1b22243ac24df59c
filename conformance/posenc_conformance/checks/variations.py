"""Other calls than a given one: of the same shape, much larger, or under other conventions.

They differ from it in one thing each, so that whatever an implementation keeps under too weak a key
comes to light.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import Array, fine
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.claim_scope import SWITCHES, Scope
from posenc_conformance.judge.error_model import agrees
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.trial import Seeded, Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

ROWS = ("x", "q", "k", "qkv")
"""Names of arrays that have a row for each position."""
CAPACITIES = (4097, 2049, 257)
"""Rows, keys or heads: one beyond 4096, 2048 and 256, which tables and caches are first made
for."""
TWINS = 2
"""How many twins of a large call are made."""
DRAWN = 24
"""Calls that are drawn to see what calls can be like."""
COUNTS = frozenset({"offsets", "past_length", "positions"})
"""What tells a call where its rows stand."""
TOKENS = (64, 16, 5, 3, 2, 1)
"""Rows of a call with many rows in all heads together; the first that divides them is taken."""
HEADS = 4
"""Heads of a call with so many rows that an implementation switches."""
STEPS = 9
"""One more than the steps, up and down from a given number, in which one is looked for whose
fraction the result tells."""
MANY = 2**16
"""Numbers; a grid has 65,535 blocks along its second and third axis, and a launch may have one of
them for each number."""


def sizes_of(case: Case) -> Iterator[ArgumentDict]:
    """Yield changes that take a case through the sizes at which implementations branch."""
    return case.knowledge.sizes(case)


def other_cases(subject: Subject, case: Case) -> Iterator[Case]:
    """Yield cases that differ in one thing: a parameter, value, size, convention or the dtype."""
    given = case.arguments
    changes: list[ArgumentDict] = []
    if "base" in given:
        changes += [{"base": 500000.0}, {"base": 10000.0}, {"base": 97.3}, {"base": 1e7}]
    if "factor" in given:
        changes.append({"factor": 1.0})
    if "positions" in given:
        longer = at(case, np.arange(4 * given["positions"].shape[-1]))
        changes += [dict(longer.arguments), {"positions": given["positions"] + 7}]
        changes.append({"positions": with_same_ends(given["positions"])})
    for name, values in (("heads", (4, 8)), ("k_len", (17,)), ("max_distance", (64,))):
        changes += [{name: value} for value in values if name in given]
    changes += islice(sizes_of(case), 2)
    for change in changes:
        other = case.with_arguments(**change)
        is_new = any(_is_new(value, given.get(name)) for name, value in change.items())
        if is_new and other.has_result:  # a number of heads may have to fit arrays
            yield from _covered(subject, other)
    yield from twins(subject, case)
    yield from elsewhere(subject, case)
    for combination, scopes in subject.siblings.items():
        other = case.with_conventions(**case.call.combinations[combination].conventions)
        if other.has_result and any(scope.covers(other) for scope in scopes):
            yield other
    for dtype in subject.dtypes:
        if dtype != case.dtype:
            yield from _covered(subject, subject.case(given, dtype))


def with_same_ends(positions: Array) -> Array:
    """Return as many positions in another order, of which the first and the last one stay."""
    inner = positions[..., -2:0:-1]
    return np.concatenate([positions[..., :1], inner, positions[..., 1:][..., -1:]], axis=-1)


def twins(subject: Subject, case: Case) -> Iterator[Case]:
    """Yield cases of the same shapes, with other values in one argument: numbers, then arrays."""
    for name, _ in sorted(case.arguments.items(), key=lambda item: np.ndim(item[1]) > 0):
        yield from islice(_twins_in(subject, case, name), 1)


def elsewhere(subject: Subject, case: Case) -> Iterator[Case]:
    """Yield twins of drawn calls in each parameter whose fraction no twin of a case shows."""
    names = [name for name, each in case.call.parameters.items() if each.type == "real"]
    missing = [name for name in names if not any(_twins_in(subject, case, name))]
    scopes = [scope for scope in subject.scopes if case.dtype in scope.dtypes]
    for other in draw_cases(subject, scopes, case.dtype) if missing else ():
        for name in tuple(missing):
            for twin in islice(_twins_in(subject, other, name), 1):
                missing.remove(name)
                yield twin
        if not missing:
            return


def draw_cases(subject: Subject, scopes: Sequence[Scope], dtype: str) -> Iterator[Case]:
    """Draw calls that claims cover, from one claim after the other."""
    draw = subject.knowledge.arguments
    for number in range(DRAWN):
        trial = Trial(subject, scopes[number % len(scopes)], dtype, {}, Seeded(number))
        yield trial.case(**draw(trial))


def amount_of(case: Case) -> int:
    """Count the numbers in the arrays of a case."""
    return sum(np.size(value) for value in case.arguments.values() if np.ndim(value))


def _twins_in(subject: Subject, case: Case, name: str) -> Iterator[Case]:
    """Yield cases of the same shape with other values in one argument, if it is given.

    The result tells each of them from the case. If the value is a number with a fraction, it also
    tells it from the number without.
    """
    for other in _other_values(subject, name, case.arguments.get(name)):
        twin = case.with_arguments(**{name: other})
        cut = case.with_arguments(**{name: float(int(other))}) if isinstance(other, float) else case
        if _tells(twin, case) and _tells(twin, cut):
            yield from _covered(subject, twin)


def _tells(case: Case, other: Case) -> bool:
    """Return whether the result of a case tells it from another case of the same shape."""
    if not case.has_result or case.shape != other.shape:
        return False
    return not other.has_result or not agrees(case, other.truth)


def with_other_numbers(subject: Subject, case: Case) -> Case:
    """Return a case with all its numbers changed that leave its shape and are claimed.

    It is the case itself if there are none.
    """
    for name, value in case.arguments.items():
        if np.ndim(value) == 0:
            for other in _other_values(subject, name, value):
                twin = case.with_arguments(**{name: other})
                if twin.has_result and twin.shape == case.shape and subject.admit(twin):
                    case = twin
                    break
    return case


def _other_values(subject: Subject, name: str, value: Any) -> Iterator[Any]:
    """Yield other values for an argument, without those that no claim allows.

    If one number alone is claimed, the truths of all others would be computed for nothing.
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
    """Yield multiples and fractions of a number, first those that are used most."""
    if value > 16:
        yield value / 7
    for power in range(1, STEPS):
        yield value * 1.37**power
        yield value / 1.37**power


def large(subject: Subject, case: Case) -> Case | None:
    """Return the call beyond the capacity of a first table; None if there is none.

    Where only a scheme knows how to make a call large, it is the largest of the scheme's sizes.
    """
    for each in _larger(case):
        if subject.admit(each) and each.has_result:
            return each
    return None


def small_and_large(subject: Subject, case: Case) -> list[Case]:
    """Return a case, and it beyond the capacity of a first table, as far as they are claimed."""
    wide = large(subject, case)
    return [*([case] if subject.admit(case) else []), *([wide] if wide else [])]


def _larger(case: Case) -> Iterator[Case]:
    for rows in CAPACITIES:
        if change := _enlarged(case, rows):
            yield case.with_arguments(**change)
    own = (case.with_arguments(**change) for change in sizes_of(case))
    yield max(own, key=lambda each: max(each.shape, default=0), default=case)


def large_twins(subject: Subject, case: Case) -> Iterator[Case]:
    """Yield calls of the same large shapes: with other parameters first, then with other arrays."""
    return islice(twins(subject, case), TWINS)


def above_first(subject: Subject, case: Case) -> Case | None:
    """Return the call just beyond the least capacity; None if there is none.

    It is small enough for all others to be made there.
    """
    other = case.with_arguments(**_enlarged(case, CAPACITIES[-1]))
    is_large = other.shape != case.shape and subject.admit(other)
    return other if is_large and other.has_result else None


def others_above(subject: Subject, case: Case) -> Iterator[Case]:
    """Yield calls that differ from a large one in one thing, then it with more channels or queries.

    All are in one dtype: what a narrow one loses at these positions is told by its own checks.
    """
    yield from (other for other in other_cases(subject, case) if other.dtype == case.dtype)
    given, tied = case.arguments, tied_of(case)
    changes: list[ArgumentDict] = []
    if "x" in given and ("x", -1) not in tied:
        changes.append({"x": fine((*given["x"].shape[:-1], 2 * given["x"].shape[-1]))})
    if "dim" in given:
        changes.append({"dim": 2 * given["dim"]})
    if {"q_len", "k_len"} <= given.keys():
        changes.append({"q_len": given["q_len"] + 1})
    for change in changes:
        if (other := case.with_arguments(**change)).has_result:
            yield from _covered(subject, other)


def tied_of(case: Case) -> Collection[tuple[str, int | None]]:
    """Return the arguments and their axes whose lengths are not to be chosen alone."""
    return case.knowledge.tied


def _enlarged(case: Case, rows: int) -> ArgumentDict:
    """Return arguments with so many rows, keys, distances or heads; empty if that cannot be."""
    given = case.arguments
    if "positions" in given:
        positions = np.arange(rows, dtype=given["positions"].dtype)
        axes = given["positions"].shape[:-1]
        larger: ArgumentDict = {"positions": np.broadcast_to(positions, (*axes, rows)).copy()}
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


def many_and_equal(case: Case) -> Iterator[ArgumentDict]:
    """Yield arguments with many heads, batches or distances, and with equal axes, pair by pair."""
    return (change for change in _many_and_equal(case) if case.with_arguments(**change).has_result)


def _many_and_equal(case: Case) -> Iterator[ArgumentDict]:
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


def at_switches(subject: Subject, case: Case) -> Iterator[ArgumentDict]:
    """Yield arguments just below, at and just above the sizes at which an implementation switches.

    Long rows come with many heads as well.
    """
    for name, sizes in _switches(subject, case.dtype):
        for size in sizes:
            for count in (size - 1, size, size + 1):
                change = WITH[name](case, count)
                if change and case.with_arguments(**change).has_result:
                    yield change


def _switches(subject: Subject, dtype: str) -> list[tuple[str, tuple[int, ...]]]:
    scopes = [each for each in subject.scopes if dtype in each.dtypes]
    return list(dict.fromkeys(item for scope in scopes for item in scope.switches.items()))


def _with_rows(case: Case, count: int) -> ArgumentDict:
    """Return arguments with so many rows, and with some more heads where there may be."""
    if not {"positions", "k_len", "relative_position"} & case.arguments.keys():
        return {}
    larger = _enlarged(case, count)
    many = case.with_arguments(**larger)
    return {**larger, **with_leading(many, (HEADS,))} if batched_arrays(many) else larger


def _with_heads(case: Case, count: int) -> ArgumentDict:
    """Return arguments with so many heads, or leading places."""
    if "heads" in case.arguments:
        return {"heads": count}
    return with_leading(case, (count,)) if batched_arrays(case) else {}


def _with_token_heads(case: Case, count: int) -> ArgumentDict:
    """Return arguments with so many rows in all heads together: of many heads, a row or more."""
    if "positions" not in case.arguments or not batched_arrays(case):
        return {}
    rows = next(each for each in TOKENS if count % each == 0)
    few = at(case, np.arange(rows))
    return {**few.arguments, **with_leading(few, (count // rows,))}


WITH = dict(zip(SWITCHES, (_with_rows, _with_heads, _with_token_heads), strict=True))
"""Arguments with so many of what is counted; empty where a call has none."""


def batched_arrays(case: Case) -> tuple[str, ...]:
    """Return the names of the arrays that take any leading axes."""
    if case.knowledge.batched is not None:
        return case.knowledge.batched
    return ("x",) if "x" in case.arguments else ()


def many_batches(case: Case) -> Iterator[ArgumentDict]:
    """Yield as many batches as give each array, and the result, more than MANY numbers."""
    names = batched_arrays(case)
    if names:
        least = min(prod(case.arguments[name].shape[-2:]) for name in names)
        yield with_leading(case, (MANY // least + 1,))


def with_leading(case: Case, axes: tuple[int, ...]) -> ArgumentDict:
    """Make the arrays that take leading axes anew, with these axes."""
    return {
        name: fine((*axes, *case.arguments[name].shape[-2:]), start)
        for start, name in enumerate(batched_arrays(case))
    }


def at(case: Case, positions: Array) -> Case:
    """Return the case at other positions, with as many rows.

    Where positions have several axes, those on each axis differ.
    """
    arguments: ArgumentDict = {"positions": positions}
    axes = case.arguments["positions"].shape[:-1]
    if axes:
        arguments["positions"] = np.stack([np.roll(positions, axis) for axis in range(*axes)])
    return case.with_arguments(**arguments, **_of_rows(case.arguments, len(positions)))


def steps_of_one_row(case: Case) -> Iterator[ArgumentDict]:
    """Yield arguments with one row of each sequence, at places that follow, far off, and the first.

    None are yielded for calls without anything that counts, and for those of one list of positions.
    """
    given = case.arguments
    one: ArgumentDict = {}
    if "cu_seqlens" in given:
        sequences = len(given["cu_seqlens"]) - 1
        one = {"x": given["x"][..., :sequences, :], "cu_seqlens": np.arange(sequences + 1)}
    elif "x" in given and ("offsets" in given or np.ndim(given.get("positions", 0)) > 1):
        one = {"x": given["x"][..., :1, :]}
    elif "input_ids" in given:
        one = {"input_ids": given["input_ids"][:, :1]}
    elif "past_length" in given:
        one = {"q_len": 1}
    name = next((each for each in ("offsets", "past_length", "positions") if each in given), "")
    if not one or not name:
        return
    first = given[name][..., :1] if name == "positions" else given[name]
    for step in (0, 1, 8, 0):
        if case.with_arguments(**one, **{name: first + step}).has_result:
            yield {**one, name: first + step}


def _of_rows(given: Arguments, rows: int) -> ArgumentDict:
    """Make the arrays that have a row for each position anew, with so many rows."""
    return {
        name: fine((*given[name].shape[:-2], rows, given[name].shape[-1]), start)
        for start, name in enumerate(ROWS)
        if name in given
    }


def _is_new(value: Any, given: Any) -> bool:
    return given is None or not np.array_equal(value, given)


def _covered(subject: Subject, case: Case) -> Iterator[Case]:
    if subject.admit(case):
        yield case
