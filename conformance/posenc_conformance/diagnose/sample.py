"""A few rows of a large result, on which models of mistakes are tried: each costs as much as it."""

from dataclasses import replace

import numpy as np

from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import right_rows
from posenc_conformance.scheme_file.axis_names import forms_of

ROW_BY_ROW = ("encode", "rotary", "in-place", "sum")
"""Kinds of calls where a row of the result depends on nothing but its own row and position."""
NEIGHBOURS = 256
"""Rows of which it is read at which positions they stand."""
Answer = tuple[Case, Floats]
"""A call and its result."""


def neighbours(case: Case, output: Floats, index: tuple[int, ...]) -> Answer:
    """Take rows that follow each other of one leading place: the first ones, if any is wrong."""
    rows = right_rows(output, case.truth, case.bound).reshape(-1, output.shape[-2])
    right = np.asarray(rows.all(axis=0))
    first = max(0, index[-2] - NEIGHBOURS // 2) if right[:NEIGHBOURS].all() else 0
    chosen = np.arange(first, min(first + NEIGHBOURS, len(right)))
    return _taken(case, output, _heads(output.shape[:-2], index[:-2])[:1], chosen)


def sample(case: Case, output: Floats, index: tuple[int, ...], rows: int, heads: int = 2) -> Answer:
    """Take a few rows of a call and its result, that of an index among them.

    The row of the largest position is among them too, as a call may depend on it. The rows are
    those of so many leading places, such as heads. A call that cannot be taken apart, or is small,
    is returned as it is.
    """
    if not can_be_taken_apart(case):
        return case, output
    chosen = _rows(case, index[-2], rows)
    places = _heads(output.shape[:-2], index[:-2])[:heads]
    if len(chosen) * len(places) >= output[..., 0].size:
        return case, output
    return _taken(case, output, places, chosen)


def can_be_taken_apart(case: Case) -> bool:
    """Return whether the call is the same for each row, and for each leading place."""
    of_rows = [form for form in forms_of(case.call).values() if form.has_rows]
    alike = all(form.leading and len(form.axes) == 2 for form in of_rows)
    return alike and case.call.kind in ROW_BY_ROW and "positions" in case.arguments


def _taken(case: Case, output: Floats, places: Ints, chosen: Ints) -> Answer:
    """Take some rows of some leading places of a call and its result."""
    given = dict(case.arguments)
    for name, form in forms_of(case.call).items():
        if form.has_rows:
            given[name] = _few(given[name], places, chosen)
        elif "n" in form.axes:
            given[name] = np.take(given[name], chosen, axis=form.axes.index("n"))
    few = replace(case, arguments=given, printed=None, truth_shared_with=None)
    return few, _few(output, places, chosen)


def _few(values: Floats, heads: Ints, rows: Ints) -> Floats:
    """Take some rows of some leading places, which become one axis; of none there is no axis."""
    if values.ndim == 2:
        return values[rows]
    return values.reshape(-1, *values.shape[-2:])[heads][:, rows]


def _rows(case: Case, worst: int, count: int) -> Ints:
    """Choose rows: the first ones, the farthest off, that of the largest position, others."""
    positions = case.arguments["positions"]
    total = positions.shape[-1]
    largest = int(np.argmax(np.abs(positions).max(axis=tuple(range(positions.ndim - 1)))))
    first = np.arange(min(count // 2, total))
    spread = np.linspace(0, total - 1, min(max(count // 2 - 2, 1), total)).astype(np.int64)
    return np.unique([worst, largest, *first, *spread])


def _heads(shape: tuple[int, ...], worst: tuple[int, ...]) -> Ints:
    """Choose two leading places: that which is farthest off, and the first or the last."""
    total = int(np.prod(shape))
    at = int(np.ravel_multi_index(worst, shape)) if shape else 0
    return np.array([at, 0 if at else total - 1])[: min(2, total)]
