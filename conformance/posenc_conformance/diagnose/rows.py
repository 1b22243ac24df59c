"""At which position each row of a result stands, read from the result.

The formula may be right and the positions wrong: a cache that is not counted, ids that are not
read, a table that ends.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from posenc_conformance.judge.arrays import PRECISE, Flags, Floats, Ints
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import right_rows

BY_ROWS = ("encode", "rotary", "in-place", "gradient")
"""Kinds of calls in which each row stands at a position of its own."""
FEWEST = 3
"""Fewest rows from which it is said where they stand."""
MOST = 256
"""Most positions that are tried."""
CHANNELS_OF_SHORT_DTYPES = 16
"""Fewest channels of a row by which positions are told apart in a short dtype, whose bounds are
wide."""
SHOWN = 6
"""So many rows are shown."""


def describe_rows(answers: Sequence[tuple[Case, Floats]]) -> str:
    """Say in words at which positions the rows of wrong results stand; empty if nobody can tell."""
    found = [read_rows(case, output) for case, output in answers]
    if not found or any(rows is None for rows in found):
        return ""
    both = [
        (case.arguments["positions"], rows)
        for (case, _), rows in zip(answers, found, strict=True)
        if rows is not None
    ]
    if max(len(rows) for _, rows in both) < FEWEST:
        return ""
    if any(np.array_equal(asked, rows) for asked, rows in both):  # it is wrong in another way
        return ""
    for words, rule in RULES.items():
        if all(np.array_equal(rule(asked), rows) for asked, rows in both):
            return words
    return _each(*max(both, key=lambda pair: len(pair[1])))


def read_rows(case: Case, output: Floats) -> Ints | None:
    """Find the position at which each row stands; None unless there is one for every row.

    A row that could stand at several stands at the one that was asked for, if that is among them.
    """
    asked = case.arguments.get("positions")
    if case.call.kind not in BY_ROWS or asked is None or asked.ndim != 1 or not len(asked):
        return None
    if asked.dtype.kind != "i":  # real positions, of which there are too many
        return None
    if case.dtype not in PRECISE and output.shape[-1] < CHANNELS_OF_SHORT_DTYPES:
        return None
    found = asked.copy()
    left = ~_agrees(case, output, case)
    for place in _tried(asked):
        if not left.any():
            break
        with_place = case.with_arguments(positions=np.full(len(asked), place))
        fits = left & _agrees(case, output, with_place)
        found[fits] = place
        left &= ~fits
    return None if left.any() else found


def _agrees(case: Case, output: Floats, other: Case) -> Flags:
    """Return which rows of a result are those of another call."""
    try:
        return right_rows(output, other.truth, np.maximum(case.bound, other.bound))
    except ValueError:  # the other call has no result
        return np.zeros(output.shape[-2], dtype=np.bool_)


def _tried(asked: Ints) -> Iterator[int]:
    """Yield the positions at which a row might stand, the likeliest first, each once."""
    more = [rule(asked) for rule in RULES.values()]
    ends = 2 ** np.arange(int(np.abs(asked).max()).bit_length())
    others = np.concatenate([asked, *more, asked + 1, asked - 1, ends - 1])
    yield from list(dict.fromkeys(others.tolist()))[:MOST]


def _by_stretch(asked: Ints) -> Ints:
    """Count from 0 in each stretch of positions that follow each other."""
    begins = np.concatenate([[True], np.diff(asked) != 1])
    first = np.maximum.accumulate(np.where(begins, np.arange(len(asked)), 0))
    return np.arange(len(asked)) - first


RULES: Mapping[str, Callable[[Ints], Ints]] = {
    "rows stand at 0, 1, 2, …, by their numbers: positions, or where a cache ends, are not read": (
        lambda asked: np.arange(len(asked))
    ),
    "every row stands at position 0": np.zeros_like,
    "positions begin at 0 again in each stretch: what a cache holds is not counted": _by_stretch,
    "every row stands where the first one should": lambda asked: np.full(len(asked), asked[0]),
    "every row stands where the last one should": lambda asked: np.full(len(asked), asked[-1]),
    "positions are put in order, and rows are not": np.sort,
    "positions are those of the rows in reverse": lambda asked: asked[::-1],
    "rows stand where the one before should": lambda asked: np.roll(asked, 1),
    "rows stand where the next one should": lambda asked: np.roll(asked, -1),
}
"""What may have become of positions, in words, and what that makes of those that were asked for."""


def _each(asked: Ints, found: Ints) -> str:
    """Say where each of the first rows stands that stands elsewhere than it was asked to."""
    last = found.max()
    if np.array_equal(found, np.minimum(asked, last)):
        return f"positions beyond {last} are taken for {last}"
    some = np.flatnonzero(found != asked)[:SHOWN]
    shown = (", ".join(map(str, rows[some])) for rows in (found, asked))
    return "rows stand at {}; asked for {}".format(*shown)
