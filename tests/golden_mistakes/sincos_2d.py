"""The mistake that each golden of the grid encoding alone catches."""

from collections.abc import Callable

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from tests.golden_mistakes.common import Mistake, base_ignored, right


def sizes_exchanged(case: Case) -> Array:
    """Height taken for width."""
    given = case.arguments
    return case.changed(height=given["width"], width=given["height"]).truth


def column_by_column(case: Case) -> Array:
    """Cells numbered down the columns, on grids that are no squares."""
    given = case.arguments
    if given["height"] == given["width"]:
        return right(case)
    grid = right(case).reshape(given["height"], given["width"], given["dim"])
    return np.swapaxes(grid, 0, 1).reshape(case.shape)


def last_cell_missing(cells: int) -> Mistake:
    """A table one cell short: the cell before stands in."""

    def mistake(case: Case) -> Array:
        out = right(case)
        if len(out) == cells:
            out[-1] = out[-2]
        return out

    return mistake


def channels_repeated(size: int) -> Mistake:
    """Only the first channels computed, and repeated for the rest."""
    return lambda case: right(case)[:, np.arange(case.arguments["dim"]) % size]


def many_pairs(mistake: Mistake) -> Mistake:
    """Made only where an axis has more than 64 pairs."""
    return lambda case: mistake(case) if case.arguments["dim"] > 256 else right(case)


def under(**conventions: str) -> Mistake:
    """The result under other conventions."""
    return lambda case: case.under(**conventions).truth


def larger_side(side: Callable[[int, int], int]) -> Mistake:
    """Both coordinates divided by the same number."""

    def mistake(case: Case) -> Array:
        given = case.arguments
        count = side(given["height"], given["width"])
        whole = case.changed(height=count, width=count).truth
        grid = whole.reshape(count, count, given["dim"])
        return grid[: given["height"], : given["width"]].reshape(case.shape)

    return mistake


MISTAKES: dict[str, Mistake] = {
    "mae-2x3-d8": sizes_exchanged,
    "mae-14x14-d192": last_cell_missing(196),
    "mae-3x3-d12-base-100": base_ignored,
    "row-first-3x2-d8": column_by_column,
    "row-first-20x20-d256": channels_repeated(64),
    "big-vision-2x3-d8": sizes_exchanged,
    "big-vision-16x16-d384": many_pairs(under(denominator="d/4")),
    "detr-2x3-d8": larger_side(max),
    "detr-25x25-d256": channels_repeated(128),
}
