"""Sinusoidal encoding of grid cells: bounds, invariants and deviations."""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.predictors import other_conventions, predict_case, rounded_angles
from posenc_conformance.families.encodings import Waves, all_different, on_circles, wrong_base
from posenc_conformance.judge.arrays import Array, Floats, round_to
from posenc_conformance.judge.bounded import Answer
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.measured_frequencies import PairFrequencies, fit_wave_frequencies
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Integers = npt.NDArray[np.int64]
ROW, COLUMN = 0, 1
SIN = 0
NORMALIZING = 0.75
"""The roundings of a normalised coordinate (the sum with 1e-6, the quotient, 2π, their product),
less the one rounding of an index, in units of the model's four."""

STEP = 0.01
"""The least change of a sine or cosine from one cell to the next, for the fastest pair: what is
normalised to 2π has it up to 600 cells."""


def channels(case: Case) -> tuple[Integers, Integers, Integers]:
    """Return the axis, the pair and the wave (sine or cosine) of each channel."""
    half, pairs = case.arguments["dim"] // 2, case.arguments["dim"] // 4
    part, within = np.divmod(np.arange(2 * half), half)
    if case.conventions["layout"] == "interleaved":
        pair, wave = np.divmod(within, 2)
    else:
        wave, pair = np.divmod(within, pairs)
    axis = 1 - part if case.conventions["first_axis"] == "column" else part
    return axis, pair, wave


def frequencies(case: Case) -> Floats:
    """Compute the frequency of each pair, in radians per unit of the coordinate."""
    pairs = case.arguments["dim"] // 4
    steps = pairs - (case.conventions["denominator"] == "d/4-1")
    return np.asarray(case.arguments.get("base", 10000.0) ** -(np.arange(pairs) / steps))


def places(case: Case, shift: int = 0, epsilon: float = 1e-6) -> list[Floats]:
    """Compute the coordinates of the rows, and those of the columns."""
    counts = case.arguments["height"], case.arguments["width"]
    if case.conventions["coordinates"] == "index":
        return [np.arange(count, dtype=np.float64) + shift for count in counts]
    first = shift + (1.0 if case.conventions["coordinates"] == "normalized" else 0.5)
    return [2 * np.pi * (np.arange(count) + first) / (count + epsilon) for count in counts]


def by_cell(case: Case, rows: Floats, columns: Floats) -> Floats:
    """Spread values of rows and columns over the cells: each channel gets those of its axis.

    Rows and columns are [rows or columns], or with an axis of channels. The result has shape
    [height * width, dim].
    """
    axis, _, _ = channels(case)
    of_row, of_column = (part.reshape(len(part), -1) for part in (rows, columns))
    cells = np.where(axis == ROW, of_row[:, None], of_column)
    return np.asarray(cells.reshape(-1, len(axis)))


def from_angles(case: Case, rows: Floats, columns: Floats) -> Floats:
    """Compute the table for the angles of rows and of columns, each [rows or columns, pairs]."""
    _, pair, wave = channels(case)
    # Spread the waves, not the angles: a row has as many cells as there are columns.
    waves = [
        np.where(wave == SIN, np.sin(angles)[:, pair], np.cos(angles)[:, pair])
        for angles in (rows, columns)
    ]
    return by_cell(case, *waves)


def error_terms(case: Case) -> ErrorTerms:
    """Return scale 1 and the angle of each channel."""
    omega = frequencies(case)
    roundings = 1 + np.abs(np.log(omega))
    if case.conventions["coordinates"] != "index":
        roundings = roundings + NORMALIZING
    _, pair, _ = channels(case)
    return ErrorTerms(np.ones(()), by_cell(case, *places(case)) * (omega * roundings)[pair])


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a small grid, rarely square."""
    dims = [8, 12, 16, 64]
    if trial.subject.combination.conventions["denominator"] == "d/4":
        dims.append(4)
    return {
        "height": trial.choose("height", (2, 3, 1, 5)),
        "width": trial.choose("width", (3, 4, 1, 7)),
        "dim": trial.choose("dim", dims),
        "base": trial.choose("base", (10000.0, 100.0, 500000.0)),
    }


def sweep(parameters: Arguments, largest: int) -> ArgumentDict:
    """Make a wide grid."""
    return {"height": 2, "width": 1025, "dim": 12, "base": 10000.0, **parameters}


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield few and many channels; one cell, one row, one column, squares and other grids."""
    smallest = 8 if case.conventions["denominator"] == "d/4-1" else 4
    dims = (4, 8, 12, 20, 48, 96, 132, 256, 384, 1024)
    yield from ({"height": 3, "width": 2, "dim": dim} for dim in dims if dim >= smallest)
    grids = ((1, 1), (1, 9), (9, 1), (4, 4), (14, 14), (16, 9), (7, 37), (300, 2), (2, 300))
    yield from ({"height": height, "width": width, "dim": 8} for height, width in grids)


