"""Which known mistake explains one wrong result, as large as results are in practice.

Every model of a mistake costs as much as the call itself, and there are many, so they are tried on
a few rows of a large result. A name is told only if it explains all of it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from posenc_conformance.diagnose.diagnosis import (
    LARGEST_PAIRED,
    NONE,
    Diagnosis,
    Fit,
    find_fits,
    first_fit,
    to_diagnosis,
)
from posenc_conformance.diagnose.recover import recover
from posenc_conformance.diagnose.rows import describe_rows
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import right_rows
from posenc_conformance.testing.signatures import Signature

ROW_BY_ROW = ("encode", "rotary", "in-place", "sum")
"""Kinds of calls where a row of the result depends on nothing but its own row and position."""
ROWS = 32
"""Rows of a large result on which models of mistakes are tried."""
ROWS_OF_PAIRS = 4
"""Rows of one head on which pairs of mistakes are tried, which are many."""
NEIGHBOURS = 256
"""Rows of which it is read at which positions they stand."""
ROWS_OF_ALL = 512
"""Rows on which pairs that explain those few must explain everything; a single mistake must explain
the whole result."""
Answer = tuple[Case, Floats]
"""A call and its result."""


def name_mistake(case: Case, output: Floats, index: tuple[int, ...]) -> Diagnosis:
    """Find the mistake that explains a wrong result; ``index`` is where it is farthest off.

    What an earlier call may have left is not looked for: one result cannot show it.
    """
    few, part = sample(case, output, index, ROWS)
    fits = _of_call(find_fits(few, part))
    if not fits and part.size > LARGEST_PAIRED:
        fits = _of_call(find_fits(*sample(case, output, index, ROWS_OF_PAIRS, heads=1)))
    if few is not case:
        many = sample(case, output, index, ROWS_OF_ALL)
        fits = [fit for fit in fits if _explains(fit, (case, output), many)]
    if fits:
        return to_diagnosis(fits)
    said = ""
    if _can_be_taken_apart(case):
        said = describe_rows([neighbours(case, output, index)])
    return to_diagnosis([], NONE, said or recover([(few, part)]))


def neighbours(case: Case, output: Floats, index: tuple[int, ...]) -> Answer:
    """Take rows that follow each other of one leading place: the first ones, if any is wrong."""
    rows = right_rows(output, case.truth, case.bound).reshape(-1, output.shape[-2])
    right = np.asarray(rows.all(axis=0))
    first = max(0, index[-2] - NEIGHBOURS // 2) if right[:NEIGHBOURS].all() else 0
    chosen = np.arange(first, min(first + NEIGHBOURS, len(right)))
    return taken(case, output, _heads(output.shape[:-2], index[:-2])[:1], chosen)


def _of_call(fits: Sequence[Fit]) -> list[Fit]:
    return [fit for fit in fits if not fit.of_state]


def _explains(fit: Fit, whole: Answer, many: Answer) -> bool:
    """Return whether a mistake explains a whole result, or a pair of mistakes many rows of it."""
    ids = fit.deviation.split("+")
    if len(ids) == 1:
        return first_fit(*whole, fit.deviation) is not None
    found = find_fits(*many, only=ids, largest_paired=many[1].size)
    return any(each.deviation == fit.deviation for each in found)


def sample(case: Case, output: Floats, index: tuple[int, ...], rows: int, heads: int = 2) -> Answer:
    """Take a few rows of a call and its result, that of an index among them.

    The row of the largest position is among them too, as a call may depend on it. The rows are
    those of so many leading places, such as heads. A call that cannot be taken apart, or is small,
    is returned as it is.
    """
    if not _can_be_taken_apart(case):
        return case, output
    chosen = _rows(case, index[-2], rows)
    places = _heads(output.shape[:-2], index[:-2])[:heads]
    if len(chosen) * len(places) >= output[..., 0].size:
        return case, output
    return taken(case, output, places, chosen)


def _can_be_taken_apart(case: Case) -> bool:
    """Return whether the call is the same for each row, and for each leading place."""
    of_rows = [form for form in _signature(case).forms.values() if form.has_rows]
    alike = all(form.leading and len(form.axes) == 2 for form in of_rows)
    return alike and case.call.kind in ROW_BY_ROW and "positions" in case.arguments


def taken(case: Case, output: Floats, places: Ints, chosen: Ints) -> Answer:
    """Take some rows of some leading places of a call and its result."""
    given = dict(case.arguments)
    for name, form in _signature(case).forms.items():
        if form.has_rows:
            given[name] = _few(given[name], places, chosen)
        elif "n" in form.axes:
            given[name] = np.take(given[name], chosen, axis=form.axes.index("n"))
    few = replace(case, arguments=given, printed=None, truth_shared_with=None)
    return few, _few(output, places, chosen)


def _signature(case: Case) -> Signature:
    return Signature(case.scheme, case.call)


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
