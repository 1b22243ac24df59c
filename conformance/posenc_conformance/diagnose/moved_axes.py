"""Positions on several axes, read from results: other ones, or of another axis."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from posenc_conformance.diagnose.diagnosis import differs, is_result_of
from posenc_conformance.diagnose.rows import BY_ROWS, fits_at_places
from posenc_conformance.judge.arrays import Array, Flags, Floats, Ints
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import right_rows
from posenc_conformance.scheme_file.axis_names import forms_of

SHOWN = 6
"""Maximum number of channels that are shown."""
LARGEST = 2**20
"""Largest result, in values, that is compared with those of other positions."""
FARTHEST = 512
"""Largest shift of all positions that is tried."""
Rule = Callable[[Ints], Ints]
"""Takes the requested positions, [axes, n], and returns those of a mistake."""


def describe_places_on_axes(case: Case, output: Floats) -> str:
    """Say in words which positions on several axes rows have, all of them; empty if unclear."""
    positions, axis = case.arguments.get("positions"), _axis_of(case)
    if positions is None or axis != 0 or not positions.size or positions.dtype.kind != "i":
        return ""
    if output.shape != case.shape or output.size > LARGEST or case.call.kind not in BY_ROWS:
        return ""
    for words, places in _rules(positions):
        moved = case.with_arguments(positions=places)
        if is_result_of(case, output, moved) and differs(case, moved.truth):
            return words
    return _describe_shift(case, output)


def _rules(asked: Ints) -> Iterator[tuple[str, Ints]]:
    """Yield words for mistaken positions of all rows."""
    number = np.arange(asked.shape[1])
    yield "all axes have the number of the row, 0, 1, 2, …", np.stack([number] * len(asked))
    counted = asked.min() + number
    yield "all axes count on from the first position", np.stack([counted] * len(asked))
    first = asked[:, :1]
    yield "each axis counts from 0: where positions begin is lost", asked - first
    yield "every row has the positions of the first one", 0 * asked + first
    ends = asked.max(axis=1)
    for last in sorted({*(2 ** np.arange(1, int(ends.max()).bit_length() + 1) - 1), *ends}):
        if 0 < last < ends.max():
            words = f"positions beyond {last} are taken for {last}, on every axis"
            yield words, np.minimum(asked, last)
    yield from _rules_of_grid(asked)


def _rules_of_grid(asked: Ints) -> Iterator[tuple[str, Ints]]:
    """Yield words for mistaken cells, if the last two axes are those of a grid, or of many."""
    grid = (asked - asked.min(axis=1, keepdims=True))[-2:]
    height, width = (int(size) for size in grid.max(axis=1) + 1)
    frames, rest = divmod(asked.shape[1], height * width)
    if rest or len(asked) != 2 + (frames > 1):
        return
    number = np.arange(height * width)
    cells = (grid[0] * width + grid[1]).reshape(frames, -1)
    if not np.array_equal(np.sort(cells), np.tile(number, (frames, 1))):
        return
    for words, rows, columns in (
        ("are i // height and i % height: not divided by the width", *np.divmod(number, height)),
        ("count column by column", number % height, number // height),
        ("count row by row, whatever the order of the rows of x", *np.divmod(number, width)),
        (
            "are those of the next cell, as if a row before them counted",
            *np.divmod(number + 1, width),
        ),
        ("are those of the cell before, as if counted from 1", *np.divmod(number - 1, width)),
    ):
        both = np.tile([rows, columns], frames)
        yield f"rows and columns of the grid {words}", np.concatenate([asked[:-2], both])


def _describe_shift(case: Case, output: Floats) -> str:
    """Say that all rows are shifted on all axes; empty if they are not, or if several would fit."""
    asked = case.arguments["positions"]
    wrong = ~right_rows(output, case.truth, case.bound)
    if not wrong.any():
        return ""
    row = int(np.argwhere(wrong)[0][-1])
    steps = np.arange(-FARTHEST, FARTHEST + 1)
    steps = steps[(steps != 0) & ((asked.min() < 0) | (asked.min() + steps >= 0))]
    x = case.arguments.get("x")
    if x is None or x.shape != output.shape or not steps.size:
        return ""
    fits = fits_at_places(case, output, row, asked[:, [row]] + steps)
    found = steps[fits.reshape(-1, len(steps)).all(axis=0)]
    if len(found) != 1 or not is_result_of(
        case, output, case.with_arguments(positions=asked + found[0])
    ):
        return ""
    by, way = abs(int(found[0])), "later" if found[0] > 0 else "earlier"
    if asked.shape[1] > 1:
        return f"every row stands {by} {way} than it should, on all axes"
    places, right = (", ".join(map(str, each)) for each in ((asked + found[0])[:, 0], asked[:, 0]))
    return f"the row is turned as at positions {places}; asked for {right}"


def describe_axes(answers: Sequence[tuple[Case, Floats]]) -> str:
    """Say in words which axes of positions rotate channels, if rows have several positions.

    Empty if that is unclear, or if the axes are right.
    """
    results = [read_axes(*each) for each in answers]
    pairs = [each for each in results if each is not None]
    if not pairs or len(pairs) < len(results):
        return ""
    requested, read = max(pairs, key=lambda each: len(each[0]))
    other = np.flatnonzero(requested != read)[:SHOWN]
    channels, actual, expected = (
        ", ".join(map(str, each[other])) for each in (np.arange(len(requested)), read, requested)
    )
    return f"channels {channels} turn by axes {actual} of positions; asked for {expected}"


def read_axes(case: Case, output: Floats) -> tuple[Ints, Ints] | None:
    """Find the axis of positions that should rotate each channel, and the axis that does.

    Axes count from 0. None unless every channel has an axis, and some have a wrong one.
    """
    axis, positions = _axis_of(case), case.arguments.get("positions")
    if axis is None or positions is None or output.shape != case.shape or not output.size:
        return None
    others = [
        case.with_arguments(positions=_all_at(positions, number, axis))
        for number in range(positions.shape[axis])
    ]
    expected = _first_that_fits(case, case.truth, others)
    actual = _first_that_fits(case, output, others)
    if expected is None or actual is None:
        return None
    right = _agree(case, output, case)
    actual = np.where(right, expected, actual)
    return (expected, actual) if (actual != expected).any() else None


def _axis_of(case: Case) -> int | None:
    """Return the axis along which the positions of a row lie; None if a row has one position."""
    form, positions = forms_of(case.call).get("positions"), case.arguments.get("positions")
    if form is None or positions is None or positions.ndim != 2 or len(form.axes) != 2:
        return None
    return 1 - form.axes.index("n") if "n" in form.axes else None


def _all_at(positions: Array, number: int, axis: int) -> Array:
    return np.broadcast_to(positions.take([number], axis), positions.shape).copy()


def _first_that_fits(case: Case, output: Floats, others: Sequence[Case]) -> Ints | None:
    """Return for each channel the first of other calls that it agrees with.

    None if a channel agrees with none.
    """
    fits = np.array([_agree(case, output, other) for other in others])
    return fits.argmax(axis=0) if fits.any(axis=0).all() else None


def _agree(case: Case, output: Floats, other: Case) -> Flags:
    """Return which channels of a result agree with another call."""
    right = np.abs(output - other.truth) <= np.maximum(case.bound, other.bound)
    return np.asarray(right.all(axis=tuple(range(output.ndim - 1))))
