"""Variations of a call: of the same shape, much larger, or under other conventions.

Each differs from the call in one thing, which exposes a cache whose key lacks it.
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
"""Rows, keys or heads: one beyond 4096, 2048 and 256, the usual initial sizes of tables and
caches."""
TWINS = 2
"""Number of twins (calls of the same shape, with one other argument) tried for a large call."""
DRAWN = 24
"""Number of calls drawn as examples."""
COUNTS = frozenset({"offsets", "past_length", "positions"})
"""Arguments that determine the positions of a call's rows."""
TOKENS = (64, 16, 5, 3, 2, 1)
"""Numbers of rows per head that are tried; the first that divides the total count is taken."""
HEADS = 4
"""Number of heads in a call whose number of rows makes an implementation branch."""
STEPPED = (5, 6, 7, 256, 1024, 2048, 4096)
"""Last positions of calls that make a table grow by one row: small ones, and those just beyond
256, 1024, 2048 and 4096 rows."""
STEPS = 9
"""Exclusive limit on the powers of 1.37 by which a number is multiplied or divided, until its
fraction affects the result."""
MANY = 2**16
"""Number of values: a CUDA grid has 65,535 blocks along its second and third axis, and a launch may
use one block per value."""


def sizes_of(case: Case) -> Iterator[ArgumentDict]:
    """Yield changes that take a case through the sizes at which implementations branch."""
    return case.knowledge.sizes(case)


def other_cases(subject: Subject, case: Case) -> Iterator[Case]:
    """Yield cases that differ in one thing: a parameter, value, size, convention or the dtype."""
    arguments = case.arguments
    changes: list[ArgumentDict] = []
    if "base" in arguments:
        changes += [{"base": 500000.0}, {"base": 10000.0}, {"base": 97.3}, {"base": 1e7}]
    if "factor" in arguments:
        changes.append({"factor": 1.0})
    if "positions" in arguments:
        longer = at(case, np.arange(4 * arguments["positions"].shape[-1]))
        changes += [dict(longer.arguments), {"positions": arguments["positions"] + 7}]
        changes.append({"positions": with_same_ends(arguments["positions"])})
    for name, values in (("heads", (4, 8)), ("k_len", (17,)), ("max_distance", (64,))):
        changes += [{name: value} for value in values if name in arguments]
    changes += islice(sizes_of(case), 2)
    for change in changes:
        other = case.with_arguments(**change)
        is_new = any(_is_new(value, arguments.get(name)) for name, value in change.items())
        if is_new and other.has_result:  # the number of heads may have to fit arrays
            yield from subject.runnable([other])
    yield from twins(subject, case)
    yield from elsewhere(subject, case)
    for combination, scopes in subject.siblings.items():
        other = case.with_conventions(**case.call.combinations[combination].conventions)
        if other.has_result and any(scope.covers(other) for scope in scopes):
            yield other
    for dtype in subject.dtypes:
        if dtype != case.dtype:
            yield from subject.runnable([subject.case(arguments, dtype)])


def with_same_ends(positions: Array) -> Array:
    """Return the positions in another order, keeping the first and the last one."""
    inner = positions[..., -2:0:-1]
    return np.concatenate([positions[..., :1], inner, positions[..., 1:][..., -1:]], axis=-1)


def twins(subject: Subject, case: Case) -> Iterator[Case]:
    """Yield cases of the same shapes, with other values in one argument: numbers, then arrays."""
    for name, _ in sorted(case.arguments.items(), key=lambda item: np.ndim(item[1]) > 0):
        yield from islice(_twins_in(subject, case, name), 1)


def elsewhere(subject: Subject, case: Case) -> Iterator[Case]:
    """Yield twins of drawn calls in each real parameter in which ``case`` has no twin."""
    names = [name for name, parameter in case.call.parameters.items() if parameter.type == "real"]
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
    """Draw calls from one scope of a claim after the other."""
    draw = subject.knowledge.arguments
    for number in range(DRAWN):
        trial = Trial(subject, scopes[number % len(scopes)], dtype, {}, Seeded(number))
        yield trial.case(**draw(trial))


def amount_of(case: Case) -> int:
    """Count the numbers in the arrays of a case."""
    return sum(np.size(value) for value in case.arguments.values() if np.ndim(value))


