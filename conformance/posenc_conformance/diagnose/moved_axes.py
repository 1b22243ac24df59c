"""The axis of positions that rotates each channel, read from results."""

from collections.abc import Sequence

import numpy as np

from posenc_conformance.judge.arrays import Array, Flags, Floats, Ints
from posenc_conformance.judge.case import Case
from posenc_conformance.scheme_file.axis_names import forms_of

SHOWN = 6
"""Maximum number of channels that are shown."""


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
