"""Mistakes that any call may have, and what the mistakes of single schemes are made of.

All are the reference with altered arguments, or its result altered; ``case.with_arguments()`` is
the case without the printed truth, so that ``case.with_arguments().truth`` is what the reference
says.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import DTYPES, Array
from posenc_conformance.judge.case import Case
from posenc_conformance.scheme_file.model import Call, Scheme

Mistake = Callable[[Case], Array]
Named = tuple[str, Mistake]

ROWS = (512, 1024, 4096, 32769, 131072, 1048576)
"""Lengths of tables of positions; 32768 is the first position that int16 does not hold."""
BASES = ((500000, 10000), (1000000, 10000), (10000, 500000))
CHANNELS = (2, 4, 8, 16, 32, 64, 128)
LIMITS = (1, 16, 32, 512)


def right(case: Case) -> Array:
    """A copy of what the reference says."""
    return case.with_arguments().truth.copy()


def power_of_two_from(number: int) -> int:
    """The least power of two that is not below a number."""
    return 1 << (number - 1).bit_length()


def altered(name: str, alter: Callable[[Any], Any]) -> Mistake:
    """Another argument than the one given, where one is."""

    def mistake(case: Case) -> Array:
        given = case.arguments
        return (
            case.with_arguments(**{name: alter(given[name])}).truth
            if name in given
            else right(case)
        )

    return mistake


def positions_altered(alter: Callable[[Array], Array]) -> Mistake:
    """Other positions than those asked for."""
    return altered("positions", alter)


def last_row_missing(rows: int) -> Mistake:
    """A table one row short: the row before stands in; longer sequences have a table of theirs."""
    return positions_altered(lambda p: np.where(p == rows - 1, rows - 2, p))


def numbered_from_first(positions: Array) -> Array:
    return np.asarray(positions[0] + np.arange(len(positions)))


def another_convention(**conventions: str | int) -> Mistake:
    """The result of other conventions."""
    return lambda case: case.with_arguments().with_conventions(**conventions).truth


def shared(scheme: Scheme, call: Call) -> Iterator[Named]:
    """The mistakes that a call of such arguments may have, by name.

    One may raise an ordinary exception, or give another shape, where it has no meaning.
    """
    if "positions" in call.arguments:
        yield from _of_positions()
    if "base" in call.parameters:
        for base, other in BASES:
            mistake = altered("base", partial(_taken_for, base, other))
            yield f"base {base} taken for {other}", mistake
    if {"q_len", "k_len"} <= call.parameters.keys():
        yield "several queries from zero", _several_from_zero
    if "table" in call.arguments:
        yield "table of one row taken for none", altered("table", lambda a: a * (len(a) > 1))
    yield from _of_parameters(scheme, call)
    yield from _of_conventions(call)
    for name in call.arguments:
        yield f"{name} transposed", altered(name, _transposed)
    yield from _of_results()


def _of_positions() -> Iterator[Named]:
    for name, alter in _POSITIONS.items():
        yield f"positions {name}", positions_altered(alter)
    for rows in ROWS:
        yield f"last of {rows} rows missing", last_row_missing(rows)


_POSITIONS: dict[str, Callable[[Array], Array]] = {
    "zero taken for one": lambda p: np.where(p == 0, 1, p),
    "numbered from the first": numbered_from_first,
    "numbered where unsorted": lambda p: numbered_from_first(p) if np.any(np.diff(p) < 0) else p,
    "counted from the first": lambda p: p - p[..., :1],
    "sorted": np.sort,
    "negated": lambda p: -p,
    "cut to whole numbers": np.trunc,
    "in seven bits": lambda p: p % 128,
    "as int16": lambda p: p.astype(np.int16),
    "as int32": lambda p: p.astype(np.int32),
}


def _several_from_zero(case: Case) -> Array:
    """Query i at position i although keys come before it, but a single query at the last key."""
    q_len, k_len = case.arguments["q_len"], case.arguments["k_len"]
    return right(case) if q_len == 1 else case.with_arguments(q_len=k_len).truth[..., :q_len, :]


def _of_parameters(scheme: Scheme, call: Call) -> Iterator[Named]:
    for name, parameter in call.parameters.items():
        given = [
            g.arguments[name] for g in scheme.goldens if g.call == call.name and name in g.arguments
        ]
        if parameter.of is not None or not given:
            continue
        usual = Counter(given).most_common(1)[0][0]
        yield f"{name} ignored", _always(name, usual)
        yield f"{name} of 1 taken for none", altered(name, partial(_taken_for, 1, None))
        yield f"{name} a power of two", altered(name, lambda v: power_of_two_from(v) if v else v)
        yield f"{name} at least 2", altered(name, partial(max, 2))
        yield f"{name} cut to a whole number", altered(name, int)
        for limit in LIMITS:
            yield f"{name} at most {limit}", altered(name, partial(min, limit))


def _always(name: str, value: object) -> Mistake:
    return altered(name, lambda _: value)


def _taken_for(one: object, other: object, given: object) -> object:
    return other if given == one else given


def _of_conventions(call: Call) -> Iterator[Named]:
    points = (each.conventions.items() for each in call.combinations.values())
    for axis, value in dict.fromkeys(item for point in points for item in point):
        yield f"{axis}={value}", another_convention(**{axis: value})


def _of_results() -> Iterator[Named]:
    yield "in bfloat16", lambda case: right(case).astype(DTYPES["bfloat16"]).astype(np.float64)
    yield "one channel left at 0", lambda case: right(case) * (case.shape[-1] > 1)
    yield "the first of a batch for all", _first_for_all
    for size in CHANNELS:
        yield f"channels repeated from {size} on", partial(_repeated, size)
        yield f"channels from {size} on left at 0", partial(_zeros_from, size)


def _repeated(size: int, case: Case) -> Array:
    return right(case)[..., np.arange(case.shape[-1]) % size]


def _zeros_from(size: int, case: Case) -> Array:
    return np.where(np.arange(case.shape[-1]) < size, right(case), 0)


def _first_for_all(case: Case) -> Array:
    out = right(case)
    if out.ndim > 2:
        out[:] = out[(0,) * (out.ndim - 2)]
    return out


def _transposed(matrix: Array) -> Array:
    return matrix.T if matrix.ndim == 2 and len(set(matrix.shape)) == 1 else matrix
