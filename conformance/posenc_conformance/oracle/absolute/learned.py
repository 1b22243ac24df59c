"""Learned tables by their definition; cubics as Hermite splines, which equal Keys' kernel."""

from collections.abc import Callable

import mpmath

from posenc_conformance.oracle import Arguments, Conventions, Element

Along = Callable[[int], mpmath.mpf]
"""A function from an old cell of an axis to its value."""


def learned(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the table entry of a position at (row, channel)."""
    table, positions = arguments["table"], arguments["positions"]
    match conventions["offset"]:
        case "none":
            before = 0
        case "two":
            before = 2
        case "after-padding":
            before = int(arguments["padding_idx"]) + 1
    return lambda index: mpmath.mpf(float(table[before + int(positions[index[0]]), index[1]]))


def spline(value: Along, grid: int, place: mpmath.mpf, tension: mpmath.mpf) -> mpmath.mpf:
    """Interpolate with a cubic between two cells.

    The slope at a cell is ``tension`` times the difference of its neighbours.
    """

    def at(cell: int) -> mpmath.mpf:
        return value(min(max(cell, 0), grid - 1))

    left = int(mpmath.floor(place))
    t = place - left
    slopes = [tension * (at(cell + 1) - at(cell - 1)) for cell in (left, left + 1)]
    rise = 3 * t**2 - 2 * t**3
    return (
        at(left) * (1 - rise)
        + at(left + 1) * rise
        + slopes[0] * t * (1 - t) ** 2
        - slopes[1] * t**2 * (1 - t)
    )


def filtered(value: Along, grid: int, place: mpmath.mpf, stretch: mpmath.mpf) -> mpmath.mpf:
    """Return the mean of the cells inside the grid, weighted by a stretched Catmull-Rom kernel."""
    top = bottom = mpmath.mpf(0)
    for cell in range(grid):
        x = abs(place - cell) / stretch
        weight = mpmath.mpf(0)
        if x < 1:
            weight = (3 * x**3 - 5 * x**2 + 2) / 2
        elif x < 2:
            weight = (-(x**3) + 5 * x**2 - 8 * x + 4) / 2
        top, bottom = top + weight * value(cell), bottom + weight
    return top / bottom


def sample(value: Along, grid: int, size: int, cell: int, resampling: str) -> mpmath.mpf:
    """Return the value of new cell ``cell`` of one axis, resampled from ``grid`` to ``size``."""
    if resampling == "linear-corners":
        place = mpmath.mpf(cell * (grid - 1)) / (size - 1 or 1)
        left = min(int(mpmath.floor(place)), max(grid - 2, 0))
        return value(left) + (place - left) * (value(min(left + 1, grid - 1)) - value(left))
    length = mpmath.mpf(size)
    if resampling == "bicubic-offset":
        length += mpmath.mpf(1) / 10
    place = (2 * cell + 1) * grid / (2 * length) - mpmath.mpf(1) / 2
    if resampling == "bicubic-antialias":
        return filtered(value, grid, place, max(mpmath.mpf(1), grid / length))
    return spline(value, grid, place, mpmath.mpf(3) / 4)


def learned_grid(arguments: Arguments, conventions: Conventions) -> Element:
    """Return the function that gives the resampled table at (row, channel)."""
    table, first = arguments["table"], int(conventions["class_tokens"])
    height, width = int(arguments["height"]), int(arguments["width"])
    side = int(mpmath.nint(mpmath.sqrt(len(table) - first)))
    down, along = (int(arguments.get(f"source_{name}", side)) for name in ("height", "width"))
    resampling = conventions["resampling"]

    def value(index: tuple[int, ...]) -> mpmath.mpf:
        row, channel = index
        stays = height == down and width == along
        if row < first or (resampling == "bicubic-offset" and stays):
            return mpmath.mpf(float(table[row, channel]))
        y, x = divmod(row - first, width)

        def across(i: int) -> mpmath.mpf:
            return sample(
                lambda j: mpmath.mpf(float(table[first + i * along + j, channel])),
                along,
                width,
                x,
                resampling,
            )

        return sample(across, down, height, y, resampling)

    return value


VALUES = {"learned": learned, "learned_grid": learned_grid}
