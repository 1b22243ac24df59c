"""Sinusoidal encoding of grid cells: bounds, invariants and deviations."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.mistakes import (
    Model,
    attempt,
    bases,
    other_conventions,
    rounded_angles,
)
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.bounded import ARITHMETIC, Answer
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.trial import Trial, product_bound

Integers = npt.NDArray[np.int64]
ROW, COLUMN = 0, 1
SIN, COS = 0, 1
NORMALIZING = 0.75
"""Roundings of a normalized coordinate (the sum with 1e-6, the quotient, 2π, their product), less
the one of an index, in units of the model's four."""


def channels(case: Case) -> tuple[Integers, Integers, Integers]:
    """Axis, pair and wave of each channel."""
    half, pairs = case.arguments["dim"] // 2, case.arguments["dim"] // 4
    part, within = np.divmod(np.arange(2 * half), half)
    if case.conventions["layout"] == "interleaved":
        pair, wave = np.divmod(within, 2)
    else:
        wave, pair = np.divmod(within, pairs)
    axis = 1 - part if case.conventions["first_axis"] == "column" else part
    return axis, pair, wave


def frequencies(case: Case) -> Floats:
    """Radians per step of each pair."""
    pairs = case.arguments["dim"] // 4
    steps = pairs - (case.conventions["denominator"] == "d/4-1")
    return np.asarray(case.arguments.get("base", 10000.0) ** -(np.arange(pairs) / steps))


def places(case: Case, shift: int = 0, epsilon: float = 1e-6) -> list[Floats]:
    """Coordinate of each row, and of each column."""
    counts = case.arguments["height"], case.arguments["width"]
    if case.conventions["coordinates"] == "index":
        return [np.arange(count) + float(shift) for count in counts]
    return [2 * np.pi * (np.arange(count) + 1.0 + shift) / (count + epsilon) for count in counts]


def by_cell(case: Case, rows: Floats, columns: Floats) -> Floats:
    """What belongs to each channel's axis, cell by cell; rows and columns have any trailing axes.

    The result has shape [height * width, dim, …].
    """
    axis, _, _ = channels(case)
    of_row, of_column = np.repeat(rows, len(columns), axis=0), np.concatenate([columns] * len(rows))
    return np.stack([of_row, of_column], axis=1)[:, axis]


def from_angles(case: Case, rows: Floats, columns: Floats) -> Floats:
    """The table that these angles, of shape [rows or columns, pairs], would give."""
    _, pair, wave = channels(case)
    angles = by_cell(case, rows, columns)[:, np.arange(len(pair)), pair]
    return np.asarray(np.where(wave == SIN, np.sin(angles), np.cos(angles)))


def error_terms(case: Case) -> ErrorTerms:
    """The scale is 1."""
    omega = frequencies(case)
    roundings = 1 + np.abs(np.log(omega))
    if case.conventions["coordinates"] == "normalized":
        roundings = roundings + NORMALIZING
    _, pair, _ = channels(case)
    return ErrorTerms(np.ones(()), by_cell(case, *places(case)) * (omega * roundings)[pair])


def allowed(trial: Trial, **sizes: int) -> bool:
    """Whether the claim covers these sizes."""
    some = trial.scope.parameters
    return all(size in some.get(name, (size,)) for name, size in sizes.items())


def arguments(trial: Trial) -> dict[str, Any]:
    """A small grid, hardly ever square."""
    dims = [8, 12, 16, 64]
    if trial.subject.combination.conventions["denominator"] == "d/4":
        dims.append(4)
    return {
        "height": trial.choose("height", (2, 3, 1, 5)),
        "width": trial.choose("width", (3, 4, 1, 7)),
        "dim": trial.choose("dim", dims),
        "base": trial.choose("base", (10000.0, 100.0, 500000.0)),
    }


def sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """A wide grid."""
    return {"height": 2, "width": 1025, "dim": 12, "base": 10000.0, **parameters}


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Few and many channels; one cell, one row, one column, squares and not."""
    smallest = 8 if case.conventions["denominator"] == "d/4-1" else 4
    dims = (4, 8, 12, 20, 48, 96, 132, 256, 384, 1024)
    yield from ({"height": 3, "width": 2, "dim": dim} for dim in dims if dim >= smallest)
    grids = ((1, 1), (1, 9), (9, 1), (4, 4), (14, 14), (16, 9), (7, 37), (300, 2), (2, 300))
    yield from ({"height": height, "width": width, "dim": 8} for height, width in grids)


class Grid:
    """An answer as a grid, with its sines and cosines of each axis side by side."""

    def __init__(self, answer: Answer) -> None:
        given = answer.case.arguments
        shape = given["height"], given["width"], given["dim"]
        self.values, self.bound = answer.values.reshape(shape), answer.bound.reshape(shape)
        axis, pair, wave = channels(answer.case)
        order = np.lexsort((pair, wave, axis)).reshape(2, 2, -1)
        self.sin, self.cos = self.values[..., order[:, SIN]], self.values[..., order[:, COS]]
        self.sin_bound = self.bound[..., order[:, SIN]]
        self.cos_bound = self.bound[..., order[:, COS]]


def norm(trial: Trial) -> None:
    """Sine and cosine of each pair lie on the unit circle."""
    answer = trial.answer(**arguments(trial))
    grid = Grid(answer)
    bound = product_bound(grid.sin, grid.sin_bound, grid.sin, grid.sin_bound)
    bound = bound + product_bound(grid.cos, grid.cos_bound, grid.cos, grid.cos_bound)
    trial.within(
        answer,
        grid.sin**2 + grid.cos**2 - 1,
        bound + ARITHMETIC,
        "sine and cosine of a pair do not lie on the unit circle",
    )


def axes_apart(trial: Trial) -> None:
    """A row's channels are the same in every column, and a column's in every row."""
    answer = trial.answer(**arguments(trial))
    grid = Grid(answer)
    axis, _, _ = channels(answer.case)
    for moving, held in ((1, axis == ROW), (0, axis == COLUMN)):
        values, bound = grid.values[..., held], grid.bound[..., held]
        first = np.take(values, [0], moving), np.take(bound, [0], moving)
        trial.within(
            answer,
            values - first[0],
            bound + first[1],
            "channels of one axis change along the other",
        )


def dot_by_offset(trial: Trial) -> None:
    """The dot product of two cells stays when both move by one row, or by one column."""
    answer = trial.answer(**arguments(trial))
    shape = answer.case.arguments["height"], answer.case.arguments["width"]
    y, e = answer.values, answer.bound
    dot = (y @ y.T).reshape(*shape, *shape)
    bound = np.abs(y) @ e.T + e @ np.abs(y).T + e @ e.T + ARITHMETIC * (np.abs(y) @ np.abs(y).T)
    bound = bound.reshape(dot.shape)
    for after, before in (
        (np.s_[1:, :, 1:, :], np.s_[:-1, :, :-1, :]),
        (np.s_[:, 1:, :, 1:], np.s_[:, :-1, :, :-1]),
    ):
        trial.within(
            answer,
            dot[after] - dot[before],
            bound[after] + bound[before],
            "the dot product of two cells depends on more than their offset",
        )


def transpose(trial: Trial) -> None:
    """The transposed grid has the same cells with their halves exchanged."""
    chosen = arguments(trial)
    height, width = chosen["height"], chosen["width"]
    if not allowed(trial, height=width, width=height):
        return
    answer = trial.answer(**chosen)
    other = Grid(trial.answer(**(chosen | {"height": width, "width": height})))
    grid, half = Grid(answer), chosen["dim"] // 2
    turned, bound = (
        np.roll(np.swapaxes(part, 0, 1), half, axis=-1) for part in (other.values, other.bound)
    )
    trial.within(
        answer,
        grid.values - turned,
        grid.bound + bound,
        "the grid with rows and columns exchanged is not the same with halves exchanged",
    )


def origin(trial: Trial) -> None:
    """In the first cell every sine is 0 and every cosine 1."""
    answer = trial.answer(**arguments(trial))
    _, _, wave = channels(answer.case)
    trial.within(
        answer,
        answer.values[:1] - wave,
        answer.bound[:1],
        "the first cell is not (sine 0, cosine 1)",
    )


def same_in_larger_grid(trial: Trial) -> None:
    """A cell has the same encoding in a larger grid."""
    chosen = arguments(trial)
    larger = {"height": chosen["height"] + 1, "width": chosen["width"] + 2}
    if not allowed(trial, **larger):
        return
    answer = trial.answer(**chosen)
    grid, other = Grid(answer), Grid(trial.answer(**(chosen | larger)))
    corner = np.s_[: chosen["height"], : chosen["width"]]
    trial.within(
        answer,
        grid.values - other.values[corner],
        grid.bound + other.bound[corner],
        "a cell's encoding depends on the size of the grid",
    )


def uniqueness(trial: Trial) -> None:
    """Different cells differ, wherever the truth differs by more than errors."""
    answer = trial.answer(**arguments(trial))
    y, truth, bound = answer.values, answer.case.truth, answer.bound
    equal = np.all(y[:, None] == y[None], axis=-1) & ~np.eye(len(y), dtype=bool)
    gap = np.max(np.abs(truth[:, None] - truth[None]) - bound[:, None] - bound[None], axis=-1)
    trial.within(
        answer,
        np.where(equal & (gap > 0), 1.0, 0.0),
        np.zeros(equal.shape),
        "two cells have the same encoding",
    )


def column_by_column(case: Case, got: Floats) -> Iterator[Model]:
    """Cells numbered down the columns."""
    given = case.arguments
    grid = case.changed().truth.reshape(given["height"], given["width"], given["dim"])
    cells = np.swapaxes(grid, 0, 1).reshape(case.shape)
    yield Model("matches cells numbered column by column", cells)


def sizes_swapped(case: Case, got: Floats) -> Iterator[Model]:
    """Height taken for width."""
    given = case.arguments
    yield from attempt(
        case.changed(height=given["width"], width=given["height"]),
        "matches height and width exchanged",
    )


def shifted(case: Case, got: Floats) -> Iterator[Model]:
    """Rows and columns counted from another number."""
    for shift in (1, -1):
        angles = [np.outer(place, frequencies(case)) for place in places(case, shift)]
        yield Model(f"matches rows and columns shifted by {shift:+d}", from_angles(case, *angles))


def without_epsilon(case: Case, got: Floats) -> Iterator[Model]:
    """The last coordinate exactly 2π."""
    angles = [np.outer(place, frequencies(case)) for place in places(case, epsilon=0.0)]
    yield Model("matches coordinates divided by their number alone", from_angles(case, *angles))


def waves_swapped(case: Case, got: Floats) -> Iterator[Model]:
    """Cosine where the sine belongs."""
    angles = [np.pi / 2 - np.outer(place, frequencies(case)) for place in places(case)]
    yield Model("matches sine and cosine exchanged", from_angles(case, *angles))


def whole_dim(case: Case, got: Floats) -> Iterator[Model]:
    """The exponent of one dimension, 2t/d, although a half has only d/2 channels."""
    pairs = case.arguments["dim"] // 4
    steps = 2 * pairs - (case.conventions["denominator"] == "d/4-1")
    omega = case.arguments.get("base", 10000.0) ** -(np.arange(pairs) / steps)
    angles = [np.outer(place, omega) for place in places(case)]
    yield Model("matches exponents of the whole dim, not of half of it", from_angles(case, *angles))


def wrong_base(case: Case, got: Floats) -> Iterator[Model]:
    """Another base."""
    yield from bases(case, None)


def low_precision(case: Case, got: Floats) -> Iterator[Model]:
    """Coordinates, frequencies or angles in a narrow dtype."""
    rows, columns = places(case)

    def result(angles: Floats) -> Floats:
        return from_angles(case, angles[: len(rows)], angles[len(rows) :])

    both = np.concatenate([rows, columns])[:, None]
    yield from rounded_angles(both, frequencies(case), result)


ERROR_TERMS = {"sincos_2d": error_terms}
ARGUMENTS = {"sincos_2d": arguments}
SWEEPS = {"sincos_2d": sweep}
SIZES = {"sincos_2d": sizes}
INVARIANTS = {
    "sincos_2d": {
        "norm": norm,
        "axes-apart": axes_apart,
        "dot-by-offset": dot_by_offset,
        "transpose": transpose,
        "origin": origin,
        "same-in-larger-grid": same_in_larger_grid,
        "uniqueness": uniqueness,
    }
}
DEVIATIONS = {
    "sincos_2d": {
        "column-by-column": column_by_column,
        "sizes-swapped": sizes_swapped,
        "axes-swapped": other_conventions(
            "first_axis", "matches the {value} in the first half; {claimed} was claimed"
        ),
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
        "wrong-base": wrong_base,
        "low-precision-angles": low_precision,
    }
}