def _twins_in(subject: Subject, case: Case, name: str) -> Iterator[Case]:
    """Yield cases of the same shape with other values of one argument, if it is given.

    The result distinguishes each of them from the case. If the value is a number with a fraction,
    the result also distinguishes it from the number without.
    """
    for other in _other_values(subject, name, case.arguments.get(name)):
        twin = case.with_arguments(**{name: other})
        cut = case.with_arguments(**{name: float(int(other))}) if isinstance(other, float) else case
        if _tells(twin, case) and _tells(twin, cut):
            yield from subject.runnable([twin])


def _tells(case: Case, other: Case) -> bool:
    """Return whether the result of a case distinguishes it from another case of the same shape."""
    if not case.has_result or case.shape != other.shape:
        return False
    return not other.has_result or not agrees(case, other.truth)


def with_other_numbers(subject: Subject, case: Case) -> Case:
    """Return a case with all numbers changed that can be, within the claims and the same shape.

    Return the case itself if none can be.
    """
    for name, value in case.arguments.items():
        if np.ndim(value) == 0:
            others = (
                case.with_arguments(**{name: other})
                for other in _other_values(subject, name, value)
            )
            alike = (twin for twin in others if twin.has_result and twin.shape == case.shape)
            case = next(subject.runnable(alike), case)
    return case


def _other_values(subject: Subject, name: str, value: Any) -> Iterator[Any]:
    """Yield other values of an argument, except those that no claim allows.

    If only one number is claimed, computing the truths of all others would be useless.
    """
    claimed = [scope.parameters.get(name) for scope in subject.scopes]
    for other in _others_of(value):
        if any(values is None or other in values for values in claimed):
            yield other