def grid_of(answer: Answer) -> Answer:
    """Arrange an answer as [height, width, dim]."""
    chosen = answer.case.arguments
    return answer[np.arange(len(answer.values)).reshape(chosen["height"], chosen["width"])]


def norm(trial: Trial) -> None:
    """Check that sine and cosine of each pair lie on the unit circle."""
    answer = trial.answer(**arguments(trial))
    axis, pair, wave = channels(answer.case)
    sin, cos = np.lexsort((pair, axis, wave)).reshape(2, -1)
    on_circles(trial, Waves(answer[:, sin], answer[:, cos]))


def axes_apart(trial: Trial) -> None:
    """Check that channels of the row are the same in every column.

    Channels of the column must be the same in every row.
    """
    answer = trial.answer(**arguments(trial))
    grid = grid_of(answer)
    axis, _, _ = channels(answer.case)
    for change, held in ((grid - grid[:, :1], ROW), (grid - grid[:1], COLUMN)):
        trial.assert_zero(change[..., axis == held], "channels of one axis change along the other")


def dot_by_offset(trial: Trial) -> None:
    """Check that the dot product of two cells does not change when both move by a row or column."""
    answer = trial.answer(**arguments(trial))
    cell = grid_of(answer)
    dot = (cell[:, :, None, None] * cell).sum(axis=-1)
    for change in (
        dot[1:, :, 1:, :] - dot[:-1, :, :-1, :],
        dot[:, 1:, :, 1:] - dot[:, :-1, :, :-1],
    ):
        trial.assert_zero(change, "the dot product of two cells depends on more than their offset")


