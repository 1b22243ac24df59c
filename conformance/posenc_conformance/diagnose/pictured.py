"""Pictures of a result: its error everywhere, and what the kind of its call lets one see."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from posenc_conformance.diagnose.rows import asked_rows, equal_rows, read_rows
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import error_ratio
from posenc_conformance.pictures.picture import (
    Lines,
    Map,
    Picture,
    limits_of,
    line,
    map_errors,
    map_values,
)

LARGEST = 2**22
"""Largest result, in values, of which pictures are made: larger ones would cost seconds."""
LARGEST_OF_ROWS = 2**12
"""Largest result of which a run reads the position of each row: it draws many."""
SHOWN_AS_VALUES = ("bias", "scores", "mask")
"""Kinds of calls whose result is drawn as got, beside what was expected."""


def pictures_of(
    case: Case, output: Floats, largest_of_rows: int = LARGEST_OF_ROWS
) -> tuple[Picture, ...]:
    """Draw a result: its errors first, then what else can be seen in it.

    Nothing is drawn for a result without values, or of more than LARGEST. Positions of rows are
    read from results of up to ``largest_of_rows`` values.
    """
    errors = picture_errors(case, output)
    if errors is None:
        return ()
    rows = _rows(case, output) if output.size <= largest_of_rows else ()
    return (errors, *_values(case, output), *_frequencies(case, output), *rows)


def picture_errors(case: Case, output: Floats) -> Map | None:
    """Draw the error of each value in units of its bound, by position and channel or the like.

    Returns None for a result without values, or of more than LARGEST.
    """
    if output.shape != case.shape or not 0 < output.size <= LARGEST or not output.ndim:
        return None
    judged = np.broadcast_to(case.judged, output.shape)
    with np.errstate(invalid="ignore"):  # hidden elements may be infinite on both sides
        error = np.where(judged, np.abs(output - case.truth), 0.0)
    groups = (-1, *output.shape[-2:]) if output.ndim > 1 else (1, 1, -1)
    apart = int(np.prod(output.shape[:-2])) > 1
    axes = KINDS[case.call.kind].axes
    heads = "head" if output.ndim == 3 else "batch and head"
    group = (axes[0] if len(axes) > 2 else heads) if apart else ""
    return map_errors(
        f"{case.call.name}: error in units of its bound",
        error_ratio(error, case.bound).reshape(groups),
        judged.reshape(groups),
        _axes(case),
        (_row_labels(case), range(output.shape[-1])),
        group,
    )


def _axes(case: Case) -> tuple[str, str]:
    """Return the names of rows and columns; a result of one axis is drawn as one row."""
    names = ("", *KINDS[case.call.kind].axis_names(min(len(case.shape), 2)))
    return names[-2], names[-1]


def _row_labels(case: Case) -> Sequence[Any]:
    """Return the positions of the rows if each has one, else their numbers."""
    if len(case.shape) < 2:
        return ()
    positions = case.arguments.get("positions")
    if isinstance(positions, np.ndarray) and positions.shape == case.shape[-2:-1]:
        return tuple(positions.tolist())
    return range(case.shape[-2])


def _values(case: Case, output: Floats) -> Iterator[Map]:
    """Draw a bias, mask or scores as got and as expected, of the head with most errors."""
    if case.call.kind not in SHOWN_AS_VALUES or output.ndim < 2:
        return
    truth = np.asarray(case.truth, np.float64)
    flat = (-1, *output.shape[-2:])
    got, expected = output.reshape(flat), truth.reshape(flat)
    with np.errstate(invalid="ignore"):
        off = np.abs(np.where(np.isfinite(expected), got - expected, 0.0))
    head = int(np.argmax((off > np.broadcast_to(case.bound, case.shape).reshape(flat)).sum((1, 2))))
    limits = limits_of(got[head], expected[head])
    where = f" of head {head}" if len(got) > 1 else ""
    for name, values in (("got", got[head]), ("expected", expected[head])):
        labels = range(values.shape[0]), range(values.shape[1])
        yield map_values(f"{case.call.name}{where}, {name}", values, _axes(case), labels, limits)


def _frequencies(case: Case, output: Floats) -> Iterator[Lines]:
    """Draw the frequencies that pairs turn by, beside those asked for."""
    read = case.knowledge.frequencies
    pairs = next((own for own in read(case, output) if own is not None), None) if read else None
    for turns in pairs or ():
        if len(turns.numbers) > 1:
            asked = line("asked", turns.numbers, np.abs(turns.asked))
            back = bool(np.any(turns.frequencies * turns.asked < 0))
            name = "found, some turning back" if back else "found"
            found = line(name, turns.numbers, np.abs(turns.frequencies))
            where = f" ({turns.where.lstrip(', ')})" if turns.where else ""
            title = f"{case.call.name}: radians per position, by pair{where}"
            yield Lines(title, "pair", "frequency", (asked, found), "y")


def _rows(case: Case, output: Floats) -> Iterator[Lines]:
    """Draw how far rows are from the positions asked for, if any row is."""
    asked = asked_rows(case)
    found = read_rows(case, output) if asked is not None else None
    if asked is None or found is None or np.array_equal(asked, found) or asked.shape[-1] < 2:
        return
    if equal_rows(case, asked, found):  # which of the equal rows it is, nobody can tell
        return
    wrong = (asked != found).reshape(-1, asked.shape[-1])
    sequence = int(wrong.sum(axis=-1).argmax())
    numbers = range(asked.shape[-1])
    off = (found - asked).reshape(wrong.shape)[sequence]
    series = line("asked", numbers, 0 * off), line("found", numbers, off)
    title = f"{case.call.name}: position of each row, less the one asked for"
    yield Lines(title, "row", "positions too far", series)