def _others_of(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        if value.size:
            yield np.roll(value, 1)
        if value.dtype.kind == "i":
            yield value + 1
    elif isinstance(value, float):
        fractional = (other for other in _scaled(value) if other % 1)
        yield from sorted(fractional, key=lambda other: abs(other) < 1)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield value + 1


def _scaled(value: float) -> Iterator[float]:
    """Yield a number times and divided by powers of 1.37; a large one divided by 7 first."""
    if value > 16:
        yield value / 7
    for power in range(1, STEPS):
        yield value * 1.37**power
        yield value / 1.37**power


def large(subject: Subject, case: Case) -> Case | None:
    """Return the call, enlarged beyond the initial capacity of tables; None if that is impossible.

    If only the scheme can enlarge a call, it is the largest of the scheme's sizes.
    """
    return next((wide for wide in subject.runnable(_larger(case)) if wide.has_result), None)


def small_and_large(subject: Subject, case: Case) -> list[Case]:
    """Return a case, and the same beyond the initial capacity of tables, if they are claimed."""
    wide = large(subject, case)
    return [*subject.runnable([case]), *([wide] if wide else [])]


def of_one_sequence(case: Case) -> Iterator[Case]:
    """Yield the same call for the first leading index alone, if its arrays have several."""
    arrays = {name: case.arguments[name] for name in batched_arrays(case)}
    arrays = {name: array for name, array in arrays.items() if array.ndim > 2}
    if any(len(array) > 1 for array in arrays.values()):
        yield case.with_arguments(**{name: array[:1] for name, array in arrays.items()})


def _larger(case: Case) -> Iterator[Case]:
    for rows in CAPACITIES:
        if change := _enlarged(case, rows):
            yield case.with_arguments(**change)
    own = (case.with_arguments(**change) for change in sizes_of(case))
    yield max(own, key=lambda enlarged: max(enlarged.shape, default=0), default=case)


def large_twins(subject: Subject, case: Case) -> Iterator[Case]:
    """Yield calls of the same large shapes: with other parameters first, then with other arrays."""
    return islice(twins(subject, case), TWINS)


def above_first(subject: Subject, case: Case) -> Case | None:
    """Return the call, enlarged just beyond the smallest capacity; None if that is impossible.

    It is small enough for all other variations.
    """
    other = case.with_arguments(**_enlarged(case, CAPACITIES[-1]))
    if other.shape == case.shape:
        return None
    return next((wide for wide in subject.runnable([other]) if wide.has_result), None)


def others_above(subject: Subject, case: Case) -> Iterator[Case]:
    """Yield calls that differ from a large one in one thing, then with more channels or queries.

    All have the same dtype: the errors of a narrow one at these positions have checks of their own.
    """
    yield from (other for other in other_cases(subject, case) if other.dtype == case.dtype)
    arguments, tied = case.arguments, tied_of(case)
    changes: list[ArgumentDict] = []
    if "x" in arguments and ("x", -1) not in tied:
        changes.append({"x": fine((*arguments["x"].shape[:-1], 2 * arguments["x"].shape[-1]))})
    if "dim" in arguments:
        changes.append({"dim": 2 * arguments["dim"]})
    if {"q_len", "k_len"} <= arguments.keys():
        changes.append({"q_len": arguments["q_len"] + 1})
    for change in changes:
        if (other := case.with_arguments(**change)).has_result:
            yield from subject.runnable([other])


def tied_of(case: Case) -> Collection[tuple[str, int | None]]:
    """Return the arguments and axes whose lengths cannot be chosen independently."""
    return case.knowledge.tied


def _enlarged(case: Case, rows: int) -> ArgumentDict:
    """Return arguments with ``rows`` rows, keys, distances or heads; empty if impossible."""
    arguments = case.arguments
    if "positions" in arguments:
        positions = np.arange(rows, dtype=arguments["positions"].dtype)
        axes = arguments["positions"].shape[:-1]
        larger: ArgumentDict = {"positions": np.broadcast_to(positions, (*axes, rows)).copy()}
        return larger | _of_rows(arguments, rows)
    if {"q_len", "k_len"} <= set(arguments):
        return {"q_len": min(2, arguments["q_len"]), "k_len": rows}
    if "gradient" in arguments:
        return {"gradient": fine((len(arguments["gradient"]), 2, rows))}
    if "relative_position" in arguments:
        return {"relative_position": np.arange(rows) - rows // 2}
    if "heads" in arguments:
        return {"heads": rows}
    return {"rotary_dim": 2 * rows} if "rotary_dim" in arguments else {}


def many_and_equal(case: Case) -> Iterator[ArgumentDict]:
    """Yield arguments with many heads, batches or distances, and with equal axes, pair by pair."""
    return (change for change in _many_and_equal(case) if case.with_arguments(**change).has_result)


def _many_and_equal(case: Case) -> Iterator[ArgumentDict]:
    arguments = case.arguments
    if {"x", "positions"} <= arguments.keys():
        dim, axes = arguments["x"].shape[-1], arguments["positions"].shape[:-1]
        for leading, rows in ((2, dim), (dim, dim), (5, 5), (dim, 5), (300, 1)):
            positions = [np.arange(rows) + axis for axis in range(1, prod(axes) + 1)]
            yield {
                "x": fine((leading, rows, dim)),
                "positions": np.reshape(positions, (*axes, rows)),
            }
    if {"heads", "q_len", "k_len"} <= arguments.keys():
        for heads, q_len, k_len in ((5, 5, 5), (3, 3, 5), (5, 3, 5), (130, 1, 2)):
            yield {"heads": heads, "q_len": q_len, "k_len": k_len}
    if {"positions", "dim"} <= arguments.keys():
        yield {"positions": np.arange(arguments["dim"]) + 1}
    if "relative_position" in arguments:
        yield {"relative_position": np.resize(arguments["relative_position"], MANY + 1)}


def at_switches(subject: Subject, case: Case) -> Iterator[ArgumentDict]:
    """Yield arguments just below, at and just above the sizes at which an implementation branches.

    Many rows come with several heads as well.
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
    """Return arguments with ``count`` rows, and with several heads where possible."""
    if not {"positions", "k_len", "relative_position"} & case.arguments.keys():
        return {}
    larger = _enlarged(case, count)
    many = case.with_arguments(**larger)
    return {**larger, **with_leading(many, (HEADS,))} if batched_arrays(many) else larger


def _with_heads(case: Case, count: int) -> ArgumentDict:
    """Return arguments with ``count`` heads, or with one leading axis of that length."""
    if "heads" in case.arguments:
        return {"heads": count}
    return with_leading(case, (count,)) if batched_arrays(case) else {}


def _with_token_heads(case: Case, count: int) -> ArgumentDict:
    """Return arguments with ``count`` rows in all heads together, and at least one in each head."""
    if "positions" not in case.arguments or not batched_arrays(case):
        return {}
    rows = next(size for size in TOKENS if count % size == 0)
    few = at(case, np.arange(rows))
    return {**few.arguments, **with_leading(few, (count // rows,))}


WITH = dict(zip(SWITCHES, (_with_rows, _with_heads, _with_token_heads), strict=True))
"""By the quantity counted, functions that return arguments with a given count; empty if a call has
no such quantity."""


def batched_arrays(case: Case) -> tuple[str, ...]:
    """Return the names of the arrays that accept any leading axes."""
    if case.knowledge.batched is not None:
        return case.knowledge.batched
    return ("x",) if "x" in case.arguments else ()


def many_batches(case: Case) -> Iterator[ArgumentDict]:
    """Yield arguments with a leading axis that gives each array more than MANY values."""
    names = batched_arrays(case)
    if names:
        least = min(prod(case.arguments[name].shape[-2:]) for name in names)
        yield with_leading(case, (MANY // least + 1,))


def with_leading(case: Case, axes: tuple[int, ...]) -> ArgumentDict:
    """Return new arrays with these leading axes, for the arguments that accept any."""
    return {
        name: fine((*axes, *case.arguments[name].shape[-2:]), start)
        for start, name in enumerate(batched_arrays(case))
    }


def at(case: Case, positions: Array) -> Case:
    """Return the case at other positions, with one row per position.

    If positions have several axes, those on each axis differ.
    """
    arguments: ArgumentDict = {"positions": positions}
    axes = case.arguments["positions"].shape[:-1]
    if axes:
        arguments["positions"] = np.stack([np.roll(positions, axis) for axis in range(*axes)])
    return case.with_arguments(**arguments, **_of_rows(case.arguments, len(positions)))


def steps_of_one_row(case: Case) -> Iterator[ArgumentDict]:
    """Yield arguments with one row per sequence, at the first position, 1 and 8 later, and again.

    Yields nothing for calls without an argument that counts, or with one list of positions.
    """
    change, name = _of_one_row(case)
    for step in (0, 1, 8, 0) if change else ():
        first = case.arguments[name][..., :1] if name == "positions" else case.arguments[name]
        if case.with_arguments(**change, **{name: first + step}).has_result:
            yield {**change, name: first + step}


def _of_one_row(case: Case) -> tuple[ArgumentDict, str]:
    """Return arguments with one row per sequence, and the name of the one that counts, or none."""
    inputs = case.arguments
    change: ArgumentDict = {}
    if "cu_seqlens" in inputs:
        sequences = len(inputs["cu_seqlens"]) - 1
        change = {"x": inputs["x"][..., :sequences, :], "cu_seqlens": np.arange(sequences + 1)}
    elif "x" in inputs and ("offsets" in inputs or np.ndim(inputs.get("positions", 0)) > 1):
        change = {"x": inputs["x"][..., :1, :]}
    elif "input_ids" in inputs:
        change = {"input_ids": inputs["input_ids"][:, :1]}
    elif "past_length" in inputs:
        change = {"q_len": 1}
    name = next((key for key in ("offsets", "past_length", "positions") if key in inputs), "")
    return (change, name) if name else ({}, "")


def growing(case: Case) -> Iterator[ArgumentDict]:
    """Yield arguments of decoding: a few rows, then one row at each of the positions after them.

    Then one row at positions where tables of the usual initial sizes are too short by one.
    """
    inputs = case.arguments
    change, name = _of_one_row(case)
    for place in STEPPED:
        if change:
            yield {
                **change,
                name: 0 * (inputs[name][..., :1] if name == "positions" else inputs[name]) + place,
            }
        elif "positions" in inputs:
            rows = np.arange(place + 1) if place == STEPPED[0] else np.array([place])
            yield dict(at(case, rows).arguments)
        elif {"q_len", "k_len"} <= inputs.keys():
            yield {"q_len": place + 1 if place == STEPPED[0] else 1, "k_len": place + 1}


def _of_rows(given: Arguments, rows: int) -> ArgumentDict:
    """Return new arrays with ``rows`` rows, for the arguments with a row per position."""
    return {
        name: fine((*given[name].shape[:-2], rows, given[name].shape[-1]), start)
        for start, name in enumerate(ROWS)
        if name in given
    }


def _is_new(value: Any, given: Any) -> bool:
    return given is None or not np.array_equal(value, given)