def transpose(trial: Trial) -> None:
    """Check that transposing the grid exchanges the halves of its cells."""
    chosen = arguments(trial)
    height, width = chosen["height"], chosen["width"]
    answer = trial.answer(**chosen)
    other = grid_of(trial.answer(**(chosen | {"height": width, "width": height})))
    halves_exchanged = np.roll(np.arange(chosen["dim"]), chosen["dim"] // 2)
    trial.assert_zero(
        grid_of(answer) - other.swapped(0, 1)[..., halves_exchanged],
        "the grid with rows and columns exchanged is not the same with halves exchanged",
    )


def origin(trial: Trial) -> None:
    """Check that every sine is 0 and every cosine 1 in the first cell."""
    answer = trial.answer(**arguments(trial))
    _, _, wave = channels(answer.case)
    trial.assert_zero(answer[:1] - wave, "the first cell is not (sine 0, cosine 1)")


def same_in_larger_grid(trial: Trial) -> None:
    """Check that a cell has the same encoding in a larger grid."""
    chosen = arguments(trial)
    larger = {"height": chosen["height"] + 1, "width": chosen["width"] + 2}
    answer = trial.answer(**chosen)
    other = grid_of(trial.answer(**(chosen | larger)))
    trial.assert_zero(
        grid_of(answer) - other[: chosen["height"], : chosen["width"]],
        "a cell's encoding depends on the size of the grid",
    )


def uniqueness(trial: Trial) -> None:
    """Check that cells differ wherever the truth differs by more than the error bounds."""
    answer = trial.answer(**arguments(trial))
    all_different(trial, answer, "two cells have the same encoding")


def column_by_column(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict cells numbered down the columns."""
    chosen = case.arguments
    grid = case.with_arguments().truth.reshape(chosen["height"], chosen["width"], chosen["dim"])
    cells = np.swapaxes(grid, 0, 1).reshape(case.shape)
    yield Prediction("matches cells numbered column by column", cells)


other_first_axis = other_conventions(
    "first_axis", "matches the {value} in the first half; {claimed} was claimed"
)


def axes_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the halves of rows and columns exchanged, or the same one twice."""
    yield from other_first_axis(case, got)
    axis, _, _ = channels(case)
    for name, one in (("row", ROW), ("column", COLUMN)):
        twice = np.tile(case.truth[:, axis == one], 2)
        yield Prediction(f"matches the {name} in both halves of the channels", twice)


def sizes_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict height and width exchanged."""
    chosen = case.arguments
    yield from predict_case(
        case.with_arguments(height=chosen["width"], width=chosen["height"]),
        "matches height and width exchanged",
    )


def square_grid(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the grid of a square with as many cells."""
    height, width = case.arguments["height"], case.arguments["width"]
    side = math.isqrt(height * width)
    if height != width and side * side == height * width:
        other = case.with_arguments(height=side, width=side)
        yield from predict_case(other, f"matches the grid of a square, {side} x {side}")


def shifted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict row and column coordinates shifted by one."""
    for shift in (1, -1):
        angles = [np.outer(place, frequencies(case)) for place in places(case, shift)]
        yield Prediction(
            f"matches rows and columns shifted by {shift:+d}", from_angles(case, *angles)
        )


def without_epsilon(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict coordinates divided by the number of rows or columns, without the 1e-6.

    The last normalised coordinate is then exactly 2π.
    """
    angles = [np.outer(place, frequencies(case)) for place in places(case, epsilon=0.0)]
    yield Prediction(
        "matches coordinates divided by their number alone", from_angles(case, *angles)
    )


def waves_swapped(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sines and cosines exchanged."""
    angles = [np.pi / 2 - np.outer(place, frequencies(case)) for place in places(case)]
    yield Prediction("matches sine and cosine exchanged", from_angles(case, *angles))


def whole_dim(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the exponent of the one-dimensional encoding, 2t/d.

    It is wrong because a half has only d/2 channels.
    """
    pairs = case.arguments["dim"] // 4
    steps = 2 * pairs - (case.conventions["denominator"] == "d/4-1")
    omega = case.arguments.get("base", 10000.0) ** -(np.arange(pairs) / steps)
    angles = [np.outer(place, omega) for place in places(case)]
    yield Prediction(
        "matches exponents of the whole dim, not of half of it", from_angles(case, *angles)
    )


def step_rounded_down(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the step of the exponent rounded down to a whole number."""
    dim = case.arguments["dim"]
    step = np.floor(-np.log(case.arguments.get("base", 10000.0)) / dim / 2)
    angles = [np.outer(place, np.exp(2 * np.arange(dim // 4) * step)) for place in places(case)]
    words = f"matches frequencies exp({2 * step:.0f} t): the step of the exponent rounded down"
    yield Prediction(words, from_angles(case, *angles))


def low_precision(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict coordinates, frequencies or angles in a narrow dtype."""
    rows, columns = places(case)

    def result(angles: Floats) -> Floats:
        return from_angles(case, angles[: len(rows)], angles[len(rows) :])

    both = np.concatenate([rows, columns])[:, None]
    yield from rounded_angles(
        both,
        frequencies(case),
        result,
        lambda angles, dtype: round_to(result(angles), dtype),
    )


def saved_tables(array: Array) -> Iterator[tuple[ArgumentDict, Array]]:
    """Read an array as a table with a row for each cell of a grid.

    A row of zeros for a class token may come first.
    """
    if array.ndim != 2 or array.shape[1] % 4 or array.dtype.kind not in "fV":
        return
    table = array[1:] if not array[0].any() else array
    for width in widths_of(table):
        height = len(table) // width
        yield {"height": height, "width": width, "dim": table.shape[1], "base": 10000.0}, table


def widths_of(table: Array) -> list[int]:
    """Return the possible widths of a grid, that of a square first.

    Along a row of the grid one half of the channels stays as it is, that of the other coordinate.
    """
    side, widths = math.isqrt(len(table)), []
    if side * side == len(table):
        widths.append(side)
    for half in np.split(table.astype(np.float64), 2, axis=1):
        changed = np.abs(half - half[:1]).max(axis=1) > STEP
        widths.append(int(changed.argmax()))
    return [w for w in dict.fromkeys(widths) if 1 < w < len(table) and not len(table) % w]


def read_frequencies(case: Case, output: Floats) -> Iterator[list[PairFrequencies] | None]:
    """Read the frequencies of each axis from the cells."""
    axis, pair, wave = channels(case)
    order = np.lexsort((pair, axis))
    sin, cos = order[wave[order] == SIN], order[wave[order] != SIN]
    yield fit_wave_frequencies(
        case,
        output,
        case.bound,
        (sin, cos),
        by_cell(case, *places(case))[:, sin],
        frequencies(case)[pair[sin]],
        axis=axis[sin],
    )


KNOWLEDGE = {
    "sincos_2d": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep,
        sizes=sizes,
        frequencies=read_frequencies,
        identify=saved_tables,
        invariants={
            "norm": norm,
            "axes-apart": axes_apart,
            "dot-by-offset": dot_by_offset,
            "transpose": transpose,
            "origin": origin,
            "same-in-larger-grid": same_in_larger_grid,
            "uniqueness": uniqueness,
        },
        readings=(square_grid,),
        deviations={
            # On a square, exchanged axes and cells column by column are the same.
            "axes-swapped": axes_swapped,
            "column-by-column": column_by_column,
            "sizes-swapped": sizes_swapped,
            "layout-swapped": other_conventions(
                "layout", "matches the {value} layout exactly; {claimed} was claimed"
            ),
            "waves-swapped": waves_swapped,
            "positions-shifted": shifted,
            "coordinates-swapped": other_conventions(
                "coordinates", "matches coordinates by {value}; {claimed} was claimed"
            ),
            "epsilon-left-out": without_epsilon,
            "denominator-swapped": other_conventions(
                "denominator", "matches the exponent denominator {value}; {claimed} was claimed"
            ),
            "whole-dim-exponent": whole_dim,
            "step-rounded-down": step_rounded_down,
            "wrong-base": wrong_base,
            "low-precision-angles": low_precision,
        },
    ),
}
